package gate_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/internal/transcode/transcodetest"
)

// everything is one message with a field of every construct.
const everything = `
message M {
  string str = 1; bool flag = 2; bytes raw = 3; double num = 4; float small = 5;
  int32 i32 = 6; uint32 u32 = 7; int64 i64 = 8; uint64 u64 = 9;
  E state = 10; google.protobuf.Timestamp at = 11; google.protobuf.Duration took = 12; google.protobuf.FieldMask mask = 13;
  google.protobuf.Struct object = 14; google.protobuf.ListValue list = 15; google.protobuf.Value any_json = 16;
  google.protobuf.Any detail = 17; google.protobuf.Empty nothing = 18; google.protobuf.NullValue null = 19;
  google.protobuf.Int32Value boxed = 20;
  repeated Item items = 21; map<string, Item> by_name = 22; map<int32, string> by_number = 23; map<bool, string> by_flag = 24;
  oneof pick { string a = 25; string b = 26; }
  string secret = 27 [(sallyport.tool.v1.field).hidden = true];
  string stamp = 28 [(google.api.field_behavior) = OUTPUT_ONLY];
  string renamed_field = 29 [(sallyport.tool.v1.field).name = "called"];
  map<uint64, int64> longs = 30; repeated int32 numbers = 31;
}
enum E { E_UNSPECIFIED = 0; OPEN = 1; SHUT = 2; }
message Item { string sku = 1 [(buf.validate.field).required = true]; int32 quantity = 2; repeated Item parts = 3; }
`

func compile(t testing.TB, text, profile string) (*gate.Gate, *schema.Document) {
	t.Helper()
	p, ok := schema.Builtin(profile)
	if !ok {
		t.Fatalf("no profile %q", profile)
	}
	doc, _, err := schema.Input(schematest.Message(t, text), p)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	return g, doc
}

// judged is the gate's refusal alone.
func judged(g *gate.Gate, arguments []byte) *gate.Refusal {
	_, refusal := g.Judge(arguments)
	return refusal
}

// TestGate_accepts holds what the published document accepts.
func TestGate_accepts(t *testing.T) {
	g, doc := compile(t, everything, "protojson")
	validator := schematest.Validator(t, doc.JSON())
	for _, row := range []struct{ name, arguments string }{
		{"empty object", `{}`},
		{"string", `{"str":"x"}`},
		{"empty string", `{"str":""}`},
		{"content is not shape", `{"str":"../../etc/passwd'; DROP TABLE orders; --<script>"}`},
		{"tab, newline and carriage return", `{"str":"a\tb\nc\rd"}`},
		{"DEL and C1", `{"str":"\u007f\u0085"}`},
		{"surrogate pair", `{"str":"\ud83d\ude00"}`},
		{"bool", `{"flag":true}`},
		{"base64", `{"raw":"YQ=="}`},
		{"empty base64", `{"raw":""}`},
		{"number", `{"num":1.5e300}`},
		{"integer as number", `{"num":3}`},
		{"minus zero", `{"num":-0,"i32":-0}`},
		{"tiny number", `{"num":1e-400}`},
		{"largest float", `{"small":3.4028234663852886e38}`},
		{"largest float as ProtoJSON spells it", `{"small":3.4028235e+38}`},
		{"integer", `{"i32":7}`},
		{"1.0 is an integer", `{"i32":1.0}`},
		{"1e2 is an integer", `{"i32":1e2}`},
		{"100e-2 is an integer", `{"i32":100e-2}`},
		{"int32 ends", `{"i32":-2147483648,"numbers":[2147483647]}`},
		{"uint32 ends", `{"u32":4294967295}`},
		{"int64 ends", `{"i64":"-9223372036854775808"}`},
		{"int64 other end", `{"i64":"9223372036854775807"}`},
		{"uint64 end", `{"u64":"18446744073709551615"}`},
		{"enum", `{"state":"OPEN"}`},
		{"timestamp", `{"at":"2024-02-29T23:59:59.123456789Z"}`},
		{"timestamp with offset", `{"at":"2024-01-01T00:00:00+05:30"}`},
		{"first timestamp", `{"at":"0001-01-01T00:00:00Z"}`},
		{"last timestamp", `{"at":"9999-12-31T23:59:59.999999999Z"}`},
		{"duration", `{"took":"1.5s"}`},
		{"negative duration", `{"took":"-0.5s"}`},
		{"longest duration", `{"took":"315576000000s"}`},
		{"mask", `{"mask":"user.displayName,photo"}`},
		{"empty mask", `{"mask":""}`},
		{"struct", `{"object":{"a":[1,null,{"b":"c"}]}}`},
		{"list", `{"list":[1,"a",null,{}]}`},
		{"value of each kind", `{"anyJson":[null,true,1.5,"x",[],{}]}`},
		{"value null", `{"anyJson":null}`},
		{"any of a message", `{"detail":{"@type":"type.googleapis.com/t.v1.Item","sku":"x","quantity":1}}`},
		{"any with its type last", `{"detail":{"sku":"x","@type":"type.googleapis.com/t.v1.Item"}}`},
		{"any of a form of its own", `{"detail":{"@type":"type.googleapis.com/google.protobuf.Duration","value":"1s"}}`},
		{"any of any", `{"detail":{"@type":"type.googleapis.com/google.protobuf.Any","value":{"@type":"type.googleapis.com/t.v1.Item","sku":"x"}}}`},
		{"any of empty", `{"detail":{"@type":"type.googleapis.com/google.protobuf.Empty","value":{}}}`},
		{"empty message", `{"nothing":{}}`},
		{"null value", `{"null":null}`},
		{"wrapper", `{"boxed":5}`},
		{"items", `{"items":[{"sku":"x"},{"sku":"y","quantity":3}]}`},
		{"recursion", `{"items":[{"sku":"x","parts":[{"sku":"y","parts":[{"sku":"z"}]}]}]}`},
		{"map", `{"byName":{"any key":{"sku":"x"}}}`},
		{"map with prototype names", `{"byName":{"__proto__":{"sku":"x"},"constructor":{"sku":"y"}}}`},
		{"map of numbers", `{"byNumber":{"-5":"x","0":"y"}}`},
		{"map of flags", `{"byFlag":{"true":"x","false":"y"}}`},
		{"map of longs", `{"longs":{"18446744073709551615":"-1"}}`},
		{"one of a oneof", `{"a":"x"}`},
		{"other of a oneof", `{"b":"x"}`},
		{"name by option", `{"called":"x"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if r := judged(g, []byte(row.arguments)); r != nil {
				t.Errorf("refused: %s", r.Text())
			}
			if !schematest.Accepts(t, validator, []byte(row.arguments)) {
				t.Error("a neutral validator refuses it")
			}
		})
	}
	for _, row := range []struct{ name, arguments string }{
		{"absent", ""}, {"null", "null"}, {"blank", " \n"}, {"null in blanks", " null "},
	} {
		t.Run(row.name+" arguments are the empty object", func(t *testing.T) {
			if r := judged(g, []byte(row.arguments)); r != nil {
				t.Errorf("refused: %s", r.Text())
			}
		})
	}
}

// TestGate_refuses holds a row for each rule of boundary.md, "The gate". Beyond marks a rule that JSON Schema has no
// keyword for, so that a neutral validator accepts what the document's words refuse.
func TestGate_refuses(t *testing.T) {
	g, doc := compile(t, everything, "protojson")
	validator := schematest.Validator(t, doc.JSON())
	for _, row := range []struct {
		name, arguments, path, text string
		beyond                      bool
	}{
		{"no object", `[]`, "", "must be an object", false},
		{"text for arguments", `"canary"`, "", "must be an object", false},
		{"undeclared", `{"canary":1}`, "", "1 undeclared property; accepted: str, flag,", false},
		{"undeclared, two", `{"canary":1,"canary2":2}`, "", "2 undeclared properties; accepted: ", false},
		{"undeclared at depth", `{"items":[{"sku":"x","parts":[{"sku":"y","canary":1}]}]}`, "items[].parts[]", "1 undeclared property; accepted: sku, quantity, parts", false},
		{"undeclared where none is declared", `{"nothing":{"canary":1}}`, "nothing", "1 undeclared property; none is accepted here", false},
		{"hidden is undeclared", `{"secret":"canary"}`, "", "1 undeclared property; accepted: ", false},
		{"output only is undeclared", `{"stamp":"canary"}`, "", "1 undeclared property; accepted: ", false},
		{"proto name is undeclared", `{"any_json":1}`, "", "1 undeclared property; accepted: ", false},
		{"both spellings", `{"anyJson":1,"any_json":1}`, "", "1 undeclared property; accepted: ", false},
		{"json name of a renamed field", `{"renamedField":"canary"}`, "", "1 undeclared property; accepted: ", false},
		{"prototype name", `{"__proto__":{}}`, "", "1 undeclared property; accepted: ", false},
		{"missing", `{"items":[{"quantity":1}]}`, "items[].sku", "is required", false},
		{"missing at depth", `{"items":[{"sku":"x","parts":[{}]}]}`, "items[].parts[].sku", "is required", false},
		{"missing in a map", `{"byName":{"canary":{}}}`, "byName.{key}.sku", "is required", false},
		{"required but null", `{"items":[{"sku":null}]}`, "items[].sku", "must be a string; to give none, leave it out", false},
		{"null for an optional", `{"str":null}`, "str", "must be a string; to give none, leave it out", false},
		{"null in an array", `{"items":[null]}`, "items[]", "must be an object; to give none, leave it out", false},
		{"text is no integer", `{"i32":"7"}`, "i32", "must be an integer", false},
		{"text is no boolean", `{"flag":"yes"}`, "flag", "must be true or false", false},
		{"number is no boolean", `{"flag":1}`, "flag", "must be true or false", false},
		{"number is no text", `{"str":7}`, "str", "must be a string", false},
		{"text is no number", `{"num":"1.5"}`, "num", "must be a number", false},
		{"NaN is no input", `{"num":"NaN"}`, "num", "must be a number", false},
		{"infinity is no input", `{"small":"Infinity"}`, "small", "must be a number", false},
		{"object is no array", `{"items":{}}`, "items", "must be an array", false},
		{"array is no object", `{"byName":[]}`, "byName", "must be an object", false},
		{"one is no array", `{"numbers":1}`, "numbers", "must be an array", false},
		{"fraction", `{"i32":1.5}`, "i32", "must be an integer", false},
		{"int32 above", `{"i32":2147483648}`, "i32", "must be from -2147483648 to 2147483647", false},
		{"int32 below", `{"i32":-2147483649}`, "i32", "must be from -2147483648 to 2147483647", false},
		{"int32 far above", `{"i32":1e99}`, "i32", "must be from -2147483648 to 2147483647", false},
		{"int32 in an array", `{"numbers":[1,2147483648]}`, "numbers[]", "must be from -2147483648 to 2147483647", false},
		{"uint32 below", `{"u32":-1}`, "u32", "must be from 0 to 4294967295", false},
		{"wrapper above", `{"boxed":2147483648}`, "boxed", "must be from -2147483648 to 2147483647", false},
		{"int64 as a number", `{"i64":5}`, "i64", "must be a string", false},
		{"int64 above", `{"i64":"9223372036854775808"}`, "i64", "must be an integer from -9223372036854775808 to 9223372036854775807, written as a string", true},
		{"int64 below", `{"i64":"-9223372036854775809"}`, "i64", "must be an integer from ", true},
		{"int64 with a fraction", `{"i64":"1.0"}`, "i64", "must be an integer from ", false},
		{"int64 with a leading zero", `{"i64":"01"}`, "i64", "must be an integer from ", false},
		{"int64 of minus zero", `{"i64":"-0"}`, "i64", "must be an integer from ", false},
		{"int64 with a plus", `{"i64":"+1"}`, "i64", "must be an integer from ", false},
		{"int64 with an underscore", `{"i64":"1_0"}`, "i64", "must be an integer from ", false},
		{"int64 empty", `{"i64":""}`, "i64", "must be an integer from ", false},
		{"uint64 above", `{"u64":"18446744073709551616"}`, "u64", "must be an integer from 0 to 18446744073709551615", true},
		{"uint64 negative", `{"u64":"-1"}`, "u64", "must be an integer from 0 to ", false},
		{"double beyond", `{"num":1e400}`, "num", "must be a number that a double can hold", true},
		{"float beyond", `{"small":3.5e38}`, "small", "must be at most 3.4028235e+38", false},
		{"number beyond inside a value", `{"anyJson":{"a":[1e400]}}`, "anyJson", "must hold no number that a double cannot", true},
		{"enum unknown", `{"state":"canary"}`, "state", "must be one of: OPEN, SHUT", false},
		{"enum of another case", `{"state":"open"}`, "state", "must be one of: OPEN, SHUT", false},
		{"enum zero value", `{"state":"E_UNSPECIFIED"}`, "state", "must be one of: OPEN, SHUT", false},
		{"enum number", `{"state":1}`, "state", "must be a string", false},
		{"enum number as text", `{"state":"1"}`, "state", "must be one of: OPEN, SHUT", false},
		{"timestamp without offset", `{"at":"2024-01-01T00:00:00"}`, "at", "must be an RFC 3339 date and time", false},
		{"timestamp with a leap second", `{"at":"2016-12-31T23:59:60Z"}`, "at", "must be an RFC 3339 date and time", true},
		{"timestamp of year 0", `{"at":"0000-12-31T23:59:59Z"}`, "at", "must be an RFC 3339 date and time", true},
		{"timestamp before year 1 by its offset", `{"at":"0001-01-01T00:00:00+01:00"}`, "at", "must be an RFC 3339 date and time", true},
		{"timestamp after year 9999 by its offset", `{"at":"9999-12-31T23:59:59-01:00"}`, "at", "must be an RFC 3339 date and time", true},
		{"timestamp with a comma", `{"at":"2024-01-01T00:00:00,5Z"}`, "at", "must be an RFC 3339 date and time", false},
		{"timestamp in small letters", `{"at":"2024-01-01t00:00:00z"}`, "at", "must be an RFC 3339 date and time", true},
		{"timestamp with ten decimals", `{"at":"2024-01-01T00:00:00.0123456789Z"}`, "at", "must be an RFC 3339 date and time", true},
		{"timestamp on no day", `{"at":"2023-02-29T00:00:00Z"}`, "at", "must be an RFC 3339 date and time", false},
		{"timestamp with offset 24:00", `{"at":"2024-01-01T00:00:00+24:00"}`, "at", "must be an RFC 3339 date and time", false},
		{"duration in words", `{"took":"PT1S"}`, "took", "must be seconds", false},
		{"duration too long", `{"took":"315576000000.000000001s"}`, "took", "must be seconds", true},
		{"duration with ten decimals", `{"took":"1.0123456789s"}`, "took", "must be seconds", false},
		{"duration without s", `{"took":"1"}`, "took", "must be seconds", false},
		{"mask with underscores", `{"mask":"display_name"}`, "mask", "must be field paths", false},
		{"mask with blanks", `{"mask":"a, b"}`, "mask", "must be field paths", false},
		{"base64 without padding", `{"raw":"YQ"}`, "raw", "must be base64", true},
		{"base64 of the URL alphabet", `{"raw":"_-8="}`, "raw", "must be base64", true},
		{"base64 with a line end", `{"raw":"YQ==\n"}`, "raw", "must be base64", true},
		{"control character", `{"str":"a\u0000b"}`, "str", "must not contain control characters", true},
		{"escape character", `{"str":"a\u001bb"}`, "str", "must not contain control characters", true},
		{"control character in a key", `{"byName":{"a\u0007":{"sku":"x"}}}`, "byName", "each key must not contain control characters", true},
		{"struct of another type", `{"object":[]}`, "object", "must be an object", false},
		{"list of another type", `{"list":{}}`, "list", "must be an array", false},
		{"null value of another type", `{"null":0}`, "null", "must be null", false},
		{"any without type", `{"detail":{"sku":"x"}}`, "detail.@type", "is required", true},
		{"any that is empty", `{"detail":{}}`, "detail.@type", "is required", true},
		{"any of a foreign type", `{"detail":{"@type":"type.googleapis.com/canary.Type"}}`, "detail.@type", "must be one of: type.googleapis.com/google.protobuf.Any, ", true},
		{"any with another prefix", `{"detail":{"@type":"evil.example/t.v1.Item","sku":"x"}}`, "detail.@type", "must be one of: ", true},
		{"any with a type that is no text", `{"detail":{"@type":7}}`, "detail.@type", "must be one of: ", true},
		{"any judged inside", `{"detail":{"@type":"type.googleapis.com/t.v1.Item","quantity":"7"}}`, "detail.sku", "is required", true},
		{"any undeclared inside", `{"detail":{"@type":"type.googleapis.com/t.v1.Item","sku":"x","canary":1}}`, "detail", "1 undeclared property; accepted: sku, quantity, parts", true},
		{"any of a form of its own without value", `{"detail":{"@type":"type.googleapis.com/google.protobuf.Duration"}}`, "detail.value", "is required", true},
		{"any of any judged inside", `{"detail":{"@type":"type.googleapis.com/google.protobuf.Any","value":{"@type":"type.googleapis.com/t.v1.Item"}}}`, "detail.value.sku", "is required", true},
		{"map value", `{"byName":{"canary":{"sku":7}}}`, "byName.{key}.sku", "must be a string", false},
		{"map key that is no integer", `{"byNumber":{"canary":"x"}}`, "byNumber", "each key must be an integer from -2147483648 to 2147483647", false},
		{"map key above", `{"byNumber":{"2147483648":"x"}}`, "byNumber", "each key must be an integer from ", true},
		{"map key of another spelling", `{"byNumber":{"01":"x"}}`, "byNumber", "each key must be an integer from ", false},
		{"map key that is no boolean", `{"byFlag":{"canary":"x"}}`, "byFlag", `each key must be "true" or "false"`, false},
		{"both of a oneof", `{"a":"x","b":"y"}`, "", "give at most one of: a, b", true},
		{"lone surrogate", `{"str":"\ud800"}`, "", "must be one valid JSON value", true},
		{"bytes after it", `{} {}`, "", "must be one valid JSON value", false},
		{"no JSON", `{"str":`, "", "must be one valid JSON value", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := judged(g, []byte(row.arguments))
			if r == nil {
				t.Fatal("accepted")
			}
			first := r.Problems[0]
			if first.Path != row.path || !strings.HasPrefix(first.Text, row.text) {
				t.Errorf("got %q: %q, want %q: %q", first.Path, first.Text, row.path, row.text)
			}
			if !r.Correctable {
				t.Error("not correctable")
			}
			if strings.Contains(r.Text(), "canary") {
				t.Errorf("the refusal repeats the caller: %s", r.Text())
			}
			if !row.beyond && schematest.Accepts(t, validator, []byte(row.arguments)) {
				t.Error("a neutral validator accepts it")
			}
		})
	}
}

func TestGate_rules(t *testing.T) {
	const v = "(buf.validate.field)."
	for _, row := range []struct{ name, field, good, bad, text string }{
		{"min_len counts code points", `string a = 1 [` + v + `string.min_len = 2]`, `"😀é"`, `"😀"`, "must have at least 2 characters"},
		{"max_len counts code points", `string a = 1 [` + v + `string.max_len = 1]`, `"😀"`, `"ab"`, "must have at most 1 character"},
		{"pattern", `string a = 1 [` + v + `string.pattern = "^[a-z]+$"]`, `"abc"`, `"ABC"`, "must match the pattern ^[a-z]+$"},
		{"pattern is searched", `string a = 1 [` + v + `string.pattern = "b"]`, `"abc"`, `"ac"`, "must match the pattern b"},
		{"in", `string a = 1 [(buf.validate.field).string = {in: ["x", "y"]}]`, `"x"`, `"z"`, "must be one of: x, y"},
		{"not_in", `string a = 1 [(buf.validate.field).string = {not_in: ["x", "y"]}]`, `"z"`, `"x"`, "must be none of: x, y"},
		{"const", `string a = 1 [` + v + `string.const = "x"]`, `"x"`, `"y"`, `must be "x"`},
		{"email", `string a = 1 [` + v + `string.email = true]`, `"a.b@example.com"`, `"a@"`, "must be of the format email"},
		{"hostname", `string a = 1 [` + v + `string.hostname = true]`, `"a.example.com"`, `"-a"`, "must be of the format hostname"},
		{"ipv4", `string a = 1 [` + v + `string.ipv4 = true]`, `"192.0.2.1"`, `"192.0.2.256"`, "must be of the format ipv4"},
		{"ipv6", `string a = 1 [` + v + `string.ipv6 = true]`, `"2001:db8::1"`, `"192.0.2.1"`, "must be of the format ipv6"},
		{"uri", `string a = 1 [` + v + `string.uri = true]`, `"https://example.com/a?b=c#d"`, `"/relative"`, "must be of the format uri"},
		{"uuid", `string a = 1 [` + v + `string.uuid = true]`, `"0b0b4b4e-4f0a-4b53-9d7e-4a6b3a4c1d2e"`, `"0b0b4b4e"`, "must be of the format uuid"},
		{"integer range", `int32 a = 1 [(buf.validate.field).int32 = {gt: 0, lt: 3}]`, `2`, `3`, "must be from 1 to 2"},
		{"int64 range", `int64 a = 1 [(buf.validate.field).int64 = {gt: 0}]`, `"1"`, `"0"`, ""},
		{"number in, by value", `double a = 1 [(buf.validate.field).double = {in: [1.5, 100]}]`, `1e2`, `2`, "must be one of: 1.5, 100"},
		{"integer not_in, by value", `int32 a = 1 [(buf.validate.field).int32 = {not_in: [100]}]`, `101`, `1e2`, "must be none of: 100"},
		{"greater than", `double a = 1 [` + v + `double.gt = 0]`, `0.1`, `0`, "must be greater than 0"},
		{"less than", `double a = 1 [` + v + `double.lt = 0]`, `-0.1`, `0`, "must be less than 0"},
		{"at least", `double a = 1 [` + v + `double.gte = 0.1]`, `0.1`, `0.09`, "must be at least 0.1"},
		{"at most", `float a = 1 [` + v + `float.lte = 0.1]`, `0.1`, `0.11`, "must be at most 0.1"},
		{"bool const", `bool a = 1 [` + v + `bool.const = true]`, `true`, `false`, "must be true"},
		{"enum in", `E a = 1 [(buf.validate.field).enum = {in: [2]}]`, `"B"`, `"A"`, `must be "B"`},
		{"min_items", `repeated string a = 1 [` + v + `repeated.min_items = 1]`, `["x"]`, `[]`, "must have at least 1 item"},
		{"max_items", `repeated string a = 1 [` + v + `repeated.max_items = 1]`, `["x"]`, `["x","y"]`, "must have at most 1 item"},
		{"unique", `repeated string a = 1 [` + v + `repeated.unique = true]`, `["x","y"]`, `["x","x"]`, "must have no two equal items"},
		{"unique, by value", `repeated int32 a = 1 [` + v + `repeated.unique = true]`, `[1,2]`, `[1,1.0]`, "must have no two equal items"},
		{"min_pairs", `map<string, string> a = 1 [` + v + `map.min_pairs = 1]`, `{"x":"y"}`, `{}`, "must have at least 1 entry"},
		{"max_pairs", `map<string, string> a = 1 [` + v + `map.max_pairs = 1]`, `{"x":"y"}`, `{"x":"y","z":"y"}`, "must have at most 1 entry"},
		{"map keys", `map<string, string> a = 1 [` + v + `map.keys.string.max_len = 1]`, `{"x":"y"}`, `{"xx":"y"}`, "each key must have at most 1 character"},
		{"waived for the zero value", `string a = 1 [(buf.validate.field) = {ignore: IGNORE_IF_ZERO_VALUE, string: {min_len: 3, max_len: 4}}]`, `""`, `"abcde"`, "must have at most 4 characters"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, doc := compile(t, "message M { "+row.field+"; } enum E { E_UNSPECIFIED = 0; A = 1; B = 2; }", "protojson")
			validator := schematest.Validator(t, doc.JSON())
			good, bad := []byte(`{"a":`+row.good+`}`), []byte(`{"a":`+row.bad+`}`)
			if r := judged(g, good); r != nil {
				t.Errorf("refused %s: %s", good, r.Text())
			}
			if !schematest.Accepts(t, validator, good) {
				t.Errorf("a neutral validator refuses %s", good)
			}
			// What is published never contradicts what protovalidate decides after the gate.
			if err := protovalidated(t, doc, good); err != nil {
				t.Errorf("protovalidate refuses %s: %v", good, err)
			}
			if err := protovalidated(t, doc, bad); err == nil {
				t.Errorf("protovalidate accepts %s", bad)
			}
			r := judged(g, bad)
			if r == nil {
				t.Fatalf("accepted %s", bad)
			}
			if row.text == "" {
				return // said in words, which a validator does not read
			}
			if r.Problems[0] != (gate.Problem{Path: "a", Text: row.text}) {
				t.Errorf("got %q", r.Problems[0])
			}
			if schematest.Accepts(t, validator, bad) {
				t.Errorf("a neutral validator accepts %s", bad)
			}
		})
	}
}

// protovalidated is what protovalidate says of the message that arguments spell.
func protovalidated(t *testing.T, doc *schema.Document, arguments []byte) error {
	t.Helper()
	codec, err := transcodetest.Compile(doc.Message(), doc.Message(), doc.Profile())
	if err != nil {
		t.Fatal(err)
	}
	wire, err := codec.Encode(arguments)
	if err != nil {
		t.Fatal(err)
	}
	m := dynamicpb.NewMessage(doc.Message())
	if err := proto.Unmarshal(wire, m); err != nil {
		t.Fatal(err)
	}
	return protovalidate.Validate(m)
}

func TestGate_profiles(t *testing.T) {
	const proto = `message M { int64 big_one = 1; uint64 u = 2; }`
	for _, row := range []struct {
		profile, arguments string
		accepted           bool
	}{
		{"protojson", `{"bigOne":"1"}`, true},
		{"protojson", `{"big_one":"1"}`, false},
		{"proto", `{"big_one":"1"}`, true},
		{"proto", `{"bigOne":"1"}`, false},
		{"numeric", `{"bigOne":9223372036854775807}`, true},
		{"numeric", `{"bigOne":9223372036854775808}`, false},
		{"numeric", `{"u":18446744073709551615}`, true},
		{"numeric", `{"u":18446744073709551616}`, false},
		{"numeric", `{"bigOne":"1"}`, false},
		{"compact", `{"bigOne":"1"}`, true},
	} {
		t.Run(row.profile+" "+row.arguments, func(t *testing.T) {
			g, doc := compile(t, proto, row.profile)
			if got := judged(g, []byte(row.arguments)) == nil; got != row.accepted {
				t.Errorf("accepted: %v", got)
			}
			if got := schematest.Accepts(t, schematest.Validator(t, doc.JSON()), []byte(row.arguments)); got != row.accepted {
				t.Errorf("a neutral validator accepts: %v", got)
			}
		})
	}
}

func TestRefusal_text(t *testing.T) {
	g, _ := compile(t, `message M { repeated Item items = 1; string a = 2; int32 b = 3; oneof o { string x = 4; string y = 5; } string c = 6 [(buf.validate.field).required = true]; }
		message Item { int32 quantity = 1; string sku = 2 [(buf.validate.field).required = true]; }`, "protojson")
	for _, row := range []struct{ name, arguments, want string }{
		{"in schema order, whatever the caller's", `{"zz":1,"y":"","x":"","b":"1","a":1,"items":[{"quantity":"1","sku":"x"}]}`,
			"The arguments do not fit the tool's input schema:\n- items[].quantity: must be an integer\n- a: must be a string\n- b: must be an integer\n- c: is required\n- arguments: give at most one of: x, y\n- arguments: 1 undeclared property; accepted: items, a, b, x, y, c"},
		{"the same problem of many items once", `{"c":"x","items":[{"sku":"x","quantity":1.5},{"quantity":2.5},{}]}`,
			"The arguments do not fit the tool's input schema:\n- items[].quantity: must be an integer\n- items[].sku: is required"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := judged(g, []byte(row.arguments))
			if r == nil || r.Text() != row.want {
				t.Errorf("got %v", r.Text())
			}
		})
	}
	t.Run("ten, and then how many more", func(t *testing.T) {
		var fields, members []string
		for i := range 13 {
			fields = append(fields, fmt.Sprintf("string f%d = %d;", i, i+1))
			members = append(members, fmt.Sprintf(`"f%d":1`, i))
		}
		g, _ := compile(t, "message M { "+strings.Join(fields, " ")+" }", "protojson")
		r := judged(g, []byte("{"+strings.Join(members, ",")+"}"))
		if r == nil || len(r.Problems) != 10 || r.More != 3 || r.Problems[9].Path != "f9" || !strings.HasSuffix(r.Text(), "\nand 3 more") {
			t.Errorf("got %+v", r)
		}
	})
}

// TestGate_rulesThatExcludeEachOther: a required field without presence does not hold its zero value, which is all that
// the constant allows.
func TestGate_rulesThatExcludeEachOther(t *testing.T) {
	g, _ := compile(t, `message M { bool a = 1 [(buf.validate.field) = {required: true, bool: {const: false}}]; }`, "protojson")
	for _, arguments := range []string{`{}`, `{"a":false}`, `{"a":true}`} {
		if judged(g, []byte(arguments)) == nil {
			t.Errorf("accepted %s", arguments)
		}
	}
}

func TestGate_exactlyOne(t *testing.T) {
	g, _ := compile(t, `message M { oneof o { option (buf.validate.oneof).required = true; string a = 1; string b = 2; } }`, "protojson")
	for arguments, want := range map[string]bool{`{"a":""}`: true, `{"b":""}`: true, `{}`: false, `{"a":"","b":""}`: false} {
		r := judged(g, []byte(arguments))
		if (r == nil) != want {
			t.Errorf("%s: %v", arguments, r)
		}
		if r != nil && r.Problems[0] != (gate.Problem{Text: "give exactly one of: a, b"}) {
			t.Errorf("%s: %v", arguments, r)
		}
	}
}

func TestGate_bareRequest(t *testing.T) {
	files := schematest.Files(t, map[string]string{"t.proto": schematest.Head})
	p, _ := schema.Builtin("protojson")
	doc, _, err := schema.Input(schematest.Find(t, files, "google.protobuf.StringValue"), p)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gate.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	for arguments, want := range map[string]bool{`{}`: true, `{"value":"x"}`: true, `"x"`: false, `{"value":1}`: false, `{"other":"x"}`: false} {
		if got := judged(g, []byte(arguments)) == nil; got != want {
			t.Errorf("%s: accepted %v", arguments, got)
		}
	}
}

// farExponent finds numbers that cost the neutral validator, which writes them out, seconds.
var farExponent = regexp.MustCompile(`[eE][+-]?[0-9]{4,}`)

// FuzzJudge looks for arguments that crash the gate, and for ones that it accepts against a neutral validator.
func FuzzJudge(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, ``, `[]`, `{"str":"x","i32":1e2,"items":[{"sku":"x","parts":[{"sku":"y"}]}]}`,
		`{"detail":{"@type":"type.googleapis.com/t.v1.Item","sku":"x"},"anyJson":{"a":[1,null]}}`,
		`{"at":"2024-01-01T00:00:00Z","took":"1.5s","mask":"a.b","i64":"-5","u64":"7"}`,
		`{"byName":{"k":{"sku":"x"}},"byNumber":{"-5":"x"},"byFlag":{"true":"y"},"a":"x","b":"y"}`,
		`{"num":1e400,"small":3.5e38,"i32":2147483648,"raw":"YQ==","state":"OPEN","null":null,"nothing":{}}`,
	} {
		f.Add([]byte(seed))
	}
	g, doc := compile(f, everything, "protojson")
	validator := schematest.Validator(f, doc.JSON())
	f.Fuzz(func(t *testing.T, arguments []byte) {
		r := judged(g, arguments) // whatever the bytes are
		if text := bytes.TrimSpace(arguments); len(text) > 0 && !jsontext.Value(text).IsValid() {
			return // which the decoder refuses
		}
		if r != nil {
			if len(r.Problems) == 0 || len(r.Problems) > 10 || r.Text() == "" {
				t.Fatalf("ill-formed refusal %+v", r)
			}
			return
		}
		if text := strings.TrimSpace(string(arguments)); text == "" || text == "null" || farExponent.MatchString(text) {
			return
		}
		if !schematest.Accepts(t, validator, arguments) {
			t.Errorf("the gate accepts what the schema refuses: %s", arguments)
		}
	})
}
