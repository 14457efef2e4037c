package mcp_test

import (
	"bytes"
	"crypto/ed25519"
	"net/http"
	"strings"
	"testing"
	"time"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/auth/token"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

const (
	issuer   = "https://tools.example.com"
	resource = issuer + "/mcp"
	path     = `/.well-known/oauth-protected-resource/mcp"`
)

var tokenKey = &identityv1.StoredTokenKey{Kid: "k1", Seed: bytes.Repeat([]byte("s"), ed25519.SeedSize)}

// issue makes an access token of the machine m-1.
func issue(t *testing.T, scopes token.Scopes, at time.Time) string {
	t.Helper()
	text, err := token.Issue(tokenKey, token.Claims{
		Issuer: issuer, Subject: "m-1", ClientID: "m-1", Audience: []string{resource}, Scopes: scopes,
	}, at, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// accepting makes a handler that accepts tokens beside the secrets of the machine m-1.
func accepting(change ...func(*auth.Options)) func(*mcp.Options) {
	view := &registry.View{
		Machines: map[string]*registryv1.StoredMachine{
			"m-1": {Id: "m-1", Participant: participant.System("m-1"), SecretSha256: registry.HashSecret("secret")},
		},
		TokenKeys: []*identityv1.StoredTokenKey{tokenKey},
	}
	o := auth.Options{View: func() auth.View { return view }, Tokens: &auth.Tokens{Issuer: issuer, Resource: resource}}
	for _, c := range change {
		c(&o)
	}
	return func(m *mcp.Options) { m.Authenticator, m.AccessTokens, m.BaseURL = auth.New(o), true, issuer+"/" }
}

func TestHandler_challengesWithoutCredentials(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{})
	configured := start(t, catalog{}, func(o *mcp.Options) { o.BaseURL = "https://tools.example.com/" })
	tokens := start(t, catalog{}, accepting())
	none := map[string]string{"clientId": "", "clientSecret": ""}
	const (
		usersText   = "Users of an organization also send organizationId, and applicationId where they act as an application."
		secretsText = "Valid credentials are needed: send the headers clientId and clientSecret. " + usersText
		tokensText  = "Valid credentials are needed: send an access token of this edge's authorization server as " +
			"Authorization: Bearer, or the headers clientId and clientSecret. " + usersText
		badTokenText = "The access token is not valid here, or no longer: get a new one from the authorization server that " +
			"the protected resource metadata names."
		noTokensText = "This edge accepts no access tokens: send the headers clientId and clientSecret, and no Authorization. " +
			usersText
	)
	here, there := `Bearer resource_metadata="`+s.URL+path, `Bearer resource_metadata="https://tools.example.com`+path
	tests := []struct {
		name      string
		server    *server
		headers   map[string]string
		challenge string
		text      string
	}{
		{"none", s, none, here, secretsText},
		{"none, base URL configured", configured, none, there, secretsText},
		{"wrong secret", s, map[string]string{"clientSecret": "canary"}, here, secretsText},
		{"unknown machine", s, map[string]string{"clientId": "canary"}, here, secretsText},
		{"a user where there are none", s, map[string]string{"clientId": "canary@example.com"}, here, secretsText},
		{"id only", s, map[string]string{"clientSecret": ""}, here, secretsText},
		{"secret only", s, map[string]string{"clientId": ""}, here, secretsText},
		{"another scheme alone", s, map[string]string{"clientId": "", "clientSecret": "", "Authorization": "Basic canary"},
			here, secretsText},
		{"a token where none is accepted", s, map[string]string{"Authorization": "Bearer canary"},
			here + `, error="invalid_token"`, noTokensText},
		{"none, tokens accepted", tokens, none, there + `, scope="tools"`, tokensText},
		{"wrong secret, tokens accepted", tokens, map[string]string{"clientSecret": "canary"}, there + `, scope="tools"`, tokensText},
		{"no token of ours", tokens, map[string]string{"Authorization": "Bearer canary"},
			there + `, scope="tools", error="invalid_token"`, badTokenText},
		{"an expired token", tokens, map[string]string{"Authorization": "bearer " + issue(t, token.Tools, time.Now().Add(-2*time.Hour))},
			there + `, scope="tools", error="invalid_token"`, badTokenText},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			// The body is not even read: what is not JSON gets the same answer.
			for _, body := range []string{ping, "canary"} {
				got := test.server.do(t, call{headers: test.headers, body: body})
				if got.status != http.StatusUnauthorized {
					t.Errorf("status %d", got.status)
				}
				if challenge := got.header.Get("WWW-Authenticate"); challenge != test.challenge {
					t.Errorf("challenge %s, want %s", challenge, test.challenge)
				}
				expectBody(t, got.body, `{"jsonrpc":"2.0","error":{"code":401,"message":"`+test.text+`"}}`)
			}
		})
	}
}

func TestHandler_ignoresAuthorizationOfOtherSchemes(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{})
	for _, value := range []string{"Basic eDp5", "", "Bearerx", "canary"} {
		if got := s.do(t, call{headers: map[string]string{"Authorization": value}, body: ping}); got.status != 200 {
			t.Errorf("%q: status %d", value, got.status)
		}
	}
}

func TestHandler_ignoresTokensInTheQuery(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{}, accepting())
	got := s.do(t, call{
		path: "?access_token=" + issue(t, token.Tools, time.Now()), body: ping,
		headers: map[string]string{"clientId": "", "clientSecret": ""},
	})
	if got.status != http.StatusUnauthorized || strings.Contains(got.header.Get("WWW-Authenticate"), "invalid_token") {
		t.Errorf("status %d, challenge %s", got.status, got.header.Get("WWW-Authenticate"))
	}
}

func TestHandler_refusesMalformedCredentials(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{}, accepting())
	for name, headers := range map[string]http.Header{
		"Bearer without a token": {"Authorization": {"Bearer"}},
		"Bearer and a space":     {"Authorization": {"Bearer "}},
		"two tokens":             {"Authorization": {"Bearer canary", "Bearer canary"}},
		"two ids":                {"Clientid": {"m-1", "canary"}, "Clientsecret": {"secret"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(ping))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = headers
			r.Header.Set("Content-Type", "application/json")
			response, err := s.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			var body bytes.Buffer
			_, _ = body.ReadFrom(response.Body)
			const want = `Bearer error="invalid_request", resource_metadata="https://tools.example.com` + path
			if got := response.Header.Get("WWW-Authenticate"); response.StatusCode != http.StatusBadRequest || got != want {
				t.Errorf("status %d, challenge %s", response.StatusCode, got)
			}
			expectBody(t, body.String(), `{"jsonrpc":"2.0","error":{"code":-32600,"message":"The credentials are malformed: …`)
		})
	}
}

func TestHandler_limitsFailedAttempts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := start(t, catalog{}, accepting(func(o *auth.Options) { o.Now = func() time.Time { return now } }))
	for i := range 10 {
		if got := s.do(t, call{headers: map[string]string{"clientSecret": "canary"}, body: ping}); got.status != 401 {
			t.Fatalf("attempt %d: status %d", i, got.status)
		}
	}
	got := s.do(t, call{headers: map[string]string{"clientSecret": "canary"}, body: ping})
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") != "10" {
		t.Errorf("status %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
	}
	expectBody(t, got.body, `{"jsonrpc":"2.0","error":{"code":429,"message":"Too many attempts to authenticate failed: …`)
	if got := s.do(t, call{body: ping}); got.status != 200 {
		t.Errorf("the right secret: status %d", got.status)
	}
}

func TestHandler_saysThatItIsCutOff(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := start(t, catalog{}, accepting(func(o *auth.Options) {
		o.Now = func() time.Time { return now }
		o.SilentSince = func() (time.Time, bool) { return now.Add(-auth.HonoredFor - time.Second), true }
		o.Rules.AnonymousZones = []string{"app-api"}
	}))
	got := s.do(t, call{body: ping})
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" {
		t.Errorf("status %d, Retry-After %q", got.status, got.header.Get("Retry-After"))
	}
	expectBody(t, got.body, `{"jsonrpc":"2.0","error":{"code":503,"message":"This edge has not heard …`)
	if got := s.do(t, call{headers: map[string]string{"clientId": "", "clientSecret": ""}, body: ping}); got.status != 200 {
		t.Errorf("anonymous: status %d", got.status)
	}
}

// A token permits what its scopes do, after the envelope was judged and before any tool is looked for.
func TestHandler_demandsScopes(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{{name: "echo"}}, accepting())
	const (
		list    = `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
		echo    = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{}}}`
		missing = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"missing"}}`
		open    = `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`
	)
	for _, test := range []struct {
		name   string
		scopes token.Scopes
		body   string
		needs  string // empty where it is permitted
	}{
		{"tools lists", token.Tools, list, ""},
		{"tools calls", token.Tools, echo, ""},
		{"tools:list lists", token.ToolsList, list, ""},
		{"tools:list does not call", token.ToolsList, echo, "tools:call"},
		{"tools:list does not learn what there is", token.ToolsList, missing, "tools:call"},
		{"tools:call calls", token.ToolsCall, echo, ""},
		{"tools:call does not list", token.ToolsCall, list, "tools:list"},
		{"both list", token.ToolsList | token.ToolsCall, list, ""},
		{"both call", token.ToolsList | token.ToolsCall, echo, ""},
		{"none does not list", 0, list, "tools:list"},
		{"none does not call", 0, echo, "tools:call"},
		{"none pings", 0, ping, ""},
		{"none initializes", 0, open, ""},
		{"none, an envelope of no method", 0, `{"jsonrpc":"2.0","id":7,"method":"canary"}`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := s.do(t, call{body: test.body, headers: map[string]string{
				"clientId": "", "clientSecret": "", "Authorization": "Bearer " + issue(t, test.scopes, time.Now()),
			}})
			if test.needs == "" {
				if got.status != 200 {
					t.Errorf("status %d: %s", got.status, got.body)
				}
				return
			}
			const text = "The access token lacks the scope that this method needs: the header WWW-Authenticate names it."
			want := `Bearer error="insufficient_scope", scope="` + test.needs + `", resource_metadata="https://tools.example.com` +
				path + `, error_description="` + text + `"`
			if challenge := got.header.Get("WWW-Authenticate"); got.status != http.StatusForbidden || challenge != want {
				t.Errorf("status %d, challenge %s", got.status, challenge)
			}
			expectBody(t, got.body, `{"jsonrpc":"2.0","id":7,"error":{"code":403,"message":"`+text+`"}}`)
		})
	}
}

// Who has a secret is not limited by scopes, and the settlement says who called.
func TestHandler_settlesWhoCalled(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{{name: "echo"}}, accepting())
	s.do(t, call{body: `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`})
	if settled := receive(t, s.settlements.tell); settled.Participant.GetId() != "m-1" || len(settled.Participant.GetScopes()) != 0 {
		t.Errorf("settled as %v", settled.Participant)
	}
	s.do(t, call{body: `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, headers: map[string]string{
		"Authorization": "Bearer " + issue(t, token.ToolsList, time.Now()),
	}})
	settled := receive(t, s.settlements.tell)
	if settled.Class != lifecycle.Authorization || settled.Outcome != lifecycle.Rejected || settled.Status != 403 ||
		len(settled.Participant.GetScopes()) != 1 {
		t.Errorf("settled as %+v", settled)
	}
}
