package token

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strconv"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json/jsontext"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

// Issue signs a token that says what the claims say, good from now on for a lifetime in whole seconds. The claims' own
// times, id and key id are not read: the token gets its own.
func Issue(key *identityv1.StoredTokenKey, c Claims, now time.Time, lifetime time.Duration) (string, error) {
	seed, err := private(key)
	if err != nil {
		return "", err
	}
	if len(c.Audience) != 1 {
		return "", fmt.Errorf("issue a token: %d audiences: it is for exactly one", len(c.Audience))
	}
	id := make([]byte, 16)
	rand.Read(id) // never fails
	payload := []byte{'{'}
	for _, claim := range [...]struct{ name, value string }{
		{claimIssuer, c.Issuer}, {claimSubject, c.Subject}, {claimAudience, c.Audience[0]}, {claimClient, c.ClientID},
		{claimScope, c.Scopes.String()}, {claimID, base64.RawURLEncoding.EncodeToString(id)},
	} {
		payload = append(append(append(payload, '"'), claim.name...), `":`...)
		if payload, err = jsontext.AppendQuote(payload, claim.value); err != nil {
			return "", fmt.Errorf("issue a token: claim %s is not UTF-8", claim.name)
		}
		payload = append(payload, ',')
	}
	if c.Epoch != 0 {
		payload = append(strconv.AppendInt(append(payload, `"`+claimEpoch+`":"`...), c.Epoch, 10), `",`...)
	}
	payload = strconv.AppendInt(append(payload, `"iat":`...), now.Unix(), 10)
	payload = strconv.AppendInt(append(payload, `,"exp":`...), now.Unix()+int64(lifetime/time.Second), 10)
	payload = append(payload, '}')

	options := (&jose.SignerOptions{}).WithType(Type).WithHeader("kid", key.GetKid())
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: seed}, options)
	if err != nil {
		return "", fmt.Errorf("issue a token with key %q: %w", key.GetKid(), err)
	}
	object, err := signer.Sign(payload)
	if err != nil {
		return "", fmt.Errorf("issue a token with key %q: %w", key.GetKid(), err)
	}
	token, err := object.CompactSerialize()
	if err != nil {
		return "", fmt.Errorf("issue a token with key %q: %w", key.GetKid(), err)
	}
	if len(token) > MaxBytes {
		return "", fmt.Errorf("issue a token: it would have %d bytes: at most %d are allowed", len(token), MaxBytes)
	}
	return token, nil
}
