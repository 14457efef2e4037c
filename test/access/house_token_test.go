package access_test

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

// tokenKey is a key that signs access tokens, and what tests forge tokens with.
type tokenKey struct {
	kid  string
	seed []byte
}

func newTokenKey(kid string) tokenKey {
	seed := make([]byte, ed25519.SeedSize)
	_, _ = rand.Read(seed)
	return tokenKey{kid, seed}
}

func (k tokenKey) stored(from time.Time) *identityv1.StoredTokenKey {
	return &identityv1.StoredTokenKey{Kid: k.kid, Seed: k.seed, CreatedAt: timestamppb.New(from), SignsFrom: timestamppb.New(from)}
}

func (k tokenKey) public() ed25519.PublicKey {
	return ed25519.NewKeyFromSeed(k.seed).Public().(ed25519.PublicKey)
}

// members are the members of one JSON object of a token: its header, or its claims.
type members map[string]any

// with gives the members with others in their place; nil takes one out.
func (m members) with(others members) members {
	all := maps.Clone(m)
	for name, value := range others {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	return all
}

// claims are those of a good access token for a subject.
func claims(subject, client, scope string) members {
	now := time.Now()
	id := make([]byte, 16)
	_, _ = rand.Read(id)
	return members{
		"iss": issuer, "sub": subject, "aud": audience, "client_id": client, "jti": base64.RawURLEncoding.EncodeToString(id),
		"iat": now.Add(-time.Second).Unix(), "exp": now.Add(time.Hour).Unix(), "scope": scope,
	}
}

// header is that of an access token (RFC 9068).
func (k tokenKey) header() members { return members{"alg": "EdDSA", "typ": "at+jwt", "kid": k.kid} }

// token signs an access token.
func (k tokenKey) token(c members) string { return k.sign(k.header(), c) }

// sign makes a compact JWS with Ed25519, whatever the header says.
func (k tokenKey) sign(header, claims members) string {
	input := signingInput(header, claims)
	return input + "." + k.signature(input)
}

// signature signs any text.
func (k tokenKey) signature(input string) string {
	return b64(ed25519.Sign(ed25519.NewKeyFromSeed(k.seed), []byte(input)))
}

// signHMAC makes a compact JWS with HMAC-SHA-256 under any bytes.
func signHMAC(key []byte, header, claims members) string {
	input := signingInput(header, claims)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(input))
	return input + "." + b64(mac.Sum(nil))
}

func signingInput(header, claims members) string {
	return b64(asJSON(header)) + "." + b64(asJSON(claims))
}

func asJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // what tests write marshals
	}
	return b
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
