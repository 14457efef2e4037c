package schematest

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Near lists values next to what a scalar node accepts, given one that it does: of its type and of others, within and
// without.
func Near(n *schema.Node, v *Value) []*Value {
	var list []*Value
	texts := func(all ...string) {
		for _, text := range all {
			list = append(list, stringValue(text))
		}
	}
	numbers := func(all ...string) {
		for _, text := range all {
			if _, ok := schema.ParseDecimal(text); ok { // what is next to the largest double is none
				list = append(list, numberValue(text))
			}
		}
	}
	for _, constant := range append(append([]schema.Literal{}, n.Enum...), n.Not...) {
		if n.Kind == schema.String {
			texts(constant.Text, constant.Text+" ", strings.ToLower(constant.Text), constant.Text+"\x00")
		} else if _, ok := schema.ParseDecimal(constant.Text + ".5"); ok {
			numbers(constant.Text, constant.Text+".0", constant.Text+".5")
		}
	}
	switch n.Kind {
	case schema.Boolean:
		list = append(list, boolValue(v.Kind == 'f'))
		numbers("0", "1")
		texts("true", "false", "yes", "")
	case schema.Null:
		list = append(list, boolValue(false), objectValue())
		numbers("0")
		texts("", "null", "NULL_VALUE")
	case schema.Integer:
		for _, end := range []*big.Int{n.Min, n.Max} {
			numbers(end.String(), moved(end, -1), moved(end, 1))
			texts(end.String())
		}
		numbers("0", "-0", "0.5", "1e99", "1e400", "-1e-400", "1.0000000000000000001", "9223372036854775808", "1e2", "0.1e1")
		texts("7", "", "NaN")
	case schema.Number:
		for _, b := range []*schema.Bound{n.Lower, n.Upper} {
			if b != nil {
				f, _ := strconv.ParseFloat(b.Text, 64)
				numbers(b.Text, strconv.FormatFloat(math.Nextafter(f, math.Inf(1)), 'g', -1, 64), strconv.FormatFloat(math.Nextafter(f, math.Inf(-1)), 'g', -1, 64))
				if _, ok := schema.ParseDecimal(b.Text + ".5"); ok {
					numbers(b.Text + ".00000000000000000000001")
				}
			}
		}
		numbers("0", "-0", "1e308", "1.7976931348623157e308", "1.7976931348623159e308", "1e400", "-1e400", "1e-400", "3.4028234663852886e38", "3.4028234663852887e38", "3.5e38", "0.1")
		texts("NaN", "Infinity", "-Infinity", "1.5", "")
	case schema.String:
		nearText(n, v, texts, numbers)
	}
	return list
}

func moved(v *big.Int, by int64) string { return new(big.Int).Add(v, big.NewInt(by)).String() }

// nearForms are texts that are almost of a form, and some that just are.
var nearForms = map[schema.Form][]string{
	schema.Base64: {"YQ", "YQ=", "YQ===", "YR==", "_-8=", "YQ==\n", " YQ==", "Y Q==", "YQ==YQ==", "=", "!", "YWJj", "YW=j"},
	schema.Bool:   {"True", "1", "0", "", " true", "yes"},
	schema.Timestamp: {
		"", "2024-01-01", "2024-01-01T00:00:00", "2016-12-31T23:59:60Z", "0000-12-31T23:59:59Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00",
		"2024-01-01T00:00:00,5Z", "2024-01-01t00:00:00z", "2024-01-01 00:00:00Z", "2024-01-01T00:00:00.0123456789Z", "2023-02-29T00:00:00Z", "2024-02-29T00:00:00Z",
		"2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00+00:60", "2024-01-01T24:00:00Z", "2024-13-01T00:00:00Z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00Z",
		"+2024-01-01T00:00:00Z", "20240-01-01T00:00:00Z", "2024-01-01T00:00:00+0100", "2024-01-01T00:00:00Z ", "1704067200", "2024-1-1T0:0:0Z", "1900-02-29T00:00:00Z", "2024-01-01T00:00:00.0Z",
	},
	schema.Duration: {
		"", "1", "s", "PT1S", "1.s", ".5s", "01s", "+1s", "1.0123456789s", "315576000000.000000001s", "315576000001s", "-315576000000.000000001s", "999999999999s", "1e3s", "1 s", "1S", "--1s", "-s", "0.000000000s",
	},
	schema.FieldMask: {"display_name", "a, b", "a,", ",a", "A", "a.", "a..b", "*", "a.*", "é", "a b", "1a", "aB", "a_1"},
	schema.Int:       {"", "+1", "01", "-0", "-01", "1.0", "1e2", " 1", "1 ", "1_0", "0x1", "NaN", "-", "١", "00", "99999999999999999999", "1\x00"},
}

// nearFormats are texts that are almost of a format.
var nearFormats = map[string][]string{
	"email":    {"a@", "@b", "a", "a b@c.d", "a@b..c", "<a@b.c>", "\"a b\"@c.d", "a@-b.c", "é@b.c", "a@b_c", "a.@b.c", ".a@b.c", "a..b@c.d", "a@[192.0.2.1]", "a@b.", "a@" + strings.Repeat("b", 64) + ".c", "A@B"},
	"hostname": {"-a", "a-", "a..b", "", ".", "a.", "1.2.3.4", "123", "a_b", "é.example", strings.Repeat("a", 64), "xn--a", "a.1", "a-.b", "a--b"},
	"ipv4":     {"192.0.2.256", "192.0.2", "192.0.2.1.1", "01.2.3.4", " 192.0.2.1", "0x7f.0.0.1", "::1", "1.2.3.4/24"},
	"ipv6":     {"192.0.2.1", ":::", "1:2:3:4:5:6:7", "::1%eth0", "[::1]", "12345::", "::g", "1::2::3", "::1/64", "::ffff:192.0.2.256"},
	"uri":      {"/relative", "", "a", "http://", "http:// a", "http://é/", "http://a/%zz", "http://[::1", "//host", "http://a#b#c", "1a:b", "http://a/\\", "a:", "http://a/<b>", "http://a:b", "http://a:99999999/", "http://[v1.x]/", "a:[b]"},
	"uuid":     {"0b0b4b4e", "0b0b4b4e4f0a4b539d7e4a6b3a4c1d2e", "0b0b4b4e-4f0a-4b53-9d7e-4a6b3a4c1d2g", "{0b0b4b4e-4f0a-4b53-9d7e-4a6b3a4c1d2e}", "urn:uuid:0b0b4b4e-4f0a-4b53-9d7e-4a6b3a4c1d2e", "0b0b4b4e-4f0a-4b53-9d7e-4a6b3a4c1d2e "},
}

func nearText(n *schema.Node, v *Value, texts, numbers func(...string)) {
	numbers("0", "1")
	texts(nearForms[n.Form]...)
	texts(nearFormats[n.Format]...)
	if n.Form == schema.Int {
		for _, end := range []*big.Int{n.Min, n.Max} {
			texts(end.String(), moved(end, -1), moved(end, 1))
			numbers(end.String())
		}
		return
	}
	if n.Form != schema.Text {
		texts("x", v.Text+"\x00")
		return
	}
	texts("", "x", "A", "é😀", v.Text+"\x00", "\x1b"+v.Text, v.Text+"\n", " "+v.Text, v.Text+v.Text, strings.ToUpper(v.Text), "\u007f\u0085")
	length := func(count uint64) string {
		for uint64(utf8.RuneCountInString(v.Text)) < count {
			v = stringValue(v.Text + "😀")
		}
		return string([]rune(v.Text)[:count])
	}
	for _, end := range []*uint64{n.MinLength, n.MaxLength} {
		if end != nil {
			texts(length(*end), length(*end+1))
			if *end > 0 {
				texts(length(*end - 1))
			}
		}
	}
	if n.Pattern != "" {
		for _, p := range patterns {
			texts(p.match...)
		}
	}
}
