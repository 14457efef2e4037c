package identity

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/password"
	"github.com/sallyport-dev/sallyport/internal/registry"
)

// user shows a user: everything but the password's hash.
func user(m *identityv1.StoredUser) *identityv1.User {
	u := &identityv1.User{
		OrganizationId: m.GetOrganizationId(), Email: m.GetEmail(), Name: m.GetName(), Disabled: m.GetDisabled(),
		CreatedAt: m.GetCreatedAt(), PasswordChangedAt: m.GetPasswordChangedAt(),
	}
	for _, g := range m.GetGrants() {
		u.Grants = append(u.Grants, &identityv1.Grant{ApplicationId: g.GetApplicationId(), Roles: g.GetRoles()})
	}
	u.Etag = etagOf(u)
	return u
}

func storedGrants(grants []*identityv1.Grant) []*identityv1.StoredGrant {
	var all []*identityv1.StoredGrant
	for _, g := range grants {
		all = append(all, &identityv1.StoredGrant{ApplicationId: g.GetApplicationId(), Roles: g.GetRoles()})
	}
	return all
}

// hash makes what is stored of a password.
func hash(text string) (string, error) {
	stored, err := password.Hash(text)
	if err != nil {
		return "", status.Errorf(codes.InvalidArgument, "password: %v", err)
	}
	return stored, nil
}

// CreateUser implements IdentityService.
func (s *Server) CreateUser(ctx context.Context, req *identityv1.CreateUserRequest) (*identityv1.CreateUserResponse, error) {
	owner, err := s.scope(ctx, req.GetOrganizationId())
	if err != nil {
		return nil, err
	}
	g, err := s.giver(ctx)
	if err != nil {
		return nil, err
	}
	m := &identityv1.StoredUser{OrganizationId: owner, Email: req.GetEmail(), Name: req.GetName(), Grants: storedGrants(req.GetGrants())}
	if err := g.mayGive(rolesOf(m.GetGrants())); err != nil {
		return nil, err
	}
	if req.GetPassword() != "" {
		if m.PasswordHash, err = hash(req.GetPassword()); err != nil {
			return nil, err
		}
	}
	if m, err = s.store.CreateUser(ctx, m); err != nil {
		return nil, createdOf(err, "user", req.GetEmail())
	}
	return &identityv1.CreateUserResponse{User: user(m)}, nil
}

// ListUsers implements IdentityService.
func (s *Server) ListUsers(ctx context.Context, req *identityv1.ListUsersRequest) (*identityv1.ListUsersResponse, error) {
	owner, err := s.scope(ctx, req.GetOrganizationId())
	if err != nil {
		return nil, err
	}
	all, next, err := pageOf(req, func(after string, limit int) ([]*identityv1.StoredUser, bool, error) {
		return s.store.Users(ctx, owner, after, limit)
	}, (*identityv1.StoredUser).GetEmail, user)
	if err != nil {
		return nil, err
	}
	return &identityv1.ListUsersResponse{Users: all, NextPageToken: next}, nil
}

// SetUserGrants implements IdentityService.
func (s *Server) SetUserGrants(ctx context.Context, req *identityv1.SetUserGrantsRequest) (*identityv1.SetUserGrantsResponse, error) {
	grants := storedGrants(req.GetGrants())
	m, err := s.changeUser(ctx, req, grants, true, func(owner string, permit registry.Permit[*identityv1.StoredUser]) (*identityv1.StoredUser, error) {
		return s.store.SetUserGrants(ctx, owner, req.GetEmail(), grants, permit, func(u *identityv1.StoredUser) error {
			becomes := proto.CloneOf(u)
			becomes.Grants = grants
			return unlessChanged(req.GetEtag(), "user", req.GetEmail(), user(u), user(becomes))
		})
	})
	if err != nil {
		return nil, err
	}
	return &identityv1.SetUserGrantsResponse{User: m}, nil
}

// SetUserPassword implements IdentityService.
func (s *Server) SetUserPassword(ctx context.Context, req *identityv1.SetUserPasswordRequest) (*identityv1.SetUserPasswordResponse, error) {
	m, err := s.changeUser(ctx, req, nil, false, func(owner string, permit registry.Permit[*identityv1.StoredUser]) (*identityv1.StoredUser, error) {
		stored, err := hash(req.GetPassword())
		if err != nil {
			return nil, err
		}
		return s.store.SetUserPassword(ctx, owner, req.GetEmail(), stored, permit)
	})
	if err != nil {
		return nil, err
	}
	return &identityv1.SetUserPasswordResponse{User: m}, nil
}

// DisableUser implements IdentityService.
func (s *Server) DisableUser(ctx context.Context, req *identityv1.DisableUserRequest) (*identityv1.DisableUserResponse, error) {
	m, err := s.switchUser(ctx, req, true)
	if err != nil {
		return nil, err
	}
	return &identityv1.DisableUserResponse{User: m}, nil
}

// EnableUser implements IdentityService.
func (s *Server) EnableUser(ctx context.Context, req *identityv1.EnableUserRequest) (*identityv1.EnableUserResponse, error) {
	m, err := s.switchUser(ctx, req, false)
	if err != nil {
		return nil, err
	}
	return &identityv1.EnableUserResponse{User: m}, nil
}

// RemoveUser implements IdentityService.
func (s *Server) RemoveUser(ctx context.Context, req *identityv1.RemoveUserRequest) (*identityv1.RemoveUserResponse, error) {
	_, err := s.changeUser(ctx, req, nil, true, func(owner string, permit registry.Permit[*identityv1.StoredUser]) (*identityv1.StoredUser, error) {
		return nil, s.store.RemoveUser(ctx, owner, req.GetEmail(), permit)
	})
	if err != nil {
		return nil, err
	}
	return &identityv1.RemoveUserResponse{}, nil
}

// namesUser is a request about one user.
type namesUser interface {
	GetOrganizationId() string
	GetEmail() string
}

func (s *Server) switchUser(ctx context.Context, req namesUser, disabled bool) (*identityv1.User, error) {
	return s.changeUser(ctx, req, nil, disabled, func(owner string, permit registry.Permit[*identityv1.StoredUser]) (*identityv1.StoredUser, error) {
		return s.store.SetUserDisabled(ctx, owner, req.GetEmail(), disabled, permit)
	})
}

// changeUser changes a user of the caller's scope, if the caller may give the roles of the grants and may change the
// user, who with takes has these grants alone from then on, or none.
func (s *Server) changeUser(ctx context.Context, req namesUser, gives []*identityv1.StoredGrant, takes bool,
	change func(owner string, permit registry.Permit[*identityv1.StoredUser]) (*identityv1.StoredUser, error)) (*identityv1.User, error) {
	owner, err := s.scope(ctx, req.GetOrganizationId())
	if err != nil {
		return nil, err
	}
	g, err := s.giver(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.mayGive(rolesOf(gives)); err != nil {
		return nil, err
	}
	m, err := change(owner, func(u *identityv1.StoredUser) error {
		if err := g.mayChange(rolesOf(u.GetGrants())); err != nil || !takes {
			return err
		}
		return g.mayTake(owner, u.GetEmail(), rolesAsItself(u.GetGrants()), rolesAsItself(gives))
	})
	if err != nil {
		return nil, statusOf(err, unknownOf(owner, "user", req.GetEmail()))
	}
	return user(m), nil
}
