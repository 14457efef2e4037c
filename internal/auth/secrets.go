package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"strings"
	"time"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/password"
	"github.com/sallyport-dev/sallyport/participant"
)

// provenFor is how long a verified password is remembered (access.md, "Credentials").
const provenFor = time.Minute

// secrets are credentials of an id and a secret: a user's, where there is an `@` in the id, else a machine's.
type secrets Authenticator

// proven is a remembered password. It is immutable.
type proven struct {
	mac         mac
	who         who
	participant *participant.Participant
	until       time.Time
}

func (s *secrets) present(c *Credentials) bool { return len(c.ClientID)+len(c.ClientSecret) > 0 }

func (s *secrets) authenticate(_ context.Context, m *moment, c *Credentials) (Caller, error) {
	if a := (*Authenticator)(s); strings.Contains(only(c.ClientID), "@") {
		return a.user(m, c)
	}
	// The headers that select a scope select for users; a machine is one participant whatever they say.
	p, err := (*Authenticator)(s).counted(m, only(c.ClientID), only(c.ClientSecret), c.Origin)
	return Caller{Participant: p}, err
}

// Client authenticates a machine that asks for a token by its id and secret, and gives the epoch of that secret, which
// the token is to say. An id with `@` is nobody's. The errors are those of [Authenticator.Authenticate].
func (a *Authenticator) Client(id, secret string, from Origin) (epoch int64, err error) {
	if a.cutOff() {
		return 0, ErrCutOff
	}
	m := a.moment()
	if _, err := a.counted(m, id, secret, from); err != nil {
		return 0, err
	}
	stored, _ := m.view.Machine(id)
	return epochOf(stored), nil
}

// epochOf tells a machine's secret from those before it.
func epochOf(m *registryv1.StoredMachine) int64 { return m.GetSecretChangedAt().AsTime().UnixNano() }

// counted checks a machine's secret and counts a failure.
func (a *Authenticator) counted(m *moment, id, secret string, from Origin) (*participant.Participant, error) {
	if p := a.machine(m, id, secret); p != nil {
		return p, nil
	}
	return nil, a.attempts.fail(a.options.Now(), id, from.Address())
}

// Machine gives the participant of a machine's id and secret, or ErrUnauthenticated. It is for who knows no addresses:
// no attempts are counted, and of secrets of 256 random bits none need be.
func (a *Authenticator) Machine(id, secret string) (*participant.Participant, error) {
	if p := a.machine(a.moment(), id, secret); p != nil {
		return p, nil
	}
	return nil, ErrUnauthenticated
}

// machine checks a machine's secret, at the cost of one hash whatever is wrong. It gives nil for nobody.
func (a *Authenticator) machine(m *moment, id, secret string) *participant.Participant {
	p := a.person(m, who{what: machine, id: id})
	want := a.dummy[:]
	if p != nil && len(p.machine.GetSecretSha256()) == sha256.Size {
		want = p.machine.GetSecretSha256()
	}
	if a.hashed != nil {
		a.hashed()
	}
	var room [128]byte // on the stack, for secrets of any sensible length
	got := sha256.Sum256(append(room[:0], secret...))
	if subtle.ConstantTimeCompare(got[:], want) != 1 || p == nil || strings.Contains(id, "@") {
		return nil
	}
	return p.participant
}

// user checks a user's password, at the cost of one hash whatever is wrong, unless it was checked within the last
// minute or too many attempts failed.
func (a *Authenticator) user(m *moment, c *Credentials) (Caller, error) {
	w := who{what: user, organization: only(c.Organization), application: only(c.Application), id: only(c.ClientID)}
	secret, now := only(c.ClientSecret), a.options.Now()
	sum := a.keyed.of(string(user), w.organization, w.application, w.id, secret)
	known := a.proven.Find(sum.place(), func(e *proven) bool { return e.mac.equal(&sum) })
	if known != nil && now.Before(known.until) {
		// The participant is another one as soon as anything changed.
		if p := a.person(m, known.who); p != nil && p.participant == known.participant {
			return Caller{Participant: p.participant}, nil
		}
	}

	if a.options.Emails != nil {
		if canonical, err := a.options.Emails(w.id); err == nil {
			w.id = canonical
		}
	}
	var p *person
	stored := password.Dummy()
	if a.options.Emails != nil {
		if p = a.person(m, w); p != nil {
			stored = p.user.GetPasswordHash()
		}
	}
	// The same secret in many requests at once is hashed once, and is one attempt.
	right, err, _ := a.checks.Do(string(sum[:])+stored, func() (any, error) {
		attempt, err := a.attempts.begin(now, w.organization+"\x00"+w.id, c.Origin.Address())
		if err != nil {
			return false, err
		}
		right := password.Check(stored, secret) && p != nil && p.participant != nil
		if right {
			attempt.succeed()
		}
		return right, nil
	})
	if err != nil {
		return Caller{}, err
	}
	if right != true || p == nil || p.participant == nil {
		return Caller{}, ErrUnauthenticated
	}
	a.proven.Keep(sum.place(), &proven{sum, w, p.participant, now.Add(provenFor)}, func(old *proven) bool {
		return old.mac.equal(&sum) || !now.Before(old.until)
	})
	return Caller{Participant: p.participant}, nil
}
