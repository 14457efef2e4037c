package auth

import (
	"slices"

	"google.golang.org/protobuf/proto"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/internal/auth/token"
	"github.com/sallyport-dev/sallyport/participant"
)

// moment is the newest view and the mark of what was last looked up in it. What is remembered keeps the mark, which
// holds on to nothing, and not the view.
type moment struct {
	view View
	mark *mark
}

// mark tells one view from another by its address, which is why it has a size.
type mark struct{ _ byte }

// moment gives the newest view, with a new mark where it is another than the last one.
func (a *Authenticator) moment() *moment {
	view := a.options.View()
	if m := a.latest.Load(); m != nil && m.view == view {
		return m
	}
	m := &moment{view, new(mark)}
	a.latest.Store(m)
	return m
}

// who names an identity, as one that may be asked for.
type who struct {
	what whoKind
	// organization and application are what a user's credentials select; empty for the others, who are one participant
	// each.
	organization, application, id string
	// scopes are those of a token; empty without one.
	scopes token.Scopes
}

type whoKind string

const (
	machine  whoKind = "machine"
	user     whoKind = "user"
	delegate whoKind = "delegate"
)

// facts are all that a view says of one identity. Two lookups that find the very same make one participant.
type facts struct {
	machine      *registryv1.StoredMachine
	user         *identityv1.StoredUser
	delegate     *identityv1.StoredDelegate
	organization *identityv1.StoredOrganization
	application  *identityv1.StoredApplication
	// roles are those that the identity names, in its order; nil for one that is not stored.
	roles []*identityv1.StoredRole
}

// person is an identity that a view knows. It is immutable.
type person struct {
	who
	facts
	mark *mark
	// participant is nil for one who authenticates nowhere: disabled, say.
	participant *participant.Participant
}

// person gives the identity as the newest view has it, or nil where the view knows none. Only one that is admitted is
// remembered, so that nobody makes us forget others by asking for ids and applications.
func (a *Authenticator) person(m *moment, w who) *person {
	hash := a.people.Hash(string(w.what), w.organization, w.application, w.id, w.scopes.String())
	same := func(p *person) bool { return p.who == w }
	old := a.people.Find(hash, same)
	if old != nil && old.mark == m.mark {
		return old
	}
	f, known := m.facts(w)
	if !known {
		return nil
	}
	p := &person{who: w, facts: f, mark: m.mark}
	if old != nil && old.facts.equal(&f) {
		p.participant = old.participant
	} else {
		p.participant = a.participant(w, &f)
	}
	if p.participant != nil {
		a.people.Keep(hash, p, same)
	}
	return p
}

func (f *facts) equal(g *facts) bool {
	return f.machine == g.machine && f.user == g.user && f.delegate == g.delegate && f.organization == g.organization &&
		f.application == g.application && slices.Equal(f.roles, g.roles)
}

// facts looks up what the view says of an identity; known is false where it has none of that name.
func (m *moment) facts(w who) (f facts, known bool) {
	switch w.what {
	case machine:
		f.machine, known = m.view.Machine(w.id)
	case user:
		f.user, known = m.view.User(w.organization, w.id)
	case delegate:
		if f.delegate, known = m.view.Delegate(w.id); known {
			f.user, _ = m.view.User(f.delegate.GetOrganizationId(), f.delegate.GetOwnerEmail())
		}
	}
	if !known {
		return facts{}, false
	}
	organization, application, roles := f.scope(w)
	if organization != "" {
		f.organization, _ = m.view.Organization(organization)
		if application != "" {
			f.application, _ = m.view.Application(organization, application)
		}
	}
	for _, name := range roles {
		role, _ := m.view.Role(access.ParseRole(name))
		f.roles = append(f.roles, role)
	}
	return f, true
}

// scope is what an identity claims to act as, and with which roles.
func (f *facts) scope(w who) (organization, application string, roles []string) {
	switch w.what {
	case machine:
		p := f.machine.GetParticipant()
		return p.GetOrganizationId(), p.GetApplicationId(), p.GetRoles()
	case delegate:
		organization, application = f.delegate.GetOrganizationId(), f.delegate.GetApplicationId()
	default:
		organization, application = w.organization, w.application
	}
	return organization, application, f.grant(application).GetRoles()
}

// grant is the user's grant for exactly the application, or without one; nil where there is none.
func (f *facts) grant(application string) *identityv1.StoredGrant {
	for _, grant := range f.user.GetGrants() {
		if grant.GetApplicationId() == application {
			return grant
		}
	}
	return nil
}

// participant makes the participant that the facts are, or nil where they admit nobody: everyone and everything that
// the identity depends on must be stored and enabled (access.md, "Identities").
func (a *Authenticator) participant(w who, f *facts) *participant.Participant {
	organization, application, names := f.scope(w)
	if !access.OwnersServe(organization, application, f.organization, f.application) {
		return nil
	}
	var p *participant.Participant
	switch w.what {
	case machine:
		p = f.machine.GetParticipant()
		if f.machine.GetDisabled() || p == nil || p.GetKind() == participantv1.Kind_KIND_ANONYMOUS ||
			len(a.options.Kinds) > 0 && !slices.Contains(a.options.Kinds, f.machine.GetKind()) {
			return nil
		}
	case user:
		if f.user.GetDisabled() || f.grant(application) == nil {
			return nil
		}
		p = participant.Of(organization, application, w.id)
	case delegate:
		if f.delegate.GetDisabled() || f.user == nil || f.user.GetDisabled() || f.grant(application) == nil {
			return nil
		}
		p = participant.Of(organization, application, w.id)
		p.OnBehalfOf = &participantv1.OnBehalfOf{
			OwnerId: f.delegate.GetOwnerEmail(), ClientId: f.delegate.GetClientId(), ClientName: f.delegate.GetClientName(),
		}
	}
	roles := f.count(organization, names)
	if !slices.Equal(p.GetRoles(), roles) || !slices.Equal(p.GetScopes(), w.scopes.List()) {
		p = proto.CloneOf(p) // it is the view's
		p.Roles, p.Scopes = roles, w.scopes.List()
	}
	if participant.Check(p) != nil {
		return nil
	}
	return p
}

// count gives the roles that count: those that are stored, and of the platform or the identity's own organization.
func (f *facts) count(organization string, names []string) []string {
	roles := make([]string, 0, len(names))
	for i, name := range names {
		owner, _ := access.ParseRole(name)
		if f.roles[i] != nil && (owner == "" || organization == "" || owner == organization) {
			roles = append(roles, name)
		}
	}
	return roles
}
