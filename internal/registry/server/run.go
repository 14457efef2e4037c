package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/identity"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/address"
	"github.com/sallyport-dev/sallyport/internal/registry/embedded"
	"github.com/sallyport-dev/sallyport/participant"
)

const (
	// maxMessageBytes bounds a request: a contract of the largest size with room for the rest.
	maxMessageBytes = registry.MaxContractBytes + 1<<20
	// farewell is how long running calls may take when the registry stops.
	farewell = 5 * time.Second
)

// Addresses are where a running registry is reached.
type Addresses struct {
	// GRPC is the address of the gRPC listener, `host:port`.
	GRPC string
	// REST is the address of the REST listener, `host:port`; empty where none is served.
	REST string
	// Etcd are the endpoints of the store. Whoever connects to an embedded one should close its client before the
	// registry stops.
	Etcd []string
}

// Run serves a registry as cfg says until the context ends, then stops it cleanly and returns nil. It waits for etcd as
// long as that takes, and calls ready once, when it serves and is registered itself, if it is to be. Any other end is
// an error: a configuration that cannot work, a listener or an embedded etcd that fails.
func Run(ctx context.Context, cfg *configv1.RegistryConfig, logger *slog.Logger, ready func(Addresses)) error {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	serverTLS, err := checkListeners(cfg)
	if err != nil {
		return err
	}
	db, err := openStore(ctx, cfg, logger)
	if err != nil {
		return err
	}
	defer db.close()
	policy, err := address.New(cfg.GetAddresses(), append(db.addresses, db.endpoints...)...)
	if err != nil {
		return err
	}
	grpcListener, err := net.Listen("tcp", cfg.GetGrpcListen())
	if err != nil {
		return fmt.Errorf("grpc_listen: %w", err)
	}
	defer grpcListener.Close()
	var restListener net.Listener
	if cfg.GetRestListen() != "" {
		if restListener, err = net.Listen("tcp", cfg.GetRestListen()); err != nil {
			return fmt.Errorf("rest_listen: %w", err)
		}
		defer restListener.Close()
	}

	store := registry.NewStore(db.client, db.prefix)
	if err := begin(ctx, store, logger); err != nil {
		return stopped(ctx, err)
	}
	watcher := store.Watch(ctx, registry.WatchOptions{Logger: logger})
	defer watcher.Close()
	select {
	case <-watcher.Ready():
	case <-ctx.Done():
		return nil
	}

	s := New(Options{
		Store: store, Watcher: watcher, Addresses: policy, Logger: logger, DefaultTTL: cfg.GetDefaultTtl().AsDuration(),
		Rules: participant.Rules{OrganizationsReachTheirApplications: cfg.GetOrganizationsReachTheirApplications()},
	})
	p := &process{
		server: s, identities: identity.New(identity.Options{Store: store}), logger: logger, failed: db.failed, tls: serverTLS,
	}
	tending, done := context.WithCancel(ctx)
	var tender sync.WaitGroup
	defer tender.Wait()
	defer done()
	tender.Go(func() { store.TendSigningKeys(tending, cfg.GetKeyRotation().AsDuration(), logger) })
	where := Addresses{GRPC: grpcListener.Addr().String(), Etcd: db.endpoints}
	if restListener != nil {
		where.REST = restListener.Addr().String()
	}
	return p.serve(ctx, grpcListener, restListener, cfg.GetAdvertise(), func() {
		logger.Info("registry is ready", "grpc", where.GRPC, "rest", where.REST, "etcd", where.Etcd)
		if ready != nil {
			ready(where)
		}
	})
}

// stopped is nil if the context ended: that is how a registry stops.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// checkListeners refuses to serve in the clear where others can listen, and reads the certificate.
func checkListeners(cfg *configv1.RegistryConfig) (*tls.Config, error) {
	if cfg.GetTls() != nil {
		pair, err := tls.LoadX509KeyPair(cfg.GetTls().GetCertFile(), cfg.GetTls().GetKeyFile())
		if err != nil {
			return nil, fmt.Errorf("tls: %w", err)
		}
		return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}, nil
	}
	if cfg.GetAllowPlaintext() {
		return nil, nil
	}
	for _, l := range []struct{ field, address string }{{"grpc_listen", cfg.GetGrpcListen()}, {"rest_listen", cfg.GetRestListen()}} {
		if l.address == "" {
			continue
		}
		host, _, err := net.SplitHostPort(l.address)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.field, err)
		}
		ip, err := netip.ParseAddr(host)
		if host != "localhost" && (err != nil || !ip.IsLoopback()) {
			return nil, fmt.Errorf("%s: %s is not on loopback, and machines' secrets would travel in the clear: set tls, or allow_plaintext where something else encrypts", l.field, l.address)
		}
	}
	return nil, nil
}

// database is the etcd that a registry works on.
type database struct {
	client    *clientv3.Client
	prefix    string
	endpoints []string
	addresses []string     // more than the endpoints that nobody may dial
	failed    <-chan error // nil where the etcd is not ours to fail
	close     func()
}

func openStore(ctx context.Context, cfg *configv1.RegistryConfig, logger *slog.Logger) (*database, error) {
	if e := cfg.GetEmbedded(); e != nil {
		etcd, err := embedded.Start(ctx, e, logger)
		if err != nil {
			return nil, err
		}
		return &database{client: etcd.Client(), prefix: e.GetPrefix(), endpoints: []string{etcd.Endpoint()},
			addresses: etcd.Addresses(), failed: etcd.Err(), close: etcd.Close}, nil
	}
	client, err := registry.Dial(cfg.GetEtcd())
	if err != nil {
		return nil, err
	}
	return &database{client: client, prefix: cfg.GetEtcd().GetPrefix(), endpoints: cfg.GetEtcd().GetEndpoints(),
		close: func() { _ = client.Close() }}, nil
}

// begin waits until etcd has what every installation has: signing keys, and the roles that it begins with.
func begin(ctx context.Context, store *registry.Store, logger *slog.Logger) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		err := store.EnsureSigningKeys(attempt)
		if err == nil {
			err = store.EnsureBuiltInRoles(attempt)
		}
		cancel()
		if err == nil || ctx.Err() != nil {
			return err
		}
		logger.Warn("etcd does not answer; waiting for it", "error", err)
		pause := time.NewTimer(time.Second)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

// process is what serves.
type process struct {
	server     *Server
	identities *identity.Server
	logger     *slog.Logger
	failed     <-chan error
	tls        *tls.Config
}

// serve runs the listeners until the context ends or one of them fails.
func (p *process) serve(ctx context.Context, grpcListener, restListener net.Listener, advertise string, ready func()) error {
	healthServer := health.NewServer()
	healthServer.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
	serving := func(status healthv1.HealthCheckResponse_ServingStatus) {
		healthServer.SetServingStatus("", status)
		for _, service := range []string{
			registryv1.RegistryService_ServiceDesc.ServiceName, identityv1.IdentityService_ServiceDesc.ServiceName,
			identityv1.OrganizationService_ServiceDesc.ServiceName,
		} {
			healthServer.SetServingStatus(service, status)
		}
	}
	newServer := func(options ...grpc.ServerOption) *grpc.Server {
		g := grpc.NewServer(append(options, p.server.Interceptors(), grpc.MaxRecvMsgSize(maxMessageBytes),
			// Edges ask every ten seconds whether the connection still stands.
			grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}))...)
		p.server.Attach(g)
		p.identities.Attach(g)
		healthv1.RegisterHealthServer(g, healthServer)
		return g
	}
	var options []grpc.ServerOption
	if p.tls != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(p.tls)))
	}
	public := newServer(options...)
	var web *restServer
	if restListener != nil {
		var err error
		if web, err = newREST(restListener, newServer(), p.tls, p.logger); err != nil {
			return err
		}
	}

	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return public.Serve(grpcListener) })
	if web != nil {
		group.Go(web.serveGRPC)
		group.Go(web.serveHTTP)
	}
	group.Go(func() error {
		err := p.live(running, advertise, serving, ready)
		healthServer.Shutdown()
		if web != nil {
			web.stop()
		}
		stop(public)
		return err
	})
	return stopped(ctx, group.Wait())
}

// live registers the registry itself, if it is to be, and holds until the context ends or something fails. Its own
// registration is over when it returns: no new calls are sent to a registry that stops.
func (p *process) live(ctx context.Context, advertise string, serving func(healthv1.HealthCheckResponse_ServingStatus), ready func()) error {
	ctx, cancel := context.WithCancel(ctx)
	var own sync.WaitGroup
	defer own.Wait()
	defer cancel()
	serving(healthv1.HealthCheckResponse_SERVING) // before anybody can know of it and look
	if advertise != "" {
		registered := make(chan error, 1)
		own.Go(func() { p.server.serveSelf(ctx, platformRequest(advertise, p.tls != nil), registered) })
		if err := <-registered; err != nil {
			return err
		}
		own.Go(func() { p.server.serveSelf(ctx, managementRequest(advertise, p.tls != nil), registered) })
		if err := <-registered; isRefusal(err) {
			// Whoever does not open the address for the zone does not want it there, or has not heard of it.
			p.logger.Warn("organizations cannot manage their identities through the edge: allow the advertised address in zone management-api", "error", err)
		} else if err != nil {
			return err
		}
	}
	ready()
	select {
	case <-ctx.Done():
		return nil
	case err := <-p.failed:
		return fmt.Errorf("embedded etcd: %w", err)
	}
}

// stop lets running calls end, within reason.
func stop(g *grpc.Server) {
	done := make(chan struct{})
	go func() {
		g.GracefulStop()
		close(done)
	}()
	bound := time.NewTimer(farewell)
	defer bound.Stop()
	select {
	case <-done:
	case <-bound.C:
		g.Stop()
		<-done
	}
}
