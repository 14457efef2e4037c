package assertion_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/participant"
)

const (
	method   = "/com.acme.OrderService/FindById"
	audience = "app.acme.orders~com.acme.OrderService"
)

var (
	seed  = []byte(strings.Repeat("s", ed25519.SeedSize))
	other = []byte(strings.Repeat("o", ed25519.SeedSize))
	issue = time.Unix(1_800_000_000, 0)
)

func public(seed []byte) ed25519.PublicKey {
	return ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
}

func signer(t testing.TB) *assertion.Signer {
	t.Helper()
	s, err := assertion.NewSigner("k1", seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func at(now time.Time) func() time.Time { return func() time.Time { return now } }

func TestVerifier_believesWhatTheSignerSays(t *testing.T) {
	delegate := participant.Application("acme", "orders", "delegate-1")
	delegate.Roles, delegate.Groups, delegate.Scopes = []string{"buyer"}, []string{"g"}, []string{"tools"}
	delegate.OnBehalfOf = &participantv1.OnBehalfOf{OwnerId: "ada@acme.example", ClientId: "c", ClientName: "Claude"}
	large := participant.System("")
	large.Id = strings.Repeat("x", participant.MaxBytes-8)
	for name, p := range map[string]*participant.Participant{
		"system": participant.System("s"), "organization": participant.Organization("acme", "o"),
		"application": participant.Application("acme", "orders", "a"), "anonymous": participant.Anonymous(),
		"delegate": delegate, "as large as allowed": large,
	} {
		t.Run(name, func(t *testing.T) {
			token, err := signer(t).Sign(p, method, audience, issue)
			if err != nil {
				t.Fatal(err)
			}
			v := assertion.NewVerifier(assertion.Keys{"k1": public(seed)}, at(issue))
			for range 2 { // the second time from memory
				got, err := v.Verify(context.Background(), token, method, audience)
				if err != nil || !proto.Equal(got, p) {
					t.Errorf("got %v, %v, want %v", got, err, p)
				}
			}
		})
	}
}

func TestVerifier_timeWindow(t *testing.T) {
	for name, row := range map[string]struct {
		after time.Duration
		ok    bool
	}{
		"at once":                          {0, true},
		"at the end of its life":           {60 * time.Second, true},
		"just within the skew after":       {89 * time.Second, true},
		"at the end of the skew":           {90 * time.Second, false},
		"long after":                       {time.Hour, false},
		"just within the skew before":      {-30 * time.Second, true},
		"earlier than the skew":            {-31 * time.Second, false},
		"earlier than the skew by a share": {-30*time.Second - time.Millisecond, false},
	} {
		t.Run(name, func(t *testing.T) {
			token, err := signer(t).Sign(participant.System("s"), method, audience, issue)
			if err != nil {
				t.Fatal(err)
			}
			now := issue
			v := assertion.NewVerifier(assertion.Keys{"k1": public(seed)}, func() time.Time { return now })
			if _, err := v.Verify(context.Background(), token, method, audience); err != nil {
				t.Fatal(err)
			}
			now = issue.Add(row.after) // the memory must not outlive the token
			_, err = v.Verify(context.Background(), token, method, audience)
			if (err == nil) != row.ok || err != nil && !errors.Is(err, assertion.ErrInvalid) {
				t.Errorf("%v later: %v, want ok: %t", row.after, err, row.ok)
			}
		})
	}
}

// sign makes a token by hand, as somebody else might.
func sign(t *testing.T, key jose.SigningKey, options *jose.SignerOptions, payload string) string {
	t.Helper()
	s, err := jose.NewSigner(key, options)
	if err != nil {
		t.Fatal(err)
	}
	object, err := s.Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	token, err := object.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestVerifier_refuses(t *testing.T) {
	good, err := signer(t).Sign(participant.System("s"), method, audience, issue)
	if err != nil {
		t.Fatal(err)
	}
	segments := strings.Split(good, ".")
	b64 := base64.RawURLEncoding.EncodeToString
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(participant.System("s"))
	if err != nil {
		t.Fatal(err)
	}
	illFormed, err := proto.Marshal(&participant.Participant{Kind: 3, ApplicationId: "orders"})
	if err != nil {
		t.Fatal(err)
	}
	claims := func(changes ...string) string {
		values := map[string]string{
			"participant": fmt.Sprintf("%q", b64(raw)), "method": fmt.Sprintf("%q", method),
			"aud": fmt.Sprintf("%q", audience), "iat": "1800000000", "exp": "1800000060",
		}
		for i := 0; i < len(changes); i += 2 {
			values[changes[i]] = changes[i+1]
		}
		var fields []string
		for name, value := range values {
			if value != "" {
				fields = append(fields, fmt.Sprintf("%q:%s", name, value))
			}
		}
		return "{" + strings.Join(fields, ",") + "}"
	}
	typed := func() *jose.SignerOptions {
		return (&jose.SignerOptions{}).WithType(assertion.Type).WithHeader("kid", "k1")
	}
	eddsa := jose.SigningKey{Algorithm: jose.EdDSA, Key: ed25519.NewKeyFromSeed(seed)}
	by := func(payload string) string { return sign(t, eddsa, typed(), payload) }
	v := assertion.NewVerifier(assertion.Keys{"k1": public(seed), "k2": public(other)}, at(issue))
	verify := func(token, method, audience string) error {
		_, err := v.Verify(context.Background(), token, method, audience)
		return err
	}
	if err := verify(by(claims()), method, audience); err != nil {
		t.Fatalf("the hand-made token is not good to begin with: %v", err)
	}
	if err := verify(by(claims("iss", `{"x":[1]}`)), method, audience); err != nil {
		t.Fatalf("a claim that says nothing to us: %v", err)
	}

	for name, row := range map[string]struct{ token, method, audience string }{
		"another method":              {good, "/com.acme.OrderService/Cancel", audience},
		"another audience":            {good, method, "app.acme.orders-2~com.acme.OrderService"},
		"the un-zoned audience":       {good, method, "com.acme.OrderService"},
		"no token":                    {"", method, audience},
		"two segments":                {segments[0] + "." + segments[1], method, audience},
		"four segments":               {good + ".x", method, audience},
		"signature missing":           {segments[0] + "." + segments[1] + ".", method, audience},
		"signature of another":        {segments[0] + "." + segments[1] + "." + strings.Split(by(claims("exp", "1800000059")), ".")[2], method, audience},
		"payload changed":             {segments[0] + "." + b64([]byte(claims("aud", `"x"`))) + "." + segments[2], method, "x"},
		"JSON serialisation":          {`{"payload":"` + segments[1] + `","protected":"` + segments[0] + `","signature":"` + segments[2] + `"}`, method, audience},
		"alg none":                    {b64([]byte(`{"alg":"none","kid":"k1","typ":"`+assertion.Type+`"}`)) + "." + segments[1] + ".", method, audience},
		"alg HS256 with the key":      {sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: []byte(public(seed))}, typed(), claims()), method, audience},
		"another type":                {sign(t, eddsa, (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", "k1"), claims()), method, audience},
		"no type":                     {sign(t, eddsa, (&jose.SignerOptions{}).WithHeader("kid", "k1"), claims()), method, audience},
		"no key id":                   {sign(t, eddsa, (&jose.SignerOptions{}).WithType(assertion.Type), claims()), method, audience},
		"unknown key id":              {sign(t, eddsa, (&jose.SignerOptions{}).WithType(assertion.Type).WithHeader("kid", "k9"), claims()), method, audience},
		"key id of another key":       {sign(t, eddsa, (&jose.SignerOptions{}).WithType(assertion.Type).WithHeader("kid", "k2"), claims()), method, audience},
		"overlong key id":             {sign(t, eddsa, (&jose.SignerOptions{}).WithType(assertion.Type).WithHeader("kid", strings.Repeat("k", 129)), claims()), method, audience},
		"key embedded in the header":  {sign(t, jose.SigningKey{Algorithm: jose.EdDSA, Key: ed25519.NewKeyFromSeed(other)}, &jose.SignerOptions{EmbedJWK: true, ExtraHeaders: map[jose.HeaderKey]any{"typ": assertion.Type, "kid": "k1"}}, claims()), method, audience},
		"critical header":             {sign(t, eddsa, typed().WithHeader("crit", []string{"exp"}).WithHeader("exp", 1), claims()), method, audience},
		"oversized":                   {by(claims("pad", fmt.Sprintf("%q", strings.Repeat("x", assertion.MaxBytes)))), method, audience},
		"no participant":              {by(claims("participant", "")), method, audience},
		"no method":                   {by(claims("method", "")), method, audience},
		"no audience":                 {by(claims("aud", "")), method, audience},
		"no issue":                    {by(claims("iat", "")), method, audience},
		"no expiry":                   {by(claims("exp", "")), method, audience},
		"audience list":               {by(claims("aud", `["`+audience+`"]`)), method, audience},
		"method not a string":         {by(claims("method", "1")), method, audience},
		"expiry a string":             {by(claims("exp", `"1800000060"`)), method, audience},
		"expiry a fraction":           {by(claims("exp", "1800000060.5")), method, audience},
		"expiry negative":             {by(claims("exp", "-1")), method, audience},
		"expiry absurd":               {by(claims("exp", "9223372036854775807")), method, audience},
		"expiry before issue":         {by(claims("exp", "1799999999")), method, audience},
		"lasts too long":              {by(claims("exp", "1800000061")), method, audience},
		"a claim twice":               {by(strings.TrimSuffix(claims(), "}") + `,"aud":"` + audience + `"}`), method, audience},
		"something behind the object": {by(claims() + "{}"), method, audience},
		"an array":                    {by("[" + claims() + "]"), method, audience},
		"not JSON":                    {by("claims"), method, audience},
		"an open object":              {by(strings.TrimSuffix(claims(), "}")), method, audience},
		"padded participant":          {by(claims("participant", fmt.Sprintf("%q", base64.URLEncoding.EncodeToString(append(raw, raw...))+"="))), method, audience},
		"participant not a message":   {by(claims("participant", `"_____w"`)), method, audience},
		"participant of no kind":      {by(claims("participant", `""`)), method, audience},
		"ill-formed participant":      {by(claims("participant", fmt.Sprintf("%q", b64(illFormed)))), method, audience},
		"participant not UTF-8":       {by(claims("participant", fmt.Sprintf("%q", b64([]byte("\x08\x01\x12\x01\xff"))))), method, audience},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				if err := verify(row.token, row.method, row.audience); !errors.Is(err, assertion.ErrInvalid) {
					t.Errorf("got %v, want an invalid assertion", err)
				}
			}
		})
	}
}

type failing struct{ err error }

func (f failing) Key(context.Context, string) (ed25519.PublicKey, error) { return nil, f.err }

// The error is logged for each call of anyone, and says nothing in the words of who called.
func TestVerifier_repeatsNothing(t *testing.T) {
	b64 := base64.RawURLEncoding.EncodeToString
	v := assertion.NewVerifier(assertion.Keys{"k1": public(seed)}, at(issue))
	for name, header := range map[string]string{
		"an algorithm":   `{"alg":"canary","kid":"k1","typ":"` + assertion.Type + `"}`,
		"a type":         `{"alg":"EdDSA","kid":"k1","typ":"canary"}`,
		"a key id":       `{"alg":"EdDSA","kid":"canary","typ":"` + assertion.Type + `"}`,
		"a name twice":   `{"canary":1,"canary":2,"alg":"EdDSA","kid":"k1","typ":"` + assertion.Type + `"}`,
		"a critical one": `{"alg":"EdDSA","kid":"k1","typ":"` + assertion.Type + `","crit":["canary"],"canary":1}`,
		"not JSON":       `canary`,
	} {
		token := b64([]byte(header)) + "." + b64([]byte(`{"canary":1}`)) + "." + b64([]byte("canary"))
		_, err := v.Verify(context.Background(), token, method, audience)
		if !errors.Is(err, assertion.ErrInvalid) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVerifier_tellsAnUnknownKeyFromAnUnreachableSource(t *testing.T) {
	token, err := signer(t).Sign(participant.System("s"), method, audience, issue)
	if err != nil {
		t.Fatal(err)
	}
	down := errors.New("registry is away")
	_, err = assertion.NewVerifier(failing{down}, at(issue)).Verify(context.Background(), token, method, audience)
	if !errors.Is(err, down) || errors.Is(err, assertion.ErrInvalid) {
		t.Errorf("unreachable source: %v", err)
	}
	_, err = assertion.NewVerifier(failing{nil}, at(issue)).Verify(context.Background(), token, method, audience)
	if err == nil || errors.Is(err, assertion.ErrInvalid) {
		t.Errorf("a key of no size: %v", err)
	}
	_, err = assertion.NewVerifier(failing{assertion.ErrUnknownKey}, at(issue)).Verify(context.Background(), token, method, audience)
	if !errors.Is(err, assertion.ErrUnknownKey) || !errors.Is(err, assertion.ErrInvalid) {
		t.Errorf("unknown key: %v", err)
	}
}

func TestVerifier_asksAgainForTheKeyOfARememberedToken(t *testing.T) {
	token, err := signer(t).Sign(participant.System("s"), method, audience, issue)
	if err != nil {
		t.Fatal(err)
	}
	keys, now := assertion.Keys{"k1": public(seed)}, issue
	v := assertion.NewVerifier(keys, func() time.Time { return now })
	if _, err := v.Verify(context.Background(), token, method, audience); err != nil {
		t.Fatal(err)
	}
	delete(keys, "k1")
	now = now.Add(31 * time.Second)
	if _, err := v.Verify(context.Background(), token, method, audience); !errors.Is(err, assertion.ErrUnknownKey) {
		t.Errorf("a withdrawn key still counts: %v", err)
	}
}

func TestSigner_reusesAnAssertionForThirtySeconds(t *testing.T) {
	s := signer(t)
	sign := func(p *participant.Participant, method, audience string, now time.Time) string {
		t.Helper()
		token, err := s.Sign(p, method, audience, now)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	app := participant.Application("acme", "orders", "a")
	first := sign(app, method, audience, issue)
	for name, row := range map[string]struct {
		token string
		same  bool
	}{
		"another participant of the same content": {sign(participant.Application("acme", "orders", "a"), method, audience, issue), true},
		"within 30 s":         {sign(app, method, audience, issue.Add(29*time.Second)), true},
		"another participant": {sign(participant.Application("acme", "orders", "b"), method, audience, issue), false},
		"another method":      {sign(app, method+"2", audience, issue), false},
		"another audience":    {sign(app, method, audience+"2", issue), false},
		"after 30 s":          {sign(app, method, audience, issue.Add(30*time.Second)), false},
		"before it was made":  {sign(app, method, audience, issue.Add(-time.Second)), false},
	} {
		if (row.token == first) != row.same {
			t.Errorf("%s: same token: %t, want %t", name, row.token == first, row.same)
		}
	}
}

func TestSigner_givesTheMetadataOfACall(t *testing.T) {
	s, app := signer(t), participant.Application("acme", "orders", "a")
	token, err := s.Sign(app, method, audience, issue)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*participant.Participant{
		"the same participant": app, "one of the same content": participant.Application("acme", "orders", "a"),
	} {
		ctx, err := s.Outgoing(p, method, audience, issue.Add(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		md, _ := metadata.FromOutgoingContext(ctx)
		carried := new(participant.Participant)
		if values := md.Get(assertion.ParticipantKey); len(values) != 1 || proto.Unmarshal([]byte(values[0]), carried) != nil ||
			!proto.Equal(carried, app) {
			t.Errorf("%s: participant %q", name, values)
		}
		if got := md.Get(assertion.AssertionKey); len(got) != 1 || got[0] != token || len(md) != 2 {
			t.Errorf("%s: metadata %v, want the assertion %s", name, md, token)
		}
		if _, limited := ctx.Deadline(); limited || ctx.Done() != nil {
			t.Errorf("%s: the context ends", name)
		}
	}
	if ctx, err := s.Outgoing(&participant.Participant{Kind: 3, ApplicationId: "orders"}, method, audience, issue); err == nil {
		t.Errorf("an ill-formed participant got %v", ctx)
	}
}

// The memory is bounded and forgets; what is signed and verified stays right under contention.
func TestSigner_manyCallersAtOnce(t *testing.T) {
	s := signer(t)
	v := assertion.NewVerifier(assertion.Keys{"k1": public(seed)}, at(issue))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 1500 {
				id := fmt.Sprintf("caller-%d", i)
				token, err := s.Sign(participant.Organization("acme", id), method, audience, issue)
				if err != nil {
					t.Error(err)
					return
				}
				if i%10 != 0 {
					continue
				}
				if p, err := v.Verify(context.Background(), token, method, audience); err != nil || p.GetId() != id {
					t.Errorf("%s got %v, %v", id, p, err)
					return
				}
			}
		})
	}
	group.Wait()
}

func TestSigner_refuses(t *testing.T) {
	s := signer(t)
	for name, row := range map[string]struct {
		p                *participant.Participant
		method, audience string
	}{
		"an ill-formed participant": {&participant.Participant{Kind: 3, ApplicationId: "orders"}, method, audience},
		"nobody":                    {nil, method, audience},
		"no method":                 {participant.System("s"), "", audience},
		"no audience":               {participant.System("s"), method, ""},
		"too much":                  {participant.System("s"), strings.Repeat("m", assertion.MaxBytes), audience},
	} {
		if token, err := s.Sign(row.p, row.method, row.audience, issue); err == nil {
			t.Errorf("%s: signed %q", name, token)
		}
	}
}

func TestKeys(t *testing.T) {
	key, err := assertion.EncodeKey("k1", seed)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := assertion.DecodeKey(key)
	if err != nil || !decoded.Equal(public(seed)) {
		t.Errorf("there and back: %v, %v", decoded, err)
	}
	// Clients of key sets choose by these (RFC 7517, 4.2 and 4.4).
	if key.GetUse() != "sig" || key.GetAlg() != "EdDSA" {
		t.Errorf("the key is for %q by %q", key.GetUse(), key.GetAlg())
	}
	// RFC 8037, appendix A.1 and A.2.
	rfc, _ := base64.RawURLEncoding.DecodeString("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A")
	if key, err := assertion.EncodeKey("rfc", rfc); err != nil || key.GetX() != "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" {
		t.Errorf("the vector of RFC 8037 gives %v, %v", key, err)
	}
	for name, bad := range map[string]*registryv1.AssertionKey{
		"another type":  {Kid: "k", Kty: "EC", Crv: "Ed25519", X: key.GetX()},
		"another curve": {Kid: "k", Kty: "OKP", Crv: "X25519", X: key.GetX()},
		"too short":     {Kid: "k", Kty: "OKP", Crv: "Ed25519", X: "AAAA"},
		"padded":        {Kid: "k", Kty: "OKP", Crv: "Ed25519", X: key.GetX() + "="},
		"nil":           nil,
	} {
		if _, err := assertion.DecodeKey(bad); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	for name, row := range map[string]struct {
		kid  string
		seed []byte
	}{"no id": {"", seed}, "long id": {strings.Repeat("k", 129), seed}, "short seed": {"k", seed[1:]}} {
		if _, err := assertion.NewSigner(row.kid, row.seed); err == nil {
			t.Errorf("signer with %s was made", name)
		}
		if _, err := assertion.EncodeKey(row.kid, row.seed); err == nil {
			t.Errorf("key with %s was encoded", name)
		}
	}
}

func TestAudience(t *testing.T) {
	for want, row := range map[string][2]string{
		"app.acme.orders~com.acme.OrderService": {"app.acme.orders", "com.acme.OrderService"},
		"com.acme.OrderService":                 {"", "com.acme.OrderService"},
	} {
		if got := assertion.Audience(row[0], row[1]); got != want {
			t.Errorf("Audience(%q) = %q, want %q", row, got, want)
		}
	}
}

func FuzzVerify(f *testing.F) {
	s, err := assertion.NewSigner("k1", seed)
	if err != nil {
		f.Fatal(err)
	}
	good, err := s.Sign(participant.System("s"), method, audience, issue)
	if err != nil {
		f.Fatal(err)
	}
	for _, token := range []string{good, good + ".", "", "a.b.c", "..", strings.ToUpper(good)} {
		f.Add(token)
	}
	v := assertion.NewVerifier(assertion.Keys{"k1": public(seed)}, at(issue))
	f.Fuzz(func(t *testing.T, token string) {
		p, err := v.Verify(context.Background(), token, method, audience)
		if err == nil && !proto.Equal(p, participant.System("s")) {
			t.Fatalf("%q proved to be %v", token, p)
		}
		if err != nil && !errors.Is(err, assertion.ErrInvalid) {
			t.Fatalf("%q: %v", token, err)
		}
	})
}

func BenchmarkSigner_Outgoing_remembered(b *testing.B) {
	s, p := signer(b), participant.Application("acme-org", "orders-app", "a")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Outgoing(p, method, audience, issue); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkVerifier_Verify_remembered(b *testing.B) {
	token, err := signer(b).Sign(participant.Application("acme-org", "orders-app", "a"), method, audience, issue)
	if err != nil {
		b.Fatal(err)
	}
	v := assertion.NewVerifier(assertion.Keys{"k1": public(seed)}, at(issue))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := v.Verify(context.Background(), token, method, audience); err != nil {
			b.Fatal(err)
		}
	}
}
