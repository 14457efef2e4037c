package registry

import (
	"context"
	"fmt"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// CreateApplication stores a new application of an organization. A taken id is [ErrExists], an unknown organization a
// [MissingError], an impossible id an [InvalidError].
func (s *Store) CreateApplication(ctx context.Context, organization, id, title string) (*identityv1.StoredApplication, error) {
	m := &identityv1.StoredApplication{OrganizationId: organization, Id: id, Title: title, CreatedAt: timestamppb.New(s.now())}
	err := checkParticipant(participant.Application(organization, id, ""))
	if err == nil {
		err = s.create(ctx, s.l.application(organization, id), m, func() ([]clientv3.Cmp, error) {
			return s.references(ctx, organization, nil, nil)
		})
	}
	if err != nil {
		return nil, fmt.Errorf("create application %q of organization %q: %w", id, organization, err)
	}
	return m, nil
}

// Applications reads at most limit applications of an organization in the order of their ids, from the one after an id
// on; more says that there are others. It reads etcd, and so sees what was written before.
func (s *Store) Applications(ctx context.Context, organization, after string, limit int) (all []*identityv1.StoredApplication, more bool, err error) {
	all, more, err = list[*identityv1.StoredApplication](ctx, s, s.l.applications(organization), after, limit, nil)
	if err != nil {
		return nil, false, fmt.Errorf("list the applications of organization %q: %w", organization, err)
	}
	return all, more, nil
}

// SetApplicationDisabled switches an application off or on, and with it everyone who acts as it. An unknown one is
// [ErrNotFound].
func (s *Store) SetApplicationDisabled(ctx context.Context, organization, id string, disabled bool) (*identityv1.StoredApplication, error) {
	m, err := change(ctx, s, s.l.application(organization, id), func(m *identityv1.StoredApplication) ([]clientv3.Cmp, error) {
		m.Disabled = disabled
		return nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("change application %q of organization %q: %w", id, organization, err)
	}
	return m, nil
}

// RemoveApplication removes an application that no machine is of and no user may act as any more; else it is
// [ErrNotEmpty]. An unknown one is [ErrNotFound]. It is guarded as [Store.RemoveOrganization] is.
func (s *Store) RemoveApplication(ctx context.Context, organization, id string) error {
	err := remove(ctx, s, s.l.application(organization, id), func(*identityv1.StoredApplication) ([]clientv3.Cmp, []clientv3.Op, error) {
		under, revision, err := s.snapshot(ctx, s.l.users(organization), s.l.machines())
		if err != nil {
			return nil, nil, err
		}
		users, err := decode[*identityv1.StoredUser](under[0])
		if err != nil {
			return nil, nil, err
		}
		machines, err := decode[*registryv1.StoredMachine](under[1])
		if err != nil {
			return nil, nil, err
		}
		var left []string
		for _, m := range machines {
			if m.GetParticipant().GetOrganizationId() == organization && m.GetParticipant().GetApplicationId() == id {
				left = append(left, "machine "+m.GetId())
			}
		}
		for _, u := range users {
			if slices.ContainsFunc(u.GetGrants(), func(g *identityv1.StoredGrant) bool { return g.GetApplicationId() == id }) {
				left = append(left, "a grant of user "+u.GetEmail())
			}
		}
		return []clientv3.Cmp{quietSince(s.l.users(organization), revision), quietSince(s.l.machines(), revision)}, nil, remains(left)
	})
	if err != nil {
		return fmt.Errorf("remove application %q of organization %q: %w", id, organization, err)
	}
	return nil
}
