package token_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/auth/token"
	"github.com/sallyport-dev/sallyport/participant"
)

const (
	issuer   = "https://as.example"
	resource = "https://edge.example/mcp"
)

var (
	seed  = bytes.Repeat([]byte("s"), ed25519.SeedSize)
	other = bytes.Repeat([]byte("o"), ed25519.SeedSize)
	keys  = map[string]*identityv1.StoredTokenKey{"k1": {Kid: "k1", Seed: seed}, "k2": {Kid: "k2", Seed: other}, "short": {Kid: "short", Seed: seed[:8]}}
	at    = time.Unix(1_800_000_000, 0)
)

func find(kid string) (*identityv1.StoredTokenKey, bool) { key, ok := keys[kid]; return key, ok }

func issue(t testing.TB) string {
	t.Helper()
	text, err := token.Issue(keys["k1"], token.Claims{
		Issuer: issuer, Subject: "m", ClientID: "m", Audience: []string{resource}, Scopes: token.Tools,
	}, at, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestIssue(t *testing.T) {
	text := issue(t)
	c, err := token.Read(text, find)
	if err != nil {
		t.Fatal(err)
	}
	if c.Issuer != issuer || c.Subject != "m" || c.ClientID != "m" || !slices.Equal(c.Audience, []string{resource}) ||
		c.Scopes != token.Tools || c.KeyID != "k1" || c.IssuedAt != at.Unix() || c.Expiry != at.Unix()+3600 || c.NotBefore != 0 ||
		len(c.ID) < 20 {
		t.Errorf("it says %+v", c)
	}
	if again, err := token.Read(issue(t), find); err != nil || again.ID == c.ID {
		t.Errorf("two tokens have one id: %v", err)
	}
	for name, row := range map[string]struct {
		key    *identityv1.StoredTokenKey
		claims token.Claims
	}{
		"no key":        {nil, token.Claims{Issuer: issuer, Subject: "m", Audience: []string{resource}}},
		"a short seed":  {keys["short"], token.Claims{Issuer: issuer, Subject: "m", Audience: []string{resource}}},
		"no audience":   {keys["k1"], token.Claims{Issuer: issuer, Subject: "m"}},
		"two audiences": {keys["k1"], token.Claims{Issuer: issuer, Subject: "m", Audience: []string{resource, issuer}}},
		"not UTF-8":     {keys["k1"], token.Claims{Issuer: issuer, Subject: "\xff", Audience: []string{resource}}},
		"too large":     {keys["k1"], token.Claims{Issuer: issuer, Subject: strings.Repeat("m", token.MaxBytes), Audience: []string{resource}}},
	} {
		if text, err := token.Issue(row.key, row.claims, at, time.Hour); err == nil {
			t.Errorf("%s: issued %q", name, text)
		}
	}
}

// sign makes a token by hand, as somebody else might.
func sign(t testing.TB, algorithm jose.SignatureAlgorithm, key any, header map[jose.HeaderKey]any, payload string) string {
	t.Helper()
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, &jose.SignerOptions{ExtraHeaders: header})
	if err != nil {
		t.Fatal(err)
	}
	object, err := s.Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	text, err := object.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// claims spells the claims of a good token with changes; an empty value takes a claim away.
func claims(changes ...string) string {
	values := map[string]string{
		"iss": `"` + issuer + `"`, "sub": `"m"`, "aud": `"` + resource + `"`, "client_id": `"m"`, "scope": `"tools"`,
		"jti": `"x"`, "iat": "1800000000", "exp": "1800003600",
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

func TestRead_refuses(t *testing.T) {
	good := issue(t)
	segments := strings.Split(good, ".")
	private := ed25519.NewKeyFromSeed(seed)
	public := private.Public().(ed25519.PublicKey)
	header := func(changes ...any) map[jose.HeaderKey]any {
		h := map[jose.HeaderKey]any{"typ": token.Type, "kid": "k1"}
		for i := 0; i < len(changes); i += 2 {
			if h[jose.HeaderKey(changes[i].(string))] = changes[i+1]; changes[i+1] == nil {
				delete(h, jose.HeaderKey(changes[i].(string)))
			}
		}
		return h
	}
	eddsa := func(h map[jose.HeaderKey]any, payload string) string { return sign(t, jose.EdDSA, private, h, payload) }
	by := func(payload string) string { return eddsa(header(), payload) }
	b64 := base64.RawURLEncoding.EncodeToString
	// byHand signs a header that no library writes.
	byHand := func(header, payload string) string {
		input := b64([]byte(header)) + "." + b64([]byte(payload))
		return input + "." + b64(ed25519.Sign(private, []byte(input)))
	}
	signer, err := assertion.NewSigner("k1", seed)
	if err != nil {
		t.Fatal(err)
	}
	asserted, err := signer.Sign(participant.System("m"), "/s/M", "s", at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := token.Read(by(claims()), find); err != nil {
		t.Fatalf("the hand-made token is not good to begin with: %v", err)
	}
	if _, err := token.Read(byHand(`{"alg":"EdDSA","typ":"at+jwt","kid":"k1"}`, claims()), find); err != nil {
		t.Fatalf("the hand-made header is not good to begin with: %v", err)
	}
	if _, err := token.Read(by(claims("groups", `{"x":[1]}`, "nbf", "1800000000")), find); err != nil {
		t.Fatalf("a claim that says nothing to us: %v", err)
	}
	for name, row := range map[string]struct {
		text string
		want error
	}{
		"nothing":                     {"", token.ErrForged},
		"two segments":                {segments[0] + "." + segments[1], token.ErrForged},
		"four segments":               {good + ".x", token.ErrForged},
		"no signature":                {segments[0] + "." + segments[1] + ".", token.ErrForged},
		"signature of another":        {segments[0] + "." + segments[1] + "." + strings.Split(by(claims()), ".")[2], token.ErrForged},
		"payload changed":             {segments[0] + "." + b64([]byte(claims("sub", `"x"`))) + "." + segments[2], token.ErrForged},
		"JSON serialisation":          {`{"payload":"` + segments[1] + `","protected":"` + segments[0] + `","signature":"` + segments[2] + `"}`, token.ErrForged},
		"alg none":                    {b64([]byte(`{"alg":"none","typ":"at+jwt","kid":"k1"}`)) + "." + segments[1] + ".", token.ErrForged},
		"alg none with a signature":   {byHand(`{"alg":"none","typ":"at+jwt","kid":"k1"}`, claims()), token.ErrForged},
		"HS256 with the public key":   {sign(t, jose.HS256, []byte(public), header(), claims()), token.ErrForged},
		"HS256 with its base64":       {sign(t, jose.HS256, []byte(b64(public)), header(), claims()), token.ErrForged},
		"RS256":                       {sign(t, jose.RS256, rsaKey(t), header(), claims()), token.ErrForged},
		"alg in another case":         {byHand(`{"alg":"eddsa","typ":"at+jwt","kid":"k1"}`, claims()), token.ErrForged},
		"another type":                {eddsa(header("typ", "JWT"), claims()), token.ErrForged},
		"the type's long form":        {eddsa(header("typ", "application/at+jwt"), claims()), token.ErrForged},
		"the type of an assertion":    {eddsa(header("typ", assertion.Type), claims()), token.ErrForged},
		"an assertion by the same":    {asserted, token.ErrForged},
		"no type":                     {eddsa(header("typ", nil), claims()), token.ErrForged},
		"no key id":                   {eddsa(header("kid", nil), claims()), token.ErrForged},
		"unknown key id":              {eddsa(header("kid", "k9"), claims()), token.ErrForged},
		"key id of another key":       {eddsa(header("kid", "k2"), claims()), token.ErrForged},
		"key id of a broken key":      {eddsa(header("kid", "short"), claims()), token.ErrForged},
		"overlong key id":             {eddsa(header("kid", strings.Repeat("k", 129)), claims()), token.ErrForged},
		"key id a number":             {eddsa(header("kid", 1), claims()), token.ErrForged},
		"jku":                         {eddsa(header("jku", "https://evil.example/jwks"), claims()), token.ErrForged},
		"x5u":                         {eddsa(header("x5u", "https://evil.example/x5u"), claims()), token.ErrForged},
		"jwk":                         {eddsa(header("jwk", jose.JSONWebKey{Key: public}), claims()), token.ErrForged},
		"jwk of another, signed so":   {sign(t, jose.EdDSA, ed25519.NewKeyFromSeed(other), header("jwk", jose.JSONWebKey{Key: ed25519.NewKeyFromSeed(other).Public()}), claims()), token.ErrForged},
		"crit":                        {eddsa(header("crit", []string{"exp"}, "exp", 1), claims()), token.ErrForged},
		"crit of what is understood":  {byHand(`{"alg":"EdDSA","typ":"at+jwt","kid":"k1","crit":["b64"],"b64":true}`, claims()), token.ErrForged},
		"an empty crit":               {byHand(`{"alg":"EdDSA","typ":"at+jwt","kid":"k1","crit":[]}`, claims()), token.ErrForged},
		"a header twice":              {byHand(`{"alg":"EdDSA","typ":"at+jwt","kid":"k2","kid":"k1"}`, claims()), token.ErrForged},
		"a header with escapes twice": {byHand(`{"alg":"EdDSA","typ":"at+jwt","kid":"k2","\u006bid":"k1"}`, claims()), token.ErrForged},
		"something behind the header": {byHand(`{"alg":"EdDSA","typ":"at+jwt","kid":"k1"}{}`, claims()), token.ErrForged},
		"oversized":                   {by(claims("pad", fmt.Sprintf("%q", strings.Repeat("x", token.MaxBytes)))), token.ErrForged},

		"no issuer":                   {by(claims("iss", "")), token.ErrInvalid},
		"no subject":                  {by(claims("sub", "")), token.ErrInvalid},
		"no audience":                 {by(claims("aud", "")), token.ErrInvalid},
		"no client":                   {by(claims("client_id", "")), token.ErrInvalid},
		"no scope":                    {by(claims("scope", "")), token.ErrInvalid},
		"no id":                       {by(claims("jti", "")), token.ErrInvalid},
		"no issue":                    {by(claims("iat", "")), token.ErrInvalid},
		"no expiry":                   {by(claims("exp", "")), token.ErrInvalid},
		"an empty subject":            {by(claims("sub", `""`)), token.ErrInvalid},
		"an overlong subject":         {by(claims("sub", fmt.Sprintf("%q", strings.Repeat("x", 2049)))), token.ErrInvalid},
		"subject a number":            {by(claims("sub", "1")), token.ErrInvalid},
		"scope a list":                {by(claims("scope", `["tools"]`)), token.ErrInvalid},
		"audience a number":           {by(claims("aud", "1")), token.ErrInvalid},
		"audience a list of others":   {by(claims("aud", `["`+resource+`",1]`)), token.ErrInvalid},
		"audience null":               {by(claims("aud", "null")), token.ErrInvalid},
		"expiry a string":             {by(claims("exp", `"1800003600"`)), token.ErrInvalid},
		"expiry a fraction":           {by(claims("exp", "1800003600.5")), token.ErrInvalid},
		"expiry with an exponent":     {by(claims("exp", "18e8")), token.ErrInvalid},
		"expiry negative":             {by(claims("exp", "-1")), token.ErrInvalid},
		"expiry absurd":               {by(claims("exp", "9223372036854775807")), token.ErrInvalid},
		"not before a string":         {by(claims("nbf", `"1"`)), token.ErrInvalid},
		"a claim twice":               {by(strings.TrimSuffix(claims(), "}") + `,"aud":"` + resource + `"}`), token.ErrInvalid},
		"a claim of others twice":     {by(strings.TrimSuffix(claims(), "}") + `,"x":1,"x":1}`), token.ErrInvalid},
		"something behind the object": {by(claims() + "{}"), token.ErrInvalid},
		"an array":                    {by("[" + claims() + "]"), token.ErrInvalid},
		"not JSON":                    {by("claims"), token.ErrInvalid},
		"an open object":              {by(strings.TrimSuffix(claims(), "}")), token.ErrInvalid},
		"not UTF-8":                   {by(claims("sub", "\"\xff\"")), token.ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := token.Read(row.text, find)
			if !errors.Is(err, row.want) {
				t.Fatalf("got %+v, %v", c, err)
			}
			if strings.Contains(err.Error(), "evil") {
				t.Errorf("the error repeats the token: %v", err)
			}
		})
	}
}

func TestClaims_Judge(t *testing.T) {
	for name, row := range map[string]struct {
		changes []string
		after   time.Duration
		ok      bool
	}{
		"at once":                         {nil, 0, true},
		"at the end of its life":          {nil, time.Hour, true},
		"just within the skew after":      {nil, time.Hour + token.Skew - time.Second, true},
		"at the end of the skew":          {nil, time.Hour + token.Skew, false},
		"just within the skew before":     {nil, -token.Skew, true},
		"issued in the future":            {nil, -token.Skew - time.Second, false},
		"good from later on, within skew": {[]string{"nbf", "1800000030"}, 0, true},
		"not yet valid":                   {[]string{"nbf", "1800000031"}, 0, false},
		"valid by now":                    {[]string{"nbf", "1800000031"}, time.Second, true},
		"another issuer":                  {[]string{"iss", `"https://other.example"`}, 0, false},
		"the issuer with a slash":         {[]string{"iss", `"` + issuer + `/"`}, 0, false},
		"the issuer in another case":      {[]string{"iss", `"https://AS.example"`}, 0, false},
		"another audience":                {[]string{"aud", `"https://other.example/mcp"`}, 0, false},
		"the edge, not its endpoint":      {[]string{"aud", `"https://edge.example"`}, 0, false},
		"the audience with a slash":       {[]string{"aud", `"` + resource + `/"`}, 0, false},
		"a list with the audience":        {[]string{"aud", `["https://other.example/mcp","` + resource + `"]`}, 0, true},
		"a list without it":               {[]string{"aud", `["https://other.example/mcp"]`}, 0, false},
		"an empty list":                   {[]string{"aud", `[]`}, 0, false},
		"expires before it was issued":    {[]string{"exp", "1799999999"}, 0, false},
		"lasts a day":                     {[]string{"exp", "1800086400"}, 0, true},
		"lasts longer":                    {[]string{"exp", "1800086401"}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			private := ed25519.NewKeyFromSeed(seed)
			c, err := token.Read(sign(t, jose.EdDSA, private, map[jose.HeaderKey]any{"typ": token.Type, "kid": "k1"}, claims(row.changes...)), find)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Judge(issuer, resource, at.Add(row.after)); (err == nil) != row.ok || err != nil && !errors.Is(err, token.ErrInvalid) {
				t.Errorf("%v, want ok: %t", err, row.ok)
			}
		})
	}
}

func TestScopes(t *testing.T) {
	for text, row := range map[string]struct {
		written         string
		unknown         bool
		lists, callsToo bool
	}{
		"tools":                  {"tools", false, true, true},
		"tools:list":             {"tools:list", false, true, false},
		"tools:call":             {"tools:call", false, false, true},
		"tools:call tools:list":  {"tools:list tools:call", false, true, true},
		"tools tools":            {"tools", false, true, true},
		"tools tools:list":       {"tools tools:list", false, true, true},
		"tools offline_access":   {"tools", true, true, true},
		"":                       {"", true, false, false},
		"Tools":                  {"", true, false, false},
		"tools:":                 {"", true, false, false},
		"tools  tools:list":      {"tools tools:list", true, true, true},
		" tools":                 {"tools", true, true, true},
		"tools:list,tools:call":  {"", true, false, false},
		"tools:list\ttools:call": {"", true, false, false},
	} {
		s, unknown := token.ParseScopes(text)
		if s.String() != row.written || unknown != row.unknown || s.Permits(token.ToolsList) != row.lists || s.Permits(token.ToolsCall) != row.callsToo || !s.Permits(0) {
			t.Errorf("%q is %q, unknown %t, permits list %t and call %t", text, s, unknown, s.Permits(token.ToolsList), s.Permits(token.ToolsCall))
		}
	}
	if got := token.Names(); !slices.Equal(got, []string{"tools", "tools:list", "tools:call"}) {
		t.Errorf("the scopes are %q", got)
	}
}

func TestSigning(t *testing.T) {
	key := func(kid string, from time.Duration) *identityv1.StoredTokenKey {
		return &identityv1.StoredTokenKey{Kid: kid, SignsFrom: timestamppb.New(at.Add(from))}
	}
	for want, list := range map[string][]*identityv1.StoredTokenKey{
		"":       nil,
		"only":   {key("only", 0)},
		"newest": {key("newest", -time.Second), key("older", -time.Hour)},
		"older":  {key("next", time.Second), key("older", -time.Hour)},
		"none":   {key("next", time.Second)},
		"always": {{Kid: "always"}},
	} {
		if got := token.Signing(list, at).GetKid(); got != want && want != "none" || want == "none" && got != "" {
			t.Errorf("%q signs, want %q", got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	good := issue(f)
	for _, text := range []string{good, good + ".", "", "a.b.c", "..", strings.ToUpper(good), strings.Replace(good, ".", "..", 1),
		sign(f, jose.EdDSA, ed25519.NewKeyFromSeed(seed), map[jose.HeaderKey]any{"typ": token.Type, "kid": "k1"}, claims("aud", `["x"]`))} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := token.Read(text, find)
		if err == nil && c.Issuer != issuer {
			t.Fatalf("%q says %+v", text, c)
		}
		if err != nil && !errors.Is(err, token.ErrForged) && !errors.Is(err, token.ErrInvalid) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}

func rsaKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
