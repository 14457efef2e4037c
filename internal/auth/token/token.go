// Package token makes and reads Sallyport's own access tokens.
//
// An access token is a JWT as RFC 9068 has it, signed with Ed25519 by a key that the registry made. Its protected header
// has `alg` EdDSA, `typ` [Type] and `kid`, and nothing else. The claims are
//
//	iss        the issuer's URL
//	sub        the id of the machine or of the delegate
//	aud        the resource that the token is good for
//	client_id  the OAuth client: for a machine its own id
//	scope      scopes, separated by spaces
//	iat, exp   whole seconds since the epoch; nbf is obeyed where it stands
//	jti        the token's own id
//
// In come keys and claims, or tokens; out go tokens, or claims. The package does no input or output, does not know where
// keys are kept, and does not know whether who is named exists.
package token

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

// What a token is and how long it lasts.
const (
	// Type is the `typ` of the protected header (RFC 9068). A token of another type is no access token, whoever signed it;
	// so an assertion is none.
	Type = "at+jwt"
	// Lifetime is how long a token is good unless the configuration says otherwise, MaxLifetime what is believed at most.
	Lifetime    = time.Hour
	MaxLifetime = 24 * time.Hour
	// Skew is how far the clocks of who issues and who verifies may disagree.
	Skew = 30 * time.Second
	// MaxBytes is the largest token that is looked at.
	MaxBytes = 8 << 10

	maxKid = 128
	maxID  = 2048 // a client id may be a URL
)

// Claim names.
const (
	claimIssuer    = "iss"
	claimSubject   = "sub"
	claimAudience  = "aud"
	claimClient    = "client_id"
	claimScope     = "scope"
	claimEpoch     = "secret_epoch"
	claimIssuedAt  = "iat"
	claimNotBefore = "nbf"
	claimExpiry    = "exp"
	claimID        = "jti"
)

// Claims is what a token says. It is immutable.
type Claims struct {
	Issuer, Subject, ClientID, ID string
	// Audience are the resources that the token is good for.
	Audience []string
	Scopes   Scopes
	// Epoch tells the secret by which a machine got the token from those before and after it, so that the token is worth
	// nothing once the secret was replaced, or the machine by another of its id; 0 where the token does not say it.
	Epoch int64
	// KeyID names the key that signed.
	KeyID string
	// IssuedAt, NotBefore and Expiry are seconds since the epoch; NotBefore is 0 where the token does not say it.
	IssuedAt, NotBefore, Expiry int64
}

// ErrForged says that a token is none that one of our keys signed, and ErrInvalid that one of ours is not good: for
// somebody else, too old, too young. Which rule it breaks is in the wrapping error, in words of ours, and is meant for
// the log.
var (
	ErrForged  = errors.New("not an access token of ours")
	ErrInvalid = errors.New("access token is not valid")
)

// Public gives the public half of a signing key.
func Public(key *identityv1.StoredTokenKey) (ed25519.PublicKey, error) {
	private, err := private(key)
	if err != nil {
		return nil, err
	}
	return private.Public().(ed25519.PublicKey), nil
}

func private(key *identityv1.StoredTokenKey) (ed25519.PrivateKey, error) {
	if kid := key.GetKid(); kid == "" || len(kid) > maxKid {
		return nil, fmt.Errorf("token key: the id has %d characters: 1 to %d are allowed", len(kid), maxKid)
	}
	if len(key.GetSeed()) != ed25519.SeedSize {
		return nil, fmt.Errorf("token key %q: the seed has %d bytes: an Ed25519 seed has %d", key.GetKid(),
			len(key.GetSeed()), ed25519.SeedSize)
	}
	return ed25519.NewKeyFromSeed(key.GetSeed()), nil
}

// Signing gives the key that signs now: of keys in the registry's order, newest first, the first whose time has come.
// It is nil where there is none.
func Signing(keys []*identityv1.StoredTokenKey, now time.Time) *identityv1.StoredTokenKey {
	for _, key := range keys {
		if !key.GetSignsFrom().AsTime().After(now) {
			return key
		}
	}
	return nil
}
