package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sallyport-dev/sallyport/bench/process"
)

// instance is one process of a service, started again and again.
type instance struct {
	name, binary, dir string
	env               []string
	// data is the file that the service keeps, where it keeps one. Each start begins with a new one, so that the service
	// costs as much at the end as at the beginning.
	data string
	p    *process.Process
}

// start starts the process and waits until it is registered.
func (in *instance) start(ctx context.Context) (err error) {
	if err := os.Remove(in.data); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if in.p, err = process.Launch(in.binary, process.Options{Dir: in.dir, BySignal: true, Env: in.env}); err != nil {
		return err
	}
	return in.p.Await(ctx, map[string]any{"registered": nil})
}

// Restarts count what was done to the services.
type Restarts struct {
	// Clean were asked to end and ended well, with their running calls; Killed were not asked.
	Clean, Killed int
}

// killed is which of the restarts are kills: each of so many, so that every instance has its turn.
const killed = 7

// restart ends instances one after the other and starts them again, until ctx ends. It waits until one is registered
// before it goes on, so that a service is never without an instance for long.
func (s *stand) restart(ctx context.Context, every time.Duration) (r Restarts, err error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for turn := 1; ; turn++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return r, nil
		}
		in := s.instances[turn%len(s.instances)]
		if turn%killed == 0 {
			in.p.Kill()
			r.Killed++
		} else {
			if err := in.p.Stop(); err != nil {
				return r, fmt.Errorf("stop %s: %w", in.name, err)
			}
			r.Clean++
		}
		_ = os.Remove(in.p.Log())
		// The start is not cut short: whoever stops the traffic wants every instance there.
		if err := in.start(context.WithoutCancel(ctx)); err != nil {
			return r, fmt.Errorf("start %s again: %w", in.name, err)
		}
	}
}
