package server_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/bufbuild/protocompile"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/internal/registry/server"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/participant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = time.Minute
	selfName = "sallyport.registry.v1.RegistryService"
	appZone  = "app.acme-org.orders-app"
	address  = "127.0.0.1:9001"

	clientKind = registryv1.MachineKind_MACHINE_KIND_CLIENT
	hostKind   = registryv1.MachineKind_MACHINE_KIND_HOST
)

// house is a registry that runs against an etcd of its own, with a few machines.
type house struct {
	t       *testing.T
	etcd    *etcdtest.Server
	store   *registry.Store
	where   server.Addresses
	client  registryv1.RegistryServiceClient
	secrets map[string]string
	stop    func() // ends the registry and waits for it
}

// loopback opens the tests' ports on loopback, for the platform in general and for applications by their numbers.
func loopback() []*configv1.ZoneAddresses {
	return []*configv1.ZoneAddresses{
		{Zone: "*", Ranges: []string{"127.0.0.1/32"}, Ports: []uint32{9001, 9002}},
		{Zone: "system-api", Ranges: []string{"127.0.0.0/8"}},
	}
}

func newHouse(t *testing.T, change func(*configv1.RegistryConfig)) *house {
	t.Helper()
	etcd := etcdtest.New(t)
	cfg := &configv1.RegistryConfig{
		Store:      &configv1.RegistryConfig_Etcd{Etcd: &configv1.EtcdClient{Endpoints: []string{etcd.Endpoint()}}},
		GrpcListen: "127.0.0.1:0", RestListen: "127.0.0.1:0", Addresses: loopback(),
	}
	if change != nil {
		change(cfg)
	}
	h := &house{t: t, etcd: etcd, store: registry.NewStore(etcd.Client(), ""), secrets: map[string]string{}}
	for _, m := range []struct {
		id   string
		kind registryv1.MachineKind
		p    *participant.Participant
	}{
		{"platform-host", hostKind, participant.System("")},
		{"acme-host", hostKind, participant.Organization("acme-org", "")},
		{"app-host", hostKind, participant.Application("acme-org", "orders-app", "")},
		{"system", clientKind, participant.System("")},
		{"acme", clientKind, participant.Organization("acme-org", "")},
		{"app", clientKind, participant.Application("acme-org", "orders-app", "")},
		{"other-app", clientKind, participant.Application("acme-org", "other", "")},
		{"gone", hostKind, participant.System("")},
	} {
		secret, err := h.store.CreateMachine(h.ctx(), m.kind, m.p, m.id)
		if err != nil {
			t.Fatal(err)
		}
		h.secrets[m.id] = secret
	}
	if err := h.store.DisableMachine(h.ctx(), "gone"); err != nil {
		t.Fatal(err)
	}
	h.where, h.stop = start(t, cfg)
	h.client = registryv1.NewRegistryServiceClient(dial(t, h.where.GRPC))
	return h
}

// start runs a registry until the test ends.
func start(t *testing.T, cfg *configv1.RegistryConfig) (server.Addresses, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan server.Addresses, 1), make(chan error, 1)
	go func() {
		ended <- server.Run(ctx, cfg, slog.New(slog.DiscardHandler), func(a server.Addresses) { ready <- a })
	}()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("Run ended with %v", err)
			}
		case <-time.After(patience):
			t.Error("the registry does not stop")
		}
	}
	select {
	case where := <-ready:
		t.Cleanup(stop)
		return where, stop
	case err := <-ended:
		cancel()
		t.Fatalf("Run: %v", err)
	case <-time.After(patience):
		cancel()
		t.Fatal("the registry is not ready")
	}
	return server.Addresses{}, stop
}

func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (h *house) ctx() context.Context {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	h.t.Cleanup(cancel)
	return ctx
}

// as is a context with a machine's credentials.
func (h *house) as(machine string) context.Context {
	h.t.Helper()
	return metadata.AppendToOutgoingContext(h.ctx(), server.ClientIDKey, machine, server.ClientSecretKey, h.secrets[machine])
}

// until waits for a view of the data, as an edge would have it.
func (h *house) until(what string, satisfies func(*registry.View) bool) *registry.View {
	h.t.Helper()
	views := make(chan *registry.View, 100)
	w := h.store.Watch(context.Background(), registry.WatchOptions{OnChange: func(v *registry.View) { views <- v }})
	defer w.Close()
	give := time.After(patience)
	for {
		select {
		case v := <-views:
			if satisfies(v) {
				return v
			}
		case <-give:
			h.t.Fatalf("no view in which %s", what)
		}
	}
}

// eventually asks until the answer is right: what a registry shows follows what it wrote by a moment.
func eventually(t *testing.T, what string, right func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	give := time.After(patience)
	for !right() {
		select {
		case <-tick.C:
		case <-give:
			t.Fatalf("it does not come about that %s", what)
		}
	}
}

const header = `syntax = "proto3"; package acme.%PKG%;
import "sallyport/tool/v1/options.proto";
message Req { string id = 1; }
message Res { string id = 1; }
`

// protos compiles one file of package acme.<pkg>, with comments.
func protos(t *testing.T, pkg, text string) *descriptorpb.FileDescriptorSet {
	t.Helper()
	path := "acme/" + pkg + ".proto"
	compiler := protocompile.Compiler{
		SourceInfoMode: protocompile.SourceInfoStandard,
		Resolver: protocompile.ResolverFunc(func(p string) (protocompile.SearchResult, error) {
			if p == path {
				return protocompile.SearchResult{Source: io.Reader(strings.NewReader(strings.ReplaceAll(header, "%PKG%", pkg) + text))}, nil
			}
			fd, err := protoregistry.GlobalFiles.FindFileByPath(p)
			return protocompile.SearchResult{Desc: fd}, err
		}),
	}
	linked, err := compiler.Compile(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	// As a client sends it: options in bytes, resolved by whoever reads them.
	raw, err := proto.Marshal(schematest.FileSet(linked[0]))
	if err != nil {
		t.Fatal(err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(raw, set); err != nil {
		t.Fatal(err)
	}
	return set
}

const orders = `
// Keeps orders.
service OrderService {
  option (sallyport.tool.v1.service) = {title: "Orders"};
  // Finds an order by its id.
  rpc FindById(Req) returns (Res);
  rpc Place(Req) returns (Res) { option (sallyport.tool.v1.tool) = {name: "place_order"}; }
}`

// request registers the services of a set at the tests' address.
func request(set *descriptorpb.FileDescriptorSet, zone string, services ...string) *registryv1.RegisterRequest {
	return &registryv1.RegisterRequest{
		Zone: zone, Services: services, Address: address,
		Contract: &registryv1.RegisterRequest_Descriptors{Descriptors: set},
	}
}

func (h *house) register(machine string, req *registryv1.RegisterRequest) *registryv1.RegisterResponse {
	h.t.Helper()
	answer, err := h.client.Register(h.as(machine), req)
	if err != nil {
		h.t.Fatal(err)
	}
	return answer
}

// wantError checks an error's code and that its text has every part.
func wantError(t *testing.T, err error, code codes.Code, parts ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("err = %v, want code %v", err, code)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func key(c *clientv3.Client, ctx context.Context, prefix string) (n int64) {
	r, err := c.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return -1
	}
	return r.Count
}
