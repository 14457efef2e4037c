package identity

import (
	"context"
	"errors"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
)

func delegate(m *identityv1.StoredDelegate) *identityv1.Delegate {
	return &identityv1.Delegate{
		OrganizationId: m.GetOrganizationId(), DelegateId: m.GetId(), OwnerEmail: m.GetOwnerEmail(), ApplicationId: m.GetApplicationId(),
		ClientId: m.GetClientId(), ClientName: m.GetClientName(), Disabled: m.GetDisabled(), CreatedAt: m.GetCreatedAt(),
	}
}

// ListDelegates implements IdentityService.
func (s *Server) ListDelegates(ctx context.Context, req *identityv1.ListDelegatesRequest) (*identityv1.ListDelegatesResponse, error) {
	owner, err := s.scope(ctx, req.GetOrganizationId())
	if err != nil {
		return nil, err
	}
	all, next, err := pageOf(req, func(after string, limit int) ([]*identityv1.StoredDelegate, bool, error) {
		return s.store.Delegates(ctx, owner, after, limit)
	}, (*identityv1.StoredDelegate).GetId, delegate)
	if err != nil {
		return nil, err
	}
	return &identityv1.ListDelegatesResponse{Delegates: all, NextPageToken: next}, nil
}

// DisableDelegate implements IdentityService.
func (s *Server) DisableDelegate(ctx context.Context, req *identityv1.DisableDelegateRequest) (*identityv1.DisableDelegateResponse, error) {
	m, err := s.switchDelegate(ctx, req, true)
	if err != nil {
		return nil, err
	}
	return &identityv1.DisableDelegateResponse{Delegate: m}, nil
}

// EnableDelegate implements IdentityService.
func (s *Server) EnableDelegate(ctx context.Context, req *identityv1.EnableDelegateRequest) (*identityv1.EnableDelegateResponse, error) {
	m, err := s.switchDelegate(ctx, req, false)
	if err != nil {
		return nil, err
	}
	return &identityv1.EnableDelegateResponse{Delegate: m}, nil
}

// RemoveDelegate implements IdentityService.
func (s *Server) RemoveDelegate(ctx context.Context, req *identityv1.RemoveDelegateRequest) (*identityv1.RemoveDelegateResponse, error) {
	_, err := s.changeDelegate(ctx, req, func(permit registry.Permit[*identityv1.StoredDelegate]) (*identityv1.StoredDelegate, error) {
		return nil, s.store.RemoveDelegate(ctx, req.GetDelegateId(), permit)
	})
	if err != nil {
		return nil, err
	}
	return &identityv1.RemoveDelegateResponse{}, nil
}

// namesDelegate is a request about one delegate.
type namesDelegate interface {
	GetOrganizationId() string
	GetDelegateId() string
}

func (s *Server) switchDelegate(ctx context.Context, req namesDelegate, disabled bool) (*identityv1.Delegate, error) {
	return s.changeDelegate(ctx, req, func(permit registry.Permit[*identityv1.StoredDelegate]) (*identityv1.StoredDelegate, error) {
		return s.store.SetDelegateDisabled(ctx, req.GetDelegateId(), disabled, permit)
	})
}

// changeDelegate changes a delegate of the caller's scope, if the caller may change the delegate's owner: a delegate is
// its owner to the tools that it calls.
func (s *Server) changeDelegate(ctx context.Context, req namesDelegate,
	change func(registry.Permit[*identityv1.StoredDelegate]) (*identityv1.StoredDelegate, error)) (*identityv1.Delegate, error) {
	owner, err := s.scope(ctx, req.GetOrganizationId())
	if err != nil {
		return nil, err
	}
	g, err := s.giver(ctx)
	if err != nil {
		return nil, err
	}
	missing := unknownOf(owner, "delegate", req.GetDelegateId())
	m, err := change(func(d *identityv1.StoredDelegate) error {
		if d.GetOrganizationId() != owner {
			return missing
		}
		u, err := s.store.User(ctx, owner, d.GetOwnerEmail())
		if errors.Is(err, registry.ErrNotFound) {
			return nil // a delegate of nobody
		} else if err != nil {
			return err
		}
		return g.mayChange(rolesOf(u.GetGrants()))
	})
	if err != nil {
		return nil, statusOf(err, missing)
	}
	return delegate(m), nil
}
