package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/embedded"
)

// storeTimeout bounds a command that works on etcd itself.
const storeTimeout = 30 * time.Second

// storePatience is after how long such a command says that etcd does not answer.
const storePatience = 3 * time.Second

// onStore runs a command on the store of a configuration.
func onStore(cmd *cobra.Command, file string, work func(context.Context, *registry.Store) error) error {
	cfg, err := loadConfig(file)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), storeTimeout)
	defer cancel()
	if e := cfg.GetEmbedded(); e != nil {
		client, release, err := embedded.Use(ctx, e, slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)))
		if err != nil {
			return err
		}
		defer release()
		return work(ctx, registry.NewStore(client, e.GetPrefix()))
	}
	client, err := registry.Dial(cfg.GetEtcd())
	if err != nil {
		return err
	}
	defer client.Close()
	store := registry.NewStore(client, cfg.GetEtcd().GetPrefix())
	if err := awaitEtcd(ctx, client, cmd.ErrOrStderr()); err != nil {
		return fmt.Errorf("%w: check that etcd runs there, that etcd.endpoints in %s names it, and that etcd.tls is there if "+
			"and only if it speaks TLS", err, file)
	}
	return work(ctx, store)
}

// awaitEtcd waits until etcd answers anything at all, and says on the way that it does not.
func awaitEtcd(ctx context.Context, client *clientv3.Client, to io.Writer) error {
	at := strings.Join(client.Endpoints(), ", ")
	first, cancel := context.WithTimeout(ctx, storePatience)
	defer cancel()
	_, err := client.Get(first, "/", clientv3.WithCountOnly())
	if silent(err) {
		_, _ = fmt.Fprintf(to, "etcd at %s does not answer; still trying\n", at)
		_, err = client.Get(ctx, "/", clientv3.WithCountOnly())
	}
	if silent(err) {
		return fmt.Errorf("etcd at %s does not answer: %w", at, err)
	}
	return nil // a refusal is an answer, and the work meets its own
}

// silent reports whether an error means that etcd did not answer.
func silent(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	code := status.Code(err)
	return code == codes.Unavailable || code == codes.DeadlineExceeded
}
