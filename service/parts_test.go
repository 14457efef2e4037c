package service_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/type/money"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/service"
)

func eur(units int64) *money.Money { return &money.Money{CurrencyCode: "EUR", Units: units} }
func usd(units int64) *money.Money { return &money.Money{CurrencyCode: "USD", Units: units} }

func TestService_inParts(t *testing.T) {
	r := startRegistry(t)
	s, err := service.New(service.Registry(r.address), r.acmeHost(t), service.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(s.ServerOptions()...)
	registerPlain(server)
	own := health.NewServer()
	healthv1.RegisterHealthServer(server, own)
	s.RegisterHealth(server) // the process has one: it stays
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if err := s.Register(testContext(t), server, listener.Addr()); err != nil {
		t.Fatal(err)
	}
	if err := s.Register(testContext(t), server, listener.Addr()); err == nil {
		t.Error("registered twice")
	}
	r.wait(t, "an instance", online)
	if found, err := find(t, dial(t, listener.Addr().String()), r.edgeSigner(t)); err != nil || found.GetOrder().GetPlacedBy() != "tester" {
		t.Errorf("found %v, %v", found, err)
	}
	if err := s.Stop(testContext(t), server); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	r.wait(t, "gone", gone)
}

func TestService_registerGivesUpWithItsContext(t *testing.T) {
	s, err := service.New(service.Registry("127.0.0.1:1"), service.Credentials("a", "b"), service.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(s.ServerOptions()...)
	registerPlain(server)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(enough)
	if err := s.Register(ctx, server, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1}); !errors.Is(err, enough) {
		t.Errorf("Register: %v", err)
	}
	if err := s.Stop(testContext(t), server); err != nil {
		t.Error(err)
	}
}

func TestNew_saysEverythingThatIsMissing(t *testing.T) {
	for _, row := range []struct {
		name    string
		options []service.Option
		env     map[string]string
		says    string // empty: no error
	}{
		{"nothing given", nil, nil, "no registry"},
		{"nothing given, and the next problem too", nil, nil, "no credentials"},
		{"by options", []service.Option{service.Registry("r:1"), service.Credentials("a", "b")}, nil, ""},
		{"by environment", nil, map[string]string{"SALLYPORT_REGISTRY": "r:1", "SALLYPORT_CLIENT_ID": "a", "SALLYPORT_CLIENT_SECRET": "b"}, ""},
		{"an id by option takes no secret from elsewhere", []service.Option{service.Registry("r:1"), service.Credentials("a", "")},
			map[string]string{"SALLYPORT_CLIENT_ID": "x", "SALLYPORT_CLIENT_SECRET": "b"}, "has no secret"},
		{"a user", []service.Option{service.Registry("r:1"), service.Credentials("a@example.com", "b")}, nil, "is a user"},
		{"a time to live that is too short", []service.Option{service.Registry("r:1"), service.Credentials("a", "b"), service.TTL(time.Millisecond)}, nil, "1s to 300s"},
		{"a time to live that is too long", []service.Option{service.Registry("r:1"), service.Credentials("a", "b"), service.TTL(time.Hour)}, nil, "1s to 300s"},
		{"no time to leave", []service.Option{service.Registry("r:1"), service.Credentials("a", "b"), service.DrainTimeout(0)}, nil, "drain timeout"},
		{"a certificate without its key", []service.Option{service.Registry("r:1"), service.Credentials("a", "b")},
			map[string]string{"SALLYPORT_TLS_CERT": "cert.pem"}, "go together"},
		{"authorities that are not there", []service.Option{service.Registry("r:1"), service.Credentials("a", "b")},
			map[string]string{"SALLYPORT_REGISTRY_CA": "/nowhere/ca.pem"}, "SALLYPORT_REGISTRY_CA"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, name := range []string{"SALLYPORT_REGISTRY", "SALLYPORT_CLIENT_ID", "SALLYPORT_CLIENT_SECRET", "SALLYPORT_REGISTRY_CA", "SALLYPORT_TLS_CERT", "SALLYPORT_TLS_KEY"} {
				t.Setenv(name, row.env[name])
			}
			s, err := service.New(append(row.options, service.Logger(slog.New(slog.DiscardHandler)))...)
			switch {
			case row.says == "" && err != nil:
				t.Errorf("New: %v", err)
			case row.says != "" && (err == nil || !strings.Contains(err.Error(), row.says)):
				t.Errorf("New: %v, want an error that says %q", err, row.says)
			}
			if s != nil {
				if err := s.Stop(testContext(t), grpc.NewServer()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestRun_overTLS(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := writeCertificate(t, dir, "orders.test")
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	raw, err := os.ReadFile(certFile)
	if err != nil || !pool.AppendCertsFromPEM(raw) {
		t.Fatal("the certificate cannot be read back")
	}
	r := startRegistry(t, grpc.Creds(credentials.NewServerTLSFromCert(&pair)))
	for _, row := range []struct {
		name       string
		env        map[string]string
		options    []service.Option
		serverName string
	}{
		{"by options", nil, []service.Option{
			service.RegistryTLS(&tls.Config{RootCAs: pool}), service.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}, "orders.test"),
		}, "orders.test"},
		{"by environment, the name from the address", map[string]string{
			"SALLYPORT_REGISTRY_CA": certFile, "SALLYPORT_TLS_CERT": certFile, "SALLYPORT_TLS_KEY": keyFile,
		}, nil, "127.0.0.1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for name, value := range row.env {
				t.Setenv(name, value)
			}
			if row.name == "by options" {
				row.options = append(row.options, r.acmeHost(t))
			} else {
				host, err := r.host(testContext(t), "other-host", participant.Organization("acme-org", "other-host"))
				if err != nil {
					t.Fatal(err)
				}
				row.options = append(row.options, host)
			}
			p := run(t, registerPlain, append(row.options, service.Registry(r.address))...)
			registration := p.registered(t)
			r.wait(t, "an instance", online)
			if got := instance(r.watcher.View()).GetTlsServerName(); got != row.serverName {
				t.Errorf("the edge is told the name %q, want %q", got, row.serverName)
			}
			conn, err := grpc.NewClient(registration.Address, grpc.WithTransportCredentials(
				credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: row.serverName})))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := find(t, conn, r.edgeSigner(t)); err != nil {
				t.Error(err)
			}
			if _, err := find(t, dial(t, registration.Address), r.edgeSigner(t)); status.Code(err) != codes.Unavailable {
				t.Errorf("a call without TLS: %v", err)
			}
			p.stop()
			if err := p.wait(t); err != nil {
				t.Error(err)
			}
			r.wait(t, "gone", gone)
		})
	}
}

// writeCertificate makes a self-signed certificate for a name and for loopback.
func writeCertificate(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}
