package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/rpc"
	"github.com/sallyport-dev/sallyport/participant"
)

// Register implements RegistryService.
func (s *Server) Register(ctx context.Context, req *registryv1.RegisterRequest) (*registryv1.RegisterResponse, error) {
	return s.register(ctx, rpc.CallerOf(ctx), req)
}

// register is Register for a given caller.
func (s *Server) register(ctx context.Context, who rpc.Caller, req *registryv1.RegisterRequest) (*registryv1.RegisterResponse, error) {
	if err := checkNames(req); err != nil {
		return nil, err
	}
	set, err := s.descriptors(ctx, req)
	if err != nil {
		return nil, err
	}
	overlays := splitOverlays(req.GetOverlays())
	compiled, err := s.compiled.compile(ctx, contract.Source{
		Files: set, Services: req.GetServices(), Zone: req.GetZone(), Overlays: req.GetOverlays(),
	})
	if err != nil {
		return nil, statusOf(err)
	}
	if err := s.permit(who, req, compiled); err != nil {
		return nil, err
	}
	raw, _, err := contract.Normalize(set, req.GetServices())
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}

	r := &registry.Registration{
		InstanceID: req.GetInstanceId(), MachineID: who.Machine, TTL: s.o.DefaultTTL,
		Address: req.GetAddress(), TLSServerName: req.GetTlsServerName(), Locality: req.GetLocality(),
		BuildVersion: req.GetBuildVersion(), Weight: req.GetWeight(),
	}
	if req.GetTtl() != nil {
		r.TTL = req.GetTtl().AsDuration()
	}
	answer := &registryv1.RegisterResponse{Warnings: compiled.Warnings}
	for _, service := range compiled.Services {
		one := registry.ServiceRegistration{
			Key:       registry.Key{Zone: service.Zone, Service: service.Name},
			Overlays:  overlays[service.Name],
			AliasRoot: participant.Root(service.Zone),
		}
		for _, t := range service.Tools {
			one.Tools = append(one.Tools, registry.ToolName{Hash: t.Name, Alias: t.Alias, Function: one.Key.String() + "/" + t.Method})
			answer.Tools = append(answer.Tools, summary(t, hiddenBecause(t, true)))
		}
		if len(service.Tools) == 0 {
			answer.Warnings = append(answer.Warnings, service.Name+": none of its RPCs is exposed, so that it is known but publishes no tool")
		}
		r.Services = append(r.Services, one)
	}
	// Names are judged before anything is written; the store judges them again where it claims them.
	conflicts, err := s.o.Store.Conflicts(ctx, r.Services)
	if err == nil && len(conflicts) > 0 {
		err = &registry.NameError{Conflicts: conflicts}
	}
	if err == nil {
		r.Contract, err = s.o.Store.PutContract(ctx, raw)
	}
	var lease *registry.Lease
	if err == nil {
		lease, err = s.o.Store.Register(ctx, r)
	}
	if err != nil {
		var names *registry.NameError
		if errors.As(err, &names) {
			s.o.Logger.Warn("names of a registration are taken", "machine", who.Machine, "error", err)
		}
		return nil, statusOf(err)
	}
	s.o.Logger.Info("registered", "instance", lease.InstanceID, "machine", who.Machine, "address", r.Address,
		"services", req.GetServices(), "contract", r.Contract, "tools", len(answer.Tools), "ttl", lease.TTL.String())
	answer.InstanceId, answer.Ttl, answer.ContractDigest = lease.InstanceID, durationpb.New(lease.TTL), r.Contract
	return answer, nil
}

// checkNames refuses names that could not be keys, before anything is made of them.
func checkNames(req *registryv1.RegisterRequest) error {
	var problems []rpc.Problem
	for i, name := range req.GetServices() {
		if !protoreflect.FullName(name).IsValid() || len(name) > 512 {
			problems = append(problems, rpc.Problem{Where: fmt.Sprintf("services[%d]", i), What: fmt.Sprintf("%q is not the fully qualified name of a service", name)})
		}
	}
	if req.GetZone() != "" {
		if err := participant.CheckZone(req.GetZone()); err != nil {
			problems = append(problems, rpc.Problem{Where: "zone", What: err.Error()})
		}
	}
	if problems != nil {
		return rpc.Refusal(codes.InvalidArgument, "the request cannot be read", problems)
	}
	return nil
}

// descriptors are the request's, or those that it means by a digest.
func (s *Server) descriptors(ctx context.Context, req *registryv1.RegisterRequest) (*descriptorpb.FileDescriptorSet, error) {
	if req.GetDescriptors() != nil {
		return req.GetDescriptors(), nil
	}
	set, err := s.o.Store.Contract(ctx, req.GetContractDigest())
	if errors.Is(err, registry.ErrNotFound) {
		return nil, status.Errorf(codes.NotFound, "contract %s is not known: send the descriptors", req.GetContractDigest())
	}
	return set, statusOf(err)
}

// permit asks, for each service, whether the caller may host in its zone, and at the address. All refusals are in one
// error.
func (s *Server) permit(who rpc.Caller, req *registryv1.RegisterRequest, c *contract.Contract) error {
	var problems []rpc.Problem
	seen := map[string]bool{}
	for _, service := range c.Services {
		if !participant.MayHost(who.Participant, service.Zone) {
			problems = append(problems, rpc.Problem{Where: service.Name, What: fmt.Sprintf("machine %s, of %s, may not host %s", who.Machine, describe(who.Participant), where(service.Zone))})
			continue
		}
		if seen[service.Zone] {
			continue
		}
		seen[service.Zone] = true
		if err := s.o.Addresses.CheckRegister(service.Zone, req.GetAddress()); err != nil {
			problems = append(problems, rpc.Problem{Where: service.Name, What: err.Error()})
		}
	}
	if problems != nil {
		s.o.Logger.Warn("a registration was refused", "machine", who.Machine, "address", req.GetAddress(), "problems", problems)
		return rpc.Refusal(codes.PermissionDenied, "the registration is not permitted", problems)
	}
	return nil
}

func where(zone string) string {
	if zone == "" {
		return "un-zoned services, which only the platform may"
	}
	return "in zone " + zone
}

// describe names a participant for people.
func describe(p *participant.Participant) string {
	switch {
	case p.GetApplicationId() != "":
		return "application " + p.GetOrganizationId() + "/" + p.GetApplicationId()
	case p.GetOrganizationId() != "":
		return "organization " + p.GetOrganizationId()
	default:
		return "the platform"
	}
}

// splitOverlays gives each service its own.
func splitOverlays(all []*registryv1.Overlay) map[string][]*registryv1.Overlay {
	split := map[string][]*registryv1.Overlay{}
	for _, o := range all {
		service, _, _ := strings.Cut(strings.TrimPrefix(o.GetFunction(), "/"), "/")
		split[service] = append(split[service], o)
	}
	return split
}

// KeepAlive implements RegistryService.
func (s *Server) KeepAlive(ctx context.Context, req *registryv1.KeepAliveRequest) (*registryv1.KeepAliveResponse, error) {
	ttl, err := s.keepAlive(ctx, rpc.CallerOf(ctx), req.GetInstanceId())
	if err != nil {
		return nil, err
	}
	return &registryv1.KeepAliveResponse{Ttl: durationpb.New(ttl)}, nil
}

func (s *Server) keepAlive(ctx context.Context, who rpc.Caller, instance string) (time.Duration, error) {
	ttl, err := s.o.Store.KeepAlive(ctx, who.Machine, instance)
	return ttl, statusOf(err)
}

// Drain implements RegistryService.
func (s *Server) Drain(ctx context.Context, req *registryv1.DrainRequest) (*registryv1.DrainResponse, error) {
	who := rpc.CallerOf(ctx)
	if err := s.o.Store.Drain(ctx, who.Machine, req.GetInstanceId()); err != nil {
		return nil, statusOf(err)
	}
	s.o.Logger.Info("draining", "instance", req.GetInstanceId(), "machine", who.Machine)
	return &registryv1.DrainResponse{}, nil
}

// Deregister implements RegistryService.
func (s *Server) Deregister(ctx context.Context, req *registryv1.DeregisterRequest) (*registryv1.DeregisterResponse, error) {
	if err := s.deregister(ctx, rpc.CallerOf(ctx), req.GetInstanceId()); err != nil {
		return nil, err
	}
	return &registryv1.DeregisterResponse{}, nil
}

func (s *Server) deregister(ctx context.Context, who rpc.Caller, instance string) error {
	if err := s.o.Store.Deregister(ctx, who.Machine, instance); err != nil {
		return statusOf(err)
	}
	s.o.Logger.Info("deregistered", "instance", instance, "machine", who.Machine)
	return nil
}
