package schema_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// The scaffolding of an input object with one property.
func object(properties string) string {
	return `{"type":"object","properties":{` + properties + `},"additionalProperties":false}`
}

// TestInput_constructs holds one row for each protobuf construct of boundary.md's table.
func TestInput_constructs(t *testing.T) {
	const int64Note = `"description":"An integer from -9223372036854775808 to 9223372036854775807, written as a string."`
	const int64Pattern = `"pattern":"^(0|-?[1-9][0-9]{0,18})$"`
	for _, row := range []struct{ name, profile, proto, want string }{
		{"message", "", `message M { S s = 1; } message S { string a = 1; }`,
			object(`"s":` + object(`"a":{"type":"string"}`))},
		{"empty message", "", `message M {}`, `{"type":"object","additionalProperties":false}`},
		{"message comment is the description", "", "// Says what it is.\nmessage M { }",
			`{"type":"object","description":"Says what it is.","additionalProperties":false}`},
		{"repeated", "", `message M { repeated string a = 1; }`, object(`"a":{"type":"array","items":{"type":"string"}}`)},
		{"repeated with bounds", "", `message M { repeated string a = 1 [(buf.validate.field).repeated = {min_items: 1, max_items: 3, unique: true}]; }`,
			object(`"a":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":3,"uniqueItems":true}`)},
		{"map of string keys", "", `message M { map<string, bool> a = 1; }`,
			object(`"a":{"type":"object","additionalProperties":{"type":"boolean"}}`)},
		{"map of integer keys", "", `message M { map<int32, string> a = 1; }`,
			object(`"a":{"type":"object","description":"Keys are integers from -2147483648 to 2147483647.","propertyNames":{"pattern":"^(0|-?[1-9][0-9]{0,18})$"},"additionalProperties":{"type":"string"}}`)},
		{"map of boolean keys", "", `message M { map<bool, string> a = 1; }`,
			object(`"a":{"type":"object","propertyNames":{"pattern":"^(true|false)$"},"additionalProperties":{"type":"string"}}`)},
		{"map with bounds", "", `message M { map<string, string> a = 1 [(buf.validate.field).map = {min_pairs: 1, max_pairs: 2, keys: {string: {max_len: 3}}, values: {string: {min_len: 4}}}]; }`,
			object(`"a":{"type":"object","propertyNames":{"maxLength":3},"additionalProperties":{"type":"string","minLength":4},"minProperties":1,"maxProperties":2}`)},
		{"int32", "", `message M { int32 a = 1; }`, object(`"a":{"type":"integer","minimum":-2147483648,"maximum":2147483647}`)},
		{"sint32", "", `message M { sint32 a = 1; }`, object(`"a":{"type":"integer","minimum":-2147483648,"maximum":2147483647}`)},
		{"sfixed32", "", `message M { sfixed32 a = 1; }`, object(`"a":{"type":"integer","minimum":-2147483648,"maximum":2147483647}`)},
		{"uint32", "", `message M { uint32 a = 1; }`, object(`"a":{"type":"integer","minimum":0,"maximum":4294967295}`)},
		{"fixed32", "", `message M { fixed32 a = 1; }`, object(`"a":{"type":"integer","minimum":0,"maximum":4294967295}`)},
		{"int32 in an array", "", `message M { repeated int32 a = 1; }`, object(`"a":{"type":"array","items":{"type":"integer","minimum":-2147483648,"maximum":2147483647}}`)},
		{"int64", "", `message M { int64 a = 1; }`, object(`"a":{"type":"string",` + int64Note + `,` + int64Pattern + `}`)},
		{"sint64", "", `message M { sint64 a = 1; }`, object(`"a":{"type":"string",` + int64Note + `,` + int64Pattern + `}`)},
		{"sfixed64", "", `message M { sfixed64 a = 1; }`, object(`"a":{"type":"string",` + int64Note + `,` + int64Pattern + `}`)},
		{"uint64", "", `message M { uint64 a = 1; }`, object(`"a":{"type":"string","description":"An integer from 0 to 18446744073709551615, written as a string.","pattern":"^(0|[1-9][0-9]{0,19})$"}`)},
		{"fixed64", "", `message M { fixed64 a = 1; }`, object(`"a":{"type":"string","description":"An integer from 0 to 18446744073709551615, written as a string.","pattern":"^(0|[1-9][0-9]{0,19})$"}`)},
		{"int64 numeric", "numeric", `message M { int64 a = 1; }`, object(`"a":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}`)},
		{"uint64 numeric", "numeric", `message M { uint64 a = 1; }`, object(`"a":{"type":"integer","minimum":0,"maximum":18446744073709551615}`)},
		{"float", "", `message M { float a = 1; }`, object(`"a":{"type":"number","minimum":-3.4028235e+38,"maximum":3.4028235e+38}`)},
		{"double", "", `message M { double a = 1; }`, object(`"a":{"type":"number"}`)},
		{"bool", "", `message M { bool a = 1; }`, object(`"a":{"type":"boolean"}`)},
		{"string", "", `message M { string a = 1; }`, object(`"a":{"type":"string"}`)},
		{"bytes", "", `message M { bytes a = 1; }`, object(`"a":{"type":"string","contentEncoding":"base64"}`)},
		{"enum", "", `message M { E e = 1; } enum E { E_UNSPECIFIED = 0; A = 1; B = 2; }`, object(`"e":{"type":"string","enum":["A","B"]}`)},
		{"enum whose zero value means something", "", `message M { E e = 1; } enum E { RED = 0; BLUE = 1; }`, object(`"e":{"type":"string","enum":["RED","BLUE"]}`)},
		{"enum with the zero value alone", "", `message M { E e = 1; } enum E { E_UNSPECIFIED = 0; }`, object(`"e":{"type":"string","enum":["E_UNSPECIFIED"]}`)},
		{"enum with aliases", "", `message M { E e = 1; } enum E { option allow_alias = true; ZERO = 0; A = 1; B = 1; }`, object(`"e":{"type":"string","enum":["ZERO","A","B"]}`)},
		{"enum with comments", "", "message M { E e = 1; }\n// The state.\nenum E { E_UNSPECIFIED = 0;\n// Is on.\nON = 1; OFF = 2 [deprecated = true]; // Is off.\n}",
			object(`"e":{"type":"string","description":"The state.\nON: Is on.\nOFF: Deprecated. Is off.","enum":["ON","OFF"]}`)},
		{"field comment before the enum's", "", "message M {\n// Its state.\nE e = 1; }\n// The state.\nenum E { ZERO = 0; }", object(`"e":{"type":"string","description":"Its state.","enum":["ZERO"]}`)},
		{"timestamp", "", `message M { google.protobuf.Timestamp a = 1; }`, object(`"a":{"type":"string","format":"date-time"}`)},
		{"duration", "", `message M { google.protobuf.Duration a = 1; }`,
			object(`"a":{"type":"string","description":"Seconds with the suffix s, for example 1.5s; from -315576000000s to 315576000000s.","pattern":"^-?(0|[1-9][0-9]{0,11})(\\.[0-9]{1,9})?s$"}`)},
		{"field mask", "", `message M { google.protobuf.FieldMask a = 1; }`,
			object(`"a":{"type":"string","description":"Field paths in lowerCamelCase, separated by commas.","pattern":"^([a-z][A-Za-z0-9]*(\\.[a-z][A-Za-z0-9]*)*(,[a-z][A-Za-z0-9]*(\\.[a-z][A-Za-z0-9]*)*)*)?$"}`)},
		{"wrappers", "", `message M { google.protobuf.StringValue a = 1; google.protobuf.Int32Value b = 2; google.protobuf.BoolValue c = 3; google.protobuf.DoubleValue d = 4; google.protobuf.BytesValue e = 5; google.protobuf.Int64Value f = 6; }`,
			object(`"a":{"type":"string"},"b":{"type":"integer","minimum":-2147483648,"maximum":2147483647},"c":{"type":"boolean"},"d":{"type":"number"},"e":{"type":"string","contentEncoding":"base64"},"f":{"type":"string",` + int64Note + `,` + int64Pattern + `}`)},
		{"struct", "", `message M { google.protobuf.Struct a = 1; }`, object(`"a":{"type":"object"}`)},
		{"list value", "", `message M { google.protobuf.ListValue a = 1; }`, object(`"a":{"type":"array"}`)},
		{"value", "", `message M { google.protobuf.Value a = 1; }`, object(`"a":{}`)},
		{"value with a comment", "", "message M {\n// Anything.\ngoogle.protobuf.Value a = 1; }", object(`"a":{"description":"Anything."}`)},
		{"empty", "", `message M { google.protobuf.Empty a = 1; }`, object(`"a":{"type":"object","additionalProperties":false}`)},
		{"null value", "", `message M { google.protobuf.NullValue a = 1; }`, object(`"a":{"type":"null"}`)},
		{"any", "", `syntax = "proto3"; package t.v1; import "google/protobuf/any.proto"; message M { google.protobuf.Any a = 1; }`,
			object(`"a":{"type":"object","description":"A message together with the property \"@type\", which is required and names its type, one of: type.googleapis.com/google.protobuf.Any, type.googleapis.com/t.v1.M. A type whose JSON is no plain object of fields stands under \"value\"."}`)},
		{"oneof", "", `message M { oneof o { string a = 1; bool b = 2; } }`,
			`{"type":"object","description":"Give at most one of: a, b.","properties":{"a":{"type":"string","description":"Give at most one of: a, b."},"b":{"type":"boolean","description":"Give at most one of: a, b."}},"additionalProperties":false}`},
		{"required oneof", "", "// Picks.\nmessage M { oneof o { option (buf.validate.oneof).required = true;\n// The a.\nstring a = 1; bool b = 2; } }",
			`{"type":"object","description":"Picks. Give exactly one of: a, b.","properties":{"a":{"type":"string","description":"The a. Give exactly one of: a, b."},"b":{"type":"boolean","description":"Give exactly one of: a, b."}},"additionalProperties":false}`},
		{"oneof whose members are all required by field behavior", "", `message M { oneof o { string a = 1 [(google.api.field_behavior) = REQUIRED]; bool b = 2 [(google.api.field_behavior) = REQUIRED]; } }`,
			`{"type":"object","description":"Give exactly one of: a, b.","properties":{"a":{"type":"string","description":"Give exactly one of: a, b."},"b":{"type":"boolean","description":"Give exactly one of: a, b."}},"additionalProperties":false}`},
		{"oneof of one", "", `message M { oneof o { string a = 1; } }`, object(`"a":{"type":"string"}`)},
		{"proto3 optional", "", `message M { optional string a = 1; }`, object(`"a":{"type":"string"}`)},
		{"editions presence", "", schematest.Head2023 + `message M { string a = 1; string b = 2 [features.field_presence = IMPLICIT]; }`, object(`"a":{"type":"string"},"b":{"type":"string"}`)},
		{"required by protovalidate", "", `message M { optional string a = 1 [(buf.validate.field).required = true]; }`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
		{"required by protovalidate, without presence", "", `message M { string a = 1 [(buf.validate.field).required = true]; }`,
			`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`},
		{"required by protovalidate, but ignored", "", `message M { string a = 1 [(buf.validate.field) = {required: true, ignore: IGNORE_ALWAYS}]; }`, object(`"a":{"type":"string"}`)},
		{"required by field behavior", "", `message M { string a = 1 [(google.api.field_behavior) = REQUIRED]; }`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
		{"required by proto2", "", schematest.Head2 + `message M { required string a = 1; optional string b = 2; }`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
		{"required by editions", "", schematest.Head2023 + `message M { string a = 1 [features.field_presence = LEGACY_REQUIRED]; }`,
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`},
		{"output only", "", `message M { string a = 1; string b = 2 [(google.api.field_behavior) = OUTPUT_ONLY]; }`, object(`"a":{"type":"string"}`)},
		{"input only", "", `message M { string a = 1 [(google.api.field_behavior) = INPUT_ONLY]; }`, object(`"a":{"type":"string"}`)},
		{"hidden", "", `message M { string a = 1; string b = 2 [(sallyport.tool.v1.field).hidden = true]; }`, object(`"a":{"type":"string"}`)},
		{"recursive root", "", `message M { string name = 1; repeated M children = 2; }`,
			`{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/t.v1.M"}}},"additionalProperties":false,"$defs":{"t.v1.M":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/t.v1.M"}}},"additionalProperties":false}}}`},
		{"recursive below", "", "message M {\n// The first.\nN n = 1; map<string, N> more = 2; }\n// A node.\nmessage N { N next = 1; }",
			`{"type":"object","properties":{"n":{"$ref":"#/$defs/t.v1.N","description":"The first."},"more":{"type":"object","additionalProperties":{"$ref":"#/$defs/t.v1.N"}}},"additionalProperties":false,"$defs":{"t.v1.N":{"type":"object","description":"A node.","properties":{"next":{"$ref":"#/$defs/t.v1.N"}},"additionalProperties":false}}}`},
		{"shared within the budget", "", `message M { S a = 1; S b = 2; } message S { bool x = 1; }`,
			object(`"a":` + object(`"x":{"type":"boolean"}`) + `,"b":` + object(`"x":{"type":"boolean"}`))},
		{"proto2 group", "", schematest.Head2 + `message M { optional group Inner = 1 { optional string a = 1; } }`, object(`"inner":` + object(`"a":{"type":"string"}`))},
		{"editions delimited", "", schematest.Head2023 + `message M { S s = 1 [features.message_encoding = DELIMITED]; } message S { string a = 1; }`, object(`"s":` + object(`"a":{"type":"string"}`))},
		{"extensions", "", schematest.Head2 + `message M { optional string a = 1; extensions 100 to 200; } extend M { optional string more = 100; }`, object(`"a":{"type":"string"}`)},
		{"deprecated", "", `message M { string a = 1 [deprecated = true]; S s = 2; } message S { option deprecated = true; }`,
			object(`"a":{"type":"string","deprecated":true},"s":{"type":"object","deprecated":true,"additionalProperties":false}`)},
		{"json name", "", `message M { string order_id = 1; string b = 2 [json_name = "Bee"]; }`, object(`"orderId":{"type":"string"},"Bee":{"type":"string"}`)},
		{"proto names", "proto", `message M { string order_id = 1; string b = 2 [json_name = "Bee"]; }`, object(`"order_id":{"type":"string"},"b":{"type":"string"}`)},
		{"name by option", "", `message M { string a = 1 [(sallyport.tool.v1.field).name = "the.a-1"]; }`, object(`"the.a-1":{"type":"string"}`)},
		{"description by option before comment", "", "message M {\n// Comment.\nstring a = 1 [(sallyport.tool.v1.field).description = \"Option.\"]; }", object(`"a":{"type":"string","description":"Option."}`)},
		{"trailing comment", "", "message M {\nstring a = 1; // Trails.\n}", object(`"a":{"type":"string","description":"Trails."}`)},
		{"leading before trailing comment", "", "message M {\n// Leads.\nstring a = 1; // Trails.\n}", object(`"a":{"type":"string","description":"Leads."}`)},
		{"field comment before the message's", "", "message M {\n// Field.\nS s = 1; S u = 2; }\n// Message.\nmessage S {}",
			object(`"s":{"type":"object","description":"Field.","additionalProperties":false},"u":{"type":"object","description":"Message.","additionalProperties":false}`)},
		{"examples", "", `message M { string a = 1 [(sallyport.tool.v1.field) = {examples: ["\"x\"", " \"y\" "]}]; }`, object(`"a":{"type":"string","examples":["x","y"]}`)},
	} {
		t.Run(row.name, func(t *testing.T) {
			doc, warnings, err := schema.Input(schematest.Message(t, row.proto), profile(t, row.profile))
			if err != nil {
				t.Fatal(err)
			}
			if len(warnings) > 0 {
				t.Errorf("warnings: %v", warnings)
			}
			if diff := cmp.Diff(row.want, string(doc.JSON())); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
			valid(t, doc.JSON())
			again, _, err := schema.Input(schematest.Message(t, row.proto), profile(t, row.profile))
			if err != nil || string(again.JSON()) != string(doc.JSON()) {
				t.Errorf("a second derivation differs: %v", err)
			}
			for _, union := range []string{`"oneOf"`, `"anyOf"`, `"allOf"`} {
				if strings.Contains(string(doc.JSON()), union) {
					t.Errorf("an input schema has %s", union)
				}
			}
		})
	}
}

// TestInput_requestTypes are the requests that are no plain messages (tools.md, "Results").
func TestInput_requestTypes(t *testing.T) {
	for _, row := range []struct{ name, message, want string }{
		{"StringValue", "google.protobuf.StringValue", object(`"value":{"type":"string"}`)},
		{"Timestamp", "google.protobuf.Timestamp", object(`"value":{"type":"string","format":"date-time"}`)},
		{"Value", "google.protobuf.Value", object(`"value":{}`)},
		{"ListValue", "google.protobuf.ListValue", object(`"value":{"type":"array"}`)},
		{"Struct", "google.protobuf.Struct", `{"type":"object"}`},
		{"Empty", "google.protobuf.Empty", `{"type":"object","additionalProperties":false}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			files := schematest.Files(t, map[string]string{"t.proto": schematest.Head})
			doc, _, err := schema.Input(schematest.Find(t, files, row.message), profile(t, ""))
			if err != nil {
				t.Fatal(err)
			}
			if got := string(doc.JSON()); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
			valid(t, doc.JSON())
		})
	}
}

func TestOutput(t *testing.T) {
	open := func(properties string) string { return `{"type":"object","properties":{` + properties + `}}` }
	for _, row := range []struct{ name, proto, want string }{
		{"open, and nothing required", `message M { string a = 1 [(buf.validate.field).required = true]; S s = 2; } message S { int32 b = 1; }`,
			open(`"a":{"type":"string"},"s":` + open(`"b":{"type":"integer","minimum":-2147483648,"maximum":2147483647}`))},
		{"input rules are not said", `message M { string a = 1 [(buf.validate.field).string = {min_len: 3, prefix: "x"}]; }`, open(`"a":{"type":"string"}`)},
		{"input only is left out", `message M { string a = 1; string b = 2 [(google.api.field_behavior) = INPUT_ONLY]; string c = 3 [(google.api.field_behavior) = OUTPUT_ONLY]; }`, open(`"a":{"type":"string"},"c":{"type":"string"}`)},
		{"hidden is left out", `message M { string a = 1; string b = 2 [(sallyport.tool.v1.field).hidden = true]; }`, open(`"a":{"type":"string"}`)},
		{"enum lists all and admits integers", `message M { E e = 1; } enum E { E_UNSPECIFIED = 0; A = 1; }`,
			open(`"e":{"type":["string","integer"],"anyOf":[{"type":"string","enum":["E_UNSPECIFIED","A"]},{"type":"integer"}]}`)},
		{"floats admit text", `message M { float f = 1; double d = 2; }`, open(`"f":{"type":["number","string"]},"d":{"type":["number","string"]}`)},
		{"int64", `message M { int64 a = 1; }`, open(`"a":{"type":"string","pattern":"^(0|-?[1-9][0-9]{0,18})$"}`)},
		{"oneof", `message M { oneof o { string a = 1; bool b = 2; } }`,
			`{"type":"object","description":"At most one is present of: a, b.","properties":{"a":{"type":"string","description":"At most one is present of: a, b."},"b":{"type":"boolean","description":"At most one is present of: a, b."}}}`},
		{"any", `message M { google.protobuf.Any a = 1; }`, open(`"a":{"type":"object","description":"A message of any type; its property \"@type\" names the type."}`)},
		{"content leaves", `message M { repeated sallyport.tool.v1.Content blocks = 1 [(sallyport.tool.v1.field).content = true]; string a = 2; }`, open(`"a":{"type":"string"}`)},
		{"empty", `message M { google.protobuf.Empty e = 1; }`, open(`"e":{"type":"object","additionalProperties":false}`)},
		{"recursive", `message M { M m = 1; }`, `{"type":"object","properties":{"m":{"$ref":"#/$defs/t.v1.M"}},"$defs":{"t.v1.M":{"type":"object","properties":{"m":{"$ref":"#/$defs/t.v1.M"}}}}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			doc, _, err := schema.Output(schematest.Message(t, row.proto), profile(t, ""))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, string(doc.JSON())); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
			valid(t, doc.JSON())
		})
	}
	files := schematest.Files(t, map[string]string{"t.proto": schematest.Head})
	for _, name := range []string{
		"google.protobuf.StringValue", "google.protobuf.BytesValue", "google.protobuf.Timestamp", "google.protobuf.Duration",
		"google.protobuf.FieldMask", "google.protobuf.Value", "google.protobuf.ListValue", "sallyport.tool.v1.ToolResult",
	} {
		t.Run("none for "+name, func(t *testing.T) {
			if doc, _, err := schema.Output(schematest.Find(t, files, name), profile(t, "")); doc != nil || err != nil {
				t.Errorf("got %v, %v", doc, err)
			}
		})
	}
	t.Run("closed empty for Empty", func(t *testing.T) {
		doc, _, err := schema.Output(schematest.Find(t, files, "google.protobuf.Empty"), profile(t, ""))
		if err != nil || string(doc.JSON()) != `{"type":"object","additionalProperties":false}` {
			t.Errorf("got %s, %v", doc.JSON(), err)
		}
	})
}

func TestInput_errorsNameTheField(t *testing.T) {
	for _, row := range []struct {
		name, proto string
		want        []string
	}{
		{"name outside the grammar", `message M { string a = 1 [json_name = "a b"]; }`, []string{"field t.v1.M.a", `"a b"`, "(sallyport.tool.v1.field).name"}},
		{"name too long", `message M { string a = 1 [json_name = "` + strings.Repeat("a", 65) + `"]; }`, []string{"field t.v1.M.a"}},
		{"hidden and required", `message M { string a = 1 [(sallyport.tool.v1.field).hidden = true, (buf.validate.field).required = true]; }`, []string{"field t.v1.M.a", "required", "hidden"}},
		{"output-only and required", `message M { string a = 1 [(google.api.field_behavior) = OUTPUT_ONLY, (google.api.field_behavior) = REQUIRED]; }`, []string{"field t.v1.M.a", "required", "output-only"}},
		{"two fields of one name", `message M { string a = 1; string b = 2 [(sallyport.tool.v1.field).name = "a"]; }`, []string{"field t.v1.M.b", "field a"}},
		{"example that is no JSON", `message M { string a = 1 [(sallyport.tool.v1.field).examples = "{"]; }`, []string{"field t.v1.M.a", "example 1"}},
		{"rules of another type", `message M { int32 a = 1 [(buf.validate.field).int64.gt = 1]; }`, []string{"field t.v1.M.a", "int64"}},
		{"required oneof that nobody can give", `message M { oneof o { option (buf.validate.oneof).required = true; string a = 1 [(sallyport.tool.v1.field).hidden = true]; } }`, []string{"oneof t.v1.M.o"}},
		{"two required members of a oneof", `message M { oneof o { string a = 1 [(buf.validate.field).required = true]; string b = 2 [(buf.validate.field).required = true]; } }`, []string{"oneof t.v1.M.o", "(buf.validate.oneof).required"}},
		{"all problems at once, deep ones too", `message M { string a = 1 [json_name = "a b"]; S s = 2; } message S { string c = 1 [json_name = "c d"]; }`, []string{"t.v1.M.a", "t.v1.S.c"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, _, err := schema.Input(schematest.Message(t, row.proto), profile(t, ""))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range row.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
	t.Run("content of another type", func(t *testing.T) {
		_, _, err := schema.Output(schematest.Message(t, `message M { repeated string a = 1 [(sallyport.tool.v1.field).content = true]; }`), profile(t, ""))
		if err == nil || !strings.Contains(err.Error(), "field t.v1.M.a") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("two content fields", func(t *testing.T) {
		_, _, err := schema.Output(schematest.Message(t, `message M { repeated sallyport.tool.v1.Content a = 1 [(sallyport.tool.v1.field).content = true]; repeated sallyport.tool.v1.Content b = 2 [(sallyport.tool.v1.field).content = true]; }`), profile(t, ""))
		if err == nil || !strings.Contains(err.Error(), "field t.v1.M.b") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an Any does not suffer from a type that cannot be derived", func(t *testing.T) {
		doc, _, err := schema.Input(schematest.Message(t, `message M { google.protobuf.Any a = 1; } message Bad { string a = 1 [json_name = "a b"]; } message Worse { Bad bad = 1; } message Good {}`), profile(t, ""))
		if err != nil {
			t.Fatal(err)
		}
		if text := string(doc.JSON()); strings.Contains(text, "t.v1.Bad") || strings.Contains(text, "t.v1.Worse") || !strings.Contains(text, "t.v1.Good") {
			t.Error(text)
		}
	})
}

func profile(t testing.TB, id string) schema.Profile {
	t.Helper()
	if id == "" {
		id = "protojson"
	}
	p, ok := schema.Builtin(id)
	if !ok {
		t.Fatalf("no profile %q", id)
	}
	return p
}

// valid compiles a schema with a neutral validator, which checks it against the 2020-12 metaschema.
func valid(t testing.TB, text []byte) *jsonschema.Schema {
	t.Helper()
	return schematest.Validator(t, text)
}
