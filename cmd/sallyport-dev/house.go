package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/embedded"
	"github.com/sallyport-dev/sallyport/internal/registry/server"
	"github.com/sallyport-dev/sallyport/service"
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
	orders, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	projects, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, orders.Close())
	}
	// The registry names its own port as one that edges may dial, so a free one is picked before it starts.
	grpc, err := pick(h.flags.registryGRPC)
	if err != nil {
		return errors.Join(err, orders.Close(), projects.Close())
	}
	addresses := h.addresses(grpc, orders, projects)
	etcd, err := h.startRegistry(ctx, grpc, addresses)
	if err != nil {
		return errors.Join(err, orders.Close(), projects.Close())
	}
	if err := ensureMachines(ctx, registry.NewStore(etcd, ""), h.description); err != nil {
		return errors.Join(fmt.Errorf("create machines: %w", err), orders.Close(), projects.Close())
	}
	if err := h.startServices(ctx, orders, projects); err != nil {
		return err
	}
	return h.startEdge(ctx, addresses)
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
		loopback(projectsZone, portOf(projects.Addr().String())),
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

// startEdge serves the edge and waits until it shows the demo services' tools.
func (h *house) startEdge(ctx context.Context, addresses []*configv1.ZoneAddresses) error {
	endpoint, err := embedded.Running(h.dataDir())
	if err != nil {
		return err
	}
	client, err := embedded.Connect(endpoint)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", h.flags.listen)
	if err != nil {
		return errors.Join(err, client.Close())
	}
	url := "http://" + listener.Addr().String()
	e, err := edge.New(ctx, edge.WithEtcd(client, ""), edge.WithLogger(h.logger), edge.WithConfig(&configv1.EdgeConfig{
		Etcd:      &configv1.EtcdClient{Endpoints: []string{endpoint}},
		Listener:  &configv1.HttpListener{Address: listener.Addr().String()},
		PageSize:  h.flags.pageSize,
		BaseUrl:   url,
		Addresses: addresses,
	}))
	if err != nil {
		return errors.Join(err, listener.Close(), client.Close())
	}
	web := &http.Server{Handler: e, ReadHeaderTimeout: 10 * time.Second}
	h.add("edge", func(ctx context.Context) error {
		served := make(chan error, 1)
		go func() { served <- web.Serve(listener) }()
		var failure error
		select {
		case <-ctx.Done():
			farewell, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			failure = web.Shutdown(farewell)
			<-served
		case failure = <-served:
		}
		return errors.Join(failure, e.Close(), client.Close())
	})
	h.description.MCPURL = url + "/mcp"
	return h.awaitTools(ctx)
}

// startServices runs the demo services and waits until each is registered.
func (h *house) startServices(ctx context.Context, orders, projects net.Listener) error {
	registered := make(chan struct{}, 2)
	common := func(l net.Listener, host machine) []service.Option {
		var once bool
		return []service.Option{
			service.Registry(h.description.RegistryGRPCAddr),
			service.Credentials(host.ClientID, host.ClientSecret),
			service.Listener(l),
			service.Logger(h.logger),
			service.NoSignals(),
			service.OnRegister(func(service.Registration) {
				if !once {
					once = true
					registered <- struct{}{}
				}
			}),
		}
	}
	h.add("services",
		func(ctx context.Context) error {
			return runOrders(ctx, filepath.Join(h.flags.dir, "orders.db"), common(orders, h.description.Hosts.Organization)...)
		},
		func(ctx context.Context) error {
			return runProjects(ctx, filepath.Join(h.flags.dir, "projects.db"), common(projects, h.description.Hosts.Platform)...)
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
			return errors.New("the demo services could not register within a minute; start again with --verbose to see why")
		}
	}
	return nil
}

func (h *house) dataDir() string { return filepath.Join(h.flags.dir, "etcd") }
