package identity_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/password"
	"github.com/sallyport-dev/sallyport/internal/identity"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
)

const clientKind = identityv1.MachineKind_MACHINE_KIND_CLIENT

// Nobody gives more than they have, nor changes who or what has more.
func TestEscalation(t *testing.T) {
	h := newHouse(t)
	// Identities of acme, and of the platform, that hold more than those who try.
	for _, u := range []*identityv1.StoredUser{
		{OrganizationId: "acme", Email: "boss@acme.example", Grants: []*identityv1.StoredGrant{{}, {ApplicationId: "orders", Roles: []string{"platform-admin"}}}},
		{Email: "root@platform.example", Grants: []*identityv1.StoredGrant{{Roles: []string{"platform-admin"}}}},
		{Email: "peer@platform.example", Grants: []*identityv1.StoredGrant{{Roles: []string{"user-manager"}}}},
	} {
		_, err := h.store.CreateUser(h.ctx(), u)
		h.must(err)
	}
	boss, err := h.store.CreateDelegate(h.ctx(), &identityv1.StoredDelegate{OrganizationId: "acme", OwnerEmail: "boss@acme.example", ClientId: "c"})
	h.must(err)
	_, err = h.store.SetMachineRoles(h.ctx(), "acme.plain", []string{"payer"})
	h.must(err)

	grants := func(roles ...string) []*identityv1.Grant { return []*identityv1.Grant{{Roles: roles}} }
	i := h.identities
	made := 0
	newUser := func(organization string, roles ...string) func(context.Context) error {
		made++
		email := fmt.Sprintf("u%d@x", made)
		return func(ctx context.Context) error {
			_, err := i.CreateUser(ctx, &identityv1.CreateUserRequest{OrganizationId: organization, Email: email, Grants: grants(roles...)})
			return err
		}
	}
	newMachine := func(organization, id string, roles ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := i.CreateMachine(ctx, &identityv1.CreateMachineRequest{OrganizationId: organization, MachineId: id, Kind: clientKind, Roles: roles})
			return err
		}
	}
	setGrants := func(organization, email string, roles ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := i.SetUserGrants(ctx, &identityv1.SetUserGrantsRequest{OrganizationId: organization, Email: email, Grants: grants(roles...)})
			return err
		}
	}
	setPassword := func(organization, email string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := i.SetUserPassword(ctx, &identityv1.SetUserPasswordRequest{OrganizationId: organization, Email: email, Password: "correct horse"})
			return err
		}
	}
	setRoles := func(organization, id string, roles ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := i.SetMachineRoles(ctx, &identityv1.SetMachineRolesRequest{OrganizationId: organization, MachineId: id, Roles: roles})
			return err
		}
	}
	newRole := func(organization, name string, actions ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := i.CreateRole(ctx, &identityv1.CreateRoleRequest{OrganizationId: organization, Name: name, Actions: actions})
			return err
		}
	}
	updateRole := func(organization, name string, actions ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := i.UpdateRole(ctx, &identityv1.UpdateRoleRequest{OrganizationId: organization, Name: name, Actions: actions})
			return err
		}
	}
	const denied, missing, invalid = codes.PermissionDenied, codes.NotFound, codes.InvalidArgument
	for _, row := range []struct {
		what, who string
		do        func(context.Context) error
		want      codes.Code
		says      string
	}{
		{"an organization gives a role that it may give", "acme.admin", newUser("", "organization-viewer"), codes.OK, ""},
		{"its own role", "acme.admin", newMachine("", "acme.m1", "acme/refunder"), codes.OK, ""},
		{"a role that is assignable and grants more", "acme.admin", newUser("", "payer"), denied, "nobody gives more"},
		{"the same to a machine", "acme.admin", newMachine("", "acme.m2", "payer"), denied, "nobody gives more"},
		{"a role that is not assignable", "acme.admin", newUser("", "user-manager"), missing, `"user-manager" is known`},
		{"a role that does not exist", "acme.admin", newUser("", "nothing"), missing, `"nothing" is known`},
		{"everything", "acme.admin", setRoles("", "acme.admin", "platform-admin"), missing, "platform-admin"},
		{"another organization's role", "acme.admin", newUser("", "other/refunder"), invalid, "another organization's"},
		{"what is meant for the platform", "acme.admin", newMachine("-", "acme.m7"), denied, "which you are"},
		{"what is meant for the platform, by the platform", "system.admin", newMachine("-", "m7"), codes.OK, ""},
		{"a role of its own that does not exist", "acme.admin", newUser("", "acme/nothing"), missing, `"acme/nothing"`},
		{"a role that is spelled as two", "acme.admin", newUser("", "acme/a/b"), invalid, ""},
		{"more to a machine that has less", "acme.admin", setRoles("", "acme.viewer", "payer"), denied, ""},
		{"a user of the organization who has more gets a password", "acme.admin", setPassword("", "boss@acme.example"), denied, "somebody who holds as much"},
		{"or other grants", "acme.admin", setGrants("", "boss@acme.example"), denied, "somebody who holds as much"},
		{"or is switched off", "acme.admin", func(ctx context.Context) error {
			_, err := i.DisableUser(ctx, &identityv1.DisableUserRequest{Email: "boss@acme.example"})
			return err
		}, denied, ""},
		{"or on", "acme.admin", func(ctx context.Context) error {
			_, err := i.EnableUser(ctx, &identityv1.EnableUserRequest{Email: "boss@acme.example"})
			return err
		}, denied, ""},
		{"or is removed", "acme.admin", func(ctx context.Context) error {
			_, err := i.RemoveUser(ctx, &identityv1.RemoveUserRequest{Email: "boss@acme.example"})
			return err
		}, denied, ""},
		{"a delegate of theirs is switched on", "acme.admin", func(ctx context.Context) error {
			_, err := i.EnableDelegate(ctx, &identityv1.EnableDelegateRequest{DelegateId: boss.GetId()})
			return err
		}, denied, ""},
		{"or removed", "acme.admin", func(ctx context.Context) error {
			_, err := i.RemoveDelegate(ctx, &identityv1.RemoveDelegateRequest{DelegateId: boss.GetId()})
			return err
		}, denied, ""},
		{"a machine that has more gets a secret", "acme.admin", func(ctx context.Context) error {
			_, err := i.RotateMachine(ctx, &identityv1.RotateMachineRequest{MachineId: "acme.plain"})
			return err
		}, denied, ""},
		{"or other roles", "acme.admin", setRoles("", "acme.plain"), denied, ""},
		{"or is removed", "acme.admin", func(ctx context.Context) error {
			_, err := i.RemoveMachine(ctx, &identityv1.RemoveMachineRequest{MachineId: "acme.plain"})
			return err
		}, denied, ""},
		{"a machine outside of the organization's names", "acme.admin", newMachine("", "m3"), invalid, "acme.<name>"},
		{"a machine in another organization's names", "acme.admin", newMachine("", "other.m3"), invalid, "acme.<name>"},
		{"a machine whose name begins alike", "acme.admin", newMachine("", "acme-2.m3"), invalid, "acme.<name>"},
		{"a role of the organization's own grants anything in its zones", "acme.admin", newRole("", "all", "*"), codes.OK, ""},
		{"and is given", "acme.admin", setRoles("", "acme.viewer", "organization-viewer", "acme/all"), codes.OK, ""},
		{"and changes", "acme.admin", updateRole("", "all", "identity.*"), codes.OK, ""},
		{"and opens nothing of the platform", "acme.viewer", newUser(""), denied, "identity.users.write"},
		{"a role of the organization that is assignable", "acme.admin", func(ctx context.Context) error {
			_, err := i.CreateRole(ctx, &identityv1.CreateRoleRequest{Name: "x", Actions: []string{"a"}, Assignable: true})
			return err
		}, invalid, "assignable"},
		{"a role of the platform, by the same name", "acme.admin", updateRole("", "organization-admin", "*"), missing, ""},

		{"the platform, of users alone, gives what it has", "system.manager", newUser("", "user-manager"), codes.OK, ""},
		{"gives more", "system.manager", newUser("", "platform-admin"), denied, "nobody gives more"},
		{"gives more to an organization's", "system.manager", newUser("acme", "payer"), denied, "nobody gives more"},
		{"gives what only has another name", "system.manager", newUser("", "organization-admin"), denied, "nobody gives more"},
		{"gives more to itself", "system.manager", setRoles("", "system.manager", "platform-admin"), denied, "nobody gives more"},
		{"a password for who has more", "system.manager", setPassword("", "root@platform.example"), denied, "somebody who holds as much"},
		{"a password for who has as much", "system.manager", setPassword("", "peer@platform.example"), codes.OK, ""},
		{"a role that grants more", "system.manager", newRole("", "more", "identity.*"), denied, "nobody gives more"},
		{"a role that grants all", "system.manager", newRole("", "more", "*"), denied, "nobody gives more"},
		{"a role that grants as much", "system.manager", newRole("", "as-much", "identity.users.*", "identity.roles.read"), codes.OK, ""},
		{"grows it", "system.manager", updateRole("", "as-much", "identity.users.*", "identity.keys.write"), denied, "nobody gives more"},
		{"shrinks it", "system.manager", updateRole("", "as-much", "identity.users.read"), codes.OK, ""},
		{"shrinks one that grants more", "system.manager", updateRole("", "platform-admin", "identity.users.read"), denied, ""},
		{"removes one that grants more", "system.manager", func(ctx context.Context) error {
			_, err := i.RemoveRole(ctx, &identityv1.RemoveRoleRequest{Name: "platform-admin"})
			return err
		}, denied, ""},
		{"removes its own", "system.manager", func(ctx context.Context) error {
			_, err := i.RemoveRole(ctx, &identityv1.RemoveRoleRequest{Name: "as-much"})
			return err
		}, codes.OK, ""},
		{"an organization's role", "system.manager", newRole("acme", "paid", "payments.pay"), codes.OK, ""},
		{"an organization's role for the platform's own", "system.admin", newUser("", "acme/refunder"), invalid, "another organization's"},
		{"an application of the platform", "system.admin", func(ctx context.Context) error {
			_, err := i.CreateApplication(ctx, &identityv1.CreateApplicationRequest{ApplicationId: "a"})
			return err
		}, invalid, "name the organization"},
		{"a machine of an application of the platform", "system.admin", func(ctx context.Context) error {
			_, err := i.CreateMachine(ctx, &identityv1.CreateMachineRequest{ApplicationId: "a", MachineId: "m", Kind: clientKind})
			return err
		}, invalid, "name the organization"},
		{"the administrator gives everything", "system.admin", newUser("acme", "platform-admin"), codes.OK, ""},
		{"and names machines freely", "system.admin", newMachine("acme", "m9", "payer"), codes.OK, ""},
		{"but not by an organization that is not theirs", "system.admin", newMachine("", "acme.m9"), invalid, "of organization acme"},
		{"and names an organization that does not exist", "system.admin", newMachine("nowhere", "m9"), missing, `no organization "nowhere"`},
		{"an id that is taken", "system.admin", newMachine("acme", "acme.admin"), codes.AlreadyExists, `"acme.admin"`},
		{"a reserved organization", "system.admin", func(ctx context.Context) error {
			_, err := h.organizations.CreateOrganization(ctx, &identityv1.CreateOrganizationRequest{OrganizationId: "system-api"})
			return err
		}, invalid, "reserved"},
		{"an organization that still has something", "system.admin", func(ctx context.Context) error {
			_, err := h.organizations.RemoveOrganization(ctx, &identityv1.RemoveOrganizationRequest{OrganizationId: "acme"})
			return err
		}, codes.FailedPrecondition, "application orders"},
		{"an application that still has something", "acme.admin", func(ctx context.Context) error {
			_, err := i.RemoveApplication(ctx, &identityv1.RemoveApplicationRequest{ApplicationId: "orders"})
			return err
		}, codes.FailedPrecondition, "machine acme.app"},
		{"an email that no rule of the message refuses", "acme.admin", setPassword("", "a@b."), missing, "a@b."},
		{"an email that is none", "acme.admin", setPassword("", "a b@c"), invalid, "email"},
		{"a short password", "acme.admin", func(ctx context.Context) error {
			_, err := i.SetUserPassword(ctx, &identityv1.SetUserPasswordRequest{Email: "ada@acme.example", Password: "short"})
			return err
		}, invalid, "password"},
	} {
		t.Run(row.what, func(t *testing.T) {
			err := row.do(h.as(row.who))
			wantError(t, err, row.want, row.says)
			if text := status.Convert(err).Message(); strings.Contains(text, "correct horse") || strings.Contains(text, "a short") {
				t.Errorf("the error repeats the password: %s", text)
			}
		})
	}
}

// Who writes sees it in the next answer, and edges see it in their view.
func TestUse(t *testing.T) {
	h := newHouse(t)
	admin, i := h.as("acme.admin"), h.identities
	u, err := i.CreateUser(admin, &identityv1.CreateUserRequest{
		Email: "Bob@ACME.example", Name: "Bob", Password: "correct horse battery", Grants: []*identityv1.Grant{{ApplicationId: "orders", Roles: []string{"acme/refunder"}}},
	})
	h.must(err)
	if got := u.GetUser(); got.GetEmail() != "bob@acme.example" || got.GetOrganizationId() != "acme" || got.GetPasswordChangedAt() == nil {
		t.Errorf("%v", got)
	}
	stored, err := h.store.User(h.ctx(), "acme", "bob@acme.example")
	h.must(err)
	if !password.Check(stored.GetPasswordHash(), "correct horse battery") {
		t.Error("the password is not what was said")
	}
	users, err := i.ListUsers(admin, &identityv1.ListUsersRequest{})
	h.must(err)
	if len(users.GetUsers()) != 2 || strings.Contains(users.String(), "argon2") {
		t.Errorf("%v", users)
	}
	_, err = i.SetUserPassword(admin, &identityv1.SetUserPasswordRequest{Email: "BOB@acme.example", Password: "another password"})
	h.must(err)
	_, err = i.DisableUser(admin, &identityv1.DisableUserRequest{Email: "bob@acme.example"})
	h.must(err)
	h.until("the user is off", func(v *registry.View) bool {
		u, _ := v.User("acme", "bob@acme.example")
		return u.GetDisabled() && password.Check(u.GetPasswordHash(), "another password")
	})
	_, err = i.EnableUser(admin, &identityv1.EnableUserRequest{Email: "bob@acme.example"})
	h.must(err)
	h.until("the user is on", func(v *registry.View) bool {
		u, ok := v.User("acme", "bob@acme.example")
		return ok && !u.GetDisabled()
	})

	m, err := i.CreateMachine(admin, &identityv1.CreateMachineRequest{MachineId: "acme.new", ApplicationId: "orders", Kind: clientKind})
	h.must(err)
	if m.GetMachine().GetApplicationId() != "orders" || len(m.GetSecret()) != 43 {
		t.Errorf("%v", m)
	}
	r, err := i.RotateMachine(admin, &identityv1.RotateMachineRequest{MachineId: "acme.new"})
	h.must(err)
	if r.GetSecret() == m.GetSecret() || r.GetSecret() == "" {
		t.Error("the secret is the same")
	}
	// A machine that is disabled calls no more, nor one that is removed.
	_, err = i.DisableMachine(admin, &identityv1.DisableMachineRequest{MachineId: "acme.viewer"})
	h.must(err)
	h.until("the machine is off", func(v *registry.View) bool { return v.Machines["acme.viewer"].GetDisabled() })
	_, err = i.ListUsers(h.as("acme.viewer"), &identityv1.ListUsersRequest{})
	wantError(t, err, codes.Unauthenticated)
	_, err = i.RemoveMachine(admin, &identityv1.RemoveMachineRequest{MachineId: "acme.new"})
	h.must(err)
	machines, err := i.ListMachines(admin, &identityv1.ListMachinesRequest{})
	h.must(err)
	if n := len(machines.GetMachines()); n != 4 {
		t.Errorf("%d machines", n)
	}

	_, err = i.DisableDelegate(admin, &identityv1.DisableDelegateRequest{DelegateId: h.delegates["acme"]})
	h.must(err)
	h.until("the delegate is off", func(v *registry.View) bool { return v.Delegates[h.delegates["acme"]].GetDisabled() })
	_, err = i.RemoveUser(admin, &identityv1.RemoveUserRequest{Email: "ada@acme.example"})
	h.must(err)
	delegates, err := i.ListDelegates(admin, &identityv1.ListDelegatesRequest{})
	h.must(err)
	if len(delegates.GetDelegates()) != 0 {
		t.Errorf("%v", delegates)
	}
	_, err = i.DisableApplication(admin, &identityv1.DisableApplicationRequest{ApplicationId: "orders"})
	h.must(err)
	_, err = h.organizations.DisableOrganization(h.as("system.admin"), &identityv1.DisableOrganizationRequest{OrganizationId: "other"})
	h.must(err)
	h.until("the application and the organization are off", func(v *registry.View) bool {
		a, _ := v.Application("acme", "orders")
		o, _ := v.Organization("other")
		return a.GetDisabled() && o.GetDisabled()
	})
	// A role that loses an action takes it from everyone at once.
	_, err = i.UpdateRole(h.as("system.admin"), &identityv1.UpdateRoleRequest{Name: "organization-admin", Actions: []string{"identity.roles.read"}, Assignable: true})
	h.must(err)
	h.until("the role is less", func(v *registry.View) bool { r, _ := v.Role("", "organization-admin"); return len(r.GetActions()) == 1 })
	_, err = i.ListUsers(admin, &identityv1.ListUsersRequest{})
	wantError(t, err, codes.PermissionDenied, "identity.users.read")
}

func TestListRoles(t *testing.T) {
	h := newHouse(t)
	for _, name := range []string{"a", "b", "z"} {
		_, err := h.store.CreateRole(h.ctx(), &identityv1.StoredRole{OrganizationId: "acme", Name: name, Actions: []string{"a"}})
		h.must(err)
	}
	list := func(who, organization string, size int32) (all []string) {
		t.Helper()
		token := ""
		for {
			page, err := h.identities.ListRoles(h.as(who), &identityv1.ListRolesRequest{OrganizationId: organization, PageSize: size, PageToken: token})
			h.must(err)
			if size > 0 && len(page.GetRoles()) > int(size) {
				t.Errorf("%d roles on a page of %d", len(page.GetRoles()), size)
			}
			for _, r := range page.GetRoles() {
				all = append(all, strings.TrimPrefix(r.GetOrganizationId()+"/"+r.GetName(), "/"))
			}
			if token = page.GetNextPageToken(); token == "" {
				return all
			}
		}
	}
	own := []string{"acme/a", "acme/b", "acme/refunder", "acme/z"}
	given := []string{"organization-admin", "organization-viewer", "payer"}
	for size := range int32(9) {
		if got := list("acme.viewer", "", size); !slices.Equal(got, append(slices.Clone(own), given...)) {
			t.Errorf("size %d: %q", size, got)
		}
		if got := list("system.admin", "acme", size); !slices.Equal(got, own) {
			t.Errorf("size %d: %q", size, got)
		}
		if got := list("system.admin", "", size); !slices.Equal(got, []string{"organization-admin", "organization-viewer", "payer", "platform-admin", "user-manager"}) {
			t.Errorf("size %d: %q", size, got)
		}
	}
	_, err := h.identities.ListRoles(h.as("acme.viewer"), &identityv1.ListRolesRequest{PageToken: "!"})
	wantError(t, err, codes.InvalidArgument, "page_token")
}

// Machines and delegates of all organizations lie beside each other; a page has the caller's alone.
func TestListMachines_pages(t *testing.T) {
	h := newHouse(t)
	for n := range 7 {
		for _, organization := range []string{"acme", "other"} {
			_, err := h.identities.CreateMachine(h.as(organization+".admin"), &identityv1.CreateMachineRequest{
				MachineId: fmt.Sprintf("%s.m%d", organization, n), Kind: clientKind,
			})
			h.must(err)
		}
	}
	var all []string
	token := ""
	for {
		page, err := h.identities.ListMachines(h.as("acme.admin"), &identityv1.ListMachinesRequest{PageSize: 3, PageToken: token})
		h.must(err)
		for _, m := range page.GetMachines() {
			all = append(all, m.GetMachineId())
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	want := []string{"acme.admin", "acme.app", "acme.m0", "acme.m1", "acme.m2", "acme.m3", "acme.m4", "acme.m5", "acme.m6", "acme.plain", "acme.viewer"}
	if !slices.Equal(all, want) {
		t.Errorf("%q", all)
	}
}

func TestSigningKeys(t *testing.T) {
	h := newHouse(t)
	admin := h.as("system.admin")
	for _, use := range []identityv1.KeyUse{identityv1.KeyUse_KEY_USE_TOKEN, identityv1.KeyUse_KEY_USE_ASSERTION} {
		made, err := h.organizations.RotateSigningKey(admin, &identityv1.RotateSigningKeyRequest{Use: use})
		h.must(err)
		keys, err := h.organizations.ListSigningKeys(admin, &identityv1.ListSigningKeysRequest{})
		h.must(err)
		if k := keys.GetSigningKeys()[0]; k.GetKid() != made.GetSigningKey().GetKid() || k.GetUse() != use || k.GetCurrent() != (use == identityv1.KeyUse_KEY_USE_ASSERTION) {
			t.Errorf("%v: %v", use, keys)
		}
	}
	_, err := h.organizations.RotateSigningKey(admin, &identityv1.RotateSigningKeyRequest{Use: identityv1.KeyUse_KEY_USE_TOKEN, RevokeOthers: true})
	h.must(err)
	h.until("one token key is left", func(v *registry.View) bool { return len(v.TokenKeys) == 1 && len(v.AssertionKeys) == 2 })
	_, err = h.organizations.RotateSigningKey(admin, &identityv1.RotateSigningKeyRequest{})
	wantError(t, err, codes.InvalidArgument, "use")
}

// In one process with the store, no credentials are needed, and the first identities come to be.
func TestLocal(t *testing.T) {
	store := registry.NewStore(etcdtest.Start(t), "")
	ctx := t.Context()
	conn, stop, err := identity.Local(ctx, store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	}()
	i, o := identityv1.NewIdentityServiceClient(conn), identityv1.NewOrganizationServiceClient(conn)
	if _, err := o.CreateOrganization(ctx, &identityv1.CreateOrganizationRequest{OrganizationId: "acme"}); err != nil {
		t.Fatal(err)
	}
	m, err := i.CreateMachine(ctx, &identityv1.CreateMachineRequest{MachineId: "root", Kind: clientKind, Roles: []string{"platform-admin"}})
	if err != nil || m.GetSecret() == "" {
		t.Fatal(m, err)
	}
	if _, err := i.CreateUser(ctx, &identityv1.CreateUserRequest{OrganizationId: "acme", Email: "a@b", Grants: []*identityv1.Grant{{Roles: []string{"organization-admin"}}}}); err != nil {
		t.Error(err)
	}
	_, err = i.CreateUser(ctx, &identityv1.CreateUserRequest{OrganizationId: "acme", Email: "a b"})
	wantError(t, err, codes.InvalidArgument, "email", "grants")
	_, err = i.CreateMachine(ctx, &identityv1.CreateMachineRequest{MachineId: "x", Kind: clientKind, Roles: []string{"nothing"}})
	wantError(t, err, codes.NotFound, "nothing")
}
