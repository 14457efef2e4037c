// Command sallyport-dev is Sallyport on one machine: etcd, registry, demo services and edge in one process.
//
// It is what `make run` starts. Everything it keeps is under one folder, `.sallyport` unless `--dir` says otherwise;
// a second start finds it again, and the credentials stay the same. It prints how to connect and writes the same to
// `dev.json` in that folder.
//
// The programs that it stands in for, `registry serve` and `edge serve`, run the very same packages; nothing here is
// for production, least of all the credentials in plain files.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

type flags struct {
	dir          string
	listen       string
	registryREST string
	registryGRPC string
	pageSize     int32
	allowPorts   []uint
	verbose      bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "sallyport-dev:", err)
		os.Exit(1)
	}
}

// check refuses to serve elsewhere than on loopback: there is no TLS here, and credentials would travel in the clear.
func (f flags) check() error {
	for _, l := range []struct{ flag, address string }{
		{"--listen", f.listen}, {"--registry-rest", f.registryREST}, {"--registry-grpc", f.registryGRPC},
	} {
		host, _, err := net.SplitHostPort(l.address)
		if err != nil {
			return fmt.Errorf("%s: want host:port, such as 127.0.0.1:8080: %w", l.flag, err)
		}
		ip, err := netip.ParseAddr(host)
		if host != "localhost" && (err != nil || !ip.IsLoopback()) {
			return fmt.Errorf("%s: %s is not on loopback, and this program serves without TLS: for other machines run registry and edge (docs/platform-teams.md)", l.flag, l.address)
		}
	}
	return nil
}

func command() *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:           "sallyport-dev",
		Short:         "Run etcd, registry, demo services and edge in one process",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			level := slog.LevelWarn
			if f.verbose {
				level = slog.LevelInfo
			}
			logger := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
			return run(cmd.Context(), f, logger, cmd.OutOrStdout())
		},
	}
	cmd.Flags().StringVar(&f.dir, "dir", ".sallyport", "where data and credentials are kept")
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:8080", "where the edge listens")
	cmd.Flags().StringVar(&f.registryREST, "registry-rest", "127.0.0.1:7070", "where the registry serves REST")
	cmd.Flags().StringVar(&f.registryGRPC, "registry-grpc", "127.0.0.1:7071", "where the registry serves gRPC")
	cmd.Flags().Int32Var(&f.pageSize, "page-size", 0, "tools on a page of tools/list; 0 is the default")
	cmd.Flags().UintSliceVar(&f.allowPorts, "allow-port", nil,
		"loopback ports at which services of your own may register in app.acme-org.orders-app and its sub-zones")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "log each settled request")
	return cmd
}
