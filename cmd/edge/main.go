// Command edge runs the MCP edge: it reads which services run from etcd and serves their tools at POST /mcp.
//
//	edge serve --config edge.yaml [--listen 127.0.0.1:8080] [--log-level info]
package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		// Errors of package edge begin with its name already.
		fmt.Fprintln(os.Stderr, "edge:", strings.TrimPrefix(err.Error(), "edge: "))
		stop()
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "edge",
		Short:         "Serve the tools of registered services over the Model Context Protocol",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	var file, listen, level string
	serve := &cobra.Command{
		Use:   "serve",
		Short: "Serve POST /mcp, /healthz, /readyz and /metrics until SIGTERM",
		Long: "Serve POST /mcp, /healthz, /readyz and /metrics until SIGTERM. SIGHUP opens the audit log anew, where the\n" +
			"configuration has one.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg := new(configv1.EdgeConfig)
			if err := config.Load(file, cfg); err != nil {
				return err
			}
			return run(cmd.Context(), cfg, listen, level)
		},
	}
	serve.Flags().StringVar(&file, "config", "", "YAML file with a sallyport.config.v1.EdgeConfig")
	serve.Flags().StringVar(&listen, "listen", "", "address to listen on, instead of the configuration's")
	serve.Flags().StringVar(&level, "log-level", "", "debug, info, warn or error, instead of the configuration's")
	_ = serve.MarkFlagRequired("config")
	root.AddCommand(serve)
	return root
}

// headroom is how much garbage may gather before it is collected, beside as much as is in use, which is the rule
// without it. An edge has little in use and makes 10 KB of garbage with each call, so that by that rule alone it would
// collect every other tenth of a second under load, at a few percent of a call's cost. Nothing is ever written there: it
// is address space, and the memory that is taken in the end is that of the garbage. Whoever sets GOGC or GOMEMLIMIT has
// ideas of their own.
const headroom = 64 << 20

func reserve() (release func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	space := make([]byte, headroom)
	return func() { runtime.KeepAlive(space) }
}

// run serves an edge until ctx ends.
func run(ctx context.Context, cfg *configv1.EdgeConfig, listen, level string) error {
	minimum, err := logLevel(cfg.GetLogLevel(), level)
	if err != nil {
		return err
	}
	defer reserve()()
	lines := lifecycle.NewLines(os.Stderr)
	defer lines.Close()
	logger := slog.New(lines.Handler(minimum))
	if listen == "" {
		listen = cfg.GetListener().GetAddress()
	}
	if listen == "" {
		return errors.New("no address to listen on: set listener.address in the configuration, or --listen")
	}
	tlsConfig, err := serverTLS(cfg.GetListener().GetTls())
	if err != nil {
		return err
	}
	// Everything stops with the edge's own context, which outlives ctx until the running requests have ended.
	e, err := edge.New(context.WithoutCancel(ctx), edge.WithConfig(cfg), edge.WithLogger(logger))
	if err != nil {
		return err
	}
	defer e.Close()
	if cfg.GetAuditLog() != nil {
		defer reopenOnHangup(e, logger)()
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	logger.InfoContext(ctx, "edge listens", "address", l.Addr().String(), "tls", tlsConfig != nil)
	err = edge.Serve(ctx, l, e, tlsConfig, logger, edge.WithLimits(edge.ConfiguredLimits(cfg)))
	logger.InfoContext(ctx, "edge stopped")
	return err
}

// reopenOnHangup opens the audit log anew at each SIGHUP, until stop is called.
func reopenOnHangup(e *edge.Edge, logger *slog.Logger) (stop func()) {
	hangups, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer close(done)
		for range hangups {
			if err := e.ReopenAuditLog(); err != nil {
				logger.Error("the audit log goes on where it was", "error", err)
				continue
			}
			logger.Info("the audit log is opened anew")
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
		<-done
	}
}

// logLevel is the flag's, else the configuration's, else info.
func logLevel(configured configv1.LogLevel, flag string) (slog.Level, error) {
	if flag != "" {
		var level slog.Level
		if err := level.UnmarshalText([]byte(flag)); err != nil {
			return 0, errors.New("--log-level: want debug, info, warn or error")
		}
		return level, nil
	}
	switch configured {
	case configv1.LogLevel_LOG_LEVEL_DEBUG:
		return slog.LevelDebug, nil
	case configv1.LogLevel_LOG_LEVEL_WARN:
		return slog.LevelWarn, nil
	case configv1.LogLevel_LOG_LEVEL_ERROR:
		return slog.LevelError, nil
	default:
		return slog.LevelInfo, nil
	}
}

// serverTLS reads the configured certificate; nil without one.
func serverTLS(cfg *configv1.ServerTls) (*tls.Config, error) {
	if cfg == nil {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(cfg.GetCertFile(), cfg.GetKeyFile())
	if err != nil {
		return nil, fmt.Errorf("listener.tls: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, nil
}
