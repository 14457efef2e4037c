package registry

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/participant"
)

func putService(t *testing.T, s *Store, k Key) {
	t.Helper()
	value, err := encode(&registryv1.StoredService{Zone: k.Zone, Service: k.Service})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.c.Put(testContext(t), s.l.service(k), value); err != nil {
		t.Fatal(err)
	}
}

func TestWatch_showsEveryKindAndSharesWhatDidNotChange(t *testing.T) {
	s := NewStore(etcdtest.Start(t), "")
	ctx := testContext(t)
	a, b := Key{"app.acme.orders", "a.A"}, Key{"", "b.B"}
	putService(t, s, a)
	w, v := watch(t, s, WatchOptions{})
	<-w.Ready()
	first := v.until("the first service is there", func(v *View) bool { return v.Services[a] != nil })
	if w.View() == nil || w.Stale() {
		t.Error("ready, but without a view or stale")
	}
	putService(t, s, b)
	if _, err := s.CreateMachine(ctx, registryv1.MachineKind_MACHINE_KIND_CLIENT, participantSystem, "m"); err != nil {
		t.Fatal(err)
	}
	second := v.until("all is there", func(v *View) bool { return v.Services[b] != nil && len(v.Machines) == 1 })
	if second.Services[a] != first.Services[a] {
		t.Error("an unchanged service is another message")
	}
	if second.Revision <= first.Revision {
		t.Errorf("revision %d after %d", second.Revision, first.Revision)
	}
	if len(first.Services) != 1 || len(first.Machines) != 0 {
		t.Error("an old view has changed")
	}
	if m, ok := w.Machine("m"); !ok || m.GetId() != "m" {
		t.Error("the watcher does not find the machine")
	}
	if _, ok := (*View)(nil).Machine("m"); ok {
		t.Error("no view knows a machine")
	}
	if _, err := s.c.Delete(ctx, s.l.service(a)); err != nil {
		t.Fatal(err)
	}
	v.until("the first service is gone", func(v *View) bool { return v.Services[a] == nil && v.Services[b] != nil })
}

func TestWatch_leavesOutWhatItCannotRead(t *testing.T) {
	s := NewStore(etcdtest.Start(t), "")
	ctx := testContext(t)
	var log strings.Builder
	k, other := Key{"app-api", "a.A"}, Key{"", "z.Z"}
	putService(t, s, k)
	_, v := watch(t, s, WatchOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	v.until("the service is there", func(v *View) bool { return v.Services[k] != nil })
	misplaced, _ := encode(&registryv1.StoredMachine{Id: "somebody"})
	txn := s.c.Txn(ctx).Then(
		clientv3.OpPut(s.l.service(k), "\xff not a message"),
		clientv3.OpPut(s.l.machine("somebody-else"), misplaced),
		clientv3.OpPut(string(s.l)+"identities/users/x", "of a later version"),
	)
	if _, err := txn.Commit(); err != nil {
		t.Fatal(err)
	}
	putService(t, s, other)
	view := v.until("the later change is there", func(v *View) bool { return v.Services[other] != nil })
	if view.Services[k] != nil || len(view.Machines) != 0 {
		t.Errorf("what cannot be read is served: %v %v", view.Services, view.Machines)
	}
	putService(t, s, k)
	v.until("it is back when it can be read", func(v *View) bool { return v.Services[k] != nil })
}

// A watcher whose place in history was compacted away while it could not follow lists again, carries over what changed
// meanwhile, and shows no view in between that lacks what was there all the time.
func TestWatch_resumesAfterCompaction(t *testing.T) {
	server := etcdtest.New(t)
	s := NewStore(server.Client(), "")
	ctx := testContext(t)
	stays, goes, comes := Key{"app-api", "a.Stays"}, Key{"app-api", "a.Goes"}, Key{"app-api", "a.Comes"}
	putService(t, s, stays)
	putService(t, s, goes)

	gate := newGate(t, server.Endpoint())
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{gate.url}, Logger: nopLogger})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stale := make(chan bool, 10)
	w, v := watch(t, NewStore(c, ""), WatchOptions{StaleAfter: 600 * time.Millisecond, OnStale: func(b bool) { stale <- b }})
	defer w.Close()
	before := v.until("both are there", func(v *View) bool { return v.Services[stays] != nil && v.Services[goes] != nil })

	gate.shut()
	expect(t, stale, true)
	if !w.Stale() || w.View() != before {
		t.Error("the last view does not stand while etcd is away")
	}
	if _, err := s.c.Delete(ctx, s.l.service(goes)); err != nil {
		t.Fatal(err)
	}
	putService(t, s, comes)
	for i := range 20 {
		putService(t, s, Key{"", fmt.Sprint("noise.N", i)})
	}
	server.Compact(ctx)
	gate.open()
	expect(t, stale, false)
	after := v.until("the change is there", func(v *View) bool {
		if v.Services[stays] == nil {
			t.Error("a view lacks what was never gone")
		}
		return v.Services[comes] != nil
	})
	if after.Services[goes] != nil || after.Services[stays] != before.Services[stays] {
		t.Error("the difference was not carried over")
	}
	// And it follows again.
	putService(t, s, goes)
	v.until("a later change is there", func(v *View) bool { return v.Services[goes] != nil })
}

func TestWatch_staleWhileEtcdIsDown(t *testing.T) {
	server := etcdtest.New(t)
	s := NewStore(server.Client(), "")
	k := Key{"app-api", "a.A"}
	putService(t, s, k)
	stale := make(chan bool, 10)
	w, v := watch(t, s, WatchOptions{StaleAfter: 600 * time.Millisecond, OnStale: func(b bool) { stale <- b }})
	last := v.until("there is a view", func(*View) bool { return true })
	server.Stop()
	expect(t, stale, true)
	if w.View() != last || w.View().Services[k] == nil {
		t.Error("the last view does not stand")
	}
	server.Restart()
	expect(t, stale, false)
	putService(t, s, Key{"app-api", "a.B"})
	v.until("it follows again", func(v *View) bool { return v.Services[Key{"app-api", "a.B"}] != nil })
}

// An idle registry is not a silent one. That nothing happens is what is tested, so the test lasts as long as the
// watcher's whole patience.
func TestWatch_staysFreshWhileNothingHappens(t *testing.T) {
	s := NewStore(etcdtest.Start(t), "")
	putService(t, s, Key{"app-api", "a.A"})
	const patience = 300 * time.Millisecond
	var stale atomic.Bool
	var log syncedLog
	w, v := watch(t, s, WatchOptions{
		StaleAfter: patience, OnStale: func(now bool) { stale.Store(stale.Load() || now) },
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	v.until("the service is there", func(v *View) bool { return len(v.Services) == 1 })
	<-time.After(6 * patience) // a watch without an answer is given up after five
	if stale.Load() || w.Stale() {
		t.Error("an idle registry is called stale")
	}
	if text := log.String(); strings.Contains(text, "listing again") {
		t.Errorf("an idle watch was given up:\n%s", text)
	}
}

func TestWatch_beforeEtcdIsThere(t *testing.T) {
	server := etcdtest.New(t)
	server.Stop()
	stale := make(chan bool, 10)
	w, v := watch(t, NewStore(server.Client(), ""), WatchOptions{StaleAfter: 600 * time.Millisecond, OnStale: func(b bool) { stale <- b }})
	expect(t, stale, true)
	if w.View() != nil {
		t.Error("a view out of nothing")
	}
	select {
	case <-w.Ready():
		t.Error("ready without a view")
	default:
	}
	server.Restart()
	v.until("the first view is there", func(*View) bool { return true })
	<-w.Ready()
	expect(t, stale, false)
}

// Who may no longer serve is not called any more, at once and however long the lease is, and again when it may.
func TestWatch_leavesOutInstancesOfWhoMayNotServe(t *testing.T) {
	s := NewStore(etcdtest.Start(t), "")
	ctx := testContext(t)
	_, v := watch(t, s, WatchOptions{})
	digest := put(t, s, "a")
	k := Key{"app.acme.orders", "a.A"}
	of := participant.Application("acme", "orders", "host")
	if _, err := s.CreateMachine(ctx, registryv1.MachineKind_MACHINE_KIND_HOST, of, "host"); err != nil {
		t.Fatal(err)
	}
	for _, machine := range []string{"", "host"} {
		_, err := s.Register(ctx, &Registration{MachineID: machine, TTL: time.Minute, Contract: digest, Services: []ServiceRegistration{service(k.Zone, k.Service)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	serving := func(n int) func(*View) bool {
		return func(v *View) bool { return len(v.Instances[k]) == n && v.Online(k) }
	}
	machine := func(disabled bool) error { _, err := s.SetMachineDisabled(ctx, "host", disabled); return err }
	organization := func(disabled bool) error { _, err := s.SetOrganizationDisabled(ctx, "acme", disabled); return err }
	application := func(disabled bool) error {
		_, err := s.SetApplicationDisabled(ctx, "acme", "orders", disabled)
		return err
	}
	both := v.until("both instances serve", serving(2))
	for _, row := range []struct {
		name string
		turn func(disabled bool) error
	}{{"machine", machine}, {"organization", organization}, {"application", application}} {
		if err := row.turn(true); err != nil {
			t.Fatal(err)
		}
		if left := v.until(row.name+" disabled", serving(1)); left.Instances[k][0].GetMachineId() != "" {
			t.Errorf("%s disabled: left is %v", row.name, left.Instances[k][0])
		}
		if err := row.turn(false); err != nil {
			t.Fatal(err)
		}
		again := v.until(row.name+" enabled", serving(2))
		if !slices.Equal(again.Instances[k], both.Instances[k]) {
			t.Errorf("%s enabled: other instances than before", row.name)
		}
	}
	if err := s.RemoveMachine(ctx, "host"); err != nil {
		t.Fatal(err)
	}
	v.until("the machine is gone", serving(1))
}

func TestWatch_coalesces(t *testing.T) {
	s := NewStore(etcdtest.Start(t), "")
	ctx := testContext(t)
	var published atomic.Int64
	seen := make(chan struct{})
	w := s.Watch(context.Background(), WatchOptions{OnChange: func(v *View) {
		published.Add(1)
		if len(v.Services) == 1000 {
			close(seen)
		}
	}})
	defer w.Close()
	<-w.Ready()
	for i := 0; i < 1000; i += 100 {
		ops := make([]clientv3.Op, 100)
		for n := range ops {
			k := Key{"", fmt.Sprint("a.S", i+n)}
			value, _ := encode(&registryv1.StoredService{Service: k.Service})
			ops[n] = clientv3.OpPut(s.l.service(k), value)
		}
		if _, err := s.c.Txn(ctx).Then(ops...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-seen:
	case <-ctx.Done():
		t.Fatal("not all changes arrived")
	}
	if n := published.Load(); n > 11 {
		t.Errorf("%d views of 10 transactions", n)
	}
}

func TestWatch_listsInPages(t *testing.T) {
	s := NewStore(etcdtest.Start(t), "")
	ctx := testContext(t)
	for i := 0; i < page+50; i += 50 {
		ops := make([]clientv3.Op, 50)
		for n := range ops {
			k := Key{"", fmt.Sprint("a.S", i+n)}
			value, _ := encode(&registryv1.StoredService{Service: k.Service})
			ops[n] = clientv3.OpPut(s.l.service(k), value)
		}
		if _, err := s.c.Txn(ctx).Then(ops...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	_, v := watch(t, s, WatchOptions{})
	if first := v.until("there is one", func(*View) bool { return true }); len(first.Services) != page+50 {
		t.Errorf("%d services in the first view, want %d", len(first.Services), page+50)
	}
}

func TestLayout(t *testing.T) {
	t.Parallel()
	l := newLayout("/p")
	tests := []struct {
		raw  string
		kind kind
		key  Key
		id   string
	}{
		{l.service(Key{"", "a.A"}), kindService, Key{"", "a.A"}, ""},
		{l.service(Key{"app.acme.orders", "a.A"}), kindService, Key{"app.acme.orders", "a.A"}, ""},
		{l.instance(Key{"", "a.A"}, "i"), kindInstance, Key{"", "a.A"}, "i"},
		{l.instance(Key{"system-api", "a.A"}, "i"), kindInstance, Key{"system-api", "a.A"}, "i"},
		{l.machine("m"), kindMachine, Key{}, "m"},
		{l.assertionKey("k"), kindAssertionKey, Key{}, "k"},
		{l.alias("", "x"), kindOther, Key{}, ""},
		{"/p/services/app-api", kindOther, Key{}, ""},
		{"/p/services//a.A", kindOther, Key{}, ""},
		{"/p/services/app-api/a.A/b", kindOther, Key{}, ""},
		{"/q/services/app-api/a.A", kindOther, Key{}, ""},
		{"/p/oauth/codes/x", kindOther, Key{}, ""},
	}
	seen := map[string]bool{}
	from, to := l.watched()
	for _, test := range tests {
		what, key, id := l.parse(test.raw)
		if what != test.kind || key != test.key || id != test.id {
			t.Errorf("parse(%q) = %v, %v, %q", test.raw, what, key, id)
		}
		if watched := test.raw >= from && test.raw < to; test.kind != kindOther && !watched {
			t.Errorf("%q is not watched", test.raw)
		}
		seen[test.raw] = true
	}
	if len(seen) != len(tests) {
		t.Errorf("two keys are spelled alike: %v", maps.Keys(seen))
	}
	for _, raw := range []string{l.manifest("d"), l.chunk("d", 1), l.alias("app-api", "x"), l.function("h"), l.host("i")} {
		if raw >= from && raw < to {
			t.Errorf("%q is watched: its traffic is nobody's business", raw)
		}
	}
	if Key.String(Key{"z", "a.A"}) != "z~a.A" || Key.String(Key{"", "a.A"}) != "a.A" {
		t.Error("qualified names are misspelled")
	}
}

func expect[T comparable](t *testing.T, ch <-chan T, want T) {
	t.Helper()
	select {
	case got := <-ch:
		if got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("no %v", want)
	}
}

// syncedLog collects what several goroutines log.
type syncedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *syncedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *syncedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
