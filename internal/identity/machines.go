package identity

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/rpc"
	"github.com/sallyport-dev/sallyport/participant"
)

// machine shows a machine: everything but the secret's hash.
func machine(m *registryv1.StoredMachine) *identityv1.Machine {
	p := m.GetParticipant()
	shown := &identityv1.Machine{
		OrganizationId: p.GetOrganizationId(), ApplicationId: p.GetApplicationId(), MachineId: m.GetId(),
		Kind: identityv1.MachineKind(m.GetKind()), Roles: p.GetRoles(), Disabled: m.GetDisabled(),
		CreatedAt: m.GetCreatedAt(), SecretChangedAt: m.GetSecretChangedAt(),
	}
	shown.Etag = etagOf(shown)
	return shown
}

// CreateMachine implements IdentityService.
func (s *Server) CreateMachine(ctx context.Context, req *identityv1.CreateMachineRequest) (*identityv1.CreateMachineResponse, error) {
	owner, err := s.scope(ctx, req.GetOrganizationId())
	if err != nil {
		return nil, err
	}
	// Ids are one name space for everybody: an organization has a part of it.
	if isOrganization(ctx) && !strings.HasPrefix(req.GetMachineId(), owner+".") {
		return nil, status.Errorf(codes.InvalidArgument, "machine_id: the machines of organization %s are called %s.<name>", owner, owner)
	}
	if of, _, dotted := strings.Cut(req.GetMachineId(), "."); dotted && of != owner {
		if _, err := s.store.Organization(ctx, of); err == nil {
			return nil, status.Errorf(codes.InvalidArgument, "machine_id: %s.… are the machines of organization %s: choose another name", of, of)
		} else if !errors.Is(err, registry.ErrNotFound) {
			return nil, rpc.StatusOf(err)
		}
	}
	if req.GetApplicationId() != "" && owner == "" {
		return nil, errUnnamed
	}
	p := participant.Of(owner, req.GetApplicationId(), "")
	p.Roles = req.GetRoles()
	g, err := s.giver(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.mayGive(p.GetRoles()); err != nil {
		return nil, err
	}
	m, secret, err := s.store.AddMachine(ctx, registryv1.MachineKind(req.GetKind()), p, req.GetMachineId())
	if err != nil {
		return nil, createdOf(err, "machine", req.GetMachineId())
	}
	return &identityv1.CreateMachineResponse{Machine: machine(m), Secret: secret}, nil
}

// ListMachines implements IdentityService.
func (s *Server) ListMachines(ctx context.Context, req *identityv1.ListMachinesRequest) (*identityv1.ListMachinesResponse, error) {
	owner, err := s.scope(ctx, req.GetOrganizationId())
	if err != nil {
		return nil, err
	}
	all, next, err := pageOf(req, func(after string, limit int) ([]*registryv1.StoredMachine, bool, error) {
		return s.store.MachinesOf(ctx, owner, after, limit)
	}, (*registryv1.StoredMachine).GetId, machine)
	if err != nil {
		return nil, err
	}
	return &identityv1.ListMachinesResponse{Machines: all, NextPageToken: next}, nil
}

// RotateMachine implements IdentityService.
func (s *Server) RotateMachine(ctx context.Context, req *identityv1.RotateMachineRequest) (*identityv1.RotateMachineResponse, error) {
	var secret string
	m, err := s.changeMachine(ctx, req, nil, false, func(permit registry.Permit[*registryv1.StoredMachine]) (m *registryv1.StoredMachine, err error) {
		m, secret, err = s.store.ReplaceSecret(ctx, req.GetMachineId(), permit)
		return m, err
	})
	if err != nil {
		return nil, err
	}
	return &identityv1.RotateMachineResponse{Machine: m, Secret: secret}, nil
}

// SetMachineRoles implements IdentityService.
func (s *Server) SetMachineRoles(ctx context.Context, req *identityv1.SetMachineRolesRequest) (*identityv1.SetMachineRolesResponse, error) {
	m, err := s.changeMachine(ctx, req, req.GetRoles(), true, func(permit registry.Permit[*registryv1.StoredMachine]) (*registryv1.StoredMachine, error) {
		return s.store.SetMachineRoles(ctx, req.GetMachineId(), req.GetRoles(), permit, func(m *registryv1.StoredMachine) error {
			becomes := proto.CloneOf(m)
			becomes.Participant.Roles = req.GetRoles()
			return unlessChanged(req.GetEtag(), "machine", req.GetMachineId(), machine(m), machine(becomes))
		})
	})
	if err != nil {
		return nil, err
	}
	return &identityv1.SetMachineRolesResponse{Machine: m}, nil
}

// DisableMachine implements IdentityService.
func (s *Server) DisableMachine(ctx context.Context, req *identityv1.DisableMachineRequest) (*identityv1.DisableMachineResponse, error) {
	m, err := s.switchMachine(ctx, req, true)
	if err != nil {
		return nil, err
	}
	return &identityv1.DisableMachineResponse{Machine: m}, nil
}

// EnableMachine implements IdentityService.
func (s *Server) EnableMachine(ctx context.Context, req *identityv1.EnableMachineRequest) (*identityv1.EnableMachineResponse, error) {
	m, err := s.switchMachine(ctx, req, false)
	if err != nil {
		return nil, err
	}
	return &identityv1.EnableMachineResponse{Machine: m}, nil
}

// RemoveMachine implements IdentityService.
func (s *Server) RemoveMachine(ctx context.Context, req *identityv1.RemoveMachineRequest) (*identityv1.RemoveMachineResponse, error) {
	_, err := s.changeMachine(ctx, req, nil, true, func(permit registry.Permit[*registryv1.StoredMachine]) (*registryv1.StoredMachine, error) {
		return nil, s.store.RemoveMachine(ctx, req.GetMachineId(), permit)
	})
	if err != nil {
		return nil, err
	}
	return &identityv1.RemoveMachineResponse{}, nil
}

// namesMachine is a request about one machine.
type namesMachine interface {
	GetOrganizationId() string
	GetMachineId() string
}

func (s *Server) switchMachine(ctx context.Context, req namesMachine, disabled bool) (*identityv1.Machine, error) {
	return s.changeMachine(ctx, req, nil, disabled, func(permit registry.Permit[*registryv1.StoredMachine]) (*registryv1.StoredMachine, error) {
		return s.store.SetMachineDisabled(ctx, req.GetMachineId(), disabled, permit)
	})
}

// changeMachine changes a machine of the caller's scope, if the caller may give the roles and may change the machine,
// which with takes has these roles alone from then on, or none.
func (s *Server) changeMachine(ctx context.Context, req namesMachine, gives []string, takes bool,
	change func(registry.Permit[*registryv1.StoredMachine]) (*registryv1.StoredMachine, error)) (*identityv1.Machine, error) {
	owner, err := s.scope(ctx, req.GetOrganizationId())
	if err != nil {
		return nil, err
	}
	g, err := s.giver(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.mayGive(gives); err != nil {
		return nil, err
	}
	missing := unknownOf(owner, "machine", req.GetMachineId())
	m, err := change(func(m *registryv1.StoredMachine) error {
		if m.GetParticipant().GetOrganizationId() != owner {
			return missing
		}
		if err := g.mayChange(m.GetParticipant().GetRoles()); err != nil || !takes {
			return err
		}
		return g.mayTake(owner, m.GetId(), m.GetParticipant().GetRoles(), gives)
	})
	if err != nil {
		return nil, statusOf(err, missing)
	}
	return machine(m), nil
}
