package main

import (
	"context"

	"github.com/spf13/cobra"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

func newDelegate() *cobra.Command {
	n := &noun[*identityv1.Delegate]{
		name: "delegate", plural: "delegates", arg: "DELEGATE", of: ofAnyone,
		head: []string{"ID", "OWNER", "ORGANIZATION", "APPLICATION", "CLIENT", "CLIENT ID", "STATE", "CREATED"},
		row: func(d *identityv1.Delegate) []string {
			return []string{d.GetDelegateId(), d.GetOwnerEmail(), d.GetOrganizationId(), d.GetApplicationId(), d.GetClientName(),
				d.GetClientId(), state(d.GetDisabled()), when(d.GetCreatedAt())}
		},
	}
	return group(&cobra.Command{
		Use:   "delegate",
		Short: "List, disable, enable and remove the clients that act for users",
		Long: "A delegate is a client that a user has allowed to act for them, under one of their grants. It works only while the user\n" +
			"is enabled and has the grant. These commands need a role that grants identity.delegates.write, or .read to list.",
	},
		n.list(func(ctx context.Context, r request, token string) ([]*identityv1.Delegate, string, error) {
			a, err := r.ListDelegates(ctx, &identityv1.ListDelegatesRequest{
				OrganizationId: r.organization, PageSize: pageSize, PageToken: token,
			})
			return a.GetDelegates(), a.GetNextPageToken(), err
		}),
		n.disable("Switch a delegate off", func(ctx context.Context, r request) error {
			_, err := r.DisableDelegate(ctx, &identityv1.DisableDelegateRequest{OrganizationId: r.organization, DelegateId: r.id})
			return err
		}),
		n.enable(func(ctx context.Context, r request) error {
			_, err := r.EnableDelegate(ctx, &identityv1.EnableDelegateRequest{OrganizationId: r.organization, DelegateId: r.id})
			return err
		}),
		n.remove("Remove a delegate", func(ctx context.Context, r request) error {
			_, err := r.RemoveDelegate(ctx, &identityv1.RemoveDelegateRequest{OrganizationId: r.organization, DelegateId: r.id})
			return err
		}))
}
