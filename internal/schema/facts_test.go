package schema_test

import (
	"testing"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// TestInput_unsaid holds a row for each kind of rule: whether a value that is given, and whether its absence, is left to
// protovalidate.
func TestInput_unsaid(t *testing.T) {
	const v = "(buf.validate.field)."
	type facts struct{ given, absent, item bool }
	var (
		said    = facts{}
		absent  = facts{absent: true}
		given   = facts{given: true}
		neither = facts{given: true, absent: true}
		item    = facts{item: true}
	)
	for _, row := range []struct {
		name, field string
		want        facts
	}{
		{"no rules", `string a = 1`, said},
		{"ignored", `string a = 1 [(buf.validate.field) = {ignore: IGNORE_ALWAYS, string: {prefix: "x"}}]`, said},
		{"required", `string a = 1 [` + v + `required = true]`, said},
		{"required with presence", `optional string a = 1 [` + v + `required = true]`, said},
		{"required bytes", `bytes a = 1 [` + v + `required = true]`, said},
		{"required number", `int32 a = 1 [` + v + `required = true]`, said},
		{"required 64-bit number", `sint64 a = 1 [` + v + `required = true]`, said},
		{"required bool", `bool a = 1 [` + v + `required = true]`, said},
		{"required enum", `E a = 1 [` + v + `required = true]`, said},
		{"required list", `repeated string a = 1 [` + v + `required = true]`, said},
		{"required map", `map<string, bool> a = 1 [` + v + `required = true]`, said},
		{"required message", `S a = 1 [` + v + `required = true]`, said},
		{"required double, since -0 is not nothing", `double a = 1 [` + v + `required = true]`, given},

		{"min_len", `string a = 1 [` + v + `string.min_len = 1]`, absent},
		{"min_len of nothing", `string a = 1 [` + v + `string.min_len = 0]`, said},
		{"min_len with presence", `optional string a = 1 [` + v + `string.min_len = 1]`, said},
		{"min_len in a oneof", `oneof o { string a = 1 [` + v + `string.min_len = 1]; }`, said},
		{"min_len and required", `string a = 1 [(buf.validate.field) = {required: true, string: {min_len: 3}}]`, said},
		{"min_len, required and waived", `string a = 1 [(buf.validate.field) = {required: true, ignore: IGNORE_IF_ZERO_VALUE, string: {min_len: 3}}]`, said},
		{"min_len and required by field behavior", `string a = 1 [(google.api.field_behavior) = REQUIRED, ` + v + `string.min_len = 1]`, said},
		{"min_len waived", `string a = 1 [(buf.validate.field) = {ignore: IGNORE_IF_ZERO_VALUE, string: {min_len: 1}}]`, given},
		{"max_len waived", `string a = 1 [(buf.validate.field) = {ignore: IGNORE_IF_ZERO_VALUE, string: {max_len: 1}}]`, said},
		{"max_len", `string a = 1 [` + v + `string.max_len = 1]`, said},
		{"len", `string a = 1 [` + v + `string.len = 2]`, absent},
		{"pattern", `string a = 1 [` + v + `string.pattern = "^a?$"]`, said},
		{"pattern that wants something", `string a = 1 [` + v + `string.pattern = "^a$"]`, absent},
		{"pattern that is not portable", `string a = 1 [` + v + `string.pattern = "(?m)^a*$"]`, given},
		{"prefix", `string a = 1 [` + v + `string.prefix = "x"]`, neither},
		{"prefix of nothing", `string a = 1 [` + v + `string.prefix = ""]`, given},
		{"suffix", `string a = 1 [` + v + `string.suffix = "x"]`, neither},
		{"contains", `string a = 1 [` + v + `string.contains = "x"]`, neither},
		{"not_contains", `string a = 1 [` + v + `string.not_contains = "x"]`, given},
		{"len_bytes", `string a = 1 [` + v + `string.len_bytes = 2]`, neither},
		{"min_bytes", `string a = 1 [` + v + `string.min_bytes = 2]`, neither},
		{"max_bytes", `string a = 1 [` + v + `string.max_bytes = 2]`, given},
		{"in", `string a = 1 [` + v + `string.in = "x"]`, absent},
		{"in with the empty text", `string a = 1 [(buf.validate.field).string = {in: ["x", ""]}]`, said},
		{"not_in", `string a = 1 [` + v + `string.not_in = "x"]`, said},
		{"not_in with the empty text", `string a = 1 [` + v + `string.not_in = ""]`, absent},
		{"const", `string a = 1 [` + v + `string.const = "x"]`, absent},
		{"email", `string a = 1 [` + v + `string.email = true]`, absent},
		{"hostname", `optional string a = 1 [` + v + `string.hostname = true]`, said},
		{"uuid", `optional string a = 1 [` + v + `string.uuid = true]`, said},
		{"a form switched off", `string a = 1 [` + v + `string.ulid = false]`, said},
		{"ip", `string a = 1 [` + v + `string.ip = true]`, neither},
		{"uri_ref", `string a = 1 [` + v + `string.uri_ref = true]`, given},
		{"ulid", `string a = 1 [` + v + `string.ulid = true]`, neither},
		{"protobuf_fqn", `string a = 1 [` + v + `string.protobuf_fqn = true]`, neither},
		{"header name", `string a = 1 [` + v + `string.well_known_regex = KNOWN_REGEX_HTTP_HEADER_NAME]`, neither},
		{"header value", `string a = 1 [` + v + `string.well_known_regex = KNOWN_REGEX_HTTP_HEADER_VALUE]`, given},
		{"lax header value", `string a = 1 [(buf.validate.field).string = {well_known_regex: KNOWN_REGEX_HTTP_HEADER_VALUE, strict: false}]`, neither},
		{"example", `string a = 1 [` + v + `string.example = "x"]`, said},

		{"bytes len", `bytes a = 1 [` + v + `bytes.len = 4]`, neither},
		{"bytes max_len", `bytes a = 1 [` + v + `bytes.max_len = 4]`, given},
		{"bytes pattern", `bytes a = 1 [` + v + `bytes.pattern = "^a$"]`, neither},
		{"bytes prefix", `bytes a = 1 [` + v + `bytes.prefix = "a"]`, neither},
		{"bytes const", `bytes a = 1 [` + v + `bytes.const = "a"]`, absent},
		{"bytes in", `bytes a = 1 [` + v + `bytes.in = "a"]`, absent},
		{"bytes not_in", `bytes a = 1 [` + v + `bytes.not_in = "a"]`, said},
		{"bytes ip", `bytes a = 1 [` + v + `bytes.ip = true]`, neither},
		{"bytes uuid", `bytes a = 1 [` + v + `bytes.uuid = true]`, neither},

		{"gte with zero", `int32 a = 1 [` + v + `int32.gte = 0]`, said},
		{"gt zero", `int32 a = 1 [` + v + `int32.gt = 0]`, absent},
		{"range", `uint64 a = 1 [(buf.validate.field).uint64 = {gte: 1, lte: 9}]`, absent},
		{"outside a range that has zero", `int32 a = 1 [(buf.validate.field).int32 = {gt: 9, lt: -3}]`, neither},
		{"outside a range beyond zero", `int32 a = 1 [(buf.validate.field).int32 = {gt: 9, lt: 3}]`, given},
		{"number in", `sint32 a = 1 [(buf.validate.field).sint32 = {in: [1, 2]}]`, absent},
		{"number not_in", `fixed64 a = 1 [` + v + `fixed64.not_in = 0]`, absent},
		{"number const", `sfixed32 a = 1 [` + v + `sfixed32.const = 0]`, said},
		{"double inclusive", `double a = 1 [(buf.validate.field).double = {gte: 0, lte: 1}]`, said},
		{"double exclusive, since digits beyond it are rounded", `double a = 1 [` + v + `double.lt = 1]`, given},
		{"float not_in, for the same reason", `float a = 1 [` + v + `float.not_in = 1]`, given},
		{"float in", `float a = 1 [(buf.validate.field).float = {in: [0, 0.1]}]`, said},
		{"finite", `double a = 1 [` + v + `double.finite = true]`, said},
		{"beyond the infinite", `double a = 1 [` + v + `double.gt = inf]`, neither},
		{"not in what is not finite", `double a = 1 [` + v + `double.not_in = inf]`, said},
		{"in what is not finite", `double a = 1 [` + v + `double.in = inf]`, neither},
		{"bool const", `bool a = 1 [` + v + `bool.const = true]`, absent},
		{"bool const false", `bool a = 1 [` + v + `bool.const = false]`, said},
		{"defined_only", `E a = 1 [` + v + `enum.defined_only = true]`, said},
		{"enum in", `E a = 1 [` + v + `enum.in = 1]`, absent},
		{"enum not_in", `E a = 1 [` + v + `enum.not_in = 2]`, said},
		{"null value", `google.protobuf.NullValue a = 1 [` + v + `enum.not_in = 0]`, neither},

		{"min_items", `repeated string a = 1 [` + v + `repeated.min_items = 1]`, absent},
		{"max_items", `repeated string a = 1 [` + v + `repeated.max_items = 1]`, said},
		{"min_items waived", `repeated string a = 1 [(buf.validate.field) = {ignore: IGNORE_IF_ZERO_VALUE, repeated: {min_items: 2}}]`, given},
		{"unique", `repeated string a = 1 [` + v + `repeated.unique = true]`, said},
		{"unique enums", `repeated E a = 1 [` + v + `repeated.unique = true]`, said},
		{"unique enums with aliases", `repeated F a = 1 [` + v + `repeated.unique = true]`, given},
		{"unique numbers with a fraction", `repeated float a = 1 [` + v + `repeated.unique = true]`, given},
		{"unique messages", `repeated S a = 1 [` + v + `repeated.unique = true]`, given},
		{"items", `repeated string a = 1 [` + v + `repeated.items.string.min_len = 1]`, said},
		{"items in words", `repeated string a = 1 [` + v + `repeated.items.string.prefix = "x"]`, item},
		{"items that are required, which says nothing", `repeated string a = 1 [` + v + `repeated.items.required = true]`, said},
		{"items waived", `repeated string a = 1 [` + v + `repeated.items = {ignore: IGNORE_IF_ZERO_VALUE, string: {min_len: 3}}]`, item},
		{"messages waived", `repeated R a = 1 [` + v + `repeated.items.ignore = IGNORE_IF_ZERO_VALUE]`, item},
		{"messages ignored", `repeated R a = 1 [` + v + `repeated.items.ignore = IGNORE_ALWAYS]`, said},
		{"min_pairs", `map<string, bool> a = 1 [` + v + `map.min_pairs = 1]`, absent},
		{"keys", `map<string, bool> a = 1 [` + v + `map.keys.string.min_len = 1]`, said},
		{"keys in words", `map<string, bool> a = 1 [` + v + `map.keys.string.prefix = "x"]`, given},
		{"values in words", `map<string, string> a = 1 [` + v + `map.values.string.prefix = "x"]`, item},

		{"duration", `google.protobuf.Duration a = 1 [(buf.validate.field).duration.gt = {seconds: 1}]`, given},
		{"timestamp", `google.protobuf.Timestamp a = 1 [` + v + `timestamp.lt_now = true]`, given},
		{"timestamp switched off", `google.protobuf.Timestamp a = 1 [` + v + `timestamp.lt_now = false]`, said},
		{"field mask", `google.protobuf.FieldMask a = 1 [` + v + `field_mask.in = "x"]`, given},
		{"any", `google.protobuf.Any a = 1 [` + v + `any.in = "type.googleapis.com/t.v1.S"]`, said},
		{"wrapper", `google.protobuf.Int32Value a = 1 [` + v + `int32.gt = 4]`, said},
		{"wrapper in words", `google.protobuf.StringValue a = 1 [` + v + `string.prefix = "x"]`, given},

		{"cel", `string a = 1 [(buf.validate.field).cel = {id: "x", expression: "true"}]`, neither},
		{"cel with presence", `optional string a = 1 [(buf.validate.field).cel_expression = "this != 'x'"]`, given},
		{"cel on a message", `S a = 1 [(buf.validate.field).cel_expression = "true"]`, given},
		{"cel on a list", `repeated string a = 1 [(buf.validate.field).cel_expression = "true"]`, neither},
		{"cel on items", `repeated string a = 1 [(buf.validate.field).repeated.items.cel_expression = "true"]`, item},
	} {
		t.Run(row.name, func(t *testing.T) {
			md := schematest.Message(t, "message M { "+row.field+`; } enum E { E_UNSPECIFIED = 0; A = 1; B = 2; } enum F { option allow_alias = true; F_UNSPECIFIED = 0; C = 1; D = 1; }
				message S {} message R { string text = 1 [(buf.validate.field).required = true]; }`)
			doc, _, err := schema.Input(md, profile(t, ""))
			if err != nil {
				t.Fatal(err)
			}
			p := doc.Root().Properties[0]
			got := facts{given: p.Unsaid, absent: p.UnsaidAbsent, item: p.Node.Elem != nil && p.Node.Elem.Unsaid}
			if got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
			if doc.Unsaid() != (row.want != said) {
				t.Errorf("of the document: %v", doc.Unsaid())
			}
			valid(t, doc.JSON())
		})
	}
}

// TestDocument_Unsaid has rules at each place of a document.
func TestDocument_Unsaid(t *testing.T) {
	const rule = `[(buf.validate.field).cel_expression = "true"]`
	for _, row := range []struct {
		name, text string
		want, node bool
	}{
		{"nothing", `message M { M a = 1; repeated M b = 2; map<string, M> c = 3; }`, false, false},
		{"message", `message M { option (buf.validate.message).cel_expression = "true"; }`, true, true},
		{"oneof rule of a message", `message M { option (buf.validate.message).oneof = {fields: ["a", "b"]}; string a = 1; string b = 2; }`, true, true},
		{"required oneof", `message M { oneof o { option (buf.validate.oneof).required = true; string a = 1; } }`, false, false},
		{"deep", `message M { N a = 1; } message N { repeated M m = 1; map<string, O> o = 2; } message O { string a = 1 ` + rule + `; }`, true, false},
		{"within an Any", `message M { google.protobuf.Any a = 1; } message N { string a = 1 ` + rule + `; }`, true, false},
		{"hidden", `message M { string a = 1 [(sallyport.tool.v1.field).hidden = true, (buf.validate.field).cel_expression = "true"]; }`, false, false},
		{"output only", `message M { string a = 1 [(google.api.field_behavior) = OUTPUT_ONLY, (buf.validate.field).cel_expression = "true"]; }`, false, false},
		{"ignored message", `message M { N n = 1 [(buf.validate.field).ignore = IGNORE_ALWAYS]; } message N { option (buf.validate.message).cel_expression = "true"; string a = 1 ` + rule + `; }`, false, false},
		{"bare", `message M { google.protobuf.StringValue a = 1; }`, false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			md := schematest.Message(t, row.text)
			doc, _, err := schema.Input(md, profile(t, ""))
			if err != nil {
				t.Fatal(err)
			}
			if doc.Unsaid() != row.want || doc.Root().Unsaid != row.node {
				t.Errorf("document %v, node %v; want %v, %v", doc.Unsaid(), doc.Root().Unsaid, row.want, row.node)
			}
			output, _, err := schema.Output(md, profile(t, ""))
			if err != nil {
				t.Fatal(err)
			}
			if output.Unsaid() {
				t.Error("an output judges nothing")
			}
		})
	}
}

// TestInput_unruledTwin has one message with and without its rules in one document, where both recur.
func TestInput_unruledTwin(t *testing.T) {
	md := schematest.Message(t, `message M { N n = 1; N free = 2 [(buf.validate.field).ignore = IGNORE_ALWAYS]; google.protobuf.Any any = 3; }
		message N { string a = 1 [(buf.validate.field).string.min_len = 2]; N n = 2 [(buf.validate.field).required = true]; oneof o { option (buf.validate.oneof).required = true; bool b = 3; } }`)
	doc, _, err := schema.Input(md, profile(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	valid(t, doc.JSON())
	ruled, free := doc.Root().Properties[0].Node, doc.Root().Properties[1].Node
	if ruled == free || ruled.Properties[1].Node != ruled || free.Properties[1].Node != free {
		t.Fatal("the two are not apart")
	}
	if ruled.Properties[0].Node.MinLength == nil || !ruled.Properties[1].Required || !ruled.Oneofs[0].Required {
		t.Errorf("rules are missing: %s", doc.JSON())
	}
	if free.Properties[0].Node.MinLength != nil || free.Properties[1].Required || len(free.Oneofs) > 0 && free.Oneofs[0].Required {
		t.Errorf("rules are left: %s", doc.JSON())
	}
}

// TestRuleText says rules as a refusal does.
func TestRuleText(t *testing.T) {
	for _, row := range []struct{ in, want string }{
		{"Must begin with \"x\".", `must begin with "x"`},
		{"At least 3 characters.", "must have at least 3 characters"},
		{"At most 3 bytes in UTF-8.", "must have at most 3 bytes in UTF-8"},
		{"Exactly 4 bytes.", "must have exactly 4 bytes"},
		{"One of: 1, 2.", "must be one of: 1, 2"},
		{"None of: 1, 2.", "must be none of: 1, 2"},
		{"One of values that are not finite.", "must be one of values that are not finite"},
		{"Paths at or below one of: a.", "must hold only paths at or below one of: a"},
		{"No paths at or below: a.", "must hold no paths at or below: a"},
		{"Must match the RE2 pattern ^a.", "must match the RE2 pattern ^a."},
		{"The bytes must match the RE2 pattern ^a", "must hold bytes that match the RE2 pattern ^a"},
		{"The items are unique.", "must have no two equal items"},
	} {
		t.Run(row.in, func(t *testing.T) {
			if got := schema.Demand(row.in); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}
