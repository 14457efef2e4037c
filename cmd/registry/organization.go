package main

import (
	"context"

	"github.com/spf13/cobra"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

func newOrganization() *cobra.Command {
	n := &noun[*identityv1.Organization]{
		name: "organization", plural: "organizations", arg: "ORGANIZATION", label: true,
		head: []string{"ORGANIZATION", "TITLE", "STATE", "CREATED"},
		row: func(o *identityv1.Organization) []string {
			return []string{o.GetOrganizationId(), o.GetTitle(), state(o.GetDisabled()), when(o.GetCreatedAt())}
		},
	}
	var title string
	create := n.create("", "Creates an organization. Its applications, users, machines and roles are made apart; nobody belongs to it yet.",
		func(ctx context.Context, r request) (*identityv1.Organization, secret, error) {
			a, err := r.organizations.CreateOrganization(ctx, &identityv1.CreateOrganizationRequest{OrganizationId: r.id, Title: title})
			return a.GetOrganization(), secret{}, err
		})
	create.Flags().StringVar(&title, "title", "", "the name for people")
	return group(&cobra.Command{
		Use:   "organization",
		Short: "Create, list, disable, enable and remove organizations",
		Long: "Organizations are who the platform serves. These commands are for the platform alone: they need a role that grants\n" +
			"identity.organizations.write, or identity.organizations.read to list.",
	}, create,
		n.list(func(ctx context.Context, r request, token string) ([]*identityv1.Organization, string, error) {
			a, err := r.organizations.ListOrganizations(ctx, &identityv1.ListOrganizationsRequest{PageSize: pageSize, PageToken: token})
			return a.GetOrganizations(), a.GetNextPageToken(), err
		}),
		n.disable("Switch an organization off, and everyone who belongs to it", func(ctx context.Context, r request) error {
			_, err := r.organizations.DisableOrganization(ctx, &identityv1.DisableOrganizationRequest{OrganizationId: r.id})
			return err
		}),
		n.enable(func(ctx context.Context, r request) error {
			_, err := r.organizations.EnableOrganization(ctx, &identityv1.EnableOrganizationRequest{OrganizationId: r.id})
			return err
		}),
		n.remove("Remove an organization to which nothing belongs any more", func(ctx context.Context, r request) error {
			_, err := r.organizations.RemoveOrganization(ctx, &identityv1.RemoveOrganizationRequest{OrganizationId: r.id})
			return err
		}))
}

// everybody lists whose things there can be: of every organization, and the platform, which is the empty name.
func everybody(ctx context.Context, at *identities, of ownership) ([]string, error) {
	all, err := paged(func(token string) ([]*identityv1.Organization, string, error) {
		a, err := at.organizations.ListOrganizations(ctx, &identityv1.ListOrganizationsRequest{PageSize: pageSize, PageToken: token})
		return a.GetOrganizations(), a.GetNextPageToken(), err
	})
	if err != nil {
		return nil, err
	}
	var names []string
	if of == ofAnyone {
		names = append(names, "")
	}
	for _, o := range all {
		names = append(names, o.GetOrganizationId())
	}
	return names, nil
}
