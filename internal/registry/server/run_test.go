package server_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/embedded"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/internal/registry/server"
)

// rest sends one request and gives the status and the body.
func (h *house) rest(machine, method, path string, body any) (int, map[string]any) {
	h.t.Helper()
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			h.t.Fatal(err)
		}
		in = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(h.ctx(), method, "http://"+h.where.REST+path, in)
	if err != nil {
		h.t.Fatal(err)
	}
	if machine != "" {
		req.Header.Set("clientId", machine)
		req.Header.Set("clientSecret", h.secrets[machine])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	answer := map[string]any{}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		h.t.Fatalf("%s %s: %d without JSON: %v", method, path, res.StatusCode, err)
	}
	return res.StatusCode, answer
}

func TestREST(t *testing.T) {
	h := newHouse(t, nil)
	set := protos(t, "orders", orders)
	raw, err := protojson.Marshal(request(set, appZone, "acme.orders.OrderService"))
	if err != nil {
		t.Fatal(err)
	}
	code, answer := h.rest("acme-host", "POST", "/v1/instances", json.RawMessage(raw))
	id, _ := answer["instanceId"].(string)
	digest, _ := answer["contractDigest"].(string)
	if code != 200 || id == "" || answer["ttl"] != "15s" {
		t.Fatalf("register: %d %v", code, answer)
	}
	byDigest := map[string]any{"zone": appZone, "services": []string{"acme.orders.OrderService"}, "address": address, "contractDigest": digest, "instanceId": id}
	if code, answer = h.rest("acme-host", "POST", "/v1/instances", byDigest); code != 200 || answer["instanceId"] != id {
		t.Fatalf("register by digest: %d %v", code, answer)
	}
	eventually(t, "the tools are shown", func() bool {
		code, answer = h.rest("app", "GET", "/v1/tools?zone="+appZone, nil)
		tools, _ := answer["tools"].([]any)
		return code == 200 && len(tools) == 2
	})
	name := answer["tools"].([]any)[0].(map[string]any)["name"].(string)
	rows := []struct {
		name, machine, method, path string
		body                        any
		code                        int
		want                        string
	}{
		{"zones", "app", "GET", "/v1/zones", nil, 200, `"zone":"` + appZone + `"`},
		{"services", "app", "GET", "/v1/services?page_size=1", nil, 200, `"tools":2`},
		{"instances", "app", "GET", "/v1/instances", nil, 200, `"instanceId":"` + id + `"`},
		{"tool", "app", "GET", "/v1/tools/" + name, nil, 200, `inputSchema`},
		{"contract", "app", "GET", "/v1/contracts/" + digest, nil, 200, `fileDescriptorSet`},
		{"keys without credentials", "", "GET", "/v1/assertion-keys", nil, 200, `"alg":"EdDSA","crv":"Ed25519"`},
		{"keep alive", "acme-host", "POST", "/v1/instances/" + id + ":keepAlive", map[string]any{}, 200, `"ttl":"15s"`},
		{"drain", "acme-host", "POST", "/v1/instances/" + id + ":drain", map[string]any{}, 200, `{}`},
		{"no credentials", "", "GET", "/v1/zones", nil, 401, `credentials`},
		{"not allowed", "app", "POST", "/v1/instances", byDigest, 403, `of kind CLIENT`},
		{"not there", "app", "GET", "/v1/tools/nothing", nil, 404, `no tool`},
		{"no such path", "app", "GET", "/v1/nothing", nil, 404, ``},
		{"broken rule", "app", "GET", "/v1/zones?page_size=1001", nil, 400, `page_size`},
		{"unknown field", "acme-host", "POST", "/v1/instances", map[string]any{"adress": "x"}, 400, `adress`},
		{"deregister", "acme-host", "DELETE", "/v1/instances/" + id, nil, 200, `{}`},
		{"lost", "acme-host", "POST", "/v1/instances/" + id + ":keepAlive", map[string]any{}, 404, `register again`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			code, answer := h.rest(row.machine, row.method, row.path, row.body)
			text, _ := json.Marshal(answer)
			if code != row.code || !strings.Contains(string(text), row.want) {
				t.Errorf("%d %s, want %d with %s", code, text, row.code, row.want)
			}
		})
	}
	// Nothing but a machine's credentials becomes metadata.
	req, _ := http.NewRequestWithContext(h.ctx(), "GET", "http://"+h.where.REST+"/v1/zones", nil)
	req.Header.Set("Grpc-Metadata-Clientid", "system")
	req.Header.Set("Grpc-Metadata-Clientsecret", h.secrets["system"])
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 401 {
		t.Errorf("other headers authenticate: %d", res.StatusCode)
	}
}

func TestSelf(t *testing.T) {
	k := registry.Key{Zone: "system-api", Service: selfName}
	port := freePort(t)
	h := newHouse(t, func(c *configv1.RegistryConfig) {
		c.GrpcListen, c.Advertise = port, port
	})
	v := h.until("the registry is registered", func(v *registry.View) bool { return v.Online(k) })
	if i := v.Instances[k][0]; i.GetAddress() != port || i.GetMachineId() != "" {
		t.Errorf("instance %v", i)
	}
	var tools *registryv1.ListToolsResponse
	eventually(t, "the tools are shown", func() bool {
		var err error
		tools, err = h.client.ListTools(h.as("system"), &registryv1.ListToolsRequest{Service: selfName})
		return err == nil && len(tools.GetTools()) > 0 && tools.GetTools()[0].GetHiddenBecause() == ""
	})
	for _, tool := range tools.GetTools() {
		if tool.GetHiddenBecause() != "" || !strings.HasPrefix(tool.GetResource(), "srv://system-api~"+selfName+"/") {
			t.Errorf("tool %v", tool)
		}
	}
	if got := pick(tools.GetTools(), (*registryv1.ToolSummary).GetTitle); len(got) != 6 {
		t.Errorf("tools %q, want the six read RPCs", got)
	}
	_, err := h.client.Deregister(h.as("platform-host"), &registryv1.DeregisterRequest{InstanceId: v.Instances[k][0].GetInstanceId()})
	wantError(t, err, codes.PermissionDenied)

	h.stop()
	gone := h.until("it has said farewell", func(v *registry.View) bool { return len(v.Instances) == 0 })
	if gone.Services[k] == nil {
		t.Error("the service is forgotten")
	}
}

func TestSelf_lostLease(t *testing.T) {
	k := registry.Key{Zone: "system-api", Service: selfName}
	port := freePort(t)
	h := newHouse(t, func(c *configv1.RegistryConfig) {
		c.GrpcListen, c.Advertise = port, port
		c.DefaultTtl = durationpb.New(time.Second)
	})
	before := h.until("the registry is registered", func(v *registry.View) bool { return v.Online(k) }).Instances[k][0]
	revokeAll(t, h)
	after := h.until("it is registered anew", func(v *registry.View) bool {
		return v.Online(k) && v.Instances[k][0].GetRegisteredAt().AsTime().After(before.GetRegisteredAt().AsTime())
	})
	if after.Instances[k][0].GetInstanceId() != before.GetInstanceId() {
		t.Error("it is another instance")
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestHealth(t *testing.T) {
	h := newHouse(t, nil)
	client := healthv1.NewHealthClient(dial(t, h.where.GRPC))
	for _, service := range []string{"", selfName} {
		r, err := client.Check(h.ctx(), &healthv1.HealthCheckRequest{Service: service})
		if err != nil || r.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", service, r, err)
		}
	}
	watch, err := client.Watch(h.ctx(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := watch.Recv(); err != nil || r.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Fatalf("watch: %v, %v", r, err)
	}
	stopped := make(chan struct{})
	go func() { h.stop(); close(stopped) }()
	if r, err := watch.Recv(); err != nil || r.GetStatus() != healthv1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("while it stops: %v, %v", r, err)
	}
	<-stopped
}

// Without etcd, a registry still shows what it knew, and says that it cannot write.
func TestEtcdAway(t *testing.T) {
	h := newHouse(t, nil)
	h.register("acme-host", request(protos(t, "orders", orders), appZone, "acme.orders.OrderService"))
	eventually(t, "the tools are shown", func() bool {
		r, err := h.client.ListTools(h.as("app"), &registryv1.ListToolsRequest{})
		return err == nil && len(r.GetTools()) == 2
	})
	h.etcd.Stop()
	if r, err := h.client.ListTools(h.as("app"), &registryv1.ListToolsRequest{}); err != nil || len(r.GetTools()) != 2 {
		t.Errorf("ListTools = %v, %v", r, err)
	}
	short, cancel := context.WithTimeout(h.as("acme-host"), 500*time.Millisecond)
	defer cancel()
	_, err := h.client.KeepAlive(short, &registryv1.KeepAliveRequest{InstanceId: "x"})
	if c := status.Code(err); c != codes.DeadlineExceeded && c != codes.Unavailable {
		t.Errorf("KeepAlive: %v", err)
	}
	h.etcd.Restart()
	eventually(t, "it writes again", func() bool {
		_, err := h.client.Register(h.as("acme-host"), request(protos(t, "orders", orders), appZone, "acme.orders.OrderService"))
		return err == nil
	})
}

// A registry that starts before etcd waits for it.
func TestRun_waitsForEtcd(t *testing.T) {
	etcd := etcdtest.New(t)
	etcd.Stop()
	log := &waitingLog{waiting: make(chan struct{})}
	ready, ended := make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		ended <- server.Run(ctx, &configv1.RegistryConfig{
			Store:      &configv1.RegistryConfig_Etcd{Etcd: &configv1.EtcdClient{Endpoints: []string{etcd.Endpoint()}}},
			GrpcListen: "127.0.0.1:0",
		}, slog.New(slog.NewTextHandler(log, nil)), func(server.Addresses) { close(ready) })
	}()
	await(t, "that it waits", log.waiting)
	select {
	case <-ready:
		t.Error("ready without etcd")
	default:
	}
	etcd.Restart()
	await(t, "that it is ready", ready)
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run = %v", err)
	}
}

// waitingLog notices when something is logged about waiting.
type waitingLog struct {
	waiting chan struct{}
	told    bool
}

func (w *waitingLog) Write(b []byte) (int, error) {
	if !w.told && bytes.Contains(b, []byte("waiting for it")) {
		w.told = true
		close(w.waiting)
	}
	return len(b), nil
}

func await(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatalf("no sign %s", what)
	}
}

func TestRun_embeddedWithTLS(t *testing.T) {
	dir, err := os.MkdirTemp("", "registry-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cert, key, pool := certificate(t)
	data := filepath.Join(dir, "data")
	cfg := &configv1.RegistryConfig{
		Store:      &configv1.RegistryConfig_Embedded{Embedded: &configv1.EmbeddedEtcd{DataDir: data}},
		GrpcListen: "127.0.0.1:0", RestListen: "127.0.0.1:0", Tls: &configv1.ServerTls{CertFile: cert, KeyFile: key},
	}
	for range 2 { // it stops so that it can start again, with what it had
		where, stop := start(t, cfg)
		if endpoint, err := embedded.Running(data); err != nil || len(where.Etcd) != 1 || endpoint != where.Etcd[0] {
			t.Errorf("etcd announces %q, %v; want %v", endpoint, err, where.Etcd)
		}
		conn, err := grpc.NewClient(where.GRPC, grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(pool, "")))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		r, err := registryv1.NewRegistryServiceClient(conn).GetAssertionKeys(ctx, &registryv1.GetAssertionKeysRequest{})
		if err != nil || len(r.GetKeys()) != 1 {
			t.Errorf("over gRPC: %v, %v", r, err)
		}
		_ = conn.Close()
		web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool}}}
		req, _ := http.NewRequestWithContext(ctx, "GET", "https://"+where.REST+"/v1/assertion-keys", nil)
		res, err := web.Do(req)
		if err != nil {
			t.Error(err)
		} else if _ = res.Body.Close(); res.StatusCode != 200 {
			t.Errorf("over REST: %d", res.StatusCode)
		}
		cancel()
		stop()
	}
}

func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "registry"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for file, content := range map[string][]byte{certFile: certPEM, keyFile: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}

func TestRun_refusesConfigurationThatCannotWork(t *testing.T) {
	etcd := etcdtest.New(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	tests := []struct {
		name   string
		change func(*configv1.RegistryConfig)
		want   []string
	}{
		{"in the clear on every address", func(c *configv1.RegistryConfig) { c.GrpcListen = ":0" }, []string{"grpc_listen", "tls", "allow_plaintext"}},
		{"in the clear on another address", func(c *configv1.RegistryConfig) { c.RestListen = "192.0.2.1:0" }, []string{"rest_listen"}},
		{"listener", func(c *configv1.RegistryConfig) { c.GrpcListen = "nonsense" }, []string{"grpc_listen"}},
		{"port taken", func(c *configv1.RegistryConfig) { c.GrpcListen = taken.Addr().String() }, []string{"grpc_listen", "in use"}},
		{"REST port taken", func(c *configv1.RegistryConfig) { c.RestListen = taken.Addr().String() }, []string{"rest_listen", "in use"}},
		{"certificate", func(c *configv1.RegistryConfig) {
			c.Tls = &configv1.ServerTls{CertFile: "/nowhere", KeyFile: "/nowhere"}
		}, []string{"tls"}},
		{"addresses", func(c *configv1.RegistryConfig) {
			c.Addresses = []*configv1.ZoneAddresses{{Zone: "*", Ranges: []string{"x"}}}
		}, []string{"addresses[0]"}},
		{"advertised address that is not allowed", func(c *configv1.RegistryConfig) { c.Advertise = "127.0.0.1:7071"; c.Addresses = nil }, []string{"advertise", "system-api", "loopback"}},
		{"etcd's CA", func(c *configv1.RegistryConfig) { c.GetEtcd().Tls = &configv1.ClientTls{CaFile: "/nowhere"} }, []string{"ca_file"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cfg := &configv1.RegistryConfig{
				Store:      &configv1.RegistryConfig_Etcd{Etcd: &configv1.EtcdClient{Endpoints: []string{etcd.Endpoint()}}},
				GrpcListen: "127.0.0.1:0", Addresses: loopback(),
			}
			test.change(cfg)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			err := server.Run(ctx, cfg, nil, func(server.Addresses) { cancel() })
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

// Descriptors that break the compiler break their own call alone.
func TestPanicIsFenced(t *testing.T) {
	h := newHouse(t, nil)
	s := server.New(server.Options{Store: h.store, Watcher: nil, Addresses: nil})
	g := grpc.NewServer(s.Interceptors())
	s.Attach(g)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- g.Serve(l) }()
	defer func() { g.Stop(); <-done }()
	client := registryv1.NewRegistryServiceClient(dial(t, l.Addr().String()))
	for range 2 {
		_, err = client.GetAssertionKeys(metadata.NewOutgoingContext(h.ctx(), nil), &registryv1.GetAssertionKeysRequest{})
		wantError(t, err, codes.Internal, "internal fault")
		if strings.Contains(err.Error(), "nil pointer") {
			t.Errorf("error %q tells of the inside", err)
		}
	}
}
