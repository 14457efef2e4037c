package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/participant"
)

const clientKind = registryv1.MachineKind_MACHINE_KIND_CLIENT

// town is a store with organizations acme and other, application acme/orders, and roles.
func town(t *testing.T) (*Store, context.Context) {
	t.Helper()
	s, ctx := NewStore(etcdtest.Start(t), ""), testContext(t)
	for _, id := range []string{"acme", "other"} {
		_, err := s.CreateOrganization(ctx, id, strings.ToUpper(id))
		must(t, err)
	}
	_, err := s.CreateApplication(ctx, "acme", "orders", "Orders")
	must(t, err)
	for _, r := range []*identityv1.StoredRole{
		{Name: "admin", Actions: []string{"*"}},
		{OrganizationId: "acme", Name: "refunder", Actions: []string{"orders.refund"}},
		{OrganizationId: "other", Name: "refunder", Actions: []string{"orders.refund"}},
	} {
		_, err := s.CreateRole(ctx, r)
		must(t, err)
	}
	return s, ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func grant(application string, roles ...string) *identityv1.StoredGrant {
	return &identityv1.StoredGrant{ApplicationId: application, Roles: roles}
}

func aUser(organization, email string, grants ...*identityv1.StoredGrant) *identityv1.StoredUser {
	return &identityv1.StoredUser{OrganizationId: organization, Email: email, Grants: grants}
}

// wantErr checks that an error is of a kind and says every part.
func wantErr(t *testing.T, err, kind error, parts ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("err = %v, want %v", err, kind)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

func wantInvalid(t *testing.T, err error, part string) {
	t.Helper()
	var invalid *InvalidError
	if !errors.As(err, &invalid) || !strings.Contains(err.Error(), part) {
		t.Errorf("err = %v, want an InvalidError that says %q", err, part)
	}
}

func TestIdentities_references(t *testing.T) {
	s, ctx := town(t)
	machine := func(p *participant.Participant, roles ...string) error {
		p.Roles = roles
		_, _, err := s.AddMachine(ctx, clientKind, p, "m-"+fmt.Sprint(len(roles))+p.GetApplicationId())
		return err
	}
	user := func(u *identityv1.StoredUser) error { _, err := s.CreateUser(ctx, u); return err }
	application := func(organization, id string) error {
		_, err := s.CreateApplication(ctx, organization, id, "")
		return err
	}
	role := func(r *identityv1.StoredRole) error { _, err := s.CreateRole(ctx, r); return err }
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprintf("r%d", i)
	}
	for name, row := range map[string]struct {
		err  error
		kind error // nil: an InvalidError
		says string
	}{
		"application of an unknown organization":     {application("nowhere", "a"), ErrNotFound, `organization "nowhere": not found`},
		"application of a reserved name":             {application("acme", "system-api"), nil, "reserved"},
		"application of the platform":                {application("", "a"), nil, ""},
		"application that is taken":                  {application("acme", "orders"), ErrExists, ""},
		"machine of an unknown organization":         {machine(participant.Organization("nowhere", "")), ErrNotFound, "nowhere"},
		"machine of an unknown application":          {machine(participant.Application("acme", "billing", "")), ErrNotFound, `application "billing"`},
		"machine of another one's application":       {machine(participant.Application("other", "orders", "")), ErrNotFound, `application "orders"`},
		"machine with an unknown role":               {machine(participant.System(""), "nothing"), ErrNotFound, `role "nothing"`},
		"machine with another one's role":            {machine(participant.Organization("acme", ""), "other/refunder"), nil, "another organization's"},
		"machine of the platform with a tenant's":    {machine(participant.System(""), "acme/refunder"), nil, "another organization's"},
		"machine with a role that is none":           {machine(participant.System(""), "a/b/c"), nil, ""},
		"machine with an empty role":                 {machine(participant.System(""), ""), nil, "not the name"},
		"machine that is anonymous":                  {machine(participant.Anonymous()), nil, "a system"},
		"user of an unknown organization":            {user(aUser("nowhere", "a@b", grant(""))), ErrNotFound, "nowhere"},
		"user without grants":                        {user(aUser("acme", "a@b")), nil, "at least one grant"},
		"user with a grant twice":                    {user(aUser("acme", "a@b", grant("orders"), grant("orders"))), nil, "two grants"},
		"user with an unknown application":           {user(aUser("acme", "a@b", grant("billing"))), ErrNotFound, "billing"},
		"user of the platform with an application":   {user(aUser("", "a@b", grant("orders"))), nil, ""},
		"user with another one's role":               {user(aUser("acme", "a@b", grant("", "other/refunder"))), nil, "another organization's"},
		"user with an email that is none":            {user(aUser("acme", "a@b.", grant(""))), nil, "name@host"},
		"user with too many roles":                   {user(aUser("", "a@b", grant("", append(many, many...)...))), ErrNotFound, `role "r0"`},
		"role of an unknown organization":            {role(&identityv1.StoredRole{OrganizationId: "nowhere", Name: "a", Actions: []string{"a"}}), ErrNotFound, "nowhere"},
		"role of an organization that is assignable": {role(&identityv1.StoredRole{OrganizationId: "acme", Name: "a", Actions: []string{"a"}, Assignable: true}), nil, "assignable"},
		"role without actions":                       {role(&identityv1.StoredRole{Name: "a"}), nil, "1 to 256"},
		"role with a pattern that is none":           {role(&identityv1.StoredRole{Name: "a", Actions: []string{"a*"}}), nil, "not an action"},
		"role with a name that is none":              {role(&identityv1.StoredRole{Name: "a/b", Actions: []string{"a"}}), nil, "name"},
		"role that is taken":                         {role(&identityv1.StoredRole{Name: "admin", Actions: []string{"a"}}), ErrExists, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if row.kind == nil {
				wantInvalid(t, row.err, row.says)
			} else {
				wantErr(t, row.err, row.kind, row.says)
			}
		})
	}
	t.Run("organizations", func(t *testing.T) {
		for _, id := range []string{"system-api", "Acme", "a_b", "", strings.Repeat("a", 64), "a/b"} {
			_, err := s.CreateOrganization(ctx, id, "")
			wantInvalid(t, err, "")
		}
		_, err := s.CreateOrganization(ctx, "acme", "")
		wantErr(t, err, ErrExists, `create organization "acme"`)
	})
}

func TestRemove_notEmpty(t *testing.T) {
	s, ctx := town(t)
	_, _, err := s.AddMachine(ctx, clientKind, participant.Application("acme", "orders", ""), "acme.ci")
	must(t, err)
	_, err = s.CreateUser(ctx, aUser("acme", "ada@acme.example", grant(""), grant("orders")))
	must(t, err)
	wantErr(t, s.RemoveOrganization(ctx, "acme"), ErrNotEmpty, "application orders", "user ada@acme.example", "role refunder", "machine acme.ci")
	wantErr(t, s.RemoveApplication(ctx, "acme", "orders"), ErrNotEmpty, "machine acme.ci", "a grant of user ada@acme.example")
	must(t, s.RemoveMachine(ctx, "acme.ci"))
	wantErr(t, s.RemoveMachine(ctx, "acme.ci"), ErrNotFound)
	wantErr(t, s.RemoveApplication(ctx, "acme", "orders"), ErrNotEmpty, "ada@acme.example")
	_, err = s.SetUserGrants(ctx, "acme", "ada@acme.example", []*identityv1.StoredGrant{grant("")})
	must(t, err)
	must(t, s.RemoveApplication(ctx, "acme", "orders"))
	wantErr(t, s.RemoveApplication(ctx, "acme", "orders"), ErrNotFound)
	wantErr(t, s.RemoveOrganization(ctx, "acme"), ErrNotEmpty, "user ada@acme.example")
	must(t, s.RemoveUser(ctx, "acme", "ada@acme.example"))
	wantErr(t, s.RemoveOrganization(ctx, "acme"), ErrNotEmpty, "role refunder")
	must(t, s.RemoveRole(ctx, "acme", "refunder"))
	must(t, s.RemoveOrganization(ctx, "acme"))
	wantErr(t, s.RemoveOrganization(ctx, "acme"), ErrNotFound)
	if _, err := s.Organization(ctx, "other"); err != nil {
		t.Error(err)
	}
}

func TestCreateMachine_makesItsOwners(t *testing.T) {
	s, ctx := NewStore(etcdtest.Start(t), ""), testContext(t)
	var wg sync.WaitGroup
	for i := range 8 { // all at once, into the same organization
		wg.Go(func() {
			if _, err := s.CreateMachine(ctx, clientKind, participant.Application("acme", "orders", ""), fmt.Sprintf("m%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	before, err := s.Organization(ctx, "acme")
	must(t, err)
	_, err = s.SetOrganizationDisabled(ctx, "acme", true)
	must(t, err)
	_, err = s.CreateMachine(ctx, clientKind, participant.Organization("acme", ""), "late")
	must(t, err)
	_, err = s.CreateMachine(ctx, clientKind, participant.Organization("new", ""), "late")
	wantErr(t, err, ErrExists)
	if after, err := s.Organization(ctx, "acme"); err != nil || !after.GetDisabled() || after.GetCreatedAt().AsTime() != before.GetCreatedAt().AsTime() {
		t.Errorf("the organization was made again: %v, %v", after, err)
	}
	_, err = s.Organization(ctx, "new")
	wantErr(t, err, ErrNotFound)
	machines, more, err := s.MachinesOf(ctx, "acme", "", 5)
	if err != nil || !more || len(machines) != 5 || machines[0].GetId() != "late" {
		t.Errorf("%v %v %v", machines, more, err)
	}
}

func TestRoles(t *testing.T) {
	s, ctx := town(t)
	_, err := s.UpdateRole(ctx, &identityv1.StoredRole{Name: "admin", Description: "d", Actions: []string{"a.*"}, Assignable: true})
	must(t, err)
	for _, write := range []func(context.Context, *identityv1.StoredRole) (*identityv1.StoredRole, error){
		s.CreateRole, func(ctx context.Context, r *identityv1.StoredRole) (*identityv1.StoredRole, error) {
			return s.UpdateRole(ctx, r)
		},
	} {
		twice, err := write(ctx, &identityv1.StoredRole{OrganizationId: "acme", Name: "twice", Actions: []string{"b", "a", "b"}})
		must(t, err)
		if got := twice.GetActions(); !slices.Equal(got, []string{"b", "a"}) {
			t.Errorf("actions that are said twice are stored as %v", got)
		}
	}
	_, err = s.UpdateRole(ctx, &identityv1.StoredRole{Name: "nothing", Actions: []string{"a"}})
	wantErr(t, err, ErrNotFound)
	_, err = s.UpdateRole(ctx, &identityv1.StoredRole{Name: "admin"})
	wantInvalid(t, err, "0 actions")
	roles, more, err := s.Roles(ctx, "", "", 10)
	if err != nil || more || len(roles) != 1 || roles[0].GetDescription() != "d" || !roles[0].GetAssignable() || roles[0].GetCreatedAt() == nil {
		t.Errorf("%v %v %v", roles, more, err)
	}
	// A role that goes is taken from everyone, however many they are, and from nobody else.
	const many = stripBatch + 5
	for i := range many {
		p := participant.Organization("acme", "")
		p.Roles = []string{"admin", "acme/refunder"}
		_, _, err := s.AddMachine(ctx, clientKind, p, fmt.Sprintf("m%d", i))
		must(t, err)
	}
	_, err = s.CreateUser(ctx, aUser("acme", "a@b", grant("", "acme/refunder"), grant("orders", "admin", "acme/refunder")))
	must(t, err)
	_, err = s.CreateUser(ctx, aUser("other", "a@b", grant("", "other/refunder", "admin")))
	must(t, err)
	refused := errors.New("refused")
	wantErr(t, s.RemoveRole(ctx, "acme", "refunder", func(*identityv1.StoredRole) error { return refused }), refused)
	must(t, s.RemoveRole(ctx, "acme", "refunder"))
	wantErr(t, s.RemoveRole(ctx, "acme", "refunder"), ErrNotFound)
	machines, err := s.Machines(ctx)
	must(t, err)
	for _, m := range machines {
		if got := m.GetParticipant().GetRoles(); len(got) != 1 || got[0] != "admin" {
			t.Errorf("machine %s has %v", m.GetId(), got)
		}
	}
	ada, err := s.User(ctx, "acme", "a@b")
	must(t, err)
	if g := ada.GetGrants(); len(g[0].GetRoles()) != 0 || len(g[1].GetRoles()) != 1 {
		t.Errorf("grants %v", g)
	}
	must(t, s.RemoveRole(ctx, "", "admin"))
	bob, err := s.User(ctx, "other", "a@b")
	must(t, err)
	if got := bob.GetGrants()[0].GetRoles(); len(got) != 1 || got[0] != "other/refunder" {
		t.Errorf("another organization's role is taken: %v", got)
	}
}

func TestEnsureBuiltInRoles(t *testing.T) {
	s, ctx := NewStore(etcdtest.Start(t), ""), testContext(t)
	_, err := s.CreateRole(ctx, &identityv1.StoredRole{Name: "platform-admin", Actions: []string{"own.*"}})
	must(t, err) // before the first registry started
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := s.EnsureBuiltInRoles(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	names := func() string {
		t.Helper()
		roles, _, err := s.Roles(ctx, "", "", 10)
		must(t, err)
		var all []string
		for _, r := range roles {
			all = append(all, fmt.Sprintf("%s-%t-%d", r.GetName(), r.GetAssignable(), len(r.GetActions())))
		}
		return strings.Join(all, " ")
	}
	if got, want := names(), "organization-admin-true-5 organization-viewer-true-5 platform-admin-false-1"; got != want {
		t.Errorf("roles %q, want %q", got, want)
	}
	roles, _, err := s.Roles(ctx, "", "organization-viewer", 1)
	if err != nil || roles[0].GetActions()[0] != "own.*" {
		t.Errorf("a role of the operator's own is overwritten: %v, %v", roles, err)
	}
	must(t, s.RemoveRole(ctx, "", "organization-viewer"))
	_, err = s.UpdateRole(ctx, &identityv1.StoredRole{Name: "organization-admin", Actions: []string{"a", "b"}, Assignable: true})
	must(t, err)
	must(t, s.EnsureBuiltInRoles(ctx))
	if got, want := names(), "organization-admin-true-2 platform-admin-false-1"; got != want {
		t.Errorf("roles %q, want %q", got, want)
	}
}

// A dot stands between two parts of a machine's id. What is stored otherwise, by an earlier version, can still be
// changed and removed.
func TestMachineIDs(t *testing.T) {
	s, ctx := town(t)
	for id, fine := range map[string]bool{
		"acme.ci": true, "acme.ci.2": true, "ci": true, "acme._": true, "acme.-": true, "A.b": true,
		"acme.": false, "acme..": false, "acme..ci": false, "acme.ci.": false, ".": false, ".acme": false, "..": false, "acme.ci..2": false,
	} {
		_, _, err := s.AddMachine(ctx, clientKind, participant.Organization("acme", ""), id)
		if !fine {
			wantInvalid(t, err, "a dot neither at the end nor after another")
		} else if err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{"acme.", "acme..ci"} {
		value, err := encode(&registryv1.StoredMachine{Id: id, Kind: clientKind, Participant: participant.Organization("acme", id)})
		must(t, err)
		_, err = s.c.Put(ctx, s.l.machine(id), value)
		must(t, err)
		must(t, s.DisableMachine(ctx, id))
		_, err = s.RotateMachine(ctx, id)
		must(t, err)
		_, err = s.SetMachineRoles(ctx, id, nil)
		must(t, err)
		must(t, s.RemoveMachine(ctx, id))
	}
}

// An organization that is made anew inherits nothing of the one before: no services, contracts or declared names.
func TestRemoveOrganization_services(t *testing.T) {
	s, ctx := NewStore(etcdtest.Start(t), ""), testContext(t)
	for _, id := range []string{"acme", "acme-2"} {
		_, err := s.CreateOrganization(ctx, id, "")
		must(t, err)
	}
	digest := put(t, s, "a")
	leases := map[string]string{}
	zones := []string{"app.acme.orders", "app.acme.orders.billing", "app.acme-2.orders", "app-api"}
	for n, zone := range zones {
		l, err := s.Register(ctx, &Registration{MachineID: "host", TTL: time.Minute, Contract: digest, Address: "10.0.0.1:1", Services: []ServiceRegistration{
			service(zone, "a.A", ToolName{Hash: fmt.Sprint("h", n), Alias: fmt.Sprint("refund", n)}),
		}})
		must(t, err)
		leases[zone] = l.InstanceID
	}
	wantErr(t, s.RemoveOrganization(ctx, "acme"), ErrNotEmpty, "app.acme.orders~a.A", "app.acme.orders.billing~a.A")
	must(t, s.Deregister(ctx, "host", leases["app.acme.orders"]))
	must(t, s.Deregister(ctx, "host", leases["app.acme.orders.billing"]))
	must(t, s.RemoveOrganization(ctx, "acme"))
	_, err := s.CreateOrganization(ctx, "acme", "")
	must(t, err)
	for n, zone := range zones {
		stays := n > 1
		found, _, err := read(ctx, s, s.l.service(Key{zone, "a.A"}), &registryv1.StoredService{})
		if err != nil || found != stays {
			t.Errorf("the service in %s is stored: %t, %v", zone, found, err)
		}
		root := participant.Root(zone)
		held, err := s.AliasHolders(ctx, []string{root}, fmt.Sprint("refund", n))
		if err != nil || (held[root] != "") != stays {
			t.Errorf("the name in %s is held: %v, %v", root, held, err)
		}
	}
	// The same service may come again, and another may declare the name.
	for _, name := range []string{"a.A", "a.B"} {
		_, err := s.Register(ctx, &Registration{MachineID: "host", TTL: time.Minute, Contract: digest, Address: "10.0.0.1:1", Services: []ServiceRegistration{
			service("app.acme.orders", name, ToolName{Hash: map[string]string{"a.A": "h0", "a.B": "h9"}[name], Alias: map[string]string{"a.B": "refund0"}[name]}),
		}})
		must(t, err)
	}
}
