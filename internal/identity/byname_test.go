package identity_test

import (
	"testing"

	"google.golang.org/grpc/codes"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

// Tools may ask for a role by its name. What keeps such a role from those who manage the platform's roles, and hold
// little else, is an action of its own: docs/identities.md, "Who may give what".
func TestEscalation_byName(t *testing.T) {
	h := newHouse(t)
	manager, i := h.as("system.manager"), h.identities
	_, err := i.CreateRole(h.as("system.admin"), &identityv1.CreateRoleRequest{Name: "ops", Actions: []string{"ops.use"}})
	h.must(err)
	_, err = i.CreateUser(manager, &identityv1.CreateUserRequest{Email: "u@x", Grants: []*identityv1.Grant{{Roles: []string{"ops"}}}})
	wantError(t, err, codes.PermissionDenied, "nobody gives more")
	_, err = i.UpdateRole(manager, &identityv1.UpdateRoleRequest{Name: "ops", Actions: []string{"identity.users.read"}})
	wantError(t, err, codes.PermissionDenied)
	_, err = i.RemoveRole(manager, &identityv1.RemoveRoleRequest{Name: "ops"})
	wantError(t, err, codes.PermissionDenied)
	_, err = i.CreateRole(manager, &identityv1.CreateRoleRequest{Name: "ops", Actions: []string{"identity.users.read"}})
	wantError(t, err, codes.AlreadyExists)
}
