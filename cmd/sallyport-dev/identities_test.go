package main

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/password"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/participant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestIdentities_stayWhatTheyAre(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	store := registry.NewStore(etcdtest.Start(t), "")
	// What a version without organizations left behind.
	if _, err := store.CreateMachine(ctx, registryv1.MachineKind_MACHINE_KIND_CLIENT, participant.System(systemMachine), systemMachine); err != nil {
		t.Fatal(err)
	}
	roles := func(id string) []string {
		t.Helper()
		m, err := store.Machine(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		return m.GetParticipant().GetRoles()
	}
	check := func(when string, d *description) {
		t.Helper()
		if got := roles(systemMachine); len(got) != 1 || got[0] != "platform-admin" {
			t.Errorf("%s: the system's roles are %q", when, got)
		}
		u, err := store.User(ctx, organization, d.Users.Ada.Email)
		if err != nil || !password.Check(u.GetPasswordHash(), d.Users.Ada.Password) || len(u.GetGrants()) != 2 {
			t.Errorf("%s: Ada is %v, %v", when, u, err)
		}
	}
	start := func(d *description) {
		t.Helper()
		if err := ensureIdentities(ctx, store, d); err != nil {
			t.Fatal(err)
		}
	}

	first := new(description)
	start(first)
	check("first start", first)
	if got := roles(organizationMachine); len(got) != 1 || got[0] != "organization-admin" {
		t.Errorf("the organization's roles are %q", got)
	}

	if _, err := store.SetMachineRoles(ctx, organizationMachine, []string{"organization-viewer"}); err != nil {
		t.Fatal(err)
	}
	second := *first
	start(&second)
	if second != *first {
		t.Errorf("a second start has %+v, want %+v", second, *first)
	}
	check("second start", &second)
	if got := roles(organizationMachine); len(got) != 1 || got[0] != "organization-viewer" {
		t.Errorf("roles that somebody gave are now %q", got)
	}

	lost := new(description)
	start(lost)
	check("without dev.json", lost)
	if lost.Users.Ada.Password == first.Users.Ada.Password || lost.Machines.System == first.Machines.System {
		t.Error("secrets that nobody knew any more are the same")
	}
}
