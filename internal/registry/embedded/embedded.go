// Package embedded runs the registry's own etcd inside its process, for an installation on one machine.
//
// In comes a data directory, out comes a client of a running member. It listens on loopback only and has no users: who
// may open ports of this machine's loopback may read it, as who may read the data directory may. It knows nothing of
// what is stored. It is a package of its own so that a process which only reads a registry does not link a server.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
)

// EndpointFile is where, in the data directory, a running member says under which URL clients reach it.
const EndpointFile = "client-endpoint"

// ErrInUse says that another process runs an etcd on the data directory.
var ErrInUse = errors.New("the data directory is in use by another process")

// Embedded is a running member with a client of it.
type Embedded struct {
	etcd     *embed.Etcd
	closing  *atomic.Bool
	client   *clientv3.Client
	endpoint string
	file     string
	once     sync.Once
}

// Start runs a member on cfg's data directory, which is made if it is missing, and returns when it serves. The caller
// closes it. The context bounds the start alone. A data directory that another process has open is [ErrInUse].
func Start(ctx context.Context, cfg *configv1.EmbeddedEtcd, logger *slog.Logger) (*Embedded, error) {
	e, err := start(ctx, cfg, logger)
	if err != nil {
		return nil, fmt.Errorf("embedded etcd in %s: %w", cfg.GetDataDir(), err)
	}
	return e, nil
}

func start(ctx context.Context, cfg *configv1.EmbeddedEtcd, logger *slog.Logger) (_ *Embedded, err error) {
	if err := os.MkdirAll(cfg.GetDataDir(), 0o700); err != nil {
		return nil, err
	}
	if err := probeLock(cfg.GetDataDir()); err != nil {
		return nil, err
	}
	c := embed.NewConfig()
	c.Dir = cfg.GetDataDir()
	closing := new(atomic.Bool)
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(&errorCore{log: logger, closing: closing}))
	// One member elects itself and hears no heartbeats, so that short intervals cost nothing and start it faster. The
	// shortest lease is one and a half election intervals.
	c.TickMs, c.ElectionMs = 20, 200
	// History is needed only for watches that fell behind; they list again when it is gone.
	c.AutoCompactionMode, c.AutoCompactionRetention = embed.CompactorModePeriodic, "10m"
	c.QuotaBackendBytes = 8 << 30
	client := url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(int(cfg.GetClientPort()))}
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.InitialCluster = c.InitialClusterFromName(c.Name)

	etcd, err := embed.StartEtcd(c)
	if err != nil {
		return nil, err
	}
	e := &Embedded{
		etcd:     etcd,
		closing:  closing,
		endpoint: "http://" + etcd.Clients[0].Addr().String(),
		file:     filepath.Join(cfg.GetDataDir(), EndpointFile),
	}
	defer func() {
		if err != nil {
			e.Close()
		}
	}()
	select {
	case <-etcd.Server.ReadyNotify():
	case err := <-etcd.Err():
		return nil, err
	case <-ctx.Done():
		return nil, fmt.Errorf("it did not become ready: %w", ctx.Err())
	}
	e.client, err = Connect(e.endpoint)
	if err != nil {
		return nil, err
	}
	return e, e.announce()
}

// Connect makes a client of a member's endpoint. It does not wait for the member.
func Connect(endpoint string) (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second, Logger: zap.NewNop(),
	})
}

// Running gives the endpoint that the member on the data directory announces; the empty string where none does. A
// member that was killed leaves its announcement behind, so that nobody need answer there.
func Running(dataDir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dataDir, EndpointFile))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), err
}

// Client is a client of the member. It is closed with it.
func (e *Embedded) Client() *clientv3.Client { return e.client }

// Endpoint is the URL of the member's client port.
func (e *Embedded) Endpoint() string { return e.endpoint }

// Addresses are the member's own listeners as `host:port`, which no service may register and nobody may dial.
func (e *Embedded) Addresses() []string {
	var all []string
	for _, l := range e.etcd.Clients {
		all = append(all, l.Addr().String())
	}
	for _, l := range e.etcd.Peers {
		all = append(all, l.Addr().String())
	}
	return all
}

// Err tells of a member that failed while it ran.
func (e *Embedded) Err() <-chan error { return e.etcd.Err() }

// Close stops the member. Other clients of it should be closed before: it waits seconds for the calls of those that
// are not. Closing again does nothing.
func (e *Embedded) Close() {
	e.once.Do(func() {
		if e.client != nil {
			_ = e.client.Close()
			_ = os.Remove(e.file)
		}
		e.closing.Store(true)
		e.etcd.Close() // a second Close of etcd panics
	})
}

// announce writes the endpoint where the admin commands find it, whole or not at all.
func (e *Embedded) announce() error {
	part := e.file + ".part"
	if err := os.WriteFile(part, []byte(e.endpoint+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(part, e.file)
}

// probeLock finds out whether another process has the data open. etcd itself would wait for it without end.
func probeLock(dataDir string) error {
	if !locked(dataDir, 2*time.Second) {
		return nil
	}
	if endpoint, _ := Running(dataDir); endpoint != "" {
		return fmt.Errorf("%w, which serves %s", ErrInUse, endpoint)
	}
	return ErrInUse
}

// locked reports whether the data stays open in another process for as long as patience.
func locked(dataDir string, patience time.Duration) bool {
	file := filepath.Join(dataDir, "member", "snap", "db")
	if _, err := os.Stat(file); err != nil {
		return false // nothing there yet
	}
	db, err := bbolt.Open(file, 0o600, &bbolt.Options{ReadOnly: true, Timeout: patience})
	if err == nil {
		_ = db.Close()
	}
	// Of other errors etcd says better what is wrong with its file.
	return errors.Is(err, bolterrors.ErrTimeout)
}
