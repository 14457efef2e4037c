package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/embedded"
)

// storeTimeout bounds a command that works on etcd itself.
const storeTimeout = 30 * time.Second

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
	return work(ctx, registry.NewStore(client, cfg.GetEtcd().GetPrefix()))
}
