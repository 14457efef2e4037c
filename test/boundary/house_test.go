// Package boundary_test holds the edge's boundary against callers who mean no good, from outside: requests go over a
// socket into a real edge that follows a real etcd, and what the edge lets through reaches a real gRPC server, the
// witness, which records the bytes.
//
// In come contracts as .proto text and requests as bytes; out come answers, log lines, and what the witness saw. The
// tests here know what a caller and a service can know, and reach into no room of the edge.
package boundary_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/participant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait. Whoever reaches it has failed.
const patience = 60 * time.Second

// zone is where contracts are registered that name none.
const zone = "system-api"

// The served protocol versions: three of the legacy era, and the modern one.
const (
	version20251125 = "2025-11-25"
	version20250618 = "2025-06-18"
	version20250326 = "2025-03-26"
	version20260728 = "2026-07-28"
)

// served are the protocol versions that the edge serves, newest first.
var served = []string{version20260728, version20251125, version20250618, version20250326}

// house is a real etcd, a real edge behind a real listener, and a witness that serves every registered contract.
type house struct {
	t testing.TB
	// files are the descriptors of every registered contract by file path, linked.
	files *protoregistry.Files
	// url is the edge's, without path; address its host and port.
	url, address string
	// edge is for what only the owner of the process sees.
	edge *edge.Edge
	// caller is a system machine, whose credentials call and post send.
	caller credentials

	store    *registry.Store
	witness  *witness
	instance *instance
	client   *http.Client
	lines    *syncBuffer
	inFlight *inFlight
	nextID   *atomic.Int64
}

// in is the house with its complaints going to another test, a subtest as a rule.
func (h *house) in(t testing.TB) *house {
	guest := *h
	guest.t = t
	return &guest
}

// setting changes a house before it starts.
type setting func(*settings)

type settings struct {
	zone      string
	configure func(*configv1.EdgeConfig)
	prepare   func(*house)
	// address and serverName are where the instance registers; empty is the witness, without TLS.
	address, serverName string
}

// inZone registers the contract's services in another zone than system-api.
func inZone(zone string) setting { return func(s *settings) { s.zone = zone } }

// configured changes the edge's configuration.
func configured(change func(*configv1.EdgeConfig)) setting {
	return func(s *settings) { s.configure = change }
}

// prepared does something after the contract is registered and before the edge starts.
func prepared(do func(*house)) setting { return func(s *settings) { s.prepare = do } }

// reachedAt registers the instance at another address than the witness's, with TLS to a server of this name.
func reachedAt(address, serverName string) setting {
	return func(s *settings) { s.address, s.serverName = address, serverName }
}

// newHouse compiles a contract from .proto texts, keyed by their path, registers every service in it, and starts the
// edge. All of it is over when the test ends. When newHouse returns, the edge lists and serves the tools.
func newHouse(t testing.TB, texts map[string]string, options ...setting) *house {
	t.Helper()
	s := settings{zone: zone, configure: func(*configv1.EdgeConfig) {}, prepare: func(*house) {}}
	for _, option := range options {
		option(&s)
	}
	h := &house{
		t: t, files: schematest.Files(t, texts), lines: new(syncBuffer), inFlight: new(inFlight), nextID: new(atomic.Int64),
	}
	etcd := etcdtest.New(t)
	h.store = registry.NewStore(etcd.Client(), "")
	if err := h.store.EnsureAssertionKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.witness = startWitness(t)
	if s.address == "" {
		s.address = h.witness.address
	}
	h.instance = h.register(&s, texts)
	h.caller = h.newMachine(participant.System("tester"))

	port := uint32(netip.MustParseAddrPort(s.address).Port())
	cfg := &configv1.EdgeConfig{Addresses: []*configv1.ZoneAddresses{{
		Zone: "*", Ranges: []string{"127.0.0.0/8"}, Ports: []uint32{port},
	}}, TrustedProxies: []string{"127.0.0.0/8", "::1/128"}, MaxCallsPerParticipant: 4096}
	s.configure(cfg)
	s.prepare(h)
	e, err := edge.New(t.Context(), edge.WithConfig(cfg), edge.WithEtcd(etcd.NewClient(), ""), edge.WithVersion("1.2.3"),
		edge.WithLogger(slog.New(slog.NewJSONHandler(h.lines, &slog.HandlerOptions{Level: slog.LevelInfo}))))
	if err != nil {
		t.Fatal(err)
	}
	h.edge = e
	server := httptest.NewServer(h.inFlight.count(e))
	h.url, h.address = server.URL, server.Listener.Addr().String()
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	h.client = &http.Client{Transport: transport, Timeout: patience}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		if err := e.Close(); err != nil {
			t.Errorf("close the edge: %v", err)
		}
	})
	select {
	case <-e.Ready():
	case <-time.After(patience):
		t.Fatalf("the edge is not ready after %s; log:\n%s", patience, h.log())
	}
	return h
}

// instance is a registered process, as far as the registry can tell.
type instance struct {
	h    *house
	id   string
	stop context.CancelFunc
	done chan struct{}
}

// die stops renewing the lease, as a killed process does.
func (i *instance) die() {
	i.stop()
	<-i.done
}

// leave deregisters, as a process does that stops.
func (i *instance) leave() {
	i.h.t.Helper()
	i.die()
	if err := i.h.store.Deregister(i.h.t.Context(), "", i.id); err != nil {
		i.h.t.Fatal(err)
	}
}

// register puts the contract into etcd with every service of the texts, as the registry does, under one instance, and
// renews the lease until the test ends.
func (h *house) register(s *settings, texts map[string]string) *instance {
	h.t.Helper()
	set := schematest.WholeSet(h.files)
	var names []string
	h.files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		if _, ours := texts[fd.Path()]; ours {
			for i := range fd.Services().Len() {
				names = append(names, string(fd.Services().Get(i).FullName()))
			}
		}
		return true
	})
	raw, _, err := contract.Normalize(set, names)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx := h.t.Context()
	digest, err := h.store.PutContract(ctx, raw)
	if err != nil {
		h.t.Fatal(err)
	}
	compiled, err := contract.Compile(contract.Source{Files: set, Services: names, Zone: s.zone})
	if err != nil {
		h.t.Fatal(err)
	}
	r := &registry.Registration{TTL: time.Minute, Contract: digest, Address: s.address, TLSServerName: s.serverName}
	for _, service := range compiled.Services {
		claim := registry.ServiceRegistration{
			Key: registry.Key{Zone: service.Zone, Service: service.Name}, AliasRoot: participant.Root(service.Zone),
		}
		for _, tool := range service.Tools {
			claim.Tools = append(claim.Tools, registry.ToolName{
				Hash: tool.Name, Alias: tool.Alias, Function: contract.QualifiedName(tool.Zone, tool.Service) + "/" + tool.Method,
			})
		}
		r.Services = append(r.Services, claim)
	}
	lease, err := h.store.Register(ctx, r)
	if err != nil {
		h.t.Fatal(err)
	}
	i := &instance{h: h, id: lease.InstanceID, done: make(chan struct{})}
	ctx, i.stop = context.WithCancel(ctx)
	go func() {
		defer close(i.done)
		tick := time.NewTicker(lease.TTL / 5)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_, _ = h.store.KeepAlive(ctx, "", i.id) // one that fails is followed by another
			case <-ctx.Done():
				return
			}
		}
	}()
	h.t.Cleanup(i.die)
	return i
}

// message finds a message of the registered contract.
func (h *house) message(name string) protoreflect.MessageDescriptor {
	h.t.Helper()
	return schematest.Find(h.t, h.files, name)
}

// credentials are the headers of one machine. The zero value is none.
type credentials struct{ id, secret string }

// newMachine stores a client machine, which an edge that runs already learns of a moment later.
func (h *house) newMachine(p *participant.Participant) credentials {
	h.t.Helper()
	secret, err := h.store.CreateMachine(h.t.Context(), registryv1.MachineKind_MACHINE_KIND_CLIENT, p, p.GetId())
	if err != nil {
		h.t.Fatal(err)
	}
	return credentials{p.GetId(), secret}
}

// machine creates a client machine of the participant, and waits until the edge knows it.
func (h *house) machine(p *participant.Participant) credentials {
	h.t.Helper()
	c := h.newMachine(p)
	for limit := time.Now().Add(patience); ; {
		if h.post([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), c.headers(version20251125)).status == http.StatusOK {
			return c
		}
		if time.Now().After(limit) {
			h.t.Fatalf("the edge does not know machine %q after %s", c.id, patience)
		}
	}
}

// log is what the edge logged at info, as JSON lines, of every request that was answered.
func (h *house) log() string {
	h.inFlight.wait()
	return h.lines.String()
}

// forgetLog empties the log.
func (h *house) forgetLog() {
	h.inFlight.wait()
	h.lines.reset()
}

// inFlight counts requests within the edge: a caller has its answer before the edge has logged it.
type inFlight struct {
	mu   sync.Mutex
	n    int
	zero chan struct{} // open while n is not 0
}

func (f *inFlight) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.add(1)
		defer f.add(-1)
		next.ServeHTTP(w, r)
	})
}

func (f *inFlight) add(delta int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n == 0 {
		f.zero = make(chan struct{})
	}
	if f.n += delta; f.n == 0 {
		close(f.zero)
	}
}

// wait returns when no request is within the edge.
func (f *inFlight) wait() {
	f.mu.Lock()
	zero, n := f.zero, f.n
	f.mu.Unlock()
	if n > 0 {
		<-zero
	}
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

func (b *syncBuffer) reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.b.Reset()
}

// readAll reads a body that must not fail.
func readAll(t testing.TB, r io.Reader) []byte {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
