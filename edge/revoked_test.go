package edge_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/edge"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
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

// Who was known when a request began, and takes long to send its body, must still be known when it is there.
func TestEdge_asksAgainWhoIsSlow(t *testing.T) {
	h := newHouse(t)
	var ahead atomic.Int64
	h.edge, h.url = h.openEdge(defaults(), edge.WithClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }))
	slow, other := h.system(), h.machine(participant.System("other"))
	for _, c := range []credentials{slow, other} {
		h.wait("the edge knows the machine", func() bool {
			status, _ := h.post(c, pingBody)
			return status == http.StatusOK
		})
	}
	answers := map[string]chan int{}
	var bodies []*io.PipeWriter
	for _, c := range []credentials{slow, other} {
		body, writer := io.Pipe()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/mcp", body)
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = int64(len(pingBody))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Clientid": {c.id}, "Clientsecret": {c.secret}}
		answers[c.id], bodies = make(chan int, 1), append(bodies, writer)
		go func() {
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Error(err)
				close(answers[c.id])
				return
			}
			response.Body.Close()
			answers[c.id] <- response.StatusCode
		}()
		if _, err := io.WriteString(writer, pingBody[:10]); err != nil {
			t.Fatal(err)
		}
	}
	defer http.DefaultClient.CloseIdleConnections()
	h.settle(func() bool { return strings.Contains(h.get("/metrics"), "sallyport_edge_requests_in_flight 2\n") })
	if _, err := h.store.SetMachineDisabled(t.Context(), slow.id, true); err != nil {
		t.Fatal(err)
	}
	h.wait("the machine is disabled", func() bool {
		status, _ := h.post(slow, pingBody)
		return status == http.StatusUnauthorized
	})
	ahead.Store(int64(2 * time.Second))
	for _, writer := range bodies {
		if _, err := io.WriteString(writer, pingBody[10:]); err != nil {
			t.Fatal(err)
		}
		writer.Close()
	}
	if got := <-answers[slow.id]; got != http.StatusUnauthorized {
		t.Errorf("disabled meanwhile: %d", got)
	}
	if got := <-answers[other.id]; got != http.StatusOK {
		t.Errorf("known as before: %d", got)
	}
}

// What a host registered is not called any more once the host is disabled, however long its lease is.
func TestEdge_callsNoServiceOfADisabledHost(t *testing.T) {
	h := newHouse(t)
	p := startProbe(t, "one")
	if _, err := h.store.CreateMachine(t.Context(), registryv1.MachineKind_MACHINE_KIND_HOST, participant.System("host"), "host"); err != nil {
		t.Fatal(err)
	}
	h.registerAs("host", p, "system-api", probeService)
	caller := h.system()
	served := func() bool { return strings.Contains(h.call(caller, "say", `{}`), `"servedBy":"one"`) }
	h.wait("the service is called", served)
	if _, err := h.store.SetMachineDisabled(t.Context(), "host", true); err != nil {
		t.Fatal(err)
	}
	h.wait("the tools are gone", func() bool { return len(h.list(caller)) == 0 })
	if body := h.call(caller, "say", `{}`); !strings.Contains(body, `"_meta":{"dev.sallyport/executed":"no"}`) {
		t.Errorf("a call of a disabled host's tool: %s", body)
	}
	if _, err := h.store.SetMachineDisabled(t.Context(), "host", false); err != nil {
		t.Fatal(err)
	}
	h.wait("the service is called again", served)
	if err := h.store.RemoveMachine(t.Context(), "host"); err != nil {
		t.Fatal(err)
	}
	h.wait("the tools are gone for good", func() bool { return len(h.list(caller)) == 0 })
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
