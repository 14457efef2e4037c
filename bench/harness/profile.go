package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
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

// Profile profiles an edge under each scenario and writes the profiles into dir. The edge is a process of its own that
// can be told to profile itself; what it is told costs it something, so that its figures are in no report.
func (f *Fleet) Profile(ctx context.Context, dir string, slice time.Duration, only []string) ([]Profiled, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	const name = "profiled"
	if err := goBuild(ctx, filepath.Join(f.dir, name), module+"/bench/target/edge"); err != nil {
		return nil, err
	}
	p, err := f.launch(f.placement.target, filepath.Join(name, "edge"), "-config", config)
	if err != nil {
		return nil, err
	}
	var at struct{ Address string }
	if err := p.hear(ctx, &at); err != nil {
		return nil, err
	}
	l, err := f.reach(name, p, at.Address)
	if err != nil {
		return nil, err
	}
	if err := ready(ctx, p, at.Address); err != nil {
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

// ready waits until an edge serves.
func ready(ctx context.Context, p *process, address string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	c, err := dial(address)
	if err != nil {
		return err
	}
	defer c.close()
	for {
		status, _, err := c.ask([]byte("GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
		if err != nil || status == 200 {
			return err
		}
		if err := errors.Join(p.alive(), pause(ctx, 20*time.Millisecond)); err != nil {
			return fmt.Errorf("the edge is not ready: %w", err)
		}
	}
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
	if err := pause(ctx, slice/5); err != nil {
		return Profiled{}, err
	}
	if err := t.process.ask(ctx, new(struct{}), "profile %s", prefix); err != nil {
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
	if err := t.process.ask(ctx, &allocated, "stop"); err != nil {
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
