package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/internal/registry/server"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/service"
	"github.com/sallyport-dev/sallyport/services/conformance"
)

const (
	patience = 60 * time.Second
	zone     = "app.sallyport-dev.conformance"
	modern   = "2026-07-28"
	legacy   = "2025-11-25"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is the service behind a real edge that follows a real etcd, and whose zone everybody reaches.
type house struct {
	url string
	log *buffer // what the service logs
}

// newHouse starts registry, service and edge for the length of the test.
func newHouse(t *testing.T) *house {
	t.Helper()
	etcd := etcdtest.New(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addresses := []*configv1.ZoneAddresses{{
		Zone: zone, Ranges: []string{"127.0.0.0/8"}, Ports: []uint32{uint32(listener.Addr().(*net.TCPAddr).Port)},
	}}
	registryAddress := make(chan server.Addresses, 1)
	run(t, func(ctx context.Context) error {
		return server.Run(ctx, &configv1.RegistryConfig{
			Store:      &configv1.RegistryConfig_Etcd{Etcd: &configv1.EtcdClient{Endpoints: []string{etcd.Endpoint()}}},
			GrpcListen: "127.0.0.1:0", Addresses: addresses,
		}, nil, func(a server.Addresses) { registryAddress <- a })
	})
	where := receive(t, registryAddress)
	secret, err := registry.NewStore(etcd.Client(), "").CreateMachine(t.Context(), registryv1.MachineKind_MACHINE_KIND_HOST,
		participant.Application("sallyport-dev", "conformance", "host"), "host")
	if err != nil {
		t.Fatal(err)
	}

	h := &house{log: new(buffer)}
	registered := make(chan service.Registration, 1)
	run(t, func(ctx context.Context) error {
		return service.Run(ctx, conformance.New(slog.New(slog.NewTextHandler(h.log, nil))).Register,
			service.Registry(where.GRPC), service.Credentials("host", secret), service.Listener(listener), service.NoSignals(),
			service.Logger(slog.New(slog.DiscardHandler)), service.OnRegister(func(r service.Registration) { registered <- r }))
	})
	receive(t, registered)

	e, err := edge.New(t.Context(), edge.WithEtcd(etcd.NewClient(), ""), edge.WithLogger(slog.New(slog.DiscardHandler)),
		edge.WithConfig(&configv1.EdgeConfig{
			AnonymousZones: []string{zone}, Addresses: addresses, ProgressInterval: durationpb.New(time.Millisecond),
		}))
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(e)
	h.url = front.URL + "/mcp"
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		front.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	receive(t, e.Ready())
	return h
}

// run runs a part of the house until the test ends.
func run(t *testing.T, part func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- part(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatalf("nothing came within %v", patience)
		panic("not reached")
	}
}

// answer is what came back: its status, its media type, and its JSON-RPC messages in their order.
type answer struct {
	status    int
	mediaType string
	messages  []json.RawMessage
}

// call calls a tool in an era. capabilities and meta are members of _meta as JSON; the latter may be empty. headers are
// sent besides those that the era needs.
func (h *house) call(t *testing.T, version, name, arguments, capabilities, meta string, headers ...string) answer {
	t.Helper()
	params := `"name":"` + name + `","arguments":` + arguments
	if version == modern {
		meta = strings.TrimSuffix(`"io.modelcontextprotocol/protocolVersion":"`+modern+
			`","io.modelcontextprotocol/clientCapabilities":`+capabilities+`,`+meta, ",")
		headers = append(headers, "Mcp-Method", "tools/call", "Mcp-Name", name)
	}
	if meta != "" {
		params += `,"_meta":{` + meta + `}`
	}
	return h.post(t, version, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{`+params+`}}`, headers...)
}

func (h *house) post(t *testing.T, version, body string, headers ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	request.Header.Set("MCP-Protocol-Version", version)
	for pair := range slices.Chunk(headers, 2) {
		request.Header.Set(pair[0], pair[1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: response.StatusCode, mediaType: response.Header.Get("Content-Type")}
	if a.mediaType != "text/event-stream" {
		a.messages = []json.RawMessage{raw}
		return a
	}
	for line := range bytes.Lines(raw) {
		if data, found := bytes.CutPrefix(line, []byte("data: ")); found {
			a.messages = append(a.messages, bytes.TrimSpace(data))
		}
	}
	return a
}

// result reads the last message as the result of a call.
func (a answer) result(t *testing.T) (result struct {
	Content           json.RawMessage
	StructuredContent json.RawMessage
	IsError           bool
	ResultType        string
},
) {
	t.Helper()
	var last struct {
		ID     int
		Result json.RawMessage
	}
	if len(a.messages) == 0 || a.status != http.StatusOK {
		t.Fatalf("answered %s", a)
	}
	err := json.Unmarshal(a.messages[len(a.messages)-1], &last)
	if err == nil {
		err = json.Unmarshal(last.Result, &result)
	}
	if err != nil || last.ID != 7 {
		t.Fatalf("answered %s: %v", a, err)
	}
	return result
}

func (a answer) String() string {
	text := fmt.Sprintf("%d %s", a.status, a.mediaType)
	for _, m := range a.messages {
		text += "\n" + string(m)
	}
	return text
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
