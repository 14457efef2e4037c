package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/password"
	"github.com/sallyport-dev/sallyport/internal/registry"
)

// user is what dev.json says of one person.
type user struct {
	Email        string `json:"email"`
	Password     string `json:"password"`
	Organization string `json:"organization_id"`
}

// ensureIdentities makes whoever the house needs, in the order in which one needs the other. What is there stays.
func ensureIdentities(ctx context.Context, store *registry.Store, d *description) error {
	if err := store.EnsureBuiltInRoles(ctx); err != nil {
		return err
	}
	// A store of an earlier version has the machines without the organization and the application that they are of.
	if _, err := store.CreateOrganization(ctx, organization, "Acme"); err != nil && !errors.Is(err, registry.ErrExists) {
		return err
	}
	if _, err := store.CreateApplication(ctx, organization, application, "Orders"); err != nil && !errors.Is(err, registry.ErrExists) {
		return err
	}
	if err := ensureMachines(ctx, store, d); err != nil {
		return err
	}
	for id, role := range map[string]string{systemMachine: "platform-admin", organizationMachine: "organization-admin"} {
		if err := ensureRole(ctx, store, id, role); err != nil {
			return fmt.Errorf("give %s the role %s: %w", id, role, err)
		}
	}
	return ensureUser(ctx, store, &d.Users.Ada)
}

// ensureRole gives a machine the role by which it administers, where it has none.
func ensureRole(ctx context.Context, store *registry.Store, id, role string) error {
	stored, err := store.Machine(ctx, id)
	if err != nil || len(stored.GetParticipant().GetRoles()) > 0 {
		return err
	}
	_, err = store.SetMachineRoles(ctx, id, []string{role})
	return err
}

// ensureUser makes Ada, who looks after the organization and orders as the application. Her password stays as long as
// dev.json knows it.
func ensureUser(ctx context.Context, store *registry.Store, ada *user) error {
	ada.Email, ada.Organization = "ada@acme.example", organization
	stored, err := store.User(ctx, organization, ada.Email)
	missing := errors.Is(err, registry.ErrNotFound)
	if err != nil && !missing {
		return err
	}
	if !missing && password.Check(stored.GetPasswordHash(), ada.Password) {
		return nil
	}
	ada.Password = rand.Text()
	hash, err := password.Hash(ada.Password)
	if err != nil {
		return err
	}
	if missing {
		_, err = store.CreateUser(ctx, &identityv1.StoredUser{
			OrganizationId: organization, Email: ada.Email, Name: "Ada", PasswordHash: hash,
			Grants: []*identityv1.StoredGrant{{Roles: []string{"organization-viewer"}}, {ApplicationId: application}},
		})
		return err
	}
	_, err = store.SetUserPassword(ctx, organization, ada.Email, hash)
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
