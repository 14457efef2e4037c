package schema

import (
	"math/big"
	"strconv"
	"strings"
)

// Decimal is the exact value of a JSON number: the digits, without zeros at either end, times ten to the exponent.
// It takes room for the digits alone, so that 1e999999999 costs as little as 1.
type Decimal struct {
	negative bool
	digits   string // "" is zero
	exponent int64
}

// farExponent stands for every exponent that is further out: nothing that is compared reaches so far.
const farExponent = 1 << 40

// ParseDecimal reads a JSON number. It reports false for any other text.
func ParseDecimal(text string) (Decimal, bool) {
	var d Decimal
	rest := text
	if strings.HasPrefix(rest, "-") {
		d.negative, rest = true, rest[1:]
	}
	whole, rest := leadingDigits(rest)
	if whole == "" || len(whole) > 1 && whole[0] == '0' {
		return Decimal{}, false
	}
	fraction := ""
	if strings.HasPrefix(rest, ".") {
		if fraction, rest = leadingDigits(rest[1:]); fraction == "" {
			return Decimal{}, false
		}
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		sign := int64(1)
		rest = rest[1:]
		if rest != "" && (rest[0] == '+' || rest[0] == '-') {
			if rest[0] == '-' {
				sign = -1
			}
			rest = rest[1:]
		}
		var exponent string
		if exponent, rest = leadingDigits(rest); exponent == "" {
			return Decimal{}, false
		}
		n, err := strconv.ParseInt(exponent, 10, 64)
		if err != nil || n > farExponent {
			n = farExponent
		}
		d.exponent = sign * n
	}
	if rest != "" {
		return Decimal{}, false
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(digits, "0")
	d.exponent += int64(len(digits)-len(d.digits)) - int64(len(fraction))
	if d.digits == "" {
		return Decimal{}, true
	}
	return d, true
}

func leadingDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// Sign is -1, 0 or 1.
func (d Decimal) Sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

// IsInteger reports a value without fraction, whatever its spelling: 1.0 and 1e2 are integers.
func (d Decimal) IsInteger() bool { return d.digits == "" || d.exponent >= 0 }

// Int returns the value of an integer of at most 64 digits, far more than any field holds.
func (d Decimal) Int() (*big.Int, bool) {
	if !d.IsInteger() || int64(len(d.digits))+d.exponent > 64 {
		return nil, false
	}
	if d.digits == "" {
		return new(big.Int), true
	}
	v, ok := new(big.Int).SetString(d.digits+strings.Repeat("0", int(d.exponent)), 10)
	if ok && d.negative {
		v.Neg(v)
	}
	return v, ok
}

// Cmp compares two values exactly: -1, 0 or 1.
func (d Decimal) Cmp(o Decimal) int {
	if s, t := d.Sign(), o.Sign(); s != t || s == 0 {
		return compare(int64(s), int64(t))
	}
	order := compare(int64(len(d.digits))+d.exponent, int64(len(o.digits))+o.exponent)
	if order == 0 {
		// Same magnitude: the digits decide, and a longer text beyond an equal start is the larger.
		order = strings.Compare(d.digits, o.digits)
	}
	if d.negative {
		return -order
	}
	return order
}

// String is one spelling for every spelling of the value, for comparison as text.
func (d Decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	return sign + d.digits + "e" + strconv.FormatInt(d.exponent, 10)
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}
