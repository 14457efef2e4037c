package server

import (
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/rpc"
	"github.com/sallyport-dev/sallyport/participant"
)

// reached lists, in order, the known services that the caller reaches, within a zone if one is named, and of one name
// if one is given.
func (s *Server) reached(ctx context.Context, view *registry.View, zone, service string) []registry.Key {
	who := rpc.CallerOf(ctx)
	reaches := map[string]bool{}
	var all []registry.Key
	for k := range view.Services {
		if zone != "" && !participant.Within(k.Zone, zone) || service != "" && k.Service != service {
			continue
		}
		yes, judged := reaches[k.Zone]
		if !judged {
			yes = s.o.Rules.Reaches(who.Participant, k.Zone)
			reaches[k.Zone] = yes
		}
		if yes {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, registry.Key.Compare)
	return all
}

// ListZones implements RegistryService.
func (s *Server) ListZones(ctx context.Context, req *registryv1.ListZonesRequest) (*registryv1.ListZonesResponse, error) {
	view := s.o.Watcher.View()
	zones := map[string]*registryv1.ZoneSummary{}
	for _, k := range s.reached(ctx, view, "", "") {
		z := zones[k.Zone]
		if z == nil {
			z = &registryv1.ZoneSummary{Zone: k.Zone}
			zones[k.Zone] = z
		}
		z.Services++
		z.Instances += online(view.Instances[k])
	}
	p, err := rpc.NewPage(req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	answer := &registryv1.ListZonesResponse{}
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		if p.Take(zone) {
			answer.Zones = append(answer.Zones, zones[zone])
		}
	}
	answer.NextPageToken = p.Next()
	return answer, nil
}

// online counts the instances that take calls.
func online(all []*registryv1.StoredInstance) (n int32) {
	for _, i := range all {
		if !i.GetDraining() {
			n++
		}
	}
	return n
}

// ListServices implements RegistryService.
func (s *Server) ListServices(ctx context.Context, req *registryv1.ListServicesRequest) (*registryv1.ListServicesResponse, error) {
	view := s.o.Watcher.View()
	p, err := rpc.NewPage(req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	answer := &registryv1.ListServicesResponse{}
	for _, k := range s.reached(ctx, view, req.GetZone(), "") {
		if !p.Take(k.Zone, k.Service) {
			continue
		}
		published := view.Published(k)
		one := &registryv1.ServiceSummary{
			Zone: k.Zone, Service: k.Service, ContractDigest: published.GetDigest(),
			Instances: online(view.Instances[k]), FirstRegisteredAt: view.Services[k].GetFirstRegisteredAt(),
		}
		// A contract that does not compile has no title and no tools; ListTools says why.
		service, err := s.compiled.service(ctx, k, published)
		switch {
		case err == nil:
			one.Title, one.Tools = service.Title, int32(len(service.Tools))
		case !isBroken(err):
			return nil, statusOf(err)
		}
		answer.Services = append(answer.Services, one)
	}
	answer.NextPageToken = p.Next()
	return answer, nil
}

// ListInstances implements RegistryService.
func (s *Server) ListInstances(ctx context.Context, req *registryv1.ListInstancesRequest) (*registryv1.ListInstancesResponse, error) {
	view := s.o.Watcher.View()
	p, err := rpc.NewPage(req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	answer := &registryv1.ListInstancesResponse{}
	for _, k := range s.reached(ctx, view, req.GetZone(), req.GetService()) {
		for _, i := range view.Instances[k] {
			if !p.Take(k.Zone, k.Service, i.GetInstanceId()) {
				continue
			}
			answer.Instances = append(answer.Instances, &registryv1.InstanceSummary{
				Zone: k.Zone, Service: k.Service, InstanceId: i.GetInstanceId(), Address: i.GetAddress(),
				Draining: i.GetDraining(), BuildVersion: i.GetBuildVersion(), Locality: i.GetLocality(),
				ContractDigest: i.GetContractDigest(), MachineId: i.GetMachineId(), RegisteredAt: i.GetRegisteredAt(),
			})
		}
	}
	answer.NextPageToken = p.Next()
	return answer, nil
}

// GetContract implements RegistryService. A contract describes all services of a process; who does not reach all of
// them is not shown it, and cannot tell that it exists.
func (s *Server) GetContract(ctx context.Context, req *registryv1.GetContractRequest) (*registryv1.GetContractResponse, error) {
	view, who := s.o.Watcher.View(), rpc.CallerOf(ctx)
	found := false
	for k, service := range view.Services {
		for _, c := range service.GetContracts() {
			if c.GetDigest() != req.GetDigest() {
				continue
			}
			if found = true; !s.o.Rules.Reaches(who.Participant, k.Zone) {
				return nil, errNoContract(req.GetDigest())
			}
		}
	}
	if !found {
		return nil, errNoContract(req.GetDigest())
	}
	raw, err := s.o.Store.RawContract(ctx, req.GetDigest())
	if err != nil {
		return nil, statusOf(err)
	}
	return &registryv1.GetContractResponse{FileDescriptorSet: raw}, nil
}

func errNoContract(digest string) error {
	return status.Errorf(codes.NotFound, "no contract %s is known to you", digest)
}

// GetAssertionKeys implements RegistryService.
func (s *Server) GetAssertionKeys(context.Context, *registryv1.GetAssertionKeysRequest) (*registryv1.GetAssertionKeysResponse, error) {
	answer := &registryv1.GetAssertionKeysResponse{}
	for _, stored := range s.o.Watcher.View().AssertionKeys {
		public, err := assertion.EncodeKey(stored.GetKid(), stored.GetSeed())
		if err != nil {
			s.o.Logger.Error("a stored assertion key cannot be used", "error", err)
			continue
		}
		answer.Keys = append(answer.Keys, public)
	}
	return answer, nil
}

// parseFunction takes a stored function, `zone~package.Service/Method`, apart.
func parseFunction(function string) (k registry.Key, method string) {
	qualified, method, _ := strings.Cut(function, "/")
	zone, service, zoned := strings.Cut(qualified, "~")
	if !zoned {
		zone, service = "", qualified
	}
	return registry.Key{Zone: zone, Service: service}, method
}
