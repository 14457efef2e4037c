package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sallyport-dev/sallyport/test/stack"
)

// goSDK are the modes of the Go SDK: its own choice, and each version pinned. 2026-07-28 and its own choice begin with
// `server/discover`, the others with `initialize`.
var goSDK = []mode{
	{name: "own choice", ask: "", version: version20260728, staysOpen: true},
	{name: "2026-07-28", ask: version20260728, version: version20260728, staysOpen: true},
	{name: "2025-11-25", ask: version20251125, version: version20251125, staysOpen: true},
	{name: "2025-06-18", ask: version20250618, version: version20250618, staysOpen: true},
	{name: "2025-03-26", ask: version20250326, version: version20250326, staysOpen: true},
}

func testGoSDK(t *testing.T, h *house) {
	for _, m := range goSDK {
		t.Run(m.name, func(t *testing.T) {
			g := connectGo(t, h, m)
			r := g.converse(t, keys("go", m))
			h.check(t, m, "go", r)
		})
	}
}

// goClient is one session of the Go SDK.
type goClient struct {
	session *mcp.ClientSession
	wire    *wire
	names   map[string]string

	mu sync.Mutex
	// listeners are told of progress, by their tokens.
	listeners map[string]func(sign)
}

func connectGo(t *testing.T, h *house, m mode) *goClient {
	t.Helper()
	g := &goClient{
		wire:  &wire{machine: h.Machines.Application, base: &http.Transport{}},
		names: map[string]string{}, listeners: map[string]func(sign){},
	}
	t.Cleanup(g.wire.base.CloseIdleConnections)
	client := mcp.NewClient(&mcp.Implementation{Name: "sallyport-test-go", Version: "1.0.0"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			g.mu.Lock()
			listener := g.listeners[fmt.Sprintf("%#v", r.Params.ProgressToken)]
			g.mu.Unlock()
			if listener != nil {
				listener(sign{r.Params.Progress, r.Params.Total, r.Params.Message})
			}
		},
	})
	// The standalone stream of the legacy era is on, as it is by default: the edge answers it with 405.
	session, err := client.Connect(bounded(t), &mcp.StreamableClientTransport{
		Endpoint: h.MCPURL, HTTPClient: &http.Client{Transport: g.wire},
	}, &mcp.ClientSessionOptions{ProtocolVersion: m.ask})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	g.session = session
	return g
}

// bounded is a context that ends with the test, or when patience does.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stack.Patience)
	t.Cleanup(cancel)
	return ctx
}

// converse does everything that the Node drivers do, in the same order.
func (g *goClient) converse(t *testing.T, key map[string]string) *report {
	t.Helper()
	ctx := bounded(t)
	r := new(report)
	introduced := g.session.InitializeResult()
	r.Version, r.Instructions = introduced.ProtocolVersion, introduced.Instructions
	if introduced.ServerInfo != nil {
		r.Server.Name, r.Server.Version = introduced.ServerInfo.Name, introduced.ServerInfo.Version
	}
	g.list(ctx, t, r)
	for _, c := range calls {
		r.Results = append(r.Results, g.call(ctx, t, c.Title, c.Arguments))
	}
	var refused *jsonrpc.Error
	if _, err := g.session.CallTool(ctx, &mcp.CallToolParams{Name: "nobody"}); errors.As(err, &refused) {
		r.UnknownCode = int(refused.Code)
	}
	g.count(ctx, t, r, key)
	g.meet(ctx, t, r, key["meet"])
	r.Shown = g.call(ctx, t, "Workshop Show", map[string]any{})
	r.Aborted.Waiting = g.abort(ctx, t, "Workshop Wait", key["waiting"])
	r.Aborted.Counting = g.abort(ctx, t, "Workshop Count", key["counting"])
	r.Still = g.call(ctx, t, calls[0].Title, calls[0].Arguments)
	if err := g.session.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	r.Exchanges = g.wire.all()
	return r
}

// list reads page by page, and then once more as the SDK gathers all pages by itself.
func (g *goClient) list(ctx context.Context, t *testing.T, r *report) {
	t.Helper()
	params := &mcp.ListToolsParams{}
	for {
		page, err := g.session.ListTools(ctx, params)
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		r.Pages++
		for _, listed := range page.Tools {
			g.names[listed.Title] = listed.Name
			r.Tools = append(r.Tools, through[tool](t, listed))
		}
		if page.NextCursor == "" {
			break
		}
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
	gathered := 0
	for _, err := range g.session.Tools(ctx, nil) {
		if err != nil {
			t.Fatalf("gather: %v", err)
		}
		gathered++
	}
	if gathered != len(r.Tools) {
		t.Errorf("the SDK gathers %d tools, and pages hold %d", gathered, len(r.Tools))
	}
}

func (g *goClient) call(ctx context.Context, t *testing.T, title string, arguments any) result {
	t.Helper()
	answer, err := g.session.CallTool(ctx, &mcp.CallToolParams{Name: g.names[title], Arguments: arguments})
	if err != nil {
		t.Fatalf("call %s: %v", title, err)
	}
	return through[result](t, answer)
}

// counting calls the tool that counts; heard is told of each sign whose token is the same, in JSON's eyes, as the call's.
func (g *goClient) counting(ctx context.Context, key string, token any, heard func(sign)) (*mcp.CallToolResult, error) {
	g.mu.Lock()
	g.listeners[fmt.Sprintf("%#v", token)] = heard
	g.mu.Unlock()
	params := &mcp.CallToolParams{Name: g.names["Workshop Count"], Arguments: map[string]any{"key": key}}
	params.SetProgressToken(token)
	return g.session.CallTool(ctx, params)
}

// count listens to three signs and tells the call to finish, on the same session; then it does without a token.
func (g *goClient) count(ctx context.Context, t *testing.T, r *report, key map[string]string) {
	t.Helper()
	var mu sync.Mutex
	var signs []sign
	third := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if until(ctx, third) == nil {
			g.call(ctx, t, "Workshop Finish", map[string]any{"key": key["count"]})
		}
	})
	answer, err := g.counting(ctx, key["count"], "aloud", func(s sign) {
		mu.Lock()
		defer mu.Unlock()
		if signs = append(signs, s); len(signs) == 3 {
			close(third)
		}
	})
	if err != nil {
		t.Fatalf("count: %v", err)
	}
	r.Counted = through[result](t, answer)
	waiting.Wait()
	// The SDK may still be handing over what came before the result.
	mu.Lock()
	r.Signs = slices.Clone(signs)
	mu.Unlock()

	waiting.Go(func() {
		g.call(ctx, t, "Workshop Await Begin", map[string]any{"key": key["silent"]})
		g.call(ctx, t, "Workshop Finish", map[string]any{"key": key["silent"]})
	})
	r.Silent = g.call(ctx, t, "Workshop Count", map[string]any{"key": key["silent"]})
	waiting.Wait()
}

// meet makes three calls that return only when all three are there.
func (g *goClient) meet(ctx context.Context, t *testing.T, r *report, key string) {
	t.Helper()
	r.Met = make([]string, len(attendees))
	var waiting sync.WaitGroup
	for i, name := range attendees {
		waiting.Go(func() {
			met := g.call(ctx, t, "Workshop Meet", map[string]any{"key": key, "expected": len(attendees), "name": name})
			var who struct{ Name string }
			if err := json.Unmarshal(met.StructuredContent, &who); err != nil {
				t.Errorf("Meet gave %+v: %v", met, err)
			}
			r.Met[i] = who.Name
		})
	}
	waiting.Wait()
}

// abort cancels a call that runs: one that waits when the service has it, one that counts at its second sign. It
// returns when the service says that the call's context has ended, and gives the SDK's error.
func (g *goClient) abort(ctx context.Context, t *testing.T, title, key string) string {
	t.Helper()
	aborting, abort := context.WithCancel(ctx)
	defer abort()
	var waiting sync.WaitGroup
	var err error
	if title == "Workshop Count" {
		var heard atomic.Int32
		_, err = g.counting(aborting, key, 7, func(sign) {
			if heard.Add(1) == 2 {
				abort()
			}
		})
	} else {
		waiting.Go(func() {
			g.call(ctx, t, "Workshop Await Begin", map[string]any{"key": key})
			abort()
		})
		_, err = g.session.CallTool(aborting, &mcp.CallToolParams{Name: g.names[title], Arguments: map[string]any{"key": key}})
	}
	waiting.Wait()
	if err == nil {
		t.Fatalf("%s succeeded although it was aborted", title)
	}
	g.call(ctx, t, "Workshop Await End", map[string]any{"key": key})
	return err.Error()
}

// through reads what the SDK made of an answer as JSON.
func through[T any](t *testing.T, v any) T {
	t.Helper()
	var out T
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// wire adds a machine's credentials to every request, and notes what goes over it.
type wire struct {
	machine stack.Machine
	base    *http.Transport

	mu        sync.Mutex
	exchanges []exchange
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("clientId", w.machine.ClientID)
	r.Header.Set("clientSecret", w.machine.ClientSecret)
	e := exchange{Verb: r.Method, Version: r.Header.Get("MCP-Protocol-Version")}
	for name, values := range r.Header {
		if name = strings.ToLower(name); strings.HasPrefix(name, "mcp-param-") {
			if e.Params == nil {
				e.Params = map[string]string{}
			}
			e.Params[name] = strings.Join(values, ", ")
		}
	}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		r.Body = io.NopCloser(bytes.NewReader(body))
		e.read(body)
	}
	response, err := w.base.RoundTrip(r)
	if err == nil {
		e.Status, e.Type = response.StatusCode, response.Header.Get("Content-Type")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.exchanges = append(w.exchanges, e)
	return response, err
}

func (w *wire) all() []exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.exchanges)
}

// read notes what a body asks for.
func (e *exchange) read(body []byte) {
	var message struct {
		Method string
		Params struct {
			Name string
			Meta struct{ ProgressToken any } `json:"_meta"`
		}
	}
	if json.Unmarshal(body, &message) == nil {
		e.Method, e.Name, e.Token = message.Method, message.Params.Name, message.Params.Meta.ProgressToken != nil
	}
}
