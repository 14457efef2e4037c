package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sallyport-dev/sallyport/bench/process"
)

// Options say how long, and how.
type Options struct {
	// For is how long the traffic lasts.
	For time.Duration
	// Restart is the pause between two restarts of an instance.
	Restart time.Duration
	// Rate is how many requests begin in a second, over all workers; 0 is as many as they manage. What is under way is
	// part of the memory that is judged, so that an even rate keeps what else the machine does out of the verdict.
	Rate float64
	// Seed makes the same choices in the same order, as far as the processes let it.
	Seed uint64
	// Row is told of each minute, and of what is left at the end; nil tells nobody.
	Row func(Row)
}

// Workers is how many requests are under way at any time. A quarter of them share one connection over HTTP/2.
const Workers = 16

const (
	sharing = Workers / 4
	// sampling is how often the edge is asked how it is.
	sampling = 2 * time.Second
)

// Row is one minute.
type Row struct {
	Sample // medians
	// Took is how long it was.
	Took time.Duration
	// Requests were finished or left in that time. Wrong are answers that they may not get.
	Requests, Left, Wrong int64
}

// The titles of tools that are called by their names, which are not to be known beforehand.
const (
	findTitle  = "Orders Find Order"
	placeTitle = "Orders Place Order"
	countTitle = "Soak Count"
)

// Run starts everything in dir, an empty folder that is the caller's to remove, lets the traffic flow, and waits for
// what it must leave behind: nothing. An error is a soak that could not be run to its end; what it found is in the
// report. The working directory must be in the module.
func Run(ctx context.Context, dir string, o Options) (_ *Report, err error) {
	s, err := startStand(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	r := &run{options: o, stand: s, ledger: newLedger(), scraper: newScraper(s.address)}
	report := &Report{For: o.For}
	if err := r.warm(ctx); err != nil {
		return nil, fmt.Errorf("before the traffic: %w", err)
	}
	if report.Before, err = r.still(ctx); err != nil {
		return nil, err
	}
	if report.IdleBefore, err = r.scraper.idle(ctx); err != nil {
		return nil, err
	}
	if report.Restarts, report.Samples, err = r.traffic(ctx); err != nil {
		return nil, err
	}
	if err := r.settle(ctx, report); err != nil {
		return nil, err
	}
	if report.IdleAfter, err = r.scraper.idle(ctx); err != nil {
		return nil, err
	}
	report.Tally = r.ledger.tally()
	report.Lines, report.Messages = s.log.read()
	if !report.after() {
		report.Dump = s.dump()
	}
	return report, nil
}

// run is what a soak has in its hands.
type run struct {
	options     Options
	stand       *stand
	ledger      *ledger
	scraper     *scraper
	tools, shop map[string]string
	workers     int
}

// newWorker makes a worker; all books are one.
func (r *run) newWorker(t transport) *worker {
	r.workers++
	return &worker{
		number: r.workers, transport: t, dice: rand.New(rand.NewPCG(r.options.Seed, uint64(r.workers))), ledger: r.ledger,
		system: r.stand.system, application: r.stand.application, tools: r.tools, shop: r.shop,
	}
}

// warm waits until every tool is listed and every instance has answered, and does everything once over each protocol,
// so that nothing is done for the first time while it is counted.
func (r *run) warm(ctx context.Context) error {
	shared := newHTTP2()
	defer shared.CloseIdleConnections()
	w := r.newWorker(&h1{address: r.stand.address})
	defer w.transport.close()
	if err := r.learn(ctx, w); err != nil {
		return err
	}
	for _, t := range []transport{w.transport, &h2{address: r.stand.address, shared: shared}} {
		w := r.newWorker(t)
		for _, k := range kinds {
			k.run(ctx, w)
		}
		w.greet(ctx)
	}
	if t := r.ledger.tally(); t.Wrong > 0 {
		return fmt.Errorf("wrong answers: %q", t.Complaints)
	}
	return nil
}

// learn waits for the tools and learns their names.
func (r *run) learn(ctx context.Context, w *worker) error {
	ctx, cancel := context.WithTimeout(ctx, process.Patience)
	defer cancel()
	for {
		var ok, also bool
		r.tools, ok = w.list(ctx, "list", modern, w.system)
		r.shop, also = w.list(ctx, "list", modern, w.application)
		if !ok || !also {
			return fmt.Errorf("the tools cannot be listed: %q", r.ledger.tally().Complaints)
		}
		if r.tools[findTitle] != "" && r.tools[countTitle] != "" && r.shop[placeTitle] != "" {
			w.tools, w.shop = r.tools, r.shop
			return nil
		}
		if err := process.Pause(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("the edge lists %q and not all tools: %w\n%s", r.tools, err, r.stand.edge.Tail())
		}
	}
}

// greet calls both services so often that every instance has its turn, and with it a connection.
func (w *worker) greet(ctx context.Context) {
	for range 4 * perService {
		findOrder(ctx, w)
		w.fill(ctx, "call, large", 1, leaving{})
	}
}

// still waits until the edge has as many goroutines and descriptors for two seconds, and gives how many.
func (r *run) still(ctx context.Context) (Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, process.Patience)
	defer cancel()
	var last Sample
	for same := 0; same < 10; {
		s, err := r.scraper.scrape(ctx)
		if err != nil {
			return Sample{}, err
		}
		if s.Goroutines == last.Goroutines && s.Descriptors == last.Descriptors {
			same++
		} else {
			same = 0
		}
		last = s
		if err := process.Pause(ctx, 200*time.Millisecond); err != nil {
			return Sample{}, fmt.Errorf("before the traffic the edge is not still: %w", err)
		}
	}
	return last, nil
}

// pace gives a channel from which each request takes its turn: at the options' rate, or at once where there is none.
func (r *run) pace() (turns <-chan time.Time, stop func()) {
	if r.options.Rate <= 0 {
		always := make(chan time.Time)
		close(always)
		return always, func() {}
	}
	ticker := time.NewTicker(time.Duration(float64(time.Second) / r.options.Rate))
	return ticker.C, ticker.Stop
}

// traffic lets everything loose, and gives what the edge said of itself meanwhile.
func (r *run) traffic(ctx context.Context) (restarts Restarts, samples []Sample, err error) {
	flowing, stop := context.WithTimeout(ctx, r.options.For)
	defer stop()
	shared := newHTTP2()
	defer shared.CloseIdleConnections()
	pace, unpaced := r.pace()
	defer unpaced()
	var working, restarting sync.WaitGroup
	for n := range Workers {
		t := transport(&h1{address: r.stand.address})
		if n < sharing {
			t = &h2{address: r.stand.address, shared: shared}
		}
		w := r.newWorker(t)
		working.Go(func() {
			defer t.close()
			for flowing.Err() == nil {
				select {
				case <-pace:
					w.one(ctx) // not flowing: the last request is finished, too
				case <-flowing.Done():
				}
			}
		})
	}
	var restartError error
	restarting.Go(func() {
		if restarts, restartError = r.stand.restart(flowing, r.options.Restart); restartError != nil {
			stop()
		}
	})
	samples, err = r.watch(flowing)
	stop()
	working.Wait()
	restarting.Wait()
	return restarts, samples, errors.Join(err, restartError, context.Cause(ctx))
}

// watch takes samples until ctx ends, and tells of each minute.
func (r *run) watch(ctx context.Context) (samples []Sample, err error) {
	began, told, before := time.Now(), time.Duration(0), r.ledger.tally()
	tick := time.NewTicker(min(sampling, r.options.For/10))
	defer tick.Stop()
	tell := func(to time.Duration) {
		row, ok := medians(samples, told, to)
		if !ok || r.options.Row == nil {
			return
		}
		now := r.ledger.tally()
		r.options.Row(Row{
			Sample: row, Took: to - told, Requests: now.Settled() - before.Settled(), Left: now.Left - before.Left, Wrong: now.Wrong - before.Wrong,
		})
		told, before = to, now
	}
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			if now := time.Since(began); now-told > time.Second {
				tell(now)
			}
			return samples, nil
		}
		s, err := r.scraper.scrape(context.WithoutCancel(ctx))
		if err != nil {
			return samples, err
		}
		s.At = time.Since(began)
		samples = append(samples, s)
		if err := r.stand.edge.Alive(); err != nil {
			return samples, err
		}
		if s.At.Truncate(time.Minute) > told.Truncate(time.Minute) {
			tell(s.At)
		}
	}
}

// settle waits until the edge is as it was before the traffic and has settled what was sent, or until it is plain that
// it will not be.
func (r *run) settle(ctx context.Context, report *Report) error {
	w := r.newWorker(&h1{address: r.stand.address})
	limit := time.NewTimer(process.Patience)
	defer limit.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for turn := 0; ; turn++ {
		if turn%10 == 0 {
			// What was killed is gone from the registry after a while; what has come in its place has a connection then.
			w.greet(ctx)
			w.transport.close()
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return nil // the report says what is not as it should be
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		var err error
		if report.After, err = r.scraper.scrape(ctx); err != nil {
			return err
		}
		report.Tally = r.ledger.tally()
		report.Lines, _ = r.stand.log.read()
		if report.after() {
			return nil
		}
	}
}
