package edge_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/edge"
	"github.com/sallyport-dev/sallyport/participant"
)

const pingBody = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// A token goes with the secret that it was got by: a new secret, and a new machine of the same id, do not bring it back.
func TestOAuth_tokensEndWithTheirSecret(t *testing.T) {
	h := newIssuingHouse(t)
	c := h.machine(participant.System("client"))
	refused := func(what, token string) {
		t.Helper()
		h.wait(what, func() bool { return h.mcp(token, pingBody).status == http.StatusUnauthorized })
	}
	_, first := h.token(c, "")
	if got := h.mcp(first, pingBody); got.status != http.StatusOK {
		t.Fatalf("a new token: %d %s", got.status, got.body)
	}
	secret, err := h.store.RotateMachine(t.Context(), c.id)
	if err != nil {
		t.Fatal(err)
	}
	refused("the token of the secret before is refused", first)
	var second string
	h.wait("the new secret gets a token", func() bool { _, second = h.token(credentials{c.id, secret}, ""); return second != "" })
	if got := h.mcp(second, pingBody); got.status != http.StatusOK {
		t.Fatalf("a token of the new secret: %d %s", got.status, got.body)
	}
	if err := h.store.RemoveMachine(t.Context(), c.id); err != nil {
		t.Fatal(err)
	}
	refused("the token of a removed machine is refused", second)
	h.machine(participant.System(c.id))
	refused("the token is not another machine's of the same id", second)
}

// An edge that is cut off from etcd knows its callers for five minutes (access.md, "Identities"), and then nobody; those
// who need not be known go on.
func TestEdge_cutOffForTooLong(t *testing.T) {
	h := newHouse(t)
	var ahead atomic.Int64
	cfg := defaults()
	cfg.AnonymousZones = []string{"app-api"}
	h.edge, h.url = h.openEdge(cfg, edge.WithClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }))
	h.wait("the edge is ready", func() bool { return h.get("/readyz") == "200 fresh\n" })
	c := h.system()
	h.etcd.Stop()
	h.wait("the edge says stale", func() bool { return h.get("/readyz") == "200 stale\n" })
	if status, body := h.post(c, pingBody); status != http.StatusOK {
		t.Errorf("just cut off: %d %s", status, body)
	}
	ahead.Store(int64(6 * time.Minute))
	known := h.send(http.MethodPost, "/mcp", pingBody, "Content-Type", "application/json", "clientId", c.id, "clientSecret", c.secret)
	if known.status != http.StatusServiceUnavailable || known.header.Get("Retry-After") == "" || !strings.Contains(known.body, "has not heard") {
		t.Errorf("after six minutes: %d %v %s", known.status, known.header, known.body)
	}
	if nobody := h.send(http.MethodPost, "/mcp", pingBody, "Content-Type", "application/json"); nobody.status != http.StatusOK {
		t.Errorf("anonymous after six minutes: %d %s", nobody.status, nobody.body)
	}
}
