package identity

import (
	"context"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

func organization(m *identityv1.StoredOrganization) *identityv1.Organization {
	return &identityv1.Organization{OrganizationId: m.GetId(), Title: m.GetTitle(), Disabled: m.GetDisabled(), CreatedAt: m.GetCreatedAt()}
}

// CreateOrganization implements OrganizationService.
func (s *organizations) CreateOrganization(ctx context.Context, req *identityv1.CreateOrganizationRequest) (*identityv1.CreateOrganizationResponse, error) {
	m, err := s.store.CreateOrganization(ctx, req.GetOrganizationId(), req.GetTitle())
	if err != nil {
		return nil, createdOf(err, "organization", req.GetOrganizationId())
	}
	return &identityv1.CreateOrganizationResponse{Organization: organization(m)}, nil
}

// ListOrganizations implements OrganizationService.
func (s *organizations) ListOrganizations(ctx context.Context, req *identityv1.ListOrganizationsRequest) (*identityv1.ListOrganizationsResponse, error) {
	all, next, err := pageOf(req, func(after string, limit int) ([]*identityv1.StoredOrganization, bool, error) {
		return s.store.Organizations(ctx, after, limit)
	}, (*identityv1.StoredOrganization).GetId, organization)
	if err != nil {
		return nil, err
	}
	return &identityv1.ListOrganizationsResponse{Organizations: all, NextPageToken: next}, nil
}

// DisableOrganization implements OrganizationService.
func (s *organizations) DisableOrganization(ctx context.Context, req *identityv1.DisableOrganizationRequest) (*identityv1.DisableOrganizationResponse, error) {
	m, err := s.store.SetOrganizationDisabled(ctx, req.GetOrganizationId(), true)
	if err != nil {
		return nil, statusOf(err, unknown("organization", req.GetOrganizationId()))
	}
	return &identityv1.DisableOrganizationResponse{Organization: organization(m)}, nil
}

// EnableOrganization implements OrganizationService.
func (s *organizations) EnableOrganization(ctx context.Context, req *identityv1.EnableOrganizationRequest) (*identityv1.EnableOrganizationResponse, error) {
	m, err := s.store.SetOrganizationDisabled(ctx, req.GetOrganizationId(), false)
	if err != nil {
		return nil, statusOf(err, unknown("organization", req.GetOrganizationId()))
	}
	return &identityv1.EnableOrganizationResponse{Organization: organization(m)}, nil
}

// RemoveOrganization implements OrganizationService.
func (s *organizations) RemoveOrganization(ctx context.Context, req *identityv1.RemoveOrganizationRequest) (*identityv1.RemoveOrganizationResponse, error) {
	if err := s.store.RemoveOrganization(ctx, req.GetOrganizationId()); err != nil {
		return nil, statusOf(err, unknown("organization", req.GetOrganizationId()))
	}
	return &identityv1.RemoveOrganizationResponse{}, nil
}
