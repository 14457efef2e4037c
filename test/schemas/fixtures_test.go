package schemas_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// fixtures hold a row for each row of boundary.md's table, and for each rule that is published.
var fixtures = []struct{ name, proto string }{
	{"message", `message M { S s = 1; } message S { string a = 1; }`},
	{"message without fields", `message M {}`},
	{"repeated", `message M { repeated string a = 1; repeated S s = 2; } message S { int32 b = 1; }`},
	{"repeated with rules", `message M { repeated int32 a = 1 [(buf.validate.field).repeated = {min_items: 1, max_items: 3, unique: true, items: {int32: {gt: 2}}}]; }`},
	{"unique numbers", `message M { repeated double a = 1 [(buf.validate.field).repeated.unique = true]; repeated string b = 2 [(buf.validate.field).repeated.unique = true]; repeated bool c = 3 [(buf.validate.field).repeated.unique = true]; }`},
	{"map of strings", `message M { map<string, string> a = 1; }`},
	{"map of every integer", `message M { map<int32, bool> a = 1; map<sint32, bool> b = 2; map<sfixed32, bool> c = 3; map<uint32, bool> d = 4; map<fixed32, bool> e = 5; map<int64, bool> f = 6; map<sint64, bool> g = 7; map<sfixed64, bool> h = 8; map<uint64, bool> i = 9; map<fixed64, bool> j = 10; }`},
	{"map of booleans", `message M { map<bool, string> a = 1; }`},
	{"map with rules", `message M { map<string, int64> a = 1 [(buf.validate.field).map = {min_pairs: 1, max_pairs: 2, keys: {string: {max_len: 3}}, values: {int64: {gte: 4}}}]; }`},
	{"32-bit integers", `message M { int32 a = 1; sint32 b = 2; sfixed32 c = 3; uint32 d = 4; fixed32 e = 5; repeated int32 f = 6; }`},
	{"64-bit integers", `message M { int64 a = 1; sint64 b = 2; sfixed64 c = 3; uint64 d = 4; fixed64 e = 5; repeated uint64 f = 6; }`},
	{"float and double", `message M { float a = 1; double b = 2; }`},
	{"bool, string and bytes", `message M { bool a = 1; string b = 2; bytes c = 3; }`},
	{"enum", `message M { E e = 1; } enum E { E_UNSPECIFIED = 0; A = 1; B = 2; }`},
	{"enum with aliases", `message M { E e = 1; } enum E { option allow_alias = true; ZERO = 0; A = 1; B = 1; }`},
	{"enum of one value", `message M { E e = 1; } enum E { E_UNSPECIFIED = 0; }`},
	{"closed enum", schematest.Head2 + `message M { optional E e = 1; } enum E { A = -1; B = 2; }`},
	{"timestamp, duration and field mask", `message M { google.protobuf.Timestamp a = 1; google.protobuf.Duration b = 2; google.protobuf.FieldMask c = 3; }`},
	{"wrappers", `message M { google.protobuf.DoubleValue a = 1; google.protobuf.FloatValue b = 2; google.protobuf.Int64Value c = 3; google.protobuf.UInt64Value d = 4; google.protobuf.Int32Value e = 5; google.protobuf.UInt32Value f = 6; google.protobuf.BoolValue g = 7; google.protobuf.StringValue h = 8; google.protobuf.BytesValue i = 9; }`},
	{"struct, list and value", `message M { google.protobuf.Struct a = 1; google.protobuf.ListValue b = 2; google.protobuf.Value c = 3; }`},
	{"any", `message M { google.protobuf.Any a = 1; repeated google.protobuf.Any b = 2; }`},
	{"empty and null", `message M { google.protobuf.Empty a = 1; google.protobuf.NullValue b = 2; }`},
	{"oneof", `message M { oneof o { string a = 1; bool b = 2; M c = 3; } }`},
	{"required oneof", `message M { oneof o { option (buf.validate.oneof).required = true; string a = 1; bool b = 2; } }`},
	{"presence", `message M { optional string a = 1; }`},
	{"editions presence", schematest.Head2023 + `message M { string a = 1; string b = 2 [features.field_presence = IMPLICIT]; string c = 3 [features.field_presence = LEGACY_REQUIRED]; }`},
	{"required by rule", `message M { string a = 1 [(buf.validate.field).required = true]; repeated S b = 2 [(buf.validate.field).required = true]; S c = 3 [(buf.validate.field).required = true]; } message S {}`},
	{"required by rule, of every kind", `message M { bytes a = 1 [(buf.validate.field).required = true]; int32 b = 2 [(buf.validate.field).required = true]; uint64 c = 3 [(buf.validate.field).required = true]; double d = 4 [(buf.validate.field).required = true]; bool e = 5 [(buf.validate.field).required = true]; E f = 6 [(buf.validate.field).required = true]; map<string, string> g = 7 [(buf.validate.field).required = true]; google.protobuf.StringValue h = 8 [(buf.validate.field).required = true]; google.protobuf.Timestamp i = 9 [(buf.validate.field).required = true]; optional string j = 10 [(buf.validate.field).required = true]; } enum E { ZERO = 0; ONE = 1; }`},
	{"required by behavior", `message M { string a = 1 [(google.api.field_behavior) = REQUIRED]; }`},
	{"required by proto2", schematest.Head2 + `message M { required string a = 1; }`},
	{"output only, input only and hidden", `message M { string a = 1 [(google.api.field_behavior) = OUTPUT_ONLY]; string b = 2 [(google.api.field_behavior) = INPUT_ONLY]; string c = 3 [(sallyport.tool.v1.field).hidden = true]; }`},
	{"recursive", `message M { repeated M children = 1; map<string, N> nodes = 2; } message N { M back = 1; N next = 2; }`},
	{"shared", `message M { S a = 1; S b = 2; repeated S c = 3; } message S { bool x = 1; }`},
	{"names", `message M { string order_id = 1; string b = 2 [json_name = "Bee"]; string c = 3 [(sallyport.tool.v1.field).name = "the.c-1"]; string to_string = 4; string has_own_property = 5; string constructor = 6; string value_of = 7; string length = 8; }`},
	{"headers", `message M { string a = 1 [(sallyport.tool.v1.field).header = "A"]; int32 b = 2 [(sallyport.tool.v1.field).header = "B"]; bool c = 3 [(sallyport.tool.v1.field).header = "C"]; int64 d = 4 [(sallyport.tool.v1.field).header = "D"]; E e = 5 [(sallyport.tool.v1.field).header = "E"]; N n = 6; } message N { google.protobuf.Timestamp t = 1 [(sallyport.tool.v1.field).header = "T"]; } enum E { E_UNSPECIFIED = 0; F = 1; }`},
	{"groups", schematest.Head2 + `message M { optional group Inner = 1 { optional string a = 1; } repeated group Many = 2 { required int32 b = 1; } }`},
	{"delimited", schematest.Head2023 + `message M { M m = 1 [features.message_encoding = DELIMITED]; int32 a = 2; }`},
	{"extensions", schematest.Head2 + `message M { optional string a = 1; extensions 100 to 200; } extend M { optional string more = 100; }`},
	{"deprecated", `message M { string a = 1 [deprecated = true]; S s = 2; E e = 3 [deprecated = true]; } message S { option deprecated = true; } enum E { option deprecated = true; Z = 0; }`},
	{"comments and examples", "// Says it.\nmessage M {\n// The \"a\" \\ é.\nstring a = 1 [(sallyport.tool.v1.field) = {examples: [\"\\\"x\\\"\"]}]; }"},
	{"lengths", `message M { string a = 1 [(buf.validate.field).string = {min_len: 2, max_len: 3}]; string b = 2 [(buf.validate.field).string.len = 2]; }`},
	{"patterns", `message M { string a = 1 [(buf.validate.field).string.pattern = "^[a-z-]+$"]; string b = 2 [(buf.validate.field).string.pattern = "^\\S.(?i:k)$"]; string c = 3 [(buf.validate.field).string.pattern = "^.{2,4}$"]; string d = 4 [(buf.validate.field).string.pattern = "\\bword\\b"]; string e = 5 [(buf.validate.field).string.pattern = "(?s)^.*x$"]; string f = 6 [(buf.validate.field).string.pattern = "^[^/]+/[^/]+$"]; string g = 7 [(buf.validate.field).string.pattern = "^(foo|bar)?$"]; }`},
	{"constants of strings", `message M { string a = 1 [(buf.validate.field).string = {in: ["x", "", "é\"😀"]}]; string b = 2 [(buf.validate.field).string = {not_in: ["x", ""]}]; optional string c = 3 [(buf.validate.field).string.const = "x"]; }`},
	{"formats", `message M { string a = 1 [(buf.validate.field).string.email = true]; string b = 2 [(buf.validate.field).string.hostname = true]; string c = 3 [(buf.validate.field).string.ipv4 = true]; string d = 4 [(buf.validate.field).string.ipv6 = true]; string e = 5 [(buf.validate.field).string.uri = true]; string f = 6 [(buf.validate.field).string.uuid = true]; }`},
	{"ranges of integers", `message M { int32 a = 1 [(buf.validate.field).int32 = {gt: 0, lte: 9}]; uint32 b = 2 [(buf.validate.field).uint32 = {gte: 3, lt: 9}]; int64 c = 3 [(buf.validate.field).int64 = {gt: -5, lt: 5}]; uint64 d = 4 [(buf.validate.field).uint64.lt = 18446744073709551615]; }`},
	{"ranges of numbers", `message M { double a = 1 [(buf.validate.field).double = {gt: 0, lte: 0.5}]; float b = 2 [(buf.validate.field).float = {gte: 0.1, lt: 1e10}]; double c = 3 [(buf.validate.field).double.lt = 1e300]; }`},
	{"constants of numbers", `message M { int32 a = 1 [(buf.validate.field).int32 = {in: [1, 2]}]; double b = 2 [(buf.validate.field).double = {in: [1.5, 100]}]; uint32 c = 3 [(buf.validate.field).uint32 = {not_in: [0, 7]}]; optional int64 d = 4 [(buf.validate.field).int64.const = 9007199254740993]; optional float e = 5 [(buf.validate.field).float.const = 0.1]; int64 f = 6 [(buf.validate.field).int64 = {in: [1, 9223372036854775807]}]; }`},
	{"constants of booleans, bytes and enums", `message M { bool a = 1 [(buf.validate.field).bool.const = true]; bytes b = 2 [(buf.validate.field).bytes = {in: ["a", "bc"]}]; E c = 3 [(buf.validate.field).enum = {in: [1, 2]}]; E d = 4 [(buf.validate.field).enum = {not_in: [1]}]; E e = 5 [(buf.validate.field).enum.const = 2]; } enum E { E_UNSPECIFIED = 0; A = 1; B = 2; C = 3; }`},
	{"in against not_in", `message M { string a = 1 [(buf.validate.field).string = {in: ["x", "y"], not_in: ["x"]}]; int32 b = 2 [(buf.validate.field).int32 = {in: [1, 2], not_in: [2]}]; }`},
	{"rules that no value keeps", `message M { string a = 1 [(buf.validate.field).string = {const: "x", in: ["y"]}]; int32 b = 2 [(buf.validate.field).int32 = {const: 1, in: [2]}]; E c = 3 [(buf.validate.field).enum = {in: [77]}]; string d = 4; } enum E { E_UNSPECIFIED = 0; A = 1; }`},
	{"rules in words", `message M { string a = 1 [(buf.validate.field).string = {prefix: "x", suffix: "y", contains: "z"}]; google.protobuf.Timestamp b = 2 [(buf.validate.field).timestamp.lt_now = true]; google.protobuf.Duration c = 3 [(buf.validate.field).duration = {gt: {seconds: 1}}]; google.protobuf.FieldMask d = 4 [(buf.validate.field).field_mask = {in: ["a"]}]; bytes e = 5 [(buf.validate.field).bytes.len = 2]; }`},
	{"rules waived for the zero value", `message M { string a = 1 [(buf.validate.field) = {ignore: IGNORE_IF_ZERO_VALUE, string: {min_len: 3, max_len: 5}}]; int32 b = 2 [(buf.validate.field) = {ignore: IGNORE_ALWAYS, int32: {gt: 5}}]; }`},
}

// requestTypes are requests that are no plain messages (tools.md, "Results").
var requestTypes = []string{
	"Timestamp", "Duration", "FieldMask", "Struct", "Value", "ListValue", "Any", "Empty",
	"DoubleValue", "FloatValue", "Int64Value", "UInt64Value", "Int32Value", "UInt32Value", "BoolValue", "StringValue", "BytesValue",
}

// TestNeutral_fixtures judges, for each row and profile, drawn documents, and every property with every value that is
// near what it accepts.
func TestNeutral_fixtures(t *testing.T) {
	node := startAjv(t)
	count, documents := map[string]int{}, 0
	check := func(t *testing.T, text, message string) {
		files := schematest.Files(t, map[string]string{"t/v1/t.proto": text})
		md := schematest.Find(t, files, message)
		for _, id := range schema.BuiltinIDs() {
			profile, _ := schema.Builtin(id)
			doc, _, err := schema.Input(md, profile)
			if err != nil {
				t.Fatal(err)
			}
			tr := newTrial(t, doc)
			tr.count = count
			texts := append(draw(doc, 1, 5, 20), nearby(t, doc)...)
			documents += len(texts)
			tr.judge(t, node, texts...)
			judgeOutput(t, node, md, profile, 1, 10)
		}
	}
	for _, row := range fixtures {
		t.Run(row.name, func(t *testing.T) { check(t, schematest.WithHead(row.proto), "t.v1.M") })
	}
	for _, name := range requestTypes {
		t.Run("request "+name, func(t *testing.T) { check(t, schematest.Head, "google.protobuf."+name) })
	}
	t.Logf("%d documents; exceptions needed: %v", documents, count)
}

// nearby are the least document with each property in turn given every value near what it accepts: itself, its items,
// or its map's keys and values.
func nearby(t *testing.T, doc *schema.Document) (texts [][]byte) {
	drawer := schematest.NewDrawer(doc.Root())
	if !drawer.Satisfiable() {
		return nil
	}
	least, err := schematest.Parse([]byte(rapid.Custom(func(t *rapid.T) string { return drawer.Arguments(t, 0) }).Example(0)))
	if err != nil {
		t.Fatal(err)
	}
	with := func(name string, v *schematest.Value) {
		changed := &schematest.Value{Kind: '{'}
		for _, m := range least.Members {
			if m.Name != name {
				changed.Members = append(changed.Members, m)
			}
		}
		changed.Members = append(changed.Members, schematest.Member{Name: name, Value: v})
		texts = append(texts, []byte(changed.String()))
	}
	text := &schematest.Value{Kind: '"', Text: "abc"}
	for i := range doc.Root().Properties {
		p := &doc.Root().Properties[i]
		switch p.Node.Kind {
		case schema.Array:
			for _, v := range schematest.Near(p.Node.Elem.Node, text) {
				with(p.Name, &schematest.Value{Kind: '[', Items: []*schematest.Value{v}})
				with(p.Name, &schematest.Value{Kind: '[', Items: []*schematest.Value{v, v}})
			}
		case schema.Map:
			for _, v := range schematest.Near(p.Node.Elem.Node, text) {
				with(p.Name, &schematest.Value{Kind: '{', Members: []schematest.Member{{Name: "1", Value: v}}})
			}
			for _, key := range schematest.Near(p.Node.Key, text) {
				with(p.Name, &schematest.Value{Kind: '{', Members: []schematest.Member{{Name: key.Text, Value: &schematest.Value{Kind: 't'}}}})
			}
		default:
			for _, v := range schematest.Near(p.Node, text) {
				with(p.Name, v)
			}
		}
	}
	return texts
}
