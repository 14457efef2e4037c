package catalog_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/catalog"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/participant"
)

const zone = "app.acme.orders"

var (
	system = participant.System("s")
	app    = participant.Application("acme", "orders", "a")
)

func TestSnapshot_entriesCarryWhatACallNeeds(t *testing.T) {
	h := open(t, nil)
	s := h.show(newWorld().serves(zone, orders, h.contract(orderService("FindById"))).view())
	e, ok := s.Resolve(app, dialect.Canonical, hash(zone, orders, "FindById"))
	if !ok || !e.Online || e.Service != (registry.Key{Zone: zone, Service: orders}) || e.Tool.FullMethod != "/com.acme.OrderService/FindById" {
		t.Fatalf("got %+v, %t", e, ok)
	}
	arguments := []byte(`{"id":"A-17"}`)
	plan, err := e.CallPlan(dialect.Canonical)
	if err != nil {
		t.Fatal(err)
	}
	if wire, refusal := plan.Judge(arguments); refusal != nil || string(wire) != "\x0a\x04A-17" {
		t.Errorf("judged %q, %v", wire, refusal)
	}
	if wire, refusal := plan.Judge([]byte(`{"nr":1}`)); refusal == nil || wire != nil {
		t.Errorf("accepted what the schema does not declare: %q", wire)
	}
	if name(t, e.Definition()) != e.Tool.Name {
		t.Errorf("definition %s", e.Definition())
	}
}

// tools.md, "Order and pages".
func TestSnapshot_pagesInTheOrderOfHashes(t *testing.T) {
	h := open(t, nil)
	var rpcs []string
	for i := range 23 {
		options := ""
		if i%3 == 0 {
			options = fmt.Sprintf(` option (sallyport.tool.v1.tool) = {name: "alias-%02d"};`, i)
		}
		rpcs = append(rpcs, fmt.Sprintf("Find%02d%s", i, options))
	}
	s := h.show(newWorld().serves(zone, orders, h.contract(orderService(rpcs...))).serves("app-api", orders, h.contract(orderService("Find"))).view())
	whole := listed(t, s, app, 1000)
	if len(whole) != 24 {
		t.Fatalf("%d tools are listed", len(whole))
	}
	hashes := make([]string, len(whole))
	for i, n := range whole {
		e, ok := s.Resolve(app, dialect.Canonical, n)
		if !ok {
			t.Fatalf("%s is listed and does not resolve", n)
		}
		hashes[i] = e.Tool.Name
	}
	if !slices.IsSorted(hashes) {
		t.Errorf("not in the order of their hashes: %q", hashes)
	}
	for _, size := range []int{1, 2, 7, 23, 24, 25} {
		if got := listed(t, s, app, size); !slices.Equal(got, whole) {
			t.Errorf("in pages of %d: %q", size, got)
		}
	}
	// A cursor stands between tools; the one that it names need not be there any more.
	if page, _ := s.Page(app, dialect.Canonical, hashes[4]+"0", 1); name(t, page) != whole[5] {
		t.Error("after a hash that nobody has")
	}
	if page, next := s.Page(app, dialect.Canonical, "zzzz", 5); len(page) != 0 || next != "" {
		t.Errorf("after the last: %d, %q", len(page), next)
	}
	if page, next := s.Page(app, dialect.Canonical, hashes[len(hashes)-1], 5); len(page) != 0 || next != "" {
		t.Errorf("after the very last: %d, %q", len(page), next)
	}
}

// tools.md, "Name": what a declared name does.
func TestAliases(t *testing.T) {
	h := open(t, nil)
	digest := h.contract(orderService(`Find option (sallyport.tool.v1.tool) = {name: "find_order"};`, "Cancel"))
	const other = "app.globex.orders"
	w := newWorld().serves(zone, orders, digest)
	find, cancel := hash(zone, orders, "Find"), hash(zone, orders, "Cancel")
	otherFind, otherCancel := hash(other, orders, "Find"), hash(other, orders, "Cancel")

	s := h.show(w.view())
	for _, p := range []*participant.Participant{app, system} {
		if got := listed(t, s, p, 10); !slices.Equal(sorted(got...), sorted("find_order", cancel)) {
			t.Errorf("%v is listed %q", p, got)
		}
		for _, n := range []string{"find_order", find} {
			if e, ok := s.Resolve(p, dialect.Canonical, n); !ok || e.Tool.Method != "Find" {
				t.Errorf("%v resolves %q to %v, %t", p, n, e, ok)
			}
		}
	}
	for _, n := range []string{"", "Find_order", "find_order ", "_" + find, strings.ToUpper(find), "com.acme.OrderService/Find"} {
		if _, ok := s.Resolve(app, dialect.Canonical, n); ok {
			t.Errorf("%q resolves", n)
		}
	}

	two := func(s *catalog.Snapshot) {
		t.Helper()
		if got := listed(t, s, app, 10); !slices.Contains(got, "find_order") {
			t.Errorf("who sees one of the two is listed %q", got)
		}
		if e, ok := s.Resolve(app, dialect.Canonical, "find_order"); !ok || e.Service.Zone != zone {
			t.Error("who sees one of the two does not resolve the alias to it")
		}
		if e, ok := s.Resolve(participant.Application("globex", "orders", "g"), dialect.Canonical, "find_order"); !ok || e.Service.Zone != other {
			t.Error("who sees the other one does not resolve the alias to it")
		}
		if _, ok := s.Resolve(system, dialect.Canonical, "find_order"); ok {
			t.Error("who sees both resolves the alias")
		}
		for _, n := range []string{find, otherFind} {
			if _, ok := s.Resolve(system, dialect.Canonical, n); !ok {
				t.Errorf("who sees both does not resolve the hash %s", n)
			}
		}
	}
	s = h.show(w.serves(other, orders, digest).view())
	two(s)
	if got := listed(t, s, system, 10); !slices.Equal(got, sorted(find, cancel, otherFind, otherCancel)) {
		t.Errorf("who sees both is listed %q", got)
	}
	// Names do not flip when the other one goes offline.
	s = h.show(w.runs(other, orders).view())
	two(s)
	if got := listed(t, s, system, 10); !slices.Equal(got, sorted(find, cancel)) {
		t.Errorf("with one of the two offline, %q is listed", got)
	}
}

// DESIGN, decision 2, and boundary.md: an offline tool is known, and in no list.
func TestOffline(t *testing.T) {
	h := open(t, nil)
	digest := h.contract(orderService("Find"))
	w := newWorld()
	for name, row := range map[string]struct {
		instances []string
		online    bool
	}{
		"one instance":                   {[]string{digest}, true},
		"no instance":                    {nil, false},
		"one that drains":                {[]string{"-" + digest}, false},
		"one that drains beside another": {[]string{"-" + digest, digest}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := h.show(w.knows(zone, orders, digest).runs(zone, orders, row.instances...).view())
			e, ok := s.Resolve(app, dialect.Canonical, hash(zone, orders, "Find"))
			if !ok || e.Online != row.online {
				t.Errorf("resolved %v, %t", e, ok)
			}
			if got := listed(t, s, app, 10); (len(got) == 1) != row.online {
				t.Errorf("listed %q", got)
			}
		})
	}
	t.Run("a service that is gone is not known", func(t *testing.T) {
		w.runs(zone, orders)
		delete(w.services, registry.Key{Zone: zone, Service: orders})
		if _, ok := h.show(w.view()).Resolve(app, dialect.Canonical, hash(zone, orders, "Find")); ok {
			t.Error("it resolves")
		}
	})
}

// newWorldAfter continues the revisions of the house.
func newWorldAfter(h *house) *world {
	w := newWorld()
	if s := h.catalog.Load(); s != nil {
		w.revision = s.Revision
	}
	return w
}

// DESIGN, decision 6: the oldest contract with an online instance is published, and access is the conjunction over all
// online contracts.
func TestContracts_duringARollingUpgrade(t *testing.T) {
	h := open(t, nil)
	v1 := h.contract(orderService("Find", "Cancel"))
	v2 := h.contract(orderService("Find option (sallyport.tool.v1.tool) = {access: {mode: ACCESS_MODE_DENY_ALL}};", "Cancel", "Place"))
	v3 := h.contract(orderService(`Find option (sallyport.tool.v1.tool) = {access: {roles: "buyer"}};`))
	broken := h.contract(orderService(`Find option (sallyport.tool.v1.tool) = {json_profile: "nonsense"};`))
	find, cancel, place := hash(zone, orders, "Find"), hash(zone, orders, "Cancel"), hash(zone, orders, "Place")
	w := newWorld()
	for _, row := range []struct {
		name           string
		known, running []string
		want           []string
	}{
		{"the only one", []string{v1}, []string{v1}, sorted(find, cancel)},
		{"a new one has registered and does not run yet", []string{v1, v2}, []string{v1}, sorted(find, cancel)},
		{"a new DENY_ALL bites at once", []string{v1, v2}, []string{v1, v2}, []string{cancel}},
		{"whatever the order of instances", []string{v1, v2}, []string{v2, v1}, []string{cancel}},
		{"not when its instance drains", []string{v1, v2}, []string{v1, "-" + v2}, sorted(find, cancel)},
		{"the old one has gone", []string{v1, v2}, []string{v2}, sorted(cancel, place)},
		{"the old one has come back", []string{v1, v2}, []string{v2, v2, v1}, []string{cancel}},
		{"a new restriction bites at once", []string{v1, v3}, []string{v1, v3}, []string{cancel}},
		{"an instance seen before its service's record", []string{v1}, []string{v1, v2}, []string{cancel}},
		{"what a new one forbids is not known", []string{v1, broken}, []string{v1, broken}, nil},
		{"a broken one that runs nowhere forbids nothing", []string{broken, v1}, []string{v1}, sorted(find, cancel)},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := h.show(w.knows(zone, orders, row.known...).runs(zone, orders, row.running...).view())
			s = h.until("all its contracts are compiled", func(n *catalog.Snapshot) bool {
				return n.Revision == s.Revision && slices.Equal(listed(t, n, app, 10), row.want)
			})
			for _, method := range []string{"Find", "Cancel", "Place"} {
				permitted := s.Permits(app, registry.Key{Zone: zone, Service: orders}, "/com.acme.OrderService/"+method, nil) == nil
				if permitted != slices.Contains(row.want, hash(zone, orders, method)) {
					t.Errorf("the second door permits %s: %t", method, permitted)
				}
			}
		})
	}
	t.Run("the newest known one is resolved when all are offline", func(t *testing.T) {
		w.knows(zone, orders, v1, v2).runs(zone, orders)
		h.show(w.view())
		s := h.until("the newest is compiled", func(s *catalog.Snapshot) bool { _, ok := s.Resolve(app, dialect.Canonical, place); return ok })
		if e, ok := s.Resolve(app, dialect.Canonical, place); !ok || e.Online {
			t.Errorf("resolved %v, %t", e, ok)
		}
	})
}

func TestOverlays_exposeAndDescribeInCode(t *testing.T) {
	h := open(t, nil)
	digest := h.contract(header + "service OrderService { rpc Find(Request) returns (Response); rpc Cancel(Request) returns (Response); }")
	overlays := []*registryv1.Overlay{{Function: orders + "/Find", Tool: &toolv1.Tool{Title: "Look Up", Name: "look_up"}}}
	key := registry.Key{Zone: zone, Service: orders}
	w := newWorld().serves(zone, orders, digest)
	w.services[key].Contracts[0].Overlays = overlays
	w.instances[key][0].Overlays = overlays
	s := h.show(w.view())
	if got := listed(t, s, app, 10); !slices.Equal(got, []string{"look_up"}) {
		t.Errorf("listed %q", got)
	}
	if e, ok := s.Resolve(app, dialect.Canonical, "look_up"); !ok || e.Tool.Title != "Order Service Look Up" {
		t.Errorf("resolved %v, %t", e, ok)
	}
}

// registry.md, "The edge's watch": a contract that is no use hides its tools and nothing else.
func TestContracts_thatAreNoUse(t *testing.T) {
	h := open(t, nil)
	good := h.contract(orderService("Find"))
	conflict := h.contract(orderService(`Find option (sallyport.tool.v1.tool) = {json_profile: "nonsense"};`))
	elsewhere := h.contract(header + `service OrderService { option (sallyport.tool.v1.service) = {zone: "system-api"};
		rpc Find(Request) returns (Response); }`)
	missingImport := strings.Repeat("0", 64)
	raw, err := h.store.PutContract(context.Background(), []byte{})
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct{ digest, reason string }{
		"it conflicts":                   {conflict, "nonsense"},
		"it names another zone":          {elsewhere, `zone "system-api"`},
		"it does not have the service":   {raw, "com.acme.OrderService"},
		"it cannot be read":              {missingImport, ""},
		"the service names no contracts": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldAfter(h).serves(zone, orders, row.digest).serves("app-api", orders, good)
			if row.digest == "" {
				w.knows(zone, orders).runs(zone, orders)
			}
			s := h.show(w.view())
			if got := listed(t, s, app, 10); !slices.Equal(got, []string{hash("app-api", orders, "Find")}) {
				t.Errorf("listed %q", got)
			}
			if _, ok := s.Resolve(system, dialect.Canonical, hash(zone, orders, "Find")); ok {
				t.Error("it resolves")
			}
			if err := s.Permits(system, registry.Key{Zone: zone, Service: orders}, "/com.acme.OrderService/Find", nil); err == nil {
				t.Error("the second door permits it")
			}
			if got := reasons(s)["srv://app.acme.orders~com.acme.OrderService"]; !strings.Contains(got, row.reason) {
				t.Errorf("hidden because %q", got)
			}
		})
	}
}

func TestContracts_thatCannotBeReadNowAreReadLater(t *testing.T) {
	h := open(t, nil)
	good := h.contract(orderService("Find"))
	raw, late := normalized(t, orderService("Find", "Place"))
	w := newWorld().serves(zone, orders, late)
	s := h.show(w.view())
	if got := listed(t, s, app, 10); len(got) != 0 {
		t.Errorf("listed %q", got)
	}
	if _, err := h.store.PutContract(context.Background(), raw); err != nil {
		t.Fatal(err)
	}
	h.until("the contract was read", func(s *catalog.Snapshot) bool { return len(listed(t, s, app, 10)) == 2 })

	t.Run("and until then the service stays as it was", func(t *testing.T) {
		raw, later := normalized(t, orderService("Find", "Place", "Cancel"))
		h.show(w.serves(zone, orders, good).view())
		h.until("the good one is shown", func(s *catalog.Snapshot) bool { return len(listed(t, s, app, 10)) == 1 })
		s := h.show(w.knows(zone, orders, later).runs(zone, orders, later).view())
		if got := listed(t, s, app, 10); len(got) != 1 {
			t.Errorf("listed %q", got)
		}
		s = h.show(w.runs(zone, orders).view())
		if e, ok := s.Resolve(app, dialect.Canonical, hash(zone, orders, "Find")); !ok || e.Online || len(listed(t, s, app, 10)) != 0 {
			t.Errorf("offline: %v, %t", e, ok)
		}
		if _, err := h.store.PutContract(context.Background(), raw); err != nil {
			t.Fatal(err)
		}
		h.show(w.runs(zone, orders, later).view())
		h.until("the late one is shown", func(s *catalog.Snapshot) bool { return len(listed(t, s, app, 10)) == 3 })
	})
}

func TestReady_comesWithTheWholeFirstPicture(t *testing.T) {
	h := open(t, nil)
	if h.catalog.Load() != nil {
		t.Error("there is a snapshot before there is a view")
	}
	if err := h.catalog.Permits(system, registry.Key{Service: orders}, "/x/Y", nil); err == nil {
		t.Error("something is permitted before there is a view")
	}
	w := newWorld()
	for i := range 40 {
		w.serves(fmt.Sprintf("app.acme.orders.part-%02d", i), orders, h.contract(orderService(fmt.Sprintf("Find%d", i))))
	}
	h.catalog.Update(w.view())
	<-h.catalog.Ready()
	if got := listed(t, h.catalog.Load(), app, 7); len(got) != 40 {
		t.Errorf("the first snapshot lists %d tools", len(got))
	}
	if err := h.catalog.Permits(app, registry.Key{Zone: "app.acme.orders.part-07", Service: orders}, "/com.acme.OrderService/Find7", nil); err != nil {
		t.Error(err)
	}
}

func TestReady_withNothingRegistered(t *testing.T) {
	h := open(t, nil)
	h.catalog.Update(newWorld().view())
	<-h.catalog.Ready()
	if got := listed(t, h.catalog.Load(), system, 10); len(got) != 0 {
		t.Errorf("listed %q", got)
	}
}

// access.md, "Zones": an edge can be narrowed to a zone partition, whoever the caller is.
func TestServesZones(t *testing.T) {
	h := open(t, func(o *catalog.Options) { o.ServesZones = []string{"app.acme", "system-api"} })
	digest := h.contract(orderService("Find"))
	w := newWorld()
	for _, z := range []string{"", "app-api", "app.acme.orders", "app.acme.orders.billing", "app.acme-2.orders", "system-api", "system-api.x", "system-api-2"} {
		w.serves(z, orders, digest)
	}
	s := h.show(w.view())
	var want []string
	for _, z := range []string{"app.acme.orders", "app.acme.orders.billing", "system-api", "system-api.x"} {
		want = append(want, hash(z, orders, "Find"))
	}
	if got := listed(t, s, system, 10); !slices.Equal(got, sorted(want...)) {
		t.Errorf("listed %q, want %q", got, want)
	}
	if _, ok := s.Resolve(system, dialect.Canonical, hash("app-api", orders, "Find")); ok {
		t.Error("a tool of another partition resolves")
	}
	if err := s.Permits(system, registry.Key{Zone: "app-api", Service: orders}, "/com.acme.OrderService/Find", nil); err == nil {
		t.Error("the second door permits a tool of another partition")
	}
}

// registry.md, "The edge's watch": building costs in proportion to what changed.
func TestSnapshots_shareWhatDidNotChange(t *testing.T) {
	h := open(t, nil)
	digest, other := h.contract(orderService("Find")), h.contract(orderService("Find", "Place"))
	w := newWorld().serves(zone, orders, digest).serves("app-api", orders, digest)
	first := h.show(w.view())
	before, _ := first.Resolve(app, dialect.Canonical, hash(zone, orders, "Find"))
	page, _ := first.Page(app, dialect.Canonical, "", 10)

	w.runs(zone, orders, digest, digest) // one more instance changes nothing that is seen
	second := h.show(w.view())
	if e, _ := second.Resolve(app, dialect.Canonical, hash(zone, orders, "Find")); e != before {
		t.Error("one more instance made a new entry")
	}
	if again, _ := second.Page(app, dialect.Canonical, "", 10); &again[0] != &page[0] {
		t.Error("one more instance made a new listing")
	}

	w.serves("app-api", orders, other)
	h.show(w.view())
	third := h.until("the other contract is shown", func(s *catalog.Snapshot) bool { return len(listed(t, s, app, 10)) == 3 })
	if e, _ := third.Resolve(app, dialect.Canonical, hash(zone, orders, "Find")); e != before {
		t.Error("a change in another zone made a new entry")
	}
	if got := listed(t, first, app, 10); len(got) != 2 {
		t.Errorf("the first snapshot changed: %q", got)
	}
}

func TestSnapshot_manyReadersWhileViewsChange(t *testing.T) {
	h := open(t, nil)
	digest := h.contract(orderService("Find"))
	w := newWorld().serves(zone, orders, digest)
	h.show(w.view())
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				s := h.catalog.Load()
				for _, p := range []*participant.Participant{app, system} {
					page, _ := s.Page(p, dialect.Canonical, "", 100)
					for _, d := range split(t, page) {
						if e, ok := s.Resolve(p, dialect.Canonical, name(t, d)); !ok || !e.Online {
							t.Errorf("%s is listed, and resolves to %v, %t", d, e, ok)
							return
						}
					}
				}
			}
		})
	}
	for i := range 60 {
		part := fmt.Sprintf("app.acme.orders.part-%d", i%7)
		if i%3 == 2 {
			w.runs(part, orders)
		} else {
			w.serves(part, orders, digest)
		}
		h.show(w.view())
	}
	close(stop)
	readers.Wait()
}
