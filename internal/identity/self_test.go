package identity_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// Nobody takes away from themselves what they hold, so that whoever loses it leaves somebody behind who holds as much.
func TestSelf(t *testing.T) {
	h := newHouse(t)
	i := h.identities
	for _, u := range []*identityv1.StoredUser{
		{OrganizationId: "acme", Email: "boss@acme.example", Grants: []*identityv1.StoredGrant{
			{Roles: []string{"organization-admin", "acme/refunder"}}, {ApplicationId: "orders"}}},
		{OrganizationId: "acme", Email: "second@acme.example", Grants: []*identityv1.StoredGrant{{Roles: []string{"organization-admin"}}}},
		{OrganizationId: "other", Email: "boss@acme.example", Grants: []*identityv1.StoredGrant{{Roles: []string{"organization-admin"}}}},
		{Email: "boss@acme.example", Grants: []*identityv1.StoredGrant{{Roles: []string{"platform-admin"}}}},
	} {
		_, err := h.store.CreateUser(h.ctx(), u)
		h.must(err)
	}
	// vouched is what an edge says of somebody with such roles.
	vouched := func(p *participant.Participant, roles ...string) func(rpc string) context.Context {
		p.Roles = roles
		return func(rpc string) context.Context {
			service := "sallyport.identity.v1.IdentityService"
			return h.vouched(p, "/"+service+"/"+rpc, "management-api~"+service, time.Now())
		}
	}
	boss := vouched(participant.Organization("acme", "boss@acme.example"), "organization-admin", "acme/refunder")
	client := participant.Organization("acme", "delegate:x")
	client.OnBehalfOf = &participantv1.OnBehalfOf{OwnerId: "boss@acme.example"}
	delegate := vouched(client, "organization-admin", "acme/refunder")
	second := vouched(participant.Organization("acme", "second@acme.example"), "organization-admin")
	namesake := vouched(participant.Organization("other", "boss@acme.example"), "organization-admin")
	root := vouched(participant.System("boss@acme.example"), "platform-admin")
	as := func(machine string) func(string) context.Context {
		return func(string) context.Context { return h.as(machine) }
	}

	type does struct {
		rpc string
		do  func(context.Context) error
	}
	const user = "boss@acme.example"
	setGrants := func(organization string, grants ...*identityv1.Grant) does {
		return does{"SetUserGrants", func(ctx context.Context) error {
			_, err := i.SetUserGrants(ctx, &identityv1.SetUserGrantsRequest{OrganizationId: organization, Email: "Boss@acme.example", Grants: grants})
			return err
		}}
	}
	disableUser := func(organization string) does {
		return does{"DisableUser", func(ctx context.Context) error {
			_, err := i.DisableUser(ctx, &identityv1.DisableUserRequest{OrganizationId: organization, Email: user})
			return err
		}}
	}
	enableUser := does{"EnableUser", func(ctx context.Context) error {
		_, err := i.EnableUser(ctx, &identityv1.EnableUserRequest{Email: user})
		return err
	}}
	setPassword := does{"SetUserPassword", func(ctx context.Context) error {
		_, err := i.SetUserPassword(ctx, &identityv1.SetUserPasswordRequest{Email: user, Password: "correct horse battery"})
		return err
	}}
	removeUser := func(organization string) does {
		return does{"RemoveUser", func(ctx context.Context) error {
			_, err := i.RemoveUser(ctx, &identityv1.RemoveUserRequest{OrganizationId: organization, Email: user})
			return err
		}}
	}
	setRoles := func(id string, roles ...string) does {
		return does{"", func(ctx context.Context) error {
			_, err := i.SetMachineRoles(ctx, &identityv1.SetMachineRolesRequest{MachineId: id, Roles: roles})
			return err
		}}
	}
	disableMachine := func(id string) does {
		return does{"", func(ctx context.Context) error {
			_, err := i.DisableMachine(ctx, &identityv1.DisableMachineRequest{MachineId: id})
			return err
		}}
	}
	removeMachine := func(id string) does {
		return does{"", func(ctx context.Context) error {
			_, err := i.RemoveMachine(ctx, &identityv1.RemoveMachineRequest{MachineId: id})
			return err
		}}
	}
	rotate := does{"", func(ctx context.Context) error {
		_, err := i.RotateMachine(ctx, &identityv1.RotateMachineRequest{MachineId: "acme.admin"})
		return err
	}}
	updateRole := func(name string, actions ...string) does {
		return does{"", func(ctx context.Context) error {
			_, err := i.UpdateRole(ctx, &identityv1.UpdateRoleRequest{Name: name, Actions: actions})
			return err
		}}
	}
	removeRole := func(name string) does {
		return does{"", func(ctx context.Context) error {
			_, err := i.RemoveRole(ctx, &identityv1.RemoveRoleRequest{Name: name})
			return err
		}}
	}
	self, orders := func(roles ...string) *identityv1.Grant { return &identityv1.Grant{Roles: roles} },
		&identityv1.Grant{ApplicationId: "orders", Roles: []string{"organization-admin"}}
	const refused = codes.FailedPrecondition
	for _, row := range []struct {
		what string
		who  func(rpc string) context.Context
		does
		want codes.Code
	}{
		{"a user is off", boss, disableUser(""), refused},
		{"or gone", boss, removeUser(""), refused},
		{"or less", boss, setGrants("", self("organization-viewer")), refused},
		{"or nothing", boss, setGrants("", self()), refused},
		{"or the same as something else", boss, setGrants("", orders), refused},
		{"or so by a delegate", delegate, removeUser(""), refused},
		{"or by a delegate, off", delegate, disableUser(""), refused},
		{"what is the organization's own goes, and the rest stays", boss, setGrants("", self("organization-admin")), codes.OK},
		{"a password of one's own", boss, setPassword, codes.OK},
		{"one's own switch, on", boss, enableUser, codes.OK},
		{"another with the same email goes on their own", namesake, removeUser(""), refused},
		{"another administrator may be less", second, setGrants("", self("organization-viewer")), codes.OK},
		{"and off", second, disableUser(""), codes.OK},
		{"the platform's", root, disableUser("-"), refused},
		{"the platform's, less", root, setGrants("-", self("organization-admin")), refused},
		{"an organization's by the platform, by the same email", root, removeUser("acme"), codes.OK},
		{"the platform's by another", as("system.admin"), disableUser("-"), codes.OK},

		{"a machine is off", as("acme.admin"), disableMachine("acme.admin"), refused},
		{"or gone", as("acme.admin"), removeMachine("acme.admin"), refused},
		{"or less", as("acme.admin"), setRoles("acme.admin", "organization-viewer"), refused},
		{"or more", as("acme.admin"), setRoles("acme.admin", "organization-viewer", "organization-admin"), codes.OK},
		{"another", as("acme.admin"), disableMachine("acme.viewer"), codes.OK},
		{"one's own secret", as("acme.admin"), rotate, codes.OK},
		{"the platform's", as("system.admin"), removeMachine("system.admin"), refused},

		{"a role of one's own is less", as("system.admin"), updateRole("platform-admin", "identity.*"), refused},
		{"or gone", as("system.admin"), removeRole("platform-admin"), refused},
		{"or says the same otherwise", as("system.admin"), updateRole("platform-admin", "*", "identity.*"), codes.OK},
		{"of some actions", as("system.manager"), updateRole("user-manager", "identity.roles.*"), refused},
		{"of others", as("system.admin"), updateRole("user-manager", "identity.roles.*", "identity.users.*"), codes.OK},
		{"of nobody", as("system.admin"), removeRole("payer"), codes.OK},
	} {
		t.Run(row.what, func(t *testing.T) {
			err := row.do(row.who(row.rpc))
			if row.want == refused {
				wantError(t, err, refused, "your own", "first")
			} else {
				wantError(t, err, row.want)
			}
		})
	}
	// With another role that grants as much, one's own may go.
	_, err := i.CreateRole(h.as("system.admin"), &identityv1.CreateRoleRequest{Name: "root", Actions: []string{"*"}})
	h.must(err)
	wantError(t, setRoles("system.admin", "root", "platform-admin").do(h.as("system.admin")), codes.OK)
	for {
		err := removeRole("platform-admin").do(h.as("system.admin"))
		if err == nil {
			break
		}
		wantError(t, err, refused, "your own") // until the registry has heard of the other role
		if t.Failed() {
			break
		}
	}
}
