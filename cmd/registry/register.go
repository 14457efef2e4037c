package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

func newRegister() *cobra.Command {
	var conn connection
	var set, targetCA string
	var services, expose []string
	var ttl time.Duration
	req := new(registryv1.RegisterRequest)
	c := &cobra.Command{
		Use:   "register --descriptor-set FILE --address HOST:PORT [--zone ZONE] (--expose FUNCTION | --service SERVICE)...",
		Short: "Register a service that cannot call the registry, and keep it registered while it lives",
		Long: "Registers the services of one process from their descriptors, and stays in the foreground. The registration is renewed\n" +
			"while the process answers its gRPC health check with SERVING; a process without a health service counts as alive\n" +
			"while it answers at all. On SIGTERM the process is deregistered.",
		Example: "  registry register --descriptor-set etcd.binpb --address etcd.internal.example:2379 --zone system-api \\\n" +
			"    --expose etcdserverpb.Maintenance/Status --expose etcdserverpb.KV/Range",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := readServices(req, set, services, expose); err != nil {
				return err
			}
			if ttl != 0 {
				req.Ttl = durationpb.New(ttl)
			}
			client, done, err := conn.registry()
			if err != nil {
				return err
			}
			defer done()
			target, err := dialTarget(req.GetAddress(), req.GetTlsServerName(), targetCA)
			if err != nil {
				return err
			}
			defer target.Close()
			k := &keeper{client: client, target: target, req: req,
				say: func(format string, args ...any) { fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...) }}
			return k.run(cmd.Context())
		},
	}
	conn.flags(c)
	f := c.Flags()
	f.StringVar(&set, "descriptor-set", "", "file with a FileDescriptorSet of the services and all that they import, such as buf build writes")
	f.StringVar(&req.Address, "address", "", "where edges reach the process, host:port")
	f.StringVar(&req.Zone, "zone", "", "zone of those services whose proto names none; empty is un-zoned")
	f.StringArrayVar(&expose, "expose", nil, "an RPC to publish, pkg.Service/Method, or a whole service, pkg.Service; may be repeated")
	f.StringArrayVar(&services, "service", nil, "a service to register for what its proto exposes, pkg.Service; may be repeated")
	f.StringVar(&req.TlsServerName, "tls-server-name", "", "the name in the process's certificate; empty is a process without TLS")
	f.StringVar(&targetCA, "target-ca-file", "", "PEM file of the authorities that the process's certificate is from, for its health check")
	f.StringVar(&req.Locality, "locality", "", "where the process runs")
	f.StringVar(&req.BuildVersion, "build-version", "", "which build runs")
	f.Uint32Var(&req.Weight, "weight", 0, "the process's share of calls among its peers")
	f.DurationVar(&ttl, "ttl", 0, "how long the registration outlives a process that stopped answering; the registry's default where 0")
	for _, name := range []string{"descriptor-set", "address"} {
		_ = c.MarkFlagRequired(name)
	}
	_ = c.MarkFlagFilename("descriptor-set")
	return c
}

// readServices fills in the contract and what of it is registered.
func readServices(req *registryv1.RegisterRequest, file string, services, expose []string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("--descriptor-set: %w", err)
	}
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(raw, set); err != nil || len(set.GetFile()) == 0 {
		return fmt.Errorf("--descriptor-set: %s holds no serialised google.protobuf.FileDescriptorSet: make one with buf build or protoc --include_imports", file)
	}
	req.Contract = &registryv1.RegisterRequest_Descriptors{Descriptors: set}
	req.Services = slices.Clone(services)
	for _, function := range expose {
		function = strings.TrimPrefix(function, "/")
		service, _, _ := strings.Cut(function, "/")
		req.Services = append(req.Services, service)
		req.Overlays = append(req.Overlays, &registryv1.Overlay{Function: function})
	}
	slices.Sort(req.Services)
	req.Services = slices.Compact(req.Services)
	if len(req.Services) == 0 {
		return errors.New("nothing to register: name RPCs by --expose, or services whose proto exposes them by --service")
	}
	return nil
}

// dialTarget connects to the process for its health check. Nothing is sent before the first one.
func dialTarget(address, serverName, caFile string) (*grpc.ClientConn, error) {
	security := insecure.NewCredentials()
	if serverName != "" {
		t, err := clientTLS(caFile, serverName)
		if err != nil {
			return nil, err
		}
		security = credentials.NewTLS(t)
	} else if caFile != "" {
		return nil, errors.New("--target-ca-file needs --tls-server-name, which says that the process serves with TLS")
	}
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(security),
		grpc.WithConnectParams(reconnect))
	if err != nil {
		return nil, fmt.Errorf("--address: %w", err)
	}
	return conn, nil
}

// keeper keeps one process registered.
type keeper struct {
	client registryv1.RegistryServiceClient
	target *grpc.ClientConn
	req    *registryv1.RegisterRequest
	say    func(format string, args ...any)

	ttl time.Duration // 0: not registered
}

// run registers, and renews while the process lives, until the context ends. What the registry refuses is an error;
// that it cannot be reached is not, since it may come back.
func (k *keeper) run(ctx context.Context) error {
	defer k.farewell(ctx)
	const again = time.Second
	first, wasAlive := true, true
	for ctx.Err() == nil {
		wait := again
		// The first registration does not wait for the process: what the registry refuses is to be known at once.
		alive := first || k.alive(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if alive != wasAlive {
			wasAlive = alive
			if alive {
				k.say("%s answers again", k.req.GetAddress())
			} else {
				k.say("%s does not answer its health check; the registration is not renewed", k.req.GetAddress())
			}
		}
		if alive {
			if err := k.renew(ctx); err != nil {
				return err
			}
			if first && k.ttl > 0 {
				if first = false; !k.alive(ctx) {
					k.farewell(ctx)
					continue
				}
			}
		}
		if k.ttl > 0 {
			wait = k.ttl / 3
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
	return nil
}
