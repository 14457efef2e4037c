package access_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc/metadata"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// administration is what an administrator changes through the registry.
type administration struct {
	identityv1.IdentityServiceClient
	identityv1.OrganizationServiceClient
}

// operation is one change, and who loses what by it.
type operation struct {
	name string
	// do makes the change; undo, where there is one, takes it back.
	do, undo func(ctx context.Context, a *administration, p *people) error
	// out lose everything, and less lose the tool that the role opens.
	out, less []way
}

// ignored leaves out an answer.
func ignored[R any](_ R, err error) error { return err }

var operations = []operation{
	{"DisableMachine", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.DisableMachine(ctx, &identityv1.DisableMachineRequest{OrganizationId: p.organization.GetId(), MachineId: p.machine.GetId()}))
	}, func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.EnableMachine(ctx, &identityv1.EnableMachineRequest{OrganizationId: p.organization.GetId(), MachineId: p.machine.GetId()}))
	}, byMachine, nil},
	{"RotateMachine", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.RotateMachine(ctx, &identityv1.RotateMachineRequest{OrganizationId: p.organization.GetId(), MachineId: p.machine.GetId()}))
	}, nil, []way{machineBySecret}, nil},
	{"SetMachineRoles", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.SetMachineRoles(ctx, &identityv1.SetMachineRolesRequest{OrganizationId: p.organization.GetId(), MachineId: p.machine.GetId()}))
	}, func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.SetMachineRoles(ctx, &identityv1.SetMachineRolesRequest{
			OrganizationId: p.organization.GetId(), MachineId: p.machine.GetId(), Roles: p.machine.GetParticipant().GetRoles(),
		}))
	}, nil, byMachine},
	{"RemoveMachine", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.RemoveMachine(ctx, &identityv1.RemoveMachineRequest{OrganizationId: p.organization.GetId(), MachineId: p.machine.GetId()}))
	}, nil, byMachine, nil},
	{"DisableUser", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.DisableUser(ctx, &identityv1.DisableUserRequest{OrganizationId: p.organization.GetId(), Email: p.user.GetEmail()}))
	}, func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.EnableUser(ctx, &identityv1.EnableUserRequest{OrganizationId: p.organization.GetId(), Email: p.user.GetEmail()}))
	}, byOwner, nil},
	{"SetUserPassword", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.SetUserPassword(ctx, &identityv1.SetUserPasswordRequest{
			OrganizationId: p.organization.GetId(), Email: p.user.GetEmail(), Password: "another password altogether",
		}))
	}, func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.SetUserPassword(ctx, &identityv1.SetUserPasswordRequest{
			OrganizationId: p.organization.GetId(), Email: p.user.GetEmail(), Password: thePassword,
		}))
	}, []way{userByPassword}, nil},
	{"SetUserGrants", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.SetUserGrants(ctx, &identityv1.SetUserGrantsRequest{
			OrganizationId: p.organization.GetId(), Email: p.user.GetEmail(), Grants: []*identityv1.Grant{{ApplicationId: "orders"}},
		}))
	}, func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.SetUserGrants(ctx, &identityv1.SetUserGrantsRequest{
			OrganizationId: p.organization.GetId(), Email: p.user.GetEmail(),
			Grants: []*identityv1.Grant{{ApplicationId: "orders", Roles: p.user.GetGrants()[0].GetRoles()}},
		}))
	}, nil, byOwner},
	{"RemoveUser", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.RemoveUser(ctx, &identityv1.RemoveUserRequest{OrganizationId: p.organization.GetId(), Email: p.user.GetEmail()}))
	}, nil, byOwner, nil},
	{"DisableDelegate", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.DisableDelegate(ctx, &identityv1.DisableDelegateRequest{OrganizationId: p.organization.GetId(), DelegateId: p.delegate.GetId()}))
	}, func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.EnableDelegate(ctx, &identityv1.EnableDelegateRequest{OrganizationId: p.organization.GetId(), DelegateId: p.delegate.GetId()}))
	}, []way{delegateByToken}, nil},
	{"RemoveDelegate", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.RemoveDelegate(ctx, &identityv1.RemoveDelegateRequest{OrganizationId: p.organization.GetId(), DelegateId: p.delegate.GetId()}))
	}, nil, []way{delegateByToken}, nil},
	{"DisableApplication", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.DisableApplication(ctx, &identityv1.DisableApplicationRequest{OrganizationId: p.organization.GetId(), ApplicationId: "orders"}))
	}, func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.EnableApplication(ctx, &identityv1.EnableApplicationRequest{OrganizationId: p.organization.GetId(), ApplicationId: "orders"}))
	}, ways, nil},
	{"DisableOrganization", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.DisableOrganization(ctx, &identityv1.DisableOrganizationRequest{OrganizationId: p.organization.GetId()}))
	}, func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.EnableOrganization(ctx, &identityv1.EnableOrganizationRequest{OrganizationId: p.organization.GetId()}))
	}, ways, nil},
	{"UpdateRole", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.UpdateRole(ctx, &identityv1.UpdateRoleRequest{OrganizationId: p.organization.GetId(), Name: "refunder", Actions: []string{"orders.read"}}))
	}, func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.UpdateRole(ctx, &identityv1.UpdateRoleRequest{OrganizationId: p.organization.GetId(), Name: "refunder", Actions: []string{"orders.*"}}))
	}, nil, ways},
	{"RemoveRole", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.RemoveRole(ctx, &identityv1.RemoveRoleRequest{OrganizationId: p.organization.GetId(), Name: "refunder"}))
	}, nil, nil, ways},
	// The last one, since it is everybody's.
	{"RotateSigningKey, and revoke the others", func(ctx context.Context, a *administration, p *people) error {
		return ignored(a.RotateSigningKey(ctx, &identityv1.RotateSigningKeyRequest{Use: identityv1.KeyUse_KEY_USE_TOKEN, RevokeOthers: true}))
	}, nil, []way{machineByToken, delegateByToken}, nil},
}

// What an administrator changes through the registry is so at both edges.
func TestRevocation_throughTheRegistry(t *testing.T) {
	y := newYard(t)
	y.mark()
	y.register(&blueprint{t: t, services: []*serviceDraft{{name: "OpenService", methods: []methodDraft{{name: "Open", alias: "open"}}}}}, place{zone: "app-api"})
	refund := &blueprint{t: t, services: []*serviceDraft{{name: "RefundService", methods: []methodDraft{
		{name: "Refund", alias: "refund", own: &rule{action: "orders.refund"}},
	}}}}
	everybody := make([]*people, len(operations))
	for i := range operations {
		org := fmt.Sprintf("org-%d", i)
		y.register(refund, place{zone: "app." + org + ".orders"})
		everybody[i] = newPeople(y, org)
	}
	admin := participant.System("")
	admin.Roles = []string{"platform-admin"}
	y.put(machine("admin", admin))
	conn := y.startRegistry(t)
	a := &administration{identityv1.NewIdentityServiceClient(conn), identityv1.NewOrganizationServiceClient(conn)}
	doors := []*door{y.open(nil), y.open(nil)}
	for i, o := range operations {
		t.Run(o.name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			ctx = metadata.AppendToOutgoingContext(ctx, "clientid", "admin", "clientsecret", theSecret)
			p := everybody[i]
			senders := p.senders()
			compare := func(when string, out, less []way) {
				t.Helper()
				y.settle(doors...)
				for n, d := range doors {
					for _, w := range ways {
						want := all
						if slices.Contains(out, w) {
							want = nothing
						} else if slices.Contains(less, w) {
							want = little
						}
						if got := may(t, d, senders[w]); got != want {
							t.Errorf("edge %d, %s: %s may do %s, want %s", n, when, w, got, want)
						}
					}
				}
			}
			compare("from the start", nil, nil)
			if err := o.do(ctx, a, p); err != nil {
				t.Fatal(err)
			}
			compare("then", o.out, o.less)
			if o.undo == nil {
				return
			}
			if err := o.undo(ctx, a, p); err != nil {
				t.Fatal(err)
			}
			compare("taken back", nil, nil)
		})
	}
}
