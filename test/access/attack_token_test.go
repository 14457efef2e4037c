package access_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

func kindNumber(n int32) participantv1.Kind { return participantv1.Kind(n) }

// assertionKey is a key with which edges sign assertions for services, as one who read etcd would have it.
func (y *yard) assertionKey(t *testing.T) tokenKey {
	t.Helper()
	r, err := y.etcd.Client().Get(t.Context(), prefix+"keys/assertion/", clientv3.WithPrefix())
	if err != nil || len(r.Kvs) == 0 {
		t.Fatalf("no assertion key: %v", err)
	}
	m := new(registryv1.StoredAssertionKey)
	if err := proto.Unmarshal(r.Kvs[0].Value, m); err != nil {
		t.Fatal(err)
	}
	return tokenKey{m.GetKid(), m.GetSeed()}
}

// Tokens that are not ours, not for us, not of now, or not of somebody, are one refusal.
func TestAttack_tokens(t *testing.T) {
	a := newTarget(t)
	_, refusal := a.refusals(t)
	k := a.signer
	now := time.Now()
	good := claims("Machine", "Machine", "tools")
	token := k.token(good)
	a.is(t, ofSystem, byToken(token)...)
	a.is(t, ofSystem, "authorization: bearer "+token) // neither a header's name nor the scheme has a case
	a.is(t, ofOrders, byToken(k.token(claims("delegate:alice", clientOf("alice"), "tools")))...)

	public := k.public()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	jwk := string(asJSON(members{"kty": "OKP", "crv": "Ed25519", "x": b64(public), "kid": k.kid}))
	parts := strings.Split(token, ".")
	other, assertions := newTokenKey("other"), a.assertionKey(t)
	flipped := func(text string, at int) string {
		b, _ := base64.RawURLEncoding.DecodeString(text)
		b[(at+len(b))%len(b)] ^= 1
		return b64(b)
	}
	header := func(with members) string { return k.sign(k.header().with(with), good) }
	says := func(with members) string { return k.token(good.with(with)) }
	raw := func(header, claims string) string {
		input := b64([]byte(header)) + "." + b64([]byte(claims))
		return input + "." + k.signature(input)
	}
	text := func(m members) string { return string(asJSON(m)) }

	forged := map[string]string{
		"alg none, no signature":               signingInput(k.header().with(members{"alg": "none"}), good) + ".",
		"alg none, the signature":              signingInput(k.header().with(members{"alg": "none"}), good) + "." + parts[2],
		"alg None":                             signingInput(k.header().with(members{"alg": "None"}), good) + ".",
		"no alg":                               header(members{"alg": nil}),
		"alg empty":                            header(members{"alg": ""}),
		"alg a list":                           header(members{"alg": []string{"EdDSA"}}),
		"alg eddsa in lower case":              header(members{"alg": "eddsa"}),
		"alg Ed25519":                          header(members{"alg": "Ed25519"}),
		"alg RS256":                            header(members{"alg": "RS256"}),
		"alg ES256":                            header(members{"alg": "ES256"}),
		"HS256 under the public key":           signHMAC(public, k.header().with(members{"alg": "HS256"}), good),
		"HS256 under the public key as DER":    signHMAC(der, k.header().with(members{"alg": "HS256"}), good),
		"HS256 under the public key as PEM":    signHMAC(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), k.header().with(members{"alg": "HS256"}), good),
		"HS256 under the public key as JWK":    signHMAC([]byte(jwk), k.header().with(members{"alg": "HS256"}), good),
		"HS256 under the public key as base64": signHMAC([]byte(b64(public)), k.header().with(members{"alg": "HS256"}), good),
		"HS256 under nothing":                  signHMAC(nil, k.header().with(members{"alg": "HS256"}), good),
		"HMAC that says EdDSA":                 signHMAC(public, k.header(), good),
		"another key under our kid":            tokenKey{k.kid, other.seed}.token(good),
		"another key under its own kid":        other.token(good),
		"the assertions' key under its kid":    assertions.token(good),
		"the assertions' key under our kid":    tokenKey{k.kid, assertions.seed}.token(good),
		"an assertion":                         assertions.sign(members{"alg": "EdDSA", "typ": "sallyport-assertion+jwt", "kid": assertions.kid}, good),
		"our key, as an assertion":             header(members{"typ": "sallyport-assertion+jwt"}),
		"unknown kid":                          header(members{"kid": "second"}),
		"no kid":                               header(members{"kid": nil}),
		"empty kid":                            header(members{"kid": ""}),
		"kid in capitals":                      header(members{"kid": "FIRST"}),
		"kid with a path":                      header(members{"kid": "../token/first"}),
		"kid a number":                         header(members{"kid": 1}),
		"kid a list":                           header(members{"kid": []string{"first"}}),
		"kid of a NUL":                         header(members{"kid": "first\x00"}),
		"typ JWT":                              header(members{"typ": "JWT"}),
		"no typ":                               header(members{"typ": nil}),
		"a key brought along":                  other.sign(members{"alg": "EdDSA", "typ": "at+jwt", "kid": k.kid, "jwk": json.RawMessage(jwk)}, good),
		"its own key brought along":            other.sign(members{"alg": "EdDSA", "typ": "at+jwt", "kid": "other", "jwk": members{"kty": "OKP", "crv": "Ed25519", "x": b64(other.public())}}, good),
		"a URL of keys":                        header(members{"jku": "https://attacker.example/jwks"}),
		"a certificate":                        header(members{"x5c": []string{"MIIB"}}),
		"a URL of a certificate":               header(members{"x5u": "https://attacker.example/c"}),
		"something critical":                   header(members{"crit": []string{"exp"}}),
		"an unencoded payload":                 header(members{"b64": false, "crit": []string{"b64"}}),
		"compressed":                           header(members{"zip": "DEF"}),
		"a header that stands twice":           raw(`{"alg":"none","alg":"EdDSA","typ":"at+jwt","kid":"first"}`, text(good)),
		"a header with something behind it":    raw(text(k.header())+`{}`, text(good)),
		"a header that is no object":           raw(`["EdDSA"]`, text(good)),
		"an empty header":                      raw(``, text(good)),
		"signature cut off":                    parts[0] + "." + parts[1] + ".",
		"signature of another":                 parts[0] + "." + parts[1] + "." + strings.Split(says(members{"sub": "acme.machine"}), ".")[2],
		"signature shortened":                  token[:len(token)-2],
		"signature with a bit flipped":         parts[0] + "." + parts[1] + "." + flipped(parts[2], 0),
		"signature's last bit flipped":         parts[0] + "." + parts[1] + "." + flipped(parts[2], -1),
		"signature, padded":                    token + "==",
		"signature in standard base64":         parts[0] + "." + parts[1] + ".+" + parts[2][1:],
		"claims with a bit flipped":            parts[0] + "." + flipped(parts[1], 10) + "." + parts[2],
		"header of another token":              b64(asJSON(other.header())) + "." + parts[1] + "." + parts[2],
		"two parts":                            parts[0] + "." + parts[1],
		"four parts":                           token + ".x",
		"five parts":                           token + ".x.y",
		"dots":                                 "..",
		"one part":                             "x",
		"JSON serialisation":                   `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"two tokens":                           token + "," + token,
		"a token and a scheme":                 token + ", Bearer " + token,
		"quoted":                               `"` + token + `"`,
		"a blank within":                       parts[0] + ". " + parts[1] + "." + parts[2],
		"very long":                            strings.Repeat("a", 9000) + "." + parts[1] + "." + parts[2],
		"another audience":                     says(members{"aud": "https://other.example.com/mcp"}),
		"the issuer as audience":               says(members{"aud": issuer}),
		"an audience in capitals":              says(members{"aud": strings.ToUpper(audience)}),
		"an audience with a slash":             says(members{"aud": audience + "/"}),
		"an audience below":                    says(members{"aud": audience + "/x"}),
		"a look-alike audience":                says(members{"aud": "https://tools.example.com.attacker.example/mcp"}),
		"audiences, none ours":                 says(members{"aud": []string{issuer, "https://other.example.com/mcp"}}),
		"no audience in a list":                says(members{"aud": []string{}}),
		"no audience":                          says(members{"aud": nil}),
		"an audience that is null":             says(members{"aud": json.RawMessage("null")}),
		"an audience that is an object":        says(members{"aud": members{audience: true}}),
		"another issuer":                       says(members{"iss": "https://other.example.com"}),
		"an issuer with a slash":               says(members{"iss": issuer + "/"}),
		"an issuer in capitals":                says(members{"iss": strings.ToUpper(issuer)}),
		"issuers":                              says(members{"iss": []string{issuer}}),
		"no issuer":                            says(members{"iss": nil}),
		"expired":                              says(members{"iat": now.Add(-2 * time.Hour).Unix(), "exp": now.Add(-time.Hour).Unix()}),
		"expired a minute ago":                 says(members{"iat": now.Add(-2 * time.Hour).Unix(), "exp": now.Add(-time.Minute).Unix()}),
		"no expiry":                            says(members{"exp": nil}),
		"expires never":                        says(members{"exp": json.RawMessage("1e300")}),
		"expires as text":                      says(members{"exp": fmt.Sprint(now.Add(time.Hour).Unix())}),
		"expires beyond 64 bits":               says(members{"exp": json.RawMessage("18446744073709551616")}),
		"expires in ten years":                 says(members{"exp": now.AddDate(10, 0, 0).Unix()}),
		"expires at null":                      says(members{"exp": json.RawMessage("null")}),
		"expires before it was issued":         says(members{"iat": now.Unix(), "exp": now.Add(-10 * time.Second).Unix()}),
		"not yet valid":                        says(members{"nbf": now.Add(10 * time.Minute).Unix()}),
		"not valid before text":                says(members{"nbf": "now"}),
		"issued tomorrow":                      says(members{"iat": now.Add(24 * time.Hour).Unix(), "exp": now.Add(25 * time.Hour).Unix()}),
		"never issued":                         says(members{"iat": nil}),
		"nobody":                               says(members{"sub": nil}),
		"an empty subject":                     says(members{"sub": ""}),
		"an unknown subject":                   says(members{"sub": "no-such-machine", "client_id": "no-such-machine"}),
		"a subject in another case":            says(members{"sub": "machine", "client_id": "machine"}),
		"subjects":                             says(members{"sub": []string{"Machine"}}),
		"a user":                               says(members{"sub": root, "client_id": root}),
		"a user of an organization":            says(members{"sub": alice, "client_id": alice, "organization_id": "acme", "application_id": "orders"}),
		"an unknown delegate":                  says(members{"sub": "delegate:bob", "client_id": clientOf("bob")}),
		"a delegate of another client":         says(members{"sub": "delegate:alice", "client_id": clientOf("bob")}),
		"a machine of another client":          says(members{"client_id": "acme.machine"}),
		"no client":                            says(members{"client_id": nil}),
		"no id of its own":                     says(members{"jti": nil}),
		"a claim that stands twice":            raw(text(k.header()), strings.Replace(text(good), `{`, `{"sub":"acme.machine",`, 1)),
		"claims with something behind them":    raw(text(k.header()), text(good)+`{}`),
		"claims that are no object":            raw(text(k.header()), `[]`),
		"no claims":                            raw(text(k.header()), ``),
		"claims with an unpaired surrogate":    raw(text(k.header()), strings.Replace(text(good), `{`, `{"x":"\ud800",`, 1)),
		"claims that are not UTF-8":            raw(text(k.header()), strings.Replace(text(good), `{`, "{\"x\":\"\xff\",", 1)),
		"claims with a comment":                raw(text(k.header()), strings.Replace(text(good), `{`, `{/**/`, 1)),
	}
	for name, token := range forged {
		t.Run(name, func(t *testing.T) {
			a.nobody(t, refusal, byToken(token)...)
			// A token that is not good is not made good by a secret beside it: the first that is present is the one that counts.
			a.nobody(t, refusal, byToken(token, bySecret("Machine", theSecret)...)...)
		})
	}
	if len(forged) < 90 {
		t.Errorf("only %d tokens were tried", len(forged))
	}
}

// A token is the caller's whole word: what stands beside it changes nothing, and it counts in no other place.
func TestAttack_besideTokens(t *testing.T) {
	a := newTarget(t)
	secret, _ := a.refusals(t)
	token := a.signer.token(claims("delegate:alice", clientOf("alice"), "tools"))
	for _, lines := range [][]string{
		scopeLines("globex", "orders"), scopeLines("", "orders-2"), scopeLines("acme", ""), {"organizationId: "}, scopeLines("system-api", "system-api"),
		bySecret("Machine", theSecret), bySecret(root, thePassword), bySecret("Machine", "wrong"), {"clientId: Machine"}, {"X-Forwarded-User: root"},
	} {
		a.is(t, ofOrders, byToken(token, lines...)...)
	}
	for _, path := range []string{
		"/mcp?access_token=" + token, "/mcp?token=" + token, "/mcp?Authorization=Bearer%20" + token, "/mcp?authorization=Bearer+" + token,
		"/mcp?clientId=Machine&clientSecret=" + theSecret, "/mcp?access_token=" + token + "&clientId=Machine",
	} {
		got, names := a.attack(t, path)
		a.same(t, secret, got, names, []string{path})
	}
	for _, lines := range [][]string{
		{"Authorization: " + token}, {"Authorization: Token " + token}, {"Authorization: JWT " + token}, {"Authorization: DPoP " + token},
		{"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("Machine:"+theSecret))}, {"Authorization: Bearer:" + token}, {"Authorization: Bearer\t" + token},
		{"Proxy-Authorization: Bearer " + token}, {"X-Authorization: Bearer " + token}, {"Cookie: access_token=" + token}, {"access_token: " + token},
		{"clientId: delegate:alice", "clientSecret: " + token}, {"clientSecret: " + token},
	} {
		a.nobody(t, secret, lines...)
	}
}

// A token permits what its scopes say and no more, whoever its owner is.
func TestAttack_scopes(t *testing.T) {
	a := newTarget(t)
	for scope, want := range map[string]struct{ list, call int }{
		"tools":                      {http.StatusOK, http.StatusOK},
		"tools:list":                 {http.StatusOK, http.StatusForbidden},
		"tools:call":                 {http.StatusForbidden, http.StatusOK},
		"tools:list tools:call":      {http.StatusOK, http.StatusOK},
		"":                           {http.StatusForbidden, http.StatusForbidden},
		"TOOLS":                      {http.StatusForbidden, http.StatusForbidden},
		"tools:*":                    {http.StatusForbidden, http.StatusForbidden},
		"*":                          {http.StatusForbidden, http.StatusForbidden},
		"tools:listing":              {http.StatusForbidden, http.StatusForbidden},
		"openid tools:list":          {http.StatusOK, http.StatusForbidden},
		"tools:list,tools:call":      {http.StatusForbidden, http.StatusForbidden},
		"offline_access system-api":  {http.StatusForbidden, http.StatusForbidden},
		"identity.organizations.all": {http.StatusForbidden, http.StatusForbidden},
	} {
		for _, version := range served {
			s := sender{version: version, lines: byToken(a.signer.token(claims("Machine", "Machine", scope)))}
			body, lines := request(version, "tools/list", "", "")
			list := a.post(t, s, body, lines)
			call, unknown := a.call(t, s, "open", `{"note":"please"}`), a.call(t, s, "no-such-tool", `{}`)
			if list.status != want.list || call.status != want.call {
				t.Errorf("%s with scope %q: list %d, call %d %s", version, scope, list.status, call.status, call.body)
			}
			if want.call == http.StatusForbidden && (unknown.status != call.status || string(unknown.body) != string(call.body)) {
				t.Errorf("%s with scope %q: a tool that there is is told from one that is not: %s %s", version, scope, call.body, unknown.body)
			}
			for _, r := range []reply{list, call} {
				if challenge := r.header.Get("WWW-Authenticate"); (r.status == http.StatusForbidden) != strings.Contains(challenge, `error="insufficient_scope"`) {
					t.Errorf("%s with scope %q: %d with the challenge %q", version, scope, r.status, challenge)
				}
			}
		}
	}
}
