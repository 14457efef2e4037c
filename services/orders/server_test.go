package orders_test

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"google.golang.org/genproto/googleapis/type/money"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
)

func TestFindById(t *testing.T) {
	client := dial(t)
	for _, row := range []struct {
		name, id string
		code     codes.Code
		field    string
	}{
		{"found", "ORD-1042", codes.OK, ""},
		{"not found", "ORD-9999", codes.NotFound, ""},
		{"not an id", "1042", codes.InvalidArgument, "order_id"},
		{"no id", "", codes.InvalidArgument, "order_id"},
	} {
		t.Run(row.name, func(t *testing.T) {
			response, err := client.FindById(callContext(t), &ordersv1.FindByIdRequest{OrderId: row.id})
			wantStatus(t, err, row.code, row.field)
			if err == nil && response.GetOrder().GetOrderId() != row.id {
				t.Errorf("got order %v", response.GetOrder())
			}
		})
	}
}

func mine() *ordersv1.PlaceRequest {
	return &ordersv1.PlaceRequest{
		Customer: &ordersv1.Customer{CustomerId: "CUS-0099", Name: "Ada Byron", Email: "ada@example.com"},
		Lines:    []*ordersv1.PlaceLine{{Sku: "TEA-ASSAM-200", Quantity: 3}},
		ShipTo:   &ordersv1.Address{Street: "Gartenweg 7", City: "Leipzig", PostalCode: "04109", Country: "DE"},
		Payment:  &ordersv1.PlaceRequest_Card{Card: &ordersv1.CardPayment{Brand: "visa", LastFour: "4242"}},
	}
}

func TestPlace_totals(t *testing.T) {
	client := dial(t)
	in := func(currency string, cents int64) *money.Money {
		return &money.Money{CurrencyCode: currency, Units: cents / 100, Nanos: int32(cents%100) * 10_000_000}
	}
	for _, row := range []struct {
		name, country, currency        string
		lines                          []*ordersv1.PlaceLine
		subtotal, delivery, tax, total int64
	}{
		{"one line, tax rounded half up", "DE", "EUR", []*ordersv1.PlaceLine{{Sku: "TEA-ASSAM-200", Quantity: 3}}, 2940, 590, 671, 4201},
		{"two lines", "AT", "EUR", []*ordersv1.PlaceLine{{Sku: "BREW-FILTER-100", Quantity: 2}, {Sku: "BREW-DRIPPER-02", Quantity: 1}}, 3830, 590, 884, 5304},
		{"exactly free delivery", "FR", "EUR", []*ordersv1.PlaceLine{{Sku: "GIFT-CARD-25", Quantity: 4}}, 10000, 0, 2000, 12000},
		{"pounds", "GB", "GBP", []*ordersv1.PlaceLine{{Sku: "BREW-KETTLE-09", Quantity: 1}}, 5841, 590, 1286, 7717},
		{"dollars without tax", "US", "USD", []*ordersv1.PlaceLine{{Sku: "MACHINE-ESPRESSO-E1", Quantity: 1}}, 77880, 0, 0, 77880},
		{"the most that can be ordered of one", "IE", "EUR", []*ordersv1.PlaceLine{{Sku: "MACHINE-ESPRESSO-E1", Quantity: 1000}}, 64900000, 0, 14927000, 79827000},
	} {
		t.Run(row.name, func(t *testing.T) {
			request := mine()
			request.ShipTo.Country, request.Lines = row.country, row.lines
			response, err := client.Place(callContext(t), request)
			if err != nil {
				t.Fatal(err)
			}
			o := response.GetOrder()
			got := []*money.Money{o.GetSubtotal(), o.GetShippingCost(), o.GetTax(), o.GetTotal()}
			for i, cents := range []int64{row.subtotal, row.delivery, row.tax, row.total} {
				if want := in(row.currency, cents); !proto.Equal(got[i], want) {
					t.Errorf("%s: got %v, want %v", [...]string{"subtotal", "delivery", "tax", "total"}[i], got[i], want)
				}
			}
		})
	}
}

func TestPlace_refusals(t *testing.T) {
	client := dial(t)
	for _, row := range []struct {
		name   string
		change func(*ordersv1.PlaceRequest)
		field  string
	}{
		{"an unknown product", func(r *ordersv1.PlaceRequest) { r.Lines[0].Sku = "NO-SUCH-THING" }, "lines[0].sku"},
		{"a product twice", func(r *ordersv1.PlaceRequest) { r.Lines = append(r.Lines, r.Lines[0]) }, "lines[1].sku"},
		{"a country without delivery", func(r *ordersv1.PlaceRequest) { r.ShipTo.Country = "AQ" }, "ship_to.country"},
		{"no piece", func(r *ordersv1.PlaceRequest) { r.Lines[0].Quantity = 0 }, "lines[0].quantity"},
		{"too many pieces", func(r *ordersv1.PlaceRequest) { r.Lines[0].Quantity = 1001 }, "lines[0].quantity"},
		{"no line", func(r *ordersv1.PlaceRequest) { r.Lines = nil }, "lines"},
		{"no payment", func(r *ordersv1.PlaceRequest) { r.Payment = nil }, "payment"},
		{"no customer", func(r *ordersv1.PlaceRequest) { r.Customer = nil }, "customer"},
		{"an email that is none", func(r *ordersv1.PlaceRequest) { r.Customer.Email = "ada" }, "customer.email"},
		{"a label that is none", func(r *ordersv1.PlaceRequest) { r.Labels = map[string]string{"No Label": ""} }, `labels["No Label"]`},
		{"a short request id", func(r *ordersv1.PlaceRequest) { r.RequestId = proto.String("1") }, "request_id"},
	} {
		t.Run(row.name, func(t *testing.T) {
			request := mine()
			row.change(request)
			_, err := client.Place(callContext(t), request)
			wantStatus(t, err, codes.InvalidArgument, row.field)
		})
	}
}

func TestPlace_status(t *testing.T) {
	client := dial(t)
	card, err := client.Place(callContext(t), mine())
	if err != nil {
		t.Fatal(err)
	}
	if got := card.GetOrder().GetStatus(); got != ordersv1.OrderStatus_ORDER_STATUS_PAID {
		t.Errorf("by card: %v, want paid", got)
	}
	request := mine()
	request.Payment = &ordersv1.PlaceRequest_Invoice{Invoice: &ordersv1.InvoicePayment{Reference: "PO-1"}}
	invoice, err := client.Place(callContext(t), request)
	if err != nil {
		t.Fatal(err)
	}
	if got := invoice.GetOrder().GetStatus(); got != ordersv1.OrderStatus_ORDER_STATUS_PENDING {
		t.Errorf("on invoice: %v, want pending", got)
	}
	if got := invoice.GetOrder().GetInvoice().GetDueDays(); got != 14 {
		t.Errorf("due in %d days, want 14", got)
	}
}

func TestPlace_requestIdPlacesOnceForEachParticipant(t *testing.T) {
	client := dial(t)
	place := func(who, id string) string {
		request := mine()
		if id != "" {
			request.RequestId = proto.String(id)
		}
		response, err := client.Place(metadata.AppendToOutgoingContext(callContext(t), "who", who), request)
		if err != nil {
			t.Fatal(err)
		}
		if got := response.GetOrder().GetPlacedBy(); got != who {
			t.Errorf("placed by %q, want %q", got, who)
		}
		return response.GetOrder().GetOrderId()
	}
	first := place("one", "request-1")
	if again := place("one", "request-1"); again != first {
		t.Errorf("the same request placed %s and %s", first, again)
	}
	if other := place("one", "request-2"); other == first {
		t.Error("another request answered the first order")
	}
	if other := place("two", "request-1"); other == first {
		t.Error("another participant's request answered the first order")
	}
	if one, two := place("one", ""), place("one", ""); one == two {
		t.Error("requests without an id are one")
	}
}

func TestPlace_concurrentlyGivesEachOrderItsOwnNumber(t *testing.T) {
	client := dial(t)
	ids := make([]string, 40)
	var wait sync.WaitGroup
	for i := range ids {
		wait.Go(func() {
			response, err := client.Place(callContext(t), mine())
			if err != nil {
				t.Error(err)
			}
			ids[i] = response.GetOrder().GetOrderId()
		})
	}
	wait.Wait()
	slices.Sort(ids)
	if got := len(slices.Compact(ids)); got != len(ids) {
		t.Errorf("%d ids for %d orders", got, len(ids))
	}
}

// inState finds an order of the seed in a state.
func inState(t *testing.T, client ordersv1.OrderServiceClient, s ordersv1.OrderStatus) *ordersv1.Order {
	t.Helper()
	response, err := client.Search(callContext(t), &ordersv1.SearchRequest{Statuses: []ordersv1.OrderStatus{s}, PageSize: 1})
	if err != nil || len(response.GetOrders()) != 1 {
		t.Fatalf("search %v: %v, %v", s, response, err)
	}
	return response.GetOrders()[0]
}

func TestCancel(t *testing.T) {
	client := dial(t)
	for _, row := range []struct {
		status ordersv1.OrderStatus
		code   codes.Code
	}{
		{ordersv1.OrderStatus_ORDER_STATUS_PENDING, codes.OK},
		{ordersv1.OrderStatus_ORDER_STATUS_PAID, codes.OK},
		{ordersv1.OrderStatus_ORDER_STATUS_PACKED, codes.OK},
		{ordersv1.OrderStatus_ORDER_STATUS_CANCELLED, codes.OK},
		{ordersv1.OrderStatus_ORDER_STATUS_SHIPPED, codes.FailedPrecondition},
		{ordersv1.OrderStatus_ORDER_STATUS_DELIVERED, codes.FailedPrecondition},
	} {
		t.Run(row.status.String(), func(t *testing.T) {
			order := inState(t, client, row.status)
			response, err := client.Cancel(callContext(t), &ordersv1.CancelRequest{
				OrderId: order.GetOrderId(), Reason: ordersv1.CancelReason_CANCEL_REASON_FRAUD, Note: "odd address",
			})
			wantStatus(t, err, row.code, "")
			found, err := client.FindById(callContext(t), &ordersv1.FindByIdRequest{OrderId: order.GetOrderId()})
			if err != nil {
				t.Fatal(err)
			}
			switch row.status {
			case ordersv1.OrderStatus_ORDER_STATUS_PENDING, ordersv1.OrderStatus_ORDER_STATUS_PAID, ordersv1.OrderStatus_ORDER_STATUS_PACKED:
				if !proto.Equal(found.GetOrder(), response.GetOrder()) || found.GetOrder().GetCancellation().GetNote() != "odd address" {
					t.Errorf("cancelled %v, found %v", response.GetOrder(), found.GetOrder())
				}
			default:
				if !proto.Equal(found.GetOrder(), order) {
					t.Errorf("the order changed: %v, was %v", found.GetOrder(), order)
				}
			}
		})
	}
	t.Run("not found", func(t *testing.T) {
		_, err := client.Cancel(callContext(t), &ordersv1.CancelRequest{OrderId: "ORD-9999", Reason: ordersv1.CancelReason_CANCEL_REASON_FRAUD})
		wantStatus(t, err, codes.NotFound, "")
	})
	t.Run("no reason", func(t *testing.T) {
		_, err := client.Cancel(callContext(t), &ordersv1.CancelRequest{OrderId: "ORD-1042"})
		wantStatus(t, err, codes.InvalidArgument, "reason")
	})
}

func TestListProducts(t *testing.T) {
	client := dial(t)
	list := func(category string) []*ordersv1.Product {
		response, err := client.ListProducts(callContext(t), &ordersv1.ListProductsRequest{Category: category})
		if err != nil {
			t.Fatal(err)
		}
		return response.GetProducts()
	}
	products := list("")
	if !slices.IsSortedFunc(products, func(a, b *ordersv1.Product) int {
		if a.GetSku() < b.GetSku() {
			return -1
		}
		return 1
	}) {
		t.Error("not in order of the sku")
	}
	byCategory := make(map[string]int)
	for _, p := range products {
		byCategory[p.GetCategory()]++
		if len(p.GetPrices()) != 3 {
			t.Errorf("%s has the prices %v", p.GetSku(), p.GetPrices())
		}
	}
	for category, want := range byCategory {
		if got := len(list(category)); got != want {
			t.Errorf("category %s lists %d products, want %d", category, got, want)
		}
	}
	if got := list("furniture"); len(got) != 0 {
		t.Errorf("an unknown category lists %v", got)
	}
	if len(byCategory) < 4 {
		t.Errorf("categories %v", slices.Sorted(maps.Keys(byCategory)))
	}
}

func TestWatch_streamsEachChange(t *testing.T) {
	client := dial(t)
	order := inState(t, client, ordersv1.OrderStatus_ORDER_STATUS_PACKED)
	stream, err := client.Watch(callContext(t), &ordersv1.WatchRequest{OrderId: order.GetOrderId()})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := stream.Recv(); err != nil || !proto.Equal(first.GetOrder(), order) {
		t.Fatalf("at once: %v, %v", first, err)
	}
	if _, err := client.Cancel(callContext(t), &ordersv1.CancelRequest{
		OrderId: order.GetOrderId(), Reason: ordersv1.CancelReason_CANCEL_REASON_DUPLICATE,
	}); err != nil {
		t.Fatal(err)
	}
	if next, err := stream.Recv(); err != nil || next.GetOrder().GetStatus() != ordersv1.OrderStatus_ORDER_STATUS_CANCELLED {
		t.Fatalf("after the change: %v, %v", next, err)
	}
	for _, row := range []struct {
		id   string
		code codes.Code
	}{{"ORD-9999", codes.NotFound}, {"x", codes.InvalidArgument}} {
		t.Run(fmt.Sprintf("%s is %v", row.id, row.code), func(t *testing.T) {
			stream, err := client.Watch(callContext(t), &ordersv1.WatchRequest{OrderId: row.id})
			if err == nil {
				_, err = stream.Recv()
			}
			wantStatus(t, err, row.code, "")
		})
	}
}
