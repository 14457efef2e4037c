package identity

import (
	"context"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

func application(m *identityv1.StoredApplication) *identityv1.Application {
	return &identityv1.Application{
		OrganizationId: m.GetOrganizationId(), ApplicationId: m.GetId(), Title: m.GetTitle(), Disabled: m.GetDisabled(), CreatedAt: m.GetCreatedAt(),
	}
}

// CreateApplication implements IdentityService.
func (s *Server) CreateApplication(ctx context.Context, req *identityv1.CreateApplicationRequest) (*identityv1.CreateApplicationResponse, error) {
	owner, err := s.organizationOf(ctx, req.GetOrganizationId())
	if err != nil {
		return nil, err
	}
	m, err := s.store.CreateApplication(ctx, owner, req.GetApplicationId(), req.GetTitle())
	if err != nil {
		return nil, createdOf(err, "application", req.GetApplicationId())
	}
	return &identityv1.CreateApplicationResponse{Application: application(m)}, nil
}

// ListApplications implements IdentityService.
func (s *Server) ListApplications(ctx context.Context, req *identityv1.ListApplicationsRequest) (*identityv1.ListApplicationsResponse, error) {
	owner, err := s.organizationOf(ctx, req.GetOrganizationId())
	if err != nil {
		return nil, err
	}
	all, next, err := pageOf(req, func(after string, limit int) ([]*identityv1.StoredApplication, bool, error) {
		return s.store.Applications(ctx, owner, after, limit)
	}, (*identityv1.StoredApplication).GetId, application)
	if err != nil {
		return nil, err
	}
	return &identityv1.ListApplicationsResponse{Applications: all, NextPageToken: next}, nil
}

// DisableApplication implements IdentityService.
func (s *Server) DisableApplication(ctx context.Context, req *identityv1.DisableApplicationRequest) (*identityv1.DisableApplicationResponse, error) {
	m, err := s.switchApplication(ctx, req, true)
	if err != nil {
		return nil, err
	}
	return &identityv1.DisableApplicationResponse{Application: m}, nil
}

// EnableApplication implements IdentityService.
func (s *Server) EnableApplication(ctx context.Context, req *identityv1.EnableApplicationRequest) (*identityv1.EnableApplicationResponse, error) {
	m, err := s.switchApplication(ctx, req, false)
	if err != nil {
		return nil, err
	}
	return &identityv1.EnableApplicationResponse{Application: m}, nil
}

// namesApplication is a request about one application.
type namesApplication interface {
	GetOrganizationId() string
	GetApplicationId() string
}

func (s *Server) switchApplication(ctx context.Context, req namesApplication, disabled bool) (*identityv1.Application, error) {
	owner, err := s.organizationOf(ctx, req.GetOrganizationId())
	if err != nil {
		return nil, err
	}
	m, err := s.store.SetApplicationDisabled(ctx, owner, req.GetApplicationId(), disabled)
	if err != nil {
		return nil, statusOf(err, unknownOf(owner, "application", req.GetApplicationId()))
	}
	return application(m), nil
}

// RemoveApplication implements IdentityService.
func (s *Server) RemoveApplication(ctx context.Context, req *identityv1.RemoveApplicationRequest) (*identityv1.RemoveApplicationResponse, error) {
	owner, err := s.organizationOf(ctx, req.GetOrganizationId())
	if err != nil {
		return nil, err
	}
	if err := s.store.RemoveApplication(ctx, owner, req.GetApplicationId()); err != nil {
		return nil, statusOf(err, unknownOf(owner, "application", req.GetApplicationId()))
	}
	return &identityv1.RemoveApplicationResponse{}, nil
}
