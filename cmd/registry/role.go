package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
)

func newRole() *cobra.Command {
	n := &noun[*identityv1.Role]{
		name: "role", plural: "roles", arg: "NAME", label: true, spelled: true, of: ofAnyone,
		head: []string{"ROLE", "ACTIONS", "ASSIGNABLE", "DESCRIPTION", "CREATED"},
		row: func(r *identityv1.Role) []string {
			assignable := "no"
			if r.GetAssignable() {
				assignable = "yes"
			}
			return []string{access.RoleName(r.GetOrganizationId(), r.GetName()), strings.Join(r.GetActions(), ","), assignable,
				r.GetDescription(), when(r.GetCreatedAt())}
		},
	}
	return group(&cobra.Command{
		Use:   "role",
		Short: "Create, list, update and remove roles",
		Long: "A role grants actions, which tools ask for. A role of the platform counts everywhere; one of an organization counts for the\n" +
			"tools of that organization's applications, and nowhere else. Users and machines have a role by its spelling in the list: NAME\n" +
			"for one of the platform, ORGANIZATION/NAME for one of an organization, as these commands take it, too. They need a role\n" +
			"that grants identity.roles.write, or .read to list; nobody makes or gives a role that grants more than their own do.",
	}, createRole(n),
		n.list(func(ctx context.Context, r request, token string) ([]*identityv1.Role, string, error) {
			roles, next, err := listRoles(ctx, r, token)
			if r.everybody { // the platform's are on its own list
				roles = slices.DeleteFunc(roles, func(role *identityv1.Role) bool { return role.GetOrganizationId() != r.organization })
			}
			return roles, next, err
		}),
		updateRole(n),
		n.remove("Remove a role; whoever has it has it no more", func(ctx context.Context, r request) error {
			_, err := r.RemoveRole(ctx, &identityv1.RemoveRoleRequest{OrganizationId: r.organization, Name: r.id})
			return err
		}))
}

func listRoles(ctx context.Context, r request, token string) ([]*identityv1.Role, string, error) {
	a, err := r.ListRoles(ctx, &identityv1.ListRolesRequest{OrganizationId: r.organization, PageSize: pageSize, PageToken: token})
	return a.GetRoles(), a.GetNextPageToken(), err
}

// granting is what the flags say of a role.
type granting struct {
	actions     []string
	description string
	assignable  bool
}

func (g *granting) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&g.actions, "action", nil, "an action that the role grants, such as orders.refund; orders.* is all that begin so, * is all; may be repeated")
	f.StringVar(&g.description, "description", "", "what the role is for, for people")
	f.BoolVar(&g.assignable, "assignable", false, "organizations may give this role of the platform to their own users and machines")
}

func createRole(n *noun[*identityv1.Role]) *cobra.Command {
	var g granting
	c := n.create("--action ACTION... [--system | --organization ORG]", "Creates a role.",
		func(ctx context.Context, r request) (*identityv1.Role, secret, error) {
			a, err := r.CreateRole(ctx, &identityv1.CreateRoleRequest{
				OrganizationId: r.organization, Name: r.id, Actions: g.actions, Description: g.description, Assignable: g.assignable,
			})
			return a.GetRole(), secret{}, err
		})
	g.flags(c)
	_ = c.MarkFlagRequired("action")
	return c
}

// roleAttempts bounds how often a role that others keep changing is read again.
const roleAttempts = 10

func updateRole(n *noun[*identityv1.Role]) *cobra.Command {
	var g granting
	var etag string
	c := n.change("update", "[--action ACTION...] [--description TEXT] [--assignable=false]", "Replace what a role grants, for everyone who has it",
		"Replaces what is said: with --action all actions of the role. What is not said stays as it is, also where somebody else\n"+
			"changes it at the same time.",
		func(ctx context.Context, r request) (*identityv1.Role, secret, error) {
			for attempt := 1; ; attempt++ {
				a, err := r.updateRole(ctx, g, etag)
				if status.Code(err) != codes.Aborted || etag != "" || attempt == roleAttempts {
					return a.GetRole(), secret{}, err
				}
			}
		})
	g.flags(c)
	etagFlag(c, &etag)
	c.MarkFlagsOneRequired("action", "description", "assignable")
	return c
}

// updateRole replaces what is said of a role, if the role is the one with the etag, or else the one that is read for
// what is not said.
func (r request) updateRole(ctx context.Context, g granting, etag string) (*identityv1.UpdateRoleResponse, error) {
	was, err := findRole(ctx, r)
	if err != nil {
		return nil, err
	}
	said := r.cmd.Flags().Changed
	if !said("action") {
		g.actions = was.GetActions()
	}
	if !said("description") {
		g.description = was.GetDescription()
	}
	if !said("assignable") {
		g.assignable = was.GetAssignable()
	}
	return r.UpdateRole(ctx, &identityv1.UpdateRoleRequest{
		OrganizationId: r.organization, Name: r.id, Actions: g.actions, Description: g.description, Assignable: g.assignable,
		Etag: or(etag, was.GetEtag()),
	})
}

// findRole looks a role up. An organization's list also has roles of the platform, of which none is meant.
func findRole(ctx context.Context, r request) (*identityv1.Role, error) {
	all, err := paged(func(token string) ([]*identityv1.Role, string, error) { return listRoles(ctx, r, token) })
	if err != nil {
		return nil, err
	}
	var found *identityv1.Role
	for _, role := range all {
		// Who names no organization means their own, which is the platform's only for the platform.
		if role.GetName() == r.id && (r.owner.organization == "" || role.GetOrganizationId() == r.owner.organization) &&
			(found == nil || role.GetOrganizationId() != "") {
			found = role
		}
	}
	if found == nil {
		return nil, fmt.Errorf("role %s is not found", r.id)
	}
	return found, nil
}
