package mcp_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestHandler_admitsByHead(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{}, func(o *mcp.Options) {
		o.BaseURL = "https://tools.example.com/"
		o.AllowedOrigins = []string{"https://app.example.com", "http://other.example.com:8080"}
		o.MaxBodyBytes = 100
	})
	header := func(pairs ...string) map[string]string {
		m := make(map[string]string)
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	tests := []struct {
		name   string
		call   call
		status int
	}{
		{"POST", call{}, 200},
		{"GET", call{method: "GET"}, 405},
		{"HEAD", call{method: "HEAD"}, 405},
		{"DELETE", call{method: "DELETE"}, 405},
		{"PUT", call{method: "PUT"}, 405},
		{"OPTIONS", call{method: "OPTIONS"}, 405},
		{"GET for a stream", call{method: "GET", headers: header("Accept", "text/event-stream")}, 405},

		{"host localhost", call{host: "localhost:1234"}, 200},
		{"host LOCALHOST", call{host: "LOCALHOST"}, 200},
		{"host 127.0.0.1", call{host: "127.0.0.1"}, 200},
		{"host [::1]", call{host: "[::1]:80"}, 200},
		{"host of the base URL", call{host: "tools.example.com"}, 200},
		{"foreign host", call{host: "evil.example.com"}, 403},
		{"host that begins like ours", call{host: "localhost.example.com"}, 403},
		{"foreign host before a wrong method", call{method: "GET", host: "evil.example.com"}, 403},

		{"origin on loopback", call{headers: header("Origin", "http://localhost:6274")}, 200},
		{"origin on 127.0.0.1", call{headers: header("Origin", "http://127.0.0.1:9")}, 200},
		{"origin on [::1]", call{headers: header("Origin", "http://[::1]:9")}, 200},
		{"origin of the base URL", call{headers: header("Origin", "https://tools.example.com")}, 200},
		{"origin of the base URL with its port", call{headers: header("Origin", "https://tools.example.com:443")}, 200},
		{"origin of the base URL in another scheme", call{headers: header("Origin", "http://tools.example.com")}, 403},
		{"configured origin", call{headers: header("Origin", "https://app.example.com")}, 200},
		{"configured origin with a port", call{headers: header("Origin", "http://other.example.com:8080")}, 200},
		{"configured origin with another port", call{headers: header("Origin", "https://app.example.com:8443")}, 403},
		{"foreign origin", call{headers: header("Origin", "https://evil.example.com")}, 403},
		{"origin null", call{headers: header("Origin", "null")}, 403},
		{"origin that does not parse", call{headers: header("Origin", "http://[")}, 403},
		{"origin with a path", call{headers: header("Origin", "http://localhost/x")}, 403},
		{"origin with a user", call{headers: header("Origin", "http://localhost@evil.example.com")}, 403},
		{"origin in another scheme", call{headers: header("Origin", "ftp://localhost")}, 403},
		{"foreign origin before a wrong method", call{method: "GET", headers: header("Origin", "https://evil.example.com")}, 403},

		{"JSON in UTF-8", call{headers: header("Content-Type", "application/json; charset=utf-8")}, 200},
		{"JSON in another case", call{headers: header("Content-Type", "Application/JSON;charset=UTF-8")}, 200},
		{"JSON in Latin-1", call{headers: header("Content-Type", "application/json; charset=iso-8859-1")}, 415},
		{"text", call{headers: header("Content-Type", "text/plain")}, 415},
		{"no type", call{headers: header("Content-Type", "")}, 415},
		{"nonsense for a type", call{headers: header("Content-Type", ";;")}, 415},
		{"JSON of another kind", call{headers: header("Content-Type", "application/json-rpc")}, 415},
		{"compressed", call{headers: header("Content-Encoding", "gzip")}, 415},
		{"not compressed, said explicitly", call{headers: header("Content-Encoding", "identity")}, 200},

		{"declared length over the limit", call{body: ping + strings.Repeat(" ", 100)}, 413},
		{"declared length at the limit", call{body: ping + strings.Repeat(" ", 100-len(ping))}, 200},
		{"too large before wrong credentials", call{body: strings.Repeat(" ", 101), headers: header("clientSecret", "x")}, 413},
		{"wrong type before wrong credentials", call{headers: header("Content-Type", "text/plain", "clientSecret", "x")}, 415},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if test.call.body == "" {
				test.call.body = ping
			}
			got := s.do(t, test.call)
			if got.status != test.status {
				t.Errorf("status %d, want %d: %s", got.status, test.status, got.body)
			}
			if got.status == http.StatusMethodNotAllowed && got.header.Get("Allow") != "POST" {
				t.Errorf("Allow %q", got.header.Get("Allow"))
			}
			if got.status != 200 && test.call.method != "HEAD" {
				expectBody(t, got.body, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"…`)
			}
			if strings.Contains(got.body, "evil") {
				t.Errorf("the answer repeats the caller: %s", got.body)
			}
		})
	}
}

func TestHandler_refusesTwoValuesOfOneHeader(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{})
	for _, test := range []struct {
		name, header string
		values       []string
		status       int
	}{
		{"Origin", "Origin", []string{"http://localhost", "http://localhost"}, 403},
		{"Content-Type", "Content-Type", []string{"application/json", "application/json"}, 415},
		{"Content-Encoding", "Content-Encoding", []string{"identity", "gzip"}, 415},
		{"clientId", "clientId", []string{"m-1", "m-1"}, 400},
		{"clientSecret", "clientSecret", []string{"secret", "secret"}, 400},
		{"organizationId", "organizationId", []string{"acme", "acme"}, 400},
		{"applicationId", "applicationId", []string{"orders", ""}, 400},
		{"Authorization", "Authorization", []string{"Basic eDp5", "Bearer x"}, 400},
		{"MCP-Protocol-Version", "MCP-Protocol-Version", []string{"2025-11-25", "2025-11-25"}, 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(ping))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{"Content-Type": {"application/json"}, "Clientid": {"m-1"}, "Clientsecret": {"secret"}}
			r.Header[http.CanonicalHeaderKey(test.header)] = test.values
			response, err := s.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != test.status {
				t.Errorf("status %d, want %d", response.StatusCode, test.status)
			}
		})
	}
}

func TestHandler_refusesLoopbackOriginsElsewhere(t *testing.T) {
	t.Parallel()
	h, err := mcp.New(mcp.Options{Catalog: catalog{}, Authenticator: machine("m-1", "secret")})
	if err != nil {
		t.Fatal(err)
	}
	// A recorder has no connection, hence none on loopback.
	r := httptest.NewRequest(http.MethodPost, "http://tools.example.com/mcp", strings.NewReader(ping))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Origin", "http://localhost:3000")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusForbidden {
		t.Errorf("status %d", w.Code)
	}
}

func TestHandler_limitsBodiesOfUndeclaredLength(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{}, func(o *mcp.Options) { o.MaxBodyBytes = 1000 })
	for _, test := range []struct {
		name   string
		length int
		status int
	}{{"at the limit", 1000, 200}, {"over the limit", 1001, 413}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			body := io.MultiReader(strings.NewReader(ping), strings.NewReader(strings.Repeat(" ", test.length-len(ping))))
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header = http.Header{"Content-Type": {"application/json"}, "Clientid": {"m-1"}, "Clientsecret": {"secret"}}
			response, err := s.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != test.status {
				t.Errorf("status %d, want %d", response.StatusCode, test.status)
			}
		})
	}
}

func TestHandler_givesUpOnASlowBody(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{}, func(o *mcp.Options) { o.BodyTimeout = 50 * time.Millisecond })
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nclientId: m-1\r\n"+
		"clientSecret: secret\r\nContent-Length: 100\r\n\r\n{")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestTimeout {
		t.Errorf("status %d", response.StatusCode)
	}
	if settled := receive(t, s.settlements.tell); settled.Outcome != lifecycle.Rejected || settled.Class != lifecycle.Transport {
		t.Errorf("settled as %+v", settled)
	}
}

func TestHandler_saysThatItIsNotReady(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	got := s.do(t, call{body: ping})
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") != "1" {
		t.Errorf("status %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
	}
	expectBody(t, got.body, `{"jsonrpc":"2.0","error":{"code":503,"message":"…`)
}

func TestNew_namesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		options mcp.Options
		want    string
	}{
		{"no catalog", mcp.Options{Authenticator: machine("", "")}, "Catalog"},
		{"origin with a path", mcp.Options{Catalog: catalog{}, Authenticator: machine("", ""), AllowedOrigins: []string{"https://a.example/x"}}, "allowed origin"},
		{"negative depth", mcp.Options{Catalog: catalog{}, Authenticator: machine("", ""), MaxJSONDepth: -1}, "MaxJSONDepth"},
		{"depth past its bound", mcp.Options{Catalog: catalog{}, Authenticator: machine("", ""), MaxJSONDepth: 1001}, "MaxJSONDepth"},
		{"negative number length", mcp.Options{Catalog: catalog{}, Authenticator: machine("", ""), MaxJSONNumber: -1}, "MaxJSONNumber"},
		{"number length past its bound", mcp.Options{Catalog: catalog{}, Authenticator: machine("", ""), MaxJSONNumber: 10_001}, "MaxJSONNumber"},
		{"relative base URL", mcp.Options{Catalog: catalog{}, Authenticator: machine("", ""), BaseURL: "/mcp"}, "base URL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if _, err := mcp.New(test.options); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v", err)
			}
		})
	}
}
