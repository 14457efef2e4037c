// Package assertiontest holds what attackers send to a service in place of a participant assertion.
//
// In comes a call, with the edge's signing key; out goes metadata: what is to be believed, and what is not. Services in
// every language are held against the one list. Only tests import it; it knows no verifier.
package assertiontest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/participant"
)

// Call is a call that an edge could make.
type Call struct {
	// Kid and Seed are the edge's key.
	Kid  string
	Seed []byte
	// Zone, Service and FullMethod are what is called. The zone is not empty.
	Zone, Service, FullMethod string
	// OtherMethod is another full method of the same service.
	OtherMethod string
	// Participant is who calls.
	Participant *participant.Participant
	// Now is the service's time.
	Now time.Time
}

// Sent is the metadata of one attempt.
type Sent struct {
	Name     string
	Metadata metadata.MD
}

// header and claims are the two parts of a token, before they are JSON.
type (
	header map[string]any
	claims map[string]any
)

func (c *Call) header() header { return header{"alg": "EdDSA", "typ": assertion.Type, "kid": c.Kid} }

func (c *Call) claims(t testing.TB) claims {
	t.Helper()
	return claims{
		"participant": serialized(t, c.Participant), "method": c.FullMethod, "aud": assertion.Audience(c.Zone, c.Service),
		"iat": c.Now.Unix(), "exp": c.Now.Add(assertion.Lifetime).Unix(),
	}
}

func (h header) with(name string, value any) header { return with(h, name, value) }
func (c claims) with(name string, value any) claims { return with(c, name, value) }

// with gives a copy in which a member has another value; nil takes it away.
func with[M ~map[string]any](m M, name string, value any) M {
	out := M{}
	for k, v := range m {
		out[k] = v
	}
	if out[name] = value; value == nil {
		delete(out, name)
	}
	return out
}

func serialized(t testing.TB, p *participant.Participant) string {
	t.Helper()
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func segment(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// sign makes a token of any header and claims.
func sign(t testing.TB, seed []byte, h header, c claims) string {
	t.Helper()
	signed := segment(t, h) + "." + segment(t, c)
	return signed + "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(ed25519.NewKeyFromSeed(seed), []byte(signed)))
}

// mac makes a token that is signed with a secret which everybody knows.
func mac(t testing.TB, secret []byte, h header, c claims) string {
	t.Helper()
	signed := segment(t, h.with("alg", "HS256")) + "." + segment(t, c)
	sum := hmac.New(sha256.New, secret)
	sum.Write([]byte(signed))
	return signed + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

func asserted(tokens ...string) metadata.MD { return metadata.MD{assertion.AssertionKey: tokens} }

// Token is the edge's own word for the call.
func (c *Call) Token(t testing.TB) string {
	t.Helper()
	return sign(t, c.Seed, c.header(), c.claims(t))
}

// Believed is what a service must believe: the edge's word, whatever stands beside it. The participant is the call's.
func (c *Call) Believed(t testing.TB) []Sent {
	t.Helper()
	good := c.Token(t)
	system, err := proto.Marshal(participant.System("root"))
	if err != nil {
		t.Fatal(err)
	}
	return []Sent{
		{"the edge's word", asserted(good)},
		{"beside another participant in the open", metadata.MD{
			assertion.AssertionKey: {good}, assertion.ParticipantKey: {string(system)},
		}},
		{"beside two others in the open", metadata.MD{
			assertion.AssertionKey: {good}, assertion.ParticipantKey: {string(system), string(system)},
		}},
		{"beside nonsense in the open", metadata.MD{assertion.AssertionKey: {good}, assertion.ParticipantKey: {"\xff\xff"}}},
		{"beside headers that sound like ours", metadata.MD{
			assertion.AssertionKey: {good}, "sallyport-participant": {"root"}, "sallyport-roles": {"platform-admin"},
			"organizationid": {"globex"}, "clientid": {"root"},
		}},
		{"issued a little ahead of the service's clock", asserted(sign(t, c.Seed, c.header(), c.claims(t).
			with("iat", c.Now.Add(assertion.Skew/2).Unix()).with("exp", c.Now.Add(assertion.Skew/2+assertion.Lifetime).Unix())))},
		{"with a claim that nobody knows", asserted(sign(t, c.Seed, c.header(), c.claims(t).with("nonce", "x")))},
	}
}

// Forged is what a service must not believe, in groups: what needs no key, what needs another key, and what the edge's
// own key signed for something else or never would.
func (c *Call) Forged(t testing.TB) []Sent {
	t.Helper()
	all := append(c.keyless(t), c.strangers(t)...)
	return append(append(append(all, c.replayed(t)...), c.untimely(t)...), c.impossible(t)...)
}

func (c *Call) keyless(t testing.TB) []Sent {
	t.Helper()
	good := c.Token(t)
	parts := strings.Split(good, ".")
	raw, err := proto.Marshal(c.Participant)
	if err != nil {
		t.Fatal(err)
	}
	root := c.claims(t).with("participant", serialized(t, participant.System("root")))
	public := ed25519.NewKeyFromSeed(c.Seed).Public().(ed25519.PublicKey)
	x := base64.RawURLEncoding.EncodeToString(public)
	return []Sent{
		{"nothing", metadata.MD{}},
		{"a participant in the open", metadata.MD{assertion.ParticipantKey: {string(raw)}}},
		{"headers that sound like ours", metadata.MD{
			"sallyport-participant": {"root"}, "sallyport-roles": {"platform-admin"}, "sallyport-verified": {"true"},
		}},
		{"the edge's word under another key", metadata.MD{
			"authorization": {"Bearer " + good}, "sallyport-assertion-bin": {good}, "x-sallyport-assertion": {good},
		}},
		{"an empty assertion", asserted("")},
		{"a made-up assertion", asserted("a.b.c")},
		{"dots", asserted("..")},
		{"a long assertion", asserted(strings.Repeat("A", assertion.MaxBytes) + ".B.C")},
		{"the edge's word twice", asserted(good, good)},
		{"the edge's word after another", asserted("a.b.c", good)},
		{"the edge's word before another", asserted(good, "a.b.c")},
		{"two, joined as proxies do", asserted(good + ", " + good)},
		{"with a scheme", asserted("Bearer " + good)},
		{"in JSON", asserted(fmt.Sprintf(`{"protected":%q,"payload":%q,"signature":%q}`, parts[0], parts[1], parts[2]))},
		{"without its signature", asserted(parts[0] + "." + parts[1] + ".")},
		{"without its payload", asserted(parts[0] + ".." + parts[2])},
		{"with a part more", asserted(good + "." + parts[2])},
		{"with half a signature", asserted(good[:len(good)-43])},
		{"with another's claims", asserted(parts[0] + "." + segment(t, root) + "." + parts[2])},
		{"with another header", asserted(segment(t, c.header().with("kid", "other")) + "." + parts[1] + "." + parts[2])},
		{"alg none", asserted(segment(t, c.header().with("alg", "none")) + "." + segment(t, root) + ".")},
		{"alg nOnE", asserted(segment(t, c.header().with("alg", "nOnE")) + "." + segment(t, root) + ".")},
		{"alg none, with a signature", asserted(segment(t, c.header().with("alg", "none")) + "." + parts[1] + "." + parts[2])},
		{"no alg", asserted(segment(t, c.header().with("alg", nil)) + "." + parts[1] + "." + parts[2])},
		{"HMAC with the public key", asserted(mac(t, public, c.header(), root))},
		{"HMAC with the public key as it is published", asserted(mac(t, []byte(x), c.header(), root))},
		{"HMAC with the empty secret", asserted(mac(t, nil, c.header(), root))},
		{"a signature of zeros", asserted(parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64)))},
	}
}

func (c *Call) strangers(t testing.TB) []Sent {
	t.Helper()
	seed := bytes.Repeat([]byte{0x5a}, ed25519.SeedSize)
	x := base64.RawURLEncoding.EncodeToString(ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey))
	own := map[string]any{"kty": "OKP", "crv": "Ed25519", "x": x, "kid": c.Kid}
	root := c.claims(t).with("participant", serialized(t, participant.System("root")))
	by := func(h header) metadata.MD { return asserted(sign(t, seed, h, root)) }
	return []Sent{
		{"another key under the edge's id", by(c.header())},
		{"another key under its own id", by(c.header().with("kid", "stranger"))},
		{"another key that the token brings along", by(c.header().with("jwk", own))},
		{"another key that the token points at", by(c.header().with("jku", "http://127.0.0.1:1/keys").with("x5u", "http://127.0.0.1:1/"))},
		{"another key under a path", by(c.header().with("kid", "../../../../dev/null"))},
		{"another key under a query", by(c.header().with("kid", "' OR '1'='1"))},
		{"another key under the name of an object's property", by(c.header().with("kid", "__proto__"))},
		{"another key under no id", by(c.header().with("kid", nil))},
		{"another key under an empty id", by(c.header().with("kid", ""))},
		{"another key under a number", by(c.header().with("kid", 1))},
		{"another key under a list", by(c.header().with("kid", []string{c.Kid}))},
		{"another key under a long id", by(c.header().with("kid", strings.Repeat("k", 500)))},
		{"another key under the edge's id in capitals", by(c.header().with("kid", strings.ToUpper(c.Kid)+"X"))},
	}
}

// replayed is what the edge signed for something else.
func (c *Call) replayed(t testing.TB) []Sent {
	t.Helper()
	claimed := func(name string, value any) metadata.MD {
		return asserted(sign(t, c.Seed, c.header(), c.claims(t).with(name, value)))
	}
	headed := func(name string, value any) metadata.MD {
		return asserted(sign(t, c.Seed, c.header().with(name, value), c.claims(t)))
	}
	right := assertion.Audience(c.Zone, c.Service)
	return []Sent{
		{"for the service of the same name in another zone", claimed("aud", assertion.Audience("app.globex.orders-app", c.Service))},
		{"for the service of the same name in a sub-zone", claimed("aud", assertion.Audience(c.Zone+".billing", c.Service))},
		{"for the service of the same name without a zone", claimed("aud", c.Service)},
		{"for another service in the zone", claimed("aud", assertion.Audience(c.Zone, c.Service+"2"))},
		{"for the service in capitals", claimed("aud", strings.ToUpper(right))},
		{"for several, this one too", claimed("aud", []string{"other", right})},
		{"for this one, in a list", claimed("aud", []string{right})},
		{"for nobody", claimed("aud", nil)},
		{"for another method of the service", claimed("method", c.OtherMethod)},
		{"for the method of another service", claimed("method", "/acme.other.v1.OtherService/Other")},
		{"for the method without its slash", claimed("method", strings.TrimPrefix(c.FullMethod, "/"))},
		{"for every method", claimed("method", "*")},
		{"for no method", claimed("method", nil)},
		{"an access token", headed("typ", "at+jwt")},
		{"any JWT", headed("typ", "JWT")},
		{"without a type", headed("typ", nil)},
		{"without a key id", headed("kid", nil)},
		{"by an algorithm of another name", headed("alg", "Ed25519")},
		{"by an algorithm that it is not", headed("alg", "ES256")},
		{"with an extension that must be understood", asserted(sign(t, c.Seed,
			c.header().with("crit", []string{"sallyport"}).with("sallyport", true), c.claims(t)))},
		{"with a payload that is said to be no base64", asserted(sign(t, c.Seed,
			c.header().with("crit", []string{"b64"}).with("b64", false), c.claims(t)))},
	}
}

func (c *Call) untimely(t testing.TB) []Sent {
	t.Helper()
	timed := func(issued, expiry any) metadata.MD {
		return asserted(sign(t, c.Seed, c.header(), c.claims(t).with("iat", issued).with("exp", expiry)))
	}
	unix := func(d time.Duration) int64 { return c.Now.Add(d).Unix() }
	return []Sent{
		{"replayed after its minute", timed(unix(-2*time.Minute), unix(-time.Minute))},
		{"replayed after a day", timed(unix(-24*time.Hour), unix(-24*time.Hour+time.Minute))},
		{"issued in the future", timed(unix(2*time.Minute), unix(3*time.Minute))},
		{"for an hour", timed(unix(0), unix(time.Hour))},
		{"for ever", timed(unix(0), int64(1)<<62)},
		{"old, and still not expired", timed(unix(-time.Hour), unix(time.Minute))},
		{"expired before it was issued", timed(unix(0), unix(-10*time.Second))},
		{"without a time of issue", timed(nil, unix(time.Minute))},
		{"without an expiry", timed(unix(0), nil)},
		{"with times in texts", timed(fmt.Sprint(unix(0)), fmt.Sprint(unix(time.Minute)))},
		{"with a negative time", timed(-1, unix(time.Minute))},
	}
}

// impossible is what no edge signs: participants that disagree with themselves.
func (c *Call) impossible(t testing.TB) []Sent {
	t.Helper()
	claimed := func(value any) metadata.MD {
		return asserted(sign(t, c.Seed, c.header(), c.claims(t).with("participant", value)))
	}
	of := func(p *participant.Participant) metadata.MD { return claimed(serialized(t, p)) }
	big := participant.Application("acme-org", "orders-app", strings.Repeat("x", participant.MaxBytes))
	return []Sent{
		{"a system with an organization", of(&participant.Participant{Kind: participantv1.Kind_KIND_SYSTEM, Id: "x", OrganizationId: "acme-org"})},
		{"a system with both ids", of(&participant.Participant{Kind: participantv1.Kind_KIND_SYSTEM, Id: "x", OrganizationId: "acme-org", ApplicationId: "orders-app"})},
		{"an organization without its id", of(&participant.Participant{Kind: participantv1.Kind_KIND_ORGANIZATION, Id: "x"})},
		{"an organization with an application", of(&participant.Participant{Kind: participantv1.Kind_KIND_ORGANIZATION, Id: "x", OrganizationId: "acme-org", ApplicationId: "orders-app"})},
		{"an application without an organization", of(&participant.Participant{Kind: participantv1.Kind_KIND_APPLICATION, Id: "x", ApplicationId: "orders-app"})},
		{"an application without its id", of(&participant.Participant{Kind: participantv1.Kind_KIND_APPLICATION, Id: "x", OrganizationId: "acme-org"})},
		{"an anonymous one with an organization", of(&participant.Participant{Kind: participantv1.Kind_KIND_ANONYMOUS, OrganizationId: "acme-org"})},
		{"one of no kind", of(&participant.Participant{Id: "x"})},
		{"one of no kind with both ids", of(&participant.Participant{Id: "x", OrganizationId: "acme-org", ApplicationId: "orders-app"})},
		{"one of a kind that nobody knows", of(&participant.Participant{Kind: 99, Id: "x"})},
		{"one that is too large", of(big)},
		{"an empty one", claimed("")},
		{"no participant", claimed(nil)},
		{"a participant in JSON", claimed(map[string]any{"kind": "KIND_SYSTEM", "id": "root"})},
		{"what is no message", claimed(base64.RawURLEncoding.EncodeToString([]byte{0xff, 0xff, 0xff}))},
		{"what is no base64url", claimed("+/+/")},
	}
}
