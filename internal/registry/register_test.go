package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/participant"
)

func service(zone, name string, tools ...ToolName) ServiceRegistration {
	k := Key{zone, name}
	for i := range tools {
		if tools[i].Function == "" {
			tools[i].Function = k.String() + "/" + fmt.Sprint("M", i)
		}
	}
	return ServiceRegistration{Key: k, AliasRoot: participant.Root(zone), Tools: tools}
}

// withHost stores the machine that registers; a view leaves out instances of machines that are not there.
func withHost(t *testing.T, s *Store) *Store {
	t.Helper()
	if _, err := s.CreateMachine(testContext(t), registryv1.MachineKind_MACHINE_KIND_HOST, participant.System("host"), "host"); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRegister_lifeOfAnInstance(t *testing.T) {
	s := withHost(t, NewStore(etcdtest.Start(t), ""))
	ctx := testContext(t)
	_, v := watch(t, s, WatchOptions{})
	digest := put(t, s, "a")
	first, second := Key{"app.acme.orders", "a.A"}, Key{"", "a.B"}
	r := &Registration{
		MachineID: "host", TTL: 60 * time.Second, Contract: digest, Address: "10.0.0.1:1", Weight: 0,
		Services: []ServiceRegistration{service(first.Zone, first.Service, ToolName{Hash: "h1", Alias: "one"}), service("", "a.B", ToolName{Hash: "h2"})},
	}
	lease, err := s.Register(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(lease.InstanceID) != 32 || lease.TTL != 60*time.Second {
		t.Errorf("lease %+v", lease)
	}
	online := v.until("both services are online", func(v *View) bool { return v.Online(first) && v.Online(second) })
	i := online.Instances[first][0]
	if i.GetInstanceId() != lease.InstanceID || i.GetMachineId() != "host" || i.GetAddress() != "10.0.0.1:1" ||
		i.GetContractDigest() != digest || i.GetWeight() != 1 || i.GetTtlSeconds() != 60 {
		t.Errorf("instance %v", i)
	}
	if p := online.Published(first); p.GetDigest() != digest {
		t.Errorf("published %v", p)
	}

	for _, test := range []struct {
		name, machine, id string
		want              error
	}{
		{"foreign machine", "other", lease.InstanceID, ErrForeignInstance},
		{"unknown instance", "host", strings.Repeat("0", 32), ErrLeaseLost},
		{"no instance", "host", "", ErrLeaseLost},
		{"path", "host", "../x", ErrLeaseLost},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := s.KeepAlive(ctx, test.machine, test.id); !errors.Is(err, test.want) {
				t.Errorf("KeepAlive: %v, want %v", err, test.want)
			}
			if err := s.Drain(ctx, test.machine, test.id); !errors.Is(err, test.want) {
				t.Errorf("Drain: %v, want %v", err, test.want)
			}
			want := test.want
			if want == ErrLeaseLost { // what is not there is deregistered
				want = nil
			}
			if err := s.Deregister(ctx, test.machine, test.id); !errors.Is(err, want) {
				t.Errorf("Deregister: %v, want %v", err, want)
			}
		})
	}
	if ttl, err := s.KeepAlive(ctx, "host", lease.InstanceID); err != nil || ttl != 60*time.Second {
		t.Fatalf("KeepAlive = %v, %v", ttl, err)
	}

	// Registering again replaces, and takes away what the process no longer serves, without a gap.
	gap := make(chan struct{})
	watching, stop := context.WithCancel(ctx)
	events := s.c.Watch(watching, s.l.instance(first, lease.InstanceID))
	go func() {
		defer close(gap)
		for e := range events {
			for _, e := range e.Events {
				if e.Type == clientv3.EventTypeDelete {
					t.Error("the instance was gone while it registered again")
				}
			}
		}
	}()
	again := *r
	again.InstanceID, again.Services, again.Address = lease.InstanceID, r.Services[:1], "10.0.0.1:2"
	if l, err := s.Register(ctx, &again); err != nil || l.InstanceID != lease.InstanceID {
		t.Fatalf("again: %+v, %v", l, err)
	}
	v.until("the second service is offline and the first has moved", func(v *View) bool {
		return !v.Online(second) && v.Online(first) && v.Instances[first][0].GetAddress() == "10.0.0.1:2" && v.Services[second] != nil
	})
	stop()
	<-gap

	stolen := again
	stolen.MachineID = "other"
	if _, err := s.Register(ctx, &stolen); !errors.Is(err, ErrForeignInstance) {
		t.Errorf("another machine registers the instance: %v", err)
	}

	if err := s.Drain(ctx, "host", lease.InstanceID); err != nil {
		t.Fatal(err)
	}
	drained := v.until("the instance drains", func(v *View) bool {
		return len(v.Instances[first]) == 1 && v.Instances[first][0].GetDraining()
	})
	if drained.Online(first) {
		t.Error("a draining instance is online")
	}
	if _, err := s.KeepAlive(ctx, "host", lease.InstanceID); err != nil {
		t.Errorf("a draining instance cannot stay: %v", err)
	}
	// What it was farewelled with is written before it goes.
	farewell := s.c.Watch(ctx, s.l.instance(first, lease.InstanceID))
	if _, err := s.Register(ctx, &again); err != nil {
		t.Fatal(err)
	}
	if err := s.Deregister(ctx, "host", lease.InstanceID); err != nil {
		t.Fatal(err)
	}
	var draining, gone bool
	for !gone {
		select {
		case e := <-farewell:
			for _, e := range e.Events {
				gone = gone || e.Type == clientv3.EventTypeDelete
				if !gone {
					var i registryv1.StoredInstance
					_ = proto.Unmarshal(e.Kv.Value, &i)
					draining = i.GetDraining()
				}
			}
		case <-ctx.Done():
			t.Fatal("no farewell")
		}
	}
	if !draining {
		t.Error("the instance went without draining first")
	}
	offline := v.until("nothing is online", func(v *View) bool { return len(v.Instances) == 0 })
	if offline.Services[first] == nil || offline.Published(first).GetDigest() != digest {
		t.Error("the contract went with its last instance")
	}
	if err := s.Deregister(ctx, "host", lease.InstanceID); err != nil {
		t.Errorf("deregistering again: %v", err)
	}
	if leases, err := s.c.Leases(ctx); err != nil || len(leases.Leases) != 0 {
		t.Errorf("leases left behind: %v, %v", leases, err)
	}
}

func TestRegister_lostLease(t *testing.T) {
	s := withHost(t, NewStore(etcdtest.Start(t), ""))
	ctx := testContext(t)
	_, v := watch(t, s, WatchOptions{})
	k := Key{"", "a.A"}
	r := &Registration{MachineID: "host", TTL: 60 * time.Second, Contract: put(t, s, "a"), Services: []ServiceRegistration{service("", "a.A")}}
	lease, err := s.Register(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	v.until("online", func(v *View) bool { return v.Online(k) })
	leases, err := s.c.Leases(ctx)
	if err != nil || len(leases.Leases) != 1 {
		t.Fatalf("leases %v, %v", leases, err)
	}
	if _, err := s.c.Revoke(ctx, leases.Leases[0].ID); err != nil { // behind everybody's back
		t.Fatal(err)
	}
	v.until("offline", func(v *View) bool { return !v.Online(k) })
	if _, err := s.KeepAlive(ctx, "host", lease.InstanceID); !errors.Is(err, ErrLeaseLost) {
		t.Fatalf("KeepAlive: %v, want ErrLeaseLost", err)
	}
	r.InstanceID = lease.InstanceID
	if again, err := s.Register(ctx, r); err != nil || again.InstanceID != lease.InstanceID {
		t.Fatalf("again: %v, %v", again, err)
	}
	v.until("online again", func(v *View) bool { return v.Online(k) })

	// A lease that nobody renews lapses.
	r.InstanceID, r.TTL = "", time.Second
	short, err := s.Register(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	v.until("two are online", func(v *View) bool { return len(v.Instances[k]) == 2 })
	left := v.until("one has lapsed", func(v *View) bool { return len(v.Instances[k]) == 1 })
	if left.Instances[k][0].GetInstanceId() == short.InstanceID {
		t.Error("the wrong one lapsed")
	}
}

func TestRegister_refusesTakenNames(t *testing.T) {
	s := NewStore(etcdtest.Start(t), "")
	ctx := testContext(t)
	digest := put(t, s, "a")
	register := func(services ...ServiceRegistration) error {
		l, err := s.Register(ctx, &Registration{MachineID: "host", TTL: time.Minute, Contract: digest, Services: services})
		if err == nil {
			err = s.Deregister(ctx, "host", l.InstanceID) // names are judged over what is known, online or not
		}
		return err
	}
	if err := register(service("app.acme.orders.billing", "a.A", ToolName{Hash: "h1", Alias: "find"}, ToolName{Hash: "h2"})); err != nil {
		t.Fatal(err)
	}
	many := make([]ToolName, 300)
	for i := range many {
		many[i] = ToolName{Hash: fmt.Sprint("many", i), Alias: fmt.Sprint("many", i)}
	}
	tests := []struct {
		name     string
		services []ServiceRegistration
		want     []NameConflict
	}{
		{"the same again", []ServiceRegistration{service("app.acme.orders.billing", "a.A", ToolName{Hash: "h1", Alias: "find"}, ToolName{Hash: "h2"})}, nil},
		{"alias in the same root", []ServiceRegistration{service("app.acme.orders", "a.B", ToolName{Hash: "h3", Alias: "find"})},
			[]NameConflict{{Function: "app.acme.orders~a.B/M0", Holder: "app.acme.orders.billing~a.A/M0", Name: "find", Alias: true}}},
		{"alias in another root", []ServiceRegistration{service("app.acme.other", "a.C", ToolName{Hash: "h4", Alias: "find"})}, nil},
		{"alias un-zoned", []ServiceRegistration{service("", "a.D", ToolName{Hash: "h5", Alias: "find"})}, nil},
		{"hash, whatever the zone", []ServiceRegistration{service("system-api", "a.E", ToolName{Hash: "h2"})},
			[]NameConflict{{Function: "system-api~a.E/M0", Holder: "app.acme.orders.billing~a.A/M1", Name: "h2"}}},
		{"all at once", []ServiceRegistration{service("app.acme.orders", "a.F", ToolName{Hash: "h2", Alias: "find"})},
			[]NameConflict{
				{Function: "app.acme.orders~a.F/M0", Holder: "app.acme.orders.billing~a.A/M1", Name: "h2"},
				{Function: "app.acme.orders~a.F/M0", Holder: "app.acme.orders.billing~a.A/M0", Name: "find", Alias: true},
			}},
		{"within one registration", []ServiceRegistration{service("", "a.G", ToolName{Hash: "g", Alias: "g"}, ToolName{Hash: "g2", Alias: "g"})},
			[]NameConflict{{Function: "a.G/M1", Holder: "a.G/M0", Name: "g", Alias: true}}},
		{"more names than a transaction takes", []ServiceRegistration{service("", "a.H", many...)}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			listed, err := s.Conflicts(ctx, test.services)
			if err != nil || !slices.Equal(listed, test.want) {
				t.Errorf("Conflicts = %v, %v; want %v", listed, err, test.want)
			}
			err = register(test.services...)
			var refused *NameError
			switch {
			case test.want == nil && err != nil:
				t.Fatal(err)
			case test.want == nil:
				return
			case !errors.As(err, &refused):
				t.Fatalf("err = %v, want a NameError", err)
			}
			if !slices.Equal(refused.Conflicts, test.want) {
				t.Errorf("conflicts %v, want %v", refused.Conflicts, test.want)
			}
			for _, c := range test.want {
				if !strings.Contains(err.Error(), c.Function) || !strings.Contains(err.Error(), c.Holder) {
					t.Errorf("error %q does not name both functions", err)
				}
			}
			if _, known, _ := read(ctx, s, s.l.service(test.services[0].Key), new(registryv1.StoredService)); known != (keyMeta{}) {
				t.Error("a refused service is known")
			}
		})
	}
	if f, err := s.FunctionOf(ctx, "many299"); err != nil || f != "a.H/M299" {
		t.Errorf("FunctionOf = %q, %v", f, err)
	}
	if _, err := s.FunctionOf(ctx, "nothing"); !errors.Is(err, ErrNotFound) {
		t.Errorf("FunctionOf an unknown name: %v", err)
	}
	held, err := s.AliasHolders(ctx, []string{"app.acme.orders", "app.acme.other", "", "system-api"}, "find")
	if err != nil || len(held) != 3 || held[""] != "a.D/M0" {
		t.Errorf("AliasHolders = %v, %v", held, err)
	}
}

// Of two that register clashing names at the same time one wins, whole, and the other leaves nothing behind.
func TestRegister_race(t *testing.T) {
	s := NewStore(etcdtest.Start(t), "")
	ctx := testContext(t)
	digest := put(t, s, "a")
	const racers = 6
	errs := make([]error, racers)
	var wg sync.WaitGroup
	for i := range racers {
		wg.Go(func() {
			tools := []ToolName{{Hash: fmt.Sprint("own", i), Alias: fmt.Sprint("own", i)}, {Hash: fmt.Sprint("h", i), Alias: "shared"}}
			_, errs[i] = s.Register(ctx, &Registration{MachineID: "host", TTL: time.Minute, Contract: digest,
				Services: []ServiceRegistration{service("app-api", fmt.Sprint("a.S", i), tools...)}})
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		var refused *NameError
		if err == nil {
			won++
		} else if !errors.As(err, &refused) {
			t.Errorf("err = %v", err)
		}
	}
	if won != 1 {
		t.Errorf("%d registrations hold one name", won)
	}
	r, err := s.c.Get(ctx, s.l.services(), clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil || r.Count != 1 {
		t.Errorf("%d services, %v", r.Count, err)
	}
	if leases, err := s.c.Leases(ctx); err != nil || len(leases.Leases) != 1 {
		t.Errorf("leases %v, %v; want the winner's", leases, err)
	}
}

func TestRegister_manyServicesAndContracts(t *testing.T) {
	s := withHost(t, NewStore(etcdtest.Start(t), ""))
	ctx := testContext(t)
	_, v := watch(t, s, WatchOptions{})
	old, next := put(t, s, "old"), put(t, s, "next")
	r := &Registration{MachineID: "host", TTL: time.Minute, Contract: old}
	for i := range 256 {
		r.Services = append(r.Services, service("app.acme.orders", fmt.Sprint("a.S", i)))
	}
	lease, err := s.Register(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	v.until("all are online", func(v *View) bool { return len(v.Instances) == 256 })

	k := r.Services[7].Key
	newer := &Registration{MachineID: "host", TTL: time.Minute, Contract: next, Services: []ServiceRegistration{r.Services[7]}}
	if _, err := s.Register(ctx, newer); err != nil {
		t.Fatal(err)
	}
	overlaid := *newer
	overlaid.Services = []ServiceRegistration{{Key: k, Overlays: []*registryv1.Overlay{{Function: k.Service + "/M"}}}}
	if _, err := s.Register(ctx, &overlaid); err != nil {
		t.Fatal(err)
	}
	both := v.until("three contracts are known", func(v *View) bool { return len(v.Services[k].GetContracts()) == 3 && len(v.Instances[k]) == 3 })
	if got := both.Published(k).GetDigest(); got != old {
		t.Errorf("published is %.8s, want the oldest that is online", got)
	}
	if err := s.Deregister(ctx, "host", lease.InstanceID); err != nil {
		t.Fatal(err)
	}
	after := v.until("the old ones are gone", func(v *View) bool { return len(v.Instances) == 1 && len(v.Instances[k]) == 2 })
	if got := after.Published(k); got.GetDigest() != next || len(got.GetOverlays()) != 0 {
		t.Errorf("published is %v, want the oldest that is online", got)
	}

	unknown := *newer
	unknown.Contract = strings.Repeat("0", 64)
	if _, err := s.Register(ctx, &unknown); !errors.Is(err, ErrNotFound) {
		t.Errorf("an unknown contract: %v", err)
	}
	huge := *newer
	huge.Services = []ServiceRegistration{{Key: Key{"", "a.Huge"}, Overlays: []*registryv1.Overlay{{Function: "a.Huge/M", ServiceTitle: strings.Repeat("x", chunkBytes)}}}}
	if _, err := s.Register(ctx, &huge); err == nil || !strings.Contains(err.Error(), "overlays") {
		t.Errorf("an overlay beyond etcd's limit: %v", err)
	}
}

func TestDial(t *testing.T) {
	server := etcdtest.New(t)
	c, err := Dial(&configv1.EtcdClient{Endpoints: []string{server.Endpoint()}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Get(testContext(t), "a"); err != nil {
		t.Error(err)
	}
	for _, test := range []struct {
		name string
		cfg  *configv1.EtcdClient
	}{
		{"password file missing", &configv1.EtcdClient{Endpoints: []string{server.Endpoint()}, Username: "u", PasswordFile: "/nowhere/password"}},
		{"user name without password", &configv1.EtcdClient{Endpoints: []string{server.Endpoint()}, Username: "u"}},
		{"ca file missing", &configv1.EtcdClient{Endpoints: []string{server.Endpoint()}, Tls: &configv1.ClientTls{CaFile: "/nowhere/ca.pem"}}},
		{"no endpoint", &configv1.EtcdClient{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if c, err := Dial(test.cfg); err == nil {
				c.Close()
				t.Error("no error")
			}
		})
	}
}
