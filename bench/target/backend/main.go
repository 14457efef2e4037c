// Command backend is everything that stands behind the targets: etcd and registry, the benchmark service as a service
// team runs it (registered, verifying assertions, judging requests), the same service without any of that for targets
// that know no registry, and a registration of a thousand tools to list.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/sallyport-dev/sallyport/bench/target/kit"
	"github.com/sallyport-dev/sallyport/bench/workload"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/embedded"
	"github.com/sallyport-dev/sallyport/internal/registry/server"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/service"
)

// Ready is what the command says when all of it runs.
type Ready struct {
	// Etcd is the endpoint of the registry's etcd.
	Etcd string `json:"etcd"`
	// Port is the port of the registered service, which the edge may dial in the zone.
	Port uint32 `json:"port"`
	// OpenPort is that of the same service without access rules, in the zone that anybody reaches.
	OpenPort uint32 `json:"open_port"`
	// Plain is the address of the service without registry and assertions.
	Plain string `json:"plain"`
	// ClientID and ClientSecret are the credentials of the application that calls.
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

const (
	hostMachine   = "bench-host"
	clientMachine = "bench-client"
	// lease is the longest that the registry grants: nothing but the calls is to keep the machine busy.
	lease = 300 * time.Second
)

func main() {
	dir := flag.String("dir", "", "empty folder for the data")
	flag.Parse()
	logger := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	kit.Main("backend", func() error {
		b := &backend{dir: *dir, logger: logger, registry: newFloor(), services: newFloor()}
		err := b.start()
		if err == nil {
			err = errors.Join(kit.Say(b.ready), kit.Commands(nil))
		}
		return errors.Join(err, b.services.stop(), b.registry.stop())
	})
}

type backend struct {
	dir    string
	logger *slog.Logger
	// The services say farewell to the registry, which therefore ends after them.
	registry, services *floor
	ready              Ready
}

// floor is what runs and ends together.
type floor struct {
	*errgroup.Group
	ctx context.Context
	end context.CancelFunc
}

func newFloor() *floor {
	ctx, end := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	return &floor{group, ctx, end}
}

func (f *floor) stop() error {
	f.end()
	return f.Wait()
}

func (b *backend) start() error {
	l, err := listen(&b.ready.Port)
	if err != nil {
		return err
	}
	open, err := listen(&b.ready.OpenPort)
	if err != nil {
		return err
	}
	grpcAddress, err := b.startRegistry()
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	secret, err := b.machines()
	if err != nil {
		return fmt.Errorf("machines: %w", err)
	}
	if err := b.startService(l, grpcAddress, secret, service.Zone(workload.Zone)); err != nil {
		return fmt.Errorf("service: %w", err)
	}
	err = b.startService(open, grpcAddress, secret, service.Zone(workload.OpenZone), service.Expose(workload.FullMethod,
		service.Name(workload.OpenAlias), service.ReadOnly(), service.Idempotent(),
		service.Tool(&toolv1.Tool{Access: &toolv1.Access{Mode: toolv1.AccessMode_ACCESS_MODE_PERMIT_ALL}})))
	if err != nil {
		return fmt.Errorf("service without rules: %w", err)
	}
	if err := b.startPlain(); err != nil {
		return fmt.Errorf("plain service: %w", err)
	}
	if err := b.registerListing(grpcAddress, secret, l.Addr().String()); err != nil {
		return fmt.Errorf("register the tools to list: %w", err)
	}
	return nil
}

// listen gives a listener on a free port, and the port.
func listen(port *uint32) (net.Listener, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, text, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(text, 10, 16)
	*port = uint32(n)
	return l, err
}

// wait gives what arrives from a floor, or why nothing will.
func wait[T any](f *floor, from <-chan T) (T, error) {
	select {
	case v := <-from:
		return v, nil
	case <-f.ctx.Done():
		var none T
		return none, errors.Join(context.Cause(f.ctx), f.Wait())
	}
}

func (b *backend) startRegistry() (address string, err error) {
	ready := make(chan server.Addresses, 1)
	cfg := &configv1.RegistryConfig{
		Store:      &configv1.RegistryConfig_Embedded{Embedded: &configv1.EmbeddedEtcd{DataDir: b.dir}},
		GrpcListen: "127.0.0.1:0",
		Addresses: []*configv1.ZoneAddresses{
			{Zone: workload.Zone, Ranges: []string{"127.0.0.0/8"}, Ports: []uint32{b.ready.Port}},
			{Zone: workload.OpenZone, Ranges: []string{"127.0.0.0/8"}, Ports: []uint32{b.ready.OpenPort}},
		},
	}
	b.registry.Go(func() error {
		return server.Run(b.registry.ctx, cfg, b.logger, func(a server.Addresses) { ready <- a })
	})
	addresses, err := wait(b.registry, ready)
	if err != nil {
		return "", err
	}
	b.ready.Etcd = addresses.Etcd[0]
	return addresses.GRPC, nil
}

// machines creates the two machines, and gives the host's secret.
func (b *backend) machines() (string, error) {
	client, err := embedded.Connect(b.ready.Etcd)
	if err != nil {
		return "", err
	}
	defer client.Close()
	store := registry.NewStore(client, "")
	host, err := store.CreateMachine(b.registry.ctx, registryv1.MachineKind_MACHINE_KIND_HOST,
		participant.Organization(workload.Organization, hostMachine), hostMachine)
	if err != nil {
		return "", err
	}
	_, err = store.CreateRole(b.registry.ctx, &identityv1.StoredRole{
		OrganizationId: workload.Organization, Name: workload.Role, Actions: []string{workload.Action},
	})
	if err != nil {
		return "", err
	}
	caller := participant.Application(workload.Organization, workload.Application, clientMachine)
	caller.Roles = []string{workload.Organization + "/" + workload.Role}
	b.ready.ClientID = clientMachine
	b.ready.ClientSecret, err = store.CreateMachine(b.registry.ctx, registryv1.MachineKind_MACHINE_KIND_CLIENT, caller, clientMachine)
	return host, err
}

func (b *backend) startService(l net.Listener, registryAddress, secret string, options ...service.Option) error {
	registered := make(chan struct{}, 16)
	options = append(options, service.Registry(registryAddress), service.Credentials(hostMachine, secret), service.Listener(l),
		service.TTL(lease), service.NoSignals(), service.Logger(b.logger), service.DrainTimeout(time.Second),
		service.OnRegister(func(service.Registration) { registered <- struct{}{} }))
	b.services.Go(func() error { return service.Run(b.services.ctx, workload.Register, options...) })
	_, err := wait(b.services, registered)
	return err
}

func (b *backend) startPlain() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	workload.Register(s)
	b.services.Go(func() error { return s.Serve(l) })
	b.services.Go(func() error {
		<-b.services.ctx.Done()
		s.Stop()
		return nil
	})
	b.ready.Plain = l.Addr().String()
	return nil
}

// registerListing registers the tools that are only listed, as another process of the service's host would.
func (b *backend) registerListing(registryAddress, secret, address string) error {
	conn, err := grpc.NewClient(registryAddress, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	client := registryv1.NewRegistryServiceClient(conn)
	ctx := metadata.AppendToOutgoingContext(b.services.ctx, "clientid", hostMachine, "clientsecret", secret)
	set, services := workload.Listing()
	registered, err := client.Register(ctx, &registryv1.RegisterRequest{
		Contract: &registryv1.RegisterRequest_Descriptors{Descriptors: set}, Services: services, Address: address,
		Ttl: durationpb.New(lease),
	})
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	if n := len(registered.GetTools()); n != workload.ListedTools {
		return errors.Join(fmt.Errorf("%d tools are registered, want %d", n, workload.ListedTools), conn.Close())
	}
	b.services.Go(func() error {
		defer conn.Close()
		tick := time.NewTicker(lease / 5)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if _, err := client.KeepAlive(ctx, &registryv1.KeepAliveRequest{InstanceId: registered.GetInstanceId()}); err != nil {
					return err
				}
			case <-b.services.ctx.Done():
				return nil
			}
		}
	})
	return nil
}
