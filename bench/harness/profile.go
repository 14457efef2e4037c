package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/bench/process"
)

// Profiled says what the edge did while a profile was taken.
type Profiled struct {
	Scenario Scenario
	// CPU is the path of the processor profile; Allocs and Before those of the allocation profile and of the one to take
	// off from it.
	CPU, Allocs, Before string
	Calls               int64
	// PerCall are the figures for one call.
	PerCall struct{ Nanoseconds, Allocations, Bytes float64 }
}

// Profile profiles an edge under each scenario and writes the profiles into dir. The edge is another process of the
// product's command with package profiler linked in; profiling costs it something, so that its figures are in no report.
func (f *Fleet) Profile(ctx context.Context, dir string, slice time.Duration, only []string) ([]Profiled, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	const name = "profiled"
	if err := f.buildProfiled(ctx, filepath.Join(f.dir, name)); err != nil {
		return nil, err
	}
	l, err := f.launchEdge(ctx, name, filepath.Join(name, "edge"))
	if err != nil {
		return nil, err
	}
	if err := f.prepareEdge(ctx, l); err != nil {
		return nil, err
	}
	var all []Profiled
	for _, s := range scenarios {
		if o := (Options{Only: only}); !o.wants(string(s)) {
			continue
		}
		one, err := f.profile(ctx, f.targets[name], s, filepath.Join(dir, "edge-"+string(s)), slice)
		if err != nil {
			return nil, fmt.Errorf("profile, %s: %w", s, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// buildProfiled builds the product's edge with an additional file, which imports the profiler.
func (f *Fleet) buildProfiled(ctx context.Context, out string) error {
	where, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", process.Module+"/cmd/edge").Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	file := filepath.Join(f.dir, "profiler.go")
	source := "package main\n\nimport _ \"" + process.Module + "/bench/target/profiler\"\n"
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(strings.TrimSpace(string(where)), "profiler_of_bench.go"): file},
	})
	if err != nil {
		return err
	}
	list := filepath.Join(f.dir, "overlay.json")
	if err := errors.Join(os.WriteFile(file, []byte(source), 0o600), os.WriteFile(list, overlay, 0o600)); err != nil {
		return err
	}
	return process.Build(ctx, out, "-overlay", list, process.Module+"/cmd/edge")
}

// profile takes one profile. The edge is loaded before, so that nothing is done for the first time in it.
func (f *Fleet) profile(ctx context.Context, t *target, s Scenario, prefix string, slice time.Duration) (_ Profiled, err error) {
	if err := t.load.begin(s); err != nil {
		return Profiled{}, err
	}
	one, err := f.profiledWindow(ctx, t, prefix, slice)
	_, wrong := t.load.end()
	one.Scenario = s
	return one, errors.Join(err, wrong)
}

func (f *Fleet) profiledWindow(ctx context.Context, t *target, prefix string, slice time.Duration) (Profiled, error) {
	if err := process.Pause(ctx, slice/5); err != nil {
		return Profiled{}, err
	}
	if err := t.process.Ask(ctx, new(struct{}), "profile %s", prefix); err != nil {
		return Profiled{}, err
	}
	before, err := t.load.count()
	if err != nil {
		return Profiled{}, err
	}
	sample, err := f.window(ctx, t, slice)
	if err != nil {
		return Profiled{}, err
	}
	after, err := t.load.count()
	if err != nil {
		return Profiled{}, err
	}
	var allocated struct{ Mallocs, Bytes uint64 }
	if err := t.process.Ask(ctx, &allocated, "stop"); err != nil {
		return Profiled{}, err
	}
	one := Profiled{
		CPU: prefix + ".cpu.pprof", Allocs: prefix + ".allocs.pprof", Before: prefix + ".allocs-before.pprof", Calls: sample.Calls,
	}
	one.PerCall.Nanoseconds = sample.CPU
	all := float64(max(after-before, 1))
	one.PerCall.Allocations, one.PerCall.Bytes = float64(allocated.Mallocs)/all, float64(allocated.Bytes)/all
	return one, nil
}
