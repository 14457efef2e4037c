package boundary_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
)

// smallBody is the largest body of these tests: enough for a call, and small beside what net/http discards of a body
// that nobody reads, which is 256 KiB.
const smallBody = 32 << 10

// refusal is one request that brings no result.
type refusal struct {
	name string
	// method is POST where it is empty, and target /mcp.
	method, target string
	// change makes the headers of a sound call of the version differ.
	change func(headers http.Header)
	// version is that of the headers.
	version string
	// body is sent with its length, or in chunks.
	body    string
	chunked bool
	// declared is the length where it is not the body's.
	declared int
	status   int
	code     int
	// closes says that the connection ends with the answer.
	closes bool
}

func with(name, value string) func(http.Header) {
	return func(headers http.Header) { headers.Set(name, value) }
}

func without(names ...string) func(http.Header) {
	return func(headers http.Header) {
		for _, name := range names {
			headers.Del(name)
		}
	}
}

// refusals are the edge's, each with a body that holds a sound request of its own: where the edge loses count of what is
// body and what is not, the tool hears of it.
func refusals(hidden string) []refusal {
	const legacy, modern = version20251125, version20260728
	text := quote(hidden) // as part of a document
	ping := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"ping","params":{` + params + `}}`
	}
	large := strings.Repeat("x", smallBody) + hidden
	huge := strings.Repeat(hidden, (1<<20)/len(hidden))
	return []refusal{
		{name: "a foreign host", change: with("Host", "evil.example"), body: hidden, status: 403, code: -32600},
		{name: "a foreign origin", change: with("Origin", "https://evil.example"), body: hidden, status: 403, code: -32600},
		{name: "GET with a body", method: "GET", body: hidden, status: 405, code: -32600},
		{name: "GET without one", method: "GET", status: 405, code: -32600},
		{name: "DELETE", method: "DELETE", body: hidden, status: 405, code: -32600},
		{name: "OPTIONS", method: "OPTIONS", body: hidden, status: 405, code: -32600},
		{name: "another method", method: "BREW", body: hidden, chunked: true, status: 405, code: -32600},
		{name: "HEAD", method: "HEAD", body: hidden, status: 405},
		{name: "a body of text", change: with("Content-Type", "text/plain"), body: hidden, status: 415, code: -32600},
		{name: "a body in chunks of text", change: with("Content-Type", "text/plain"), body: hidden, chunked: true, status: 415, code: -32600},
		{name: "a compressed body", change: with("Content-Encoding", "gzip"), body: hidden, status: 415, code: -32600},
		{name: "a length somewhat over the limit", body: large, status: 413, code: -32600},
		{name: "a length far over the limit", body: huge, status: 413, code: -32600, closes: true},
		{name: "a length far over the limit and nothing behind it", declared: 1 << 40, status: 413, code: -32600, closes: true},
		{name: "chunks somewhat over the limit", body: large, chunked: true, status: 413, code: -32600, closes: true},
		{name: "chunks far over the limit", body: huge, chunked: true, status: 413, code: -32600, closes: true},
		{name: "no credentials", change: without("Clientid", "Clientsecret"), body: hidden, status: 401, code: 401},
		{name: "no credentials, in chunks", change: without("Clientid", "Clientsecret"), body: hidden, chunked: true, status: 401, code: 401},
		{name: "no credentials and a large body", change: without("Clientid", "Clientsecret"), body: huge, chunked: true, status: 401, code: 401, closes: true},
		{name: "wrong credentials", change: with("Clientsecret", "wrong"), body: hidden, status: 401, code: 401},
		{name: "a token", change: with("Authorization", "Bearer x"), body: hidden, status: 401, code: 401},
		{name: "no such path", target: "/messages", body: hidden, status: 404},
		{name: "a post to a probe", target: "/healthz", body: hidden, status: 405},

		{name: "no body", status: 400, code: -32700},
		{name: "no JSON", body: hidden, status: 400, code: -32700},
		{name: "no JSON, in chunks", body: hidden, chunked: true, status: 400, code: -32700},
		{name: "JSON and more", body: ping("") + hidden, status: 400, code: -32700},
		{name: "JSON cut off", body: `{"jsonrpc":"2.0","id":1,"method":` + text, status: 400, code: -32700},
		{name: "a batch", body: "[" + ping("") + "]", status: 400, code: -32600},
		{name: "an id of null", body: `{"jsonrpc":"2.0","id":null,"method":"ping"}`, status: 400, code: -32600},
		{name: "no version of JSON-RPC", body: `{"id":1,"method":` + text + `}`, status: 400, code: -32600},
		{name: "malformed chunks", body: "", chunked: true, declared: -1, status: 400, code: -32600, closes: true},

		{name: "a version that is not served", version: "1999-01-01", body: ping(`"x":` + text), status: 400, code: -32022},
		{name: "an unknown method", version: legacy, body: `{"jsonrpc":"2.0","id":1,"method":` + text + `}`, status: 200, code: -32601},
		{name: "an unknown method in the modern era", version: modern, change: with("Mcp-Method", "brew"),
			body: `{"jsonrpc":"2.0","id":1,"method":"brew","params":{` + modernMeta + `}}`, status: 404, code: -32601},
		{name: "an envelope that lacks its _meta", version: modern, body: ping(`"x":` + text), status: 400, code: -32602},
		{name: "a header that says another method", version: modern, change: with("Mcp-Method", "ping"),
			body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + modernMeta + `}}`, status: 400, code: -32020},
		{name: "a tool that nobody has", version: legacy, body: asked{version: legacy, id: "1", tool: hidden[:100]}.body(), status: 200, code: -32602},
		{name: "arguments that are none", version: legacy, body: asked{version: legacy, id: "1", tool: "say", arguments: "[" + text + "]"}.body(), status: 200, code: -32602},
		{name: "arguments that the gate refuses", version: legacy, body: asked{version: legacy, id: "1", tool: "say", arguments: `{"x":` + text + "}"}.body(), status: 200},
		{name: "a service that fails", version: legacy, body: asked{version: legacy, id: "1", tool: "wait", arguments: `{"word":` + text + "}"}.body(), status: 200},
		{name: "a notification", version: legacy, body: `{"jsonrpc":"2.0","method":` + text + `}`, status: 202},
		{name: "a posted response", version: legacy, body: `{"jsonrpc":"2.0","id":1,"result":{"x":` + text + `}}`, status: 202},
		{name: "a posted response in the modern era", version: modern, body: `{"jsonrpc":"2.0","id":1,"result":{"x":` + text + `}}`, status: 400, code: -32600},
	}
}

// modernMeta is the _meta of a sound request of the modern era.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// render writes the request of a refusal.
func (f *front) render(r *refusal) string {
	headers := f.caller.headers(r.version)
	if r.change != nil {
		r.change(headers)
	}
	line := or(r.method, http.MethodPost) + " " + or(r.target, "/mcp")
	switch {
	case r.chunked && r.declared < 0:
		headers.Set("Transfer-Encoding", "chunked")
		return f.head(line, headers, -1) + "nonsense\r\n" + r.body
	case r.chunked:
		headers.Set("Transfer-Encoding", "chunked")
		return f.head(line, headers, -1) + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(r.body), r.body)
	case r.declared != 0:
		return f.head(line, headers, r.declared) + r.body
	default:
		return f.head(line, headers, len(r.body)) + r.body
	}
}

// After every refusal a connection either serves the next requests, of both eras, or it says that it ends and does; and
// a body is a body, whatever it looks like.
func TestConnection_goesOnOrEndsAfterEveryRefusal(t *testing.T) {
	h := newConnectionHouse(t, configured(func(cfg *configv1.EdgeConfig) { cfg.MaxRequestBytes = smallBody }))
	h.witness.answer(waitMethod, func(context.Context, *seen) ([]byte, error) {
		return nil, status.Error(codes.FailedPrecondition, "not today")
	})
	f := h.serve(how{})
	hidden := f.onTheWire(say(version20251125, "1", "smuggled"), h.caller)
	for i := range refusals(hidden) {
		r := &refusals(hidden)[i]
		for _, row := range []struct {
			name string
			// ahead sends the next request before the answer to this one has come.
			ahead bool
		}{{"one after another", false}, {"ahead", true}} {
			t.Run(r.name+"/"+row.name, func(t *testing.T) {
				f.survives(t, r, row.ahead)
			})
		}
	}
}

// survives sends sound requests around a refused one over one connection.
func (f *front) survives(t *testing.T, r *refusal, ahead bool) {
	before := f.visitors.count()
	l := f.dial(t)
	calls := []asked{say(version20251125, `"before"`, "alpha"), say(version20260728, "2", "beta"), say(version20250326, `"3"`, "gamma")}
	heard := f.hear()
	l.write(f.onTheWire(calls[0], f.caller))
	first, last := l.read(http.MethodPost)
	if got := wordOf(t, first, calls[0].id); got != "alpha" || last {
		t.Fatalf("before the refusal: %q, last %v", got, last)
	}
	following := f.onTheWire(calls[1], f.caller) + f.onTheWire(calls[2], f.caller)
	switch {
	case ahead:
		l.feed(f.render(r) + following)
	case r.closes:
		l.feed(f.render(r))
	default:
		l.write(f.render(r))
	}
	refused, last := l.read(or(r.method, http.MethodPost))
	switch {
	case r.code != 0 && r.status != 200:
		checkCode(t, refused, r.status, r.code)
	case refused.status != r.status:
		t.Fatalf("status %d, want %d: %.300s", refused.status, r.status, refused.body)
	}
	if last != r.closes {
		t.Fatalf("the answer is the connection's last: %v, want %v", last, r.closes)
	}
	want := []string{"alpha"}
	if r.closes {
		l.end()
	} else {
		if !ahead {
			l.write(following)
		}
		for _, call := range calls[1:] {
			a, last := l.read(http.MethodPost)
			if last {
				t.Error("the connection is about to end")
			}
			wordOf(t, a, call.id)
		}
		want = append(want, "beta", "gamma")
	}
	if got := heard(); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the tool heard %q, want %q", got, want)
	}
	if got := f.visitors.count() - before; got != 1 {
		t.Errorf("%d connections were needed", got)
	}
}

// checkCode wants a JSON-RPC error.
func checkCode(t testing.TB, a answer, status, code int) {
	t.Helper()
	got := response{t: t, body: a.body}.parse()
	if a.status != status || got.Error == nil || got.Error.Code != code {
		t.Fatalf("answered %d %.300s, want %d and the code %d", a.status, a.body, status, code)
	}
}

// hear gives the words that say got since.
func (h *house) hear() func() []string {
	var words []string
	h.witness.answer(sayMethod, func(_ context.Context, call *seen) ([]byte, error) {
		words = append(words, call.word()) // calls are made one after another
		return call.wire, nil
	})
	return func() []string { return words }
}

// Many requests that are sent in one go, refused ones among them, are answered in their order.
func TestConnection_answersPipelinedRequestsInTheirOrder(t *testing.T) {
	h := newConnectionHouse(t)
	f := h.serve(how{})
	l := f.dial(t)
	const rounds = 50
	var all strings.Builder
	for i := range rounds {
		all.WriteString(f.onTheWire(say(version20251125, fmt.Sprint(i), fmt.Sprint("legacy ", i)), h.caller))
		all.WriteString(f.render(&refusal{method: "DELETE", body: f.onTheWire(say(version20251125, "1", "smuggled"), h.caller)}))
		all.WriteString(f.onTheWire(say(version20260728, fmt.Sprint(-i), fmt.Sprint("modern ", i)), h.caller))
		all.WriteString(f.render(&refusal{body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`}))
	}
	l.feed(all.String())
	for i := range rounds {
		a, _ := l.read(http.MethodPost)
		if got := wordOf(t, a, fmt.Sprint(i)); got != fmt.Sprint("legacy ", i) {
			t.Fatalf("request %d was answered with %q", i, got)
		}
		if a, _ = l.read(http.MethodDelete); a.status != http.StatusMethodNotAllowed {
			t.Fatalf("DELETE %d: %d", i, a.status)
		}
		a, _ = l.read(http.MethodPost)
		if got := wordOf(t, a, fmt.Sprint(-i)); got != fmt.Sprint("modern ", i) {
			t.Fatalf("request -%d was answered with %q", i, got)
		}
		if a, _ = l.read(http.MethodPost); a.status != http.StatusAccepted || len(a.body) > 0 {
			t.Fatalf("notification %d: %d %s", i, a.status, a.body)
		}
	}
	if got := f.visitors.count(); got != 1 {
		t.Errorf("%d connections were needed", got)
	}
}

// A caller that waits for permission to send its body gets it where the edge will read the body, and is else refused
// without.
func TestConnection_asksForABodyOnlyWhenItReadsIt(t *testing.T) {
	h := newConnectionHouse(t)
	f := h.serve(how{})
	call := say(version20251125, "1", "patience")
	t.Run("read", func(t *testing.T) {
		l := f.dial(t)
		headers := call.headers(h.caller)
		headers.Set("Expect", "100-continue")
		l.write(f.head("POST /mcp", headers, len(call.body())))
		interim, err := http.ReadResponse(l.in, nil)
		if err != nil || interim.StatusCode != http.StatusContinue {
			t.Fatalf("the edge says %v, %v", interim, err)
		}
		l.write(call.body() + f.onTheWire(say(version20251125, "2", "more"), h.caller))
		for _, want := range []string{"patience", "more"} {
			a, _ := l.read(http.MethodPost)
			if got := wordOf(t, a, map[string]string{"patience": "1", "more": "2"}[want]); got != want {
				t.Errorf("answered %q, want %q", got, want)
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		before := h.witness.count()
		l := f.dial(t)
		headers := call.headers(credentials{})
		headers.Set("Expect", "100-continue")
		l.write(f.head("POST /mcp", headers, len(call.body())))
		a, last := l.read(http.MethodPost)
		checkHeadRefusal(t, a, 401, 401)
		if !last {
			t.Error("the connection goes on, although nobody can tell whether the body will come")
		}
		// It comes, and is one body still.
		l.feed(strings.Repeat("x", len(call.body())) + f.onTheWire(say(version20251125, "2", "smuggled"), h.caller))
		l.end()
		if calls := h.witness.count(); calls != before {
			t.Errorf("the tool was called %d times", calls-before)
		}
	})
}

// An edge that has not seen its tools yet refuses, and serves the same connection as soon as it has.
func TestConnection_goesOnWhenTheEdgeBecomesReady(t *testing.T) {
	h := newConnectionHouse(t)
	etcd := etcdtest.New(t)
	etcd.Stop()
	unready, err := edge.New(t.Context(), edge.WithEtcd(etcd.NewClient(), ""), edge.WithLogger(slog.New(slog.DiscardHandler)), edge.WithConfig(&configv1.EdgeConfig{
		AnonymousZones: []string{"app-api"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unready.Close(); err != nil {
			t.Error(err)
		}
	})
	f := h.serve(how{handler: unready})
	l := f.dial(t)
	ping := f.render(&refusal{body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, change: without("Clientid", "Clientsecret")})
	l.write(ping)
	a, last := l.read(http.MethodPost)
	checkHeadRefusal(t, a, 503, 503)
	if last || a.header.Get("Retry-After") == "" {
		t.Errorf("the last answer %v, Retry-After %q", last, a.header.Get("Retry-After"))
	}
	etcd.Restart()
	receive(t, unready.Ready(), "the edge becomes ready")
	l.write(ping)
	if a, _ := l.read(http.MethodPost); a.status != http.StatusOK || string(a.body) != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Errorf("answered %d %s", a.status, a.body)
	}
}
