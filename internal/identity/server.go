package identity

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/rpc"
)

// Options are what a server works with.
type Options struct {
	// Store keeps the identities. Required.
	Store *registry.Store
}

// Server implements IdentityService and OrganizationService. It is safe for concurrent use, holds no state, and any
// number of servers may work on one store.
type Server struct {
	identityv1.UnimplementedIdentityServiceServer
	organizations

	store *registry.Store
}

// organizations is OrganizationService, apart from what both services would have in common by name.
type organizations struct {
	identityv1.UnimplementedOrganizationServiceServer

	store *registry.Store
}

// New makes a server. Its RPCs expect a caller that the interceptors of package rpc established and judged.
func New(o Options) *Server {
	return &Server{organizations: organizations{store: o.Store}, store: o.Store}
}

// Attach adds both services to a gRPC server, which must be made with the interceptors of a [rpc.Door].
func (s *Server) Attach(to grpc.ServiceRegistrar) {
	identityv1.RegisterIdentityServiceServer(to, s)
	identityv1.RegisterOrganizationServiceServer(to, &s.organizations)
}

// Platform names the platform itself where an organization could be named: a caller who is an organization is refused
// then, and does not do to itself what was meant for the platform.
const Platform = "-"

// scope gives the organization that a request is about, empty for the platform itself. An organization names itself or
// nobody; any other is not known to it. The platform names one that is stored, or itself, or nobody.
func (s *Server) scope(ctx context.Context, named string) (string, error) {
	who := rpc.CallerOf(ctx).Participant
	if who.GetKind() == participantv1.Kind_KIND_ORGANIZATION {
		if named == Platform {
			return "", status.Errorf(codes.PermissionDenied, "what is the platform's own is not for organization %s, which you are",
				who.GetOrganizationId())
		}
		if named != "" && named != who.GetOrganizationId() {
			return "", unknown("organization", named)
		}
		return who.GetOrganizationId(), nil
	}
	if who.GetKind() != participantv1.Kind_KIND_SYSTEM { // nobody else comes this far
		return "", errNobody
	}
	if named == "" || named == Platform {
		return "", nil
	}
	if _, err := s.store.Organization(ctx, named); err != nil {
		return "", statusOf(err, unknown("organization", named))
	}
	return named, nil
}

// organizationOf is scope for what only organizations have.
func (s *Server) organizationOf(ctx context.Context, named string) (string, error) {
	organization, err := s.scope(ctx, named)
	if err == nil && organization == "" {
		err = errUnnamed
	}
	return organization, err
}

// isOrganization reports whether an organization calls, which sees less than the platform.
func isOrganization(ctx context.Context) bool {
	return rpc.CallerOf(ctx).Participant.GetKind() == participantv1.Kind_KIND_ORGANIZATION
}
