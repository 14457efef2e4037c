package ingress_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/test/stack"
)

// other is a second name that nginx serves and the edges do not know.
const other = "other.example.com"

// nginx is a running nginx.
type nginx struct {
	t       *testing.T
	address string
	process *stack.Process
	trusted *x509.CertPool
	dir     string
}

// program is the path of nginx. Without nginx the test is skipped; in CI that fails.
func program(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("nginx")
	if err == nil {
		return path
	}
	// Where Debian puts it, which is in the PATH of the administrator alone.
	if path = "/usr/sbin/nginx"; executable(path) {
		return path
	}
	if os.Getenv("CI") != "" {
		t.Fatal("nginx is not installed")
	}
	t.Skip("SKIP: nginx is not installed")
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0
}

// startNginx starts nginx before the edges, with the files of deploy/nginx in a folder of their own.
func startNginx(t *testing.T, edges []*edge, changes ...change) *nginx {
	t.Helper()
	return startNginxWith(t, edges, func(text string) string { return text }, changes...)
}

// startNginxWith does something else to nginx.conf as well.
func startNginxWith(t *testing.T, edges []*edge, edit func(string) string, changes ...change) *nginx {
	t.Helper()
	binary := program(t)
	n := &nginx{t: t, address: stack.FreeAddress(t), dir: workersFolder(t)}
	server := "server 127.0.0.1:8180 max_fails=3 fail_timeout=5s;"
	var servers []string
	for _, e := range edges {
		servers = append(servers, strings.Replace(server, "127.0.0.1:8180", e.address, 1))
	}
	ofMain := []change{
		{server, strings.Join(servers, " ")},
		{"listen 8443", "listen " + n.address},
		{"server_name " + host, "server_name " + host + " " + other},
	}
	var ofEdge []change
	for _, c := range changes {
		if strings.HasPrefix(c.from, "proxy_read_timeout") {
			ofEdge = append(ofEdge, c)
		} else {
			ofMain = append(ofMain, c)
		}
	}
	stack.WriteFile(t, filepath.Join(n.dir, "nginx.conf"), edit(shipped(t, "nginx.conf", ofMain)))
	stack.WriteFile(t, filepath.Join(n.dir, "edge.conf"), shipped(t, "edge.conf", ofEdge))
	stack.WriteFile(t, filepath.Join(n.dir, "refusals.conf"), shipped(t, "refusals.conf", nil))
	n.certify()
	n.process = stack.Start(t, n.dir, nil, binary, "-p", n.dir, "-c", "nginx.conf", "-g", "daemon off;")
	waitListening(t, n.address)
	return n
}

// workersFolder is a folder to which the workers of an nginx find a way, who are another user where root starts it.
func workersFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for dir := folder; dir != filepath.Clean(os.TempDir()); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func waitListening(t *testing.T, address string) {
	t.Helper()
	stack.Eventually(t, "nginx listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	})
}

// certify writes a certificate for the host, and one key to it.
func (n *nginx) certify() {
	n.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		n.t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host, other},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		n.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		n.t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	stack.WriteFile(n.t, filepath.Join(n.dir, "tls.crt"), string(certificate))
	stack.WriteFile(n.t, filepath.Join(n.dir, "tls.key"),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	n.trusted = x509.NewCertPool()
	n.trusted.AppendCertsFromPEM(certificate)
}
