package catalog_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bufbuild/protocompile"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	_ "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/catalog"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/participant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait for an event; a test that needs it all has failed.
const patience = 60 * time.Second

const orders = "com.acme.OrderService"

// house is a catalog over a real store.
type house struct {
	t       testing.TB
	store   *registry.Store
	catalog *catalog.Catalog
	log     *logBuffer

	mu        sync.Mutex
	snapshots chan *catalog.Snapshot
}

func open(t testing.TB, change func(*catalog.Options)) *house {
	t.Helper()
	h := &house{t: t, store: registry.NewStore(etcdtest.Start(t), ""), log: &logBuffer{}, snapshots: make(chan *catalog.Snapshot, 1)}
	o := catalog.Options{
		Contracts: h.store, Logger: slog.New(slog.NewTextHandler(h.log, nil)), OnSnapshot: h.arrived,
	}
	if change != nil {
		change(&o)
	}
	h.catalog = catalog.New(o)
	t.Cleanup(h.catalog.Close)
	return h
}

// arrived keeps the newest snapshot for who waits.
func (h *house) arrived(s *catalog.Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	select {
	case <-h.snapshots:
	default:
	}
	h.snapshots <- s
}

// until waits for a snapshot that is as it should be.
func (h *house) until(what string, is func(*catalog.Snapshot) bool) *catalog.Snapshot {
	h.t.Helper()
	if s := h.catalog.Load(); s != nil && is(s) {
		return s
	}
	deadline := time.After(patience)
	for {
		select {
		case s := <-h.snapshots:
			if is(s) {
				return s
			}
		case <-deadline:
			h.t.Fatalf("no snapshot in which %s", what)
		}
	}
}

// show gives the catalog a view and waits for its whole snapshot.
func (h *house) show(v *registry.View) *catalog.Snapshot {
	h.t.Helper()
	h.catalog.Update(v)
	return h.until("the view is shown", func(s *catalog.Snapshot) bool { return s.Revision == v.Revision && s.Complete })
}

// contract stores proto text as a contract of its services, and gives the digest.
func (h *house) contract(text string) string {
	h.t.Helper()
	raw, want := normalized(h.t, text)
	digest, err := h.store.PutContract(context.Background(), raw)
	if err != nil || digest != want {
		h.t.Fatalf("store the contract: %v", err)
	}
	return digest
}

// normalized is proto text as the registry stores it, with its digest.
func normalized(t testing.TB, text string) (raw []byte, digest string) {
	t.Helper()
	set := compileSet(t, text)
	var services []string
	file := set.File[len(set.File)-1]
	for _, s := range file.GetService() {
		services = append(services, file.GetPackage()+"."+s.GetName())
	}
	raw, digest, err := contract.Normalize(set, services)
	if err != nil {
		t.Fatal(err)
	}
	return raw, digest
}

const header = `
syntax = "proto3";
package com.acme;
import "sallyport/tool/v1/options.proto";
import "sallyport/tool/v1/tool.proto";
message Request { string id = 1; }
message Response { string id = 1; }
`

// orderService is a service with these RPCs, each a line of options or nothing.
func orderService(rpcs ...string) string {
	var b strings.Builder
	b.WriteString(header + "service OrderService { option (sallyport.tool.v1.service) = {};\n")
	for _, rpc := range rpcs {
		name, options, _ := strings.Cut(rpc, " ")
		b.WriteString("rpc " + name + "(Request) returns (Response) { " + options + " }\n")
	}
	b.WriteString("}")
	return b.String()
}

func compileSet(t testing.TB, text string) *descriptorpb.FileDescriptorSet {
	t.Helper()
	compiler := protocompile.Compiler{
		Resolver: protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
			if path == "test.proto" {
				return protocompile.SearchResult{Source: io.Reader(strings.NewReader(text))}, nil
			}
			fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
			return protocompile.SearchResult{Desc: fd}, err
		}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	linked, err := compiler.Compile(context.Background(), "test.proto")
	if err != nil {
		t.Fatalf("compile the test's proto text: %v", err)
	}
	set := schematest.FileSet(linked[0])
	raw, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	set = &descriptorpb.FileDescriptorSet{} // over the wire, so that options are of the linked types
	if err := proto.Unmarshal(raw, set); err != nil {
		t.Fatal(err)
	}
	return set
}

// world makes views.
type world struct {
	revision  int64
	services  map[registry.Key]*registryv1.StoredService
	instances map[registry.Key][]*registryv1.StoredInstance
	roles     map[registry.OwnedKey]*identityv1.StoredRole
}

func newWorld() *world {
	return &world{services: map[registry.Key]*registryv1.StoredService{}, instances: map[registry.Key][]*registryv1.StoredInstance{}}
}

// knows states the known contracts of a service, oldest first.
func (w *world) knows(zone, service string, digests ...string) *world {
	s := &registryv1.StoredService{Zone: zone, Service: service}
	for _, d := range digests {
		s.Contracts = append(s.Contracts, &registryv1.StoredServiceContract{Digest: d})
	}
	w.services[registry.Key{Zone: zone, Service: service}] = s
	return w
}

// runs states the running instances of a service by the digests of their contracts; one with a minus sign drains.
func (w *world) runs(zone, service string, digests ...string) *world {
	key := registry.Key{Zone: zone, Service: service}
	w.instances[key] = nil
	for i, d := range digests {
		digest, draining := strings.CutPrefix(d, "-")
		w.instances[key] = append(w.instances[key], &registryv1.StoredInstance{
			Zone: zone, Service: service, InstanceId: string(rune('a' + i)), Address: "127.0.0.1:1", ContractDigest: digest, Draining: draining,
		})
	}
	if len(digests) == 0 {
		delete(w.instances, key)
	}
	return w
}

// serves states a service with one contract and one instance of it.
func (w *world) serves(zone, service, digest string) *world {
	return w.knows(zone, service, digest).runs(zone, service, digest)
}

// grants states what the platform's roles grant, each `name: actions`, instead of what was stated before.
func (w *world) grants(roles ...string) *world {
	w.roles = map[registry.OwnedKey]*identityv1.StoredRole{}
	for _, role := range roles {
		name, actions, _ := strings.Cut(role, ": ")
		w.roles[registry.OwnedKey{ID: name}] = &identityv1.StoredRole{Name: name, Actions: strings.Fields(actions)}
	}
	return w
}

func (w *world) view() *registry.View {
	w.revision++
	v := &registry.View{
		Revision: w.revision, Services: map[registry.Key]*registryv1.StoredService{},
		Instances: map[registry.Key][]*registryv1.StoredInstance{}, Roles: w.roles,
	}
	for k, s := range w.services {
		v.Services[k] = s
	}
	for k, i := range w.instances {
		v.Instances[k] = i
	}
	return v
}

// listed are the published names that a participant is listed, over pages of a size.
func listed(t testing.TB, s *catalog.Snapshot, p *participant.Participant, size int) []string {
	t.Helper()
	var names []string
	for after := ""; ; {
		page, next := s.Page(p, dialect.Canonical, after, size)
		definitions := split(t, page)
		if len(definitions) > size || next != "" && len(definitions) != size {
			t.Errorf("a page of %d has %d tools, and %q follows", size, len(definitions), next)
		}
		for _, d := range definitions {
			names = append(names, name(t, d))
		}
		if next == "" {
			return names
		}
		after = next
	}
}

// split takes a page apart.
func split(t testing.TB, page []byte) (definitions []jsontext.Value) {
	t.Helper()
	d := jsontext.NewDecoder(bytes.NewReader(slices.Concat([]byte("["), page, []byte("]"))))
	if _, err := d.ReadToken(); err != nil {
		t.Fatal(err)
	}
	for d.PeekKind() == '{' {
		definition, err := d.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		definitions = append(definitions, definition.Clone())
	}
	if _, err := d.ReadToken(); err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	return definitions
}

func name(t testing.TB, definition []byte) string {
	t.Helper()
	if !jsontext.Value(definition).IsValid() {
		t.Fatalf("not JSON: %s", definition)
	}
	d := jsontext.NewDecoder(bytes.NewReader(definition))
	for range 2 {
		if _, err := d.ReadToken(); err != nil {
			t.Fatal(err)
		}
	}
	token, err := d.ReadToken()
	if err != nil {
		t.Fatal(err)
	}
	return token.String()
}

func hash(zone, service, method string) string {
	return contract.ToolName(contract.QualifiedName(zone, service), method)
}

func sorted(names ...string) []string {
	slices.Sort(names)
	return names
}

func reasons(s *catalog.Snapshot) map[string]string {
	all := map[string]string{}
	for h := range s.Hidden() {
		all[h.Resource] = h.Reason
	}
	return all
}

type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
