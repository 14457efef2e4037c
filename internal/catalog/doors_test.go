package catalog_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/emptypb"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/catalog"
	"github.com/sallyport-dev/sallyport/internal/dispatch"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/participant"
)

// anyAddress admits every address: what may be dialled is another room's matter.
type anyAddress struct{}

func (anyAddress) CheckDial(string, netip.Addr, string, uint16) error { return nil }

// serve runs a real gRPC server that answers every method with an empty message, and counts.
func serve(t *testing.T) (address string, calls *atomic.Int64) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	calls = new(atomic.Int64)
	s := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if err := stream.RecvMsg(new(emptypb.Empty)); err != nil {
			return err
		}
		calls.Add(1)
		return stream.SendMsg(new(emptypb.Empty))
	}))
	var running sync.WaitGroup
	running.Go(func() { _ = s.Serve(listener) })
	t.Cleanup(func() { s.Stop(); running.Wait() })
	return listener.Addr().String(), calls
}

// access.md, "Zones": the matrix of participants and zones, for list and for call, at both doors. In every zone runs
// one service with one tool. At the first door the name either resolves or is nobody's; at the second door every caller
// comes with every entry, as if resolution had been wrong.
func TestDoors(t *testing.T) {
	zones := []string{
		"", "app-api", "app-api.eu", "app-api-2", "management-api", "management-api.users", "management-apis",
		"system-api", "system-api.keys", "system-api-2", "app", "app.acme", "app.acme.orders", "app.acme.orders.billing",
		"app.acme.orders-2", "app.acme.ordersx", "app.acme.crm", "app.acme-2.orders", "app.globex.orders", "lab",
	}
	address, calls := serve(t)
	closed, opened := participant.Rules{}, participant.Rules{
		OrganizationsReachTheirApplications: true, AnonymousZones: []string{"app-api", "app.acme.orders"},
	}
	type row struct {
		name    string
		p       *participant.Participant
		reaches []string
	}
	illFormed := func(kind participantv1.Kind, organization, application string) *participant.Participant {
		return &participant.Participant{Kind: kind, Id: "x", OrganizationId: organization, ApplicationId: application}
	}
	nothing := []row{
		{"nobody", nil, nil},
		{"unspecified", illFormed(0, "", ""), nil},
		{"unspecified with ids", illFormed(0, "acme", "orders"), nil},
		{"unknown kind", illFormed(17, "acme", "orders"), nil},
		{"system with an organization", illFormed(1, "acme", ""), nil},
		{"organization without id", illFormed(2, "", ""), nil},
		{"organization with an application", illFormed(2, "acme", "orders"), nil},
		{"application without organization", illFormed(3, "", "orders"), nil},
		{"application without application", illFormed(3, "acme", ""), nil},
		{"anonymous with an organization", illFormed(4, "acme", ""), nil},
		{"organization with a dotted id", illFormed(2, "acme.orders", ""), nil},
		{"application with a dotted id", illFormed(3, "acme", "orders.billing"), nil},
		{"organization named system-api", illFormed(2, "system-api", ""), nil},
		{"application named system-api", illFormed(3, "acme", "system-api"), nil},
	}
	for name, world := range map[string]struct {
		rules participant.Rules
		rows  []row
	}{
		"by default": {closed, append([]row{
			{"system", participant.System("s"), zones},
			{"organization", participant.Organization("acme", "o"),
				[]string{"app-api", "app-api.eu", "management-api", "management-api.users"}},
			{"application", participant.Application("acme", "orders", "a"),
				[]string{"app-api", "app-api.eu", "app.acme.orders", "app.acme.orders.billing"}},
			{"application of a look-alike", participant.Application("acme", "orders-2", "a"),
				[]string{"app-api", "app-api.eu", "app.acme.orders-2"}},
			{"application of a look-alike organization", participant.Application("acme-2", "orders", "a"),
				[]string{"app-api", "app-api.eu", "app.acme-2.orders"}},
			{"anonymous", participant.Anonymous(), nil},
		}, nothing...)},
		"with both settings": {opened, append([]row{
			{"system", participant.System("s"), zones},
			{"organization", participant.Organization("acme", "o"),
				[]string{"app-api", "app-api.eu", "management-api", "management-api.users", "app.acme.orders",
					"app.acme.orders.billing", "app.acme.orders-2", "app.acme.ordersx", "app.acme.crm"}},
			{"application", participant.Application("acme", "orders", "a"),
				[]string{"app-api", "app-api.eu", "app.acme.orders", "app.acme.orders.billing"}},
			{"anonymous", participant.Anonymous(),
				[]string{"app-api", "app-api.eu", "app.acme.orders", "app.acme.orders.billing"}},
		}, nothing...)},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, func(o *catalog.Options) { o.Rules = world.rules })
			digest := h.contract(orderService("Find"))
			w := newWorld()
			for _, z := range zones {
				w.serves(z, orders, digest)
				w.instances[registry.Key{Zone: z, Service: orders}][0].Address = address
			}
			v := w.view()
			v.AssertionKeys = []*registryv1.StoredAssertionKey{{Kid: "k", Seed: bytes.Repeat([]byte{1}, ed25519.SeedSize)}}
			s := h.show(v)
			d := dispatch.New(dispatch.Options{Rules: world.rules, Access: h.catalog, Addresses: anyAddress{}})
			defer d.Close()
			d.Update(v)
			for _, row := range world.rows {
				t.Run(row.name, func(t *testing.T) {
					var want []string
					for _, z := range row.reaches {
						want = append(want, hash(z, orders, "Find"))
					}
					if got := listed(t, s, row.p, 3); !slices.Equal(got, sorted(want...)) {
						t.Errorf("is listed %q, want %q", got, want)
					}
					for _, z := range zones {
						reaches := slices.Contains(row.reaches, z)
						if _, ok := s.Resolve(row.p, dialect.Canonical, hash(z, orders, "Find")); ok != reaches {
							t.Errorf("zone %q: the first door lets through: %t", z, ok)
						}
						entry, ok := s.Resolve(participant.System("wrong resolution"), dialect.Canonical, hash(z, orders, "Find"))
						if !ok {
							t.Fatalf("zone %q: nothing to be called", z)
						}
						before := calls.Load()
						_, err := d.Call(context.Background(), &dispatch.Request{
							Participant: row.p, Service: entry.Service, FullMethod: entry.Tool.FullMethod, RepeatSafe: true,
						})
						var failure *dispatch.Error
						switch {
						case reaches && err != nil:
							t.Errorf("zone %q: the second door: %v", z, err)
						case !reaches && (!errors.As(err, &failure) || !failure.Disagreement || failure.Executed != dispatch.ExecutedNo):
							t.Errorf("zone %q: the second door: %v", z, err)
						}
						if (calls.Load() != before) != reaches {
							t.Errorf("zone %q: %d calls reached the instance", z, calls.Load()-before)
						}
					}
				})
			}
		})
	}
}

// The second door asks the access rule of now: what was resolved from an older snapshot, before a DENY_ALL, is refused.
func TestDoors_anAccessRuleThatChangedAfterResolution(t *testing.T) {
	address, calls := serve(t)
	h := open(t, nil)
	before := h.contract(orderService("Find"))
	after := h.contract(orderService("Find option (sallyport.tool.v1.tool) = {access: {mode: ACCESS_MODE_DENY_ALL}};", "Cancel"))
	d := dispatch.New(dispatch.Options{Access: h.catalog, Addresses: anyAddress{}})
	defer d.Close()
	show := func(w *world) *catalog.Snapshot {
		for _, i := range w.instances[registry.Key{Zone: zone, Service: orders}] {
			i.Address = address
		}
		v := w.view()
		v.AssertionKeys = []*registryv1.StoredAssertionKey{{Kid: "k", Seed: bytes.Repeat([]byte{1}, ed25519.SeedSize)}}
		s := h.show(v)
		d.Update(v)
		return s
	}
	w := newWorld().serves(zone, orders, before)
	entry, ok := show(w).Resolve(app, dialect.Canonical, hash(zone, orders, "Find"))
	if !ok {
		t.Fatal("it does not resolve to begin with")
	}
	r := &dispatch.Request{Participant: app, Service: entry.Service, FullMethod: entry.Tool.FullMethod}
	if _, err := d.Call(context.Background(), r); err != nil || calls.Load() != 1 {
		t.Fatal(err)
	}
	show(w.knows(zone, orders, before, after).runs(zone, orders, before, after))
	var failure *dispatch.Error
	if _, err := d.Call(context.Background(), r); !errors.As(err, &failure) || !failure.Disagreement || calls.Load() != 1 {
		t.Errorf("got %v after %d calls", err, calls.Load())
	}
}

// An instance whose contract was not read yet takes no calls: whom its rule permits is not known (DESIGN, decision 6).
// Those whose contracts were read take them meanwhile.
func TestDoors_anInstanceWhoseContractWasNotReadYet(t *testing.T) {
	address, calls := serve(t)
	newer, leaked := serve(t)
	h := open(t, nil)
	before := h.contract(orderService("Find"))
	raw, after := normalized(t, orderService("Find option (sallyport.tool.v1.tool) = {access: {mode: ACCESS_MODE_DENY_ALL}};"))
	d := dispatch.New(dispatch.Options{Access: h.catalog, Addresses: anyAddress{}})
	defer d.Close()
	key := registry.Key{Zone: zone, Service: orders}
	show := func(w *world) *catalog.Snapshot {
		for _, i := range w.instances[key] {
			if i.Address = address; i.GetContractDigest() == after {
				i.Address = newer
			}
		}
		v := w.view()
		v.AssertionKeys = []*registryv1.StoredAssertionKey{{Kid: "k", Seed: bytes.Repeat([]byte{1}, ed25519.SeedSize)}}
		d.Update(v) // first, as an edge does
		return h.show(v)
	}
	w := newWorld().serves(zone, orders, before)
	entry, ok := show(w).Resolve(app, dialect.Canonical, hash(zone, orders, "Find"))
	if !ok {
		t.Fatal("it does not resolve to begin with")
	}
	call := func() error {
		_, err := d.Call(context.Background(), &dispatch.Request{
			Participant: app, Service: entry.Service, FullMethod: entry.Tool.FullMethod, RepeatSafe: true,
		})
		return err
	}
	show(w.knows(zone, orders, before, after).runs(zone, orders, before, after))
	for range 20 {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	if calls.Load() != 20 || leaked.Load() != 0 {
		t.Errorf("%d calls reached the instance whose rule was not read, %d the other one", leaked.Load(), calls.Load())
	}
	show(w.runs(zone, orders, after))
	var failure *dispatch.Error
	if err := call(); !errors.As(err, &failure) || failure.Code != codes.Unavailable ||
		failure.Executed != dispatch.ExecutedNo || failure.Disagreement {
		t.Errorf("with no other instance: %v", err)
	}
	show(w.runs(zone, orders, before, after))
	if _, err := h.store.PutContract(context.Background(), raw); err != nil {
		t.Fatal(err)
	}
	h.until("the stricter rule is known", func(s *catalog.Snapshot) bool {
		_, ok := s.Resolve(app, dialect.Canonical, hash(zone, orders, "Find"))
		return !ok
	})
	if err := call(); !errors.As(err, &failure) || !failure.Disagreement || leaked.Load() != 0 {
		t.Errorf("got %v after %d calls", err, leaked.Load())
	}
}

// From the registry's own transactions to the catalog, over a real watch.
func TestCatalog_followsTheRegistry(t *testing.T) {
	h := open(t, nil)
	watcher := h.store.Watch(context.Background(), registry.WatchOptions{OnChange: h.catalog.Update})
	defer watcher.Close()
	<-h.catalog.Ready()
	ctx := context.Background()
	lease, err := h.store.Register(ctx, &registry.Registration{
		TTL: patience, Contract: h.contract(orderService("Find")), Address: "127.0.0.1:1",
		Services: []registry.ServiceRegistration{{
			Key: registry.Key{Zone: zone, Service: orders}, AliasRoot: participant.Root(zone),
			Tools: []registry.ToolName{{Hash: hash(zone, orders, "Find"), Function: zone + "~" + orders + "/Find"}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.until("the tool is listed", func(s *catalog.Snapshot) bool { return len(listed(t, s, app, 10)) == 1 })
	if err := h.store.Deregister(ctx, "", lease.InstanceID); err != nil {
		t.Fatal(err)
	}
	s := h.until("the tool is not listed", func(s *catalog.Snapshot) bool { return len(listed(t, s, app, 10)) == 0 })
	if e, ok := s.Resolve(app, dialect.Canonical, hash(zone, orders, "Find")); !ok || e.Online {
		t.Errorf("afterwards it resolves to %v, %t", e, ok)
	}
}
