package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/test/stack"
)

func TestMain(m *testing.M) { stack.Main(m) }

// configure writes a configuration for the etcd, with more lines after it.
func configure(t *testing.T, endpoint, more string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "edge.yaml")
	text := "etcd:\n  endpoints: [\"" + endpoint + "\"]\n" + more
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// get asks a running edge, at the address that its log names.
func get(t *testing.T, p *stack.Process, client *http.Client, scheme, path string) (int, string) {
	t.Helper()
	var line struct{ Address string }
	if err := json.Unmarshal([]byte(p.WaitLine(t, "edge listens")), &line); err != nil {
		t.Fatal(err)
	}
	response, err := client.Get(scheme + "://" + line.Address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestServe_runsUntilSIGTERM(t *testing.T) {
	etcd := etcdtest.New(t)
	config := configure(t, etcd.Endpoint(), "listener: {address: \"127.0.0.1:1\"}\nlog_level: LOG_LEVEL_WARN\n")
	p := stack.Start(t, t.TempDir(), nil, stack.Program(t, "cmd/edge"),
		"serve", "--config", config, "--listen", "127.0.0.1:0", "--log-level", "info")
	stack.Eventually(t, "the edge is ready", func() bool {
		status, body := get(t, p, http.DefaultClient, "http", "/readyz")
		return status == http.StatusOK && body == "fresh\n"
	})
	if status, body := get(t, p, http.DefaultClient, "http", "/mcp"); status != http.StatusMethodNotAllowed {
		t.Errorf("GET /mcp: %d %s", status, body)
	}
	if err := p.Interrupt(); err != nil {
		t.Errorf("ended with %v", err)
	}
	p.WaitLine(t, "edge stopped")
}

func TestServe_closesConnectionsAsConfigured(t *testing.T) {
	etcd := etcdtest.New(t)
	config := configure(t, etcd.Endpoint(), "listener: {address: \"127.0.0.1:0\"}\nidle_timeout: 0.3s\n")
	p := stack.Start(t, t.TempDir(), nil, stack.Program(t, "cmd/edge"), "serve", "--config", config)
	var line struct{ Address string }
	if err := json.Unmarshal([]byte(p.WaitLine(t, "edge listens")), &line); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", line.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil { // half of what is the limit by default
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	// The connection ends, which an answer to HTTP/1.1 alone does not bring about.
	if answer, err := io.ReadAll(conn); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200 OK\r\n") {
		t.Errorf("the edge answers %q, %v", answer, err)
	}
	if err := p.Interrupt(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

func TestServe_speaksTLS(t *testing.T) {
	etcd := etcdtest.New(t)
	cert, key, pool := certificate(t)
	config := configure(t, etcd.Endpoint(), "listener: {address: \"127.0.0.1:0\", tls: {cert_file: "+cert+", key_file: "+key+"}}\n")
	p := stack.Start(t, t.TempDir(), nil, stack.Program(t, "cmd/edge"), "serve", "--config", config)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}}
	if status, body := get(t, p, client, "https", "/healthz"); status != http.StatusOK || body != "ok\n" {
		t.Errorf("/healthz: %d %s", status, body)
	}
	if err := p.Interrupt(); err != nil {
		t.Errorf("ended with %v", err)
	}
}

// Whoever rotates logs moves the file away and sends SIGHUP; what follows stands in a new one.
func TestServe_opensTheAuditLogAnewOnSIGHUP(t *testing.T) {
	etcd := etcdtest.New(t)
	path := filepath.Join(t.TempDir(), "audit.log")
	config := configure(t, etcd.Endpoint(), "listener: {address: \"127.0.0.1:0\"}\naudit_log: {path: "+path+"}\n")
	p := stack.Start(t, t.TempDir(), nil, stack.Program(t, "cmd/edge"), "serve", "--config", config)
	p.WaitLine(t, "edge is ready")
	var line struct{ Address string }
	if err := json.Unmarshal([]byte(p.WaitLine(t, "edge listens")), &line); err != nil {
		t.Fatal(err)
	}
	knock := func() {
		response, err := http.Post("http://"+line.Address+"/mcp", "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	lines := func(path string) int {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), `"event":"authentication"`)
	}
	for range 3 {
		knock()
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	p.Signal(t, syscall.SIGHUP)
	p.WaitLine(t, "the audit log is opened anew")
	for range 2 {
		knock()
	}
	if err := p.Interrupt(); err != nil {
		t.Errorf("ended with %v", err)
	}
	if first, second := lines(path+".1"), lines(path); first+second != 5 || second < 2 {
		t.Errorf("%d lines before and %d after", first, second)
	}
	for _, name := range []string{path, path + ".1"} {
		if info, err := os.Stat(name); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestServe_saysWhatIsWrong(t *testing.T) {
	const nowhere = "http://127.0.0.1:1"
	listener := "listener: {address: \"127.0.0.1:0\"}\n"
	tests := []struct {
		name string
		args func(t *testing.T) []string
		want []string
	}{
		{"no configuration", func(*testing.T) []string { return nil }, []string{"config"}},
		{"missing file", func(*testing.T) []string { return []string{"--config", "gone.yaml"} }, []string{"gone.yaml"}},
		{"unknown field", func(t *testing.T) []string {
			return []string{"--config", configure(t, nowhere, "page_sise: 3\n")}
		}, []string{"edge.yaml:3", "page_sise"}},
		{"broken rule", func(t *testing.T) []string {
			return []string{"--config", configure(t, nowhere, listener+"page_size: 20000\n")}
		}, []string{"edge.yaml:4", "page_size"}},
		{"no address", func(t *testing.T) []string { return []string{"--config", configure(t, nowhere, "")} }, []string{"--listen"}},
		{"unknown level", func(t *testing.T) []string {
			return []string{"--config", configure(t, nowhere, listener), "--log-level", "loud"}
		}, []string{"--log-level"}},
		{"missing certificate", func(t *testing.T) []string {
			return []string{"--config", configure(t, nowhere, "listener: {address: \"127.0.0.1:0\", tls: {cert_file: no.pem, key_file: no.key}}\n")}
		}, []string{"listener.tls", "no.pem"}},
		{"audit log that cannot be opened", func(t *testing.T) []string {
			return []string{"--config", configure(t, nowhere, listener+"audit_log: {path: /dev/null/audit.log}\n")}
		}, []string{"audit_log.path", "/dev/null/audit.log"}},
		{"forwarded credentials", func(t *testing.T) []string {
			return []string{"--config", configure(t, nowhere, listener+"forwarded_headers: [x-tenant, Authorization]\n")}
		}, []string{"forwarded_headers[1]", "Authorization"}},
		{"unknown profile", func(t *testing.T) []string {
			return []string{"--config", configure(t, nowhere, listener+"json_profile: protojsn\n")}
		}, []string{"json_profile", "protojson"}},
	}
	binary := stack.Program(t, "cmd/edge")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, err := exec.CommandContext(t.Context(), binary, append([]string{"serve"}, test.args(t)...)...).CombinedOutput()
			if err == nil {
				t.Fatalf("no error: %s", out)
			}
			if strings.Contains(string(out), "edge: edge:") {
				t.Errorf("%q names the program twice", out)
			}
			for _, want := range test.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("%q does not name %q", out, want)
				}
			}
		})
	}
}

// certificate makes a certificate for 127.0.0.1 that signs itself.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for file, data := range map[string][]byte{
		certFile: certPEM, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}
