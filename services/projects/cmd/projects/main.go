// Command projects serves the demo's projects and environments as registered services. It takes everything from the
// environment: the variables of package service, and PROJECTS_DATA, the file that holds them (default projects.db in
// the working directory; made and seeded where it is missing).
package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/sallyport-dev/sallyport/service"
	"github.com/sallyport-dev/sallyport/services/projects"
)

func main() {
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
	if err := run(context.Background()); err != nil {
		slog.Error("projects ended", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	store, err := projects.Open(cmp.Or(os.Getenv("PROJECTS_DATA"), "projects.db"))
	if err != nil {
		return err
	}
	err = service.Run(ctx, projects.New(store).Register)
	return errors.Join(err, store.Close())
}
