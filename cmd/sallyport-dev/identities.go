package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/password"
	"github.com/sallyport-dev/sallyport/internal/identity"
	"github.com/sallyport-dev/sallyport/internal/registry"
)

// user is what dev.json says of one person.
type user struct {
	Email        string `json:"email"`
	Password     string `json:"password"`
	Organization string `json:"organization_id"`
}

// ensureIdentities makes whoever the house needs, in the order in which one needs the other. What is there stays.
func ensureIdentities(ctx context.Context, store *registry.Store, d *description) (err error) {
	conn, done, err := identity.Local(ctx, store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if err := ensureOwners(ctx, conn); err != nil {
		return err
	}
	if err := ensureMachines(ctx, store, d); err != nil {
		return err
	}
	if err := ensureRoles(ctx, conn, store); err != nil {
		return err
	}
	return ensureUser(ctx, conn, store, d)
}

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

// ensureRoles gives the machines that administer their roles, where they have none.
func ensureRoles(ctx context.Context, conn grpc.ClientConnInterface, store *registry.Store) error {
	for id, role := range map[string]string{systemMachine: "platform-admin", organizationMachine: "organization-admin"} {
		stored, err := store.Machine(ctx, id)
		if err != nil {
			return err
		}
		if len(stored.GetParticipant().GetRoles()) > 0 {
			continue
		}
		_, err = identityv1.NewIdentityServiceClient(conn).SetMachineRoles(ctx, &identityv1.SetMachineRolesRequest{
			OrganizationId: stored.GetParticipant().GetOrganizationId(), MachineId: id, Roles: []string{role},
		})
		if err != nil {
			return fmt.Errorf("give %s the role %s: %w", id, role, err)
		}
	}
	return nil
}

// ensureUser makes Ada, who looks after the organization and orders as the application. Her password stays as long as
// dev.json knows it.
func ensureUser(ctx context.Context, conn grpc.ClientConnInterface, store *registry.Store, d *description) error {
	ada := &d.Users.Ada
	ada.Email, ada.Organization = "ada@acme.example", organization
	stored, err := store.User(ctx, organization, ada.Email)
	missing := errors.Is(err, registry.ErrNotFound)
	if err != nil && !missing {
		return err
	}
	if !missing && password.Check(stored.GetPasswordHash(), ada.Password) {
		return nil
	}
	identities := identityv1.NewIdentityServiceClient(conn)
	ada.Password = rand.Text()
	if missing {
		_, err = identities.CreateUser(ctx, &identityv1.CreateUserRequest{
			OrganizationId: organization, Email: ada.Email, Name: "Ada", Password: ada.Password,
			Grants: []*identityv1.Grant{{Roles: []string{"organization-viewer"}}, {ApplicationId: application}},
		})
		return err
	}
	_, err = identities.SetUserPassword(ctx, &identityv1.SetUserPasswordRequest{
		OrganizationId: organization, Email: ada.Email, Password: ada.Password,
	})
	return err
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
