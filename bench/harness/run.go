package harness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/sallyport-dev/sallyport/bench/micro"
	"github.com/sallyport-dev/sallyport/bench/process"
)

// Options say how much is measured.
type Options struct {
	// Rounds is how often everything is measured, each time in another order.
	Rounds int
	// Slice is how long one target is loaded and measured in a round; it is loaded for a fifth of that before.
	Slice time.Duration
	// Only are the scenarios to measure, "micro" among them; empty is all of them.
	Only []string
	// Progress is told of each round that begins; nil tells nobody.
	Progress func(round int)
}

// Micro is the name of the operations measured without network, beside the scenarios.
const Micro = "micro"

// compared are the targets of each scenario.
var compared = map[Scenario][]string{
	Small:     {Edge, HTTPEcho, GRPCRaw, GRPCGen, Through, Gateway, GoSDK},
	SmallOpen: {Edge},

	Large: {Edge, HTTPEcho, GRPCRaw, GRPCGen, Through, Gateway, GoSDK},
	List:  {Edge, HTTPEcho},

	ListSpelled: {Edge, HTTPEcho},
}

// scenarios is their order in reports.
var scenarios = []Scenario{Small, SmallOpen, Large, List, ListSpelled}

// Sample is what one target cost in one round.
type Sample struct {
	// Calls is how many were answered, all of them rightly, and Seconds how long that took.
	Calls   int64
	Seconds float64
	// CPU is the processor time of the target's process for one call, in nanoseconds.
	CPU float64
	// Runs is how often threads of the process were put on the processor, for one call: it is low where calls come in
	// bunches, and each time costs something.
	Runs float64
	// Rest is the processor time of load and back-end for one call, in nanoseconds: where it is more than CPU, the target
	// waits for them.
	Rest float64
	// Median is the median time from request to answer, in nanoseconds.
	Median float64
}

// Operation is what one operation without network cost in one round.
type Operation struct {
	Nanoseconds float64 `json:"ns"`
	Allocs      float64 `json:"allocs"`
}

// Figures are what was measured. Every list has one element for each round.
type Figures struct {
	Samples    map[Scenario]map[string][]Sample
	Operations map[string][]Operation
	Memory     micro.Memory
}

// Run measures. An error is a target that failed or answered wrongly.
func (f *Fleet) Run(ctx context.Context, o Options) (*Figures, error) {
	figures := &Figures{Samples: map[Scenario]map[string][]Sample{}, Operations: map[string][]Operation{}}
	var slices []func() error
	for s, targets := range compared {
		if !o.wants(string(s)) {
			continue
		}
		figures.Samples[s] = map[string][]Sample{}
		for _, name := range targets {
			slices = append(slices, func() error {
				sample, err := f.measure(ctx, name, s, o.Slice)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", name, s, err)
				}
				figures.Samples[s][name] = append(figures.Samples[s][name], sample)
				return nil
			})
		}
	}
	if o.wants(Micro) {
		if err := f.micro.Ask(ctx, &figures.Memory, "memory"); err != nil {
			return nil, err
		}
		slices = append(slices, func() error { return f.operations(ctx, figures, o.Slice/5) })
	}
	for round := range o.Rounds {
		if o.Progress != nil {
			o.Progress(round)
		}
		for _, i := range rand.Perm(len(slices)) {
			if err := errors.Join(context.Cause(ctx), slices[i]()); err != nil {
				return nil, err
			}
		}
	}
	return figures, nil
}

func (o *Options) wants(name string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, name) }

// spending is what a process has cost since it began.
type spending struct {
	time time.Duration
	runs int64
}

// measure loads one target, waits until it is warm, and measures it for a slice.
func (f *Fleet) measure(ctx context.Context, name string, s Scenario, slice time.Duration) (sample Sample, err error) {
	t := f.targets[name]
	if err := t.load.begin(s); err != nil {
		return Sample{}, err
	}
	sample, err = f.window(ctx, t, slice)
	latency, wrong := t.load.end()
	sample.Median = float64(latency)
	if err = errors.Join(err, wrong, t.process.Alive()); err != nil {
		return Sample{}, err
	}
	if sample.Calls == 0 {
		return Sample{}, fmt.Errorf("no call was answered in %v", slice)
	}
	return sample, nil
}

// window is the measuring of a target that is loaded.
func (f *Fleet) window(ctx context.Context, t *target, slice time.Duration) (Sample, error) {
	if err := process.Pause(ctx, slice/5); err != nil {
		return Sample{}, err
	}
	calls, err := t.load.count()
	if err != nil {
		return Sample{}, err
	}
	began, restBegan, err := f.spent(t)
	if err != nil {
		return Sample{}, err
	}
	start := time.Now()
	if err := process.Pause(ctx, slice); err != nil {
		return Sample{}, err
	}
	ended, restEnded, err := f.spent(t)
	if err != nil {
		return Sample{}, err
	}
	took := time.Since(start)
	after, err := t.load.count()
	if err != nil {
		return Sample{}, err
	}
	each := float64(max(after-calls, 1))
	return Sample{
		Calls: after - calls, Seconds: took.Seconds(), CPU: float64(ended.time-began.time) / each,
		Runs: float64(ended.runs-began.runs) / each, Rest: float64(restEnded-restBegan) / each,
	}, nil
}

// spent is what the target has cost, and what load and back-end have.
func (f *Fleet) spent(t *target) (own spending, rest time.Duration, err error) {
	if own, err = spentBy(t.process.PID()); err != nil {
		return spending{}, 0, err
	}
	for _, pid := range []int{os.Getpid(), f.processes[0].PID()} {
		s, err := spentBy(pid)
		if err != nil {
			return spending{}, 0, err
		}
		rest += s.time
	}
	return own, rest, nil
}

// operations measures the operations without network.
func (f *Fleet) operations(ctx context.Context, figures *Figures, slice time.Duration) error {
	measured := map[string]Operation{}
	if err := f.micro.Ask(ctx, &measured, "round %s", slice); err != nil {
		return err
	}
	for name, m := range measured {
		figures.Operations[name] = append(figures.Operations[name], m)
	}
	return nil
}
