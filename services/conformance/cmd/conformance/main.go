// Command conformance serves the tools of the MCP conformance suite as a registered service. It takes everything from
// the environment: the variables of package service. Its place is a listener on loopback; see `make conformance`.
package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/sallyport-dev/sallyport/service"
	"github.com/sallyport-dev/sallyport/services/conformance"
)

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	if err := run(context.Background()); err != nil {
		slog.Error("conformance ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	return service.Run(ctx, conformance.New(slog.Default()).Register)
}
