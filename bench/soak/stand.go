package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/sallyport-dev/sallyport/bench/process"
)

// machine is a machine's credentials.
type machine struct{ id, secret string }

// fields are the headers that name it.
func (m machine) fields() []field { return []field{{"clientId", m.id}, {"clientSecret", m.secret}} }

// stand is what runs: registry with its etcd, edge, and instances of services, each a process of its own.
type stand struct {
	dir            string
	registry, edge *process.Process
	registryConfig string
	log            *edgeLog
	address        string // the edge's, host:port
	instances      []*instance
	// system sees every tool, application those of one zone.
	system, application machine
}

// The zones of the two services.
const (
	ordersZone = "app.acme-org.orders-app"
	soakZone   = "app.bench-org.bench-app"
)

// perService is how many instances of each service run.
const perService = 2

// startStand builds the programs and starts them. The working directory must be in the module. Whoever has a stand
// closes it.
func startStand(ctx context.Context, dir string) (_ *stand, err error) {
	if err := process.Build(ctx, dir, process.Module+"/cmd/edge", process.Module+"/cmd/registry",
		process.Module+"/services/orders/cmd/orders", process.Module+"/bench/target/soaked"); err != nil {
		return nil, err
	}
	s := &stand{dir: dir, log: newEdgeLog()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	ports, err := freePorts(2 * perService)
	if err != nil {
		return nil, err
	}
	addresses := fmt.Sprintf("addresses:\n"+
		"- {zone: %s, ranges: [\"127.0.0.0/8\"], ports: [%s]}\n- {zone: %s, ranges: [\"127.0.0.0/8\"], ports: [%s]}\n",
		ordersZone, strings.Join(ports[:perService], ","), soakZone, strings.Join(ports[perService:], ","))
	etcd, registry, err := s.startRegistry(ctx, addresses)
	if err != nil {
		return nil, err
	}
	if err := s.startServices(ctx, registry, ports); err != nil {
		return nil, err
	}
	if s.system, err = s.machine(ctx, "soak-system", "client", "--system"); err != nil {
		return nil, err
	}
	if s.application, err = s.machine(ctx, "soak-shop", "client", "--organization", "acme-org", "--application", "orders-app"); err != nil {
		return nil, err
	}
	return s, s.startEdge(ctx, etcd, addresses)
}

// freePorts gives ports of loopback that are free, below those that systems hand out by themselves, so that nothing
// else takes one while its instance is restarted.
func freePorts(n int) ([]string, error) {
	var ports []string
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	var errs []error
	for tries := 0; len(ports) < n; tries++ {
		if tries == 1000 {
			return nil, fmt.Errorf("no free ports: %w", errors.Join(errs[:5]...))
		}
		port := strconv.Itoa(20_000 + rand.IntN(12_000))
		l, err := net.Listen("tcp", "127.0.0.1:"+port)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		listeners, ports = append(listeners, l), append(ports, port)
	}
	return ports, nil
}

func (s *stand) write(name, text string) (path string, err error) {
	path = filepath.Join(s.dir, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

func (s *stand) startRegistry(ctx context.Context, addresses string) (etcd, grpc string, err error) {
	s.registryConfig, err = s.write("registry.yaml", fmt.Sprintf(
		"embedded: {data_dir: %q}\ngrpc_listen: \"127.0.0.1:0\"\ndefault_ttl: 2s\nlog_level: LOG_LEVEL_INFO\n%s",
		filepath.Join(s.dir, "etcd"), addresses))
	if err != nil {
		return "", "", err
	}
	s.registry, err = process.Launch(filepath.Join(s.dir, "registry"), process.Options{Dir: s.dir, BySignal: true},
		"serve", "--config", s.registryConfig)
	if err != nil {
		return "", "", err
	}
	var at struct {
		GRPC string
		Etcd []string
	}
	if err := s.registry.Await(ctx, map[string]any{"registry is ready": &at}); err != nil {
		return "", "", err
	}
	return at.Etcd[0], at.GRPC, nil
}

// machine creates a machine with the registry's command.
func (s *stand) machine(ctx context.Context, id, kind string, of ...string) (machine, error) {
	args := append([]string{"machine", "create", id, "--config", s.registryConfig, "-o", "json", "--kind", kind}, of...)
	cmd := exec.CommandContext(ctx, filepath.Join(s.dir, "registry"), args...)
	cmd.Stderr = new(strings.Builder)
	out, err := cmd.Output()
	if err != nil {
		return machine{}, fmt.Errorf("registry machine create %s: %w\n%s", id, err, cmd.Stderr)
	}
	var said struct{ Secret string }
	if err := json.Unmarshal(out, &said); err != nil {
		return machine{}, fmt.Errorf("registry machine create %s printed %q: %w", id, out, err)
	}
	return machine{id, said.Secret}, nil
}

func (s *stand) startServices(ctx context.Context, registry string, ports []string) error {
	for i, service := range []struct{ name, organization string }{{"orders", "acme-org"}, {"soaked", "bench-org"}} {
		host, err := s.machine(ctx, service.name+"-host", "host", "--organization", service.organization)
		if err != nil {
			return err
		}
		for n := range perService {
			name := fmt.Sprintf("%s-%d", service.name, n+1)
			data := filepath.Join(s.dir, name+".db")
			in := &instance{
				name: name, binary: filepath.Join(s.dir, service.name), dir: s.dir, data: data,
				env: []string{
					"SALLYPORT_REGISTRY=" + registry, "SALLYPORT_CLIENT_ID=" + host.id, "SALLYPORT_CLIENT_SECRET=" + host.secret,
					"SALLYPORT_LISTEN=127.0.0.1:" + ports[i*perService+n], "ORDERS_DATA=" + data,
				},
			}
			err := in.start(ctx)
			if in.p != nil {
				s.instances = append(s.instances, in)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// startEdge starts the edge with small pages, so that a list has several, and quick progress. GOGC=100 is Go's own
// value; set, it keeps the edge from reserving 64 MiB of headroom for its collector, beside which nobody would see
// memory grow by a tenth.
func (s *stand) startEdge(ctx context.Context, etcd, addresses string) error {
	config, err := s.write("edge.yaml", fmt.Sprintf(
		"etcd: {endpoints: [%q]}\nlistener: {address: \"127.0.0.1:0\"}\npage_size: 3\nprogress_interval: 0.02s\ntrusted_proxies: [\"127.0.0.0/8\"]\n%s", etcd, addresses))
	if err != nil {
		return err
	}
	s.edge, err = process.Launch(filepath.Join(s.dir, "edge"), process.Options{
		Dir: s.dir, BySignal: true, Env: []string{"GOGC=100"}, Keep: s.log.keep,
	}, "serve", "--config", config)
	if err != nil {
		return err
	}
	var at struct{ Address string }
	if err := s.edge.Await(ctx, map[string]any{"edge listens": &at, "edge is ready": nil}); err != nil {
		return err
	}
	s.address = at.Address
	return nil
}

// dump ends the edge with a dump of all goroutines, and gives the file that it is in.
func (s *stand) dump() string {
	edge := s.edge
	s.edge = nil
	edge.Signal(syscall.SIGQUIT)
	return edge.Log()
}

// close ends every process: the services first, which say farewell to the registry.
func (s *stand) close() error {
	var errs []error
	for _, in := range s.instances {
		errs = append(errs, in.p.Stop())
	}
	if s.edge != nil {
		errs = append(errs, s.edge.Stop())
	}
	if s.registry != nil {
		errs = append(errs, s.registry.Stop())
	}
	return errors.Join(errs...)
}
