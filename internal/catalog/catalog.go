package catalog

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/descriptorpb"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/strict"
	"github.com/sallyport-dev/sallyport/participant"
)

// Contracts reads contracts. A registry.Store does.
type Contracts interface {
	Contract(ctx context.Context, digest string) (*descriptorpb.FileDescriptorSet, error)
}

// Times of building.
const (
	// loadTimeout bounds the reading of one contract.
	loadTimeout = 10 * time.Second
	// retryFirst is after how long a contract that could not be read is read again; each further failure doubles it up
	// to retryLongest.
	retryFirst   = 250 * time.Millisecond
	retryLongest = 30 * time.Second
	// partial is how long finished plans may wait for unfinished ones before they are shown.
	partial = 100 * time.Millisecond
)

// Options say how a catalog is made.
type Options struct {
	// Contracts reads contracts. Required.
	Contracts Contracts
	// Rules are the zone rules.
	Rules participant.Rules
	// ServesZones narrows the catalog to these zones and their sub-zones, whoever calls; empty serves every zone. An
	// un-zoned service is served only where it is empty.
	ServesZones []string
	// NoAuthentication says that nobody's credentials are looked at. A tool that asks who calls is hidden then.
	NoAuthentication bool
	// DefaultProfile is the JSON profile of tools that name none; the zero value is `protojson`.
	DefaultProfile schema.Profile
	// TextLimits are the limits of JSON texts within arguments; see gate.WithTextLimits.
	TextLimits strict.Limits
	// OnSnapshot is called with each new snapshot after Load gives it, one call after the other. It must not block and
	// must not call Close. May be nil.
	OnSnapshot func(*Snapshot)
	// Logger hears of tools that become hidden, contracts that cannot be read and policies that cannot be evaluated. Nil
	// discards.
	Logger *slog.Logger
}

// Catalog makes snapshots of views. All methods are safe for concurrent use.
type Catalog struct {
	options  Options
	compiler compiler
	failures *failures
	snapshot atomic.Pointer[Snapshot]
	latest   atomic.Pointer[registry.View]
	wake     chan struct{}
	ready    chan struct{}
	cancel   context.CancelFunc
	wg       sync.WaitGroup
}

// New starts a catalog, which has no snapshot until it is given a view. Close ends it.
func New(o Options) *Catalog {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &Catalog{
		options: o, compiler: compiler{contracts: o.Contracts, profile: o.DefaultProfile, texts: o.TextLimits},
		failures: newFailures(o.Logger),
		wake:     make(chan struct{}, 1), ready: make(chan struct{}), cancel: cancel,
	}
	b := &builder{
		catalog: c, plans: map[planKey]*planState{}, linked: map[string]*contract.Files{}, done: make(chan []*plan),
		cache: &listings{limit: maxListed}, rules: map[string]*access.Rule{}, workers: runtime.GOMAXPROCS(0),
	}
	c.wg.Go(func() { b.run(ctx) })
	return c
}

// Update takes a view over. It does not wait for the snapshot, and is fit for registry.WatchOptions.OnChange. Of views
// that arrive faster than snapshots are made, the newest counts.
func (c *Catalog) Update(v *registry.View) {
	c.latest.Store(v)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Load gives the current snapshot; nil before the first. It costs one atomic load.
func (c *Catalog) Load() *Snapshot { return c.snapshot.Load() }

// Ready is closed when there is a first snapshot, in which each service of its view is either complete or known to be
// unusable for now.
func (c *Catalog) Ready() <-chan struct{} { return c.ready }

// Permits asks the current snapshot; see [Snapshot.Permits].
func (c *Catalog) Permits(p *participant.Participant, service registry.Key, fullMethod string, arguments []byte) error {
	s := c.Load()
	if s == nil {
		return errors.New("there is no catalog yet")
	}
	return s.Permits(p, service, fullMethod, arguments)
}

// Knows asks the current snapshot; see [Snapshot.Knows].
func (c *Catalog) Knows(i *registryv1.StoredInstance) bool {
	s := c.Load()
	return s != nil && s.Knows(i)
}

// Close stops making snapshots and waits until everything has stopped. The last snapshot stays readable.
func (c *Catalog) Close() {
	c.cancel()
	c.wg.Wait()
}

// builder makes the snapshots, in one goroutine. Only its compile jobs run beside it.
type builder struct {
	catalog *Catalog
	cache   *listings
	plans   map[planKey]*planState
	queue   []*job
	running int
	workers int
	done    chan []*plan
	view    *registry.View
	// linked are the files of contracts in use, so that a second service of one, or other overlays, need not read it.
	linked map[string]*contract.Files
	// retryAt is when the first of the contracts that could not be read is to be read again; zero where there is none.
	retryAt    time.Time
	generation uint64
	// rules are the rules in use that ask who calls, by their keys.
	rules map[string]*access.Rule
	// grants are what the roles of a view grant.
	grants *access.Grants
	roles  map[registry.OwnedKey]*identityv1.StoredRole
}

// planState is where a plan is.
type planState struct {
	plan     *plan // nil before the first result
	busy     bool  // queued or running
	failures int   // in a row
	retryAt  time.Time
	used     bool // by the view of the current build
}

// settled reports whether the state says something final, for now at least.
func (s *planState) settled() bool { return s.plan != nil && (!s.plan.transient || s.failures > 0) }

// usable reports whether the plan was compiled, or is known never to compile.
func (s *planState) usable() bool { return s.plan != nil && !s.plan.transient }

// job compiles plans of one contract.
type job struct {
	keys     []planKey
	overlays [][]*registryv1.Overlay
	files    *contract.Files
}

func (b *builder) run(ctx context.Context) {
	var jobs sync.WaitGroup
	defer jobs.Wait()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var due time.Time // when finished plans are shown at the latest; zero where none wait
	for {
		b.start(ctx, &jobs)
		wait := time.Hour
		for _, at := range [...]time.Time{due, b.retryAt} {
			if !at.IsZero() {
				wait = min(wait, max(0, time.Until(at)))
			}
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-b.catalog.wake:
			b.view = b.catalog.latest.Load()
			b.build()
		case plans := <-b.done:
			b.running--
			b.take(plans)
			if due.IsZero() {
				due = time.Now().Add(partial)
			}
			if b.running+len(b.queue) == 0 {
				due = time.Time{}
				b.build()
			}
		case <-timer.C:
			due = time.Time{}
			if b.catalog.Load() == nil && b.running+len(b.queue) > 0 {
				b.retryAt = time.Time{} // the build after the last job finds it again
				continue                // nothing is shown yet, so that there is nothing to be early with
			}
			b.build() // shows what is finished, and queues what is to be tried again
		}
	}
}

// start runs queued jobs while there are idle workers.
func (b *builder) start(ctx context.Context, jobs *sync.WaitGroup) {
	for b.running < b.workers && len(b.queue) > 0 {
		j := b.queue[0]
		b.queue = b.queue[1:]
		b.running++
		jobs.Go(func() {
			load, cancel := context.WithTimeout(ctx, loadTimeout)
			defer cancel()
			plans := b.catalog.compiler.compile(load, j.keys, j.overlays, j.files)
			select {
			case b.done <- plans:
			case <-ctx.Done():
			}
		})
	}
}

// take takes over the results of a job.
func (b *builder) take(plans []*plan) {
	for _, p := range plans {
		s := b.plans[p.key]
		if s == nil {
			continue // nobody needs it any more
		}
		s.plan, s.busy = p, false
		if p.files != nil {
			b.linked[p.key.digest] = p.files
		}
		if !p.transient {
			s.failures = 0
			continue
		}
		pause := retryLongest
		if s.failures < 7 {
			pause = retryFirst << s.failures
		}
		s.failures++
		s.retryAt = time.Now().Add(pause)
		b.retryAt = earliest(b.retryAt, s.retryAt)
		b.catalog.options.Logger.Warn("a contract cannot be read; its service stays as it was", "service",
			p.key.service.String(), "error", p.err, "again_in", pause)
	}
}

// earliest gives the earlier of two times; the zero time is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// build makes a snapshot of the current view with the plans that are there, and queues those that are missing.
func (b *builder) build() {
	if b.view == nil {
		return
	}
	c := b.catalog
	before := c.Load()
	blocks := make(map[registry.Key]*block, len(b.view.Services))
	missing := map[string]*job{}
	complete := true
	for _, s := range b.plans {
		s.used = false
	}
	for key, stored := range b.view.Services {
		if !c.serves(key.Zone) {
			continue
		}
		var last *block
		if before != nil {
			last = before.blocks[key]
		}
		instances := b.view.Instances[key]
		if last != nil && last.settled && last.wanted.same(stored, instances) {
			b.use(last.wanted)
			blocks[key] = last
			continue
		}
		w := want(key, stored, instances)
		plans, settled, usable := b.gather(w, missing)
		complete = complete && settled
		switch {
		case usable && last.standsOn(plans, len(w.online) > 0):
			blocks[key] = last.with(w)
		case usable:
			blocks[key] = b.newBlock(key, w, plans, len(w.online) > 0)
			report(c.options.Logger, last, blocks[key])
		case last != nil:
			blocks[key] = last.stay(len(w.online) > 0)
		}
	}
	b.forget()
	for digest, j := range missing {
		j.files = b.linked[digest]
		b.queue = append(b.queue, j)
	}
	if before == nil && !complete {
		return // nothing is shown before there is a whole picture
	}
	b.generation++
	next := build(before, &Snapshot{
		Revision: b.view.Revision, Complete: complete, rules: c.options.Rules, generation: b.generation, blocks: blocks, listings: b.cache,
		decisions: b.decisions(before, blocks),
	})
	c.snapshot.Store(next)
	if before == nil {
		close(c.ready)
	}
	if c.options.OnSnapshot != nil {
		c.options.OnSnapshot(next)
	}
}

// forget drops the plans that the view does not need any more, and finds the next one that is to be tried again.
func (b *builder) forget() {
	b.retryAt = time.Time{}
	dropped := false
	for key, s := range b.plans {
		switch {
		case s.busy:
		case !s.used:
			delete(b.plans, key)
			dropped = true
		case !s.usable():
			b.retryAt = earliest(b.retryAt, s.retryAt)
		}
	}
	if !dropped {
		return
	}
	kept := make(map[string]*contract.Files, len(b.linked))
	for key := range b.plans {
		if files := b.linked[key.digest]; files != nil {
			kept[key.digest] = files
		}
	}
	b.linked = kept
}

// use notes that a settled block's plans are still needed.
func (b *builder) use(w *wanted) {
	for _, p := range w.plans() {
		if s := b.plans[p.key]; s != nil {
			s.used = true
		}
	}
}

// gather gives the plans of a service, and queues those that are missing. settled says that each plan has had its
// chance, usable that all are there.
func (b *builder) gather(w *wanted, missing map[string]*job) (plans []*plan, settled, usable bool) {
	settled, usable = true, true
	now := time.Now()
	for _, p := range w.plans() {
		s := b.plans[p.key]
		if s == nil {
			s = &planState{}
			b.plans[p.key] = s
		}
		s.used = true
		if !s.busy && !s.usable() && !now.Before(s.retryAt) {
			s.busy = true
			j := missing[p.key.digest]
			if j == nil {
				j = &job{}
				missing[p.key.digest] = j
			}
			j.keys, j.overlays = append(j.keys, p.key), append(j.overlays, p.overlays)
		}
		settled, usable = settled && s.settled(), usable && s.usable()
		plans = append(plans, s.plan)
	}
	return plans, settled, usable
}

func (c *Catalog) serves(zone string) bool {
	if len(c.options.ServesZones) == 0 {
		return true
	}
	for _, outer := range c.options.ServesZones {
		if participant.Within(zone, outer) {
			return true
		}
	}
	return false
}

// report logs what became hidden.
func report(logger *slog.Logger, last, next *block) {
	was := map[Hidden]bool{}
	if last != nil {
		for _, h := range last.hidden {
			was[h] = true
		}
	}
	for _, h := range next.hidden {
		if !was[h] {
			logger.Warn("a tool is hidden", "tool", h.Resource, "reason", h.Reason)
		}
	}
}
