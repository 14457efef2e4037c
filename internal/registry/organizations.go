package registry

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

// CreateOrganization stores a new organization. A taken id is [ErrExists], an impossible one an [InvalidError].
func (s *Store) CreateOrganization(ctx context.Context, id, title string) (*identityv1.StoredOrganization, error) {
	m := &identityv1.StoredOrganization{Id: id, Title: title, CreatedAt: timestamppb.New(s.now())}
	err := checkOrganization(id)
	if err == nil {
		err = s.create(ctx, s.l.organization(id), m, func() ([]clientv3.Cmp, error) { return nil, nil })
	}
	if err != nil {
		return nil, fmt.Errorf("create organization %q: %w", id, err)
	}
	return m, nil
}

// Organizations reads at most limit organizations in the order of their ids, from the one after an id on; more says that
// there are others. It reads etcd, and so sees what was written before.
func (s *Store) Organizations(ctx context.Context, after string, limit int) (all []*identityv1.StoredOrganization, more bool, err error) {
	all, more, err = list[*identityv1.StoredOrganization](ctx, s, s.l.organizations(), after, limit, nil)
	if err != nil {
		return nil, false, fmt.Errorf("list organizations: %w", err)
	}
	return all, more, nil
}

// Organization reads one organization, disabled or not. An unknown id is [ErrNotFound].
func (s *Store) Organization(ctx context.Context, id string) (*identityv1.StoredOrganization, error) {
	if checkOrganization(id) != nil {
		return nil, fmt.Errorf("read organization %q: %w", id, ErrNotFound)
	}
	m, err := readOne(ctx, s, s.l.organization(id), &identityv1.StoredOrganization{})
	if err != nil {
		return nil, fmt.Errorf("read organization %q: %w", id, err)
	}
	return m, nil
}

// SetOrganizationDisabled switches an organization off or on, and with it everyone who belongs to it. An unknown id is
// [ErrNotFound].
func (s *Store) SetOrganizationDisabled(ctx context.Context, id string, disabled bool) (*identityv1.StoredOrganization, error) {
	m, err := change(ctx, s, s.l.organization(id), func(m *identityv1.StoredOrganization) ([]clientv3.Cmp, error) {
		m.Disabled = disabled
		return nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("change organization %q: %w", id, err)
	}
	return m, nil
}

// RemoveOrganization removes an organization that nothing belongs to any more; else it is [ErrNotEmpty]. An unknown id
// is [ErrNotFound]. What is known of services in its zones goes with it, and the names that they declared: a later
// organization of the same id neither sees nor meets them.
//
// Whatever is an organization's is created under the guard that the organization is stored, and this under the guard
// that nothing was created since it looked: never both succeed. Machines are keyed by their ids alone, so that the guard
// is over all of them; who creates machines all the time makes removals try again, and no more.
func (s *Store) RemoveOrganization(ctx context.Context, id string) error {
	err := remove(ctx, s, s.l.organization(id), func(*identityv1.StoredOrganization) ([]clientv3.Cmp, []clientv3.Op, error) {
		under, revision, err := s.snapshot(ctx, s.l.applications(id), s.l.users(id), s.l.roles(id), s.l.machines(), s.l.instancesOf(id))
		if err != nil {
			return nil, nil, err
		}
		var left []string
		for i, what := range []string{"application", "user", "role"} {
			for _, kv := range under[i] {
				_, _, name := s.l.parse(kv.key)
				left = append(left, what+" "+name)
			}
		}
		machines, err := decode[*registryv1.StoredMachine](under[3])
		if err != nil {
			return nil, nil, err
		}
		for _, m := range machines {
			if m.GetParticipant().GetOrganizationId() == id {
				left = append(left, "machine "+m.GetId())
			}
		}
		for _, kv := range under[4] {
			_, service, _ := s.l.parse(kv.key)
			left = append(left, "an instance of service "+service.String()+", which is there until its process stops or its lease ends")
		}
		guards := []clientv3.Cmp{
			noneUnder(s.l.applications(id)), noneUnder(s.l.users(id)), noneUnder(s.l.roles(id)), noneUnder(s.l.instancesOf(id)),
			quietSince(s.l.machines(), revision),
		}
		return guards, []clientv3.Op{
			clientv3.OpDelete(s.l.servicesOf(id), clientv3.WithPrefix()), clientv3.OpDelete(s.l.aliasesOf(id), clientv3.WithPrefix()),
		}, remains(left)
	})
	if err != nil {
		return fmt.Errorf("remove organization %q: %w", id, err)
	}
	return nil
}
