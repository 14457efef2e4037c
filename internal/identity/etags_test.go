package identity_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

// state is what administrators read and replace: words, and the etag that they were read with.
type state struct {
	words []string
	etag  string
}

// replaced is a thing that is replaced whole.
type replaced struct {
	words   []string // that may be in it
	read    func(context.Context) (state, error)
	replace func(context.Context, state) (state, error)
}

// replaced are all that there are.
func (h *house) replaced() map[string]replaced {
	i := h.identities
	roleOf := func(r *identityv1.Role) state { return state{r.GetActions(), r.GetEtag()} }
	userOf := func(u *identityv1.User) state { return state{u.GetGrants()[0].GetRoles(), u.GetEtag()} }
	machineOf := func(m *identityv1.Machine) state { return state{m.GetRoles(), m.GetEtag()} }
	var roles []string
	for n := range 6 {
		r, err := i.CreateRole(h.as("acme.admin"), &identityv1.CreateRoleRequest{Name: fmt.Sprintf("r%d", n), Actions: []string{"a"}})
		h.must(err)
		roles = append(roles, "acme/"+r.GetRole().GetName())
	}
	return map[string]replaced{
		"role": {[]string{"a0", "a1", "a2", "a3", "a4", "a5"}, func(ctx context.Context) (state, error) {
			a, err := i.ListRoles(ctx, &identityv1.ListRolesRequest{})
			at := slices.IndexFunc(a.GetRoles(), func(r *identityv1.Role) bool { return r.GetName() == "refunder" })
			if err != nil || at < 0 {
				return state{}, err
			}
			return roleOf(a.GetRoles()[at]), err
		}, func(ctx context.Context, s state) (state, error) {
			a, err := i.UpdateRole(ctx, &identityv1.UpdateRoleRequest{Name: "refunder", Actions: s.words, Etag: s.etag})
			return roleOf(a.GetRole()), err
		}},
		"user": {roles, func(ctx context.Context) (state, error) {
			a, err := i.ListUsers(ctx, &identityv1.ListUsersRequest{})
			if err != nil {
				return state{}, err
			}
			return userOf(a.GetUsers()[0]), err
		}, func(ctx context.Context, s state) (state, error) {
			a, err := i.SetUserGrants(ctx, &identityv1.SetUserGrantsRequest{
				Email: "ada@acme.example", Grants: []*identityv1.Grant{{Roles: s.words}, {ApplicationId: "orders"}}, Etag: s.etag,
			})
			if err != nil {
				return state{}, err
			}
			return userOf(a.GetUser()), err
		}},
		"machine": {roles, func(ctx context.Context) (state, error) {
			a, err := i.ListMachines(ctx, &identityv1.ListMachinesRequest{})
			at := slices.IndexFunc(a.GetMachines(), func(m *identityv1.Machine) bool { return m.GetMachineId() == "acme.plain" })
			if err != nil || at < 0 {
				return state{}, err
			}
			return machineOf(a.GetMachines()[at]), err
		}, func(ctx context.Context, s state) (state, error) {
			a, err := i.SetMachineRoles(ctx, &identityv1.SetMachineRolesRequest{MachineId: "acme.plain", Roles: s.words, Etag: s.etag})
			return machineOf(a.GetMachine()), err
		}},
	}
}

// What was read before somebody else changed it is replaced by nobody who states its etag.
func TestEtag(t *testing.T) {
	h := newHouse(t)
	admin := h.as("acme.admin")
	for what, thing := range h.replaced() {
		t.Run(what, func(t *testing.T) {
			was, err := thing.read(admin)
			h.must(err)
			if was.etag == "" {
				t.Fatal("what is read has no etag")
			}
			first, err := thing.replace(admin, state{thing.words[:1], was.etag})
			h.must(err)
			if first.etag == was.etag || first.etag == "" {
				t.Errorf("etag %q after %q", first.etag, was.etag)
			}
			_, err = thing.replace(admin, state{thing.words[1:2], was.etag})
			wantError(t, err, codes.Aborted, "read it again", what)
			now, err := thing.read(admin)
			h.must(err)
			if !slices.Equal(now.words, thing.words[:1]) || now.etag != first.etag {
				t.Errorf("it is %v after a refusal, want %v", now, first)
			}
			// The same once more, such as a call that is sent again because its answer was lost, changes nothing and
			// passes.
			again, err := thing.replace(admin, state{thing.words[:1], was.etag})
			if err != nil || again.etag != first.etag {
				t.Errorf("the same again: %v, %v", again, err)
			}
			if _, err = thing.replace(admin, state{thing.words[2:3], ""}); err != nil {
				t.Errorf("without an etag: %v", err)
			}
			_, err = thing.replace(admin, state{thing.words[3:4], "nonsense"})
			wantError(t, err, codes.Aborted)
		})
	}
}

// Writers who each add one word to what they read lose none, if they state the etag and read again when they are told
// to.
func TestEtag_race(t *testing.T) {
	h := newHouse(t)
	admin := h.as("acme.admin")
	for what, thing := range h.replaced() {
		t.Run(what, func(t *testing.T) {
			_, err := thing.replace(admin, state{thing.words[:1], ""})
			h.must(err)
			var wg sync.WaitGroup
			for _, word := range thing.words[1:] {
				wg.Go(func() {
					for {
						s, err := thing.read(admin)
						if err == nil {
							_, err = thing.replace(admin, state{append(slices.Clone(s.words), word), s.etag})
						}
						switch status.Code(err) {
						case codes.OK:
							return
						case codes.Aborted:
						default:
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			now, err := thing.read(admin)
			h.must(err)
			if slices.Sort(now.words); !slices.Equal(now.words, thing.words) {
				t.Errorf("it has %q, want %q", now.words, thing.words)
			}
		})
	}
}

// Two things that are shown alike have one etag only if they are one thing: what is removed and made anew is another.
func TestEtag_anew(t *testing.T) {
	h := newHouse(t)
	admin := h.as("acme.admin")
	made := func() string {
		a, err := h.identities.CreateRole(admin, &identityv1.CreateRoleRequest{Name: "again", Actions: []string{"a"}})
		h.must(err)
		return a.GetRole().GetEtag()
	}
	was := made()
	_, err := h.identities.RemoveRole(admin, &identityv1.RemoveRoleRequest{Name: "again"})
	h.must(err)
	if now := made(); now == was || now == "" {
		t.Errorf("etag %q, and %q before", now, was)
	}
	_, err = h.identities.UpdateRole(admin, &identityv1.UpdateRoleRequest{Name: "again", Actions: []string{"b"}, Etag: was})
	wantError(t, err, codes.Aborted, "read it again")
}
