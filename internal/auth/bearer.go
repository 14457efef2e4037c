package auth

import (
	"context"
	"errors"
	"strings"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/token"
)

// DelegatePrefix begins the id of every delegate, and of nothing else that a token may name.
const DelegatePrefix = "delegate:"

// bearer are our own access tokens. As long as there are no other issuers, every token is taken for one.
type bearer Authenticator

// verified is a remembered token. It is immutable.
type verified struct {
	mac    mac
	claims token.Claims
	// key is the one that signed, and mark says in which view it was last seen.
	key  *identityv1.StoredTokenKey
	mark *mark
}

// bearer gives the token of the Bearer scheme, and whether that is the scheme. Other schemes are not ours to judge. The
// name of a scheme has no case (RFC 9110, 11.1).
func (c *Credentials) bearer() (token string, present bool) {
	if len(c.Authorization) == 0 {
		return "", false
	}
	scheme, rest, _ := strings.Cut(c.Authorization[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", false
	}
	return strings.Trim(rest, " "), true
}

// HasToken says whether the request carries a token, or a Bearer scheme without one.
func (c *Credentials) HasToken() bool {
	_, present := c.bearer()
	return present
}

func (b *bearer) present(c *Credentials) bool { return c.HasToken() }

func (b *bearer) authenticate(_ context.Context, m *moment, c *Credentials) (Caller, error) {
	if b.options.Tokens == nil {
		return Caller{}, ErrUnauthenticated
	}
	a, now := (*Authenticator)(b), b.options.Now()
	text, _ := c.bearer()
	e, err := a.read(m, text)
	if err != nil {
		if errors.Is(err, token.ErrForged) {
			return Caller{}, a.attempts.fail(now, "", c.Origin.Address())
		}
		return Caller{}, ErrUnauthenticated
	}
	// A token that we signed is no guess, however old it is: its owner must be told to get a new one, and not to wait.
	if e.claims.Judge(b.options.Tokens.Issuer, b.options.Tokens.Resource, now) != nil {
		return Caller{}, ErrUnauthenticated
	}
	w := who{what: machine, id: e.claims.Subject, scopes: e.claims.Scopes}
	if strings.HasPrefix(w.id, DelegatePrefix) {
		w.what = delegate
	}
	p := a.person(m, w)
	if p == nil || p.participant == nil || p.client() != e.claims.ClientID {
		return Caller{}, ErrUnauthenticated
	}
	if epoch := e.claims.Epoch; epoch != 0 && (p.machine == nil || epoch != epochOf(p.machine)) {
		return Caller{}, ErrUnauthenticated // got by a secret that was replaced since
	}
	return Caller{Participant: p.participant, Scoped: true, Scopes: e.claims.Scopes}, nil
}

// client is the OAuth client that acts.
func (p *person) client() string {
	if p.delegate != nil {
		return p.delegate.GetClientId()
	}
	return p.id
}

// read gives what a token says, from memory as long as the key that signed it is there.
func (a *Authenticator) read(m *moment, text string) (*verified, error) {
	sum := a.keyed.of("token", text)
	same := func(e *verified) bool { return e.mac.equal(&sum) }
	e := a.tokens.Find(sum.place(), same)
	if e != nil && e.mark == m.mark {
		return e, nil
	}
	if e != nil {
		if key, known := m.view.TokenKey(e.claims.KeyID); known && key == e.key {
			e = &verified{sum, e.claims, key, m.mark}
			a.tokens.Keep(sum.place(), e, same)
			return e, nil
		}
	}
	claims, err := token.Read(text, m.view.TokenKey)
	if err != nil {
		return nil, err
	}
	e = &verified{mac: sum, claims: claims, mark: m.mark}
	e.key, _ = m.view.TokenKey(claims.KeyID)
	now := a.options.Now()
	a.tokens.Keep(sum.place(), e, func(old *verified) bool {
		return same(old) || old.claims.Judge(old.claims.Issuer, a.options.Tokens.Resource, now) != nil
	})
	return e, nil
}
