package edge_test

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
)

// authenticated adds a machine's credentials to every request.
type authenticated struct {
	credentials
	base *http.Transport
}

func (a authenticated) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("clientId", a.id)
	r.Header.Set("clientSecret", a.secret)
	return a.base.RoundTrip(r)
}

// The official SDK's client, in each way that it can be told to connect: probing for the modern era first, or pinned.
func TestEdge_servesTheOfficialGoClient(t *testing.T) {
	h := newHouse(t, func(c *configv1.EdgeConfig) { c.PageSize = 3 })
	p := startProbe(t, "one")
	h.register(p, "system-api")
	caller := h.system()
	h.wait("the tools are listed", func() bool { return len(h.list(caller)) == 3 })

	for _, version := range []string{"", "2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"} {
		t.Run("version "+version, func(t *testing.T) {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
				Endpoint: h.url + "/mcp", HTTPClient: &http.Client{Transport: authenticated{caller, transport}}, MaxRetries: -1,
			}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			want := version
			if want == "" {
				want = "2026-07-28"
			}
			if got := session.InitializeResult(); got.ProtocolVersion != want || got.ServerInfo.Name != "sallyport" ||
				got.ServerInfo.Version != "1.2.3" || got.Instructions == "" || got.Capabilities.Tools == nil {
				t.Errorf("initialized with %+v", got)
			}
			if want != "2026-07-28" { // which has no ping
				if err := session.Ping(t.Context(), nil); err != nil {
					t.Error(err)
				}
			}

			// More than one page: the client follows the cursor by itself.
			var names []string
			for tool, err := range session.Tools(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, tool.Name)
				if tool.Name == "say" && (tool.Title != "Probe Say" || tool.Description != "Says the word back." ||
					!tool.Annotations.ReadOnlyHint || tool.InputSchema == nil || tool.OutputSchema == nil) {
					t.Errorf("tool %+v", tool)
				}
			}
			slices.Sort(names)
			if !slices.Equal(names, published) {
				t.Errorf("listed %v", names)
			}

			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "say", Arguments: map[string]any{"word": "hello"}})
			if err != nil {
				t.Fatal(err)
			}
			structured, _ := result.StructuredContent.(map[string]any)
			if result.IsError || structured["word"] != "hello" || result.Meta["dev.sallyport/type"] != "probe.v1.SayResponse" {
				t.Errorf("result %+v", result)
			}
			result, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "say", Arguments: map[string]any{"wort": "hello"}})
			if err != nil || !result.IsError || result.Meta["dev.sallyport/correctable"] != true {
				t.Errorf("refused with %+v, %v", result, err)
			}
			if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "nobody"}); err == nil {
				t.Error("an unknown tool was called")
			}

			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-p.running
				cancel()
			}()
			if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "wait"}); err == nil {
				t.Error("a cancelled call succeeded")
			}
			receive(t, p.ended)
		})
	}
}

func TestEdge_turnsTheOfficialGoClientAwayWithoutCredentials(t *testing.T) {
	h := newHouse(t)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: h.url + "/mcp", HTTPClient: &http.Client{Transport: transport}, MaxRetries: -1,
	}, nil)
	if err == nil {
		session.Close()
		t.Error("connected")
	}
}
