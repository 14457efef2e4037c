package schema_test

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// TestInput_rules holds a row for each protovalidate rule that is published, as a keyword or in words.
func TestInput_rules(t *testing.T) {
	const v = "(buf.validate.field)."
	for _, row := range []struct{ name, field, want string }{
		{"min_len", `string a = 1 [` + v + `string.min_len = 2]`, `{"type":"string","minLength":2}`},
		{"max_len", `string a = 1 [` + v + `string.max_len = 2]`, `{"type":"string","maxLength":2}`},
		{"len", `string a = 1 [` + v + `string.len = 2]`, `{"type":"string","minLength":2,"maxLength":2}`},
		{"pattern", `string a = 1 [` + v + `string.pattern = "^[a-z-]+$"]`, `{"type":"string","pattern":"^[\\-a-z]+$"}`},
		{"pattern with another meaning elsewhere is written out", `string a = 1 [` + v + `string.pattern = "^\\S.(?i:k)$"]`, `{"type":"string","pattern":"^[^\\t\\n\\x0c\\r ][^\\n][KkK]$"}`},
		{"pattern that is not portable", `string a = 1 [` + v + `string.pattern = "(?m)^a$"]`, `{"type":"string","description":"Must match the RE2 pattern (?m)^a$"}`},
		{"prefix", `string a = 1 [` + v + `string.prefix = "x"]`, `{"type":"string","description":"Must begin with \"x\"."}`},
		{"suffix", `string a = 1 [` + v + `string.suffix = "x"]`, `{"type":"string","description":"Must end with \"x\"."}`},
		{"contains", `string a = 1 [` + v + `string.contains = "x"]`, `{"type":"string","description":"Must contain \"x\"."}`},
		{"not_contains", `string a = 1 [` + v + `string.not_contains = "x"]`, `{"type":"string","description":"Must not contain \"x\"."}`},
		{"bytes of a string", `string a = 1 [(buf.validate.field).string = {min_bytes: 1, max_bytes: 2}]`, `{"type":"string","description":"At least 1 bytes in UTF-8. At most 2 bytes in UTF-8."}`},
		{"in", `string a = 1 [(buf.validate.field).string = {in: ["x", "y"]}]`, `{"type":"string","enum":["x","y"]}`},
		{"not_in", `string a = 1 [(buf.validate.field).string = {not_in: ["x", "y"]}]`, `{"type":"string","not":{"enum":["x","y"]}}`},
		{"const", `string a = 1 [` + v + `string.const = "x"]`, `{"type":"string","const":"x"}`},
		{"email", `string a = 1 [` + v + `string.email = true]`, `{"type":"string","format":"email"}`},
		{"hostname", `string a = 1 [` + v + `string.hostname = true]`, `{"type":"string","format":"hostname"}`},
		{"ipv4", `string a = 1 [` + v + `string.ipv4 = true]`, `{"type":"string","format":"ipv4"}`},
		{"ipv6", `string a = 1 [` + v + `string.ipv6 = true]`, `{"type":"string","format":"ipv6"}`},
		{"uri", `string a = 1 [` + v + `string.uri = true]`, `{"type":"string","format":"uri"}`},
		{"uuid", `string a = 1 [` + v + `string.uuid = true]`, `{"type":"string","format":"uuid"}`},
		{"ip has no format", `string a = 1 [` + v + `string.ip = true]`, `{"type":"string","description":"Must be an IP address."}`},
		{"a form switched off", `string a = 1 [` + v + `string.email = false]`, `{"type":"string"}`},
		{"header name", `string a = 1 [` + v + `string.well_known_regex = KNOWN_REGEX_HTTP_HEADER_NAME]`, `{"type":"string","description":"Must be an http header name."}`},
		{"gt and lte", `int32 a = 1 [(buf.validate.field).int32 = {gt: 0, lte: 9}]`, `{"type":"integer","minimum":1,"maximum":9}`},
		{"gte and lt", `uint32 a = 1 [(buf.validate.field).uint32 = {gte: 3, lt: 9}]`, `{"type":"integer","minimum":3,"maximum":8}`},
		{"outside a range", `int32 a = 1 [(buf.validate.field).int32 = {gt: 9, lt: 0}]`, `{"type":"integer","description":"Must be less than 0 or greater than 9.","minimum":-2147483648,"maximum":2147483647}`},
		{"int64 says its range", `int64 a = 1 [(buf.validate.field).int64 = {gt: 0}]`, `{"type":"string","description":"An integer from 1 to 9223372036854775807, written as a string.","pattern":"^(0|-?[1-9][0-9]{0,18})$"}`},
		{"uint64 at its end", `uint64 a = 1 [` + v + `uint64.lte = 18446744073709551615]`, `{"type":"string","description":"An integer from 0 to 18446744073709551615, written as a string.","pattern":"^(0|[1-9][0-9]{0,19})$"}`},
		{"int64 in", `int64 a = 1 [(buf.validate.field).int64 = {in: [1, 2]}]`, `{"type":"string","description":"An integer from -9223372036854775808 to 9223372036854775807, written as a string.","enum":["1","2"],"pattern":"^(0|-?[1-9][0-9]{0,18})$"}`},
		{"double bounds", `double a = 1 [(buf.validate.field).double = {gt: 0, lte: 0.5}]`, `{"type":"number","exclusiveMinimum":0,"maximum":0.5}`},
		{"float bounds keep the other end", `float a = 1 [(buf.validate.field).float = {gte: 0.1}]`, `{"type":"number","minimum":0.1,"maximum":3.4028235e+38}`},
		{"number in", `int32 a = 1 [(buf.validate.field).int32 = {in: [1, 2]}]`, `{"type":"integer","enum":[1,2],"minimum":-2147483648,"maximum":2147483647}`},
		{"number const", `double a = 1 [` + v + `double.const = 1.5]`, `{"type":"number","const":1.5}`},
		{"bool const", `bool a = 1 [` + v + `bool.const = true]`, `{"type":"boolean","const":true}`},
		{"bytes len", `bytes a = 1 [` + v + `bytes.len = 4]`, `{"type":"string","description":"Exactly 4 bytes.","contentEncoding":"base64"}`},
		{"bytes const", `bytes a = 1 [` + v + `bytes.const = "a"]`, `{"type":"string","const":"YQ==","contentEncoding":"base64"}`},
		{"enum defined_only", `E a = 1 [` + v + `enum.defined_only = true]`, `{"type":"string","enum":["A","B"]}`},
		{"enum in", `E a = 1 [(buf.validate.field).enum = {in: [2]}]`, `{"type":"string","enum":["B"]}`},
		{"enum not_in", `E a = 1 [(buf.validate.field).enum = {not_in: [2]}]`, `{"type":"string","enum":["A"]}`},
		{"enum const", `E a = 1 [` + v + `enum.const = 1]`, `{"type":"string","enum":["A"]}`},
		{"items", `repeated string a = 1 [` + v + `repeated.items.string.min_len = 1]`, `{"type":"array","items":{"type":"string","minLength":1}}`},
		{"timestamp bounds", `google.protobuf.Timestamp a = 1 [(buf.validate.field).timestamp = {gte: {seconds: 0}, lt_now: true}]`, `{"type":"string","description":"Must be at least 1970-01-01T00:00:00Z. Must be in the past.","format":"date-time"}`},
		{"duration bounds", `google.protobuf.Duration a = 1 [(buf.validate.field).duration = {gt: {nanos: 500000000}}]`,
			`{"type":"string","description":"Seconds with the suffix s, for example 1.5s; from -315576000000s to 315576000000s. Must be greater than 0.5s.","pattern":"^-?(0|[1-9][0-9]{0,11})(\\.[0-9]{1,9})?s$"}`},
		{"wrapper rules", `google.protobuf.Int32Value a = 1 [` + v + `int32.gt = 4]`, `{"type":"integer","minimum":5,"maximum":2147483647}`},
		{"any in", `google.protobuf.Any a = 1 [` + v + `any.in = "type.googleapis.com/t.v1.S"]`,
			`{"type":"object","description":"A message together with the property \"@type\", which is required and names its type, one of: type.googleapis.com/t.v1.S. A type whose JSON is no plain object of fields stands under \"value\"."}`},
		{"cel message", `string a = 1 [(buf.validate.field).cel = {id: "x", message: "must be nice", expression: "true"}]`, `{"type":"string","description":"must be nice."}`},
		{"cel without a message", `string a = 1 [(buf.validate.field).cel_expression = "this != 'x'"]`, `{"type":"string","description":"Must satisfy the CEL rule: this != 'x'"}`},
		{"cel on a message field", `S a = 1 [(buf.validate.field).cel = {id: "x", message: "Must be nice.", expression: "true"}]`, `{"type":"object","description":"Must be nice.","additionalProperties":false}`},
		{"rules waived for the zero value become words", `string a = 1 [(buf.validate.field) = {ignore: IGNORE_IF_ZERO_VALUE, string: {min_len: 3, max_len: 5}}]`, `{"type":"string","description":"Unless it is left at its default: At least 3 characters.","maxLength":5}`},
		{"rules waived but with presence", `optional string a = 1 [(buf.validate.field) = {ignore: IGNORE_IF_ZERO_VALUE, string: {min_len: 3}}]`, `{"type":"string","minLength":3}`},
		{"length of several rules", `string a = 1 [(buf.validate.field).string = {len: 3, min_len: 2, max_len: 9}]`, `{"type":"string","minLength":3,"maxLength":3}`},
		{"in without not_in", `string a = 1 [(buf.validate.field).string = {in: ["x", "y"], not_in: ["y"]}]`, `{"type":"string","enum":["x"]}`},
		{"nothing is accepted", `int32 a = 1 [(buf.validate.field).int32 = {in: [1, 2], not_in: [1, 2]}]`, `{"type":"integer","not":{},"minimum":-2147483648,"maximum":2147483647}`},
		{"an empty range is no outside", `int32 a = 1 [(buf.validate.field).int32 = {gt: 5, lt: 5}]`, `{"type":"integer","minimum":6,"maximum":4}`},
		{"an end that is not finite", `double a = 1 [` + v + `double.lt = -inf]`, `{"type":"number","description":"Must be less than -Inf."}`},
		{"enum that only the zero value keeps", `E a = 1 [` + v + `enum.const = 0]`, `{"type":"string","enum":["E_UNSPECIFIED"]}`},
		{"bool keys", `map<bool, string> a = 1 [` + v + `map.keys.bool.const = true]`, `{"type":"object","propertyNames":{"const":"true","pattern":"^(true|false)$"},"additionalProperties":{"type":"string"}}`},
		{"both ends of a duration", `google.protobuf.Duration a = 1 [(buf.validate.field).duration = {gte: {seconds: 1}, lt: {seconds: 5}}]`,
			`{"type":"string","description":"Seconds with the suffix s, for example 1.5s; from -315576000000s to 315576000000s. Must be at least 1s and less than 5s.","pattern":"^-?(0|[1-9][0-9]{0,11})(\\.[0-9]{1,9})?s$"}`},
		{"outside of a time", `google.protobuf.Timestamp a = 1 [(buf.validate.field).timestamp = {gt: {seconds: 10}, lt: {seconds: 0}}]`,
			`{"type":"string","description":"Must be less than 1970-01-01T00:00:00Z or greater than 1970-01-01T00:00:10Z.","format":"date-time"}`},
		{"cel speaks of published names", `D a = 1 [(buf.validate.field).cel_expression = "this.inner_text != '' && has(this.deep_er.is_on)"]`,
			`{"type":"object","description":"Must satisfy the CEL rule: this.innerText != '' && has(this.deepEr.isOn)","properties":{"innerText":{"type":"string"},"deepEr":{"type":"object","properties":{"isOn":{"type":"boolean"}},"additionalProperties":false}},"additionalProperties":false}`},
		{"member of a message's oneof rule", `option (buf.validate.message).oneof = {fields: ["a", "z"]}; string z = 9 [(sallyport.tool.v1.field).hidden = true]; string a = 1 [` + v + `string.min_len = 3]`, `{"type":"string","description":"Unless it is left at its default: At least 3 characters."}`},
		{"wrapped item that is waived", `repeated google.protobuf.StringValue a = 1 [` + v + `repeated.items = {ignore: IGNORE_IF_ZERO_VALUE, string: {min_len: 3}}]`,
			`{"type":"array","items":{"type":"string","description":"Unless it is left at its default: At least 3 characters."}}`},
		{"ignored rules of items", `repeated string a = 1 [(buf.validate.field) = {ignore: IGNORE_ALWAYS, repeated: {min_items: 1, items: {string: {min_len: 3}}}}]`, `{"type":"array","items":{"type":"string"}}`},
		{"ignored message", `R a = 1 [` + v + `ignore = IGNORE_ALWAYS]; R b = 2`, `{"type":"object","properties":{"text":{"type":"string"}},"additionalProperties":false},"b":{"type":"object","properties":{"text":{"type":"string","minLength":1}},"required":["text"],"additionalProperties":false}`},
		{"ignored rules", `string a = 1 [(buf.validate.field) = {ignore: IGNORE_ALWAYS, string: {min_len: 3}}]`, `{"type":"string"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			md := schematest.Message(t, "message M { "+row.field+"; } enum E { E_UNSPECIFIED = 0; A = 1; B = 2; } message S {} message D { string inner_text = 1; D2 deep_er = 2; } message D2 { bool is_on = 1; } message R { string text = 1 [(buf.validate.field).required = true]; }")
			doc, _, err := schema.Input(md, profile(t, ""))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(object(`"a":`+row.want), string(doc.JSON())); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
			valid(t, doc.JSON())
		})
	}
	t.Run("message rules", func(t *testing.T) {
		md := schematest.Message(t, `message M { option (buf.validate.message).oneof = {fields: ["a", "b_c"], required: true};
			option (buf.validate.message).cel = {id: "x", message: "a must fit b", expression: "true"}; string a = 1; string b_c = 2; }`)
		doc, _, err := schema.Input(md, profile(t, ""))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"type":"object","description":"Give exactly one of: a, bC. a must fit b.","properties":{"a":{"type":"string"},"bC":{"type":"string"}},"additionalProperties":false}`
		if diff := cmp.Diff(want, string(doc.JSON())); diff != "" {
			t.Errorf("schema (-want +got):\n%s", diff)
		}
	})
}

func TestPortablePattern(t *testing.T) {
	texts := []string{"", "a", "A", "k", "\u212a", "-", "a-b", "a b", "a\u00a0b", "a\nb", "a\rb", "x/y", "1", "é", "{}", "[a]", "abc", "abab", "a.b", "😀"}
	for _, row := range []struct{ name, in, want string }{
		{"literal", `abc`, `abc`},
		{"anchors", `\Aab\z`, `^ab$`},
		{"dot", `a.b`, `a[^\n]b`},
		{"dot of everything", `(?s)a.b`, `a[\s\S]b`},
		{"digits", `\d+`, `[0-9]+`},
		{"word", `\w`, `[0-9A-Z_a-z]`},
		{"blank", `a\sb`, `a[\t\n\x0c\r ]b`},
		{"folded", `(?i)k`, `[KkK]`},
		{"quoted", `\Q{}\E`, `\{\}`},
		{"dash", `a-b`, `a-b`},
		{"slash", `x/y`, `x/y`},
		{"named group", `(?P<n>ab)+`, `(?:ab)+`},
		{"repeat", `(?:ab){2}`, `(?:ab){2}`},
		{"lazy", `a+?`, `a+`},
		{"posix class", `[[:alpha:]]`, `[A-Za-z]`},
		{"negated", `[^a]`, `[^a]`},
		{"negated dash", `[^+-]`, `[^\+\-]`},
		{"alternatives in a sequence", `x(?:a|bc)y`, `x(?:a|bc)y`},
		{"multi-line", `(?m)^a`, ""},
		{"beyond the basic plane", `😀`, ""},
		{"no pattern", `(`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, ok := schema.PortablePattern(row.in)
			if got != row.want || ok != (row.want != "") {
				t.Fatalf("got %q, %v, want %q", got, ok, row.want)
			}
			if !ok {
				return
			}
			before, after := regexp.MustCompile(row.in), regexp.MustCompile(got)
			for _, text := range texts {
				if before.MatchString(text) != after.MatchString(text) {
					t.Errorf("%q and %q differ on %q", row.in, got, text)
				}
			}
		})
	}
}

func TestDecimal(t *testing.T) {
	for _, row := range []struct {
		text, want string
		integer    bool
	}{
		{"0", "0", true}, {"-0", "0", true}, {"0.000", "0", true}, {"0e999999999999999999999", "0", true},
		{"1", "1e0", true}, {"1.0", "1e0", true}, {"1e2", "1e2", true}, {"100", "1e2", true}, {"100e-2", "1e0", true},
		{"1.5", "15e-1", false}, {"15e-1", "15e-1", false}, {"-1.50e1", "-15e0", true}, {"0.001", "1e-3", false},
		{"1E+2", "1e2", true}, {"9223372036854775807", "9223372036854775807e0", true},
	} {
		t.Run(row.text, func(t *testing.T) {
			d, ok := schema.ParseDecimal(row.text)
			if !ok || d.String() != row.want || d.IsInteger() != row.integer {
				t.Errorf("got %s, %v, %v", d, ok, d.IsInteger())
			}
		})
	}
	for _, text := range []string{"", "-", "01", "1.", ".5", "1e", "1e+", "+1", "NaN", "1x", " 1"} {
		t.Run("not "+text, func(t *testing.T) {
			if d, ok := schema.ParseDecimal(text); ok {
				t.Errorf("read as %s", d)
			}
		})
	}
	ordered := []string{"-1e999999999999999999", "-9223372036854775809", "-9223372036854775808", "-1.5", "-1", "-0.1", "0", "1e-999999999999", "0.1", "0.10001", "0.2", "1", "1.5", "2", "10", "9223372036854775807", "9223372036854775808", "1e400"}
	for i, a := range ordered {
		for j, b := range ordered {
			left, _ := schema.ParseDecimal(a)
			right, _ := schema.ParseDecimal(b)
			want := 0
			if i < j {
				want = -1
			} else if i > j {
				want = 1
			}
			if got := left.Cmp(right); got != want {
				t.Errorf("%s against %s: got %d, want %d", a, b, got, want)
			}
		}
	}
}
