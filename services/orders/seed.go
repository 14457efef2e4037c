package orders

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
)

// The seed is made, not stored: the same generator with the same start gives the same orders everywhere, so that
// documentation and tests can name them. Changing anything here changes them.
const (
	seedCount     = 320
	seedCustomers = 60
	seedStart     = 0x5a11
)

// seedFirst and seedLast are when the first and the last seeded order were placed.
var (
	seedFirst = time.Date(2026, time.May, 4, 7, 30, 0, 0, time.UTC)
	seedLast  = time.Date(2026, time.November, 20, 18, 0, 0, 0, time.UTC)
)

var (
	givenNames = []string{"Amara", "Bruno", "Clara", "Deniz", "Elin", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Keiko", "Liam", "Mila", "Noor", "Oscar", "Petra", "Quentin", "Rosa", "Sven", "Tessa"}
	surnames   = []string{"Almeida", "Becker", "Claes", "Dubois", "Evans", "Fischer", "Gallagher", "Hofer", "Ivarsson", "Jansen", "Keller", "Lambert", "Murphy", "Novak", "Okafor", "Peeters", "Quinn", "Rossi", "Smith", "Turner"}
	streets    = []string{"Station Road", "Lindenallee", "Rue du Moulin", "Kerkstraat", "Mill Lane", "Gartenweg", "Harbour Street", "Parkstraat"}
	carriers   = []string{"DHL", "UPS", "PostNL", "Royal Mail"}
	cardBrands = []string{"visa", "mastercard", "amex"}
	channels   = []string{"web", "web", "web", "app", "phone"}
	// towns are where customers live: town, postal code, country.
	towns = [][3]string{
		{"Hamburg", "20095", "DE"}, {"Leipzig", "04109", "DE"}, {"Munich", "80331", "DE"}, {"Vienna", "1010", "AT"},
		{"Lyon", "69001", "FR"}, {"Utrecht", "3511", "NL"}, {"Ghent", "9000", "BE"}, {"Cork", "T12", "IE"},
		{"Leeds", "LS1 4AP", "GB"}, {"Bristol", "BS1 5TR", "GB"}, {"Portland", "97205", "US"}, {"Boston", "02108", "US"},
	}
)

type seeder struct{ *rand.Rand }

func pick[T any](s seeder, list []T) T { return list[s.IntN(len(list))] }

// seedOrders makes the orders of a new store, the oldest first and without ids.
func seedOrders() []*ordersv1.Order {
	s := seeder{rand.New(rand.NewPCG(seedStart, seedStart))}
	type home struct {
		customer *ordersv1.Customer
		address  *ordersv1.Address
	}
	homes := make([]home, seedCustomers)
	for i := range homes {
		given, surname, town := pick(s, givenNames), pick(s, surnames), pick(s, towns)
		homes[i] = home{
			customer: &ordersv1.Customer{
				CustomerId: fmt.Sprintf("CUS-%04d", i+1), Name: given + " " + surname,
				Email: strings.ToLower(fmt.Sprintf("%s.%s%d@example.com", given, surname, i+1)),
			},
			address: &ordersv1.Address{
				Street: fmt.Sprintf("%s %d", pick(s, streets), 1+s.IntN(120)), City: town[0], PostalCode: town[1], Country: town[2],
			},
		}
	}
	step := seedLast.Sub(seedFirst) / (seedCount - 1)
	orders := make([]*ordersv1.Order, seedCount)
	for i := range orders {
		home := pick(s, homes)
		placed := seedFirst.Add(time.Duration(i) * step).Truncate(time.Second)
		order := &ordersv1.Order{
			Customer: home.customer, ShipTo: home.address, Lines: s.lines(), PlacedAt: timestamppb.New(placed),
			Labels: map[string]string{"channel": pick(s, channels)},
		}
		if s.IntN(10) == 0 {
			order.Labels["gift"] = "yes"
		}
		price(order, markets[home.address.GetCountry()])
		s.pay(order)
		s.progress(order, placed)
		orders[i] = order
	}
	return orders
}

func (s seeder) lines() []*ordersv1.OrderLine {
	var lines []*ordersv1.OrderLine
	for _, i := range s.Perm(len(products))[:1+s.IntN(4)] {
		lines = append(lines, &ordersv1.OrderLine{Sku: products[i].sku, Quantity: int32(1 + s.IntN(3))})
	}
	slices.SortFunc(lines, func(a, b *ordersv1.OrderLine) int { return strings.Compare(a.GetSku(), b.GetSku()) })
	return lines
}

func (s seeder) pay(order *ordersv1.Order) {
	if s.IntN(4) == 0 {
		order.Payment = &ordersv1.Order_Invoice{Invoice: &ordersv1.InvoicePayment{
			Reference: fmt.Sprintf("PO-%05d", s.IntN(100_000)), DueDays: defaultDueDays,
		}}
		return
	}
	order.Payment = &ordersv1.Order_Card{Card: &ordersv1.CardPayment{
		Brand: pick(s, cardBrands), LastFour: fmt.Sprintf("%04d", s.IntN(10_000)),
	}}
}

// progress brings an order as far as its age makes likely: an old one is delivered, a young one is not, and one in
// twelve was cancelled.
func (s seeder) progress(order *ordersv1.Order, placed time.Time) {
	age := seedLast.Sub(placed)
	at := func(d time.Duration) *timestamppb.Timestamp { return timestamppb.New(placed.Add(d)) }
	order.Status, order.UpdatedAt = ordersv1.OrderStatus_ORDER_STATUS_PENDING, order.GetPlacedAt()
	hour, day := time.Duration(1+s.IntN(20))*time.Hour, 24*time.Hour
	if s.IntN(12) == 0 {
		reasons := int32(len(ordersv1.CancelReason_name) - 1)
		order.Status, order.UpdatedAt = ordersv1.OrderStatus_ORDER_STATUS_CANCELLED, at(hour)
		order.Cancellation = &ordersv1.Cancellation{
			Reason: ordersv1.CancelReason(1 + s.Int32N(reasons)), CancelledAt: at(hour),
		}
		return
	}
	if order.GetInvoice() != nil && age < defaultDueDays*day && s.IntN(2) == 0 {
		return
	}
	order.Status, order.UpdatedAt = ordersv1.OrderStatus_ORDER_STATUS_PAID, at(hour/2)
	if age < 2*day {
		return
	}
	order.Status, order.UpdatedAt = ordersv1.OrderStatus_ORDER_STATUS_PACKED, at(day)
	if age < 4*day {
		return
	}
	shipped := day + hour
	order.Status, order.UpdatedAt = ordersv1.OrderStatus_ORDER_STATUS_SHIPPED, at(shipped)
	order.Shipment = &ordersv1.Shipment{
		Carrier: pick(s, carriers), TrackingNumber: fmt.Sprintf("%012d", s.Int64N(1_000_000_000_000)), ShippedAt: at(shipped),
	}
	if age < 9*day {
		return
	}
	delivered := shipped + day + hour
	order.Status, order.UpdatedAt = ordersv1.OrderStatus_ORDER_STATUS_DELIVERED, at(delivered)
	order.Shipment.DeliveredAt = at(delivered)
}
