// Package liveness_test kills, stops and starts real processes, and watches what the edge lists and answers.
package liveness_test

import (
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/sallyport-dev/sallyport/test/stack"
)

func TestMain(m *testing.M) { stack.Main(m) }

const findOrder = "Orders Find Order"

// house is a platform that admits two orders processes on loopback.
type house struct {
	*stack.Platform
	host, client, operator stack.Machine
	first, second          string
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{first: stack.FreeAddress(t), second: stack.FreeAddress(t)}
	_, one, _ := net.SplitHostPort(h.first)
	_, two, _ := net.SplitHostPort(h.second)
	h.Platform = stack.NewPlatform(t, fmt.Sprintf(
		"  - zone: app.acme-org.orders-app\n    ranges: [127.0.0.0/8]\n    ports: [%s, %s]\n", one, two))
	h.host = h.Machine(t, "orders-host", "--kind", "host", "--organization", "acme-org")
	h.client = h.Machine(t, "orders-client", "--kind", "client", "--organization", "acme-org", "--application", "orders-app")
	h.operator = h.Machine(t, "operator", "--kind", "client", "--system")
	return h
}

// orders starts an orders process; the platform's leases last two seconds.
func (h *house) orders(t *testing.T, address string) *stack.Process {
	t.Helper()
	env := append(h.Env(h.host), "SALLYPORT_LISTEN="+address, "ORDERS_DATA="+t.TempDir()+"/orders.db")
	p := stack.Start(t, t.TempDir(), env, stack.Program(t, "services/orders/cmd/orders"))
	p.WaitLine(t, "registered")
	return p
}

func (h *house) lists(t *testing.T) bool { return stack.List(t, h.MCP, h.client)[findOrder].Name != "" }

func (h *house) find(t *testing.T) stack.Result {
	t.Helper()
	name := stack.Run(t, nil, stack.Program(t, "cmd/registry"), "name", "app.acme-org.orders-app~acme.orders.v1.OrderService/FindById")
	return stack.Call(t, h.MCP, h.client, name[:len(name)-1], map[string]any{"orderId": "ORD-1042"})
}

func TestLiveness_killedProcessLosesItsToolsAndASecondOneKeepsThem(t *testing.T) {
	h := newHouse(t)
	first := h.orders(t, h.first)
	stack.Eventually(t, "the tool is listed", func() bool { return h.lists(t) })
	second := h.orders(t, h.second)
	stack.Eventually(t, "two instances are registered", func() bool {
		out := stack.Run(t, h.Env(h.operator), stack.Program(t, "cmd/registry"), "get", "instances", "-o", "json")
		return contains(out, h.first) && contains(out, h.second)
	})

	first.Kill()
	stack.Eventually(t, "the killed instance is gone from the registry", func() bool {
		if !h.lists(t) {
			t.Fatal("the tool is not listed although the second instance lives")
		}
		out := stack.Run(t, h.Env(h.operator), stack.Program(t, "cmd/registry"), "get", "instances", "-o", "json")
		return !contains(out, h.first)
	})
	if r := h.find(t); r.IsError {
		t.Errorf("a call with the second instance alive failed: %+v", r.Content)
	}

	second.Kill()
	stack.Eventually(t, "the tool is gone", func() bool { return !h.lists(t) })
	r := h.find(t)
	if !r.IsError || !contains(string(r.Meta), `"dev.sallyport/executed":"no"`) {
		t.Errorf("a call to an offline tool gives %+v %s, want a tool error that never ran", r.Content, r.Meta)
	}
}

func TestLiveness_edgeBeforeRegistryAndRegistryAway(t *testing.T) {
	h := newHouse(t)
	h.orders(t, h.first)
	stack.Eventually(t, "the tool is listed", func() bool { return h.lists(t) })

	// Killed, not stopped: its etcd is gone at once, before the lease of the service could lapse there.
	h.Registry.Kill()
	stack.Eventually(t, "the edge says that it is stale", func() bool { return contains(h.ready(t), "stale") })
	if !h.lists(t) {
		t.Error("the edge without etcd forgot its tools")
	}
	if r := h.find(t); r.IsError {
		t.Errorf("a call while etcd is away failed: %+v", r.Content)
	}

	if err := h.Edge.Interrupt(); err != nil {
		t.Errorf("the edge stopped with %v", err)
	}
	h.Edge = stack.Start(t, t.TempDir(), nil, stack.Program(t, "cmd/edge"), "serve", "--config", h.EdgeConfig)
	h.Edge.WaitLine(t, "edge listens")
	if code := h.readyCode(t); code != http.StatusServiceUnavailable {
		t.Errorf("an edge that never saw a registry answers /readyz with %d, want 503", code)
	}
	h.StartRegistry(t)
	h.Edge.WaitLine(t, "edge is ready")
	stack.Eventually(t, "the service registers again and its tool is listed", func() bool { return h.lists(t) })
	stack.Eventually(t, "the edge says that it is fresh", func() bool { return contains(h.ready(t), "fresh") })
}
