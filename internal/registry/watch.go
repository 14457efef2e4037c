package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

const (
	// coalesce is how long changes are collected before they become one view (registry.md, "The edge's watch").
	coalesce = 10 * time.Millisecond
	// defaultStaleAfter is how long etcd may be silent before a view is called stale.
	defaultStaleAfter = 3 * time.Second
	// page is how many keys one request lists.
	page = 2000
)

// WatchOptions says who hears of changes. All fields are optional.
type WatchOptions struct {
	// Logger hears of lost watches and of values that cannot be read. Nil discards.
	Logger *slog.Logger
	// OnChange is called with each new view, one call after the other. It must not block for long, since the next
	// view waits for it, and it must not call Close.
	OnChange func(*View)
	// OnStale is called when views become stale and when they are fresh again, one call after the other, possibly
	// while OnChange runs. It must not call Close.
	OnStale func(bool)
	// StaleAfter is how long etcd may be silent before the view is called stale. It is asked three times as often.
	// 0 means 3 s.
	StaleAfter time.Duration
}

// Watcher follows the registry's data: it lists it at a revision and watches what follows. When the watch is lost,
// or its place in history is compacted away, it lists again and carries over the difference; the last view stands
// meanwhile, so that nobody ever sees an empty one in between. All methods are safe for concurrent use.
type Watcher struct {
	s    *Store
	o    WatchOptions
	d    *draft
	view atomic.Pointer[View]

	ready     chan struct{}
	readyOnce sync.Once
	cancel    context.CancelFunc
	wg        sync.WaitGroup

	mu    sync.Mutex // guards seen, and orders the calls of OnStale
	seen  time.Time
	stale atomic.Bool
	// silent is since when etcd has been silent, in nanoseconds of the epoch; 0 while the view is fresh.
	silent atomic.Int64
}

// Watch starts to follow the data until the context ends or Close is called. It does not wait for etcd: where that is
// away, the watcher keeps trying.
func (s *Store) Watch(ctx context.Context, o WatchOptions) *Watcher {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.StaleAfter <= 0 {
		o.StaleAfter = defaultStaleAfter
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &Watcher{s: s, o: o, d: newDraft(s.l), ready: make(chan struct{}), cancel: cancel, seen: time.Now()}
	w.wg.Go(func() { w.run(ctx) })
	w.wg.Go(func() { w.judgeSilence(ctx) })
	return w
}

// View gives the newest view; nil before the first.
func (w *Watcher) View() *View { return w.view.Load() }

// Ready is closed when the first view is there and OnChange has returned from it.
func (w *Watcher) Ready() <-chan struct{} { return w.ready }

// Stale reports whether etcd has been silent for too long, so that the view may lag behind.
func (w *Watcher) Stale() bool { return w.stale.Load() }

// SilentSince gives since when etcd has been silent, where the view is stale. It takes no lock.
func (w *Watcher) SilentSince() (since time.Time, stale bool) {
	nanos := w.silent.Load()
	if nanos == 0 {
		return time.Time{}, false
	}
	return time.Unix(0, nanos), true
}

// Machine gives a machine identity from the newest view.
func (w *Watcher) Machine(id string) (*registryv1.StoredMachine, bool) { return w.View().Machine(id) }

// Close stops following and waits for running callbacks. The last view stays readable.
func (w *Watcher) Close() {
	w.cancel()
	w.wg.Wait()
}

func (w *Watcher) run(ctx context.Context) {
	const longest = 2 * time.Second
	wait := 50 * time.Millisecond
	for ctx.Err() == nil {
		began := time.Now()
		err := w.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > 5*longest {
			wait = 50 * time.Millisecond
		}
		w.o.Logger.Warn("the registry's watch was lost; listing again", "error", err, "after", wait)
		pause := time.NewTimer(wait/2 + rand.N(wait))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
		wait = min(2*wait, longest)
	}
}

// follow lists, then watches until the watch is lost.
func (w *Watcher) follow(ctx context.Context) error {
	revision, err := w.list(ctx)
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	if w.d.dirty || w.View() == nil {
		w.publish(revision)
	}

	// A watcher of our own has a stream of its own: nobody else's progress or failure is taken for ours.
	etcd := clientv3.NewWatcher(w.s.c)
	defer etcd.Close()
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	from, to := w.s.l.watched()
	// From the listed revision, not from the next one: etcd answers no progress request of a watch that begins in its
	// future, and an idle registry would look like a silent one. What is delivered twice changes nothing.
	events := etcd.Watch(ctx, from, clientv3.WithRange(to), clientv3.WithRev(revision),
		clientv3.WithProgressNotify(), clientv3.WithFragment())

	var prober sync.WaitGroup
	prober.Go(func() { w.probe(ctx, etcd) })
	defer prober.Wait()
	defer cancel()

	var due <-chan time.Time
	defer func() {
		if w.d.dirty { // what arrived is true, even if nothing more comes
			w.publish(revision)
		}
	}()
	// A watch can hang although its connection stands. Silence beyond all patience makes a new one.
	silent := time.NewTimer(5 * w.o.StaleAfter)
	defer silent.Stop()
	for {
		select {
		case r, ok := <-events:
			if !ok {
				return errors.New("the watch's channel was closed")
			}
			if err := r.Err(); err != nil {
				return err
			}
			w.heard()
			silent.Reset(5 * w.o.StaleAfter)
			revision = max(revision, r.Header.Revision)
			for _, e := range r.Events {
				w.apply(e)
			}
			if w.d.dirty && due == nil {
				due = time.After(coalesce)
			}
		case <-due:
			due = nil
			w.publish(revision)
		case <-silent.C:
			return errors.New("no answer on the watch's stream")
		}
	}
}

// list reads everything at one revision into the draft and drops what is gone.
func (w *Watcher) list(ctx context.Context) (revision int64, err error) {
	from, to := w.s.l.watched()
	listed := make(map[string]struct{}, len(w.d.known))
	for {
		options := []clientv3.OpOption{clientv3.WithRange(to), clientv3.WithLimit(page)}
		if revision != 0 {
			options = append(options, clientv3.WithRev(revision))
		}
		r, err := w.get(ctx, from, options)
		if err != nil {
			return 0, err
		}
		w.heard()
		if revision == 0 {
			revision = r.Header.Revision
		}
		for _, kv := range r.Kvs {
			listed[string(kv.Key)] = struct{}{}
			w.take(string(kv.Key), kv.ModRevision, kv.Value)
		}
		if !r.More {
			break
		}
		from = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
	for key := range w.d.known {
		if _, ok := listed[key]; !ok {
			w.d.delete(key)
		}
	}
	return revision, nil
}

func (w *Watcher) get(ctx context.Context, from string, options []clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), 10*time.Second)
	defer cancel()
	return w.s.c.Get(ctx, from, options...)
}

func (w *Watcher) apply(e *clientv3.Event) {
	if e.Type == clientv3.EventTypeDelete {
		w.d.delete(string(e.Kv.Key))
		return
	}
	w.take(string(e.Kv.Key), e.Kv.ModRevision, e.Kv.Value)
}

func (w *Watcher) take(key string, mod int64, value []byte) {
	if err := w.d.put(key, mod, value); err != nil {
		w.o.Logger.Error("a stored value cannot be read and is left out", "error", err)
	}
}

func (w *Watcher) publish(revision int64) {
	v := w.d.publish(revision)
	w.view.Store(v)
	if w.o.OnChange != nil {
		w.o.OnChange(v)
	}
	w.readyOnce.Do(func() { close(w.ready) })
}

// probe asks for a sign of life, so that silence means something: on the watch's own stream, and of etcd itself, since
// a watch that the client resumed after a lost connection begins in the future and answers no progress request.
func (w *Watcher) probe(ctx context.Context, etcd clientv3.Watcher) {
	every := time.NewTicker(w.o.StaleAfter / 3)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			ask, cancel := context.WithTimeout(ctx, w.o.StaleAfter)
			_ = etcd.RequestProgress(ask) // failing is silence, which is judged
			if _, err := w.s.c.Get(ask, string(w.s.l), clientv3.WithCountOnly()); err == nil {
				w.heard()
			}
			cancel()
		}
	}
}

// judgeSilence calls the view stale when nothing was heard for too long.
func (w *Watcher) judgeSilence(ctx context.Context) {
	every := time.NewTicker(w.o.StaleAfter / 6)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			w.mu.Lock()
			if time.Since(w.seen) > w.o.StaleAfter {
				w.setStale(true)
			}
			w.mu.Unlock()
		}
	}
}

func (w *Watcher) heard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = time.Now()
	w.setStale(false)
}

// setStale is called with mu held.
func (w *Watcher) setStale(stale bool) {
	if w.stale.Load() == stale {
		return
	}
	w.stale.Store(stale)
	w.silent.Store(0)
	if stale {
		w.silent.Store(w.seen.UnixNano())
		w.o.Logger.Warn("etcd is silent; the last view stands", "since", w.seen)
	} else {
		w.o.Logger.Info("etcd answers again")
	}
	if w.o.OnStale != nil {
		w.o.OnStale(stale)
	}
}
