// Package ingress_test holds Sallyport behind an ingress: a real nginx with the configuration that deploy/nginx ships,
// edges that are processes of their own, and a gRPC service behind them that the test plays.
//
// In come the files of deploy/nginx, of which only the values that are marked "# CHANGE" are replaced; out come answers
// as a client of nginx has them, and what the service saw. The tests know what somebody outside and the service can
// know, and reach into no room of the edge. Nothing here measures time: where one thing must come before another, the
// two meet.
package ingress_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/test/stack"
)

func TestMain(m *testing.M) { stack.Main(m) }

const (
	// patience bounds every wait. Whoever reaches it has failed.
	patience = 60 * time.Second
	// zone is where the depot is registered.
	zone = "system-api"
	// host is the name that nginx.conf and edge.yaml ship with.
	host = "tools.example.com"
)

// depotProto is the contract of the service behind the edges.
const depotProto = `
syntax = "proto3";
package acme.depot.v1;
import "sallyport/tool/v1/content.proto";
import "sallyport/tool/v1/options.proto";

// What the tests need of a service.
service Depot {
  option (sallyport.tool.v1.service) = {title: "Depot"};
  // Gives the text back.
  rpc Echo(Request) returns (Answer);
  // Answers when the test says so.
  rpc Wait(Request) returns (Answer);
  // Gives as many bytes as are asked for.
  rpc Fetch(Request) returns (Answer);
  // Tells how far it is.
  rpc Watch(Request) returns (stream Step) {
    option (sallyport.tool.v1.tool) = {description: "Tells how far it is", progress: true};
  }
  // Is called with its arguments in headers.
  rpc Route(Place) returns (Answer);
}

message Request {
  string text = 1;
  int32 size = 2;
}

message Answer {
  string text = 1;
}

message Step {
  oneof step {
    sallyport.tool.v1.Progress progress = 1;
    Answer result = 2;
  }
}

message Place {
  string region = 1 [(sallyport.tool.v1.field).header = "Region"];
  string tax_region = 2 [(sallyport.tool.v1.field).header = "Tax_Region"];
  string shelf = 3 [(sallyport.tool.v1.field).header = "shelf.no+1"];
}
`

// house is an etcd, a service that the test plays, and edges that read the one and call the other.
type house struct {
	t      *testing.T
	etcd   *etcdtest.Server
	depot  *depot
	caller stack.Machine
	// tools are the names of the tools by their RPC's.
	tools map[string]string
}

// newHouse registers the depot and a machine that may call it. All of it is over when the test ends, and so is every
// goroutine that the test started.
func newHouse(t *testing.T) *house {
	t.Helper()
	t.Cleanup(func() { goleak.VerifyNone(t) })
	h := &house{t: t, etcd: etcdtest.New(t), depot: startDepot(t), tools: make(map[string]string)}
	store := registry.NewStore(h.etcd.Client(), "")
	ctx := t.Context()
	if err := store.EnsureSigningKeys(ctx); err != nil {
		t.Fatal(err)
	}
	h.register(ctx, store)
	tester := participant.System("tester")
	secret, err := store.CreateMachine(ctx, registryv1.MachineKind_MACHINE_KIND_CLIENT, tester, "tester")
	if err != nil {
		t.Fatal(err)
	}
	h.caller = stack.Machine{ClientID: "tester", ClientSecret: secret}
	return h
}

// register does what the registry does for the depot's instance, whose lease outlives every test.
func (h *house) register(ctx context.Context, store *registry.Store) {
	h.t.Helper()
	files := schematest.Files(h.t, map[string]string{"acme/depot/v1/depot.proto": depotProto})
	set := schematest.WholeSet(files)
	services := []string{"acme.depot.v1.Depot"}
	raw, _, err := contract.Normalize(set, services)
	if err != nil {
		h.t.Fatal(err)
	}
	digest, err := store.PutContract(ctx, raw)
	if err != nil {
		h.t.Fatal(err)
	}
	compiled, err := contract.Compile(contract.Source{Files: set, Services: services, Zone: zone})
	if err != nil {
		h.t.Fatal(err)
	}
	r := &registry.Registration{TTL: 5 * time.Minute, Contract: digest, Address: h.depot.address}
	for _, service := range compiled.Services {
		claim := registry.ServiceRegistration{Key: registry.Key{Zone: service.Zone, Service: service.Name}}
		for _, tool := range service.Tools {
			h.tools[tool.Method] = tool.Name
			claim.Tools = append(claim.Tools, registry.ToolName{
				Hash: tool.Name, Function: contract.QualifiedName(tool.Zone, tool.Service) + "/" + tool.Method,
			})
		}
		r.Services = append(r.Services, claim)
	}
	if _, err := store.Register(ctx, r); err != nil {
		h.t.Fatal(err)
	}
}

// edge is a process of `edge serve`.
type edge struct {
	t       *testing.T
	config  string
	address string
	process *stack.Process
}

// startEdge starts an edge with the settings that deploy/nginx ships, on an address of its own.
func (h *house) startEdge(changes ...change) *edge {
	h.t.Helper()
	e := &edge{t: h.t, config: filepath.Join(h.t.TempDir(), "edge.yaml"), address: stack.FreeAddress(h.t)}
	changes = append(changes,
		change{"http://127.0.0.1:2379", h.etcd.Endpoint()},
		change{"address: 127.0.0.1:8180", "address: " + e.address})
	text := shipped(h.t, "edge.yaml", changes)
	_, port, _ := strings.Cut(h.depot.address, ":")
	// No call ends by a deadline of the edge's before a test has lost its patience.
	text += fmt.Sprintf("default_timeout: 240s\naddresses:\n  - zone: %s\n    ranges: [127.0.0.0/8]\n    ports: [%s]\n", zone, port)
	stack.WriteFile(h.t, e.config, text)
	e.start()
	return e
}

// start starts the process, again where it has ended, and waits until it serves.
func (e *edge) start() {
	e.t.Helper()
	e.process = stack.Start(e.t, e.t.TempDir(), nil, stack.Program(e.t, "cmd/edge"), "serve", "--config", e.config)
	e.process.WaitLine(e.t, "edge is ready")
}

// change replaces a value of a shipped file.
type change struct{ from, to string }

// mark is what stands after a value that is to be changed.
const mark = "# CHANGE"

// shipped is a file of deploy/nginx with some of its marked values changed. A change whose value is on no marked line is
// a mistake of the test, or of the file.
func shipped(t testing.TB, name string, changes []change) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(stack.Root(), "deploy", "nginx", name))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(raw), "\n")
	for _, c := range changes {
		changed := false
		for i, line := range lines {
			if strings.Contains(line, mark) && strings.Contains(line, c.from) {
				lines[i] = strings.Replace(line, c.from, c.to, 1)
				changed = true
			}
		}
		if !changed {
			t.Fatalf("%s has no value %q on a line with %q", name, c.from, mark)
		}
	}
	return strings.Join(lines, "")
}
