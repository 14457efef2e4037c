package docs_test

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/rules"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/test/docs/generated"
)

const protoPage = "docs/your-proto.md"

// construct is a row of the page: a field, a value that is accepted for it, and one that is refused.
type construct struct{ field, good, bad string }

// around is what the fields of the rows refer to.
const around = `
// Where goods go.
message Address { string city = 1 [(buf.validate.field).required = true]; string street = 2; }
message Node { string name = 1; repeated Node children = 2; }
enum Size { SIZE_UNSPECIFIED = 0; SIZE_SMALL = 1; SIZE_LARGE = 2; }
enum Level { LOW = 0; HIGH = 1; }
`

var scalars = []construct{
	{`string name = 1;`, `"Ada"`, `7`},
	{`bool gift = 1;`, `true`, `"yes"`},
	{`int32 count = 1;`, `7`, `2147483648`},
	{`uint32 count = 1;`, `1e2`, `-1`},
	{`int64 version = 1;`, `"9007199254740993"`, `9007199254740993`},
	{`uint64 version = 1;`, `"18446744073709551615"`, `"-1"`},
	{`double price = 1;`, `1.5`, `"NaN"`},
	{`float price = 1;`, `1.5`, `1e39`},
	{`bytes data = 1;`, `"aGk="`, `"aGk"`},
	{`Size size = 1;`, `"SIZE_SMALL"`, `"SIZE_UNSPECIFIED"`},
	{`Level level = 1;`, `"LOW"`, `1`},
}

var composites = []construct{
	{`Address address = 1;`, `{"city":"Bern"}`, `{"town":"Bern"}`},
	{`repeated string tags = 1;`, `["a","b"]`, `"a"`},
	{`repeated Address addresses = 1;`, `[{"city":"Bern"}]`, `[{"street":"x"}]`},
	{`map<string, int32> stock = 1;`, `{"any key":3}`, `{"any key":"3"}`},
	{`map<int32, string> names = 1;`, `{"-5":"x"}`, `{"five":"x"}`},
	{`map<bool, string> names = 1;`, `{"true":"x"}`, `{"yes":"x"}`},
	{`Node tree = 1;`, `{"children":[{"name":"x"}]}`, `{"children":[{"name":7}]}`},
}

var wellKnown = []construct{
	{`google.protobuf.Timestamp at = 1;`, `"2026-01-31T12:00:00+01:00"`, `"2026-01-31"`},
	{`google.protobuf.Duration wait = 1;`, `"1.5s"`, `"PT1.5S"`},
	{`google.protobuf.FieldMask fields = 1;`, `"displayName,address.city"`, `"display_name"`},
	{`google.protobuf.StringValue nickname = 1;`, `"Ada"`, `null`},
	{`google.protobuf.Int64Value score = 1;`, `"5"`, `5`},
	{`google.protobuf.Struct extra = 1;`, `{"any":["thing",1]}`, `[]`},
	{`google.protobuf.ListValue list = 1;`, `[1,"x",null]`, `{}`},
	{`google.protobuf.Value anything = 1;`, `null`, ``},
	{`google.protobuf.Empty nothing = 1;`, `{}`, `{"x":1}`},
	{`google.protobuf.NullValue none = 1;`, `null`, `0`},
}

const v = `(buf.validate.field).`

var published = []construct{
	{`string code = 1 [` + v + `required = true];`, `"x"`, `""`},
	{`string code = 1 [(google.api.field_behavior) = REQUIRED];`, `""`, ``},
	{`string code = 1 [` + v + `string = {min_len: 2, max_len: 4}];`, `"abc"`, `"abcde"`},
	{`string code = 1 [` + v + `string.pattern = "^[A-Z]{2}-[0-9]+$"];`, `"AB-7"`, `"ab-7"`},
	{`string unit = 1 [` + v + `string = {in: ["kg", "g"]}];`, `"kg"`, `"t"`},
	{`string mail = 1 [` + v + `string.email = true];`, `"ada@example.com"`, `"ada"`},
	{`string id = 1 [` + v + `string.uuid = true];`, `"0b0b4b4e-4f0a-4b53-9d7e-4a6b3a4c1d2e"`, `"7"`},
	{`string host = 1 [` + v + `string.hostname = true];`, `"a.example.com"`, `"-a"`},
	{`string link = 1 [` + v + `string.uri = true];`, `"https://example.com/a"`, `"/a"`},
	{`string ip = 1 [` + v + `string.ipv4 = true];`, `"192.0.2.1"`, `"192.0.2.256"`},
	{`int32 count = 1 [` + v + `int32 = {gte: 0, lt: 10}];`, `9`, `10`},
	{`int64 count = 1 [` + v + `int64.gte = 0];`, `"0"`, `"-1"`},
	{`double share = 1 [` + v + `double = {gte: 0, lt: 1}];`, `0.5`, `1`},
	{`Size size = 1 [` + v + `enum = {in: [2]}];`, `"SIZE_LARGE"`, `"SIZE_SMALL"`},
	{`repeated string tags = 1 [` + v + `repeated = {max_items: 2, unique: true}];`, `["a","b"]`, `["a","a"]`},
	{`map<string, string> labels = 1 [` + v + `map.max_pairs = 1];`, `{"a":"b"}`, `{"a":"b","c":"d"}`},
}

// described are rules that the schema says in words, and that protovalidate judges after the gate.
var described = []construct{
	{`string code = 1 [` + v + `string.prefix = "AB-"];`, `"AB-7"`, `"7"`},
	{`bytes key = 1 [` + v + `bytes.len = 2];`, `"aGk="`, `"aGlp"`},
	{`google.protobuf.Duration wait = 1 [` + v + `duration = {gt: {seconds: 1}}];`, `"2s"`, `"1s"`},
	{`string even = 1 [` + v + `cel = {id: "even", message: "must have an even number of characters", expression: "this.size() % 2 == 0"}];`, `"ab"`, `"abc"`},
}

var options = []construct{
	{`string odata_id = 1 [(sallyport.tool.v1.field).name = "id"];`, `"x"`, `7`},
	{`string note = 1 [(sallyport.tool.v1.field).description = "For the driver."];`, `"x"`, `7`},
	{`string note = 1 [(sallyport.tool.v1.field).examples = "\"ring twice\""];`, `"x"`, `7`},
	{`string note = 1 [deprecated = true];`, `"x"`, `7`},
	{`string region = 1 [(sallyport.tool.v1.field).header = "Region"];`, `"eu"`, `7`},
}

func TestProtoPage(t *testing.T) {
	for name, rows := range map[string][]construct{
		"scalars": scalars, "composites": composites, "well-known types": wellKnown, "published rules": published,
		"described rules": described, "options": options,
	} {
		var cells [][]string
		for _, row := range rows {
			cells = append(cells, row.cells(t))
		}
		generated.Region(t, protoPage, name, generated.Table(
			[]string{"in the .proto", "the property's schema", "accepted", "refused", "and what is said"}, cells))
	}
}

// cells judges a row's values and tells what came of it.
func (c construct) cells(t *testing.T) []string {
	t.Helper()
	doc := documentOf(t, "message M { "+c.field+" }"+around, "protojson")
	p := doc.Root().Properties[0]
	if text := judged(t, doc, `{"`+p.Name+`":`+c.good+`}`); text != "" {
		t.Errorf("%s: %s is refused: %s", c.field, c.good, text)
	}
	bad, said := "", ""
	if c.bad != "" {
		if said = judged(t, doc, `{"`+p.Name+`":`+c.bad+`}`); said == "" {
			t.Errorf("%s: %s is accepted", c.field, c.bad)
		}
		bad = generated.Code(c.bad)
	} else if p.Required {
		bad, said = "nothing", judged(t, doc, `{}`)
	}
	text := property(t, doc, p.Name)
	if p.Required {
		text += " (required)"
	}
	return []string{generated.Code(c.field), generated.Code(text), generated.Code(c.good), bad, said}
}

func documentOf(t *testing.T, proto, profile string) *schema.Document {
	t.Helper()
	p, ok := schema.Builtin(profile)
	if !ok {
		t.Fatalf("no profile %q", profile)
	}
	doc, _, err := schema.Input(schematest.Message(t, proto), p)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// judged is the first problem of arguments, as gate and rules see them.
func judged(t *testing.T, doc *schema.Document, arguments string) string {
	t.Helper()
	g, err := gate.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	accepted, refusal := g.Judge([]byte(arguments))
	if refusal == nil && accepted.RulesRemain {
		r, err := rules.Compile(doc)
		if err != nil {
			t.Fatal(err)
		}
		refusal = r.Judge(accepted.Wire)
	}
	if refusal == nil {
		return ""
	}
	_, text, _ := strings.Cut(refusal.Text(), "\n- ")
	text, _, _ = strings.Cut(text, "\n")
	return text
}

// property is the published schema of one property.
func property(t *testing.T, doc *schema.Document, name string) string {
	t.Helper()
	properties := member(t, jsontext.Value(doc.JSON()), "properties")
	return string(member(t, properties, name))
}

// member is the value of an object's member.
func member(t *testing.T, object jsontext.Value, name string) jsontext.Value {
	t.Helper()
	d := jsontext.NewDecoder(strings.NewReader(string(object)))
	if _, err := d.ReadToken(); err != nil {
		t.Fatal(err)
	}
	for d.PeekKind() == '"' {
		key, err := d.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		found := key.String() == name
		value, err := d.ReadValue()
		if err != nil {
			t.Fatal(err)
		}
		if found {
			return value.Clone()
		}
	}
	t.Fatalf("%s has no member %q", object, name)
	return nil
}

// TestProtoPage_whole shows whole documents: a oneof, a recursive type, and one message under every profile.
func TestProtoPage_whole(t *testing.T) {
	show := func(proto, profile string) string {
		value := jsontext.Value(documentOf(t, proto, profile).JSON()).Clone()
		if err := value.Indent(jsontext.WithIndent("  ")); err != nil {
			t.Fatal(err)
		}
		return "<!-- show -->\n```json\n" + string(value) + "\n```\n"
	}
	const oneof = `message M { oneof recipient { string email = 1; string phone = 2; } }`
	doc := documentOf(t, oneof, "protojson")
	generated.Region(t, protoPage, "oneof", "<!-- show -->\n```proto\noneof recipient {\n  string email = 1;\n  string phone = 2;\n}\n```\n\n"+
		show(oneof, "protojson")+"\nBoth members together are refused: "+generated.Code(judged(t, doc, `{"email":"a","phone":"b"}`))+".\n")
	const tree = `message M { M left = 1; M right = 2; string leaf = 3; }`
	generated.Region(t, protoPage, "recursion", "<!-- show -->\n```proto\nmessage M {\n  M left = 1;\n  M right = 2;\n  string leaf = 3;\n}\n```\n\n"+
		show(tree, "protojson"))
	var rows [][]string
	for _, id := range schema.BuiltinIDs() {
		doc := documentOf(t, `message M { int64 item_count = 1; }`, id)
		name := doc.Root().Properties[0].Name
		rows = append(rows, []string{generated.Code(id), generated.Code(`"` + name + `":` + property(t, doc, name))})
	}
	generated.Region(t, protoPage, "profiles", generated.Table([]string{"profile", "`int64 item_count = 1;` becomes"}, rows))
}

// TestProtoPage_errors shows what registration and plugin say of messages for which no schema can be derived.
func TestProtoPage_errors(t *testing.T) {
	var rows [][]string
	p, _ := schema.Builtin("protojson")
	for _, field := range []string{
		`string id = 1 [json_name = "@odata.id"];`,
		`string a = 1 [(sallyport.tool.v1.field).name = "b"]; string b = 2;`,
		`string a = 1 [(sallyport.tool.v1.field).hidden = true, (buf.validate.field).required = true];`,
		`string a = 1 [(google.api.field_behavior) = REQUIRED, (google.api.field_behavior) = OUTPUT_ONLY];`,
		`string a = 1 [(buf.validate.field).int32.gt = 0];`,
		`string a = 1 [(sallyport.tool.v1.field).examples = "ring twice"];`,
		`string a = 1 [(sallyport.tool.v1.field).header = "Home Region"];`,
		`double a = 1 [(sallyport.tool.v1.field).header = "Price"];`,
		`string a = 1 [(sallyport.tool.v1.field) = {header: "Key", sensitive: true}];`,
		`message Line { string a = 1 [(sallyport.tool.v1.field).header = "Line"]; } repeated Line lines = 1;`,
	} {
		_, _, err := schema.Input(schematest.Message(t, "message M { "+field+" }"), p)
		if err == nil {
			t.Errorf("%s: a schema is derived", field)
			continue
		}
		rows = append(rows, []string{generated.Code(field), strings.ReplaceAll(err.Error(), "|", `\|`)})
	}
	generated.Region(t, protoPage, "errors", generated.Table([]string{"in the .proto", "the error"}, rows))
}
