package edge_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/password"
	"github.com/sallyport-dev/sallyport/participant"
)

const baseURL = "https://tools.example.com"

// issuing makes an edge an authorization server.
func issuing(cfg *configv1.EdgeConfig) {
	cfg.BaseUrl, cfg.AuthorizationServer = baseURL, new(configv1.AuthorizationServer)
}

// reply is what came back.
type reply struct {
	status int
	header http.Header
	body   string
}

// send makes a request; headers are pairs of name and value.
func (h *house) send(method, path, body string, headers ...string) reply {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(text)}
}

const (
	form  = "application/x-www-form-urlencoded"
	grant = "grant_type=client_credentials"
)

func basic(id, secret string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(id)+":"+url.QueryEscape(secret)))
}

// token asks for a token by HTTP Basic, with more parameters.
func (h *house) token(c credentials, more string) (reply, string) {
	h.t.Helper()
	got := h.send(http.MethodPost, "/api/auth/oauth/token", grant+more, "Content-Type", form, "Authorization", basic(c.id, c.secret))
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	_ = json.Unmarshal([]byte(got.body), &answer)
	return got, answer.AccessToken
}

// mcp makes an MCP request with a token.
func (h *house) mcp(token, body string) reply {
	h.t.Helper()
	return h.send(http.MethodPost, "/mcp", body, "Content-Type", "application/json", "Authorization", "Bearer "+token)
}

const (
	ping      = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	callTool  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`
)

func newIssuingHouse(t *testing.T, configure ...func(*configv1.EdgeConfig)) *house {
	h := newHouse(t, append([]func(*configv1.EdgeConfig){issuing}, configure...)...)
	if err := h.store.EnsureSigningKeys(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.wait("the edge has a key", func() bool { return strings.HasPrefix(h.get("/api/auth/oauth/jwks"), "200") })
	return h
}

func TestOAuth_endToEnd(t *testing.T) {
	h := newIssuingHouse(t)
	c := h.machine(participant.Organization("acme", "acme.client"))

	got, token := h.token(c, "")
	if got.status != http.StatusOK || got.header.Get("Cache-Control") != "no-store" || got.header.Get("Pragma") != "no-cache" ||
		got.header.Get("Content-Type") != "application/json" {
		t.Errorf("%d %v", got.status, got.header)
	}
	want := `{"access_token":"` + token + `","token_type":"Bearer","expires_in":3600,"scope":"tools"}`
	if token == "" || got.body != want {
		t.Errorf("got %s, want %s", got.body, want)
	}
	for _, body := range []string{ping, listTools, callTool} {
		if got := h.mcp(token, body); got.status != http.StatusOK {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
	}
	h.settle(func() bool { return strings.Contains(h.log.String(), `"id":"acme.client"`) })

	_, narrow := h.token(c, "&scope=tools%3Alist&resource="+url.QueryEscape(baseURL+"/mcp"))
	if got := h.mcp(narrow, listTools); got.status != http.StatusOK {
		t.Errorf("tools:list: %d %s", got.status, got.body)
	}
	if got := h.mcp(narrow, callTool); got.status != http.StatusForbidden ||
		!strings.Contains(got.header.Get("WWW-Authenticate"), `error="insufficient_scope", scope="tools:call"`) {
		t.Errorf("tools:call: %d %v", got.status, got.header)
	}

	if err := h.store.DisableMachine(t.Context(), c.id); err != nil {
		t.Fatal(err)
	}
	h.wait("its tokens are worth nothing", func() bool { return h.mcp(token, ping).status == http.StatusUnauthorized })
	challenge := h.mcp(token, ping).header.Get("WWW-Authenticate")
	if want := `Bearer resource_metadata="` + baseURL + `/.well-known/oauth-protected-resource/mcp", scope="tools", error="invalid_token"`; challenge != want {
		t.Errorf("challenge %s, want %s", challenge, want)
	}
	for _, secret := range []string{token, c.secret} {
		if strings.Contains(h.log.String(), secret) {
			t.Error("a secret is in the log")
		}
	}
}

func TestOAuth_documents(t *testing.T) {
	h := newIssuingHouse(t)
	const prm = `{"resource":"` + baseURL + `/mcp","authorization_servers":["` + baseURL + `"],"bearer_methods_supported":["header"],` +
		`"scopes_supported":["tools","tools:list","tools:call"]}`
	const as = `{"issuer":"` + baseURL + `","token_endpoint":"` + baseURL + `/api/auth/oauth/token","jwks_uri":"` + baseURL +
		`/api/auth/oauth/jwks","grant_types_supported":["client_credentials"],"response_types_supported":[],` +
		`"token_endpoint_auth_methods_supported":["client_secret_basic","client_secret_post"],"scopes_supported":["tools","tools:list","tools:call"]}`
	for path, want := range map[string]string{
		"/.well-known/oauth-protected-resource": prm, "/.well-known/oauth-protected-resource/mcp": prm,
		"/.well-known/oauth-authorization-server": as,
	} {
		got := h.send(http.MethodGet, path, "")
		if got.status != http.StatusOK || got.body != want || got.header.Get("Access-Control-Allow-Origin") != "*" ||
			got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v %s", path, got.status, got.header, got.body)
		}
		if got := h.send(http.MethodPost, path, ""); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "GET, HEAD" {
			t.Errorf("POST %s: %d", path, got.status)
		}
	}
	got := h.send(http.MethodGet, "/api/auth/oauth/jwks", "")
	key := h.view().TokenKeys[0]
	if got.header.Get("Cache-Control") != "public, max-age=30" || !strings.HasPrefix(got.body,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","use":"sig","alg":"EdDSA","kid":"`+key.GetKid()+`","x":"`) {
		t.Errorf("jwks: %v %s", got.header, got.body)
	}
	if seed := base64.RawURLEncoding.EncodeToString(key.GetSeed()); strings.Contains(got.body, seed) || strings.Contains(got.body, `"d"`) {
		t.Error("the seed is in the key set")
	}
	next, err := h.store.RotateSigningKey(t.Context(), identityv1.KeyUse_KEY_USE_TOKEN, false)
	if err != nil {
		t.Fatal(err)
	}
	h.wait("the next key is published", func() bool { return strings.Contains(h.get("/api/auth/oauth/jwks"), next.Kid) })
	if !strings.Contains(h.get("/api/auth/oauth/jwks"), key.GetKid()) {
		t.Error("the current key is not published")
	}
}

func TestOAuth_issuerElsewhere(t *testing.T) {
	h := newIssuingHouse(t, func(cfg *configv1.EdgeConfig) {
		cfg.AuthorizationServer.IssuerBaseUrl = "https://as.example.com/sallyport"
		cfg.AuthorizationServer.AccessTokenLifetime = durationpb.New(5 * time.Minute)
	})
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/sallyport"} {
		if got := h.send(http.MethodGet, path, ""); !strings.HasPrefix(got.body, `{"issuer":"https://as.example.com/sallyport",`+
			`"token_endpoint":"https://as.example.com/sallyport/api/auth/oauth/token"`) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	if got := h.get("/.well-known/oauth-protected-resource/mcp"); !strings.Contains(got, `"authorization_servers":["https://as.example.com/sallyport"]`) {
		t.Error(got)
	}
	got, token := h.token(h.system(), "")
	if !strings.Contains(got.body, `"expires_in":300`) || h.mcp(token, ping).status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
}

func TestOAuth_withoutAnAuthorizationServer(t *testing.T) {
	h := newHouse(t)
	for _, path := range []string{"/api/auth/oauth/token", "/api/auth/oauth/jwks", "/.well-known/oauth-authorization-server"} {
		if got := h.get(path); !strings.HasPrefix(got, "404") {
			t.Errorf("%s: %s", path, got)
		}
	}
	want := `200 {"resource":"` + h.url + `/mcp","bearer_methods_supported":["header"],"scopes_supported":["tools","tools:list","tools:call"]}`
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
		if got := h.get(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := h.mcp("x", ping); got.status != http.StatusUnauthorized || !strings.Contains(got.body, "accepts no access tokens") {
		t.Errorf("a token: %d %s", got.status, got.body)
	}
}

func TestOAuth_refusesTokenRequests(t *testing.T) {
	h := newIssuingHouse(t)
	c := h.machine(participant.System("client"))
	auth := []string{"Authorization", basic(c.id, c.secret)}
	post := grant + "&client_id=" + c.id + "&client_secret=" + url.QueryEscape(c.secret)
	with := func(headers ...string) []string { return append([]string{"Content-Type", form}, headers...) }
	for name, row := range map[string]struct {
		path, body string
		headers    []string
		status     int
		code       string // the error; empty for a token
	}{
		"basic":                     {"", grant, with(auth...), 200, ""},
		"post":                      {"", post, with(), 200, ""},
		"basic, and the id again":   {"", grant + "&client_id=" + c.id, with(auth...), 200, ""},
		"basic in another case":     {"", grant, with("Authorization", strings.Replace(auth[1], "Basic", "bAsIc", 1)), 200, ""},
		"a charset":                 {"", post, []string{"Content-Type", form + "; charset=UTF-8"}, 200, ""},
		"our resource":              {"", post + "&resource=" + url.QueryEscape(baseURL+"/mcp"), with(), 200, ""},
		"our resource, upper case":  {"", post + "&resource=" + url.QueryEscape("HTTPS://Tools.Example.COM/mcp"), with(), 200, ""},
		"an empty resource":         {"", post + "&resource=", with(), 200, ""},
		"every scope":               {"", post + "&scope=tools+tools:list+tools:call", with(), 200, ""},
		"what nobody knows":         {"", post + "&audience=x", with(), 200, ""},
		"both ways":                 {"", post, with(auth...), 400, "invalid_request"},
		"an empty secret beside":    {"", grant + "&client_secret=", with(auth...), 400, "invalid_request"},
		"two of Authorization":      {"", grant, with(append(auth, auth...)...), 400, "invalid_request"},
		"another id beside":         {"", grant + "&client_id=other", with(auth...), 400, "invalid_request"},
		"a parameter twice":         {"", post + "&scope=tools&scope=tools", with(), 400, "invalid_request"},
		"the grant twice":           {"", post + "&" + grant, with(), 400, "invalid_request"},
		"two resources":             {"", post + "&resource=a&resource=b", with(), 400, "invalid_request"},
		"parameters in the query":   {"?" + post, "", with(), 400, "invalid_request"},
		"JSON":                      {"", `{"grant_type":"client_credentials"}`, []string{"Content-Type", "application/json"}, 400, "invalid_request"},
		"no type":                   {"", post, nil, 400, "invalid_request"},
		"two types":                 {"", post, with("Content-Type", form), 400, "invalid_request"},
		"not a form":                {"", post + "&x=%zz", with(), 400, "invalid_request"},
		"semicolons":                {"", strings.ReplaceAll(post, "&", ";"), with(), 400, "invalid_request"},
		"no grant":                  {"", "scope=tools", with(auth...), 400, "invalid_request"},
		"an empty grant":            {"", "grant_type=", with(auth...), 400, "invalid_request"},
		"another grant":             {"", "grant_type=authorization_code", with(auth...), 400, "unsupported_grant_type"},
		"another resource":          {"", post + "&resource=https%3A%2F%2Fevil.example%2Fmcp", with(), 400, "invalid_target"},
		"our resource with a slash": {"", post + "&resource=" + url.QueryEscape(baseURL+"/mcp/"), with(), 400, "invalid_target"},
		"the edge":                  {"", post + "&resource=" + url.QueryEscape(baseURL), with(), 400, "invalid_target"},
		"the path in upper case":    {"", post + "&resource=" + url.QueryEscape(baseURL+"/MCP"), with(), 400, "invalid_target"},
		"a fragment":                {"", post + "&resource=" + url.QueryEscape(baseURL+"/mcp#x"), with(), 400, "invalid_target"},
		"an unknown scope":          {"", post + "&scope=tools+evil", with(), 400, "invalid_scope"},
		"offline_access":            {"", post + "&scope=offline_access", with(), 400, "invalid_scope"},
		"a scope with two spaces":   {"", post + "&scope=tools++tools:list", with(), 400, "invalid_scope"},
		"a large body":              {"", post + "&x=" + strings.Repeat("x", 64<<10), with(), 413, "invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			got := h.send(http.MethodPost, "/api/auth/oauth/token"+row.path, row.body, row.headers...)
			if got.status != row.status || got.header.Get("Cache-Control") != "no-store" || got.header.Get("Pragma") != "no-cache" {
				t.Errorf("%d %v %s", got.status, got.header, got.body)
			}
			var answer struct {
				Error       string
				Description string `json:"error_description"`
				Token       string `json:"access_token"`
			}
			if err := json.Unmarshal([]byte(got.body), &answer); err != nil || answer.Error != row.code ||
				(row.code == "") != (answer.Token != "") || (row.code == "") != (answer.Description == "") {
				t.Errorf("%v %s", err, got.body)
			}
			if strings.Contains(got.body, "evil") {
				t.Errorf("the answer repeats the request: %s", got.body)
			}
		})
	}
	if got := h.send(http.MethodGet, "/api/auth/oauth/token", ""); got.status != 405 || got.header.Get("Allow") != "POST" {
		t.Errorf("GET: %d %v", got.status, got.header)
	}
}

// nobodies are credentials that are worth nothing, for ever new reasons; the edge knows all that is stored.
func (h *house) nobodies() map[string]credentials {
	h.t.Helper()
	ctx := h.t.Context()
	create := func(kind registryv1.MachineKind, p *participant.Participant) credentials {
		secret, err := h.store.CreateMachine(ctx, kind, p, p.GetId())
		if err != nil {
			h.t.Fatal(err)
		}
		return credentials{p.GetId(), secret}
	}
	const client = registryv1.MachineKind_MACHINE_KIND_CLIENT
	all := map[string]credentials{
		"unknown id":            {"nothing", "wrong"},
		"wrong secret":          {create(client, participant.System("right")).id, "wrong"},
		"disabled machine":      create(client, participant.System("disabled")),
		"host machine":          create(registryv1.MachineKind_MACHINE_KIND_HOST, participant.System("host")),
		"disabled organization": create(client, participant.Organization("closed", "closed.machine")),
		"unknown user":          {"zoe@acme.example", "wrong"},
		"wrong password":        {"ada@acme.example", "wrong"},
		"user without password": {"bob@acme.example", "wrong"},
		"disabled user":         {"off@acme.example", "password"},
		"not an email":          {"@", "wrong"},
		"empty":                 {"", ""},
	}
	if err := h.store.DisableMachine(ctx, "disabled"); err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.store.SetOrganizationDisabled(ctx, "closed", true); err != nil {
		h.t.Fatal(err)
	}
	h.user("", "ada@acme.example")
	h.user("", "off@acme.example")
	if _, err := h.store.SetUserDisabled(ctx, "", "off@acme.example", true); err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.store.CreateUser(ctx, &identityv1.StoredUser{Email: "bob@acme.example", Grants: []*identityv1.StoredGrant{{}}}); err != nil {
		h.t.Fatal(err)
	}
	h.system() // which the edge knows last
	return all
}

// user creates a user with the password `password`.
func (h *house) user(organization, email string) credentials {
	h.t.Helper()
	hash, err := password.Hash("password")
	if err != nil {
		h.t.Fatal(err)
	}
	_, err = h.store.CreateUser(h.t.Context(), &identityv1.StoredUser{
		OrganizationId: organization, Email: email, PasswordHash: hash, Grants: []*identityv1.StoredGrant{{}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return credentials{email, "password"}
}

// Failures are alike to the byte, at the MCP endpoint and at the token endpoint.
func TestAuthentication_failuresAreUniform(t *testing.T) {
	h := newIssuingHouse(t)
	alike := map[string]string{}
	for name, c := range h.nobodies() {
		for what, got := range map[string]reply{
			"mcp": h.send(http.MethodPost, "/mcp", ping, "Content-Type", "application/json", "clientId", c.id, "clientSecret", c.secret),
			"token by basic": h.send(http.MethodPost, "/api/auth/oauth/token", grant, "Content-Type", form,
				"Authorization", basic(c.id, c.secret)),
			"token by post": h.send(http.MethodPost, "/api/auth/oauth/token",
				grant+"&client_id="+url.QueryEscape(c.id)+"&client_secret="+url.QueryEscape(c.secret), "Content-Type", form),
		} {
			got.header.Del("Date")
			text := fmt.Sprintf("%d %v %s", got.status, got.header, got.body)
			if alike[what] == "" {
				alike[what] = text
			}
			if text != alike[what] || got.status != http.StatusUnauthorized {
				t.Errorf("%s, %s: %s\nothers: %s", name, what, text, alike[what])
			}
			if _, challenged := got.header["Www-Authenticate"]; challenged != (what != "token by post") {
				t.Errorf("%s, %s: challenged: %t", name, what, challenged)
			}
		}
	}
	for name, authorization := range map[string]string{"another scheme": "Bearer x", "not base64": "Basic !", "no colon": "Basic eA=="} {
		got := h.send(http.MethodPost, "/api/auth/oauth/token", grant, "Content-Type", form, "Authorization", authorization)
		got.header.Del("Date")
		if text := fmt.Sprintf("%d %v %s", got.status, got.header, got.body); text != alike["token by basic"] {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestAuthentication_users(t *testing.T) {
	h := newHouse(t)
	if _, err := h.store.CreateOrganization(t.Context(), "acme", "Acme"); err != nil {
		t.Fatal(err)
	}
	h.user("acme", "ada@acme.example")
	login := func(headers ...string) int {
		return h.send(http.MethodPost, "/mcp", ping, append([]string{
			"Content-Type", "application/json", "clientId", "Ada@acme.example", "clientSecret", "password",
		}, headers...)...).status
	}
	h.wait("the edge knows the user", func() bool { return login("organizationId", "acme") == http.StatusOK })
	if status := login(); status != http.StatusUnauthorized {
		t.Errorf("without the organization: %d", status)
	}
	if status := login("organizationId", "acme", "applicationId", "orders"); status != http.StatusUnauthorized {
		t.Errorf("without such a grant: %d", status)
	}
	if _, err := h.store.SetOrganizationDisabled(t.Context(), "acme", true); err != nil {
		t.Fatal(err)
	}
	h.wait("the organization is disabled", func() bool { return login("organizationId", "acme") == http.StatusUnauthorized })
}

func TestOAuth_limitsFailedAttempts(t *testing.T) {
	h := newIssuingHouse(t)
	c := h.system()
	for free := 0; ; free++ { // up to ten: the edge may have been asked for the machine before it knew it
		got, _ := h.token(credentials{c.id, "wrong"}, "")
		if got.status == http.StatusTooManyRequests {
			break
		}
		if free == 10 || got.status != http.StatusUnauthorized {
			t.Fatalf("attempt %d: %d %s", free, got.status, got.body)
		}
	}
	if got, _ := h.token(credentials{c.id, "wrong"}, ""); got.header.Get("Retry-After") == "" ||
		got.header.Get("WWW-Authenticate") != "" || !strings.Contains(got.body, `"temporarily_unavailable"`) {
		t.Errorf("%d %v %s", got.status, got.header, got.body)
	}
	if got, token := h.token(c, ""); got.status != 200 || token == "" {
		t.Errorf("the right secret: %d %s", got.status, got.body)
	}
}

// A rotation fails no request: the next key is known before it signs, and the last one as long as its tokens live.
func TestOAuth_keyRotation(t *testing.T) {
	var ahead atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	h := newIssuingHouse(t)
	cfg := defaults()
	issuing(cfg)
	h.edge, h.url = h.openEdge(cfg, edge.WithClock(clock))
	h.wait("the edge is ready", func() bool { return h.get("/readyz") == "200 fresh\n" })
	c := h.machine(participant.System("client"))
	first := h.view().TokenKeys[0].GetKid()

	stop, failed, signed := make(chan struct{}), make(chan string, 1), make(chan string, 1)
	var group sync.WaitGroup
	group.Go(func() {
		for old := ""; ; {
			select {
			case <-stop:
				return
			default:
			}
			got, token := h.token(c, "")
			for _, one := range []string{token, old} {
				if one == "" && got.status == 200 {
					continue
				}
				if answer := h.mcp(one, ping); answer.status != 200 {
					select {
					case failed <- fmt.Sprintf("%d %s, then %d %s", got.status, got.body, answer.status, answer.body):
					default:
					}
				}
			}
			if old == "" {
				old = token
			}
			select {
			case <-signed:
			default:
			}
			signed <- keyOf(token)
		}
	})
	signs := func(kid string) {
		t.Helper()
		limit := time.After(patience)
		for {
			select {
			case got := <-signed:
				if got == kid {
					return
				}
			case why := <-failed:
				t.Fatal(why)
			case <-limit:
				t.Fatalf("%s does not sign", kid)
			}
		}
	}
	signs(first)
	next, err := h.store.RotateSigningKey(t.Context(), identityv1.KeyUse_KEY_USE_TOKEN, false)
	if err != nil {
		t.Fatal(err)
	}
	h.wait("the next key is published", func() bool { return strings.Contains(h.get("/api/auth/oauth/jwks"), next.Kid) })
	signs(first)
	ahead.Store(int64(time.Until(next.SignsFrom) + time.Second))
	signs(next.Kid)
	close(stop)
	group.Wait()
	select {
	case why := <-failed:
		t.Error(why)
	default:
	}
	// Revoking the others makes what they signed worthless.
	_, token := h.token(c, "")
	if _, err := h.store.RotateSigningKey(t.Context(), identityv1.KeyUse_KEY_USE_TOKEN, true); err != nil {
		t.Fatal(err)
	}
	h.wait("the token is worth nothing", func() bool { return h.mcp(token, ping).status == http.StatusUnauthorized })
}

// keyOf is the id of the key that signed a token.
func keyOf(token string) string {
	encoded, _, _ := strings.Cut(token, ".")
	header, _ := base64.RawURLEncoding.DecodeString(encoded)
	var h struct{ Kid string }
	_ = json.Unmarshal(header, &h)
	return h.Kid
}

func TestNew_namesWhatIsWrongWithTokens(t *testing.T) {
	for name, row := range map[string]struct {
		configure func(*configv1.EdgeConfig)
		want      string
	}{
		"no base_url":    {func(cfg *configv1.EdgeConfig) { cfg.BaseUrl = "" }, "base_url is needed"},
		"plain http":     {func(cfg *configv1.EdgeConfig) { cfg.BaseUrl = "http://tools.example.com" }, "base_url"},
		"a slash":        {func(cfg *configv1.EdgeConfig) { cfg.BaseUrl += "/" }, "base_url"},
		"a query":        {func(cfg *configv1.EdgeConfig) { cfg.BaseUrl += "?" }, "base_url"},
		"a fragment":     {func(cfg *configv1.EdgeConfig) { cfg.BaseUrl += "#" }, "base_url"},
		"a user":         {func(cfg *configv1.EdgeConfig) { cfg.BaseUrl = "https://u@tools.example.com" }, "base_url"},
		"upper case":     {func(cfg *configv1.EdgeConfig) { cfg.BaseUrl = "https://Tools.example.com" }, "base_url"},
		"an http issuer": {func(cfg *configv1.EdgeConfig) { cfg.AuthorizationServer.IssuerBaseUrl = "http://as.example.com" }, "authorization_server.issuer_base_url"},
		"not a URL":      {func(cfg *configv1.EdgeConfig) { cfg.AuthorizationServer.IssuerBaseUrl = "as.example.com" }, "authorization_server.issuer_base_url"},
		"an issuer with a slash": {func(cfg *configv1.EdgeConfig) { cfg.AuthorizationServer.IssuerBaseUrl = "https://as.example.com/" },
			"authorization_server.issuer_base_url"},
		"nobody authenticates": {func(cfg *configv1.EdgeConfig) { cfg.AnonymousOnly = true }, "anonymous_only"},
		"no address range":     {func(cfg *configv1.EdgeConfig) { cfg.TrustedProxies = []string{"10.0.0.0/8", "10.0.0.1"} }, "trusted_proxies[1]"},
		"a short lifetime": {func(cfg *configv1.EdgeConfig) {
			cfg.AuthorizationServer.AccessTokenLifetime = durationpb.New(time.Second)
		}, "access_token_lifetime"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := defaults()
			cfg.Etcd = &configv1.EtcdClient{Endpoints: []string{"http://127.0.0.1:1"}}
			issuing(cfg)
			row.configure(cfg)
			e, err := edge.New(t.Context(), edge.WithConfig(cfg), edge.WithLogger(discard))
			if err == nil {
				e.Close()
			}
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %s", err, row.want)
			}
		})
	}
	t.Run("http on loopback", func(t *testing.T) {
		newHouse(t, issuing, func(cfg *configv1.EdgeConfig) { cfg.BaseUrl = "http://127.0.0.1:8080" })
	})
}
