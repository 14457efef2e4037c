package service

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/participant"
)

type anyOrders struct {
	ordersv1.UnimplementedOrderServiceServer
}

func (anyOrders) FindById(context.Context, *ordersv1.FindByIdRequest) (*ordersv1.FindByIdResponse, error) {
	return &ordersv1.FindByIdResponse{}, nil
}

// A token that was good is worth nothing when its minute and the skew are over, though it was verified, and is
// remembered, before. A key that is withdrawn is worth nothing half a minute later.
func TestCallers_byTheClock(t *testing.T) {
	const kid, zone = "edge", "app.acme-org.orders-app"
	seed := make([]byte, ed25519.SeedSize)
	issued := time.Unix(1_800_000_000, 0)
	var clock atomic.Pointer[time.Time]
	set := func(at time.Time) { clock.Store(&at) }
	published := &withdrawable{keys: assertion.Keys{kid: ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)}}
	c := &callers{
		verifier: assertion.NewVerifier(published, func() time.Time { return *clock.Load() }), zone: zone,
		logger: slog.New(slog.DiscardHandler),
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(c.unary))
	ordersv1.RegisterOrderServiceServer(server, anyOrders{})
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	t.Cleanup(func() { server.Stop(); serving.Wait() })
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })

	signer, err := assertion.NewSigner(kid, seed)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signer.Sign(participant.System("ops"), ordersv1.OrderService_FindById_FullMethodName,
		assertion.Audience(zone, "acme.orders.v1.OrderService"), issued)
	if err != nil {
		t.Fatal(err)
	}
	call := func() codes.Code {
		ctx := metadata.AppendToOutgoingContext(t.Context(), assertion.AssertionKey, token)
		_, err := ordersv1.NewOrderServiceClient(conn).FindById(ctx, &ordersv1.FindByIdRequest{OrderId: "ORD-1042"})
		return status.Code(err)
	}
	for _, row := range []struct {
		name  string
		after time.Duration
		code  codes.Code
	}{
		{"further in the future than clocks may differ", -assertion.Skew - time.Second, codes.Unauthenticated},
		{"as far in the future as clocks may differ", -assertion.Skew, codes.OK},
		{"when it was issued", 0, codes.OK},
		{"again", time.Second, codes.OK},
		{"at the end of its minute", assertion.Lifetime, codes.OK},
		{"in the last second of the skew", assertion.Lifetime + assertion.Skew - time.Second, codes.OK},
		{"after it", assertion.Lifetime + assertion.Skew, codes.Unauthenticated},
		{"an hour later", time.Hour, codes.Unauthenticated},
		{"with the clock set back to when it was good", 0, codes.OK},
	} {
		set(issued.Add(row.after))
		if got := call(); got != row.code {
			t.Errorf("%s: %v, want %v", row.name, got, row.code)
		}
	}
	published.withdrawn.Store(true)
	set(issued.Add(30 * time.Second))
	if got := call(); got != codes.Unauthenticated {
		t.Errorf("half a minute after its key was withdrawn: %v", got)
	}
}

// withdrawable is a source whose keys can go.
type withdrawable struct {
	keys      assertion.Keys
	withdrawn atomic.Bool
}

func (w *withdrawable) Key(ctx context.Context, kid string) (ed25519.PublicKey, error) {
	if w.withdrawn.Load() {
		return nil, assertion.ErrUnknownKey
	}
	return w.keys.Key(ctx, kid)
}
