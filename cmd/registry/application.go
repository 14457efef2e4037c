package main

import (
	"context"

	"github.com/spf13/cobra"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

func newApplication() *cobra.Command {
	n := &noun[*identityv1.Application]{
		name: "application", plural: "applications", arg: "APPLICATION", label: true, of: ofOrganizations,
		head: []string{"ORGANIZATION", "APPLICATION", "TITLE", "STATE", "CREATED"},
		row: func(a *identityv1.Application) []string {
			return []string{a.GetOrganizationId(), a.GetApplicationId(), a.GetTitle(), state(a.GetDisabled()), when(a.GetCreatedAt())}
		},
	}
	var title string
	create := n.create("[--organization ORG]", "Creates an application of an organization. Its services lie in the zone app.<organization>.<application>.",
		func(ctx context.Context, r request) (*identityv1.Application, secret, error) {
			a, err := r.CreateApplication(ctx, &identityv1.CreateApplicationRequest{
				OrganizationId: r.organization, ApplicationId: r.id, Title: title,
			})
			return a.GetApplication(), secret{}, err
		})
	create.Flags().StringVar(&title, "title", "", "the name for people")
	return group(&cobra.Command{
		Use:   "application",
		Short: "Create, list, disable, enable and remove applications of organizations",
		Long: "Applications are as what an organization's users and machines call tools. An organization keeps its own; the platform\n" +
			"says whose by --organization. They need a role that grants identity.applications.write, or .read to list.",
	}, create,
		n.list(func(ctx context.Context, r request, token string) ([]*identityv1.Application, string, error) {
			a, err := r.ListApplications(ctx, &identityv1.ListApplicationsRequest{
				OrganizationId: r.organization, PageSize: pageSize, PageToken: token,
			})
			return a.GetApplications(), a.GetNextPageToken(), err
		}),
		n.disable("Switch an application off, and everyone who acts as it", func(ctx context.Context, r request) error {
			_, err := r.DisableApplication(ctx, &identityv1.DisableApplicationRequest{OrganizationId: r.organization, ApplicationId: r.id})
			return err
		}),
		n.enable(func(ctx context.Context, r request) error {
			_, err := r.EnableApplication(ctx, &identityv1.EnableApplicationRequest{OrganizationId: r.organization, ApplicationId: r.id})
			return err
		}),
		n.remove("Remove an application to which nobody belongs any more", func(ctx context.Context, r request) error {
			_, err := r.RemoveApplication(ctx, &identityv1.RemoveApplicationRequest{OrganizationId: r.organization, ApplicationId: r.id})
			return err
		}))
}
