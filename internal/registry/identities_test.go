package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

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

func TestCanonicalEmail(t *testing.T) {
	for in, want := range map[string]string{
		"ada@acme.example":              "ada@acme.example",
		"Ada.Lovelace@ACME.Example":     "ada.lovelace@acme.example",
		"a+b_c%d'e!#$&*=?^{|}~-@x-y":    "a+b_c%d'e!#$&*=?^{|}~-@x-y",
		".dots..are@mail.systems.own":   ".dots..are@mail.systems.own",
		"a@" + strings.Repeat("b", 252): "a@" + strings.Repeat("b", 252),

		"a@" + strings.Repeat("b", 253): "",
		"\u212Aelvin@acme.example":      "", // the Kelvin sign, which folds to k
		"kelvin@\u212Aacme.example":     "",
		"d\u0131nah@acme.example":       "", // dotless i
		"D\u0130NAH@acme.example":       "", // dotted capital I
		"\uFF41da@acme.example":         "", // full-width a
		"ada\uFF20acme.example":         "", // full-width @
		"ada@acme\u3002example":         "", // an ideographic full stop
		"ada@acme.example.":             "",
		"ada@.acme.example":             "",
		"ada@acme..example":             "",
		`"ada"@acme.example`:            "",
		`"a d a"@acme.example`:          "",
		" ada@acme.example":             "",
		"ada@acme.example ":             "",
		"ada@acme.example\n":            "",
		"ada@acme.example\x00":          "",
		"a/b@acme.example":              "",
		"ada@acme/example":              "",
		"ada@acme@example":              "",
		"@acme.example":                 "",
		"ada@":                          "",
		"ada":                           "",
		"":                              "",
		"<ada@acme.example>":            "",
		"ada@[127.0.0.1]":               "",
	} {
		got, err := CanonicalEmail(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%+q: %q, %v; want %q", in, got, err, want)
		}
	}
}

func FuzzCanonicalEmail(f *testing.F) {
	for _, seed := range []string{"Ada@acme.example", "\u212A@x", "a@b.", `"a"@b`, "a@b/c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		canonical, err := CanonicalEmail(text)
		if err != nil {
			return
		}
		if again, err := CanonicalEmail(canonical); err != nil || again != canonical {
			t.Errorf("%q becomes %q, which becomes %q, %v", text, canonical, again, err)
		}
		if len(canonical) != len(text) || strings.ContainsAny(canonical, "/ \"") || !strings.Contains(canonical, "@") {
			t.Errorf("%q becomes %q", text, canonical)
		}
		if what, key, id := layout("/p/").parse(layout("/p/").user("acme", canonical)); what != kindUser || key.Zone != "acme" || id != canonical {
			t.Errorf("%q is another key: %v %v %q", canonical, what, key, id)
		}
	})
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

func TestUsers(t *testing.T) {
	s, ctx := town(t)
	u, err := s.CreateUser(ctx, &identityv1.StoredUser{
		OrganizationId: "acme", Email: "Ada@Acme.example", Name: "Ada", PasswordHash: "h", Disabled: false,
		Grants: []*identityv1.StoredGrant{grant("", "admin"), grant("orders", "acme/refunder")},
	})
	must(t, err)
	if u.GetEmail() != "ada@acme.example" || u.GetCreatedAt() == nil || u.GetPasswordChangedAt() == nil {
		t.Errorf("user %v", u)
	}
	_, err = s.CreateUser(ctx, aUser("acme", "ADA@ACME.EXAMPLE", grant("")))
	wantErr(t, err, ErrExists)
	other, err := s.CreateUser(ctx, aUser("other", "ada@acme.example", grant("")))
	must(t, err) // the same email in another organization is another user
	if other.GetPasswordChangedAt() != nil {
		t.Error("a user without a password has changed it")
	}

	if _, err = s.SetUserPassword(ctx, "acme", "ada@ACME.example", "h2"); err != nil {
		t.Error(err)
	}
	if _, err = s.SetUserDisabled(ctx, "acme", "ada@acme.example", true); err != nil {
		t.Error(err)
	}
	_, v := watch(t, s, WatchOptions{})
	view := v.until("the user is there", func(v *View) bool { _, ok := v.User("acme", "ada@acme.example"); return ok })
	if u, _ := view.User("acme", "ada@acme.example"); !u.GetDisabled() || u.GetPasswordHash() != "h2" || u.GetName() != "Ada" {
		t.Errorf("user %v", u)
	}
	if u, _ := view.User("other", "ada@acme.example"); u.GetDisabled() || u.GetPasswordHash() != "" {
		t.Errorf("the other user changed, too: %v", u)
	}
	refused := errors.New("refused")
	_, err = s.SetUserDisabled(ctx, "acme", "ada@acme.example", false, func(*identityv1.StoredUser) error { return refused })
	wantErr(t, err, refused)
	wantErr(t, s.RemoveUser(ctx, "acme", "ada@acme.example", func(*identityv1.StoredUser) error { return refused }), refused)
	if u, err := s.User(ctx, "acme", "Ada@acme.example"); err != nil || !u.GetDisabled() {
		t.Errorf("user %v, %v", u, err)
	}
	for _, email := range []string{"bob@acme.example", "nothing", "ada@acme.example/x"} {
		_, err = s.SetUserDisabled(ctx, "acme", email, true)
		wantErr(t, err, ErrNotFound)
		wantErr(t, s.RemoveUser(ctx, "acme", email), ErrNotFound)
	}
	must(t, s.RemoveUser(ctx, "acme", "ada@acme.example"))
	v.until("the user is gone", func(v *View) bool { return len(v.Users) == 1 })
}

func TestDelegates(t *testing.T) {
	s, ctx := town(t)
	for _, organization := range []string{"acme", "other"} {
		_, err := s.CreateUser(ctx, aUser(organization, "ada@acme.example", grant("")))
		must(t, err)
	}
	_, err := s.SetUserGrants(ctx, "acme", "ada@acme.example", []*identityv1.StoredGrant{grant(""), grant("orders")})
	must(t, err)
	of := func(organization, application, client string) *identityv1.StoredDelegate {
		return &identityv1.StoredDelegate{
			OrganizationId: organization, OwnerEmail: "Ada@acme.example", ApplicationId: application, ClientId: client, ClientName: "C",
		}
	}
	ids := map[string]bool{}
	for _, d := range []*identityv1.StoredDelegate{
		of("acme", "", "https://c/1"), of("acme", "", "https://c/2"), of("acme", "orders", "https://c/1"), of("other", "", "https://c/1"),
	} {
		made := make(chan string, 8)
		var wg sync.WaitGroup
		for range 8 { // the same client again, and at the same time
			wg.Go(func() {
				got, err := s.CreateDelegate(ctx, d)
				if err != nil {
					t.Error(err)
				}
				made <- got.GetId()
			})
		}
		wg.Wait()
		close(made)
		first := <-made
		for id := range made {
			if id != first {
				t.Errorf("two delegates of one client: %s and %s", first, id)
			}
		}
		if !strings.HasPrefix(first, DelegatePrefix) || ids[first] {
			t.Errorf("id %q", first)
		}
		ids[first] = true
	}
	_, err = s.CreateDelegate(ctx, of("acme", "billing", "c"))
	wantErr(t, err, ErrNotFound, "billing")
	_, err = s.CreateDelegate(ctx, of("", "", "c"))
	wantErr(t, err, ErrNotFound, "user")
	_, err = s.CreateDelegate(ctx, of("acme", "", ""))
	wantInvalid(t, err, "client id")

	list := func(organization string) []*identityv1.StoredDelegate {
		t.Helper()
		all, more, err := s.Delegates(ctx, organization, "", 100)
		if err != nil || more {
			t.Fatal(more, err)
		}
		return all
	}
	if got := list("acme"); len(got) != 3 || got[0].GetOwnerEmail() != "ada@acme.example" {
		t.Fatalf("%v", got)
	}
	first, more, err := s.Delegates(ctx, "acme", "", 2)
	if err != nil || !more || len(first) != 2 {
		t.Fatal(first, more, err)
	}
	rest, more, err := s.Delegates(ctx, "acme", first[1].GetId(), 2)
	if err != nil || more || len(rest) != 1 {
		t.Fatal(rest, more, err)
	}

	d := list("other")[0]
	if got, err := s.SetDelegateDisabled(ctx, d.GetId(), true); err != nil || !got.GetDisabled() {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := s.CreateDelegate(ctx, of("other", "", "https://c/1")); err != nil || got.GetId() != d.GetId() || !got.GetDisabled() {
		t.Errorf("a new approval does not switch on what was switched off: %v, %v", got, err)
	}
	must(t, s.RemoveDelegate(ctx, d.GetId()))
	wantErr(t, s.RemoveDelegate(ctx, d.GetId()), ErrNotFound)
	_, err = s.SetDelegateDisabled(ctx, d.GetId(), true)
	wantErr(t, err, ErrNotFound)
	if got, err := s.CreateDelegate(ctx, of("other", "", "https://c/1")); err != nil || got.GetId() == d.GetId() {
		t.Errorf("a removed delegate comes back: %v, %v", got, err)
	}

	// Delegates go with their grant, and do not come back with another of the same application.
	_, err = s.SetUserGrants(ctx, "acme", "ada@acme.example", []*identityv1.StoredGrant{grant("")})
	must(t, err)
	_, err = s.SetUserGrants(ctx, "acme", "ada@acme.example", []*identityv1.StoredGrant{grant(""), grant("orders")})
	must(t, err)
	if got := list("acme"); len(got) != 2 {
		t.Errorf("%v", got)
	}
	must(t, s.RemoveUser(ctx, "acme", "ada@acme.example"))
	if got := list("acme"); len(got) != 0 {
		t.Errorf("delegates of a user that is gone: %v", got)
	}
	if got := list("other"); len(got) != 1 {
		t.Errorf("delegates of the other user: %v", got)
	}
	if n := count(t, s, "delegates/acme/"); n != 0 {
		t.Errorf("%d keys of the index are left", n)
	}
}

func count(t *testing.T, s *Store, under string) int {
	t.Helper()
	all, _, err := s.snapshot(testContext(t), s.Prefix()+under)
	must(t, err)
	return len(all[0])
}

func TestDelegates_bound(t *testing.T) {
	s, ctx := town(t)
	_, err := s.CreateUser(ctx, aUser("acme", "ada@acme.example", grant("")))
	must(t, err)
	for i := range maxDelegates + 1 {
		_, err = s.CreateDelegate(ctx, &identityv1.StoredDelegate{OrganizationId: "acme", OwnerEmail: "ada@acme.example", ClientId: fmt.Sprint(i)})
		if i < maxDelegates {
			must(t, err)
		}
	}
	wantInvalid(t, err, "50 delegates")
	must(t, s.RemoveUser(ctx, "acme", "ada@acme.example"))
	if n := count(t, s, "identities/delegates/"); n != 0 {
		t.Errorf("%d delegates are left", n)
	}
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

func TestRoles(t *testing.T) {
	s, ctx := town(t)
	_, err := s.UpdateRole(ctx, &identityv1.StoredRole{Name: "admin", Description: "d", Actions: []string{"a.*"}, Assignable: true})
	must(t, err)
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
