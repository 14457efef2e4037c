package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Platform is a registry and an edge as a platform team runs them: two processes and two configuration files.
type Platform struct {
	Registry *Process
	Edge     *Process
	// GRPC is the address of the registry's gRPC API, REST the base URL of its REST API, MCP the edge's endpoint.
	GRPC, REST, MCP string
	// Etcd is the base URL of the registry's etcd.
	Etcd string
	// RegistryConfig and EdgeConfig are the paths of the files.
	RegistryConfig, EdgeConfig string
}

// NewPlatform writes the configuration and starts both. addresses is the YAML of the `addresses` list, two spaces deep.
func NewPlatform(t testing.TB, addresses string) *Platform {
	t.Helper()
	dir := t.TempDir()
	p := &Platform{
		GRPC: FreeAddress(t), RegistryConfig: filepath.Join(dir, "registry.yaml"), EdgeConfig: filepath.Join(dir, "edge.yaml"),
	}
	rest, listen, etcd := FreeAddress(t), FreeAddress(t), FreeAddress(t)
	p.REST, p.MCP, p.Etcd = "http://"+rest, "http://"+listen+"/mcp", "http://"+etcd
	_, etcdPort, _ := net.SplitHostPort(etcd)
	WriteFile(t, p.RegistryConfig, fmt.Sprintf(
		"embedded:\n  data_dir: %s\n  client_port: %s\ndefault_ttl: 2s\ngrpc_listen: %s\nrest_listen: %s\naddresses:\n%s",
		filepath.Join(dir, "etcd"), etcdPort, p.GRPC, rest, addresses))
	WriteFile(t, p.EdgeConfig, fmt.Sprintf(
		"etcd:\n  endpoints: [%q]\nlistener:\n  address: %s\naddresses:\n%s", p.Etcd, listen, addresses))
	p.StartRegistry(t)
	p.StartEdge(t)
	return p
}

// StartRegistry starts the registry, again if it was stopped, and waits until it serves.
func (p *Platform) StartRegistry(t testing.TB) {
	t.Helper()
	p.Registry = Start(t, t.TempDir(), nil, Program(t, "cmd/registry"), "serve", "--config", p.RegistryConfig)
	p.Registry.WaitLine(t, "registry is ready")
}

// StartEdge starts the edge and waits until it is ready.
func (p *Platform) StartEdge(t testing.TB) {
	t.Helper()
	p.Edge = Start(t, t.TempDir(), nil, Program(t, "cmd/edge"), "serve", "--config", p.EdgeConfig)
	p.Edge.WaitLine(t, "edge is ready")
}

// Machine creates a machine with the registry's command; args are the rest of `registry machine create`.
func (p *Platform) Machine(t testing.TB, id string, args ...string) Machine {
	t.Helper()
	args = append([]string{"machine", "create", id, "--config", p.RegistryConfig, "-o", "json"}, args...)
	out := Run(t, nil, Program(t, "cmd/registry"), args...)
	var m struct {
		ID     string `json:"id"`
		Secret string `json:"secret"`
	}
	if err := json.Unmarshal([]byte(out), &m); err != nil || m.Secret == "" {
		t.Fatalf("registry machine create printed %q: %v", out, err)
	}
	return Machine{ClientID: id, ClientSecret: m.Secret}
}

// Env is the environment in which a program reaches the registry as the machine.
func (p *Platform) Env(m Machine) []string {
	return []string{
		"SALLYPORT_REGISTRY=" + p.GRPC, "SALLYPORT_CLIENT_ID=" + m.ClientID, "SALLYPORT_CLIENT_SECRET=" + m.ClientSecret,
	}
}

// Run runs a program to its end and gives what it printed; a program that fails, fails the test.
func Run(t testing.TB, env []string, binary string, args ...string) string {
	t.Helper()
	out, err := Try(t, env, binary, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", filepath.Base(binary), strings.Join(args, " "), err, out)
	}
	return out
}

// Try runs a program that may fail, and gives everything that it printed.
func Try(t testing.TB, env []string, binary string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// FreeAddress is a loopback address that nothing listens on.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// WriteFile writes a file or fails the test.
func WriteFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Tool is a listed tool.
type Tool struct {
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Annotations map[string]bool `json:"annotations"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

// Result is the result of a call.
type Result struct {
	Content []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent"`
	IsError           bool            `json:"isError"`
	Meta              json.RawMessage `json:"_meta"`
}

// Reply is one JSON-RPC answer.
type Reply struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// Post sends one JSON-RPC request as the machine.
func Post(t testing.TB, url string, m Machine, method string, params any) (int, Reply) {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("clientId", m.ClientID)
	request.Header.Set("clientSecret", m.ClientSecret)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var reply Reply
	if err := json.Unmarshal(body, &reply); err != nil {
		t.Fatalf("%s: answer %d %q: %v", method, response.StatusCode, body, err)
	}
	return response.StatusCode, reply
}

// List gives the tools that the machine sees, by their titles.
func List(t testing.TB, url string, m Machine) map[string]Tool {
	t.Helper()
	_, reply := Post(t, url, m, "tools/list", map[string]any{})
	if reply.Error != nil {
		t.Fatalf("tools/list: %+v", *reply.Error)
	}
	var listed struct{ Tools []Tool }
	if err := json.Unmarshal(reply.Result, &listed); err != nil {
		t.Fatal(err)
	}
	tools := map[string]Tool{}
	for _, tool := range listed.Tools {
		tools[tool.Title] = tool
	}
	return tools
}

// Call calls a tool by its name.
func Call(t testing.TB, url string, m Machine, name string, arguments any) Result {
	t.Helper()
	_, reply := Post(t, url, m, "tools/call", map[string]any{"name": name, "arguments": arguments})
	if reply.Error != nil {
		t.Fatalf("tools/call: %+v", *reply.Error)
	}
	var result Result
	if err := json.Unmarshal(reply.Result, &result); err != nil {
		t.Fatal(err)
	}
	return result
}
