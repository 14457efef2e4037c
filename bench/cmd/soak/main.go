// Command soak keeps the product busy for half an hour with all that callers do, while services come and go, and fails
// where an answer is wrong, a request is lost or something is left behind (bench/README.md).
//
//	go run ./bench/cmd/soak [-for 30m] [-rate 200] [-restart 5s] [-seed 1] [-keep DIR]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sallyport-dev/sallyport/bench/soak"
)

func main() {
	var o soak.Options
	flag.DurationVar(&o.For, "for", 30*time.Minute, "how long the traffic lasts; memory is judged from 15 minutes on")
	flag.Float64Var(&o.Rate, "rate", 200, "requests begun in a second; 0 is as many as the workers manage")
	flag.DurationVar(&o.Restart, "restart", 5*time.Second, "pause between two restarts of an instance")
	flag.Uint64Var(&o.Seed, "seed", 1, "where the choices begin")
	keep := flag.String("keep", "", "empty folder for logs and data, which stays; else a temporary one, which stays where the soak fails")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, o, *keep)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o soak.Options, dir string) (err error) {
	if o.For < time.Second || o.Restart <= 0 {
		return errors.New("-for must be at least 1s, and -restart more than 0")
	}
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	} else {
		if dir, err = os.MkdirTemp("", "sallyport-soak-"); err != nil {
			return err
		}
		defer func() {
			if err == nil {
				err = os.RemoveAll(dir)
				return
			}
			err = fmt.Errorf("%w\nlogs are in %s", err, dir)
		}()
	}
	fmt.Fprintln(os.Stderr, "building and starting the programs")
	fmt.Println(soak.Heading)
	o.Row = func(r soak.Row) { fmt.Println(r) }
	report, err := soak.Run(ctx, dir, o)
	if report != nil {
		err = errors.Join(err, report.Write(os.Stdout), report.Err())
	}
	return err
}
