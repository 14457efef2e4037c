// Command orders serves the demo's orders as a registered service. It takes everything from the environment: the
// variables of package service, and ORDERS_DATA, the file that holds the orders (default orders.db in the working
// directory; made and seeded where it is missing).
package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/sallyport-dev/sallyport/service"
	"github.com/sallyport-dev/sallyport/services/orders"
)

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	if err := run(context.Background()); err != nil {
		slog.Error("orders ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	store, err := orders.Open(cmp.Or(os.Getenv("ORDERS_DATA"), "orders.db"))
	if err != nil {
		return err
	}
	err = service.Run(ctx, orders.New(store).Register)
	return errors.Join(err, store.Close())
}
