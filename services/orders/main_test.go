package orders_test

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/type/money"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/service"
	"github.com/sallyport-dev/sallyport/services/orders"
)

const patience = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openStore(t testing.TB, path string) *orders.Store {
	t.Helper()
	store, err := orders.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// dial serves a new store over gRPC, with the service package's request rules and without its participant check: the
// test's metadata `who` is believed.
func dial(t testing.TB) ordersv1.OrderServiceClient {
	t.Helper()
	s, err := service.New(service.Registry("127.0.0.1:1"), service.Credentials("test", "test"), service.TrustEveryCaller(),
		service.ServerOptions(grpc.ChainUnaryInterceptor(believe)))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(s.ServerOptions()...)
	orders.New(openStore(t, filepath.Join(t.TempDir(), "orders.db"))).Register(server)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		if err := s.Stop(context.Background(), server); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return ordersv1.NewOrderServiceClient(conn)
}

func believe(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if who := metadata.ValueFromIncomingContext(ctx, "who"); len(who) == 1 {
		ctx = participant.NewContext(ctx, participant.Application("acme-org", "orders-app", who[0]))
	}
	return next(ctx, request)
}

func callContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// wantStatus checks an error's code, and that it says what is wrong with the field; an empty field is not looked at.
func wantStatus(t *testing.T, err error, code codes.Code, field string) {
	t.Helper()
	st := status.Convert(err)
	if st.Code() != code {
		t.Fatalf("code %v (%v), want %v", st.Code(), err, code)
	}
	if field == "" {
		return
	}
	var got []string
	for _, detail := range st.Details() {
		for _, v := range detail.(*errdetails.BadRequest).GetFieldViolations() {
			if v.GetField() == field && v.GetDescription() != "" {
				return
			}
			got = append(got, v.GetField())
		}
	}
	t.Errorf("violations name %q, want %q", got, field)
}

func eur(units int64, nanos int32) *money.Money {
	return &money.Money{CurrencyCode: "EUR", Units: units, Nanos: nanos}
}
