package edge_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

const callWait = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`

func TestLimits_areOfEachParticipantAlone(t *testing.T) {
	h := newHouse(t, func(c *configv1.EdgeConfig) {
		c.MaxCallsPerParticipant = 2
		c.AnonymousZones = []string{"app-api"}
		c.Addresses = append(c.Addresses, &configv1.ZoneAddresses{Zone: "app-api", Ranges: []string{"127.0.0.0/8"}})
	})
	p := startProbe(t, "one")
	h.register(p, "app-api")
	callers := map[string]credentials{
		"the system":     h.system(),
		"an application": h.machine(participant.Application("acme", "orders", "a")),
		"its neighbour":  h.machine(participant.Application("acme", "orders", "b")),
		"nobody known":   {},
	}
	h.wait("the tools are listed", func() bool { return slices.Equal(h.list(credentials{}), published) })
	var calling sync.WaitGroup
	for name, c := range callers {
		for range 2 {
			calling.Go(func() {
				if status, body := h.post(c, callWait); status != http.StatusOK || strings.Contains(body, "isError") {
					t.Errorf("%s: %d %s", name, status, body)
				}
			})
		}
	}
	for range 2 * len(callers) {
		receive(t, p.running)
	}
	if n := number(t, h.get("/metrics"), "sallyport_edge_requests_in_flight"); n != float64(2*len(callers)) {
		t.Errorf("%v requests are in flight", n)
	}
	for name, c := range callers {
		if body := h.call(c, "say", `{}`); !strings.Contains(body, "2 calls running") || !strings.Contains(body, `"dev.sallyport/executed":"no"`) {
			t.Errorf("%s: %s", name, body)
		}
		if body := h.call(c, "nothing", `{}`); !strings.Contains(body, "Unknown tool.") {
			t.Errorf("%s: %s", name, body)
		}
	}
	close(p.release)
	calling.Wait()
	for name, c := range callers {
		if body := h.call(c, "say", `{}`); strings.Contains(body, "isError") {
			t.Errorf("%s, afterwards: %s", name, body)
		}
	}
	if page := h.get("/metrics"); !strings.Contains(page, `sallyport_edge_limited_total{limit="calls"} 4`+"\n") {
		t.Errorf("metrics:\n%s", page)
	}
	h.settle(func() bool { return number(t, h.get("/metrics"), "sallyport_edge_requests_in_flight") == 0 })
}

func TestLimits_ofRequestsInFlight(t *testing.T) {
	h := newHouse(t, func(c *configv1.EdgeConfig) { c.MaxRequestsInFlight = 2 })
	p := startProbe(t, "one")
	h.register(p, "system-api")
	caller := h.system()
	h.wait("the tools are listed", func() bool { return slices.Equal(h.list(caller), published) })
	var calling sync.WaitGroup
	for range 2 {
		calling.Go(func() {
			if status, body := h.post(caller, callWait); status != http.StatusOK {
				t.Errorf("%d %s", status, body)
			}
		})
		receive(t, p.running)
	}
	for _, c := range []credentials{caller, {"nobody", "x"}, {}} {
		if status, body := h.post(c, callWait); status != http.StatusTooManyRequests || !strings.Contains(body, `"code":429`) {
			t.Errorf("%v: %d %s", c, status, body)
		}
	}
	if got := h.get("/readyz"); got != "200 fresh\n" { // which no limit is for
		t.Errorf("/readyz: %s", got)
	}
	if page := h.get("/metrics"); !strings.Contains(page, `sallyport_edge_limited_total{limit="requests"} 3`+"\n") {
		t.Errorf("metrics:\n%s", page)
	}
	close(p.release)
	calling.Wait()
	if status, body := h.post(caller, callWait); status != http.StatusOK {
		t.Errorf("afterwards: %d %s", status, body)
	}
}

func TestLimits_ofTheRate(t *testing.T) {
	h := newHouse(t)
	p := startProbe(t, "one")
	h.register(p, "system-api")
	caller, other := h.system(), h.machine(participant.System("other"))
	var now atomic.Int64
	now.Store(1_800_000_000)
	cfg := defaults()
	cfg.CallRate = &configv1.CallRate{PerSecond: 0.5, Burst: 3}
	_, h.url = h.openEdge(cfg, edge.WithNow(func() time.Time { return time.Unix(now.Load(), 0) }))
	h.wait("the tools are listed", func() bool { return h.get("/readyz") == "200 fresh\n" && slices.Equal(h.list(caller), published) })
	refused := func(c credentials) bool { return strings.Contains(h.call(c, "say", `{}`), "more often than it may") }
	for i := range 3 {
		if refused(caller) {
			t.Errorf("call %d of the burst is refused", i)
		}
	}
	if !refused(caller) || refused(other) {
		t.Error("the rate is not the participant's")
	}
	now.Add(2)
	if refused(caller) || !refused(caller) {
		t.Error("two seconds later it is not one call")
	}
	if page := h.get("/metrics"); !strings.Contains(page, `sallyport_edge_limited_total{limit="rate"} 2`+"\n") {
		t.Errorf("metrics:\n%s", page)
	}
}
