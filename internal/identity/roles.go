package identity

import (
	"context"

	"google.golang.org/protobuf/proto"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
)

func role(m *identityv1.StoredRole) *identityv1.Role {
	r := &identityv1.Role{
		OrganizationId: m.GetOrganizationId(), Name: m.GetName(), Description: m.GetDescription(), Actions: m.GetActions(),
		Assignable: m.GetAssignable(), CreatedAt: m.GetCreatedAt(),
	}
	r.Etag = etagOf(r)
	return r
}

// CreateRole implements IdentityService.
func (s *Server) CreateRole(ctx context.Context, req *identityv1.CreateRoleRequest) (*identityv1.CreateRoleResponse, error) {
	owner, _, err := s.roleScope(ctx, req.GetOrganizationId(), req.GetActions())
	if err != nil {
		return nil, err
	}
	m, err := s.store.CreateRole(ctx, &identityv1.StoredRole{
		OrganizationId: owner, Name: req.GetName(), Description: req.GetDescription(), Actions: req.GetActions(), Assignable: req.GetAssignable(),
	})
	if err != nil {
		return nil, createdOf(err, "role", req.GetName())
	}
	return &identityv1.CreateRoleResponse{Role: role(m)}, nil
}

// ListRoles implements IdentityService. An organization is given its own roles, then those of the platform that it may
// give.
func (s *Server) ListRoles(ctx context.Context, req *identityv1.ListRolesRequest) (*identityv1.ListRolesResponse, error) {
	owner, err := s.scope(ctx, req.GetOrganizationId())
	if err != nil {
		return nil, err
	}
	tenant := isOrganization(ctx)
	all, next, err := pageOf(req, func(after string, limit int) (all []*identityv1.StoredRole, more bool, err error) {
		// A place is a role as participants carry it: with a slash, one of the organization's own.
		from, name := access.ParseRole(after)
		if owner == "" {
			return s.store.Roles(ctx, "", name, limit)
		}
		if after == "" || from != "" {
			all, more, err = s.store.Roles(ctx, owner, name, limit)
			name = ""
			if err != nil || more || !tenant {
				return all, more, err
			}
		}
		platform, err := s.assignable(ctx, name)
		for _, m := range platform {
			if len(all) == limit {
				return all, true, err
			}
			all = append(all, m)
		}
		return all, false, err
	}, func(m *identityv1.StoredRole) string { return access.RoleName(m.GetOrganizationId(), m.GetName()) }, role)
	if err != nil {
		return nil, err
	}
	return &identityv1.ListRolesResponse{Roles: all, NextPageToken: next}, nil
}

// assignable gives the platform's roles after a name that organizations may give.
func (s *Server) assignable(ctx context.Context, after string) ([]*identityv1.StoredRole, error) {
	g, err := s.giver(ctx)
	if err != nil {
		return nil, err
	}
	return g.assignable(after), nil
}

// UpdateRole implements IdentityService.
func (s *Server) UpdateRole(ctx context.Context, req *identityv1.UpdateRoleRequest) (*identityv1.UpdateRoleResponse, error) {
	owner, permit, err := s.roleScope(ctx, req.GetOrganizationId(), req.GetActions())
	if err != nil {
		return nil, err
	}
	to := &identityv1.StoredRole{
		OrganizationId: owner, Name: req.GetName(), Description: req.GetDescription(), Actions: req.GetActions(), Assignable: req.GetAssignable(),
	}
	m, err := s.store.UpdateRole(ctx, to, permit, func(m *identityv1.StoredRole) error {
		becomes := proto.CloneOf(to)
		becomes.CreatedAt = m.GetCreatedAt()
		return unlessChanged(req.GetEtag(), "role", req.GetName(), role(m), role(becomes))
	})
	if err != nil {
		return nil, statusOf(err, unknownOf(owner, "role", req.GetName()))
	}
	return &identityv1.UpdateRoleResponse{Role: role(m)}, nil
}

// RemoveRole implements IdentityService.
func (s *Server) RemoveRole(ctx context.Context, req *identityv1.RemoveRoleRequest) (*identityv1.RemoveRoleResponse, error) {
	owner, permit, err := s.roleScope(ctx, req.GetOrganizationId(), nil)
	if err == nil {
		err = statusOf(s.store.RemoveRole(ctx, owner, req.GetName(), permit), unknownOf(owner, "role", req.GetName()))
	}
	if err != nil {
		return nil, err
	}
	return &identityv1.RemoveRoleResponse{}, nil
}

// roleScope gives whose role a request is about, whether the caller may make one with the actions, and what permits a
// change of the one that there is.
func (s *Server) roleScope(ctx context.Context, named string, actions []string) (owner string, permit func(*identityv1.StoredRole) error, err error) {
	owner, err = s.scope(ctx, named)
	if err != nil {
		return "", nil, err
	}
	permit = func(*identityv1.StoredRole) error { return nil }
	if owner != "" {
		return owner, permit, nil
	}
	g, err := s.giver(ctx)
	if err != nil {
		return "", nil, err
	}
	return owner, func(m *identityv1.StoredRole) error {
		if err := g.mayMake(m.GetActions()); err != nil {
			return err
		}
		return g.mayTakeFromRole(m, actions)
	}, g.mayMake(actions)
}
