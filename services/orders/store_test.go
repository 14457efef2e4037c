package orders_test

import (
	"errors"
	"path/filepath"
	"testing"

	"google.golang.org/genproto/googleapis/type/money"
	"google.golang.org/protobuf/proto"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	"github.com/sallyport-dev/sallyport/services/orders"
)

func all(t *testing.T, store *orders.Store) []*ordersv1.Order {
	t.Helper()
	var list []*ordersv1.Order
	if err := store.Each(func(o *ordersv1.Order) { list = append(list, o) }); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestOpen_seedsTheSameOrdersEverywhere(t *testing.T) {
	one := all(t, openStore(t, filepath.Join(t.TempDir(), "a.db")))
	other := all(t, openStore(t, filepath.Join(t.TempDir(), "b.db")))
	if len(one) != 320 || len(other) != len(one) {
		t.Fatalf("%d and %d orders, want 320 each", len(one), len(other))
	}
	for i := range one {
		if !proto.Equal(one[i], other[i]) {
			t.Fatalf("order %d differs:\n%v\n%v", i, one[i], other[i])
		}
	}
}

func cents(t *testing.T, m *money.Money) int64 {
	t.Helper()
	if m.GetNanos()%10_000_000 != 0 || m.GetNanos() < 0 || m.GetUnits() < 0 {
		t.Fatalf("%v is not a whole number of cents", m)
	}
	return m.GetUnits()*100 + int64(m.GetNanos())/10_000_000
}

func TestOpen_seedIsConsistent(t *testing.T) {
	states := make(map[ordersv1.OrderStatus]int)
	currencies := make(map[string]int)
	for i, o := range all(t, openStore(t, filepath.Join(t.TempDir(), "orders.db"))) {
		states[o.GetStatus()]++
		currencies[o.GetTotal().GetCurrencyCode()]++
		var lines int64
		for _, line := range o.GetLines() {
			if got, want := cents(t, line.GetLineTotal()), cents(t, line.GetUnitPrice())*int64(line.GetQuantity()); got != want {
				t.Errorf("%s: line total %d, want %d", o.GetOrderId(), got, want)
			}
			lines += cents(t, line.GetLineTotal())
		}
		if got := cents(t, o.GetSubtotal()); got != lines {
			t.Errorf("%s: subtotal %d, lines %d", o.GetOrderId(), got, lines)
		}
		if got, want := cents(t, o.GetTotal()), lines+cents(t, o.GetShippingCost())+cents(t, o.GetTax()); got != want {
			t.Errorf("%s: total %d, parts %d", o.GetOrderId(), got, want)
		}
		shipped := o.GetStatus() == ordersv1.OrderStatus_ORDER_STATUS_SHIPPED || o.GetStatus() == ordersv1.OrderStatus_ORDER_STATUS_DELIVERED
		if (o.GetShipment() != nil) != shipped {
			t.Errorf("%s: %v with shipment %v", o.GetOrderId(), o.GetStatus(), o.GetShipment())
		}
		if (o.GetCancellation() != nil) != (o.GetStatus() == ordersv1.OrderStatus_ORDER_STATUS_CANCELLED) {
			t.Errorf("%s: %v with cancellation %v", o.GetOrderId(), o.GetStatus(), o.GetCancellation())
		}
		if o.GetPayment() == nil || len(o.GetLines()) == 0 || o.GetCustomer().GetEmail() == "" || o.GetPlacedAt() == nil {
			t.Errorf("order %d is not whole: %v", i, o)
		}
	}
	for number := range ordersv1.OrderStatus_name {
		if s := ordersv1.OrderStatus(number); number != 0 && states[s] == 0 {
			t.Errorf("no order is %v", s)
		}
	}
	if len(currencies) != 3 {
		t.Errorf("currencies %v, want three", currencies)
	}
}

func TestStore_keepsOrdersOverARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "orders.db")
	store, err := orders.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	placed, err := store.Place(&ordersv1.Order{PlacedBy: "me"}, "request-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := orders.Open(path); err == nil {
		t.Error("a file that is open elsewhere was opened again")
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	store = openStore(t, path)
	again, err := store.Get(placed.GetOrderId())
	if err != nil || !proto.Equal(placed, again) {
		t.Fatalf("after a restart: %v, %v; want %v", again, err, placed)
	}
	if repeated, err := store.Place(&ordersv1.Order{}, "request-1"); err != nil || repeated.GetOrderId() != placed.GetOrderId() {
		t.Errorf("the request repeated after a restart placed %v, %v", repeated, err)
	}
	if got := len(all(t, store)); got != 321 {
		t.Errorf("%d orders, want 321: the seed must not come twice", got)
	}
}

func TestStore_Get(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "orders.db"))
	for _, row := range []struct {
		name, id string
		found    bool
	}{
		{"the first", "ORD-1001", true},
		{"the last", "ORD-1320", true},
		{"one before the first", "ORD-1000", false},
		{"one after the last", "ORD-1321", false},
		{"another spelling of a number", "ORD-01042", false},
		{"lower case", "ord-1042", false},
		{"a number alone", "1042", false},
		{"larger than any number", "ORD-99999999999999999999999", false},
		{"nothing", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			order, err := store.Get(row.id)
			switch {
			case row.found && (err != nil || order.GetOrderId() != row.id):
				t.Errorf("got %v, %v", order, err)
			case !row.found && !errors.Is(err, orders.ErrNotFound):
				t.Errorf("got %v, %v; want ErrNotFound", order, err)
			}
		})
	}
}

func TestStore_Update_leavesTheOrderWhereTheChangeFails(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "orders.db"))
	before, err := store.Get("ORD-1042")
	if err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	_, err = store.Update("ORD-1042", func(o *ordersv1.Order) error {
		o.Customer.Name = "changed"
		return no
	})
	if !errors.Is(err, no) {
		t.Fatalf("error %v, want the change's", err)
	}
	if after, err := store.Get("ORD-1042"); err != nil || !proto.Equal(before, after) {
		t.Errorf("after: %v, %v", after, err)
	}
}
