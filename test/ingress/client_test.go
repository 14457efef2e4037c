package ingress_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/test/stack"
)

// versions are the ways in which clients of nginx speak HTTP.
var versions = []struct {
	name  string
	http2 bool
}{
	{"HTTP/1.1", false},
	{"HTTP/2", true},
}

// client is a client of nginx or of an edge, with connections of its own.
type client struct {
	t    testing.TB
	url  string
	http *http.Client
	// machine is who calls.
	machine stack.Machine
}

// client talks to nginx over TLS, as whoever calls from outside.
func (h *house) client(t testing.TB, n *nginx, http2 bool) *client {
	t.Helper()
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: n.trusted, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, n.address)
		},
		Protocols: new(http.Protocols),
	}
	transport.Protocols.SetHTTP1(!http2)
	transport.Protocols.SetHTTP2(http2)
	t.Cleanup(transport.CloseIdleConnections)
	return &client{t: t, url: "https://" + host, http: &http.Client{Transport: transport}, machine: h.caller}
}

// direct talks to an edge without nginx.
func (h *house) direct(t testing.TB, e *edge) *client {
	t.Helper()
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	return &client{t: t, url: "http://" + e.address, http: &http.Client{Transport: transport}, machine: h.caller}
}

// reply is an answer that was read whole.
type reply struct {
	proto  string
	status int
	header http.Header
	body   string
}

// request is a POST to /mcp of the machine. Each edit changes it before it is sent.
func (c *client) request(ctx context.Context, body io.Reader, edits ...func(*http.Request)) *http.Request {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/mcp", body)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", "2025-11-25")
	r.Header.Set("clientId", c.machine.ClientID)
	r.Header.Set("clientSecret", c.machine.ClientSecret)
	for _, edit := range edits {
		edit(r)
	}
	return r
}

// post sends a body and reads the answer.
func (c *client) post(body string, edits ...func(*http.Request)) reply {
	c.t.Helper()
	got, err := c.try(body, edits...)
	if err != nil {
		c.t.Fatal(err)
	}
	return got
}

func (c *client) try(body string, edits ...func(*http.Request)) (reply, error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	response, err := c.http.Do(c.request(ctx, strings.NewReader(body), edits...))
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	return reply{response.Proto, response.StatusCode, response.Header, string(raw)}, err
}

// header sets a header.
func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// to sets the Host.
func to(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }

// callBody is a call of the tool.
func (h *house) callBody(id, rpc, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`,
		id, h.tools[rpc], arguments)
}

// watchBody is a call of the tool with progress, with a token.
func (h *house) watchBody(id, token string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":{},`+
		`"_meta":{"progressToken":%s}}}`, id, h.tools["Watch"], token)
}

// text is the text of a call's answer.
func (r reply) text(t testing.TB) string {
	t.Helper()
	var got struct {
		Result struct {
			StructuredContent struct{ Text string }
			IsError           bool
		}
	}
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || r.status != http.StatusOK || got.Result.IsError {
		t.Fatalf("answer %d is no result: %v\n%.400s", r.status, err, r.body)
	}
	return got.Result.StructuredContent.Text
}

// refused fails the test unless the answer is this JSON-RPC error, whole.
func (r reply) refused(t testing.TB, status int, body string) {
	t.Helper()
	if r.status != status || r.body != body || r.header.Get("Content-Type") != "application/json" ||
		strings.Join(r.header.Values("Cache-Control"), "|") != "no-store" {
		t.Errorf("got %d %v\n%.600s\nwant %d\n%s", r.status, r.header, r.body, status, body)
	}
}

// frames are the frames of a stream that is being read.
type frames struct {
	t        testing.TB
	response *http.Response
	lines    *bufio.Reader
	cancel   context.CancelFunc
}

// watch sends a call and returns when the head of its stream is there.
func (c *client) watch(body string, edits ...func(*http.Request)) *frames {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	bound := time.AfterFunc(patience, cancel)
	c.t.Cleanup(func() {
		bound.Stop()
		cancel()
	})
	response, err := c.http.Do(c.request(ctx, strings.NewReader(body), edits...))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = response.Body.Close() })
	if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != "text/event-stream" {
		raw, _ := io.ReadAll(response.Body)
		c.t.Fatalf("answer %d of type %q is no stream\n%.400s", response.StatusCode, got, raw)
	}
	return &frames{t: c.t, response: response, lines: bufio.NewReader(response.Body), cancel: cancel}
}

// next is the data of the next frame; comments and the names of events are passed over.
func (f *frames) next() string {
	f.t.Helper()
	data, err := f.read()
	if err != nil {
		f.t.Fatalf("read a frame: %v", err)
	}
	return data
}

func (f *frames) read() (string, error) {
	var data string
	for {
		line, err := f.lines.ReadString('\n')
		if err != nil {
			return "", err
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" && data != "":
			return data, nil
		case strings.HasPrefix(line, "data: "):
			data += strings.TrimPrefix(line, "data: ")
		}
	}
}

// end fails the test unless the stream is over.
func (f *frames) end() {
	f.t.Helper()
	if data, err := f.read(); err != io.EOF {
		f.t.Fatalf("after the last frame: %q, %v", data, err)
	}
}

// in is the client with its complaints going to another test, a subtest as a rule.
func (c *client) in(t testing.TB) *client {
	guest := *c
	guest.t = t
	return &guest
}

// modernCall is a call of the tool in protocol version 2026-07-28.
func (h *house) modernCall(rpc, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		h.tools[rpc], arguments)
}

// modern sets the headers that a call of the tool has in that version.
func (h *house) modern(rpc string, edits ...func(*http.Request)) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set("MCP-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", h.tools[rpc])
		for _, edit := range edits {
			edit(r)
		}
	}
}
