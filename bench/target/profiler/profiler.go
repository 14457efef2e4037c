// Package profiler lets a program write profiles of itself on command. The harness links it into the product's own edge,
// by an overlay that adds an import to the command, so that what is profiled is the command itself and the product knows
// nothing of it. The figures are those of the command without it.
//
// Commands are lines of the standard input, each answered with a line of JSON:
//
//	profile PREFIX   begin; writes PREFIX.allocs-before.pprof
//	stop             end; writes PREFIX.cpu.pprof and PREFIX.allocs.pprof, and says what was allocated meanwhile
package profiler

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"

	"github.com/sallyport-dev/sallyport/bench/target/kit"
)

// Allocated is what was allocated during a profile.
type Allocated struct {
	Mallocs     uint64 `json:"mallocs"`
	Bytes       uint64 `json:"bytes"`
	Collections uint32 `json:"collections"`
}

// samplesPerSecond is more than usual, and not more than the clock of common kernels ticks.
const samplesPerSecond = 250

func init() {
	go func() {
		if err := kit.Commands(new(profile).command); err != nil {
			slog.Error("profiler", "error", err)
			os.Exit(1)
		}
	}()
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
