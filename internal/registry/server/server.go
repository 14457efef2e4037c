// Package server is the registry's API: sallyport.registry.v1.RegistryService over gRPC and REST, and the process that
// serves it.
//
// In come registrations of hosts and questions of everybody else; out go guarded writes to the store and answers from
// the newest view. This is where a registration is judged: who may host in the zone, whether the address is allowed,
// and, with the same compiler that the edge uses, whether the contract can be published. It does not know how things
// lie in etcd (package registry), nor MCP.
//
// The order of a registration: the message's own rules, the caller, the descriptors, the contract, zones and
// addresses, names. Each step reports everything that it finds at once.
package server

import (
	"log/slog"
	"time"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/rpc"
	"github.com/sallyport-dev/sallyport/participant"
)

// defaultTTL is a lease's time to live where nobody says otherwise (registry.md, "Liveness").
const defaultTTL = 15 * time.Second

// AddressPolicy says which addresses may be registered in which zone; address.Policy is one.
type AddressPolicy interface {
	CheckRegister(zone, address string) error
}

// Options are what a server works with. Store, Watcher and Addresses are required.
type Options struct {
	Store   *registry.Store
	Watcher *registry.Watcher
	// Rules decide what a caller of the read RPCs is shown.
	Rules     participant.Rules
	Addresses AddressPolicy
	// DefaultTTL is the lease of a process that asks for none. 0 means 15 s.
	DefaultTTL time.Duration
	// Logger hears of registrations, farewells and refused names. Nil discards.
	Logger *slog.Logger
}

// Server implements RegistryService. It is safe for concurrent use, and any number of servers may work on one store.
type Server struct {
	registryv1.UnimplementedRegistryServiceServer

	o        Options
	door     *rpc.Door
	compiled *cache
}

// New makes a server. Its RPCs expect a caller that [Server.Interceptors] established.
func New(o Options) *Server {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.DefaultTTL <= 0 {
		o.DefaultTTL = defaultTTL
	}
	return &Server{
		o:        o,
		door:     rpc.NewDoor(rpc.Options{Watcher: o.Watcher, Needs: needs, Logger: o.Logger}),
		compiled: newCache(o.Store),
	}
}

// Attach adds the service to a gRPC server, which must be made with [Server.Interceptors].
func (s *Server) Attach(to grpc.ServiceRegistrar) { registryv1.RegisterRegistryServiceServer(to, s) }

// Interceptors are what each call passes first: a fence for panics, a bound on time, the caller's identity, what the RPC
// declares, the message's own rules. They serve other services of the registry as well.
func (s *Server) Interceptors() grpc.ServerOption { return s.door.Interceptors() }

// Metadata under which a machine proves who it is. Over REST they are the headers `clientId` and `clientSecret`.
const (
	ClientIDKey     = rpc.ClientIDKey
	ClientSecretKey = rpc.ClientSecretKey
)

// needs lists what is not for every machine and for whoever the edge vouches for.
var needs = map[string]rpc.Need{
	registryv1.RegistryService_Register_FullMethodName:         rpc.Hosts,
	registryv1.RegistryService_KeepAlive_FullMethodName:        rpc.Hosts,
	registryv1.RegistryService_Drain_FullMethodName:            rpc.Hosts,
	registryv1.RegistryService_Deregister_FullMethodName:       rpc.Hosts,
	registryv1.RegistryService_GetAssertionKeys_FullMethodName: rpc.Everyone,
	healthv1.Health_Check_FullMethodName:                       rpc.Everyone,
	healthv1.Health_List_FullMethodName:                        rpc.Everyone,
}
