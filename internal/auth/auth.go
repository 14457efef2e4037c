// Package auth turns the credentials of one request into a participant.
//
// In come the values of the credential headers and the registry's newest view; out comes who is calling, or one of four
// errors and nothing else. The package knows no HTTP and no storage. What a participant reaches is decided in
// participant and access, what it proves to services in assertion, how tokens are issued in oauth.
//
// Of the credentials of access.md it knows Sallyport's own access tokens, a client id with its secret for users and
// machines, and none. Each kind is a [kind] in a list, and the first that is present is the only one that counts.
package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/token"
	"github.com/sallyport-dev/sallyport/internal/memory"
	"github.com/sallyport-dev/sallyport/participant"
)

// What [Authenticator.Authenticate] answers instead of a caller. Each is a constant answer: who tries learns nothing.
var (
	// ErrUnauthenticated is the one answer to everything that does not authenticate: an unknown id, a wrong secret, what is
	// disabled, a token that is not good, no credentials where some are needed.
	ErrUnauthenticated = errors.New("unauthenticated")
	// ErrMalformed says that the credentials do not say which ones they are: a header that stands twice, a Bearer scheme
	// without a token.
	ErrMalformed = errors.New("credentials are malformed")
	// ErrTooManyAttempts says that too many attempts failed for this id or from this address; see [RetryAfter].
	ErrTooManyAttempts = errors.New("too many failed attempts")
	// ErrCutOff says that etcd has been silent for so long that nobody can be told from somebody whom it has disabled.
	ErrCutOff = errors.New("cut off from the registry's data")
)

// HonoredFor is for how long identities are honoured as they were last known while etcd is silent (access.md,
// "Identities").
const HonoredFor = 5 * time.Minute

// View is one immutable state of the identities. A registry.View is one. Of two views, what did not change has the very
// same messages.
type View interface {
	Machine(id string) (*registryv1.StoredMachine, bool)
	User(organization, email string) (*identityv1.StoredUser, bool)
	Delegate(id string) (*identityv1.StoredDelegate, bool)
	Organization(id string) (*identityv1.StoredOrganization, bool)
	Application(organization, id string) (*identityv1.StoredApplication, bool)
	Role(organization, name string) (*identityv1.StoredRole, bool)
	TokenKey(kid string) (*identityv1.StoredTokenKey, bool)
}

// Options say who is admitted.
type Options struct {
	// View gives the newest view, from memory and safe for concurrent use; the same pointer while nothing changed. It must
	// not be a nil interface. Required.
	View func() View
	// SilentSince says since when etcd has been silent, where it is. Nil: it never is.
	SilentSince func() (since time.Time, silent bool)
	// Kinds are the kinds of machines that are admitted; empty admits every kind. An edge admits clients, a registry
	// hosts and clients.
	Kinds []registryv1.MachineKind
	// Emails gives the canonical form of a user's email, or an error for what cannot be one. Nil: there are no users, and
	// an id with `@` is that of nobody.
	Emails func(text string) (canonical string, err error)
	// Tokens says which access tokens are accepted. Nil: none.
	Tokens *Tokens
	// Rules decide whether a caller without credentials is admitted: it is where there are anonymous zones.
	Rules participant.Rules
	// AnonymousOnly authenticates nobody: credentials are not looked at, and every caller is anonymous.
	AnonymousOnly bool
	// Now is the clock; nil means [time.Now].
	Now func() time.Time
}

// Tokens says which of our own access tokens are accepted. Both are compared exactly.
type Tokens struct {
	// Issuer is the issuer's URL, and Resource what tokens must be good for.
	Issuer, Resource string
}

// Credentials are the values of a request's credential headers, each as often as it stood, and where the request came
// from. It is read only until Authenticate returns.
type Credentials struct {
	Authorization, ClientID, ClientSecret, Organization, Application []string
	// Origin is where the request came from.
	Origin Origin
}

// Caller is who is calling.
type Caller struct {
	// Participant is shared with other requests of the same caller: do not modify it. It is the same pointer as long as
	// nothing about the identity changed, and as long as it is remembered: it may be forgotten where there are thousands
	// of callers.
	Participant *participant.Participant
	// Scoped says that the caller has a token, and may do no more than its Scopes permit. A caller with a secret has no
	// scopes and is not limited by them.
	Scoped bool
	Scopes token.Scopes
}

// Authenticator authenticates requests. It is safe for concurrent use, and takes no lock for a caller that it knows.
//
// What it remembers is bounded, keeps no secret, and is forgotten as soon as a view says something else of the identity,
// its organization, application or roles: verified passwords for a minute and verified tokens until they expire, under a
// hash that is keyed with random bytes of this process, and the participants of identities. A machine's secret is hashed
// for each request: that costs less than remembering it.
type Authenticator struct {
	options   Options
	kinds     []kind
	anonymous *participant.Participant
	dummy     [sha256.Size]byte
	keyed     keyed
	attempts  *attempts
	latest    atomic.Pointer[moment]
	people    *memory.Memory[person]
	proven    *memory.Memory[proven]
	tokens    *memory.Memory[verified]
	checks    singleflight.Group
	// hashed is told of each hash of a machine's secret, so that tests can count them.
	hashed func()
}

// How many identities, passwords and tokens are remembered.
const (
	peopleEntries = 4096
	provenEntries = 4096
	tokenEntries  = 4096
)

// kind is one kind of credentials.
type kind interface {
	// present says whether a request carries credentials of this kind, whatever they are worth.
	present(c *Credentials) bool
	// authenticate finds out whose they are. The error is one of the four above.
	authenticate(ctx context.Context, m *moment, c *Credentials) (Caller, error)
}

// New makes an authenticator.
func New(o Options) *Authenticator {
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &Authenticator{
		options:  o,
		keyed:    newKeyed(),
		attempts: newAttempts(o.Now()),
		people:   memory.New[person](peopleEntries),
		proven:   memory.New[proven](provenEntries),
		tokens:   memory.New[verified](tokenEntries),
	}
	// The order is that of access.md, "Credentials". Tokens of other issuers and introspection come between the first and
	// the second, certificates after them.
	a.kinds = []kind{(*bearer)(a), (*secrets)(a)}
	if o.AnonymousOnly || len(o.Rules.AnonymousZones) > 0 {
		a.anonymous = participant.Anonymous()
	}
	// What an unknown id's secret is compared with: the hash of nothing that anyone can send.
	rand.Read(a.dummy[:])
	return a
}

// Authenticate finds out who sent a request. Every error is one of ErrUnauthenticated, ErrMalformed, ErrCutOff and, as
// errors.Is says, ErrTooManyAttempts. Refusals of credentials of one kind cost the same, whatever is wrong with them.
func (a *Authenticator) Authenticate(ctx context.Context, c *Credentials) (Caller, error) {
	if a.options.AnonymousOnly {
		return Caller{Participant: a.anonymous}, nil
	}
	if c.malformed() {
		return Caller{}, ErrMalformed
	}
	for _, k := range a.kinds {
		if !k.present(c) {
			continue
		}
		if a.cutOff() {
			return Caller{}, ErrCutOff
		}
		return k.authenticate(ctx, a.moment(), c)
	}
	if a.anonymous == nil {
		return Caller{}, ErrUnauthenticated
	}
	return Caller{Participant: a.anonymous}, nil
}

// malformed says that a header stands more than once, so that two readers could take the request for two callers', or
// that there is a Bearer scheme without a token.
func (c *Credentials) malformed() bool {
	if len(c.Authorization) > 1 || len(c.ClientID) > 1 || len(c.ClientSecret) > 1 || len(c.Organization) > 1 ||
		len(c.Application) > 1 {
		return true
	}
	token, bearer := c.bearer()
	return bearer && token == ""
}

// cutOff says that the view is too old to tell who is calling.
func (a *Authenticator) cutOff() bool {
	if a.options.SilentSince == nil {
		return false
	}
	since, silent := a.options.SilentSince()
	return silent && a.options.Now().Sub(since) > HonoredFor
}

// only is the value of a header that stands at most once.
func only(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}
