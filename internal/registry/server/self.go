package server

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sallyport-dev/sallyport/comments"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry/rpc"
	"github.com/sallyport-dev/sallyport/participant"
)

// self is the registry as a caller of its own API: the platform, and no machine. No machine can have an empty id.
var self = rpc.Caller{Participant: participant.System("registry")}

// selfRequest registers RegistryService itself at an address, so that its read RPCs are tools in `system-api`.
func selfRequest(address string, tls bool) *registryv1.RegisterRequest {
	req := &registryv1.RegisterRequest{
		Services: []string{registryv1.RegistryService_ServiceDesc.ServiceName},
		Contract: &registryv1.RegisterRequest_Descriptors{Descriptors: comments.Collect(registryv1.File_sallyport_registry_v1_registry_proto)},
		Address:  address,
	}
	if host, _, err := net.SplitHostPort(address); err == nil && tls {
		req.TlsServerName = host
	}
	return req
}

// serveSelf keeps the registry registered until the context ends, and then takes it out. It reports on registered what
// became of the first registration. A registration that the registry itself refuses is final: its configuration must
// change.
func (s *Server) serveSelf(ctx context.Context, req *registryv1.RegisterRequest, registered chan<- error) {
	const again = time.Second
	var ttl time.Duration // 0: not registered
	report := func(err error) {
		if registered != nil {
			registered <- err
			registered = nil
		}
	}
	for ctx.Err() == nil {
		wait := again
		if ttl == 0 {
			answer, err := s.register(ctx, self, req)
			switch {
			case err == nil:
				req.InstanceId, ttl = answer.GetInstanceId(), answer.GetTtl().AsDuration()
				report(nil)
			case isRefusal(err):
				report(fmt.Errorf("register the registry itself at the advertised address: %w", err))
				return
			default:
				s.o.Logger.Warn("the registry could not register itself; trying again", "error", err, "after", again.String())
			}
		} else if _, err := s.keepAlive(ctx, self, req.GetInstanceId()); status.Code(err) == codes.NotFound {
			s.o.Logger.Warn("the registry's own lease was lost; registering again", "instance", req.GetInstanceId())
			ttl, wait = 0, 0
		} else if err != nil {
			s.o.Logger.Warn("the registry's own lease could not be renewed", "error", err)
		}
		if ttl > 0 {
			wait = ttl/3 - rand.N(ttl/30) // jitter: replicas that started together do not renew together
		}
		pause := time.NewTimer(wait)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
	report(ctx.Err())
	if req.GetInstanceId() == "" {
		return
	}
	farewell, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if err := s.deregister(farewell, self, req.GetInstanceId()); err != nil {
		s.o.Logger.Warn("the registry could not deregister itself; its lease lapses", "error", err)
	}
}

// isRefusal tells what trying again does not mend.
func isRefusal(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.PermissionDenied, codes.FailedPrecondition:
		return true
	}
	return false
}
