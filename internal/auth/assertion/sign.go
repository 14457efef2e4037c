package assertion

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/sallyport-dev/sallyport/internal/memory"
	"github.com/sallyport-dev/sallyport/participant"
)

// signedEntries bounds how many assertions a signer remembers.
const signedEntries = 4096

// Signer makes assertions with one key. It is safe for concurrent use, and takes no lock.
type Signer struct {
	kid  string
	jose jose.Signer
	seen *memory.Memory[signed]
	held *memory.Memory[held]
}

// signed is one remembered assertion. It is immutable.
type signed struct {
	participant    []byte
	method         string
	audience       string
	issued         time.Time
	assertionToken string
	outgoing       context.Context
}

func (e *signed) serves(now time.Time) bool {
	age := now.Sub(e.issued)
	return age >= 0 && age < Reuse
}

// held is a remembered assertion by the very participant that it is of, so that one that is shared between calls need
// not be serialised for each.
type held struct {
	participant *participant.Participant
	*signed
}

// NewSigner makes a signer from a key's id and its Ed25519 seed of 32 bytes.
func NewSigner(kid string, seed []byte) (*Signer, error) {
	if err := checkKey(kid, seed); err != nil {
		return nil, err
	}
	options := (&jose.SignerOptions{}).WithType(Type).WithHeader("kid", kid)
	key := jose.SigningKey{Algorithm: jose.EdDSA, Key: ed25519.NewKeyFromSeed(seed)}
	signer, err := jose.NewSigner(key, options)
	if err != nil {
		return nil, fmt.Errorf("assertion key %q: %w", kid, err)
	}
	return &Signer{kid: kid, jose: signer, seen: memory.New[signed](signedEntries), held: memory.New[held](signedEntries)}, nil
}

// Kid is the id of the key.
func (s *Signer) Kid() string { return s.kid }

// Sign gives an assertion that the participant calls the full method of the audience. One assertion serves the same
// three for up to 30 seconds, so that signing does not cost every call. The participant must not be modified any more.
func (s *Signer) Sign(p *participant.Participant, fullMethod, audience string, now time.Time) (string, error) {
	e, err := s.find(p, fullMethod, audience, now)
	if err != nil {
		return "", err
	}
	return e.assertionToken, nil
}

// Outgoing gives a context that carries, as gRPC's outgoing metadata, the participant and what [Signer.Sign] gives for
// the same arguments, and nothing else: no deadline, no other value. It is shared between calls.
func (s *Signer) Outgoing(p *participant.Participant, fullMethod, audience string, now time.Time) (context.Context, error) {
	e, err := s.find(p, fullMethod, audience, now)
	if err != nil {
		return nil, err
	}
	return e.outgoing, nil
}

// find gives the assertion for the very participant where there is one, else for its value, else a new one.
func (s *Signer) find(p *participant.Participant, fullMethod, audience string, now time.Time) (*signed, error) {
	hash := s.held.Hash(p.GetId(), fullMethod, audience)
	known := s.held.Find(hash, func(h *held) bool {
		return h.participant == p && h.serves(now) && h.method == fullMethod && h.audience == audience
	})
	if known != nil {
		return known.signed, nil
	}
	raw, err := serialize(p)
	if err != nil {
		return nil, err
	}
	e, err := s.signSerialized(raw, fullMethod, audience, now)
	if err != nil {
		return nil, err
	}
	s.held.Keep(hash, &held{p, e}, func(old *held) bool { return !old.serves(now) })
	return e, nil
}

func (s *Signer) signSerialized(raw []byte, fullMethod, audience string, now time.Time) (*signed, error) {
	hash := s.seen.Hash(string(raw), fullMethod, audience)
	e := s.seen.Find(hash, func(e *signed) bool {
		return e.serves(now) && e.method == fullMethod && e.audience == audience && bytes.Equal(e.participant, raw)
	})
	if e != nil {
		return e, nil
	}
	token, err := s.sign(raw, fullMethod, audience, now)
	if err != nil {
		return nil, err
	}
	e = &signed{
		participant: raw, method: fullMethod, audience: audience, issued: now, assertionToken: token,
		outgoing: metadata.NewOutgoingContext(context.Background(), metadata.MD{
			ParticipantKey: {string(raw)}, AssertionKey: {token},
		}),
	}
	s.seen.Keep(hash, e, func(old *signed) bool { return !old.serves(now) })
	return e, nil
}

// serialize writes a participant in the one form that is signed: deterministic, and checked.
func serialize(p *participant.Participant) ([]byte, error) {
	if err := participant.Check(p); err != nil {
		return nil, err
	}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("serialise participant: %w", err)
	}
	return raw, nil
}

func (s *Signer) sign(raw []byte, fullMethod, audience string, now time.Time) (string, error) {
	if fullMethod == "" || audience == "" {
		return "", errors.New("sign assertion: it needs a method and an audience")
	}
	var payload bytes.Buffer
	encoder := jsontext.NewEncoder(&payload)
	for _, token := range []jsontext.Token{
		jsontext.BeginObject,
		jsontext.String(claimParticipant), jsontext.String(base64.RawURLEncoding.EncodeToString(raw)),
		jsontext.String(claimMethod), jsontext.String(fullMethod),
		jsontext.String(claimAudience), jsontext.String(audience),
		jsontext.String(claimIssuedAt), jsontext.Int(now.Unix()),
		jsontext.String(claimExpiry), jsontext.Int(now.Add(Lifetime).Unix()),
		jsontext.EndObject,
	} {
		if err := encoder.WriteToken(token); err != nil {
			return "", fmt.Errorf("sign assertion: %w", err)
		}
	}
	object, err := s.jose.Sign(bytes.TrimSpace(payload.Bytes()))
	if err != nil {
		return "", fmt.Errorf("sign assertion: %w", err)
	}
	token, err := object.CompactSerialize()
	if err != nil {
		return "", fmt.Errorf("sign assertion: %w", err)
	}
	if len(token) > MaxBytes {
		return "", fmt.Errorf("sign assertion: %d bytes: at most %d are allowed", len(token), MaxBytes)
	}
	return token, nil
}
