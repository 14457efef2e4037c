package main

import (
	"context"

	"github.com/spf13/cobra"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

func newUser() *cobra.Command {
	n := &noun[*identityv1.User]{
		name: "user", plural: "users", arg: "EMAIL", of: ofAnyone,
		head:  []string{"EMAIL", "ORGANIZATION", "NAME", "GRANTS", "STATE", "CREATED", "PASSWORD CHANGED"},
		brief: 4,
		row: func(u *identityv1.User) []string {
			return []string{u.GetEmail(), u.GetOrganizationId(), u.GetName(), grantCell(u.GetGrants()), state(u.GetDisabled()),
				when(u.GetCreatedAt()), when(u.GetPasswordChangedAt())}
		},
	}
	return group(&cobra.Command{
		Use:   "user",
		Short: "Create, list, disable, enable and remove users, and set their grants and passwords",
		Long: "Users are people. They call with their email and password, and say by the headers organizationId and applicationId under\n" +
			"which of their grants. The same email in two organizations is two users. An organization keeps its own; the platform says\n" +
			"whose by --organization. These commands need a role that grants identity.users.write, or .read to list.\n\n" + grantHelp,
	}, createUser(n),
		n.list(func(ctx context.Context, r request, token string) ([]*identityv1.User, string, error) {
			a, err := r.ListUsers(ctx, &identityv1.ListUsersRequest{OrganizationId: r.organization, PageSize: pageSize, PageToken: token})
			return a.GetUsers(), a.GetNextPageToken(), err
		}),
		setUserGrants(n), setUserPassword(n),
		n.disable("Switch a user off, and every delegate of theirs", func(ctx context.Context, r request) error {
			_, err := r.DisableUser(ctx, &identityv1.DisableUserRequest{OrganizationId: r.organization, Email: r.id})
			return err
		}),
		n.enable(func(ctx context.Context, r request) error {
			_, err := r.EnableUser(ctx, &identityv1.EnableUserRequest{OrganizationId: r.organization, Email: r.id})
			return err
		}),
		n.remove("Remove a user, and every delegate of theirs", func(ctx context.Context, r request) error {
			_, err := r.RemoveUser(ctx, &identityv1.RemoveUserRequest{OrganizationId: r.organization, Email: r.id})
			return err
		}))
}

func createUser(n *noun[*identityv1.User]) *cobra.Command {
	var name string
	var grants granted
	var source password
	c := n.create("--grant GRANT... [--password-stdin | --generate-password | --no-password]",
		"Creates a user. The password has 12 to 256 characters; without one of its flags it is asked for at the terminal.\n\n"+grantHelp,
		func(ctx context.Context, r request) (*identityv1.User, secret, error) {
			a, err := r.CreateUser(ctx, &identityv1.CreateUserRequest{
				OrganizationId: r.organization, Email: r.id, Name: name, Grants: grants.parsed, Password: source.read,
			})
			return a.GetUser(), source.shown(), err
		})
	before(c, func(c *cobra.Command, _ []string) error {
		if err := grants.parse(); err != nil {
			return err
		}
		return source.get(c)
	})
	c.Flags().StringVar(&name, "name", "", "the name for people")
	source.flags(c, true)
	grants.flag(c)
	return c
}

func setUserGrants(n *noun[*identityv1.User]) *cobra.Command {
	var grants granted
	var etag string
	c := n.change("set-grants", "--grant GRANT...", "Replace what a user may act as",
		"Replaces all grants of a user. Delegates under a grant that goes act no more.\n\n"+grantHelp,
		func(ctx context.Context, r request) (*identityv1.User, secret, error) {
			a, err := r.SetUserGrants(ctx, &identityv1.SetUserGrantsRequest{
				OrganizationId: r.organization, Email: r.id, Grants: grants.parsed, Etag: etag,
			})
			return a.GetUser(), secret{}, err
		})
	before(c, func(*cobra.Command, []string) error { return grants.parse() })
	grants.flag(c)
	etagFlag(c, &etag)
	return c
}

func setUserPassword(n *noun[*identityv1.User]) *cobra.Command {
	var source password
	c := n.change("set-password", "[--password-stdin | --generate-password]", "Give a user another password; the old one is worthless at once",
		"Gives a user another password, of 12 to 256 characters. Without one of the flags it is asked for at the terminal.",
		func(ctx context.Context, r request) (*identityv1.User, secret, error) {
			a, err := r.SetUserPassword(ctx, &identityv1.SetUserPasswordRequest{
				OrganizationId: r.organization, Email: r.id, Password: source.read,
			})
			return a.GetUser(), source.shown(), err
		})
	before(c, func(c *cobra.Command, _ []string) error { return source.get(c) })
	source.flags(c, false)
	return c
}
