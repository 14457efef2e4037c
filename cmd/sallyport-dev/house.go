package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/embedded"
	"github.com/sallyport-dev/sallyport/internal/registry/server"
	"github.com/sallyport-dev/sallyport/service"
	"github.com/sallyport-dev/sallyport/services/orders"
	"github.com/sallyport-dev/sallyport/services/projects"
)

// run starts the house floor by floor (etcd and registry, services, edge), says that it is ready, and stops it in the
// opposite order when the context ends. The first part that fails brings the others down.
func run(ctx context.Context, f flags, logger *slog.Logger, out io.Writer) error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	d, err := readDescription(f.dir)
	if err != nil {
		return err
	}
	h := &house{flags: f, logger: logger, description: d}
	defer h.stop()
	if err := h.start(ctx); err != nil {
		return err
	}
	if err := d.write(f.dir); err != nil {
		return err
	}
	welcome(out, f.dir, d)
	select {
	case <-ctx.Done():
		_, _ = fmt.Fprintln(out, "Stopping.")
		return nil
	case err := <-h.failed:
		return err
	}
}

// house is what runs. Its floors are stopped from the top down.
type house struct {
	flags       flags
	logger      *slog.Logger
	description *description
	failed      chan error
	floors      []*floor
	etcd        string // the endpoint of the registry's etcd
}

// floor is a part of the house with a life of its own.
type floor struct {
	cancel context.CancelFunc
	group  *errgroup.Group
}

// add runs the parts of a new floor. They end when the floor is stopped, or by failing, which fails the house.
func (h *house) add(name string, parts ...func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	for _, part := range parts {
		group.Go(func() error {
			err := part(ctx)
			if err != nil && ctx.Err() == nil {
				select {
				case h.failed <- fmt.Errorf("%s: %w", name, err):
				default:
				}
			}
			return err
		})
	}
	h.floors = append(h.floors, &floor{cancel: cancel, group: group})
}

func (h *house) stop() {
	for i := len(h.floors) - 1; i >= 0; i-- {
		h.floors[i].cancel()
		if err := h.floors[i].group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			h.logger.Warn("stopping", "error", err)
		}
	}
}

func (h *house) start(ctx context.Context) error {
	h.failed = make(chan error, 1)
	// The services' listeners are opened first, since the registry must be told which loopback ports are theirs.
	ordersListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	projectsListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, ordersListener.Close())
	}
	// The registry names its own port as one that edges may dial, so a free one is picked before it starts.
	grpc, err := pick(h.flags.registryGRPC)
	if err != nil {
		return errors.Join(err, ordersListener.Close(), projectsListener.Close())
	}
	addresses := h.addresses(grpc, ordersListener, projectsListener)
	etcd, err := h.startRegistry(ctx, grpc, addresses)
	if err != nil {
		return errors.Join(err, ordersListener.Close(), projectsListener.Close())
	}
	if err := ensureIdentities(ctx, registry.NewStore(etcd, ""), h.description); err != nil {
		return errors.Join(fmt.Errorf("create identities: %w", err), ordersListener.Close(), projectsListener.Close())
	}
	if err := h.startServices(ctx, ordersListener, projectsListener); err != nil {
		return err
	}
	return h.startEdge(ctx, etcd, addresses)
}

// pick turns port 0 into a free port.
func pick(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("%q is not host:port: %w", address, err)
	}
	if port != "0" {
		return address, nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// addresses lists the loopback ports of this process, zone by zone, and those that the user allows.
func (h *house) addresses(grpc string, orders, projects net.Listener) []*configv1.ZoneAddresses {
	loopback := func(zone string, ports ...uint32) *configv1.ZoneAddresses {
		return &configv1.ZoneAddresses{Zone: zone, Ranges: []string{"127.0.0.0/8", "::1/128"}, Ports: ports}
	}
	own := append([]uint32{portOf(orders.Addr().String())}, convert(h.flags.allowPorts)...)
	return []*configv1.ZoneAddresses{
		loopback("system-api", portOf(grpc)),
		loopback(projectsZone, portOf(projects.Addr().String()), portOf(grpc)), // and the registry's identity service
		loopback(ordersZone, own...),
	}
}

func convert(ports []uint) []uint32 {
	out := make([]uint32, len(ports))
	for i, p := range ports {
		out[i] = uint32(p)
	}
	return out
}

func portOf(address string) uint32 {
	_, port, _ := net.SplitHostPort(address)
	n, _ := strconv.ParseUint(port, 10, 16)
	return uint32(n)
}

// startRegistry runs the registry on an etcd of its own, and gives a client of that etcd.
func (h *house) startRegistry(ctx context.Context, grpc string, addresses []*configv1.ZoneAddresses) (*clientv3.Client, error) {
	cfg := &configv1.RegistryConfig{
		Store:      &configv1.RegistryConfig_Embedded{Embedded: &configv1.EmbeddedEtcd{DataDir: h.dataDir()}},
		GrpcListen: grpc,
		RestListen: h.flags.registryREST,
		Addresses:  addresses,
		Advertise:  grpc,
	}
	ready := make(chan server.Addresses, 1)
	h.add("registry", func(ctx context.Context) error {
		return server.Run(ctx, cfg, h.logger, func(a server.Addresses) { ready <- a })
	})
	select {
	case a := <-ready:
		h.description.RegistryGRPCAddr = a.GRPC
		h.description.RegistryRESTURL = "http://" + a.REST
		h.etcd = a.Etcd[0]
	case err := <-h.failed:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	client, err := embedded.Connect(h.etcd)
	if err != nil {
		return nil, err
	}
	// The client is a floor of its own: it is closed before the etcd that it talks to.
	h.add("etcd client", func(ctx context.Context) error {
		<-ctx.Done()
		return client.Close()
	})
	return client, nil
}

// startServices runs the demo services and waits until each is registered.
func (h *house) startServices(ctx context.Context, orders, projects net.Listener) error {
	registered := make(chan struct{}, 2)
	common := func(l net.Listener, host machine) []service.Option {
		var once sync.Once
		return []service.Option{
			service.Registry(h.description.RegistryGRPCAddr),
			service.Credentials(host.ClientID, host.ClientSecret),
			service.Listener(l),
			service.Logger(h.logger),
			service.NoSignals(),
			service.OnRegister(func(service.Registration) { once.Do(func() { registered <- struct{}{} }) }),
		}
	}
	h.add("demo services",
		func(ctx context.Context) error {
			return runOrders(ctx, filepath.Join(h.flags.dir, "orders.db"), common(orders, h.description.Hosts.Organization))
		},
		func(ctx context.Context) error {
			return runProjects(ctx, filepath.Join(h.flags.dir, "projects.db"), common(projects, h.description.Hosts.Platform))
		},
	)
	for range cap(registered) {
		select {
		case <-registered:
		case err := <-h.failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Minute):
			return errors.New("the demo services could not register within a minute: start again with --verbose to see why")
		}
	}
	return nil
}

func runOrders(ctx context.Context, path string, options []service.Option) error {
	store, err := orders.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(service.Run(ctx, orders.New(store).Register, options...), store.Close())
}

func runProjects(ctx context.Context, path string, options []service.Option) error {
	store, err := projects.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(service.Run(ctx, projects.New(store).Register, options...), store.Close())
}

// startEdge serves the edge and waits until it shows the demo services' tools.
func (h *house) startEdge(ctx context.Context, etcd *clientv3.Client, addresses []*configv1.ZoneAddresses) error {
	listener, err := net.Listen("tcp", h.flags.listen)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	e, err := edge.New(context.WithoutCancel(ctx), edge.WithEtcd(etcd, ""), edge.WithLogger(h.logger), edge.WithConfig(&configv1.EdgeConfig{
		Etcd:      &configv1.EtcdClient{Endpoints: []string{h.etcd}},
		Listener:  &configv1.HttpListener{Address: listener.Addr().String()},
		PageSize:  h.flags.pageSize,
		BaseUrl:   url,
		Addresses: addresses,
		// Tokens for the asking, beside secrets.
		AuthorizationServer: new(configv1.AuthorizationServer),
	}))
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	h.add("edge", func(ctx context.Context) error {
		defer e.Close()
		return edge.Serve(ctx, listener, e, nil, h.logger)
	})
	h.description.MCPURL, h.description.TokenURL = url+"/mcp", url+"/api/auth/oauth/token"
	return h.awaitTools(ctx)
}

func (h *house) dataDir() string { return filepath.Join(h.flags.dir, "etcd") }
