package catalog_test

import (
	"fmt"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/catalog"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"

	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// large is a world of services with ten tools each, every service in a zone of its own, below one application.
func large(h *house, services int) *world {
	var rpcs []string
	for i := range 10 {
		rpcs = append(rpcs, fmt.Sprintf("Find%d", i))
	}
	digest := h.contract(orderService(rpcs...))
	w := newWorld()
	for i := range services {
		w.serves(fmt.Sprintf("app.acme.orders.part-%05d", i), orders, digest)
	}
	return w
}

// How long it takes from a view to the whole snapshot, for 1,000 services with 10,000 tools.
func BenchmarkCatalog_start(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		h := open(b, nil)
		w := large(h, 1000)
		b.StartTimer()
		h.show(w.view())
		b.StopTimer()
		h.catalog.Close()
		b.StartTimer()
	}
}

// How long one more instance of one service takes to be a snapshot, and a change of one service's tools.
func BenchmarkCatalog_change(b *testing.B) {
	h := open(b, nil)
	w := large(h, 1000)
	h.show(w.view())
	digest := w.services[registry.Key{Zone: "app.acme.orders.part-00007", Service: orders}].GetContracts()[0].GetDigest()
	online := true
	b.ReportAllocs()
	for b.Loop() {
		online = !online
		if online {
			w.runs("app.acme.orders.part-00007", orders, digest)
		} else {
			w.runs("app.acme.orders.part-00007", orders)
		}
		h.show(w.view())
	}
}

func BenchmarkSnapshot_Page(b *testing.B) {
	h := open(b, nil)
	s := h.show(large(h, 500).view())
	b.ReportAllocs()
	for b.Loop() {
		if page, next := s.Page(app, dialect.Canonical, "7", 500); len(page) < 500 || next == "" {
			b.Fatal("short page")
		}
	}
}

func BenchmarkSnapshot_Resolve(b *testing.B) {
	h := open(b, nil)
	s := h.show(large(h, 500).view())
	name := contract.ToolName("app.acme.orders.part-00123~"+orders, "Find4")
	var e *catalog.Entry
	b.ReportAllocs()
	for b.Loop() {
		var ok bool
		if e, ok = s.Resolve(app, dialect.Canonical, name); !ok {
			b.Fatal("not found")
		}
	}
	_ = e
}

// ruled is a world of services with ten tools each, each of which asks who calls, by roles or by a policy.
func ruled(h *house, services int, access ...string) *world {
	var rpcs []string
	for i := range 10 {
		rpcs = append(rpcs, rpc(fmt.Sprintf("Find%d", i), access[i%len(access)]))
	}
	digest := h.contract(orderService(rpcs...))
	w := newWorld().grants("buyer: orders.*")
	for i := range services {
		w.serves(fmt.Sprintf("app.acme.orders.part-%05d", i), orders, digest)
	}
	return w
}

func BenchmarkAccess_Resolve(b *testing.B) {
	for name, access := range map[string]string{
		"none": "", "roles": `roles: "buyer"`, "action": `action: "orders.find"`, "policy": `policy: "'buyer' in participant.roles"`,
		"arguments": `policy: "arguments.id == 'A-17'"`,
	} {
		b.Run(name, func(b *testing.B) {
			s := open(b, nil)
			snapshot := s.show(ruled(s, 100, access).view())
			name, p := contract.ToolName("app.acme.orders.part-00012~"+orders, "Find4"), by("buyer")
			b.ReportAllocs()
			for b.Loop() {
				e, ok := snapshot.Resolve(p, dialect.Canonical, name)
				if !ok || e.ReadsArguments() && !e.JudgeArguments(p, []byte(`{"id":"A-17"}`)).Permitted {
					b.Fatal("not found")
				}
			}
		})
	}
}

// A page of 500 tools for a caller under rules: remembered, and assembled where there is no room for it.
func BenchmarkAccess_Page(b *testing.B) {
	h := open(b, nil)
	s := h.show(ruled(h, 100, "", `roles: "buyer"`, `roles: "seller"`, `action: "orders.find"`, `policy: "participant.id == 'a'"`).view())
	for name, limit := range map[string]int64{"remembered": 64 << 20, "assembled": 0} {
		b.Run(name, func(b *testing.B) {
			s.LimitListings(limit)
			p := by("buyer")
			b.ReportAllocs()
			for b.Loop() {
				if page, next := s.Page(p, dialect.Canonical, "7", 100); len(page) < 100 || next == "" {
					b.Fatal("short page")
				}
			}
		})
	}
}
