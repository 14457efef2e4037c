// Package auth turns the credentials of one request into a participant.
//
// In come the values of the credential headers and the machine identities of the registry's current view; out comes
// the participant, or [ErrUnauthenticated] and nothing else. The package knows no HTTP and no storage. What a
// participant reaches is decided in participant, what it proves to services in assertion.
//
// Of the credentials of access.md it knows number 2, a client id with its secret, for machines, and number 4, none.
package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// ErrUnauthenticated is the one answer to everything that does not authenticate. It is the same for an unknown id, a
// wrong secret, a disabled machine and missing credentials: who tries learns nothing.
var ErrUnauthenticated = errors.New("unauthenticated")

// Machines gives the machine identities of now. It must be safe for concurrent use and answer from memory; a
// registry.Watcher does.
type Machines interface {
	Machine(id string) (*registryv1.StoredMachine, bool)
}

// Options say who is admitted.
type Options struct {
	// Machines are the identities. Required.
	Machines Machines
	// Kinds are the kinds of machines that are admitted; empty admits every kind. An edge admits clients, a registry
	// hosts and clients.
	Kinds []registryv1.MachineKind
	// Rules decide whether a caller without credentials is admitted: it is where there are anonymous zones.
	Rules participant.Rules
}

// Authenticator authenticates requests. It is safe for concurrent use and remembers nobody: a machine's secret is
// checked against the current view each time, which costs less than remembering that it was, and takes effect at once
// when the identity changes.
type Authenticator struct {
	options   Options
	anonymous *participant.Participant
	dummy     [sha256.Size]byte
	// sound holds machine identities whose participants were found to be sound. Identities are immutable, so that each
	// is looked at once, and forgotten when another takes its slot.
	sound [soundSlots]atomic.Pointer[registryv1.StoredMachine]
	seed  maphash.Seed
}

const soundSlots = 256

// New makes an authenticator.
func New(o Options) *Authenticator {
	a := &Authenticator{options: o, seed: maphash.MakeSeed()}
	if len(o.Rules.AnonymousZones) > 0 {
		a.anonymous = participant.Anonymous()
	}
	// What an unknown id's secret is compared with: the hash of nothing that anyone can send.
	_, _ = rand.Read(a.dummy[:])
	return a
}

// Authenticate gives the participant of a machine's id and secret. present says whether the request carried either of
// them; one that carried neither is anonymous, where anonymous callers are admitted. An id with `@` is a user's email,
// and there are no users here: it takes the same way as an unknown machine.
//
// The headers that select a scope among several (`organizationId`, `applicationId`) are not asked for: they select for
// users, and a machine is one participant whatever they say.
//
// The participant is shared: do not modify it. Every error is ErrUnauthenticated, and takes as long as any other.
func (a *Authenticator) Authenticate(clientID, clientSecret string, present bool) (*participant.Participant, error) {
	if !present {
		if a.anonymous == nil {
			return nil, ErrUnauthenticated
		}
		return a.anonymous, nil
	}
	machine, known := a.options.Machines.Machine(clientID)
	known = known && !strings.Contains(clientID, "@")
	want := a.dummy[:]
	if known && len(machine.GetSecretSha256()) == sha256.Size {
		want = machine.GetSecretSha256()
	}
	var room [128]byte // on the stack, for secrets of any sensible length
	got := sha256.Sum256(append(room[:0], clientSecret...))
	if subtle.ConstantTimeCompare(got[:], want) != 1 || !known || !a.admits(machine) {
		return nil, ErrUnauthenticated
	}
	return machine.GetParticipant(), nil
}

// admits reports whether a machine that proved its identity may do anything.
func (a *Authenticator) admits(m *registryv1.StoredMachine) bool {
	p := m.GetParticipant()
	return !m.GetDisabled() &&
		(len(a.options.Kinds) == 0 || slices.Contains(a.options.Kinds, m.GetKind())) &&
		p.GetKind() != participantv1.Kind_KIND_ANONYMOUS && a.isSound(m)
}

func (a *Authenticator) isSound(m *registryv1.StoredMachine) bool {
	slot := &a.sound[maphash.String(a.seed, m.GetId())%soundSlots]
	if slot.Load() == m {
		return true
	}
	if participant.Check(m.GetParticipant()) != nil {
		return false
	}
	slot.Store(m)
	return true
}
