package schematest

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// leaf draws the values of one scalar node.
type leaf struct {
	node *schema.Node
	// known are values that the node accepts: all there are where complete is set.
	known    []*Value
	complete bool
	pattern  *regexp.Regexp
}

// leaf returns what is known about a scalar node. Of any other node there are always enough values.
func (d *Drawer) leaf(n *schema.Node) *leaf {
	l := d.leaves[n]
	if l == nil {
		l = newLeaf(n)
		d.leaves[n] = l
	}
	return l
}

func newLeaf(n *schema.Node) *leaf {
	l := &leaf{node: n}
	switch n.Kind {
	case schema.String, schema.Integer, schema.Number, schema.Boolean, schema.Null:
	default:
		return l
	}
	if n.Pattern != "" {
		l.pattern = regexp.MustCompile(n.Pattern)
	}
	seen := map[string]bool{}
	add := func(v *Value) {
		if key := identity(v); !seen[key] && l.fits(v) {
			seen[key] = true
			l.known = append(l.known, v)
		}
	}
	switch {
	case n.Enum != nil:
		l.complete = true
		for _, constant := range n.Enum {
			v, err := Parse([]byte(constant.JSON))
			if err != nil {
				panic(err)
			}
			add(v)
		}
	case n.Kind == schema.Boolean:
		l.complete = true
		add(boolValue(false))
		add(boolValue(true))
	case n.Kind == schema.Null:
		l.complete = true
		add(&Value{Kind: 'n'})
	case n.Kind == schema.Integer:
		l.integers(add, numberValue)
	case n.Kind == schema.Number:
		l.decimals(add)
	case n.Form == schema.Int:
		l.integers(add, stringValue)
	case n.Form == schema.Text:
		l.texts(add)
	default:
		for _, text := range forms[n.Form] {
			add(stringValue(text))
		}
		l.complete = n.Form == schema.Bool
	}
	return l
}

// forms are texts of forms that are drawn freely beside them.
var forms = map[schema.Form][]string{
	schema.Base64:    {"", "YQ==", "+/8=", "AAAA", "YWI="},
	schema.Bool:      {"true", "false"},
	schema.Timestamp: {"1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "2024-02-29T12:00:00.000000001+05:30", "9999-12-31T23:59:59.999999999Z", "0001-01-01T23:59:00+23:59", "9999-12-31T00:00:59-23:59", "1969-12-31T23:59:59.5Z", "2000-01-01T00:00:00.120-00:00"},
	schema.Duration:  {"0s", "1s", "1.5s", "-0s", "-0.000s", "-0.5s", "0.000000001s", "315576000000s", "-315576000000s", "315575999999.999999999s", "3.120s"},
	schema.FieldMask: {"", "a", "userName.b,cD", "a1.b2,x", "aB.cDE", "a,a"},
}

// integers are the ends of a range and what is next to them, and all of a small range.
func (l *leaf) integers(add func(*Value), value func(string) *Value) {
	span := new(big.Int).Sub(l.node.Max, l.node.Min)
	l.complete = span.IsInt64() && span.Int64() < 16
	for i := range int64(16) {
		add(value(new(big.Int).Add(l.node.Min, big.NewInt(i)).String()))
	}
	add(value(l.node.Max.String()))
	for _, text := range []string{"0", "1", "-1", "100", "1000000"} {
		add(value(text))
	}
}

// decimals are numbers at the ends of a range, beyond them where that is allowed, and between.
func (l *leaf) decimals(add func(*Value)) {
	low, high := -1e300, 1e300
	if b := l.node.Lower; b != nil {
		low, _ = strconv.ParseFloat(b.Text, 64)
		add(numberValue(b.Text))
	}
	if b := l.node.Upper; b != nil {
		high, _ = strconv.ParseFloat(b.Text, 64)
		add(numberValue(b.Text))
	}
	for _, f := range []float64{0, 1, -1, 0.1, 1.5, -1e-7, 1e10, 3e38, low, high, math.Nextafter(low, high), math.Nextafter(high, low), low/2 + high/2, low + 1, high - 1} {
		add(numberValue(strconv.FormatFloat(f, 'g', -1, 64)))
		add(numberValue(strconv.FormatFloat(f, 'g', -1, 32)))
	}
	add(numberValue("-0"))
	add(numberValue("1e-400"))
}

// formats are texts of each JSON Schema format.
var formats = map[string][]string{
	"email":    {"a@b.example", "first.last+tag@example.com", "x@y"},
	"hostname": {"example.com", "a", "a-b.c1", "A.example"},
	"ipv4":     {"192.0.2.1", "0.0.0.0", "255.255.255.255"},
	"ipv6":     {"::", "2001:db8::1", "1:2:3:4:5:6:7:8", "::ffff:192.0.2.1", "A::B"},
	"uri":      {"https://example.com/a?b=c#d", "urn:x:y", "mailto:a@b.example", "http://[::1]:80/%20"},
	"uuid":     {"0b0b4b4e-4f0a-4b53-9d7e-4a6b3a4c1d2e", "00000000-0000-0000-0000-000000000000", "0B0B4B4E-4F0A-4B53-9D7E-4A6B3A4C1D2E"},
}

// texts are those of a format or pattern, and ones of the right length.
func (l *leaf) texts(add func(*Value)) {
	if l.node.Format != "" {
		for _, text := range formats[l.node.Format] {
			add(stringValue(text))
		}
		return
	}
	for _, p := range patterns {
		for _, text := range p.match {
			add(stringValue(text))
		}
	}
	least := 0
	if l.node.MinLength != nil {
		least = int(*l.node.MinLength)
	}
	for _, unit := range []string{"a", "b", "1", "-", "é", "😀"} {
		add(stringValue(strings.Repeat(unit, least)))
		add(stringValue(strings.Repeat(unit, least+1)))
	}
	if l.node.Pattern != "" {
		for _, list := range formats {
			for _, text := range list {
				add(stringValue(text))
			}
		}
		slices.SortFunc(l.known, func(a, b *Value) int { return strings.Compare(a.Text, b.Text) }) // formats is a map
	}
}

// fits judges a value of the right type by everything that the node says, but for forms and formats, of which only
// good ones are made.
func (l *leaf) fits(v *Value) bool {
	n := l.node
	same := func(c schema.Literal) bool {
		switch v.Kind {
		case '"':
			return c.Text == v.Text
		case '0':
			return compare(v.Text, c.Text) == 0
		default:
			return c.Text == v.String()
		}
	}
	if n.Enum != nil && !slices.ContainsFunc(n.Enum, same) || slices.ContainsFunc(n.Not, same) {
		return false
	}
	switch {
	case n.Kind == schema.Integer, n.Kind == schema.String && n.Form == schema.Int:
		return compare(v.Text, n.Min.String()) >= 0 && compare(v.Text, n.Max.String()) <= 0
	case n.Kind == schema.Number:
		if _, finite := schema.ParseDecimal(v.Text); !finite {
			return false
		}
		if b := n.Lower; b != nil {
			if order := compare(v.Text, b.Text); order < 0 || order == 0 && b.Exclusive {
				return false
			}
		}
		if b := n.Upper; b != nil {
			if order := compare(v.Text, b.Text); order > 0 || order == 0 && b.Exclusive {
				return false
			}
		}
	case n.Kind == schema.String:
		length := uint64(utf8.RuneCountInString(v.Text))
		return (n.MinLength == nil || length >= *n.MinLength) && (n.MaxLength == nil || length <= *n.MaxLength) &&
			(l.pattern == nil || l.pattern.MatchString(v.Text))
	}
	return true
}

func compare(a, b string) int {
	x, _ := schema.ParseDecimal(a)
	y, _ := schema.ParseDecimal(b)
	return x.Cmp(y)
}

// capacity is how many different values there are, if they are few.
func (l *leaf) capacity() int {
	switch l.node.Kind {
	case schema.String, schema.Integer, schema.Number, schema.Boolean, schema.Null:
	default:
		return math.MaxInt32
	}
	if l.complete || l.node.Format != "" || l.node.Pattern != "" && l.node.Form == schema.Text || len(l.known) == 0 {
		return len(l.known)
	}
	if l.node.Form == schema.Text && l.node.MaxLength != nil && *l.node.MaxLength < 3 {
		return len(l.known)
	}
	return math.MaxInt32
}

// nth is a value by its number, another one for each as far as there are any.
func (l *leaf) nth(i int) *Value {
	if i < len(l.known) {
		return l.known[i].clone()
	}
	v := *l.known[i%len(l.known)]
	switch {
	case l.node.Kind == schema.Integer, l.node.Form == schema.Int:
		v.Text = new(big.Int).Add(l.node.Min, big.NewInt(int64(i))).String()
	case l.node.Kind == schema.Number:
		v.Text = fmt.Sprintf("%d.%d", i%3, i)
	case l.node.Form == schema.Text:
		v.Text = fmt.Sprint(i, v.Text)
	case l.node.Form == schema.Base64:
		v.Text = base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(i)))
	}
	if !l.fits(&v) {
		return l.known[i%len(l.known)].clone()
	}
	return &v
}

// draw draws one value, from what is known or freely.
func (l *leaf) draw(t *rapid.T) *Value {
	if !l.complete && rapid.Bool().Draw(t, "free") {
		if v := l.free(t); v != nil && l.fits(v) {
			return v
		}
	}
	return pick(t, l.known).clone()
}

// free draws a value that fits the node's type and form, though perhaps not its rules.
func (l *leaf) free(t *rapid.T) *Value {
	n := l.node
	switch n.Kind {
	case schema.Integer:
		return numberValue(l.integer(t))
	case schema.Number:
		low, high := -math.MaxFloat64, math.MaxFloat64
		if n.Lower != nil {
			low, _ = strconv.ParseFloat(n.Lower.Text, 64)
		}
		if n.Upper != nil {
			high, _ = strconv.ParseFloat(n.Upper.Text, 64)
		}
		if low > high {
			return nil
		}
		bits := 64
		if rapid.Bool().Draw(t, "short") {
			bits = 32
		}
		return numberValue(strconv.FormatFloat(rapid.Float64Range(low, high).Draw(t, "number"), 'g', -1, bits))
	case schema.Boolean:
		return boolValue(rapid.Bool().Draw(t, "flag"))
	}
	switch n.Form {
	case schema.Base64:
		return stringValue(base64.StdEncoding.EncodeToString(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes")))
	case schema.Int:
		return stringValue(l.integer(t))
	case schema.Timestamp:
		return stringValue(timestamp(t))
	case schema.Duration:
		text := fmt.Sprintf("%s%d", pick(t, []string{"", "-"}), rapid.Int64Range(0, 315575999999).Draw(t, "seconds"))
		return stringValue(text + fraction(t) + "s")
	case schema.Text:
		if n.Format != "" {
			return nil
		}
		least, most := 0, 6
		if n.MinLength != nil {
			least = int(*n.MinLength)
			most = least + 6
		}
		if n.MaxLength != nil {
			most = min(most, int(*n.MaxLength))
		}
		if least > most {
			return nil
		}
		return stringValue(rapid.StringOfN(rapid.RuneFrom(alphabet), least, most, -1).Draw(t, "text"))
	}
	return nil
}

var alphabet = []rune("aZ09 é😀\t\n\r\"\\{}/'\u007f\u0085\u2028\ufeff\ufffd\U0010fffd")

func (l *leaf) integer(t *rapid.T) string {
	span := new(big.Int).Add(new(big.Int).Sub(l.node.Max, l.node.Min), big.NewInt(1))
	if span.Sign() <= 0 {
		return "0"
	}
	v := new(big.Int).SetUint64(rapid.Uint64().Draw(t, "offset"))
	return v.Add(v.Mod(v, span), l.node.Min).String()
}

func timestamp(t *rapid.T) string {
	text := fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d", between(t, 2, 9998), between(t, 1, 12), between(t, 1, 28), between(t, 0, 23), between(t, 0, 59), between(t, 0, 59))
	zone := "Z"
	if rapid.Bool().Draw(t, "offset") {
		zone = fmt.Sprintf("%s%02d:%02d", pick(t, []string{"+", "-"}), between(t, 0, 23), between(t, 0, 59))
	}
	return text + fraction(t) + zone
}

// fraction draws up to nine decimals, or none.
func fraction(t *rapid.T) string {
	digits := between(t, 0, 9)
	if digits == 0 {
		return ""
	}
	return "." + fmt.Sprintf("%09d", between(t, 0, 999999999))[:digits]
}
