package registry

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/participant"
)

// Many create one name: one of them wins.
func TestCreate_race(t *testing.T) {
	s, ctx := town(t)
	for what, create := range map[string]func() error{
		"organization": func() error { _, err := s.CreateOrganization(ctx, "new", ""); return err },
		"application":  func() error { _, err := s.CreateApplication(ctx, "acme", "new", ""); return err },
		"user":         func() error { _, err := s.CreateUser(ctx, aUser("acme", "new@acme", grant(""))); return err },
		"role": func() error {
			_, err := s.CreateRole(ctx, &identityv1.StoredRole{OrganizationId: "acme", Name: "new", Actions: []string{"a"}})
			return err
		},
		"machine": func() error {
			_, _, err := s.AddMachine(ctx, clientKind, participant.Organization("acme", ""), "new")
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			var won atomic.Int32
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					if err := create(); err == nil {
						won.Add(1)
					} else {
						wantErr(t, err, ErrExists)
					}
				})
			}
			wg.Wait()
			if won.Load() != 1 {
				t.Errorf("%d won", won.Load())
			}
		})
	}
}

// Somebody removes what somebody else creates into: never do both succeed.
func TestRemove_race(t *testing.T) {
	s, ctx := NewStore(etcdtest.Start(t), ""), testContext(t)
	_, err := s.CreateOrganization(ctx, "stays", "")
	must(t, err)
	type race struct {
		what           string
		prepare        func(n string) error
		create, remove func(n string) error
	}
	organization := func(n string) error { _, err := s.CreateOrganization(ctx, "o"+n, ""); return err }
	removeOrganization := func(n string) error { return s.RemoveOrganization(ctx, "o"+n) }
	application := func(n string) error { _, err := s.CreateApplication(ctx, "stays", "a"+n, ""); return err }
	removeApplication := func(n string) error { return s.RemoveApplication(ctx, "stays", "a"+n) }
	person := func(n string) error {
		_, err := s.CreateUser(ctx, aUser("stays", "p"+n+"@x", grant("")))
		return err
	}
	role := func(n string) error {
		_, err := s.CreateRole(ctx, &identityv1.StoredRole{Name: "r" + n, Actions: []string{"a"}})
		return err
	}
	for at, r := range []race{
		{"application in organization", organization, func(n string) error { _, err := s.CreateApplication(ctx, "o"+n, "a", ""); return err }, removeOrganization},
		{"user in organization", organization, func(n string) error { _, err := s.CreateUser(ctx, aUser("o"+n, "a@b", grant(""))); return err }, removeOrganization},
		{"role in organization", organization, func(n string) error {
			_, err := s.CreateRole(ctx, &identityv1.StoredRole{OrganizationId: "o" + n, Name: "r", Actions: []string{"a"}})
			return err
		}, removeOrganization},
		{"machine in organization", organization, func(n string) error {
			_, _, err := s.AddMachine(ctx, clientKind, participant.Organization("o"+n, ""), "in-o"+n)
			return err
		}, removeOrganization},
		{"machine in application", application, func(n string) error {
			_, _, err := s.AddMachine(ctx, clientKind, participant.Application("stays", "a"+n, ""), "in-a"+n)
			return err
		}, removeApplication},
		{"user in application", application, func(n string) error {
			_, err := s.CreateUser(ctx, aUser("stays", "u"+n+"@x", grant("a"+n)))
			return err
		}, removeApplication},
		{"delegate of user", person, func(n string) error {
			_, err := s.CreateDelegate(ctx, &identityv1.StoredDelegate{OrganizationId: "stays", OwnerEmail: "p" + n + "@x", ClientId: "c"})
			return err
		}, func(n string) error { return s.RemoveUser(ctx, "stays", "p"+n+"@x") }},
		{"role of machine", role, func(n string) error {
			p := participant.System("")
			p.Roles = []string{"r" + n}
			_, _, err := s.AddMachine(ctx, clientKind, p, "with-r"+n)
			return err
		}, func(n string) error { return s.RemoveRole(ctx, "", "r"+n) }},
	} {
		t.Run(r.what, func(t *testing.T) {
			for i := range 12 {
				n := fmt.Sprintf("%d-%d", at, i)
				must(t, r.prepare(n))
				var created, removed error
				var wg sync.WaitGroup
				wg.Go(func() { created = r.create(n) })
				wg.Go(func() { removed = r.remove(n) })
				wg.Wait()
				switch {
				case created != nil && removed != nil:
					t.Errorf("neither: %v; %v", created, removed)
				case created == nil && removed == nil && !strings.HasPrefix(r.what, "delegate") && !strings.HasPrefix(r.what, "role of"):
					t.Error("both succeed")
				case created != nil:
					wantErr(t, created, ErrNotFound)
				case removed != nil:
					wantErr(t, removed, ErrNotEmpty)
				}
			}
		})
	}
	// A user goes with the delegates, and a role is taken from everyone: both may succeed, and nothing is left.
	if n := count(t, s, "identities/delegates/"); n != 0 {
		t.Errorf("%d delegates of nobody", n)
	}
	machines, err := s.Machines(ctx)
	must(t, err)
	for _, m := range machines {
		if len(m.GetParticipant().GetRoles()) > 0 {
			t.Errorf("a role that is gone: %v", m)
		}
	}
}
