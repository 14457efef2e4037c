package orders

import (
	"maps"
	"slices"
	"strings"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
)

// product is one line of the price list.
type product struct {
	sku, name, category string
	price               amount // in euro; other currencies by their factor
}

// products is the price list, in order of the sku.
var products = []product{
	{"BEAN-BRAZIL-1KG", "Santos espresso beans, 1 kg", "coffee", 2290},
	{"BEAN-DECAF-500", "Decaffeinated house blend, 500 g", "coffee", 1350},
	{"BEAN-ETHIOPIA-250", "Yirgacheffe filter beans, 250 g", "coffee", 1190},
	{"BEAN-KENYA-250", "Nyeri AA filter beans, 250 g", "coffee", 1290},
	{"BREW-DRIPPER-02", "Ceramic dripper, size 2", "brewing", 2450},
	{"BREW-FILTER-100", "Paper filters, 100 pieces", "brewing", 690},
	{"BREW-GRINDER-HAND", "Hand grinder with steel burrs", "brewing", 11900},
	{"BREW-KETTLE-09", "Gooseneck kettle, 0.9 l", "brewing", 6490},
	{"BREW-PRESS-10", "French press, 1 l", "brewing", 3950},
	{"BREW-SCALE-TIMER", "Scale with timer, 0.1 g", "brewing", 5490},
	{"CUP-ESPRESSO-6", "Espresso cups, set of 6", "tableware", 4200},
	{"CUP-TRAVEL-400", "Insulated travel cup, 400 ml", "tableware", 2790},
	{"GIFT-CARD-25", "Gift card", "gifts", 2500},
	{"GIFT-TASTING-BOX", "Tasting box, five teas", "gifts", 2950},
	{"MACHINE-ESPRESSO-E1", "Espresso machine, single boiler", "machines", 64900},
	{"MACHINE-GRINDER-G2", "Electric grinder, flat burrs", "machines", 32900},
	{"TEA-ASSAM-200", "Assam second flush, 200 g", "tea", 980},
	{"TEA-DARJEELING-100", "Darjeeling first flush, 100 g", "tea", 1490},
	{"TEA-POT-GLASS-12", "Glass teapot with strainer, 1.2 l", "tableware", 3690},
	{"TEA-SENCHA-100", "Sencha, 100 g", "tea", 1250},
}

func findProduct(sku string) (product, bool) {
	i, ok := slices.BinarySearchFunc(products, sku, func(p product, sku string) int { return strings.Compare(p.sku, sku) })
	if !ok {
		return product{}, false
	}
	return products[i], true
}

// currencies are what the shop sells in, each with its factor to the euro price in percent.
var currencies = []struct {
	code   string
	factor amount
}{
	{"EUR", 100},
	{"GBP", 90},
	{"USD", 120},
}

// priceIn is the product's price in one of the currencies.
func (p product) priceIn(currency string) amount {
	for _, c := range currencies {
		if c.code == currency {
			return p.price * c.factor / 100
		}
	}
	return p.price
}

func (p product) proto() *ordersv1.Product {
	out := &ordersv1.Product{Sku: p.sku, Name: p.name, Category: p.category}
	for _, c := range currencies {
		out.Prices = append(out.Prices, p.priceIn(c.code).in(c.code))
	}
	return out
}

// market is what holds in a country of delivery.
type market struct {
	currency string
	// taxRate is in hundredths of a percent.
	taxRate int64
}

var markets = map[string]market{
	"AT": {"EUR", 2000},
	"BE": {"EUR", 2100},
	"DE": {"EUR", 1900},
	"FR": {"EUR", 2000},
	"GB": {"GBP", 2000},
	"IE": {"EUR", 2300},
	"NL": {"EUR", 2100},
	"US": {"USD", 0},
}

// countries names the countries that the shop delivers to.
func countries() string { return strings.Join(slices.Sorted(maps.Keys(markets)), ", ") }

// Delivery costs a flat sum below the subtotal from which it is free, in every currency alike.
const (
	deliveryCost     amount = 590
	freeDeliveryFrom amount = 10000
)

// price fills in what an order costs: unit prices, line totals, subtotal, delivery, tax, total.
func price(order *ordersv1.Order, in market) {
	var subtotal amount
	for _, line := range order.GetLines() {
		p, _ := findProduct(line.GetSku())
		unit := p.priceIn(in.currency)
		total := unit * amount(line.GetQuantity())
		subtotal += total
		line.ProductName, line.UnitPrice, line.LineTotal = p.name, unit.in(in.currency), total.in(in.currency)
	}
	delivery := deliveryCost
	if subtotal >= freeDeliveryFrom {
		delivery = 0
	}
	tax := (subtotal + delivery).tax(in.taxRate)
	order.Subtotal, order.ShippingCost = subtotal.in(in.currency), delivery.in(in.currency)
	order.Tax, order.Total = tax.in(in.currency), (subtotal + delivery + tax).in(in.currency)
}
