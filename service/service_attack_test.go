package service_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion/assertiontest"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/service"
)

// unverified is what every attacker is told, whatever was wrong.
const unverified = "the call carries no valid participant assertion for this service: call it through an edge"

// guardedOrders counts who got in, and remembers as whom.
type guardedOrders struct {
	ordersv1.UnimplementedOrderServiceServer
	reached atomic.Int64
	last    atomic.Pointer[participant.Participant]
}

func (g *guardedOrders) register(s grpc.ServiceRegistrar) { ordersv1.RegisterOrderServiceServer(s, g) }

func (g *guardedOrders) note(ctx context.Context) {
	g.reached.Add(1)
	p, _ := participant.FromContext(ctx)
	g.last.Store(p)
}

func (g *guardedOrders) FindById(ctx context.Context, _ *ordersv1.FindByIdRequest) (*ordersv1.FindByIdResponse, error) {
	g.note(ctx)
	return &ordersv1.FindByIdResponse{}, nil
}

func (g *guardedOrders) Watch(_ *ordersv1.WatchRequest, stream grpc.ServerStreamingServer[ordersv1.WatchResponse]) error {
	g.note(stream.Context())
	return stream.Send(&ordersv1.WatchResponse{})
}

// knock is one way to call the service.
type knock struct {
	name, method, other string
	call                func(context.Context, ordersv1.OrderServiceClient) error
}

var knocks = []knock{
	{"unary", ordersv1.OrderService_FindById_FullMethodName, ordersv1.OrderService_Cancel_FullMethodName,
		func(ctx context.Context, c ordersv1.OrderServiceClient) error {
			_, err := c.FindById(ctx, &ordersv1.FindByIdRequest{OrderId: "ORD-1042"})
			return err
		}},
	{"stream", ordersv1.OrderService_Watch_FullMethodName, ordersv1.OrderService_FindById_FullMethodName,
		func(ctx context.Context, c ordersv1.OrderServiceClient) error {
			stream, err := c.Watch(ctx, &ordersv1.WatchRequest{OrderId: "ORD-1042"})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		}},
}

func TestRun_believesTheAssertionAlone(t *testing.T) {
	r := startRegistry(t)
	g := new(guardedOrders)
	p := run(t, g.register, service.Registry(r.address), r.acmeHost(t))
	client := ordersv1.NewOrderServiceClient(dial(t, p.registered(t).Address))
	key := r.watcher.View().AssertionKeys[0]
	for _, k := range knocks {
		call := assertiontest.Call{
			Kid: key.GetKid(), Seed: key.GetSeed(), Zone: ordersZone, Service: ordersName, FullMethod: k.method, OtherMethod: k.other,
			Participant: participant.Application("acme-org", "orders-app", "tester"), Now: time.Now(),
		}
		for _, sent := range call.Believed(t) {
			t.Run(k.name+"/"+sent.Name, func(t *testing.T) {
				before := g.reached.Load()
				if err := k.call(metadata.NewOutgoingContext(testContext(t), sent.Metadata), client); err != nil {
					t.Fatal(err)
				}
				if got := g.last.Load(); g.reached.Load() != before+1 || got.GetId() != "tester" || got.GetOrganizationId() != "acme-org" {
					t.Errorf("the handler was called by %v", got)
				}
			})
		}
		for _, sent := range call.Forged(t) {
			t.Run(k.name+"/"+sent.Name, func(t *testing.T) {
				before := g.reached.Load()
				err := k.call(metadata.NewOutgoingContext(testContext(t), sent.Metadata), client)
				if s := status.Convert(err); s.Code() != codes.Unauthenticated || s.Message() != unverified || len(s.Details()) != 0 {
					t.Errorf("answered %v, %v", err, s.Details())
				}
				if g.reached.Load() != before {
					t.Errorf("the handler was called by %v", g.last.Load())
				}
			})
		}
	}
}

// A server that answers methods which nobody registered verifies those calls like others, also where they have names
// that sound like gRPC's own services.
func TestService_guardsTheUnknownServiceHandler(t *testing.T) {
	r := startRegistry(t)
	var reached atomic.Int64
	p := run(t, registerPlain, service.Registry(r.address), r.acmeHost(t),
		service.ServerOptions(grpc.UnknownServiceHandler(func(any, grpc.ServerStream) error {
			reached.Add(1)
			return status.Error(codes.Internal, "reached")
		})))
	conn := dial(t, p.registered(t).Address)
	for _, method := range []string{
		"/acme.unknown.v1.Service/Do", "/grpc.health.evil.Service/Do", "/grpc.health./Do", "/grpc.reflection.v9.Service/Do",
		"/grpc.health.v1.Health/acme.orders.v1.OrderService/Do", "/grpc.health.v1.Health/Do", "//grpc.health.v1.Health/Check",
	} {
		var out ordersv1.FindByIdResponse
		err := conn.Invoke(testContext(t), method, &ordersv1.FindByIdRequest{}, &out)
		if reached.Load() != 0 || status.Code(err) != codes.Unauthenticated || status.Convert(err).Message() != unverified {
			t.Errorf("%s: %v", method, err)
			reached.Store(0)
		}
	}
}
