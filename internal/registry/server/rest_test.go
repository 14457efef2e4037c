package server_test

import (
	"encoding/json"
	"strings"
	"testing"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

// What a request says where it is not heard is an error: the platform that names an organization there, or misspells
// it, would otherwise work on its own.
func TestREST_unheard(t *testing.T) {
	h := newHouse(t, nil)
	root := participant.System("")
	root.Roles = []string{"platform-admin"}
	secret, err := h.store.CreateMachine(h.ctx(), clientKind, root, "root")
	if err != nil {
		t.Fatal(err)
	}
	h.secrets["root"] = secret
	for _, organization := range []string{"", "acme-org"} {
		for _, email := range []string{"ada@x", "bob@x"} {
			_, err := h.store.CreateUser(h.ctx(), &identityv1.StoredUser{OrganizationId: organization, Email: email, Grants: []*identityv1.StoredGrant{{}}})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	h.until("the users are there", func(v *registry.View) bool { return len(v.Users) == 4 && v.Machines["root"] != nil })
	eventually(t, "the registry knows the machine", func() bool { code, _ := h.rest("root", "GET", "/v1/users", nil); return code == 200 })
	acme := map[string]any{"organizationId": "acme-org"}
	for _, row := range []struct {
		name, method, path string
		body               any
		code               int
		want               string
	}{
		{"another in the body", "POST", "/v1/users/ada@x:disable", map[string]any{"email": "bob@x"}, 400, `email`},
		{"another application", "POST", "/v1/applications/orders:disable", map[string]any{"organizationId": "acme-org", "applicationId": "other"}, 400, `application`},
		{"the same, as the proto spells it", "POST", "/v1/applications/orders:disable", map[string]any{"organizationId": "acme-org", "application_id": "other"}, 400, `application`},
		{"another in the query", "DELETE", "/v1/users/ada@x?email=bob@x", nil, 400, `email`},
		{"an organization in the query of a POST", "POST", "/v1/users/ada@x:disable?organization_id=acme-org", map[string]any{}, 400, `body`},
		{"an organization in the body of a DELETE", "DELETE", "/v1/users/ada@x", acme, 400, `query`},
		{"a misspelt organization", "DELETE", "/v1/users/ada@x?organisation_id=acme-org", nil, 400, `organisation_id`},
		{"a misspelt organization of a list", "GET", "/v1/users?organization=acme-org", nil, 400, `\"organization\"`},
		{"a misspelt organization in a body", "POST", "/v1/users/ada@x:disable", map[string]any{"organisationId": "acme-org"}, 400, `organisationId`},
		{"a part of no field", "GET", "/v1/users?organization_id.x=acme-org", nil, 400, `organization_id`},

		{"the same in the body", "POST", "/v1/users/ada@x:disable", map[string]any{"email": "ada@x", "organizationId": "acme-org"}, 200, `"acme-org"`},
		{"nothing in the body", "POST", "/v1/users/ada@x:enable", map[string]any{"email": "", "organizationId": "acme-org"}, 200, `"acme-org"`},
		{"null in the body", "POST", "/v1/users/ada@x:enable", map[string]any{"email": nil, "organizationId": "acme-org"}, 200, `"acme-org"`},
		{"no body", "POST", "/v1/users/ada@x:enable", nil, 200, `"organizationId":""`},
		{"the same in the query", "DELETE", "/v1/users/bob@x?email=bob@x&organizationId=acme-org", nil, 200, `{}`},
		{"a number where a text is", "POST", "/v1/users/ada@x:enable", map[string]any{"email": 1}, 400, ``},
		{"no object", "POST", "/v1/users/ada@x:enable", []any{}, 400, ``},
		{"a delegate's id, which has a colon", "DELETE", "/v1/delegates/delegate:x", nil, 404, `delegate:x`},
		{"a list's page", "GET", "/v1/users?page_size=1&organizationId=acme-org", nil, 200, `"nextPageToken"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, answer := h.rest("root", row.method, row.path, row.body)
			text, _ := json.Marshal(answer)
			if code != row.code || !strings.Contains(string(text), row.want) {
				t.Errorf("%d %s, want %d with %s", code, text, row.code, row.want)
			}
		})
	}
	for _, email := range []string{"ada@x", "bob@x"} {
		if u, err := h.store.User(h.ctx(), "", email); err != nil || u.GetDisabled() {
			t.Errorf("the platform's own user: %v, %v", u, err)
		}
	}
}
