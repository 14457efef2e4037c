package ingress_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// issuing removes the mark before the authorization server in edge.yaml.
var issuing = change{"#authorization_server", "authorization_server"}

// get asks for a path.
func get(path string) func(*http.Request) {
	return func(r *http.Request) { r.Method, r.URL.Path = http.MethodGet, path }
}

// What an authorization server has to say reaches callers, and nothing beside it does.
func TestIngress_passesAccessTokens(t *testing.T) {
	h := newHouse(t)
	h.depot.on("Echo", echo)
	e := h.startEdge(issuing)
	n := startNginx(t, []*edge{e})
	const token = "/api/auth/oauth/token"
	for _, version := range versions {
		t.Run(version.name, func(t *testing.T) {
			c, direct := h.client(t, n, version.http2), h.direct(t, e)
			for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
				"/.well-known/oauth-authorization-server", "/api/auth/oauth/jwks"} {
				t.Run(path, func(t *testing.T) {
					got, want := c.in(t).post("", get(path)), direct.in(t).post("", to(host), get(path))
					if got.status != http.StatusOK || got.body != want.body || !strings.HasPrefix(got.body, "{") ||
						got.header.Get("Cache-Control") != want.header.Get("Cache-Control") {
						t.Errorf("through nginx %d %v %s\ndirectly %d %v %s", got.status, got.header, got.body, want.status,
							want.header, want.body)
					}
				})
			}
			for _, path := range []string{"/.well-known/oauth-authorization-server/mcp", "/.well-known/oauth-protected-resource/",
				"/.well-known/oauth-protected-resource/other", "/.well-known/oauth-protected-resources", "/.well-known/",
				"/.well-known/openid-configuration", "/api", "/api/auth/oauth", token + "/", token + "s", "/api/auth/oauth/jwks.json",
				"/api/auth/oauth/authorize", "/metrics"} {
				t.Run(path, func(t *testing.T) {
					c.in(t).post("", get(path)).refused(t, http.StatusNotFound, refusalNothingHere)
				})
			}
			t.Run(token, func(t *testing.T) {
				c, direct := c.in(t), direct.in(t)
				ask := func(secret string) func(*http.Request) {
					return func(r *http.Request) {
						r.URL.Path = token
						r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
						r.Header.Del("clientId")
						r.Header.Del("clientSecret")
						r.SetBasicAuth(url.QueryEscape(h.caller.ClientID), url.QueryEscape(secret))
					}
				}
				const form = "grant_type=client_credentials"
				got, want := c.post(form, ask("wrong")), direct.post(form, ask("wrong"))
				if got.status != http.StatusUnauthorized || got.body != want.body ||
					got.header.Get("WWW-Authenticate") != want.header.Get("WWW-Authenticate") {
					t.Errorf("with a wrong secret %d %v %s", got.status, got.header, got.body)
				}
				var issued struct {
					Token string `json:"access_token"`
				}
				if got = c.post(form, ask(h.caller.ClientSecret)); got.status != http.StatusOK ||
					json.Unmarshal([]byte(got.body), &issued) != nil || issued.Token == "" {
					t.Fatalf("no token: %d %s", got.status, got.body)
				}
				text := c.post(h.callBody("1", "Echo", `{"text":"a"}`), func(r *http.Request) {
					r.Header.Del("clientId")
					r.Header.Del("clientSecret")
					r.Header.Set("Authorization", "Bearer "+issued.Token)
				}).text(t)
				if text != "a" {
					t.Errorf("the call with the token gave %q", text)
				}
			})
		})
	}
}

// clientFrom is a client of nginx that connects from a loopback address of its own.
func (h *house) clientFrom(t testing.TB, n *nginx, address string) *client {
	t.Helper()
	c := h.client(t, n, false)
	c.http.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
		return dialer.DialContext(ctx, network, n.address)
	}
	return c
}

// Failed attempts count for the client that made them, whatever it says of itself.
func TestIngress_tellsClientsApart(t *testing.T) {
	h := newHouse(t)
	n := startNginx(t, []*edge{h.startEdge()})
	guessing, other := h.clientFrom(t, n, "127.0.0.2"), h.clientFrom(t, n, "127.0.0.3")
	ids := 0
	// guess tries an id that nobody tried before, so that the address alone counts.
	guess := func(c *client, edits ...func(*http.Request)) int {
		ids++
		return c.post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			append(edits, header("clientId", fmt.Sprintf("nobody-%d", ids)))...).status
	}
	for tries := 1; guess(guessing) != http.StatusTooManyRequests; tries++ {
		if tries == 300 { // 50 may fail at once, and one more each second
			t.Fatalf("%d failed attempts from one client are not too many", tries)
		}
	}
	if got := guess(other); got != http.StatusUnauthorized {
		t.Errorf("another client is answered with %d", got)
	}
	// One attempt a second is free, and 50 would be, were it somebody else.
	waits := false
	for tries := 0; tries < 10 && !waits; tries++ {
		waits = guess(guessing, header("X-Forwarded-For", "192.0.2.7")) == http.StatusTooManyRequests
	}
	if !waits {
		t.Error("whoever makes up an address is somebody else")
	}
}
