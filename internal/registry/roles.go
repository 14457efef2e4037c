package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/participant"
)

// maxActions bounds a role.
const maxActions = 256

// stripBatch is how many identities lose a removed role in one transaction.
const stripBatch = 48

func checkRole(m *identityv1.StoredRole) error {
	if err := participant.CheckLabel(m.GetName()); err != nil {
		return invalid("a role's name: %v", err)
	}
	if m.GetOrganizationId() != "" && m.GetAssignable() {
		return invalid("only a role of the platform is assignable: organizations give their own roles in any case")
	}
	if n := len(m.GetActions()); n == 0 || n > maxActions {
		return invalid("%d actions: a role grants 1 to %d", n, maxActions)
	}
	for _, a := range m.GetActions() {
		if !access.IsPattern(a) {
			return invalid("%q is not an action, nor prefix.* for all that begin so, nor * for all", a)
		}
	}
	return nil
}

// distinct leaves out actions that are there already.
func distinct(actions []string) []string {
	var kept []string
	for _, a := range actions {
		if !slices.Contains(kept, a) {
			kept = append(kept, a)
		}
	}
	return kept
}

// CreateRole stores a new role of an organization, or with an empty one of the platform; the time is set. A taken name
// is [ErrExists], an unknown organization a [MissingError], what cannot be stored an [InvalidError].
func (s *Store) CreateRole(ctx context.Context, m *identityv1.StoredRole) (*identityv1.StoredRole, error) {
	m = proto.CloneOf(m)
	m.Actions = distinct(m.Actions)
	m.CreatedAt = timestamppb.New(s.now())
	err := checkRole(m)
	if err == nil {
		err = s.create(ctx, s.l.role(m.GetOrganizationId(), m.GetName()), m, func() ([]clientv3.Cmp, error) {
			return s.references(ctx, m.GetOrganizationId(), nil, nil)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("create role %q of %s: %w", m.GetName(), ownerOf(m.GetOrganizationId()), err)
	}
	return m, nil
}

// Roles reads at most limit roles of an organization, or with an empty one of the platform, in the order of their names
// and from the one after a name on; more says that there are others. It reads etcd, and so sees what was written before.
func (s *Store) Roles(ctx context.Context, organization, after string, limit int) (all []*identityv1.StoredRole, more bool, err error) {
	all, more, err = list[*identityv1.StoredRole](ctx, s, s.l.roles(organization), after, limit, nil)
	if err != nil {
		return nil, false, fmt.Errorf("list the roles of %s: %w", ownerOf(organization), err)
	}
	return all, more, nil
}

// UpdateRole replaces what a role is for and what it grants. An unknown one is [ErrNotFound], what cannot be stored an
// [InvalidError].
func (s *Store) UpdateRole(ctx context.Context, to *identityv1.StoredRole, permits ...Permit[*identityv1.StoredRole]) (*identityv1.StoredRole, error) {
	var m *identityv1.StoredRole
	err := checkRole(to)
	if err == nil {
		m, err = change(ctx, s, s.l.role(to.GetOrganizationId(), to.GetName()), func(m *identityv1.StoredRole) ([]clientv3.Cmp, error) {
			err := permitted(m, permits)
			m.Description, m.Actions, m.Assignable = to.GetDescription(), distinct(to.GetActions()), to.GetAssignable()
			return nil, err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("change role %q of %s: %w", to.GetName(), ownerOf(to.GetOrganizationId()), err)
	}
	return m, nil
}

// RemoveRole takes a role from everyone who has it and removes it, so that a later role of the same name is nobody's to
// begin with. An unknown one is [ErrNotFound].
//
// Many identities do not fit into one transaction: they lose the role some at a time, each time guarded by their being
// unchanged, and the role goes when nobody has it any more. A removal that fails on the way leaves the role with those
// who still have it, and goes on when it is tried again.
func (s *Store) RemoveRole(ctx context.Context, organization, name string, permits ...Permit[*identityv1.StoredRole]) error {
	key, spelled := s.l.role(organization, name), access.RoleName(organization, name)
	err := func() error {
		if participant.CheckLabel(name) != nil {
			return ErrNotFound
		}
		for {
			stripped := 0
			err := remove(ctx, s, key, func(m *identityv1.StoredRole) (guards []clientv3.Cmp, _ []clientv3.Op, err error) {
				if err := permitted(m, permits); err != nil {
					return nil, nil, err
				}
				guards, stripped, err = s.strip(ctx, organization, spelled)
				if err == nil && stripped > 0 {
					err = errMore
				}
				return guards, nil, err
			})
			if err != errMore { //nolint:errorlint // made here, never wrapped
				return err
			}
		}
	}()
	if err != nil {
		return fmt.Errorf("remove role %q of %s: %w", name, ownerOf(organization), err)
	}
	return nil
}

// errMore says that some identities lost a role, and others may still have it.
var errMore = errors.New("more is left")

// strip takes a role from some who have it, and says how many they were; where nobody has it, guards hold while that is
// so. Somebody who changes meanwhile is looked at again.
func (s *Store) strip(ctx context.Context, organization, role string) (guards []clientv3.Cmp, stripped int, err error) {
	users := s.l.allUsers()
	if organization != "" {
		users = s.l.users(organization)
	}
	under, revision, err := s.snapshot(ctx, s.l.machines(), users)
	if err != nil {
		return nil, 0, err
	}
	machines, err := decode[*registryv1.StoredMachine](under[0])
	if err != nil {
		return nil, 0, err
	}
	people, err := decode[*identityv1.StoredUser](under[1])
	if err != nil {
		return nil, 0, err
	}
	var unmoved []clientv3.Cmp
	var puts []clientv3.Op
	put := func(kv keyValue, m proto.Message) error {
		value, err := encode(m)
		unmoved, puts = append(unmoved, unchanged(kv.key, kv.meta)), append(puts, clientv3.OpPut(kv.key, value))
		return err
	}
	for i, m := range machines {
		if len(puts) == stripBatch {
			break
		}
		if p := m.GetParticipant(); slices.Contains(p.GetRoles(), role) {
			p.Roles = without(p.GetRoles(), role)
			if err := put(under[0][i], m); err != nil {
				return nil, 0, err
			}
		}
	}
	for i, u := range people {
		if len(puts) == stripBatch {
			break
		}
		has := false
		for _, g := range u.GetGrants() {
			if slices.Contains(g.GetRoles(), role) {
				g.Roles, has = without(g.GetRoles(), role), true
			}
		}
		if has {
			if err := put(under[1][i], u); err != nil {
				return nil, 0, err
			}
		}
	}
	if len(puts) == 0 {
		return []clientv3.Cmp{quietSince(s.l.machines(), revision), quietSince(users, revision)}, 0, nil
	}
	_, err = s.c.Txn(ctx).If(unmoved...).Then(puts...).Commit()
	return nil, len(puts), err
}

func without(roles []string, role string) []string {
	return slices.DeleteFunc(slices.Clone(roles), func(r string) bool { return r == role })
}

// builtInRoles are the platform's roles that an installation begins with.
func builtInRoles() []*identityv1.StoredRole {
	kinds := []string{"applications", "users", "machines", "delegates", "roles"}
	var all, read []string
	for _, kind := range kinds {
		all, read = append(all, "identity."+kind+".*"), append(read, "identity."+kind+".read")
	}
	return []*identityv1.StoredRole{
		{Name: "platform-admin", Description: "Everything, everywhere.", Actions: []string{access.Everything}},
		{Name: "organization-admin", Description: "Manages an organization's applications, users, machines, delegates and roles.", Actions: all, Assignable: true},
		{Name: "organization-viewer", Description: "Sees an organization's applications, users, machines, delegates and roles.", Actions: read, Assignable: true},
	}
}

// EnsureBuiltInRoles makes the roles that an installation begins with, those that are not there, once in the
// installation's life: a role that was changed or removed later stays so. Any number of processes may do so at once.
func (s *Store) EnsureBuiltInRoles(ctx context.Context) error {
	marker := s.l.built("roles")
	err := retry(ctx, func() (bool, error) {
		r, err := s.c.Get(ctx, marker, clientv3.WithCountOnly())
		if err != nil || r.Count > 0 {
			return err == nil, err
		}
		guards, puts := []clientv3.Cmp{absent(marker)}, []clientv3.Op{clientv3.OpPut(marker, "")}
		for _, m := range builtInRoles() {
			key := s.l.role("", m.GetName())
			found, meta, err := read(ctx, s, key, &identityv1.StoredRole{})
			if err != nil {
				return false, err
			}
			guards = append(guards, unchanged(key, meta))
			if found {
				continue
			}
			m.CreatedAt = timestamppb.New(s.now())
			value, err := encode(m)
			if err != nil {
				return false, err
			}
			puts = append(puts, clientv3.OpPut(key, value))
		}
		t, err := s.c.Txn(ctx).If(guards...).Then(puts...).Commit()
		return err == nil && t.Succeeded, err
	})
	if err != nil {
		return fmt.Errorf("make the built-in roles: %w", err)
	}
	return nil
}
