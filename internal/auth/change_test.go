package auth_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/auth/password"
	"github.com/sallyport-dev/sallyport/internal/auth/token"
	"github.com/sallyport-dev/sallyport/internal/registry"
)

var (
	acmeOrders = registry.OwnedKey{Organization: "acme", ID: "orders"}
	acmeAda    = registry.OwnedKey{Organization: "acme", ID: "ada@acme.example"}
)

// What is remembered is dropped with the first view that says something else, and only then.
func TestAuthenticator_changesTakeEffectAtOnce(t *testing.T) {
	user := login("acme", "orders", "ada@acme.example", "p1")
	machine := secret("application", "s3")
	scoped := bearer(issue(t, key1, "application", "application", token.Tools, start))
	delegate := bearer(issue(t, key1, "delegate:1", "https://c.example/x", token.Tools, start))
	for name, row := range map[string]struct {
		credentials *auth.Credentials
		edit        func(*registry.View)
	}{
		"user disabled": {user, func(v *registry.View) {
			replace(v.Users, acmeAda, func(u *identityv1.StoredUser) { u.Disabled = true })
		}},
		"user removed": {user, func(v *registry.View) { delete(v.Users, acmeAda) }},
		"another passwd": {user, func(v *registry.View) {
			replace(v.Users, acmeAda, func(u *identityv1.StoredUser) { u.PasswordHash = hash(t, "p2") })
		}},
		"grant removed": {user, func(v *registry.View) { replace(v.Users, acmeAda, func(u *identityv1.StoredUser) { u.Grants = nil }) }},
		"user's organization disabled": {user, func(v *registry.View) {
			replace(v.Organizations, "acme", func(o *identityv1.StoredOrganization) { o.Disabled = true })
		}},
		"user's organization removed": {user, func(v *registry.View) { delete(v.Organizations, "acme") }},
		"user's application disabled": {user, func(v *registry.View) { replace(v.Applications, acmeOrders, disableApplication) }},
		"user's application removed":  {user, func(v *registry.View) { delete(v.Applications, acmeOrders) }},
		"machine disabled":            {machine, func(v *registry.View) { replace(v.Machines, "application", disableMachine) }},
		"machine removed":             {machine, func(v *registry.View) { delete(v.Machines, "application") }},
		"another secret":              {machine, func(v *registry.View) { replace(v.Machines, "application", rotate) }},
		"machine's organization gone": {machine, func(v *registry.View) { delete(v.Organizations, "acme") }},
		"machine's application gone":  {machine, func(v *registry.View) { delete(v.Applications, acmeOrders) }},
		"token of a disabled machine": {scoped, func(v *registry.View) { replace(v.Machines, "application", disableMachine) }},
		"token of a removed machine":  {scoped, func(v *registry.View) { delete(v.Machines, "application") }},
		"token of a removed key":      {scoped, func(v *registry.View) { v.TokenKeys = v.TokenKeys[:1] }},
		"token of a key that changed": {scoped, func(v *registry.View) { v.TokenKeys = []*identityv1.StoredTokenKey{{Kid: "k1", Seed: key2.GetSeed()}} }},
		"token of no application":     {scoped, func(v *registry.View) { replace(v.Applications, acmeOrders, disableApplication) }},
		"delegate disabled": {delegate, func(v *registry.View) {
			replace(v.Delegates, "delegate:1", func(d *identityv1.StoredDelegate) { d.Disabled = true })
		}},
		"delegate removed": {delegate, func(v *registry.View) { delete(v.Delegates, "delegate:1") }},
		"delegate's owner disabled": {delegate, func(v *registry.View) {
			replace(v.Users, acmeAda, func(u *identityv1.StoredUser) { u.Disabled = true })
		}},
		"delegate's owner removed": {delegate, func(v *registry.View) { delete(v.Users, acmeAda) }},
		"delegate's grant removed": {delegate, func(v *registry.View) {
			replace(v.Users, acmeAda, func(u *identityv1.StoredUser) { u.Grants = u.Grants[:1] })
		}},
		"delegate's application":       {delegate, func(v *registry.View) { replace(v.Applications, acmeOrders, disableApplication) }},
		"delegate's organization gone": {delegate, func(v *registry.View) { delete(v.Organizations, "acme") }},
	} {
		t.Run(name, func(t *testing.T) {
			skipRaced(t, row.credentials)
			h := newHouse(t)
			before, err := h.ask(row.credentials)
			if err != nil {
				t.Fatalf("not admitted to begin with: %v", err)
			}
			h.change(func(v *registry.View) { // of somebody else
				replace(v.Machines, "host", disableMachine)
				replace(v.Organizations, "globex", func(o *identityv1.StoredOrganization) { o.Title = "x" })
			})
			hashes := password.Computed()
			if got, err := h.ask(row.credentials); err != nil || got.Participant != before.Participant {
				t.Errorf("somebody else's change: %v, %v", got.Participant, err)
			}
			if password.Computed() != hashes {
				t.Error("somebody else's change cost a hash")
			}
			h.change(row.edit)
			if got, err := h.ask(row.credentials); !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("still admitted: %v, %v", got.Participant, err)
			}
		})
	}
}

func disableMachine(m *registryv1.StoredMachine)         { m.Disabled = true }
func rotate(m *registryv1.StoredMachine)                 { m.SecretSha256 = registry.HashSecret("rotated") }
func disableApplication(a *identityv1.StoredApplication) { a.Disabled = true }

// Whoever's roles change is another participant, and proves itself once more.
func TestAuthenticator_rolesTakeEffectAtOnce(t *testing.T) {
	h := newHouse(t)
	c := login("acme", "orders", "ada@acme.example", "p1")
	before, err := h.ask(c)
	if err != nil {
		t.Fatal(err)
	}
	role := registry.OwnedKey{Organization: "acme", ID: "refunder"}
	h.change(func(v *registry.View) { delete(v.Roles, role) })
	hashes := password.Computed()
	without, err := h.ask(c)
	if err != nil || len(without.Participant.GetRoles()) != 0 || without.Participant == before.Participant {
		t.Errorf("a removed role: %v, %v", without.Participant, err)
	}
	if password.Computed() != hashes+1 {
		t.Error("the credential was remembered although its roles changed")
	}
	h.change(func(v *registry.View) {
		v.Roles[role] = &identityv1.StoredRole{OrganizationId: "acme", Name: "refunder"}
	})
	if got, err := h.ask(c); err != nil || len(got.Participant.GetRoles()) != 1 {
		t.Errorf("a new role: %v, %v", got.Participant, err)
	}
	h.change(func(v *registry.View) {
		replace(v.Users, acmeAda, func(u *identityv1.StoredUser) { u.Grants[1].Roles = []string{"refunder"} })
	})
	if got, err := h.ask(c); err != nil || got.Participant.GetRoles()[0] != "refunder" {
		t.Errorf("another role: %v, %v", got.Participant, err)
	}
}

func TestAuthenticator_remembersPasswordsForAMinute(t *testing.T) {
	h := newHouse(t)
	c := login("acme", "orders", "ada@acme.example", "p1")
	skipRaced(t, c)
	cost := func() uint64 {
		before := password.Computed()
		if _, err := h.ask(c); err != nil {
			t.Fatal(err)
		}
		return password.Computed() - before
	}
	if got := cost(); got != 1 {
		t.Errorf("the first request: %d hashes", got)
	}
	h.now = h.now.Add(time.Minute - 1)
	if got := cost(); got != 0 {
		t.Errorf("within the minute: %d hashes", got)
	}
	h.now = h.now.Add(1)
	if got := cost(); got != 1 {
		t.Errorf("after the minute: %d hashes", got)
	}
	// What is remembered is this password, of this user, in this selection.
	for name, other := range map[string]*auth.Credentials{
		"another password": login("acme", "orders", "ada@acme.example", "p1 "), "another selection": login("acme", "billing", "ada@acme.example", "p1"),
		"parts moved": login("acmeo", "rders", "ada@acme.example", "p1"),
	} {
		if got, err := h.ask(other); err == nil {
			t.Errorf("%s: %v", name, got.Participant)
		}
	}
}

// While etcd is silent, identities are honoured for five minutes, and then nobody is.
func TestAuthenticator_cutOff(t *testing.T) {
	h := newHouse(t, func(o *auth.Options) { o.Rules.AnonymousZones = []string{"app-api"} })
	all := map[string]*auth.Credentials{
		"a machine": secret("system", "s1"), "a user": login("acme", "", "ada@acme.example", "p1"),
		"a token": bearer(issue(t, key1, "system", "system", token.Tools, start)),
	}
	h.silent = start
	for _, row := range []struct {
		after time.Duration
		cut   bool
	}{{0, false}, {auth.HonoredFor, false}, {auth.HonoredFor + 1, true}, {time.Hour / 2, true}} {
		h.now = start.Add(row.after)
		for name, c := range all {
			if _, err := h.ask(c); errors.Is(err, auth.ErrCutOff) != row.cut || !row.cut && err != nil {
				t.Errorf("%s after %v: %v", name, row.after, err)
			}
		}
		if _, err := h.ask(secret("system", "wrong")); errors.Is(err, auth.ErrCutOff) != row.cut {
			t.Errorf("a wrong secret after %v: %v", row.after, err)
		}
		if _, err := h.ask(new(auth.Credentials)); err != nil {
			t.Errorf("anonymous after %v: %v", row.after, err)
		}
		if _, err := h.Client("system", "s1", auth.Origin{Peer: netip.AddrPortFrom(here, 1).String()}); errors.Is(err, auth.ErrCutOff) != row.cut {
			t.Errorf("a client after %v: %v", row.after, err)
		}
	}
	h.silent = time.Time{}
	if _, err := h.ask(secret("system", "s1")); err != nil {
		t.Errorf("etcd answers again: %v", err)
	}
}
