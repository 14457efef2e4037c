package dispatch_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/dispatch"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/address"
	"github.com/sallyport-dev/sallyport/participant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	service = "com.acme.OrderService"
	method  = "/com.acme.OrderService/FindById"
	zone    = "app.acme.orders"

	// patience bounds every wait for an event; a test that needs it all has failed.
	patience = 30 * time.Second
)

var (
	key    = registry.Key{Zone: zone, Service: service}
	seed   = bytes.Repeat([]byte{7}, ed25519.SeedSize)
	caller = participant.Application("acme", "orders", "orders-client")
)

// permitsAll is an access rule under which everything is public.
type permitsAll struct{}

func (permitsAll) Permits(*participant.Participant, registry.Key, string, []byte) error { return nil }
func (permitsAll) Knows(*registryv1.StoredInstance) bool                                { return true }

// raw is the server's half of a codec that leaves bytes alone.
type raw struct{}

func (raw) Name() string { return "proto" }
func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}
func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// handler answers any unary method.
type handler func(ctx context.Context, method string, request []byte) ([]byte, error)

// server is a real gRPC server on a loopback port.
type server struct {
	*grpc.Server
	id, address string
	calls       atomic.Int64
	connections *countingListener
}

type countingListener struct {
	net.Listener
	accepted atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return c, err
}

var serverNumber atomic.Int64

func serve(t *testing.T, h handler, options ...grpc.ServerOption) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{
		id: fmt.Sprintf("instance-%02d", serverNumber.Add(1)), address: listener.Addr().String(),
		connections: &countingListener{Listener: listener},
	}
	unknown := func(_ any, stream grpc.ServerStream) error {
		s.calls.Add(1)
		var request []byte
		if err := stream.RecvMsg(&request); err != nil {
			return err
		}
		name, _ := grpc.MethodFromServerStream(stream)
		response, err := h(stream.Context(), name, request)
		if err != nil {
			return err
		}
		return stream.SendMsg(response)
	}
	s.Server = grpc.NewServer(append(options, grpc.ForceServerCodecV2(raw{}), grpc.UnknownServiceHandler(unknown))...)
	var running sync.WaitGroup
	running.Go(func() { _ = s.Serve(s.connections) })
	t.Cleanup(func() { s.Stop(); running.Wait() })
	return s
}

func echo(_ context.Context, method string, request []byte) ([]byte, error) {
	return append([]byte(method+" "), request...), nil
}

// answer names the server that answered.
func answer(name string) handler {
	return func(context.Context, string, []byte) ([]byte, error) { return []byte(name), nil }
}

func refuse(code codes.Code, message string) handler {
	return func(context.Context, string, []byte) ([]byte, error) { return nil, status.Error(code, message) }
}

// unused gives an address where nobody listens.
func unused(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func (s *server) instance() *registryv1.StoredInstance { return stored(s.id, s.address) }

func stored(id, address string) *registryv1.StoredInstance {
	return &registryv1.StoredInstance{Zone: zone, Service: service, InstanceId: id, Address: address}
}

// view is a registry view with these instances and a signing key.
func view(instances ...*registryv1.StoredInstance) *registry.View {
	v := &registry.View{
		Instances:     map[registry.Key][]*registryv1.StoredInstance{},
		AssertionKeys: []*registryv1.StoredAssertionKey{{Kid: "k1", Seed: seed}},
	}
	for _, i := range instances {
		k := registry.Key{Zone: i.GetZone(), Service: i.GetService()}
		v.Instances[k] = append(v.Instances[k], i)
	}
	return v
}

// loopback admits loopback addresses on every port, in each zone of these tests.
func loopback(t *testing.T) *address.Policy {
	t.Helper()
	ports := make([]uint32, 0, 1<<16)
	for port := uint32(1); port < 1<<16; port++ {
		ports = append(ports, port)
	}
	p, err := address.New([]*configv1.ZoneAddresses{
		{Zone: "*", Ranges: []string{"127.0.0.0/8"}, Ports: ports}, {Zone: "", Ranges: []string{"127.0.0.0/8"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func start(t *testing.T, change func(*dispatch.Options), instances ...*registryv1.StoredInstance) *dispatch.Dispatcher {
	t.Helper()
	o := dispatch.Options{Access: permitsAll{}, Addresses: loopback(t)}
	if change != nil {
		change(&o)
	}
	d := dispatch.New(o)
	t.Cleanup(d.Close)
	d.Update(view(instances...))
	return d
}

func request(body string) *dispatch.Request {
	return &dispatch.Request{Participant: caller, Service: key, FullMethod: method, Timeout: patience, Body: []byte(body)}
}

func repeatable(body string) *dispatch.Request {
	r := request(body)
	r.RepeatSafe = true
	return r
}

// call sends a call and gives the body, or the error.
func call(d *dispatch.Dispatcher, r *dispatch.Request) (string, *dispatch.Error) {
	response, err := d.Call(context.Background(), r)
	if err != nil {
		return "", err.(*dispatch.Error) //nolint:errorlint // every error is one, which this asserts
	}
	defer response.Free()
	return string(response.ReadOnlyData()), nil
}

func wait[T any](t *testing.T, events <-chan T, what string) T {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(patience):
		t.Fatalf("%s did not happen", what)
		panic("unreachable")
	}
}

func verifier() *assertion.Verifier {
	return assertion.NewVerifier(assertion.Keys{
		"k1": ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey),
		"k2": ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize)).Public().(ed25519.PublicKey),
	}, nil)
}

func resolveTo(ips ...string) func(context.Context, string) ([]netip.Addr, error) {
	return func(context.Context, string) ([]netip.Addr, error) {
		var all []netip.Addr
		for _, ip := range ips {
			all = append(all, netip.MustParseAddr(ip))
		}
		return all, nil
	}
}

func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }
