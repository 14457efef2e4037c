package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
)

// Use gives a client of the member on a data directory, for a command that runs beside a registry or without one: of the
// process that has the directory open, or, where none has, of a member that it starts itself. release ends what Use
// began, and must be called.
//
// An announced endpoint alone is not believed: a member that was killed leaves it behind, and somebody else may listen
// there by now. It counts while the data directory is locked.
func Use(ctx context.Context, cfg *configv1.EmbeddedEtcd, logger *slog.Logger) (client *clientv3.Client, release func(), err error) {
	// A process that has just opened the directory announces itself a moment later, and one that stops lets go.
	for ctx.Err() == nil {
		if locked(cfg.GetDataDir(), 100*time.Millisecond) {
			endpoint, err := Running(cfg.GetDataDir())
			if err != nil {
				return nil, nil, err
			}
			if endpoint != "" {
				if client, err = reach(ctx, endpoint); err == nil {
					return client, func() { _ = client.Close() }, nil
				}
			}
		} else {
			e, err := Start(ctx, cfg, logger)
			if err == nil {
				return e.Client(), e.Close, nil
			}
			if !errors.Is(err, ErrInUse) {
				return nil, nil, err
			}
		}
		pause := time.NewTimer(200 * time.Millisecond)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
	return nil, nil, fmt.Errorf("embedded etcd in %s: another process has the data open, and does not answer: %w",
		filepath.Clean(cfg.GetDataDir()), ctx.Err())
}

// reach connects to a member that must answer soon.
func reach(ctx context.Context, endpoint string) (*clientv3.Client, error) {
	client, err := Connect(endpoint)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := client.Status(ctx, endpoint); err != nil {
		_ = client.Close()
		return nil, err
	}
	return client, nil
}
