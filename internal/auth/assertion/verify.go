package assertion

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"

	strict "github.com/sallyport-dev/sallyport/internal/auth/claims"
	"github.com/sallyport-dev/sallyport/internal/memory"
	"github.com/sallyport-dev/sallyport/participant"
)

// verifiedEntries bounds how many tokens a verifier remembers; reverify is for how long it trusts its memory before it
// asks for the key again, so that a withdrawn key is soon worth nothing.
const (
	verifiedEntries = 1024
	reverify        = 30 * time.Second
)

// KeySource gives the public keys by which assertions are verified. It must be safe for concurrent use and is asked on
// a call's path: it should answer from memory. A key that does not exist is [ErrUnknownKey]; any other error means
// that the source could not tell.
type KeySource interface {
	Key(ctx context.Context, kid string) (ed25519.PublicKey, error)
}

// Keys is a KeySource that is a map by key id.
type Keys map[string]ed25519.PublicKey

// Key gives the key, or ErrUnknownKey.
func (k Keys) Key(_ context.Context, kid string) (ed25519.PublicKey, error) {
	if key, ok := k[kid]; ok {
		return key, nil
	}
	return nil, ErrUnknownKey
}

// Verifier checks assertions. It is safe for concurrent use.
type Verifier struct {
	keys KeySource
	now  func() time.Time
	seen *memory.Memory[verified]
}

// verified is one remembered token. It is immutable.
type verified struct {
	token       string
	claims      claims
	at          time.Time
	participant *participant.Participant
}

// NewVerifier makes a verifier; now is [time.Now] where it is nil.
func NewVerifier(keys KeySource, now func() time.Time) *Verifier {
	if now == nil {
		now = time.Now
	}
	return &Verifier{keys: keys, now: now, seen: memory.New[verified](verifiedEntries)}
}

// Verify gives the participant that the token asserts for exactly this full method and audience. The participant is
// shared with other calls of the same caller: do not modify it.
//
// Everything that is wrong with the token is an [ErrInvalid]. Another error means that the key source could not tell.
func (v *Verifier) Verify(ctx context.Context, token, fullMethod, audience string) (*participant.Participant, error) {
	if len(token) > MaxBytes {
		return nil, invalid("%d bytes: at most %d are allowed", len(token), MaxBytes)
	}
	now := v.now()
	hash := v.seen.Hash(token)
	e := v.seen.Find(hash, func(e *verified) bool { return e.token == token && e.fresh(now) })
	if e == nil {
		var err error
		if e, err = v.verify(ctx, token, now); err != nil {
			return nil, err
		}
		// Remembered before it is judged: what is remembered is what the token says, and each use is judged anew.
		v.seen.Keep(hash, e, func(old *verified) bool { return !old.fresh(now) })
	}
	if err := e.claims.judge(fullMethod, audience, now); err != nil {
		return nil, err
	}
	return e.participant, nil
}

func (e *verified) fresh(now time.Time) bool {
	age := now.Sub(e.at)
	return age >= 0 && age < reverify
}

// verify establishes what the token says and that a known key signed it.
func (v *Verifier) verify(ctx context.Context, token string, now time.Time) (*verified, error) {
	object, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return nil, invalid("not a compact JWS signed with EdDSA")
	}
	if len(object.Signatures) != 1 {
		return nil, invalid("%d signatures: exactly one is expected", len(object.Signatures))
	}
	header := object.Signatures[0].Protected
	if typ, _ := header.ExtraHeaders[jose.HeaderType].(string); typ != Type {
		return nil, invalid("the type is not %s", Type)
	}
	if header.KeyID == "" || len(header.KeyID) > maxKid {
		return nil, invalid("the key id is missing or too long")
	}
	key, err := v.keys.Key(ctx, header.KeyID)
	switch {
	case errors.Is(err, ErrUnknownKey):
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	case err != nil:
		return nil, fmt.Errorf("get assertion key: %w", err)
	case len(key) != ed25519.PublicKeySize:
		return nil, fmt.Errorf("get assertion key: %d bytes: an Ed25519 key has %d", len(key), ed25519.PublicKeySize)
	}
	payload, err := object.Verify(key)
	if err != nil {
		return nil, invalid("the signature does not match")
	}
	c, err := decodeClaims(payload)
	if err != nil {
		return nil, invalid("claims: %v", err)
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(c.participant)
	if err != nil {
		return nil, invalid("the participant is not unpadded base64url")
	}
	if len(raw) > participant.MaxBytes {
		return nil, invalid("the participant has %d bytes: at most %d are allowed", len(raw), participant.MaxBytes)
	}
	p := new(participant.Participant)
	if err := proto.Unmarshal(raw, p); err != nil {
		return nil, invalid("the participant is not a serialised message")
	}
	if err := participant.Check(p); err != nil {
		return nil, invalid("%v", err)
	}
	return &verified{token: token, claims: c, at: now, participant: p}, nil
}

// claims is what a token says.
type claims struct {
	participant, method, audience string
	issuedAt, expiry              int64
}

// judge reports whether the claims hold for this call now.
func (c claims) judge(fullMethod, audience string, now time.Time) error {
	issued, expiry := time.Unix(c.issuedAt, 0), time.Unix(c.expiry, 0)
	switch {
	case c.method != fullMethod:
		return invalid("it is for another method")
	case c.audience != audience:
		return invalid("it is for another audience")
	case c.expiry < c.issuedAt || c.expiry-c.issuedAt > int64(Lifetime/time.Second):
		return invalid("it claims to last longer than %v", Lifetime)
	case issued.After(now.Add(Skew)):
		return invalid("it was issued in the future")
	case !expiry.Add(Skew).After(now):
		return invalid("it has expired")
	}
	return nil
}

// decodeClaims reads the payload strictly, each of our claims present and of its type. Claims that we do not know say
// nothing to us.
func decodeClaims(payload []byte) (claims, error) {
	var c claims
	missing := map[string]bool{
		claimParticipant: true, claimMethod: true, claimAudience: true, claimIssuedAt: true, claimExpiry: true,
	}
	err := strict.Read(payload, func(name string, value jsontext.Value) error {
		delete(missing, name)
		return c.set(name, value)
	})
	if err != nil {
		return claims{}, err
	}
	if len(missing) > 0 {
		return claims{}, fmt.Errorf("%d of ours are missing", len(missing))
	}
	return c, nil
}

func (c *claims) set(name string, value jsontext.Value) (err error) {
	switch name {
	case claimParticipant:
		c.participant, err = strict.Text(name, value)
	case claimMethod:
		c.method, err = strict.Text(name, value)
	case claimAudience:
		c.audience, err = strict.Text(name, value)
	case claimIssuedAt:
		c.issuedAt, err = strict.Seconds(name, value)
	case claimExpiry:
		c.expiry, err = strict.Seconds(name, value)
	}
	return err
}

func invalid(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, arguments...))
}
