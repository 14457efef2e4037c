package main

import (
	"context"
	"crypto/rand"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

// user is what dev.json says of one person.
type user struct {
	Email        string `json:"email"`
	Password     string `json:"password"`
	Organization string `json:"organization_id"`
}

const adasEmail = "ada@acme.example"

// ensureOwners makes the organization and the application to which everybody in the house belongs. A store of an earlier
// version has the machines without them.
func ensureOwners(ctx context.Context, conn grpc.ClientConnInterface) error {
	_, err := identityv1.NewOrganizationServiceClient(conn).CreateOrganization(ctx, &identityv1.CreateOrganizationRequest{
		OrganizationId: organization, Title: "Acme",
	})
	if unlessThere(err) != nil {
		return err
	}
	_, err = identityv1.NewIdentityServiceClient(conn).CreateApplication(ctx, &identityv1.CreateApplicationRequest{
		OrganizationId: organization, ApplicationId: application, Title: "Orders",
	})
	return unlessThere(err)
}

// ensureRoles gives the machines that administer the roles for it, whatever was made of them in between.
func ensureRoles(ctx context.Context, conn grpc.ClientConnInterface, d *description) error {
	identities := identityv1.NewIdentityServiceClient(conn)
	for _, r := range []struct {
		machine machine
		of      string
		role    string
	}{
		{d.Machines.System, "", "platform-admin"},
		{d.Machines.Organization, organization, "organization-admin"},
	} {
		_, err := identities.SetMachineRoles(ctx, &identityv1.SetMachineRolesRequest{
			OrganizationId: r.of, MachineId: r.machine.ClientID, Roles: []string{r.role},
		})
		if err != nil {
			return fmt.Errorf("give %s the role %s: %w", r.machine.ClientID, r.role, err)
		}
	}
	return nil
}

// ensureUser makes Ada, who looks after the organization and orders as the application. As long as dev.json knows her
// password, she and it stay as they are.
func ensureUser(ctx context.Context, conn grpc.ClientConnInterface, d *description) error {
	identities := identityv1.NewIdentityServiceClient(conn)
	ada := user{Email: adasEmail, Password: d.Users.Ada.Password, Organization: organization}
	known := ada.Password != ""
	if !known {
		ada.Password = rand.Text()
	}
	_, err := identities.CreateUser(ctx, &identityv1.CreateUserRequest{
		OrganizationId: organization, Email: ada.Email, Name: "Ada", Password: ada.Password,
		Grants: []*identityv1.Grant{{Roles: []string{"organization-viewer"}}, {ApplicationId: application}},
	})
	if status.Code(err) == codes.AlreadyExists && !known {
		_, err = identities.SetUserPassword(ctx, &identityv1.SetUserPasswordRequest{
			OrganizationId: organization, Email: ada.Email, Password: ada.Password,
		})
	}
	d.Users.Ada = ada
	return unlessThere(err)
}

// unlessThere drops the error of making what is there already.
func unlessThere(err error) error {
	if status.Code(err) == codes.AlreadyExists {
		return nil
	}
	return err
}

// headers are the headers that say who calls, and for a user as what.
func headers(id, secret string, more ...string) string {
	text := "clientId: " + id + "\nclientSecret: " + secret + "\n"
	for i := 0; i+1 < len(more); i += 2 {
		text += more[i] + ": " + more[i+1] + "\n"
	}
	return text
}
