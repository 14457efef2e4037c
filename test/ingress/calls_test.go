package ingress_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// limit is max_request_bytes of edge.yaml and client_max_body_size of nginx.conf.
const limit = 4 << 20

func echo(c *call) error { return c.answer(c.text) }

// fetch answers with as many bytes as were asked for, which repeat nothing soon.
func fetch(c *call) error { return c.answer(content(c.size)) }

func content(size int) string {
	var b strings.Builder
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "%d:ü€ ", i)
	}
	return strings.ToValidUTF8(b.String()[:size], "")
}

func TestIngress_passesOn(t *testing.T) {
	h := newHouse(t)
	h.depot.on("Echo", echo)
	h.depot.on("Fetch", fetch)
	h.depot.on("Wait", func(*call) error { return status.Error(codes.FailedPrecondition, "the depot is closed") })
	e := h.startEdge()
	n := startNginx(t, []*edge{e})
	for _, version := range versions {
		t.Run(version.name, func(t *testing.T) {
			c := h.client(t, n, version.http2)
			t.Run("calls", func(t *testing.T) { h.passesCalls(t, c, version.name) })
			t.Run("refusals of the edge", func(t *testing.T) { h.passesRefusals(t, c, h.direct(t, e)) })
			t.Run("large results", func(t *testing.T) { h.passesLargeResults(t, c) })
			t.Run("large requests", func(t *testing.T) { h.passesLargeRequests(t, c, h.direct(t, e)) })
			t.Run("headers", func(t *testing.T) { h.passesHeaders(t, c) })
			t.Run("other paths", func(t *testing.T) { h.keepsPathsInside(t, c, h.direct(t, e)) })
		})
	}
	t.Run("malformed requests", func(t *testing.T) { refusesMalformedRequests(t, n) })
	t.Run("logs", func(t *testing.T) {
		raw, err := os.ReadFile(filepath.Join(n.dir, "access.log"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), `"method":"POST","protocol":"HTTP/2.0","status":"200"`) {
			t.Errorf("the access log has no line of a call:\n%.2000s", raw)
		}
		for _, secret := range []string{h.caller.ClientSecret, "grüß", "w6k="} {
			if strings.Contains(string(raw), secret) || strings.Contains(n.process.Output(), secret) {
				t.Errorf("nginx logs %q of a request", secret)
			}
		}
	})
}

func (h *house) passesCalls(t *testing.T, c *client, version string) {
	c = c.in(t)
	listed := c.post(`{"jsonrpc":"2.0","id":"list-1","method":"tools/list"}`)
	if listed.status != http.StatusOK || !strings.HasPrefix(listed.proto, version) ||
		!strings.HasPrefix(listed.body, `{"jsonrpc":"2.0","id":"list-1","result":{`) {
		t.Errorf("tools/list: %s %d\n%.400s", listed.proto, listed.status, listed.body)
	}
	for rpc, name := range h.tools {
		if !strings.Contains(listed.body, `"name":"`+name+`"`) {
			t.Errorf("%s is not listed:\n%.2000s", rpc, listed.body)
		}
	}
	if got := c.post(h.callBody("1", "Echo", `{"text":"grüß dich"}`)).text(t); got != "grüß dich" {
		t.Errorf("the call gave %q", got)
	}
	failed := c.post(h.callBody("2", "Wait", "{}"))
	if failed.status != http.StatusOK || !strings.Contains(failed.body, `"isError":true`) ||
		!strings.Contains(failed.body, "the depot is closed") {
		t.Errorf("the service's refusal: %d\n%.400s", failed.status, failed.body)
	}
	if accepted := c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); accepted.status != http.StatusAccepted ||
		accepted.body != "" {
		t.Errorf("a notification: %d %q", accepted.status, accepted.body)
	}
}

// passesRefusals holds that what the edge refuses reaches the client of nginx to the byte.
func (h *house) passesRefusals(t *testing.T, c, direct *client) {
	c, direct = c.in(t), direct.in(t)
	call := h.callBody("7", "Echo", "{}")
	anonymous := func(r *http.Request) {
		r.Header.Del("clientId")
		r.Header.Del("clientSecret")
	}
	for _, row := range []struct {
		name   string
		body   string
		edit   func(*http.Request)
		status int
		header string // of which the value must be the edge's, too
	}{
		{"no credentials", call, anonymous, http.StatusUnauthorized, "Www-Authenticate"},
		{"a bearer token", call, header("Authorization", "Bearer abc"), http.StatusUnauthorized, "Www-Authenticate"},
		{"a foreign origin", call, header("Origin", "https://evil.example.com"), http.StatusForbidden, ""},
		{"the origin null", call, header("Origin", "null"), http.StatusForbidden, ""},
		{"an origin that differs in its port", call, header("Origin", "https://"+host+":8443"), http.StatusForbidden, ""},
		{"a host that nginx serves and the edge does not", call, to(other), http.StatusForbidden, ""},
		{"another method", "", func(r *http.Request) { r.Method = http.MethodGet }, http.StatusMethodNotAllowed, "Allow"},
		{"another media type", call, header("Content-Type", "text/plain"), http.StatusUnsupportedMediaType, ""},
		{"no JSON", "{", nil, http.StatusBadRequest, ""},
		{"a batch", "[" + call + "]", nil, http.StatusBadRequest, ""},
		{"an unknown method", `{"jsonrpc":"2.0","id":"ä","method":"no/such"}`, nil, http.StatusOK, ""},
		{"an unknown version", call, header("MCP-Protocol-Version", "1999-01-01"), http.StatusBadRequest, ""},
		{"a routing header that stands twice", h.modernCall("Echo", `{"text":"a"}`), h.modern("Echo", func(r *http.Request) {
			r.Header.Add("Mcp-Name", h.tools["Echo"])
		}), http.StatusBadRequest, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			edit := func(r *http.Request) {
				if row.edit != nil {
					row.edit(r)
				}
			}
			want := direct.in(t).post(row.body, to(host), edit)
			got := c.in(t).post(row.body, edit)
			if want.status != row.status || got.status != row.status || got.body != want.body || got.body == "" {
				t.Errorf("through nginx %d %s\ndirectly %d %s", got.status, got.body, want.status, want.body)
			}
			if row.header != "" && (got.header.Get(row.header) == "" || got.header.Get(row.header) != want.header.Get(row.header)) {
				t.Errorf("%s is %q, of the edge %q", row.header, got.header.Get(row.header), want.header.Get(row.header))
			}
		})
	}
	challenge := c.post(call, anonymous).header.Get("WWW-Authenticate")
	if want := `resource_metadata="https://` + host + `/.well-known/`; !strings.Contains(challenge, want) {
		t.Errorf("the challenge is %q, without %q", challenge, want)
	}
	if got := c.post(call, header("Origin", "https://"+host)); got.status != http.StatusOK {
		t.Errorf("the edge's own origin: %d %s", got.status, got.body)
	}
	c.post(call, to("evil.example.com")).refused(t, http.StatusMisdirectedRequest, refusalOtherHost)
	// Nobody is let in by what a caller says of the way.
	c.post(call, to("evil.example.com"), header("X-Forwarded-Host", host)).refused(t, http.StatusMisdirectedRequest,
		refusalOtherHost)
}

func (h *house) passesLargeResults(t *testing.T, c *client) {
	c = c.in(t)
	for _, size := range []int{64 << 10, 300 << 10, 12 << 20} {
		want := content(size)
		got := c.post(h.callBody("1", "Fetch", fmt.Sprintf(`{"size":%d}`, size))).text(t)
		if sha256.Sum256([]byte(got)) != sha256.Sum256([]byte(want)) {
			t.Errorf("a result of %d bytes arrived as %d others", len(want), len(got))
		}
	}
}

func (h *house) passesLargeRequests(t *testing.T, c, direct *client) {
	c = c.in(t)
	// of gives a call whose body has this length.
	of := func(length int) string {
		frame := h.callBody("1", "Fetch", `{"size":1,"text":""}`)
		return strings.Replace(frame, `"text":""`, `"text":"`+strings.Repeat("x", length-len(frame))+`"`, 1)
	}
	chunked := func(r *http.Request) {
		// Without the length, and without what lets net/http find it.
		r.Body, r.ContentLength = io.NopCloser(io.MultiReader(r.Body)), -1
	}
	tooLarge := direct.in(t).post(of(limit+1), to(host))
	for _, row := range []struct {
		name   string
		length int
		edit   func(*http.Request)
	}{
		{"declared", limit, func(*http.Request) {}},
		{"not declared", limit, chunked},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := c.in(t)
			before := h.depot.count("Fetch")
			if got := c.post(of(row.length), row.edit).text(t); got != content(1) {
				t.Errorf("the largest body gave %q", got)
			}
			c.post(of(row.length+1), row.edit).refused(t, http.StatusRequestEntityTooLarge, tooLarge.body)
			if got := c.post(of(2*row.length), row.edit); got.status != tooLarge.status || got.body != tooLarge.body {
				t.Errorf("twice the largest: %d %s", got.status, got.body)
			}
			if calls := h.depot.count("Fetch") - before; calls != 1 {
				t.Errorf("%d calls reached the service, want 1", calls)
			}
		})
	}
	// The challenge reaches whoever sends much, although the edge does not read it.
	got := c.post(of(limit), func(r *http.Request) { r.Header.Del("clientSecret") })
	if got.status != http.StatusUnauthorized || got.header.Get("WWW-Authenticate") == "" {
		t.Errorf("a large body without credentials: %d %v %s", got.status, got.header, got.body)
	}
}

// passesHeaders holds that what clients say in headers arrives, whatever the headers are called.
func (h *house) passesHeaders(t *testing.T, c *client) {
	c = c.in(t)
	h.depot.on("Route", func(c *call) error { return c.answer(c.text) })
	route := func(edits ...func(*http.Request)) reply {
		return c.post(h.modernCall("Route", `{"region":"eu","taxRegion":"é","shelf":"7"}`), append([]func(*http.Request){
			h.modern("Route"), header("Mcp-Param-Region", "eu"), header("Mcp-Param-Tax_Region", "=?base64?w6k=?="),
			header("Mcp-Param-Shelf.no+1", "7")}, edits...)...)
	}
	if got := route().text(t); got != "eu" {
		t.Errorf("the call gave %q", got)
	}
	for _, name := range []string{"Mcp-Param-Region", "Mcp-Param-Tax_Region", "Mcp-Param-Shelf.no+1"} {
		got := route(func(r *http.Request) { r.Header.Del(name) })
		if got.status != http.StatusBadRequest || !strings.Contains(got.body, `"code":-32020`) ||
			!strings.Contains(got.body, http.CanonicalHeaderKey(name)) {
			t.Errorf("without %s: %d %s", name, got.status, got.body)
		}
	}
	for _, length := range []int{1 << 10, 15 << 10} {
		if got := route(header("X-Trace", strings.Repeat("x", length))); got.status != http.StatusOK {
			t.Errorf("with a header of %d bytes: %d %s", length, got.status, got.body)
		}
	}
}

// keepsPathsInside holds which paths of an edge are reached through nginx.
func (h *house) keepsPathsInside(t *testing.T, c, direct *client) {
	c, direct = c.in(t), direct.in(t)
	at := func(path string) func(*http.Request) {
		return func(r *http.Request) {
			r.Method, r.URL.Path = http.MethodGet, path
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/", "/mcp/", "/MCP", "/refusals/bad-request"} {
		t.Run(path, func(t *testing.T) {
			c.in(t).post("", at(path)).refused(t, http.StatusNotFound, refusalNothingHere)
		})
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if got := direct.post("", at(path)); got.status != http.StatusOK {
			t.Errorf("%s of the edge itself: %d %s", path, got.status, got.body)
		}
	}
	const metadata = "/.well-known/oauth-protected-resource/mcp"
	got, want := c.post("", at(metadata)), direct.post("", to(host), at(metadata))
	if got.status != want.status || got.body != want.body {
		t.Errorf("%s is answered %d %q, by the edge %d %q", metadata, got.status, got.body, want.status, want.body)
	}
}
