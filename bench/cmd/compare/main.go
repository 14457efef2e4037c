// Command compare measures the edge beside what else could stand before a gRPC service, and says which of the project's
// speed goals hold (bench/README.md).
//
//	go run ./bench/cmd/compare [-rounds 21] [-slice 400ms] [-only WHAT,WHAT…] [-strict] [-profile DIR]
//
// WHAT is small, large, list, list-openai_strict or micro.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/sallyport-dev/sallyport/bench/harness"
)

func main() {
	var o harness.Options
	flag.IntVar(&o.Rounds, "rounds", 21, "how often everything is measured")
	flag.DurationVar(&o.Slice, "slice", 400*time.Millisecond, "how long one target is measured in a round")
	only := flag.String("only", "", "what to measure, of small, large, list, list-openai_strict and micro, separated by commas; empty is all")
	strict := flag.Bool("strict", false, "fail where a goal is missed by more than a quarter")
	profile := flag.String("profile", "", "folder for profiles of the edge, which are taken after the measuring")
	flag.Parse()
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, o, *strict, *profile)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o harness.Options, strict bool, profile string) (err error) {
	dir, err := os.MkdirTemp("", "sallyport-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	fmt.Fprintln(os.Stderr, "building and starting the targets")
	fleet, err := harness.Start(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fleet.Close()) }()
	if !fleet.Pinned() {
		fmt.Fprintln(os.Stderr, "there is one processor only: nothing is kept apart, and the figures mean little")
	}
	o.Progress = func(round int) { fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, o.Rounds) }
	figures, err := fleet.Run(ctx, o)
	if err != nil {
		return err
	}
	if err := figures.Report(os.Stdout); err != nil {
		return err
	}
	if profile != "" {
		if err := takeProfiles(ctx, fleet, o, profile); err != nil {
			return err
		}
	}
	if strict {
		return judge(figures)
	}
	return nil
}

func takeProfiles(ctx context.Context, fleet *harness.Fleet, o harness.Options, dir string) error {
	fmt.Fprintln(os.Stderr, "profiling the edge")
	all, err := fleet.Profile(ctx, dir, 8*o.Slice, o.Only)
	if err != nil {
		return err
	}
	for _, p := range all {
		fmt.Printf("\n%s: %d calls, %.0f allocations and %.0f bytes for each\n  go tool pprof -top %s\n  go tool pprof -top -sample_index=alloc_space -base %s %s\n",
			p.Scenario, p.Calls, p.PerCall.Allocations, p.PerCall.Bytes, p.CPU, p.Before, p.Allocs)
	}
	return nil
}

// judge names the goals that are missed by far.
func judge(figures *harness.Figures) error {
	var errs []error
	for _, v := range figures.Verdicts() {
		if v.Far {
			errs = append(errs, fmt.Errorf("%s: %.3g%s, and the limit is %.3g%s", v.Name, v.Median, v.Unit, v.Limit, v.Unit))
		}
	}
	return errors.Join(errs...)
}
