package service_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/service"
)

func TestRun_answersTheVouchedForAlone(t *testing.T) {
	r := startRegistry(t)
	p := run(t, func(s grpc.ServiceRegistrar) {
		registerPlain(s)
		reflection.Register(s.(*grpc.Server))
	}, service.Registry(r.address), r.acmeHost(t))
	conn := dial(t, p.registered(t).Address)
	client := ordersv1.NewOrderServiceClient(conn)
	edge := r.edgeSigner(t)

	const findMethod, watchMethod = ordersv1.OrderService_FindById_FullMethodName, ordersv1.OrderService_Watch_FullMethodName
	audience := assertion.Audience(ordersZone, ordersName)
	sign := func(s *assertion.Signer, method, audience string, at time.Time) string {
		token, err := s.Sign(participant.Application("acme-org", "orders-app", "tester"), method, audience, at)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	forged := signer(t, edge.Kid(), make([]byte, 32))
	stranger := signer(t, "stranger", make([]byte, 32))
	now := time.Now()
	for _, row := range []struct {
		name   string
		tokens func(method string) []string
		code   codes.Code
	}{
		{"the edge's word", func(m string) []string { return []string{sign(edge, m, audience, now)} }, codes.OK},
		{"a word from half a minute ahead", func(m string) []string { return []string{sign(edge, m, audience, now.Add(20*time.Second))} }, codes.OK},
		{"none", func(string) []string { return nil }, codes.Unauthenticated},
		{"an empty one", func(string) []string { return []string{""} }, codes.Unauthenticated},
		{"two", func(m string) []string {
			token := sign(edge, m, audience, now)
			return []string{token, token}
		}, codes.Unauthenticated},
		{"something else", func(string) []string { return []string{"a.b.c"} }, codes.Unauthenticated},
		{"for another audience", func(m string) []string { return []string{sign(edge, m, "app.acme-org.other~"+ordersName, now)} }, codes.Unauthenticated},
		{"for the service without its zone", func(m string) []string { return []string{sign(edge, m, ordersName, now)} }, codes.Unauthenticated},
		{"for another method", func(string) []string {
			return []string{sign(edge, ordersv1.OrderService_Cancel_FullMethodName, audience, now)}
		}, codes.Unauthenticated},
		{"expired", func(m string) []string { return []string{sign(edge, m, audience, now.Add(-3*time.Minute))} }, codes.Unauthenticated},
		{"from the future", func(m string) []string { return []string{sign(edge, m, audience, now.Add(2*time.Minute))} }, codes.Unauthenticated},
		{"by another key under the edge's id", func(m string) []string { return []string{sign(forged, m, audience, now)} }, codes.Unauthenticated},
		{"by a key that nobody published", func(m string) []string { return []string{sign(stranger, m, audience, now)} }, codes.Unauthenticated},
	} {
		with := func(method string) context.Context {
			ctx := testContext(t)
			for _, token := range row.tokens(method) {
				ctx = metadata.AppendToOutgoingContext(ctx, assertion.AssertionKey, token)
			}
			return ctx
		}
		t.Run("unary, "+row.name, func(t *testing.T) {
			response, err := client.FindById(with(findMethod), &ordersv1.FindByIdRequest{OrderId: "ORD-1042"})
			if status.Code(err) != row.code {
				t.Fatalf("%v, want %v", err, row.code)
			}
			if err == nil && response.GetOrder().GetPlacedBy() != "tester" {
				t.Errorf("the handler knows %q", response.GetOrder().GetPlacedBy())
			}
		})
		t.Run("stream, "+row.name, func(t *testing.T) {
			stream, err := client.Watch(with(watchMethod), &ordersv1.WatchRequest{OrderId: "ORD-1042"})
			if err != nil {
				t.Fatal(err)
			}
			response, err := stream.Recv()
			if status.Code(err) != row.code {
				t.Fatalf("%v, want %v", err, row.code)
			}
			if err == nil && response.GetOrder().GetPlacedBy() != "tester" {
				t.Errorf("the handler knows %q", response.GetOrder().GetPlacedBy())
			}
		})
	}

	t.Run("health asks nobody who calls", func(t *testing.T) {
		if _, err := healthv1.NewHealthClient(conn).Check(testContext(t), &healthv1.HealthCheckRequest{}); err != nil {
			t.Error(err)
		}
		watch, err := healthv1.NewHealthClient(conn).Watch(testContext(t), &healthv1.HealthCheckRequest{})
		if err == nil {
			_, err = watch.Recv()
		}
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("reflection asks nobody who calls", func(t *testing.T) {
		stream, err := reflectionv1.NewServerReflectionClient(conn).ServerReflectionInfo(testContext(t))
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&reflectionv1.ServerReflectionRequest{
			MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{},
		}); err != nil {
			t.Fatal(err)
		}
		if response, err := stream.Recv(); err != nil || len(response.GetListServicesResponse().GetService()) == 0 {
			t.Errorf("%v, %v", response, err)
		}
	})
}

func TestRun_asksForKeysThatItDoesNotKnow(t *testing.T) {
	r := startRegistry(t)
	p := run(t, registerPlain, service.Registry(r.address), r.acmeHost(t))
	conn := dial(t, p.registered(t).Address)
	if _, err := find(t, conn, r.edgeSigner(t)); err != nil {
		t.Fatal(err)
	}
	asked := r.keyCalls.Load()
	// A key that came after the registration, as in a rotation.
	next := r.addKey(t, "next")
	if _, err := find(t, conn, next); err != nil {
		t.Errorf("a call under the new key: %v", err)
	}
	if got := r.keyCalls.Load(); got != asked+1 {
		t.Errorf("asked %d times for the new key, want once", got-asked)
	}
	if _, err := find(t, conn, r.edgeSigner(t)); err != nil {
		t.Errorf("a call under the old key: %v", err)
	}

	// Whoever makes up key ids does not make the process ask each time.
	asked = r.keyCalls.Load()
	const made = 200
	for i := range made {
		if _, err := find(t, conn, signer(t, fmt.Sprintf("made-up-%d", i), make([]byte, 32))); status.Code(err) != codes.Unauthenticated {
			t.Fatalf("a made-up key: %v", err)
		}
	}
	if got := r.keyCalls.Load() - asked; got > made/2 {
		t.Errorf("%d made-up ids made it ask %d times", made, got)
	}
}

func TestTrustEveryCaller(t *testing.T) {
	r := startRegistry(t)
	p := run(t, newReleasedOrders().register, service.Registry(r.address), r.acmeHost(t), service.TrustEveryCaller())
	client := ordersv1.NewOrderServiceClient(dial(t, p.registered(t).Address))
	if _, err := client.FindById(testContext(t), &ordersv1.FindByIdRequest{OrderId: "ORD-1042"}); err != nil {
		t.Error(err)
	}
}

// newReleasedOrders lets every call go at once.
func newReleasedOrders() *gatedOrders {
	g := newGatedOrders()
	close(g.release)
	return g
}
