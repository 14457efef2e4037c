package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/address"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/internal/registry/server"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/service"
)

const (
	// patience bounds every wait: a loaded machine is slow, a defect is for ever.
	patience   = 60 * time.Second
	ordersZone = "app.acme-org.orders-app"
	ordersName = "acme.orders.v1.OrderService"
)

var ordersKey = registry.Key{Zone: ordersZone, Service: ordersName}

// TestMain serves as the child process of the signal tests where the environment says so.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		os.Exit(child())
	}
	// The first signal.Notify of a process starts a goroutine that stays.
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGUSR2)
	signal.Stop(c)
	goleak.VerifyTestMain(m)
}

// testRegistry is a real registry server over a real etcd.
type testRegistry struct {
	etcd    *clientv3.Client
	store   *registry.Store
	watcher *registry.Watcher
	changed chan struct{}

	address  string
	options  []grpc.ServerOption
	server   *grpc.Server
	served   chan error
	keyCalls atomic.Int64
}

// openRegistry prepares a registry over an etcd without serving it yet.
func openRegistry(ctx context.Context, etcd *clientv3.Client) (*testRegistry, error) {
	r := &testRegistry{etcd: etcd, store: registry.NewStore(etcd, ""), changed: make(chan struct{}, 1)}
	if err := r.store.EnsureAssertionKey(ctx); err != nil {
		return nil, err
	}
	r.watcher = r.store.Watch(context.Background(), registry.WatchOptions{OnChange: func(*registry.View) {
		select {
		case r.changed <- struct{}{}:
		default:
		}
	}})
	select {
	case <-r.watcher.Ready():
		return r, nil
	case <-ctx.Done():
		r.watcher.Close()
		return nil, ctx.Err()
	}
}

// serve serves the registry at an address; port 0 picks one.
func (r *testRegistry) serve(at string) error {
	// Loopback is permitted in application zones for named ports only. Here every port is a test's own.
	loopback := &configv1.ZoneAddresses{Zone: "*", Ranges: []string{"127.0.0.0/8", "::1/128"}}
	for port := uint32(1024); port < 65536; port++ {
		loopback.Ports = append(loopback.Ports, port)
	}
	policy, err := address.New([]*configv1.ZoneAddresses{loopback})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	impl := server.New(server.Options{Store: r.store, Watcher: r.watcher, Addresses: policy})
	count := func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		if info.FullMethod == registryv1.RegistryService_GetAssertionKeys_FullMethodName {
			r.keyCalls.Add(1)
		}
		return next(ctx, request)
	}
	r.server = grpc.NewServer(append([]grpc.ServerOption{impl.Interceptors(), grpc.ChainUnaryInterceptor(count)}, r.options...)...)
	registryv1.RegisterRegistryServiceServer(r.server, impl)
	r.address, r.served = listener.Addr().String(), make(chan error, 1)
	serving, served := r.server, r.served
	go func() { served <- serving.Serve(listener) }()
	return nil
}

// halt takes the server away, as a crash would. The data stays.
func (r *testRegistry) halt() {
	if r.server != nil {
		r.server.Stop()
		<-r.served
		r.server = nil
	}
}

func (r *testRegistry) close() {
	r.halt()
	r.watcher.Close()
}

// host makes a machine that may host where the participant may.
func (r *testRegistry) host(ctx context.Context, id string, p *participant.Participant) (service.Option, error) {
	secret, err := r.store.CreateMachine(ctx, registryv1.MachineKind_MACHINE_KIND_HOST, p, id)
	return service.Credentials(id, secret), err
}

// startRegistry serves a registry for the length of a test.
func startRegistry(t *testing.T, options ...grpc.ServerOption) *testRegistry {
	t.Helper()
	r := newRegistry(t)
	r.options = options
	if err := r.serve("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return r
}

// newRegistry prepares a registry for the length of a test, not yet served.
func newRegistry(t *testing.T) *testRegistry {
	t.Helper()
	r, err := openRegistry(testContext(t), etcdtest.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	return r
}

func (r *testRegistry) acmeHost(t *testing.T) service.Option {
	t.Helper()
	o, err := r.host(testContext(t), "acme-host", participant.Organization("acme-org", "acme-host"))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// wait waits until the registry's view fulfils something.
func (r *testRegistry) wait(t *testing.T, what string, holds func(*registry.View) bool) {
	t.Helper()
	deadline := time.After(patience)
	for !holds(r.watcher.View()) {
		select {
		case <-r.changed:
		case <-deadline:
			t.Fatalf("the registry never showed: %s; instances %v", what, r.watcher.View().Instances)
		}
	}
}

// instance gives the one instance of the orders service, or nil.
func instance(v *registry.View) *registryv1.StoredInstance {
	if list := v.Instances[ordersKey]; len(list) == 1 {
		return list[0]
	}
	return nil
}

func online(v *registry.View) bool   { return v.Online(ordersKey) }
func gone(v *registry.View) bool     { return len(v.Instances[ordersKey]) == 0 }
func draining(v *registry.View) bool { return instance(v).GetDraining() }

// leaseOf finds the lease that holds the orders service's instance in etcd.
func (r *testRegistry) leaseOf(t *testing.T) clientv3.LeaseID {
	t.Helper()
	response, err := r.etcd.Get(testContext(t), r.store.Prefix()+"instances/", clientv3.WithPrefix())
	if err != nil || len(response.Kvs) != 1 {
		t.Fatalf("instances in etcd: %v, %v", response, err)
	}
	return clientv3.LeaseID(response.Kvs[0].Lease)
}

// addKey keeps one more assertion key in etcd, as a rotation does, and gives a signer that uses it.
func (r *testRegistry) addKey(t *testing.T, kid string) *assertion.Signer {
	t.Helper()
	seed := bytes.Repeat([]byte(kid[:1]), 32)
	value, err := proto.Marshal(&registryv1.StoredAssertionKey{Kid: kid, Seed: seed, CreatedAt: timestamppb.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.etcd.Put(testContext(t), r.store.Prefix()+"keys/assertion/"+kid, string(value)); err != nil {
		t.Fatal(err)
	}
	r.wait(t, "key "+kid, func(v *registry.View) bool {
		for _, k := range v.AssertionKeys {
			if k.GetKid() == kid {
				return true
			}
		}
		return false
	})
	return signer(t, kid, seed)
}

func signer(t *testing.T, kid string, seed []byte) *assertion.Signer {
	t.Helper()
	s, err := assertion.NewSigner(kid, seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// edgeSigner signs as an edge of the installation does.
func (r *testRegistry) edgeSigner(t *testing.T) *assertion.Signer {
	t.Helper()
	key := r.watcher.View().AssertionKeys[0]
	return signer(t, key.GetKid(), key.GetSeed())
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// vouch attaches the edge's word for an application to a call of the orders service.
func vouch(t testing.TB, ctx context.Context, s *assertion.Signer, fullMethod string) context.Context {
	t.Helper()
	p := participant.Application("acme-org", "orders-app", "tester")
	token, err := s.Sign(p, fullMethod, assertion.Audience(ordersZone, ordersName), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return metadata.AppendToOutgoingContext(ctx, assertion.AssertionKey, token)
}

// process is a Run in this process.
type process struct {
	registrations chan service.Registration
	stop          context.CancelFunc
	ended         chan error
	once          sync.Once
	err           error
}

// run starts a Run that ends with the test at the latest.
func run(t *testing.T, register func(grpc.ServiceRegistrar), options ...service.Option) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{registrations: make(chan service.Registration, 64), stop: cancel, ended: make(chan error, 1)}
	options = append([]service.Option{
		service.Listen("127.0.0.1:0"), service.Logger(slog.New(slog.DiscardHandler)), service.NoSignals(),
		service.OnRegister(func(r service.Registration) { p.registrations <- r }),
	}, options...)
	go func() { p.ended <- service.Run(ctx, register, options...) }()
	t.Cleanup(func() {
		cancel()
		p.wait(t)
	})
	return p
}

// registered waits for the next registration.
func (p *process) registered(t *testing.T) service.Registration {
	t.Helper()
	select {
	case r := <-p.registrations:
		return r
	case err := <-p.ended:
		p.once.Do(func() { p.err = err })
		t.Fatalf("Run ended: %v", err)
	case <-time.After(patience):
		t.Fatal("not registered")
	}
	return service.Registration{}
}

// wait waits for the end of Run and gives its error.
func (p *process) wait(t *testing.T) error {
	p.once.Do(func() {
		select {
		case p.err = <-p.ended:
		case <-time.After(patience):
			p.err = errors.New("Run did not end")
			t.Error(p.err)
		}
	})
	return p.err
}

func dial(t testing.TB, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// gatedOrders is an order service whose calls announce themselves and last until they are let go.
type gatedOrders struct {
	ordersv1.UnimplementedOrderServiceServer
	entered chan string
	release chan struct{}
}

func newGatedOrders() *gatedOrders {
	return &gatedOrders{entered: make(chan string, 64), release: make(chan struct{})}
}

func (g *gatedOrders) register(s grpc.ServiceRegistrar) { ordersv1.RegisterOrderServiceServer(s, g) }

func (g *gatedOrders) pass(ctx context.Context) error {
	p, _ := participant.FromContext(ctx)
	g.entered <- p.GetId()
	select {
	case <-g.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *gatedOrders) FindById(ctx context.Context, request *ordersv1.FindByIdRequest) (*ordersv1.FindByIdResponse, error) {
	if err := g.pass(ctx); err != nil {
		return nil, err
	}
	return &ordersv1.FindByIdResponse{Order: &ordersv1.Order{OrderId: request.GetOrderId()}}, nil
}

func (g *gatedOrders) Watch(request *ordersv1.WatchRequest, stream grpc.ServerStreamingServer[ordersv1.WatchResponse]) error {
	if err := g.pass(stream.Context()); err != nil {
		return err
	}
	return stream.Send(&ordersv1.WatchResponse{Order: &ordersv1.Order{OrderId: request.GetOrderId()}})
}

// plainOrders answers at once with the id of the participant that called.
type plainOrders struct {
	ordersv1.UnimplementedOrderServiceServer
}

func registerPlain(s grpc.ServiceRegistrar) { ordersv1.RegisterOrderServiceServer(s, plainOrders{}) }

func (plainOrders) FindById(ctx context.Context, _ *ordersv1.FindByIdRequest) (*ordersv1.FindByIdResponse, error) {
	p, ok := participant.FromContext(ctx)
	if !ok {
		return nil, fmt.Errorf("code %v: no participant", codes.Internal)
	}
	return &ordersv1.FindByIdResponse{Order: &ordersv1.Order{PlacedBy: p.GetId()}}, nil
}

func (plainOrders) Watch(_ *ordersv1.WatchRequest, stream grpc.ServerStreamingServer[ordersv1.WatchResponse]) error {
	p, _ := participant.FromContext(stream.Context())
	if err := stream.Send(&ordersv1.WatchResponse{Order: &ordersv1.Order{PlacedBy: p.GetId()}}); err != nil {
		return err
	}
	<-service.Leaving(stream.Context())
	return nil
}

// find calls FindById with the edge's word.
func find(t testing.TB, conn *grpc.ClientConn, s *assertion.Signer) (*ordersv1.FindByIdResponse, error) {
	ctx := vouch(t, testContext(t), s, ordersv1.OrderService_FindById_FullMethodName)
	return ordersv1.NewOrderServiceClient(conn).FindById(ctx, &ordersv1.FindByIdRequest{OrderId: "ORD-1042"})
}

func ordersFile(dir string) string { return filepath.Join(dir, "orders.db") }
