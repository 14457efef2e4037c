package orders

import (
	"cmp"

	"google.golang.org/genproto/googleapis/type/money"
)

// amount is money in the smallest unit of a currency with two decimals: cents, pence.
type amount int64

// nanosPerCent relates google.type.Money's billionths to cents.
const nanosPerCent = 10_000_000

func (a amount) in(currency string) *money.Money {
	return &money.Money{CurrencyCode: currency, Units: int64(a / 100), Nanos: int32(a%100) * nanosPerCent}
}

// tax is the amount's share of a rate in hundredths of a percent, rounded half up.
func (a amount) tax(basisPoints int64) amount {
	return (a*amount(basisPoints) + 5_000) / 10_000
}

// compareMoney orders two amounts of one currency.
func compareMoney(a, b *money.Money) int {
	return cmp.Or(cmp.Compare(a.GetUnits(), b.GetUnits()), cmp.Compare(a.GetNanos(), b.GetNanos()))
}
