package boundary_test

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"testing"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
)

// own says what stands for the front's own address in the rows below.
const own = "OWN"

// heads of a request by Host and Origin, and whether the edge takes it: where only this machine can connect, and where
// others can.
var headsByOrigin = []struct {
	name, host        string
	origins           []string
	loopback, outside bool
}{
	{"no origin", own, nil, true, true},

	{"localhost", own, []string{"http://localhost"}, true, false},
	{"localhost on a port", own, []string{"http://localhost:6274"}, true, false},
	{"LOCALHOST over TLS", own, []string{"HTTPS://LOCALHOST:1"}, true, false},
	{"127.0.0.1", own, []string{"http://127.0.0.1:80"}, true, false},
	{"127.8.8.8", own, []string{"http://127.8.8.8"}, true, false},
	{"[::1]", own, []string{"http://[::1]:3000"}, true, false},
	{"[::ffff:127.0.0.1]", own, []string{"http://[::ffff:127.0.0.1]"}, true, false},
	{"localhost with a dot", own, []string{"http://localhost."}, false, false},
	{"localhost below", own, []string{"http://app.localhost"}, false, false},
	{"localhost above", own, []string{"http://localhost.example"}, false, false},
	{"localhost with a user", own, []string{"http://user@localhost"}, false, false},
	{"localhost as a user", own, []string{"http://localhost@evil.example"}, false, false},
	{"localhost with a path", own, []string{"http://localhost/"}, false, false},
	{"localhost with a query", own, []string{"http://localhost?x"}, false, false},
	{"localhost of a file", own, []string{"file://localhost"}, false, false},
	{"localhost without a scheme", own, []string{"localhost"}, false, false},
	{"an address of localhost in another base", own, []string{"http://0x7f000001"}, false, false},
	{"any address", own, []string{"http://0.0.0.0"}, false, false},

	{"null", own, []string{"null"}, false, false},
	{"empty", own, []string{""}, false, false},
	{"blank", own, []string{" "}, false, false},
	{"two lines", own, []string{page, page}, false, false},
	{"two lines, one foreign", own, []string{page, stranger}, false, false},
	{"two in a line", own, []string{page + " " + page}, false, false},
	{"foreign", own, []string{stranger}, false, false},
	{"foreign, like the host", "evil.example", []string{"http://evil.example"}, false, false},

	{"configured", own, []string{page}, true, true},
	{"configured, with its port", own, []string{page + ":443"}, true, true},
	{"configured, in capitals", own, []string{"HTTPS://APP.EXAMPLE"}, true, true},
	{"configured, with a dot", own, []string{page + "."}, false, false},
	{"configured, in another scheme", own, []string{"http://app.example"}, false, false},
	{"configured, on another port", own, []string{page + ":444"}, false, false},
	{"the edge's own", own, []string{"https://tools.example:8443"}, true, true},
	{"the edge's own, on another port", own, []string{"https://tools.example"}, false, false},

	{"host localhost", "localhost", nil, true, true},
	{"host LocalHost on a port", "LocalHost:1", nil, true, true},
	{"host 127.0.0.1", "127.0.0.1", nil, true, true},
	{"host [::1]", "[::1]:80", nil, true, true},
	{"host of the edge", "tools.example:8443", nil, true, true},
	{"host of the edge on another port", "TOOLS.example", nil, true, true},
	{"host of a page", "app.example", nil, true, true},
	{"host localhost with a dot", "localhost.", nil, false, true},
	{"foreign host", "evil.example", nil, false, true},
	{"foreign host with a port", "evil.example:80", nil, false, true},
	{"host of any address", "0.0.0.0", nil, false, true},
	{"host below localhost", "x.localhost", nil, false, true},
	{"foreign host and an origin that is fine", "evil.example", []string{page}, false, true},
}

// What Host and Origin an edge takes depends on where the connection came in, not on how it listens, and not on what
// the caller says of itself.
func TestOrigin_dependsOnWhereTheConnectionCameIn(t *testing.T) {
	h := newConnectionHouse(t, configured(func(cfg *configv1.EdgeConfig) {
		cfg.AllowedOrigins = []string{page}
		cfg.BaseUrl = "https://tools.example:8443"
	}))
	everywhere := h.serve(how{address: "0.0.0.0:0"})
	_, port, err := net.SplitHostPort(everywhere.host)
	if err != nil {
		t.Fatal(err)
	}
	for _, listener := range []struct {
		name string
		dial func(t *testing.T) *front
		// outside says that others than this machine reach the address.
		outside bool
	}{
		{"on 127.0.0.1", func(*testing.T) *front { return h.serve(how{}) }, false},
		{"on [::1]", func(t *testing.T) *front {
			l, err := net.Listen("tcp", "[::1]:0")
			if err != nil {
				t.Skipf("SKIP: this machine has no IPv6: %v", err)
			}
			_ = l.Close()
			return h.serve(how{address: "[::1]:0"})
		}, false},
		{"on every address, by loopback", func(*testing.T) *front { return everywhere.at("127.0.0.1:" + port) }, false},
		{"on every address, by another", func(t *testing.T) *front { return everywhere.at(net.JoinHostPort(outside(t), port)) }, true},
	} {
		t.Run(listener.name, func(t *testing.T) {
			f := listener.dial(t)
			l := f.dial(t)
			for _, row := range headsByOrigin {
				want := row.loopback
				if listener.outside {
					want = row.outside
				}
				t.Run(row.name, func(t *testing.T) {
					l.t = t
					s := say(version20251125, `"id"`, row.name)
					headers := s.headers(h.caller)
					headers["Origin"] = row.origins
					if row.host != own {
						headers.Set("Host", row.host)
					}
					headers.Set("X-Forwarded-Host", "localhost")
					headers.Set("Forwarded", "host=localhost;proto=https")
					l.write(f.head("POST /mcp", headers, len(s.body())) + s.body())
					a, last := l.read(http.MethodPost)
					if last {
						t.Error("the connection ends with the answer")
					}
					if !want {
						checkHeadRefusal(t, a, http.StatusForbidden, -32600)
						return
					}
					if got := wordOf(t, a, s.id); got != row.name {
						t.Errorf("answered %q", got)
					}
				})
			}
		})
	}
}

// at is the front by another of its addresses.
func (f *front) at(host string) *front {
	other := *f
	other.host = host
	return &other
}

// outside is an address of this machine that is not on loopback.
func outside(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		prefix, err := netip.ParsePrefix(fmt.Sprint(a))
		if err == nil && prefix.Addr().Is4() && !prefix.Addr().IsLoopback() {
			return prefix.Addr().String()
		}
	}
	t.Skip("SKIP: this machine has no IPv4 address but those on loopback")
	return ""
}
