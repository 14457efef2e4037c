package schema

import (
	"math/big"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// numericRules are the rules of all numbers, whose messages share their field names. Of a number with a fraction a
// caller may give more digits than the field holds: what is beyond an end that is excluded, or beside an excluded
// constant, may be rounded to it, so that such a rule is said only in part.
func numericRules(n *Node, m protoreflect.Message) []rule {
	get := func(name protoreflect.Name) (literal Literal, set, finite bool) {
		fd := m.Descriptor().Fields().ByName(name)
		if fd == nil || !m.Has(fd) {
			return Literal{}, false, true
		}
		literal, finite = numberLiteral(n, fd, m.Get(fd))
		return literal, true, finite
	}
	all := func(name protoreflect.Name) (list []Literal, set bool) {
		fd := m.Descriptor().Fields().ByName(name)
		values := m.Get(fd).List()
		for i := range values.Len() {
			if l, finite := numberLiteral(n, fd, values.Get(i)); finite {
				list = append(list, l)
			}
		}
		return list, values.Len() > 0
	}
	isZero := func(l Literal) bool { return parse(l).Sign() == 0 }

	var list []rule
	if c, set, finite := get("const"); set && finite {
		list = append(list, constant(n, c, isZero(c)).of("const"))
	} else if set {
		list = append(list, words("Must be %s.", c.Text).of("const"))
	}
	list = append(list, ranged(n, get)...)
	if in, set := all("in"); set {
		r := among(n, in, slices.ContainsFunc(in, isZero))
		if len(in) == 0 {
			r = words("One of values that are not finite.")
		}
		list = append(list, r.of("in"))
	}
	if not, set := all("not_in"); set {
		r := notAmong(n, not, !slices.ContainsFunc(not, isZero))
		r.partly = n.Kind == Number && len(not) > 0
		list = append(list, r.of("not_in"))
	}
	return list
}

// rangeMembers are the members that bound a range. Protovalidate reports either end of one by the lower one's name.
var rangeMembers = []protoreflect.Name{"gt", "gte", "lt", "lte"}

// ranged publishes gt, gte, lt and lte. Ends in the wrong order mean "outside", which no keyword says.
func ranged(n *Node, get func(protoreflect.Name) (literal Literal, set, finite bool)) []rule {
	var lower, upper *Bound
	bounded := true
	for _, name := range rangeMembers {
		l, set, finite := get(name)
		switch {
		case !set:
			continue
		case name[0] == 'g':
			lower = &Bound{Text: l.Text, Exclusive: name == "gt"}
		default:
			upper = &Bound{Text: l.Text, Exclusive: name == "lt"}
		}
		bounded = bounded && finite
	}
	lowerText, upperText := lower.words("greater than ", "at least "), upper.words("less than ", "at most ")
	if !bounded {
		// An end that is not finite cannot be written.
		return []rule{words("Must be %s.", strings.Join(slices.DeleteFunc([]string{lowerText, upperText}, func(s string) bool { return s == "" }), " and ")).of(rangeMembers...)}
	}
	sign := func(b *Bound) int { return parse(literalRaw(b.Text)).Sign() }
	aboveLower := lower != nil && (sign(lower) < 0 || sign(lower) == 0 && !lower.Exclusive)
	belowUpper := upper != nil && (sign(upper) > 0 || sign(upper) == 0 && !upper.Exclusive)
	if lower != nil && upper != nil && parse(literalRaw(upper.Text)).Cmp(parse(literalRaw(lower.Text))) < 0 {
		r := words("Must be %s or %s.", upperText, lowerText)
		r.allowsZero = aboveLower || belowUpper
		return []rule{r.of(rangeMembers...)}
	}
	var list []rule
	if lower != nil {
		list = append(list, rule{
			set: func() { raise(n, lower) }, words: "Must be " + lowerText + ".",
			allowsZero: aboveLower, partly: n.Kind == Number && lower.Exclusive,
		}.of(rangeMembers...))
	}
	if upper != nil {
		list = append(list, rule{
			set: func() { cut(n, upper) }, words: "Must be " + upperText + ".",
			allowsZero: belowUpper, partly: n.Kind == Number && upper.Exclusive,
		}.of(rangeMembers...))
	}
	return list
}

func (b *Bound) words(exclusive, inclusive string) string {
	switch {
	case b == nil:
		return ""
	case b.Exclusive:
		return exclusive + b.Text
	default:
		return inclusive + b.Text
	}
}

// raise and cut narrow a range: of integers by the next one, of other numbers by the bound as it stands.
func raise(n *Node, b *Bound) {
	if n.Kind == Number {
		n.Lower = b
		return
	}
	v, _ := new(big.Int).SetString(b.Text, 10)
	if b.Exclusive {
		v.Add(v, big.NewInt(1))
	}
	n.Min = v
}

func cut(n *Node, b *Bound) {
	if n.Kind == Number {
		n.Upper = b
		return
	}
	v, _ := new(big.Int).SetString(b.Text, 10)
	if b.Exclusive {
		v.Sub(v, big.NewInt(1))
	}
	n.Max = v
}

// numberLiteral writes a rule's number as the node writes its values. It reports false for what is not finite, which
// no JSON number spells.
func numberLiteral(n *Node, fd protoreflect.FieldDescriptor, v protoreflect.Value) (Literal, bool) {
	var text string
	switch fd.Kind() {
	case protoreflect.FloatKind:
		text = strconv.FormatFloat(v.Float(), 'g', -1, 32)
	case protoreflect.DoubleKind:
		text = strconv.FormatFloat(v.Float(), 'g', -1, 64)
	default:
		text = v.String()
	}
	if strings.ContainsAny(text, "IN") {
		return literalRaw(text), false
	}
	if n.Kind == String {
		return Literal{JSON: `"` + text + `"`, Text: text}, true
	}
	return literalRaw(text), true
}

// parse reads a literal of a number exactly. The text is ours and finite.
func parse(l Literal) Decimal {
	d, _ := ParseDecimal(l.Text)
	return d
}
