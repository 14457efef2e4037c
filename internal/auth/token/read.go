package token

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json/jsontext"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/claims"
)

// Read establishes what a token says and that the key which it names signed it. Whether it is good now and here is for
// [Claims.Judge]. Keys are asked for by id and come from memory.
//
// An error wraps ErrForged where no key of ours signed the token, ErrInvalid where one did and its claims cannot be read.
func Read(token string, key func(kid string) (*identityv1.StoredTokenKey, bool)) (Claims, error) {
	if len(token) > MaxBytes {
		return Claims{}, forged("%d bytes: at most %d are allowed", len(token), MaxBytes)
	}
	kid, err := keyID(token)
	if err != nil {
		return Claims{}, forged("header: %v", err)
	}
	stored, known := key(kid)
	if !known {
		return Claims{}, forged("its key is not known")
	}
	public, err := Public(stored)
	if err != nil {
		return Claims{}, forged("%v", err)
	}
	object, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return Claims{}, forged("not a compact JWS signed with EdDSA")
	}
	payload, err := object.Verify(public)
	if err != nil {
		return Claims{}, forged("the signature does not match")
	}
	c, err := decode(payload)
	if err != nil {
		return Claims{}, invalid("claims: %v", err)
	}
	c.KeyID = kid
	return c, nil
}

// keyID reads the protected header. Ours has three members, and a token with any other is not ours: none that names or
// brings a key (jku, jwk, x5u, x5c) and none that must be understood (crit) can stand there.
func keyID(token string) (string, error) {
	encoded, _, _ := strings.Cut(token, ".")
	header, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return "", errors.New("not unpadded base64url")
	}
	var algorithm, typ, kid string
	err = claims.Read(header, func(name string, value jsontext.Value) (err error) {
		switch name {
		case "alg":
			algorithm, err = claims.Text(name, value)
		case "typ":
			typ, err = claims.Text(name, value)
		case "kid":
			kid, err = claims.Text(name, value)
		default:
			err = errors.New("a member that is not alg, typ or kid")
		}
		return err
	})
	switch {
	case err != nil:
		return "", err
	case algorithm != string(jose.EdDSA):
		return "", errors.New("the algorithm is not EdDSA")
	case typ != Type:
		return "", errors.New("the type is not " + Type)
	case kid == "" || len(kid) > maxKid:
		return "", errors.New("the key id is missing or too long")
	}
	return kid, nil
}

// decode reads the payload strictly, each of our claims present and of its type. Claims that we do not know say nothing
// to us.
func decode(payload []byte) (Claims, error) {
	var c Claims
	missing := map[string]bool{
		claimIssuer: true, claimSubject: true, claimAudience: true, claimClient: true, claimScope: true,
		claimIssuedAt: true, claimExpiry: true, claimID: true,
	}
	err := claims.Read(payload, func(name string, value jsontext.Value) error {
		delete(missing, name)
		return c.set(name, value)
	})
	switch {
	case err != nil:
		return Claims{}, err
	case len(missing) > 0:
		return Claims{}, fmt.Errorf("%d of ours are missing", len(missing))
	}
	for _, id := range []string{c.Issuer, c.Subject, c.ClientID, c.ID} {
		if id == "" || len(id) > maxID {
			return Claims{}, fmt.Errorf("one of ours is empty or longer than %d bytes", maxID)
		}
	}
	return c, nil
}

func (c *Claims) set(name string, value jsontext.Value) (err error) {
	switch name {
	case claimIssuer:
		c.Issuer, err = claims.Text(name, value)
	case claimSubject:
		c.Subject, err = claims.Text(name, value)
	case claimAudience:
		c.Audience, err = audience(value)
	case claimClient:
		c.ClientID, err = claims.Text(name, value)
	case claimScope:
		var text string
		text, err = claims.Text(name, value)
		c.Scopes, _ = ParseScopes(text) // those of another version of ours permit nothing here
	case claimID:
		c.ID, err = claims.Text(name, value)
	case claimEpoch:
		var text string
		if text, err = claims.Text(name, value); err == nil {
			c.Epoch, err = strconv.ParseInt(text, 10, 64)
		}
	case claimIssuedAt:
		c.IssuedAt, err = claims.Seconds(name, value)
	case claimNotBefore:
		c.NotBefore, err = claims.Seconds(name, value)
	case claimExpiry:
		c.Expiry, err = claims.Seconds(name, value)
	}
	return err
}

// audience is one string, or a list of strings (RFC 7519, 4.1.3).
func audience(value jsontext.Value) ([]string, error) {
	if value.Kind() != '[' {
		one, err := claims.Text(claimAudience, value)
		return []string{one}, err
	}
	var list []string
	err := claims.ReadList(value, func(value jsontext.Value) error {
		one, err := claims.Text(claimAudience, value)
		list = append(list, one)
		return err
	})
	return list, err
}

// Judge reports whether a token with these claims is good now, from the issuer and for the resource. It compares both
// exactly. The error wraps ErrInvalid.
func (c *Claims) Judge(issuer, resource string, now time.Time) error {
	switch {
	case c.Issuer != issuer:
		return invalid("it is from another issuer")
	case !slices.Contains(c.Audience, resource):
		return invalid("it is for another audience")
	case c.Expiry < c.IssuedAt || c.Expiry-c.IssuedAt > int64(MaxLifetime/time.Second):
		return invalid("it claims to last longer than %v", MaxLifetime)
	case time.Unix(c.IssuedAt, 0).After(now.Add(Skew)):
		return invalid("it was issued in the future")
	case time.Unix(c.NotBefore, 0).After(now.Add(Skew)):
		return invalid("it is not good yet")
	case !time.Unix(c.Expiry, 0).Add(Skew).After(now):
		return invalid("it has expired")
	}
	return nil
}

func forged(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", ErrForged, fmt.Sprintf(format, arguments...))
}

func invalid(format string, arguments ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, arguments...))
}
