package service_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	"github.com/sallyport-dev/sallyport/service"
)

func TestRun_holdsRequestsToTheirRules(t *testing.T) {
	r := startRegistry(t)
	p := run(t, newReleasedOrders().register, service.Registry(r.address), r.acmeHost(t), service.TrustEveryCaller())
	client := ordersv1.NewOrderServiceClient(dial(t, p.registered(t).Address))
	type violation struct{ field, reason string }
	for _, row := range []struct {
		name string
		call func() error
		want []violation
	}{
		{"a pattern", func() error {
			_, err := client.FindById(testContext(t), &ordersv1.FindByIdRequest{OrderId: "secret"})
			return err
		}, []violation{{"order_id", "STRING_PATTERN"}}},
		{"several, nested, in lists and maps", func() error {
			_, err := client.Place(testContext(t), &ordersv1.PlaceRequest{
				Customer: &ordersv1.Customer{CustomerId: "CUS-0001", Name: "A", Email: "secret"},
				Lines:    []*ordersv1.PlaceLine{{Sku: "A-1", Quantity: 1}, {Sku: "A-1", Quantity: 1001}},
				Labels:   map[string]string{"Secret": ""},
				Payment:  &ordersv1.PlaceRequest_Invoice{Invoice: &ordersv1.InvoicePayment{}},
			})
			return err
		}, []violation{
			{"customer.email", "STRING_EMAIL"}, {`labels["Secret"]`, "STRING_PATTERN"}, {"lines[1].quantity", "INT32_GTE_LTE"}, {"ship_to", "REQUIRED"},
		}},
		{"a rule in CEL", func() error {
			_, err := client.Search(testContext(t), &ordersv1.SearchRequest{Total: &ordersv1.MoneyRange{
				AtLeast: eur(2), AtMost: usd(3),
			}})
			return err
		}, []violation{{"total", "MONEY_RANGE_CURRENCY"}}},
		{"a stream's request", func() error {
			stream, err := client.Watch(testContext(t), &ordersv1.WatchRequest{})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		}, []violation{{"order_id", "REQUIRED"}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			st := status.Convert(row.call())
			if st.Code() != codes.InvalidArgument || len(st.Details()) != 1 {
				t.Fatalf("%v with details %v, want INVALID_ARGUMENT with one", st, st.Details())
			}
			if strings.Contains(strings.ToLower(st.Message()), "secret") {
				t.Errorf("the text repeats what the caller sent: %s", st.Message())
			}
			bad, ok := st.Details()[0].(*errdetails.BadRequest)
			if !ok {
				t.Fatalf("detail %T", st.Details()[0])
			}
			var got []violation
			for _, v := range bad.GetFieldViolations() {
				got = append(got, violation{v.GetField(), v.GetReason()})
				if v.GetDescription() == "" {
					t.Errorf("%s: nothing is said", v.GetField())
				}
			}
			slices.SortFunc(got, func(a, b violation) int { return strings.Compare(a.field, b.field) })
			if !slices.Equal(got, row.want) {
				t.Errorf("violations %v, want %v", got, row.want)
			}
		})
	}
}
