package service

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/types/known/durationpb"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/contract"
)

// hearsay is how long a draining process goes on as before, so that every edge has heard of it: an edge coalesces
// changes for 10 ms, and the way through etcd is a few more.
const hearsay = 250 * time.Millisecond

// maxRequestBytes is the largest request that the server reads where [ServerOptions] says nothing else.
const maxRequestBytes = 16 << 20

// streamWindow and connectionWindow are how much a caller may send before what it sent was read, of one request and of
// all of a connection: at once what gRPC would widen its windows to, at most, for a connection.
const (
	streamWindow     = 1 << 20
	connectionWindow = 16 << 20
)

// ToolName computes the hashed name under which an RPC is called as a tool (tools.md, Name). qualified is
// `zone~package.Service`, or `package.Service` for an un-zoned service; method is the RPC's own name.
func ToolName(qualified, method string) string { return contract.ToolName(qualified, method) }

// Service is the process's side of registration, in parts, for a process that owns its [grpc.Server]. In order:
//
//	s, err := service.New(options…)
//	server := grpc.NewServer(s.ServerOptions()…)
//	…                                            // register the process's services on server
//	s.RegisterHealth(server)
//	go server.Serve(listener)
//	err = s.Register(ctx, server, listener.Addr())
//	…
//	err = s.Stop(ctx, server)
//
// Each method is called once, from one goroutine at a time. [Run] does all of it.
type Service struct {
	settings *settings
	conn     *grpc.ClientConn
	client   registryv1.RegistryServiceClient
	keys     *keys
	calls    *calls
	callers  *callers
	requests *requests
	health   *health.Server
	lease    *lease
}

// New prepares a service from options and environment and says everything that is wrong with them at once. It talks to
// nobody yet. Whoever has a Service must [Service.Stop] it.
func New(options ...Option) (*Service, error) {
	s, err := newSettings(options)
	if err != nil {
		return nil, fmt.Errorf("configure service: %w", err)
	}
	validator, err := protovalidate.New()
	if err != nil {
		return nil, fmt.Errorf("configure service: make the request validator: %w", err)
	}
	conn, err := dialRegistry(s)
	if err != nil {
		return nil, fmt.Errorf("configure service: registry %q: %w", s.registry, err)
	}
	client := registryv1.NewRegistryServiceClient(conn)
	keys := newKeys(client, s.logger)
	return &Service{
		settings: s, conn: conn, client: client, keys: keys, calls: newCalls(), health: health.NewServer(),
		callers:  &callers{verifier: assertion.NewVerifier(keys, time.Now), zone: s.zone, logger: s.logger},
		requests: &requests{validator: validator, logger: s.logger},
	}, nil
}

func dialRegistry(s *settings) (*grpc.ClientConn, error) {
	transport := insecure.NewCredentials()
	if s.registryTLS != nil {
		transport = credentials.NewTLS(s.registryTLS)
	} else if !onLoopback(s.registry) {
		s.logger.Warn("the machine's secret goes to the registry in plain text: give service.RegistryTLS or set "+
			"SALLYPORT_REGISTRY_CA, unless the network encrypts by itself", "registry", s.registry)
	}
	options := append([]grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithPerRPCCredentials(machine{"clientid": s.clientID, "clientsecret": s.clientSecret}),
		// The pauses are the lease's to keep; the connection is there as soon as the registry is.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 10 * time.Second}),
		grpc.WithUserAgent("sallyport-service"),
	}, s.dialOptions...)
	return grpc.NewClient(s.registry, options...)
}

// machine is the host machine's credentials as metadata of every RPC to the registry.
type machine map[string]string

func (m machine) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return m, nil
}

// RequireTransportSecurity is false: on loopback and inside an encrypting mesh there is none. Elsewhere a warning is
// logged.
func (machine) RequireTransportSecurity() bool { return false }

// ServerOptions are what the server needs: TLS where it is configured, the interceptors (count the call, verify the
// participant, validate the request), requests of up to 16 MiB, and a keep-alive policy that bears the edge's pings. The caller's own
// [ServerOptions] come last.
func (s *Service) ServerOptions() []grpc.ServerOption {
	unary := []grpc.UnaryServerInterceptor{s.calls.unary}
	stream := []grpc.StreamServerInterceptor{s.calls.stream}
	if !s.settings.trustCallers {
		unary, stream = append(unary, s.callers.unary), append(stream, s.callers.stream)
	}
	options := []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(append(unary, s.requests.unary)...),
		grpc.ChainStreamInterceptor(append(stream, s.requests.stream)...),
		// Values that are short in JSON can be longer on the wire, so that gRPC's own 4 MiB would refuse what an edge lets
		// through.
		grpc.MaxRecvMsgSize(maxRequestBytes),
		// Windows that gRPC would otherwise find by pings, which every edge would have to answer.
		grpc.StaticStreamWindowSize(streamWindow),
		grpc.StaticConnWindowSize(connectionWindow),
		// An edge pings every 10 s, with or without calls (registry.md, Liveness).
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}
	if s.settings.serverTLS != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(withHTTP2(s.settings.serverTLS))))
	}
	return append(options, s.settings.serverOptions...)
}

func withHTTP2(c *tls.Config) *tls.Config {
	if len(c.NextProtos) == 0 {
		c.NextProtos = []string{"h2"}
	}
	return c
}

// RegisterHealth adds the health service, unless the server has one. It says SERVING of the process and of each
// service until the farewell. Call it after the process's own services are registered and before the server serves.
func (s *Service) RegisterHealth(server *grpc.Server) {
	served := server.GetServiceInfo()
	if _, ok := served[healthv1.Health_ServiceDesc.ServiceName]; ok {
		return
	}
	for name := range served {
		s.health.SetServingStatus(name, healthv1.HealthCheckResponse_SERVING)
	}
	healthv1.RegisterHealthServer(server, s.health)
}

// Register registers everything that the server serves, besides health and reflection, and begins to keep it
// registered. local is the listener's address, from which the advertised one is worked out where [Advertise] is
// silent or gives no port. It returns when the registry has granted the first lease, waits while the registry is away,
// and fails with the registry's words where it refuses: the contract cannot be published, or the machine may not host
// it here. After that, a lost lease is granted anew without the caller noticing more than a log line and [OnRegister].
func (s *Service) Register(ctx context.Context, server *grpc.Server, local net.Addr) error {
	if s.lease != nil {
		return errors.New("register service: it is registered already")
	}
	services, err := servedBy(server)
	if err != nil {
		return fmt.Errorf("register service: %w", err)
	}
	exposed, err := overlays(s.settings.exposures, services)
	if err != nil {
		return fmt.Errorf("register service: %w", err)
	}
	address, err := s.settings.advertised(local)
	if err != nil {
		return fmt.Errorf("register service: %w", err)
	}
	request := &registryv1.RegisterRequest{
		InstanceId: newInstanceID(),
		Zone:       s.settings.zone, Overlays: exposed, Address: address, Locality: s.settings.locality,
		BuildVersion: s.settings.build, Weight: s.settings.weight, TlsServerName: s.settings.nameInCertificate(address),
	}
	for _, sd := range services {
		request.Services = append(request.Services, string(sd.FullName()))
	}
	if s.settings.ttl > 0 {
		request.Ttl = durationpb.New(s.settings.ttl)
	}
	l := &lease{
		client: s.client, request: request, descriptors: descriptorSet(services), keys: s.keys,
		onRegister: s.settings.onRegister, logger: s.settings.logger,
	}
	if err := l.grant(ctx); err != nil {
		return fmt.Errorf("register service: %w", err)
	}
	l.start()
	s.lease = l
	return nil
}

// nameInCertificate is empty for a process that serves without TLS: that is how the registry is told.
func (s *settings) nameInCertificate(address string) string {
	if s.serverTLS == nil {
		return ""
	}
	if s.tlsServerName != "" {
		return s.tlsServerName
	}
	host, _, _ := net.SplitHostPort(address)
	return host
}

// Stop is the farewell: it asks the registry to send no new calls, turns health to NOT_SERVING, waits for the running
// calls, deregisters, and stops the server. The whole takes no longer than ctx and the drain timeout; calls that still
// run then are cancelled, and the error says so. A registry that is away fails nothing: the lease runs out by itself.
func (s *Service) Stop(ctx context.Context, server *grpc.Server) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.settings.drainTimeout,
		fmt.Errorf("calls still ran after %s", s.settings.drainTimeout))
	defer cancel()
	defer s.conn.Close()
	var waited error
	if s.lease != nil {
		if err := s.lease.leave(ctx); err != nil {
			s.settings.logger.Warn("leaving without a word to the registry", "error", err)
		} else {
			// A drain timeout that is shorter cuts it short; that loses no call of ours.
			_ = sleep(ctx, hearsay)
		}
	}
	s.health.Shutdown()
	s.calls.leave()
	if err := s.calls.wait(ctx); err != nil {
		waited = err
	}
	if s.lease != nil {
		// Deregistering has its own small bound: it must happen even when the calls used up all the time.
		if err := s.lease.stop(context.WithoutCancel(ctx)); err != nil {
			s.settings.logger.Warn("not deregistered: the lease runs out by itself", "error", err)
		}
	}
	if err := stopServer(ctx, server); err != nil {
		waited = err
	}
	if waited != nil {
		return fmt.Errorf("stop service: %w", waited)
	}
	return nil
}

// stopServer lets calls that slipped in finish, within ctx.
func stopServer(ctx context.Context, server *grpc.Server) error {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		server.GracefulStop()
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		server.Stop()
		<-stopped
		return context.Cause(ctx)
	}
}
