// Package assertion makes and checks the edge's word about who is calling.
//
// A dispatched call carries the participant as gRPC metadata twice: serialised, for reading, and as an assertion, for
// believing. The assertion is a compact JWS signed with Ed25519 over the participant, the full method, the audience
// and a time of issue, good for 60 seconds (access.md, "Participant"). The edge signs, the services verify with the
// public keys that the registry gives out, and neither the caller's own token nor anything else that the caller sent
// goes upstream.
//
// In come participants and seeds, or tokens and public keys; out go tokens, or participants. The package does no
// input or output and does not know where keys are kept.
//
// The protected header has `alg` EdDSA, `typ` [Type] and `kid`. The claims are
//
//	participant  the serialised sallyport.participant.v1.Participant, unpadded base64url
//	method       the full method, /package.Service/Method
//	aud          zone~package.Service, or package.Service for an un-zoned one
//	iat, exp     whole seconds since the epoch
package assertion

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// The metadata keys of a dispatched call.
const (
	// ParticipantKey carries the serialised participant. It is for logs and debuggers: a service believes the
	// assertion alone.
	ParticipantKey = "sallyport-participant-bin"
	// AssertionKey carries the assertion.
	AssertionKey = "sallyport-assertion"
)

// What an assertion is and how long it lasts.
const (
	// Type is the `typ` of the protected header; a token of another type is no assertion, whoever signed it.
	Type = "sallyport-assertion+jwt"
	// Lifetime is how long an assertion is good after it was issued.
	Lifetime = 60 * time.Second
	// Reuse is how long one assertion serves the same participant, method and audience.
	Reuse = 30 * time.Second
	// Skew is how far the clocks of edge and service may disagree.
	Skew = 30 * time.Second
	// MaxBytes is the largest token that is looked at.
	MaxBytes = 16 << 10

	maxKid = 128
)

// Claim names.
const (
	claimParticipant = "participant"
	claimMethod      = "method"
	claimAudience    = "aud"
	claimIssuedAt    = "iat"
	claimExpiry      = "exp"
)

// ErrInvalid says that a token proves nothing; which of the rules it breaks is in the wrapping error and is meant for
// the log, not for the caller.
var ErrInvalid = errors.New("assertion is not valid")

// ErrUnknownKey is what a [KeySource] answers when it knows for sure that there is no such key.
var ErrUnknownKey = errors.New("assertion key is not known")

// Audience names a service as the audience of an assertion: `zone~package.Service`, or `package.Service` when it has
// no zone.
func Audience(zone, service string) string {
	return participant.QualifiedName(zone, service)
}

// EncodeKey gives the public half of a signing key in the form in which the registry publishes it: a JSON Web Key that
// says what it is for, so that clients which choose keys by `alg` or `use` find it.
func EncodeKey(kid string, seed []byte) (*registryv1.AssertionKey, error) {
	if err := checkKey(kid, seed); err != nil {
		return nil, err
	}
	public := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	return &registryv1.AssertionKey{
		Kid: kid, Kty: "OKP", Crv: "Ed25519", X: base64.RawURLEncoding.EncodeToString(public), Use: "sig", Alg: "EdDSA",
	}, nil
}

// DecodeKey reads a published key.
func DecodeKey(key *registryv1.AssertionKey) (ed25519.PublicKey, error) {
	if key.GetKty() != "OKP" || key.GetCrv() != "Ed25519" {
		return nil, fmt.Errorf("assertion key %q: type %q on curve %q: only OKP on Ed25519 is known", key.GetKid(),
			key.GetKty(), key.GetCrv())
	}
	public, err := base64.RawURLEncoding.Strict().DecodeString(key.GetX())
	if err != nil || len(public) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("assertion key %q: x is not %d bytes in unpadded base64url", key.GetKid(),
			ed25519.PublicKeySize)
	}
	return public, nil
}

func checkKey(kid string, seed []byte) error {
	if kid == "" || len(kid) > maxKid {
		return fmt.Errorf("assertion key: the id has %d characters: 1 to %d are allowed", len(kid), maxKid)
	}
	if len(seed) != ed25519.SeedSize {
		return fmt.Errorf("assertion key %q: the seed has %d bytes: an Ed25519 seed has %d", kid, len(seed),
			ed25519.SeedSize)
	}
	return nil
}
