package access_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/sallyport-dev/sallyport/comments"
	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/catalog"
	"github.com/sallyport-dev/sallyport/internal/dispatch"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/address"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/internal/registry/server"
	"github.com/sallyport-dev/sallyport/participant"
)

// addressPatience bounds every wait; whoever reaches it has failed.
const addressPatience = 60 * time.Second

var addressKey = registry.Key{Zone: "app.acme-org.orders-app", Service: "acme.orders.v1.OrderService"}

// addressHouse is a registry server over a real etcd, and a dispatcher that follows it, under one address policy. Names
// resolve to what the test says at the moment.
type addressHouse struct {
	t        *testing.T
	client   registryv1.RegistryServiceClient
	tenant   metadata.MD
	contract string
	// heard is what the dispatcher and the catalog have heard last.
	heard      atomic.Pointer[registry.View]
	changed    chan struct{}
	dispatcher *dispatch.Dispatcher
	etcdPort   string

	mu    sync.Mutex
	names map[string][]netip.Addr
	log   bytes.Buffer
}

// Write takes a line of the dispatcher's log.
func (h *addressHouse) Write(line []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.log.Write(line)
}

// logged gives what was logged since it was asked before.
func (h *addressHouse) logged() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer h.log.Reset()
	return h.log.String()
}

func (h *addressHouse) lookup(_ context.Context, host string) ([]netip.Addr, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.names[host], nil
}

func (h *addressHouse) point(host string, to ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.names[host] = nil
	for _, ip := range to {
		h.names[host] = append(h.names[host], netip.MustParseAddr(ip))
	}
}

// newAddressHouse starts a house whose policy has these entries.
func newAddressHouse(t *testing.T, entries ...*configv1.ZoneAddresses) *addressHouse {
	t.Helper()
	etcd := etcdtest.Start(t)
	h := &addressHouse{t: t, changed: make(chan struct{}, 1), names: map[string][]netip.Addr{}}
	policy, err := address.New(entries, etcd.Endpoints()...)
	if err != nil {
		t.Fatal(err)
	}
	_, h.etcdPort, err = net.SplitHostPort(strings.TrimPrefix(etcd.Endpoints()[0], "http://"))
	if err != nil {
		t.Fatal(err)
	}
	store := registry.NewStore(etcd, "")
	if err := store.EnsureAssertionKey(t.Context()); err != nil {
		t.Fatal(err)
	}
	secret, err := store.CreateMachine(t.Context(), registryv1.MachineKind_MACHINE_KIND_HOST,
		participant.Organization("acme-org", "acme-host"), "acme-host")
	if err != nil {
		t.Fatal(err)
	}
	h.tenant = metadata.Pairs(server.ClientIDKey, "acme-host", server.ClientSecretKey, secret)

	tools := catalog.New(catalog.Options{Contracts: store})
	t.Cleanup(tools.Close)
	h.dispatcher = dispatch.New(dispatch.Options{
		Access: tools, Addresses: policy, Resolve: h.lookup, Logger: slog.New(slog.NewTextHandler(h, nil)),
	})
	t.Cleanup(h.dispatcher.Close)
	h.heard.Store(new(registry.View))
	watcher := store.Watch(context.Background(), registry.WatchOptions{OnChange: func(v *registry.View) {
		h.dispatcher.Update(v)
		tools.Update(v)
		h.heard.Store(v)
		select {
		case h.changed <- struct{}{}:
		default:
		}
	}})
	t.Cleanup(watcher.Close)
	impl := server.New(server.Options{Store: store, Watcher: watcher, Addresses: policy})
	h.client = registryv1.NewRegistryServiceClient(addressServe(t, impl))
	contract, err := proto.MarshalOptions{Deterministic: true}.Marshal(comments.Collect(ordersv1.File_acme_orders_v1_order_service_proto))
	if err != nil {
		t.Fatal(err)
	}
	if h.contract, err = store.PutContract(t.Context(), contract); err != nil {
		t.Fatal(err)
	}
	return h
}

// addressServe serves the registry and connects to it.
func addressServe(t *testing.T, impl *server.Server) *grpc.ClientConn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(impl.Interceptors())
	impl.Attach(s)
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(listener) })
	t.Cleanup(func() { s.Stop(); serving.Wait() })
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// register registers the tenant's orders at an address.
func (h *addressHouse) register(at string) (string, error) {
	ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(h.t.Context(), h.tenant), addressPatience)
	defer cancel()
	r, err := h.client.Register(ctx, &registryv1.RegisterRequest{
		Address: at, Services: []string{addressKey.Service},
		Contract: &registryv1.RegisterRequest_ContractDigest{ContractDigest: h.contract},
	})
	return r.GetInstanceId(), err
}

// forget takes an instance away, and returns when nobody calls it any more.
func (h *addressHouse) forget(instance string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(h.t.Context(), h.tenant), addressPatience)
	defer cancel()
	if _, err := h.client.Deregister(ctx, &registryv1.DeregisterRequest{InstanceId: instance}); err != nil {
		h.t.Fatal(err)
	}
	for len(h.heard.Load().Instances[addressKey]) > 0 {
		select {
		case <-h.changed:
		case <-ctx.Done():
			h.t.Fatal("the instance is still there")
		}
	}
}

// call calls the tenant's orders as the edge does, once the dispatcher has heard of the instance.
func (h *addressHouse) call(instance string) *dispatch.Error {
	h.t.Helper()
	deadline := time.After(addressPatience)
	for {
		known := false
		for _, i := range h.heard.Load().Instances[addressKey] {
			known = known || i.GetInstanceId() == instance
		}
		response, err := h.dispatcher.Call(h.t.Context(), &dispatch.Request{
			Participant: participant.Application("acme-org", "orders-app", "tester"), Service: addressKey,
			FullMethod: ordersv1.OrderService_FindById_FullMethodName, Timeout: addressPatience,
		})
		if err == nil {
			response.Free()
			return nil
		}
		var failure *dispatch.Error
		if !errors.As(err, &failure) {
			h.t.Fatal(err)
		}
		// Until the catalog has the service's rules, the second door refuses.
		if known && !failure.Disagreement {
			return failure
		}
		select {
		case <-h.changed:
		case <-time.After(10 * time.Millisecond):
		case <-deadline:
			h.t.Fatalf("the instance was never called: %v", failure)
		}
	}
}

// addressVictim is what a tenant would like to reach: it counts who connects.
type addressVictim struct {
	port     uint32
	accepted atomic.Int64
}

func newAddressVictim(t *testing.T, at string) *addressVictim {
	t.Helper()
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	v := &addressVictim{port: uint32(netip.MustParseAddrPort(listener.Addr().String()).Port())}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			v.accepted.Add(1)
			_ = conn.Close()
		}
	})
	t.Cleanup(func() { _ = listener.Close(); accepting.Wait() })
	return v
}

// A tenant registers nothing but public addresses, however it spells the others, also where its operator listed wide
// ranges for it.
func TestRegister_refusesWhatATenantMustNotReach(t *testing.T) {
	for name, entries := range map[string][]*configv1.ZoneAddresses{
		"no entry": nil,
		"a wide entry": {
			{Zone: addressKey.Zone, Ranges: []string{"0.0.0.0/0", "::/0", "10.0.0.0/8", "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newAddressHouse(t, entries...)
			refused := func(at string) {
				t.Helper()
				_, err := h.register(at)
				if code := status.Code(err); code != codes.PermissionDenied && code != codes.InvalidArgument {
					t.Errorf("%q: %v", at, err)
				}
			}
			for _, port := range []string{"443", h.etcdPort} {
				for _, host := range []string{"127.0.0.1", "127.8.9.10", "[::1]", "[::ffff:127.0.0.1]", "localhost", "0.0.0.0", "[64:ff9b::7f00:1]"} {
					refused(host + ":" + port)
				}
			}
			for _, host := range []string{
				// Loopback, in other spellings.
				"[0:0:0:0:0:0:0:1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
				"LOCALHOST", "localhost.", "orders.localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback",
				"2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "127.1", "127.0.1", "0x7f.1", "127.0.0.1.", "127.0.0.0x1",
				// What dials loopback on most systems.
				"0", "[::]", "",
				// Link-local, and the metadata services of clouds.
				"169.254.1.1", "[fe80::1]", "[fe80::1%25eth0]", "[fe80::1%eth0]",
				"169.254.169.254", "[::ffff:169.254.169.254]", "[::ffff:a9fe:a9fe]", "[::169.254.169.254]", "[::ffff:0:a9fe:a9fe]",
				"[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a9fe:a9fe]", "[64:ff9b:1:a9fe:a9:fe00::]", "[2002:a9fe:a9fe::1]", "[2001:0:1::5601:5601]",
				"[2600::5efe:a9fe:a9fe]", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "169.254.169.254.",
				"[fd00:ec2::254]", "[fd00:0ec2:0000::0254]", "[fd00:ec2::23]", "[fd20:ce::254]", "169.254.170.2", "169.254.170.23",
				"100.100.100.200", "168.63.129.16", "192.0.0.192", "[64:ff9b::100.100.100.200]",
				"metadata", "metadata.google.internal", "Metadata.Google.Internal.", "instance-data", "metadata.azure.internal",
				// What is no host.
				"224.0.0.1", "255.255.255.255", "[ff02::1]", "127。0。0。1", "①②⑦.0.0.1", "%31%32%37.0.0.1", "127.0.0.1%00.example.com",
				"http://127.0.0.1", "a@127.0.0.1", "127.0.0.1#.example.com", "example.com:80@127.0.0.1", "-", "..", "[", "[]",
			} {
				refused(host + ":443")
			}
			for _, whole := range []string{"unix:/run/etcd.sock", "unix:///run/etcd.sock", "dns:///localhost:443", "passthrough:///127.0.0.1:443",
				"vsock:2:443", "127.0.0.1", "[::1]", "::1:443", "127.0.0.1:443:443", "127.0.0.1:0x1bb", "8.8.8.8:0", "8.8.8.8:443/../", " 8.8.8.8:443"} {
				refused(whole)
			}
			if found := h.heard.Load().Instances[addressKey]; len(found) != 0 {
				t.Errorf("registered all the same: %v", found)
			}
		})
	}
}

// A name is judged by where it leads at each dial: what it led to at the registration, or at an earlier dial, counts for
// nothing.
func TestDial_refusesANameThatLeadsWhereTheTenantMustNot(t *testing.T) {
	const name = "orders.acme.example"
	h := newAddressHouse(t)
	victim := newAddressVictim(t, "127.0.0.1:0")
	for _, row := range []struct {
		what, ip string
		// etcd registers at the port of etcd, which listens on loopback.
		etcd bool
		why  string
	}{
		{"loopback", "127.0.0.1", false, "loopback"},
		{"IPv6 loopback", "::1", false, "loopback"},
		{"loopback, mapped", "::ffff:127.0.0.1", false, "loopback"},
		{"every address", "0.0.0.0", false, "nothing admits"},
		{"every IPv6 address", "::", false, "nothing admits"},
		{"metadata", "169.254.169.254", false, "metadata"},
		{"metadata, mapped", "::ffff:169.254.169.254", false, "metadata"},
		{"metadata of IPv6", "fd00:ec2::254", false, "metadata"},
		{"metadata behind NAT64", "64:ff9b::a9fe:a9fe", false, "metadata"},
		{"metadata behind ISATAP", "2600::5efe:a9fe:a9fe", false, "metadata"},
		{"link-local with a scope", "fe80::1%lo", false, "scope"},
		{"a private address", "10.0.0.1", false, "private"},
		{"etcd", "127.0.0.1", true, "etcd"},
		{"etcd by another loopback address", "127.9.9.9", true, "etcd"},
	} {
		t.Run(row.what, func(t *testing.T) {
			port := strconv.Itoa(int(victim.port))
			if row.etcd {
				port = h.etcdPort
			}
			h.point(name, "8.8.8.8") // public while it is registered, which asks nobody
			instance, err := h.register(name + ":" + port)
			if err != nil {
				t.Fatal(err)
			}
			defer h.forget(instance)
			h.point(name, row.ip)
			failure := h.call(instance)
			if failure == nil || failure.Code != codes.Unavailable || failure.Executed != dispatch.ExecutedNo {
				t.Errorf("the call came to %+v", failure)
			}
			if log := h.logged(); !strings.Contains(log, "is not dialled") || !strings.Contains(log, row.why) {
				t.Errorf("the log does not say %q:\n%s", row.why, log)
			}
			if victim.accepted.Load() != 0 {
				t.Error("it was dialled")
			}
		})
	}
}

// A name that leads to an allowed address, and elsewhere when the connection is made anew.
func TestDial_refusesANameThatIsBoundAnew(t *testing.T) {
	const name = "orders.acme.example"
	victim := newAddressVictim(t, "127.0.0.1:0")
	allowed, err := net.Listen("tcp", net.JoinHostPort("127.0.0.2", strconv.Itoa(int(victim.port))))
	if err != nil {
		t.Skipf("SKIP: this machine has one loopback address: %v", err)
	}
	s := grpc.NewServer()
	ordersv1.RegisterOrderServiceServer(s, ordersv1.UnimplementedOrderServiceServer{})
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(allowed) })
	t.Cleanup(func() { s.Stop(); serving.Wait() })

	h := newAddressHouse(t, &configv1.ZoneAddresses{
		Zone: addressKey.Zone, Ranges: []string{"127.0.0.2/32"}, Names: []string{name}, Ports: []uint32{victim.port},
	})
	h.point(name, "127.0.0.2")
	instance, err := h.register(name + ":" + strconv.Itoa(int(victim.port)))
	if err != nil {
		t.Fatal(err)
	}
	if failure := h.call(instance); failure == nil || failure.Code != codes.Unimplemented {
		t.Fatalf("the allowed address answered %v", failure)
	}
	h.point(name, "127.0.0.1", "::1", "169.254.169.254")
	s.Stop() // the next call connects anew
	if failure := h.call(instance); failure == nil || failure.Executed == "" {
		t.Errorf("the call came to %+v", failure)
	}
	if failure := h.call(instance); failure == nil || failure.Code != codes.Unavailable {
		t.Errorf("the call after it came to %+v", failure)
	}
	if victim.accepted.Load() != 0 {
		t.Error("the name led to an address that the zone may not reach")
	}
}
