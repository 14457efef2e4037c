package boundary_test

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
)

// page is the origin of a page that the edge of these tests allows, and stranger one that it does not.
const (
	page     = "https://app.example"
	stranger = "https://evil.example"
)

// corsHouse is a house that allows a few origins, in spellings of all kinds.
func corsHouse(t *testing.T, cors bool) *front {
	h := newConnectionHouse(t, configured(func(cfg *configv1.EdgeConfig) {
		cfg.Cors = cors
		cfg.AllowedOrigins = []string{"HTTPS://App.Example:443", "http://dev.example:8080"}
		cfg.BaseUrl = "https://Tools.example/"
		cfg.MaxRequestBytes = smallBody
	}))
	h.witness.stream(climbMethod, func(_ context.Context, _ *seen, send func([]byte) error) error {
		if err := send(step(1, "up")); err != nil {
			return err
		}
		return send(summit("there"))
	})
	return h.serve(how{})
}

// sharing are the headers of an answer by which a browser judges whether a page may read it.
func sharing(header http.Header) []string {
	var out []string
	for name, values := range header {
		if strings.HasPrefix(name, "Access-Control-") || name == "Vary" {
			out = append(out, name+": "+strings.Join(values, " | "))
		}
	}
	slices.Sort(out)
	return out
}

// preflight asks as a browser does before a page's request.
func (l *line) preflight(f *front, origin string, lines ...string) answer {
	l.t.Helper()
	headers := http.Header{
		"Access-Control-Request-Method":  {"POST"},
		"Access-Control-Request-Headers": {"authorization,clientid,clientsecret,content-type,mcp-method,mcp-name,mcp-param-region,mcp-protocol-version"},
	}
	if origin != "" {
		headers.Set("Origin", origin)
	}
	for _, text := range lines {
		name, value, _ := strings.Cut(text, ": ")
		headers[name] = append(headers[name], value)
	}
	l.write(f.head("OPTIONS /mcp", headers, -1))
	a, last := l.read(http.MethodOptions)
	if last {
		l.t.Error("the connection ends with the answer")
	}
	return a
}

// Without the setting no answer is for pages to read, whatever their origin.
func TestCORS_isOffByDefault(t *testing.T) {
	f := corsHouse(t, false)
	l := f.dial(t)
	for _, origin := range []string{"", page, "http://localhost:1", stranger, "null"} {
		a := l.preflight(f, origin)
		want := http.StatusMethodNotAllowed
		if origin == stranger || origin == "null" {
			want = http.StatusForbidden
		}
		checkHeadRefusal(t, a, want, -32600)
		if got := sharing(a.header); got != nil || want == http.StatusMethodNotAllowed && a.header.Get("Allow") != "POST" {
			t.Errorf("a preflight from %q is answered with %q", origin, a.header)
		}
	}
	for _, r := range refusals(strings.Repeat("hidden ", 20)) {
		if r.closes || r.change != nil {
			continue
		}
		r.change = with("Origin", page)
		l.write(f.render(&r))
		if a, _ := l.read(or(r.method, http.MethodPost)); a.status != r.status || sharing(a.header) != nil {
			t.Errorf("%s: %d with %q", r.name, a.status, sharing(a.header))
		}
	}
}

// A preflight from an allowed origin is answered with what a page may send, which is what MCP needs, and without
// credentials, which browsers never send along with one.
func TestCORS_preflight(t *testing.T) {
	f := corsHouse(t, true)
	l := f.dial(t)
	f.forgetLog()
	for _, row := range []struct {
		name, origin, want string
		lines              []string
	}{
		{name: "allowed", origin: page, want: page},
		{name: "allowed, with its port", origin: page + ":443", want: page},
		{name: "allowed, in capitals", origin: "HTTPS://APP.EXAMPLE", want: page},
		{name: "allowed, on another port", origin: "http://dev.example:8080", want: "http://dev.example:8080"},
		{name: "the edge's own", origin: "https://tools.example", want: "https://tools.example"},
		{name: "on loopback", origin: "http://localhost:6274", want: "http://localhost:6274"},
		{name: "of a private network", origin: page, want: page, lines: []string{"Access-Control-Request-Private-Network: true"}},
		{name: "foreign", origin: stranger},
		{name: "allowed, but for its scheme", origin: "http://app.example"},
		{name: "allowed, but for its port", origin: page + ":8443"},
		{name: "of a host below", origin: "https://x.app.example"},
		{name: "null", origin: "null"},
		{name: "the asterisk", origin: "*"},
		{name: "two", origin: page, lines: []string{"Origin: " + page}},
		{name: "two in one", origin: page + ", " + page},
	} {
		t.Run(row.name, func(t *testing.T) {
			l.t = t
			a := l.preflight(f, row.origin, row.lines...)
			if row.want == "" {
				checkHeadRefusal(t, a, http.StatusForbidden, -32600)
				if got := sharing(a.header); !slices.Equal(got, []string{"Vary: Origin"}) {
					t.Errorf("refused with %q", got)
				}
				return
			}
			if a.status != http.StatusNoContent || len(a.body) > 0 {
				t.Errorf("status %d, %q", a.status, a.body)
			}
			if got := a.header["Access-Control-Allow-Origin"]; !slices.Equal(got, []string{row.want}) {
				t.Errorf("allowed for %q, want %s", got, row.want)
			}
			if got := a.header["Vary"]; !slices.Equal(got, []string{"Origin"}) {
				t.Errorf("Vary %q", got)
			}
			checkPreflight(t, a.header)
		})
	}
	l.t = t
	checkHeadRefusal(t, l.preflight(f, ""), http.StatusMethodNotAllowed, -32600)
	for _, s := range f.settled() {
		if s.Outcome != "SUCCESS" && s.Outcome != "REJECTED" {
			t.Errorf("settled as %+v", s)
		}
	}
}

// checkPreflight lets through what a browser lets through (Fetch, "CORS-preflight fetch").
func checkPreflight(t *testing.T, header http.Header) {
	t.Helper()
	list := func(name string) []string {
		var out []string
		for _, item := range strings.Split(header.Get(name), ",") {
			out = append(out, strings.ToLower(strings.TrimSpace(item)))
		}
		return out
	}
	if !slices.Contains(list("Access-Control-Allow-Methods"), "post") {
		t.Errorf("POST is not allowed: %q", header)
	}
	allowed := list("Access-Control-Allow-Headers")
	for _, name := range []string{
		"authorization", "clientid", "clientsecret", "content-type", "accept", "mcp-protocol-version", "mcp-method", "mcp-name",
		"mcp-param-region", "mcp-session-id", "last-event-id", "traceparent",
	} {
		if !slices.Contains(allowed, name) && (name == "authorization" || !slices.Contains(allowed, "*")) {
			t.Errorf("the header %s is not allowed: %q", name, allowed)
		}
	}
	if seconds, err := strconv.Atoi(header.Get("Access-Control-Max-Age")); err != nil || seconds <= 0 || seconds > 86400 {
		t.Errorf("good for %q", header.Get("Access-Control-Max-Age"))
	}
	if header["Access-Control-Allow-Credentials"] != nil {
		t.Error("cookies and the like are allowed, which the asterisk does not go with")
	}
}

// Every answer to an allowed origin can be read by its pages, refusals and streams as much as results; and none to another
// can.
func TestCORS_everyAnswer(t *testing.T) {
	f := corsHouse(t, true)
	hidden := f.onTheWire(say(version20251125, "1", "smuggled"), f.caller)
	shared := []string{
		"Access-Control-Allow-Origin: " + page, "Access-Control-Expose-Headers: WWW-Authenticate, Retry-After", "Vary: Origin",
	}
	for _, r := range slices.Concat(refusals(hidden), []refusal{
		{name: "a result", version: version20251125, body: say(version20251125, "1", "x").body(), status: 200},
		{name: "a list", version: version20251125, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, status: 200},
		{name: "a result of the modern era", version: version20260728, body: say(version20260728, "1", "x").body(), status: 200,
			change: func(headers http.Header) {
				headers.Set("Mcp-Method", "tools/call")
				headers.Set("Mcp-Name", "say")
			}},
		{name: "a stream", version: version20251125, body: asked{version: version20251125, id: "1", tool: "climb", token: "1"}.body(), status: 200},
	}) {
		if r.target != "" {
			continue // other paths are for operators
		}
		t.Run(r.name, func(t *testing.T) {
			change := r.change
			ask := func(origin string) answer {
				r.change = func(headers http.Header) {
					if change != nil {
						change(headers)
					}
					if headers.Get("Origin") == "" && origin != "" {
						headers.Set("Origin", origin)
					}
				}
				l := f.dial(t)
				l.feed(f.render(&r))
				a, _ := l.read(or(r.method, http.MethodPost))
				return a
			}
			if r.name == "OPTIONS" {
				r.status = http.StatusNoContent
			}
			a, want := ask(page), shared
			if strings.Contains(r.name, "foreign origin") {
				want = []string{"Vary: Origin"}
			}
			if got := sharing(a.header); a.status != r.status || !slices.Equal(want, withoutPreflight(got)) {
				t.Errorf("to its own pages: %d with %q, want %d with %q", a.status, got, r.status, want)
			}
			if r.name == "a stream" && !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
				t.Errorf("no stream but %q: %s", a.header.Get("Content-Type"), a.body)
			}
			if got := sharing(ask("").header); !slices.Equal(got, []string{"Vary: Origin"}) {
				t.Errorf("to whoever is no page: %q", got)
			}
			if a = ask(stranger); a.status != http.StatusForbidden || !slices.Equal(sharing(a.header), []string{"Vary: Origin"}) {
				t.Errorf("to other pages: %d with %q", a.status, sharing(a.header))
			}
		})
	}
}

// withoutPreflight leaves out what the answer to a preflight has beside.
func withoutPreflight(lines []string) []string {
	return slices.DeleteFunc(lines, func(text string) bool {
		return strings.HasPrefix(text, "Access-Control-Allow-Methods") || strings.HasPrefix(text, "Access-Control-Allow-Headers") ||
			strings.HasPrefix(text, "Access-Control-Max-Age")
	})
}
