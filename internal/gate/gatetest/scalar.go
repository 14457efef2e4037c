package gatetest

import (
	"encoding/base64"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// text judges a string, or the key of a map, by its node and says what it must be, or "".
func (g *Gate) text(n *schema.Node, s string) string {
	if strings.IndexFunc(s, control) >= 0 {
		return "must not contain control characters other than tab, newline and carriage return"
	}
	if text := g.form(n, s); text != "" {
		return text
	}
	if text := constants(n, func(l schema.Literal) bool { return l.Text == s }); text != "" {
		return text
	}
	length := uint64(utf8.RuneCountInString(s))
	if n.MinLength != nil && length < *n.MinLength {
		return "must have at least " + plural(int(*n.MinLength), "character", "characters")
	}
	if n.MaxLength != nil && length > *n.MaxLength {
		return "must have at most " + plural(int(*n.MaxLength), "character", "characters")
	}
	if n.Form == schema.Text && n.Pattern != "" && !g.patterns[n].MatchString(s) {
		return "must match the pattern " + n.Pattern
	}
	if check := formats[n.Format]; check != nil && !check(s) {
		return "must be of the format " + n.Format
	}
	return ""
}

// control reports a C0 control character that text files do without.
func control(r rune) bool { return r < 0x20 && r != '\t' && r != '\n' && r != '\r' }

// form judges what the text spells.
func (g *Gate) form(n *schema.Node, s string) string {
	matches := n.Pattern == "" || g.patterns[n].MatchString(s)
	switch n.Form {
	case schema.Base64:
		// The decoder skips line ends, which the form does not have.
		if _, err := base64.StdEncoding.Strict().DecodeString(s); err != nil || strings.ContainsAny(s, "\r\n") {
			return "must be base64 of the standard alphabet, with padding"
		}
	case schema.Int:
		v, ok := new(big.Int).SetString(s, 10)
		if !matches || !ok || v.Cmp(n.Min) < 0 || v.Cmp(n.Max) > 0 {
			return fmt.Sprintf("must be an integer from %s to %s, written as a string", n.Min, n.Max)
		}
	case schema.Bool:
		if !matches {
			return `must be "true" or "false"`
		}
	case schema.Timestamp:
		if !timestamp(s) {
			return "must be an RFC 3339 date and time with an offset, for example 2024-05-01T12:00:00Z: capital T and Z, " +
				"at most nine decimals, no leap second, years 0001 to 9999"
		}
	case schema.Duration:
		if !matches || !duration(s) {
			return "must be seconds with the suffix s, for example 1.5s, from -315576000000s to 315576000000s"
		}
	case schema.FieldMask:
		if !matches {
			return "must be field paths in lowerCamelCase, separated by commas"
		}
	}
	return ""
}

// integer judges the literal of a number as an integer.
func integer(n *schema.Node, literal string) string {
	d, ok := schema.ParseDecimal(literal)
	if !ok || !d.IsInteger() {
		return "must be an integer"
	}
	if v, ok := d.Int(); !ok || v.Cmp(n.Min) < 0 || v.Cmp(n.Max) > 0 {
		return fmt.Sprintf("must be from %s to %s", n.Min, n.Max)
	}
	return constants(n, sameNumber(d))
}

// number judges the literal of any number.
func number(n *schema.Node, literal string) string {
	d, ok := schema.ParseDecimal(literal)
	if !ok {
		return "must be a number"
	}
	if f, err := strconv.ParseFloat(literal, 64); err != nil || math.IsInf(f, 0) {
		return "must be a number that a double can hold"
	}
	if b := n.Lower; b != nil {
		low, _ := schema.ParseDecimal(b.Text)
		switch order := d.Cmp(low); {
		case b.Exclusive && order <= 0:
			return "must be greater than " + b.Text
		case order < 0:
			return "must be at least " + b.Text
		}
	}
	if b := n.Upper; b != nil {
		high, _ := schema.ParseDecimal(b.Text)
		switch order := d.Cmp(high); {
		case b.Exclusive && order >= 0:
			return "must be less than " + b.Text
		case order > 0:
			return "must be at most " + b.Text
		}
	}
	return constants(n, sameNumber(d))
}

func sameNumber(d schema.Decimal) func(schema.Literal) bool {
	return func(l schema.Literal) bool {
		other, ok := schema.ParseDecimal(l.Text)
		return ok && d.Cmp(other) == 0
	}
}

// constants judges a scalar by the constants that its node accepts and refuses.
func constants(n *schema.Node, same func(schema.Literal) bool) string {
	list := func(literals []schema.Literal) string {
		texts := make([]string, len(literals))
		for i, l := range literals {
			texts[i] = l.Text
		}
		return names(texts)
	}
	if n.Enum != nil {
		for _, l := range n.Enum {
			if same(l) {
				return ""
			}
		}
		switch len(n.Enum) {
		case 0:
			return "no value is accepted here"
		case 1:
			return "must be " + n.Enum[0].JSON
		}
		return "must be one of: " + list(n.Enum)
	}
	for _, l := range n.Not {
		if same(l) {
			return "must be none of: " + list(n.Not)
		}
	}
	return ""
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
