// Command edge is the product's edge with one addition: on command it writes profiles of itself. The figures are those
// of the product's own command; this one only says where its time goes. Commands are lines of the standard input:
//
//	profile PREFIX   begin; writes PREFIX.allocs-before.pprof
//	stop             end; writes PREFIX.cpu.pprof and PREFIX.allocs.pprof, and says what was allocated meanwhile
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"

	"github.com/sallyport-dev/sallyport/bench/target/kit"
	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/config"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// Allocated is what was allocated during a profile.
type Allocated struct {
	Mallocs     uint64 `json:"mallocs"`
	Bytes       uint64 `json:"bytes"`
	Collections uint32 `json:"collections"`
}

// samplesPerSecond is more than usual, and not more than the clock of common kernels ticks.
const samplesPerSecond = 250

func main() {
	file := flag.String("config", "", "YAML file with a sallyport.config.v1.EdgeConfig")
	flag.Parse()
	kit.Main("edge", func() error { return run(*file) })
}

func run(file string) (err error) {
	cfg := new(configv1.EdgeConfig)
	if err := config.Load(file, cfg); err != nil {
		return err
	}
	lines := lifecycle.NewLines(os.Stderr)
	defer lines.Close()
	logger := slog.New(lines.Handler(slog.LevelInfo))
	e, err := edge.New(context.Background(), edge.WithConfig(cfg), edge.WithLogger(logger))
	if err != nil {
		return err
	}
	defer e.Close()
	l, err := net.Listen("tcp", cfg.GetListener().GetAddress())
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- edge.Serve(ctx, l, e, nil, logger) }()
	p := new(profile)
	err = kit.Say(kit.Address{Address: l.Addr().String()})
	if err == nil {
		err = kit.Commands(p.command)
	}
	stop()
	return errors.Join(err, <-served)
}

// profile is the profile that is being taken.
type profile struct {
	prefix string
	cpu    *os.File
	before runtime.MemStats
}

func (p *profile) command(line string) error {
	if prefix, ok := strings.CutPrefix(line, "profile "); ok {
		return p.start(prefix)
	}
	if line == "stop" && p.cpu != nil {
		return p.stop()
	}
	return fmt.Errorf("unknown command %q", line)
}

func (p *profile) start(prefix string) (err error) {
	p.prefix = prefix
	if err := allocations(prefix + ".allocs-before.pprof"); err != nil {
		return err
	}
	if p.cpu, err = os.Create(prefix + ".cpu.pprof"); err != nil {
		return err
	}
	runtime.ReadMemStats(&p.before)
	// Before StartCPUProfile, which then keeps it and grumbles on the standard error.
	runtime.SetCPUProfileRate(samplesPerSecond)
	return errors.Join(pprof.StartCPUProfile(p.cpu), kit.Say(struct{}{}))
}

func (p *profile) stop() error {
	pprof.StopCPUProfile()
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	err := errors.Join(p.cpu.Close(), allocations(p.prefix+".allocs.pprof"))
	p.cpu = nil
	return errors.Join(err, kit.Say(Allocated{
		Mallocs: after.Mallocs - p.before.Mallocs, Bytes: after.TotalAlloc - p.before.TotalAlloc,
		Collections: after.NumGC - p.before.NumGC,
	}))
}

// allocations writes what was allocated since the process began, as far as it was collected.
func allocations(path string) error {
	runtime.GC()
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}
