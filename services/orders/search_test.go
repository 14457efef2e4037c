package orders_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/type/money"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
)

// pages walks through a search to its end.
func pages(t *testing.T, client ordersv1.OrderServiceClient, request *ordersv1.SearchRequest, between func()) (orders []*ordersv1.Order) {
	t.Helper()
	request = proto.CloneOf(request)
	for {
		response, err := client.Search(callContext(t), request)
		if err != nil {
			t.Fatal(err)
		}
		orders = append(orders, response.GetOrders()...)
		if response.GetNextPageToken() == "" {
			return orders
		}
		request.PageToken = response.GetNextPageToken()
		between()
	}
}

func TestSearch_pagesHoldEveryOrderOnceAndInOrder(t *testing.T) {
	client := dial(t)
	placed := func(a, b *ordersv1.Order) int { return a.GetPlacedAt().AsTime().Compare(b.GetPlacedAt().AsTime()) }
	for _, row := range []struct {
		sort    ordersv1.OrderSort
		compare func(a, b *ordersv1.Order) int
	}{
		{ordersv1.OrderSort_ORDER_SORT_UNSPECIFIED, func(a, b *ordersv1.Order) int { return placed(b, a) }},
		{ordersv1.OrderSort_ORDER_SORT_NEWEST, func(a, b *ordersv1.Order) int { return placed(b, a) }},
		{ordersv1.OrderSort_ORDER_SORT_OLDEST, placed},
		{ordersv1.OrderSort_ORDER_SORT_LARGEST, func(a, b *ordersv1.Order) int {
			return cmp.Or(strings.Compare(a.GetTotal().GetCurrencyCode(), b.GetTotal().GetCurrencyCode()),
				cmp.Compare(b.GetTotal().GetUnits(), a.GetTotal().GetUnits()), cmp.Compare(b.GetTotal().GetNanos(), a.GetTotal().GetNanos()))
		}},
	} {
		t.Run(row.sort.String(), func(t *testing.T) {
			orders := pages(t, client, &ordersv1.SearchRequest{Sort: row.sort, PageSize: 37}, func() {})
			if len(orders) != 320 {
				t.Fatalf("%d orders, want 320", len(orders))
			}
			seen := make(map[string]bool)
			for i, o := range orders {
				if seen[o.GetOrderId()] {
					t.Errorf("%s came twice", o.GetOrderId())
				}
				seen[o.GetOrderId()] = true
				if i > 0 && row.compare(orders[i-1], o) > 0 {
					t.Errorf("%s comes before %s", orders[i-1].GetOrderId(), o.GetOrderId())
				}
			}
		})
	}
}

func TestSearch_pagesGoOnWhileOrdersChange(t *testing.T) {
	client := dial(t)
	open := []ordersv1.OrderStatus{ordersv1.OrderStatus_ORDER_STATUS_PENDING, ordersv1.OrderStatus_ORDER_STATUS_PAID, ordersv1.OrderStatus_ORDER_STATUS_PACKED}
	request := &ordersv1.SearchRequest{Statuses: open, PageSize: 2, Sort: ordersv1.OrderSort_ORDER_SORT_OLDEST}
	before := pages(t, client, request, func() {})
	if len(before) < 5 {
		t.Fatalf("the seed has %d open orders: too few for this test", len(before))
	}
	walked := 0
	during := pages(t, client, request, func() {
		walked += 2
		// The order that the page ended on is no longer found, and there are new ones at the end.
		if _, err := client.Cancel(callContext(t), &ordersv1.CancelRequest{
			OrderId: before[walked-1].GetOrderId(), Reason: ordersv1.CancelReason_CANCEL_REASON_DUPLICATE,
		}); walked <= len(before) && err != nil {
			t.Fatal(err)
		}
		if walked == 2 {
			if _, err := client.Place(callContext(t), mine()); err != nil {
				t.Fatal(err)
			}
		}
	})
	if len(during) != len(before)+1 {
		t.Fatalf("%d orders, want %d and the new one", len(during), len(before))
	}
	for i, o := range before {
		if during[i].GetOrderId() != o.GetOrderId() {
			t.Errorf("place %d holds %s, want %s", i, during[i].GetOrderId(), o.GetOrderId())
		}
	}
}

func TestSearch_filters(t *testing.T) {
	client := dial(t)
	everything := pages(t, client, &ordersv1.SearchRequest{PageSize: 100}, func() {})
	from, until := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)
	some := everything[100]
	for _, row := range []struct {
		name    string
		request *ordersv1.SearchRequest
		holds   func(*ordersv1.Order) bool
	}{
		{"status", &ordersv1.SearchRequest{Statuses: []ordersv1.OrderStatus{ordersv1.OrderStatus_ORDER_STATUS_SHIPPED, ordersv1.OrderStatus_ORDER_STATUS_CANCELLED}},
			func(o *ordersv1.Order) bool {
				return o.GetStatus() == ordersv1.OrderStatus_ORDER_STATUS_SHIPPED || o.GetStatus() == ordersv1.OrderStatus_ORDER_STATUS_CANCELLED
			}},
		{"customer", &ordersv1.SearchRequest{CustomerId: some.GetCustomer().GetCustomerId()},
			func(o *ordersv1.Order) bool {
				return o.GetCustomer().GetCustomerId() == some.GetCustomer().GetCustomerId()
			}},
		{"labels, all of them", &ordersv1.SearchRequest{Labels: map[string]string{"channel": "app", "gift": "yes"}},
			func(o *ordersv1.Order) bool {
				return o.GetLabels()["channel"] == "app" && o.GetLabels()["gift"] == "yes"
			}},
		{"time, its end excluded", &ordersv1.SearchRequest{Placed: &ordersv1.TimeRange{From: timestamppb.New(from), Until: timestamppb.New(until)}},
			func(o *ordersv1.Order) bool {
				placed := o.GetPlacedAt().AsTime()
				return !placed.Before(from) && placed.Before(until)
			}},
		{"from the moment of an order", &ordersv1.SearchRequest{Placed: &ordersv1.TimeRange{From: some.GetPlacedAt()}},
			func(o *ordersv1.Order) bool { return !o.GetPlacedAt().AsTime().Before(some.GetPlacedAt().AsTime()) }},
		{"total, both ends included", &ordersv1.SearchRequest{Total: &ordersv1.MoneyRange{AtLeast: some.GetTotal(), AtMost: some.GetTotal()}},
			func(o *ordersv1.Order) bool { return proto.Equal(o.GetTotal(), some.GetTotal()) }},
		{"total in one currency alone", &ordersv1.SearchRequest{Total: &ordersv1.MoneyRange{AtLeast: &money.Money{CurrencyCode: "GBP"}}},
			func(o *ordersv1.Order) bool { return o.GetTotal().GetCurrencyCode() == "GBP" }},
		{"at most", &ordersv1.SearchRequest{Total: &ordersv1.MoneyRange{AtMost: eur(99, 990_000_000)}},
			func(o *ordersv1.Order) bool {
				return o.GetTotal().GetCurrencyCode() == "EUR" && o.GetTotal().GetUnits() <= 99
			}},
		{"text in any case, each word anywhere", &ordersv1.SearchRequest{Text: "KETTLE " + strings.Fields(some.GetCustomer().GetName())[0]},
			func(o *ordersv1.Order) bool {
				for _, line := range o.GetLines() {
					if line.GetSku() == "BREW-KETTLE-09" {
						return strings.Contains(o.GetCustomer().GetName(), strings.Fields(some.GetCustomer().GetName())[0])
					}
				}
				return false
			}},
		{"two filters", &ordersv1.SearchRequest{Labels: map[string]string{"gift": "yes"}, Statuses: []ordersv1.OrderStatus{ordersv1.OrderStatus_ORDER_STATUS_DELIVERED}},
			func(o *ordersv1.Order) bool {
				return o.GetLabels()["gift"] == "yes" && o.GetStatus() == ordersv1.OrderStatus_ORDER_STATUS_DELIVERED
			}},
		{"what nobody is called", &ordersv1.SearchRequest{Text: "xyzzy"}, func(*ordersv1.Order) bool { return false }},
	} {
		t.Run(row.name, func(t *testing.T) {
			var want []string
			counts := make(map[string]int32)
			for _, o := range everything {
				if row.holds(o) {
					want = append(want, o.GetOrderId())
					counts[o.GetStatus().String()]++
				}
			}
			if len(want) == 0 && row.name != "what nobody is called" {
				t.Fatal("the seed has no such order: the row tests nothing")
			}
			var got []string
			for _, o := range pages(t, client, row.request, func() {}) {
				got = append(got, o.GetOrderId())
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("found %v, want %v", got, want)
			}
			response, err := client.Search(callContext(t), row.request)
			if err != nil || int(response.GetTotalCount()) != len(want) || len(response.GetCountByStatus()) != len(counts) {
				t.Fatalf("counts %d, %v (%v); want %d, %v", response.GetTotalCount(), response.GetCountByStatus(), err, len(want), counts)
			}
			for state, n := range counts {
				if response.GetCountByStatus()[state] != n {
					t.Errorf("%s: %d, want %d", state, response.GetCountByStatus()[state], n)
				}
			}
		})
	}
}

func TestSearch_refusals(t *testing.T) {
	client := dial(t)
	first, err := client.Search(callContext(t), &ordersv1.SearchRequest{})
	if err != nil || first.GetNextPageToken() == "" || len(first.GetOrders()) != 20 {
		t.Fatalf("first page: %d orders, %v", len(first.GetOrders()), err)
	}
	now := timestamppb.Now()
	for _, row := range []struct {
		name    string
		request *ordersv1.SearchRequest
		field   string
	}{
		{"a token of another search", &ordersv1.SearchRequest{Text: "tea", PageToken: first.GetNextPageToken()}, "page_token"},
		{"a token that is none", &ordersv1.SearchRequest{PageToken: "next"}, "page_token"},
		{"an end before the start", &ordersv1.SearchRequest{Placed: &ordersv1.TimeRange{From: now, Until: now}}, "placed"},
		{"two currencies", &ordersv1.SearchRequest{Total: &ordersv1.MoneyRange{AtLeast: eur(1, 0), AtMost: &money.Money{CurrencyCode: "USD", Units: 2}}}, "total"},
		{"an amount below nothing", &ordersv1.SearchRequest{Total: &ordersv1.MoneyRange{AtLeast: eur(-1, 0)}}, "total.at_least"},
		{"a status that is none", &ordersv1.SearchRequest{Statuses: []ordersv1.OrderStatus{0}}, "statuses[0]"},
		{"a status twice", &ordersv1.SearchRequest{Statuses: []ordersv1.OrderStatus{1, 1}}, "statuses"},
		{"a page too large", &ordersv1.SearchRequest{PageSize: 101}, "page_size"},
		{"a customer that is none", &ordersv1.SearchRequest{CustomerId: "Ada"}, "customer_id"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := client.Search(callContext(t), row.request)
			wantStatus(t, err, codes.InvalidArgument, row.field)
		})
	}
}
