package edge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/participant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait. Whoever reaches it has failed.
const patience = 60 * time.Second

// house is a real etcd and a real edge in front of it.
type house struct {
	t     testing.TB
	etcd  *etcdtest.Server
	store *registry.Store
	edge  *edge.Edge
	url   string
	log   *syncBuffer
	// moved gets a value whenever the edge's snapshot or its freshness changed.
	moved chan struct{}
}

// defaults is a configuration under which the tests' services on loopback may be dialled in system-api.
func defaults() *configv1.EdgeConfig {
	return &configv1.EdgeConfig{Addresses: []*configv1.ZoneAddresses{{Zone: "system-api", Ranges: []string{"127.0.0.0/8"}}}}
}

// newHouse starts an etcd with an assertion key and an edge, and waits until the edge is ready.
func newHouse(t testing.TB, configure ...func(*configv1.EdgeConfig)) *house {
	t.Helper()
	h := &house{t: t, etcd: etcdtest.New(t)}
	h.store = registry.NewStore(h.etcd.Client(), "")
	if err := h.store.EnsureAssertionKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.startEdge(configure...)
	h.wait("the edge is ready", func() bool { return h.get("/readyz") == "200 fresh\n" })
	return h
}

// startEdge starts an edge of its own client of the etcd, and serves it on loopback.
func (h *house) startEdge(configure ...func(*configv1.EdgeConfig)) {
	h.t.Helper()
	cfg := defaults()
	for _, c := range configure {
		c(cfg)
	}
	h.log, h.moved = new(syncBuffer), make(chan struct{}, 1)
	h.edge, h.url = h.openEdge(cfg)
}

// openEdge starts an edge of its own client of the etcd, which logs where the house does, and serves it on loopback.
func (h *house) openEdge(cfg *configv1.EdgeConfig, options ...edge.Option) (e *edge.Edge, url string) {
	h.t.Helper()
	moved := h.moved
	var handler slog.Handler = slog.NewJSONHandler(h.log, nil)
	if b, ok := h.t.(*testing.B); ok {
		handler = benchLog(b) // which costs what a log costs, and holds more than memory does
	}
	e, err := edge.New(h.t.Context(), append([]edge.Option{
		edge.WithConfig(cfg), edge.WithEtcd(h.etcd.NewClient(), ""), edge.WithVersion("1.2.3"), edge.WithLogger(slog.New(handler)),
		edge.WithOnMove(func() {
			select {
			case moved <- struct{}{}:
			default:
			}
		}),
	}, options...)...)
	if err != nil {
		h.t.Fatal(err)
	}
	server := httptest.NewServer(e)
	h.t.Cleanup(func() {
		server.Close()
		e.Close()
	})
	return e, server.URL
}

// wait waits until done says so, asking again whenever the edge moved.
func (h *house) wait(what string, done func() bool) {
	h.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !done() {
		select {
		case <-h.moved:
		case <-limit.C:
			h.t.Fatalf("waited %s in vain until %s; log:\n%s", patience, what, h.log)
		}
	}
}

// get returns status and body of a GET.
func (h *house) get(path string) string {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet, h.url+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	http.DefaultClient.CloseIdleConnections()
	return response.Status[:4] + string(body)
}

// credentials are the headers of one machine. The zero value is none.
type credentials struct{ id, secret string }

// machine creates a client machine of the participant, and waits until the edge knows it.
func (h *house) machine(p *participant.Participant) credentials {
	h.t.Helper()
	id := p.GetId()
	secret, err := h.store.CreateMachine(h.t.Context(), registryv1.MachineKind_MACHINE_KIND_CLIENT, p, id)
	if err != nil {
		h.t.Fatal(err)
	}
	c := credentials{id, secret}
	h.wait("the edge knows "+id, func() bool {
		status, _ := h.post(c, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		return status == http.StatusOK
	})
	return c
}

func (h *house) system() credentials { return h.machine(participant.System("tester")) }

// instance is a registered probe.
type instance struct {
	h       *house
	id      string
	machine string
	stop    context.CancelFunc
	done    chan struct{}
}

// register registers the probe's ProbeService in the zone and renews its lease until die or leave, or the end of the
// test.
func (h *house) register(p *probe, zone string) *instance {
	h.t.Helper()
	return h.registerService(p, zone, probeService)
}

func (h *house) registerService(p *probe, zone, service string) *instance {
	h.t.Helper()
	return h.registerAs("", p, zone, service)
}

// registerAs registers as a machine; without one, as the registry itself.
func (h *house) registerAs(machine string, p *probe, zone, service string) *instance {
	h.t.Helper()
	ctx := h.t.Context()
	set, err := probeFiles()
	if err != nil {
		h.t.Fatal(err)
	}
	raw, _, err := contract.Normalize(set, []string{service})
	if err != nil {
		h.t.Fatal(err)
	}
	digest, err := h.store.PutContract(ctx, raw)
	if err != nil {
		h.t.Fatal(err)
	}
	compiled, err := contract.Compile(contract.Source{Files: set, Services: []string{service}, Zone: zone})
	if err != nil {
		h.t.Fatal(err)
	}
	claim := registry.ServiceRegistration{
		Key: registry.Key{Zone: zone, Service: service}, AliasRoot: participant.Root(zone),
	}
	for _, tool := range compiled.Services[0].Tools {
		claim.Tools = append(claim.Tools, registry.ToolName{
			Hash: tool.Name, Alias: tool.Alias, Function: contract.QualifiedName(zone, service) + "/" + tool.Method,
		})
	}
	ttl := time.Second
	if _, ok := h.t.(*testing.B); ok {
		ttl = time.Minute // a load may starve whoever renews
	}
	lease, err := h.store.Register(ctx, &registry.Registration{
		MachineID: machine, TTL: ttl, Contract: digest, Services: []registry.ServiceRegistration{claim}, Address: p.address,
	})
	if err != nil {
		h.t.Fatal(err)
	}
	i := &instance{h: h, id: lease.InstanceID, machine: machine, done: make(chan struct{})}
	ctx, i.stop = context.WithCancel(ctx)
	go func() {
		defer close(i.done)
		tick := time.NewTicker(lease.TTL / 5)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_, _ = h.store.KeepAlive(ctx, machine, i.id) // a test that takes etcd away expects that
			case <-ctx.Done():
				return
			}
		}
	}()
	h.t.Cleanup(i.die)
	return i
}

// die stops renewing the lease, as a killed process does.
func (i *instance) die() {
	i.stop()
	<-i.done
}

// leave deregisters, as a process does that stops gracefully.
func (i *instance) leave() {
	i.h.t.Helper()
	i.die()
	if err := i.h.store.Deregister(i.h.t.Context(), i.machine, i.id); err != nil {
		i.h.t.Fatal(err)
	}
}

// post makes one MCP request and returns status and body.
func (h *house) post(c credentials, body string) (status int, answer string) {
	h.t.Helper()
	return h.postFrom(h.t.Context(), c, body)
}

func (h *house) postFrom(ctx context.Context, c credentials, body string) (status int, answer string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/mcp", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if c.id != "" {
		r.Header.Set("clientId", c.id)
		r.Header.Set("clientSecret", c.secret)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}

// list returns the names of all tools that the caller sees.
func (h *house) list(c credentials) []string {
	h.t.Helper()
	status, body := h.post(c, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	var answer struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		h.t.Fatalf("tools/list: %d %s", status, body)
	}
	names := []string{}
	for _, tool := range answer.Result.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// call calls a tool and returns the body of the answer.
func (h *house) call(c credentials, name, arguments string) string {
	h.t.Helper()
	_, body := h.post(c, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`)
	return body
}

// syncBuffer is a log that a test may read while the edge writes.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

var discard = slog.New(slog.DiscardHandler)

// settle waits for what follows an answer, the log line and the numbers, by making one more request each time.
func (h *house) settle(done func() bool) {
	h.t.Helper()
	for limit := time.Now().Add(patience); !done(); {
		if time.Now().After(limit) {
			h.t.Fatalf("waited %s in vain; log:\n%s", patience, h.log)
		}
		h.get("/healthz")
	}
}

// view reads what the registry holds now.
func (h *house) view() *registry.View {
	h.t.Helper()
	w := h.store.Watch(h.t.Context(), registry.WatchOptions{})
	defer w.Close()
	receive(h.t, w.Ready())
	return w.View()
}
