package service

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"google.golang.org/grpc"
)

// How long a farewell may take where [DrainTimeout] says nothing: less than the 30 s that Kubernetes grants.
const defaultDrainTimeout = 20 * time.Second

// An Option sets one thing about a service. Where the same option is given twice, the later one holds; [Expose] adds
// up.
type Option func(*settings)

// Registration says what the registry answered. The slices are shared: read them only.
type Registration struct {
	// InstanceID is the process's id in the registry, the same over lost leases.
	InstanceID string
	// Address is where the edge reaches the process.
	Address string
	// TTL is how long the registry believes in the process without hearing of it.
	TTL time.Duration
	// Tools are the published tools.
	Tools []*registryv1.ToolSummary
	// Warnings are what is not an error but deserves a look, each with the function's name.
	Warnings []string
}

type settings struct {
	zone          string
	registry      string
	registryTLS   *tls.Config
	clientID      string
	clientSecret  string
	listen        string
	listener      net.Listener
	advertise     string
	serverTLS     *tls.Config
	tlsServerName string
	locality      string
	build         string
	weight        uint32
	ttl           time.Duration
	drainTimeout  time.Duration
	exposures     []exposure
	serverOptions []grpc.ServerOption
	dialOptions   []grpc.DialOption
	onRegister    func(Registration)
	logger        *slog.Logger
	noSignals     bool
	trustCallers  bool
}

// Zone names the zone of those services whose proto names none. The proto's zone wins.
func Zone(zone string) Option { return func(s *settings) { s.zone = zone } }

// Registry is the address of the registry's gRPC API as a gRPC target, for example `registry.example.com:7071`. A name
// with several addresses is a registry with several replicas: when one goes, the next is used.
func Registry(target string) Option { return func(s *settings) { s.registry = target } }

// RegistryTLS turns TLS to the registry on. Without it the machine's secret travels in plain text, which is only
// fit for loopback and for networks that encrypt by themselves. The configuration is cloned.
func RegistryTLS(c *tls.Config) Option { return func(s *settings) { s.registryTLS = c.Clone() } }

// Credentials are the id and the secret of the host machine that may host in the services' zones.
func Credentials(id, secret string) Option {
	return func(s *settings) { s.clientID, s.clientSecret = id, secret }
}

// Listen is where [Run] listens, `host:port`; port 0 picks a free one.
func Listen(address string) Option { return func(s *settings) { s.listen = address } }

// Listener gives [Run] a listener of the caller's instead of an address. Run closes it, unless the options are in error.
func Listener(l net.Listener) Option { return func(s *settings) { s.listener = l } }

// Advertise is where the edge reaches the process, `host:port`. Without a port, or with port 0, the listener's port is
// filled in. Without this option it is the listener's address; for a listener on all addresses, the address with which
// this machine reaches the registry.
func Advertise(address string) Option { return func(s *settings) { s.advertise = address } }

// TLS makes the process serve with TLS and tells the edge which name to expect in the certificate. An empty name is
// the host of the advertised address. The configuration is cloned.
func TLS(c *tls.Config, serverName string) Option {
	return func(s *settings) { s.serverTLS, s.tlsServerName = c.Clone(), serverName }
}

// Locality says where the process runs, for people who read the registry.
func Locality(locality string) Option { return func(s *settings) { s.locality = locality } }

// Build says which build runs. Without it, the version control revision that the Go tool stamped into the program.
func Build(version string) Option { return func(s *settings) { s.build = version } }

// Weight is the share of calls that the process wants among its peers, 1 where nothing is said.
func Weight(weight uint32) Option { return func(s *settings) { s.weight = weight } }

// TTL asks for a time to live of the lease, 1 s to 300 s. Without it the registry decides, usually 15 s.
func TTL(ttl time.Duration) Option { return func(s *settings) { s.ttl = ttl } }

// DrainTimeout bounds the whole farewell: telling the registry, waiting for running calls, deregistering. Calls that
// still run when it is over are cancelled. 20 s where nothing is said.
func DrainTimeout(d time.Duration) Option { return func(s *settings) { s.drainTimeout = d } }

// ServerOptions are passed on to the [grpc.Server] after the package's own: interceptors given with
// grpc.ChainUnaryInterceptor run after the caller is verified and the request validated.
func ServerOptions(options ...grpc.ServerOption) Option {
	return func(s *settings) { s.serverOptions = append(s.serverOptions, options...) }
}

// RegistryDialOptions are passed on to the connection to the registry, after the package's own.
func RegistryDialOptions(options ...grpc.DialOption) Option {
	return func(s *settings) { s.dialOptions = append(s.dialOptions, options...) }
}

// OnRegister is called after each successful registration: the first one, and each time a lost lease was granted
// anew. It runs on the goroutine that keeps the lease alive and must return soon.
func OnRegister(f func(Registration)) Option { return func(s *settings) { s.onRegister = f } }

// Logger is where the package logs; slog.Default() where nothing is said.
func Logger(l *slog.Logger) Option { return func(s *settings) { s.logger = l } }

// NoSignals keeps [Run] from listening for SIGTERM and SIGINT: only its context ends it.
func NoSignals() Option { return func(s *settings) { s.noSignals = true } }

// TrustEveryCaller turns off the interceptor that demands a participant assertion; handlers find no participant then.
// Only for a process that nothing but trusted callers can reach.
func TrustEveryCaller() Option { return func(s *settings) { s.trustCallers = true } }

// newSettings applies the options, fills in the environment where they are silent, and checks the outcome.
func newSettings(options []Option) (*settings, error) {
	s := &settings{drainTimeout: defaultDrainTimeout}
	for _, o := range options {
		o(s)
	}
	fill(&s.registry, "SALLYPORT_REGISTRY")
	fill(&s.zone, "SALLYPORT_ZONE")
	fill(&s.listen, "SALLYPORT_LISTEN")
	fill(&s.advertise, "SALLYPORT_ADVERTISE")
	if s.clientID == "" {
		fill(&s.clientID, "SALLYPORT_CLIENT_ID")
		fill(&s.clientSecret, "SALLYPORT_CLIENT_SECRET")
	}
	if s.listen == "" {
		s.listen = ":0"
	}
	if s.logger == nil {
		s.logger = slog.Default()
	}
	if s.build == "" {
		s.build = buildRevision()
	}
	return s, errors.Join(s.fillTLS(), s.check())
}

func fill(value *string, variable string) {
	if *value == "" {
		*value = os.Getenv(variable)
	}
}

// fillTLS reads the PEM files that the environment names.
func (s *settings) fillTLS() error {
	if file := os.Getenv("SALLYPORT_REGISTRY_CA"); file != "" && s.registryTLS == nil {
		pem, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read SALLYPORT_REGISTRY_CA: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return fmt.Errorf("read SALLYPORT_REGISTRY_CA: %s holds no PEM certificate", file)
		}
		s.registryTLS = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	cert, key := os.Getenv("SALLYPORT_TLS_CERT"), os.Getenv("SALLYPORT_TLS_KEY")
	if s.serverTLS != nil || cert == "" && key == "" {
		return nil
	}
	if cert == "" || key == "" {
		return errors.New("SALLYPORT_TLS_CERT and SALLYPORT_TLS_KEY go together: one of them is not set")
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("read SALLYPORT_TLS_CERT and SALLYPORT_TLS_KEY: %w", err)
	}
	s.serverTLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	return nil
}

func (s *settings) check() error {
	var problems []error
	if s.registry == "" {
		problems = append(problems, errors.New("no registry: give service.Registry or set SALLYPORT_REGISTRY"))
	}
	switch {
	case s.clientID == "":
		problems = append(problems, errors.New(
			"no credentials: give service.Credentials or set SALLYPORT_CLIENT_ID and SALLYPORT_CLIENT_SECRET"))
	case s.clientSecret == "":
		problems = append(problems, fmt.Errorf("machine %q has no secret: it comes with its id", s.clientID))
	case strings.Contains(s.clientID, "@"):
		// An id with @ is a user's email (access.md, Credentials), and users host nothing.
		problems = append(problems, fmt.Errorf("%q is a user: only a host machine registers services", s.clientID))
	}
	if s.ttl != 0 && (s.ttl < time.Second || s.ttl > 300*time.Second) {
		problems = append(problems, fmt.Errorf("time to live %s is outside 1s to 300s", s.ttl))
	}
	if s.drainTimeout <= 0 {
		problems = append(problems, fmt.Errorf("drain timeout %s is not positive", s.drainTimeout))
	}
	return errors.Join(problems...)
}
