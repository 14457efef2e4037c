package gate

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// integer is an integer field, in any of its spellings: a number, or for the 64-bit kinds mostly a string; and the key
// of a map<integer, …>.
type integer struct {
	node *schema.Node
	form integerForm
	// low and high bound the value; of an unsigned kind they are read as uint64. empty says that nothing is within.
	low, high int64
	empty     bool
	skipZero  bool
}

// integerForm is how an integer stands on the wire.
type integerForm struct {
	unsigned, zigzag bool
	fixed            int // bytes; 0 for a varint
}

func formOf(kind protoreflect.Kind) integerForm {
	switch kind {
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		return integerForm{unsigned: true}
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return integerForm{zigzag: true}
	case protoreflect.Fixed32Kind:
		return integerForm{unsigned: true, fixed: 4}
	case protoreflect.Fixed64Kind:
		return integerForm{unsigned: true, fixed: 8}
	case protoreflect.Sfixed32Kind:
		return integerForm{fixed: 4}
	case protoreflect.Sfixed64Kind:
		return integerForm{fixed: 8}
	default:
		return integerForm{}
	}
}

func newInteger(n *schema.Node, kind protoreflect.Kind, skipZero bool) *integer {
	i := &integer{node: n, form: formOf(kind), skipZero: skipZero}
	least, most := big.NewInt(math.MinInt64), big.NewInt(math.MaxInt64)
	if i.form.unsigned {
		least, most = new(big.Int), new(big.Int).SetUint64(math.MaxUint64)
	}
	low, high := n.Min, n.Max
	if low.Cmp(least) < 0 {
		low = least
	}
	if high.Cmp(most) > 0 {
		high = most
	}
	if low.Cmp(high) > 0 {
		i.empty = true
		return i
	}
	if i.form.unsigned {
		i.low, i.high = int64(low.Uint64()), int64(high.Uint64())
	} else {
		i.low, i.high = low.Int64(), high.Int64()
	}
	return i
}

// put writes the bits of a value.
func (i *integer) put(j *judge, bits int64) {
	switch {
	case i.form.fixed == 4:
		j.fixed32(uint32(bits))
	case i.form.fixed == 8:
		j.fixed64(uint64(bits))
	case i.form.zigzag:
		j.varint(protowire.EncodeZigZag(bits))
	default:
		j.varint(uint64(bits))
	}
}

// within takes sign and magnitude apart no more: it gives the bits of a value within the bounds.
func (i *integer) within(negative bool, magnitude uint64) (bits int64, ok bool) {
	if i.empty {
		return 0, false
	}
	if i.form.unsigned {
		ok = (!negative || magnitude == 0) && magnitude >= uint64(i.low) && magnitude <= uint64(i.high)
		return int64(magnitude), ok
	}
	if negative {
		if magnitude > 1<<63 {
			return 0, false
		}
		bits = -int64(magnitude)
	} else {
		if magnitude > math.MaxInt64 {
			return 0, false
		}
		bits = int64(magnitude)
	}
	return bits, bits >= i.low && bits <= i.high
}

func (i *integer) value(j *judge, tag string) {
	var bits int64
	var problem string
	if i.node.Kind == schema.Integer {
		if j.kind() != '0' {
			j.mismatch(i.node)
			return
		}
		bits, problem = i.number(j.number())
	} else {
		if j.kind() != '"' {
			j.mismatch(i.node)
			return
		}
		s, escaped := j.str()
		bits, problem = i.string(s, escaped)
	}
	if problem != "" {
		j.problem(0, problem)
		return
	}
	if i.skipZero && bits == 0 {
		return
	}
	j.tag(tag)
	i.put(j, bits)
}

// number reads a JSON number.
func (i *integer) number(literal []byte) (bits int64, problem string) {
	negative, magnitude, ok := digits(literal)
	if !ok {
		// 1.0 and 1e2 are integers, too; and what has too many digits may be within bounds, with zeros behind a point.
		d, isNumber := schema.ParseDecimal(string(literal))
		if !isNumber || !d.IsInteger() {
			return 0, "must be an integer"
		}
		v, small := d.Int()
		if !small || v.BitLen() > 64 {
			return 0, i.rangeText()
		}
		negative, magnitude = v.Sign() < 0, new(big.Int).Abs(v).Uint64()
	}
	if bits, ok = i.within(negative, magnitude); !ok {
		return 0, i.rangeText()
	}
	if i.node.Enum != nil || i.node.Not != nil {
		d, _ := schema.ParseDecimal(string(literal))
		problem = constants(i.node, sameNumber(d))
	}
	return bits, problem
}

func (i *integer) rangeText() string {
	return fmt.Sprintf("must be from %s to %s", i.node.Min, i.node.Max)
}

// string reads the one spelling of an integer in a string: no plus sign, no leading zeros, no minus zero.
func (i *integer) string(s []byte, escaped bool) (bits int64, problem string) {
	if escaped && controls(s) {
		return 0, controlText
	}
	negative, magnitude, ok := digits(s)
	if ok && negative && magnitude == 0 {
		ok = false
	}
	if ok {
		bits, ok = i.within(negative, magnitude)
	}
	if !ok {
		return 0, fmt.Sprintf("must be an integer from %s to %s, written as a string", i.node.Min, i.node.Max)
	}
	if i.node.Enum != nil || i.node.Not != nil {
		problem = constants(i.node, textOf(s))
	}
	return bits, problem
}

func (i *integer) key(j *judge) string {
	s, escaped := j.str()
	bits, problem := i.string(s, escaped)
	j.tag(i.keyTag())
	i.put(j, bits)
	return problem
}

func (i *integer) keyTag() string {
	switch i.form.fixed {
	case 4:
		return fixed32KeyTag
	case 8:
		return fixed64KeyTag
	default:
		return varintKeyTag
	}
}

// digits reads an integer without exponent, point or superfluous zeros, of at most 64 bits.
func digits(s []byte) (negative bool, magnitude uint64, ok bool) {
	if len(s) > 0 && s[0] == '-' {
		negative, s = true, s[1:]
	}
	if len(s) == 0 || len(s) > 20 || s[0] == '0' && len(s) > 1 {
		return negative, 0, false
	}
	for at, b := range s {
		d := uint64(b - '0')
		if d > 9 {
			return negative, 0, false
		}
		if at == 19 && (magnitude > math.MaxUint64/10 || magnitude*10 > math.MaxUint64-d) {
			return negative, 0, false
		}
		magnitude = magnitude*10 + d
	}
	return negative, magnitude, true
}

// float is a float or double field.
type float struct {
	node         *schema.Node
	bits         int
	lower, upper *floatBound
	skipZero     bool
}

// floatBound is a bound with the double that is nearest to it: only a number with the same nearest double has to be
// compared digit by digit.
type floatBound struct {
	schema.Bound
	near  float64
	exact schema.Decimal
}

func newFloatBound(b *schema.Bound) (*floatBound, error) {
	if b == nil {
		return nil, nil
	}
	near, err := strconv.ParseFloat(b.Text, 64)
	exact, ok := schema.ParseDecimal(b.Text)
	if err != nil || !ok {
		return nil, fmt.Errorf("published bound %q is no number", b.Text)
	}
	return &floatBound{*b, near, exact}, nil
}

// order compares a number with the bound: -1, 0 or 1.
func (b *floatBound) order(f float64, literal []byte) int {
	switch {
	case f < b.near:
		return -1
	case f > b.near:
		return 1
	}
	d, _ := schema.ParseDecimal(string(literal))
	return d.Cmp(b.exact)
}

func newFloat(n *schema.Node, kind protoreflect.Kind, skipZero bool) (*float, error) {
	f := &float{node: n, bits: 64, skipZero: skipZero}
	if kind == protoreflect.FloatKind {
		f.bits = 32
	}
	var err error
	if f.lower, err = newFloatBound(n.Lower); err != nil {
		return nil, err
	}
	f.upper, err = newFloatBound(n.Upper)
	return f, err
}

func (f *float) value(j *judge, tag string) {
	if j.kind() != '0' {
		j.mismatch(f.node)
		return
	}
	literal := j.number()
	v, err := parseFloat(literal, 64)
	if problem := f.check(v, err, literal); problem != "" {
		j.problem(0, problem)
		return
	}
	if f.bits == 32 {
		if v, err = parseFloat(literal, 32); err != nil {
			j.problem(0, overflowText)
			return
		}
	}
	if f.skipZero && math.Float64bits(v) == 0 {
		return
	}
	j.tag(tag)
	if f.bits == 32 {
		j.fixed32(math.Float32bits(float32(v)))
	} else {
		j.fixed64(math.Float64bits(v))
	}
}

const overflowText = "must be a number that a double can hold"

func (f *float) check(v float64, err error, literal []byte) string {
	if err != nil {
		return overflowText
	}
	if b := f.lower; b != nil {
		switch order := b.order(v, literal); {
		case b.Exclusive && order <= 0:
			return "must be greater than " + b.Text
		case order < 0:
			return "must be at least " + b.Text
		}
	}
	if b := f.upper; b != nil {
		switch order := b.order(v, literal); {
		case b.Exclusive && order >= 0:
			return "must be less than " + b.Text
		case order > 0:
			return "must be at most " + b.Text
		}
	}
	if f.node.Enum != nil || f.node.Not != nil {
		d, _ := schema.ParseDecimal(string(literal))
		return constants(f.node, sameNumber(d))
	}
	return ""
}

// parseFloat reads a JSON number. The text is looked at during the call alone, so that it need not be copied.
func parseFloat(literal []byte, bits int) (float64, error) {
	if len(literal) == 0 {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseFloat(unsafe.String(&literal[0], len(literal)), bits)
}

func sameNumber(d schema.Decimal) func(schema.Literal) bool {
	return func(l schema.Literal) bool {
		other, ok := schema.ParseDecimal(l.Text)
		return ok && d.Cmp(other) == 0
	}
}
