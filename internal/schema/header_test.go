package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// headed is the option that repeats a field in a header.
func headed(name string) string { return `(sallyport.tool.v1.field).header = "` + name + `"` }

// TestInput_headers holds what can be repeated in a header: a row for each type, and for each way that leads there.
func TestInput_headers(t *testing.T) {
	const h = `(sallyport.tool.v1.field).header = "X"`
	at := func(kind schema.Kind, path ...string) []schema.Header {
		return []schema.Header{{Name: "X", Path: path, Kind: kind}}
	}
	longest := strings.Repeat("x", 64)
	for _, row := range []struct {
		name, profile, proto string
		property             string // what is published of the (last) property on the way
		want                 []schema.Header
	}{
		{"string", "", `message M { string a = 1 [` + h + `]; }`, `{"type":"string","x-mcp-header":"X"}`, at(schema.String, "a")},
		{"bytes", "", `message M { bytes a = 1 [` + h + `]; }`, `{"type":"string","x-mcp-header":"X","contentEncoding":"base64"}`, at(schema.String, "a")},
		{"bool", "", `message M { bool a = 1 [` + h + `]; }`, `{"type":"boolean","x-mcp-header":"X"}`, at(schema.Boolean, "a")},
		{"int32", "", `message M { int32 a = 1 [` + h + `]; }`, `{"type":"integer","x-mcp-header":"X","minimum":-2147483648,"maximum":2147483647}`, at(schema.Integer, "a")},
		{"uint32", "", `message M { uint32 a = 1 [` + h + `]; }`, `{"type":"integer","x-mcp-header":"X","minimum":0,"maximum":4294967295}`, at(schema.Integer, "a")},
		{"int64 is a string", "", `message M { int64 a = 1 [` + h + `]; }`,
			`{"type":"string","description":"An integer from -9223372036854775808 to 9223372036854775807, written as a string.","x-mcp-header":"X","pattern":"^(0|-?[1-9][0-9]{0,18})$"}`, at(schema.String, "a")},
		{"int64 is an integer in numeric", "numeric", `message M { int64 a = 1 [` + h + `]; }`,
			`{"type":"integer","x-mcp-header":"X","minimum":-9223372036854775808,"maximum":9223372036854775807}`, at(schema.Integer, "a")},
		{"enum", "", `message M { E a = 1 [` + h + `]; } enum E { E_UNSPECIFIED = 0; A = 1; }`, `{"type":"string","x-mcp-header":"X","enum":["A"]}`, at(schema.String, "a")},
		{"timestamp", "", `message M { google.protobuf.Timestamp a = 1 [` + h + `]; }`, `{"type":"string","x-mcp-header":"X","format":"date-time"}`, at(schema.String, "a")},
		{"duration", "", `message M { google.protobuf.Duration a = 1 [` + h + `]; }`,
			`{"type":"string","description":"Seconds with the suffix s, for example 1.5s; from -315576000000s to 315576000000s.","x-mcp-header":"X","pattern":"^-?(0|[1-9][0-9]{0,11})(\\.[0-9]{1,9})?s$"}`, at(schema.String, "a")},
		{"wrapper of a string", "", `message M { google.protobuf.StringValue a = 1 [` + h + `]; }`, `{"type":"string","x-mcp-header":"X"}`, at(schema.String, "a")},
		{"wrapper of a bool", "", `message M { google.protobuf.BoolValue a = 1 [` + h + `]; }`, `{"type":"boolean","x-mcp-header":"X"}`, at(schema.Boolean, "a")},
		{"optional", "", `message M { optional string a = 1 [` + h + `]; }`, `{"type":"string","x-mcp-header":"X"}`, at(schema.String, "a")},
		{"input only", "", `message M { string a = 1 [` + h + `, (google.api.field_behavior) = INPUT_ONLY]; }`, `{"type":"string","x-mcp-header":"X"}`, at(schema.String, "a")},
		{"after the other words on a place", "", "message M {\n// Where.\nstring a = 1 [" + h + `, deprecated = true, (sallyport.tool.v1.field).examples = "\"eu\"", (buf.validate.field).string.min_len = 2]; }`,
			`{"type":"string","description":"Where.","deprecated":true,"examples":["eu"],"x-mcp-header":"X","minLength":2}`, at(schema.String, "a")},
		{"the published name is the path", "", `message M { string my_region = 1 [` + h + `]; }`, `{"type":"string","x-mcp-header":"X"}`, at(schema.String, "myRegion")},
		{"under names of the proto", "proto", `message M { string my_region = 1 [` + h + `]; }`, `{"type":"string","x-mcp-header":"X"}`, at(schema.String, "my_region")},
		{"a name by option", "", `message M { string my_region = 1 [(sallyport.tool.v1.field) = {name: "the.region", header: "X"}]; }`, `{"type":"string","x-mcp-header":"X"}`, at(schema.String, "the.region")},
		{"member of a oneof", "", `message M { oneof o { string a = 1 [` + h + `]; bool b = 2; } }`, `{"type":"string","description":"Give at most one of: a, b.","x-mcp-header":"X"}`, at(schema.String, "a")},
		{"within messages", "", `message M { N n = 1; } message N { O o = 1; } message O { string a = 1 [` + h + `]; }`, `{"type":"string","x-mcp-header":"X"}`, at(schema.String, "n", "o", "a")},
		{"within a group", "", schematest.Head2 + `message M { optional group G = 1 { optional string a = 1 [` + h + `]; } }`, `{"type":"string","x-mcp-header":"X"}`, at(schema.String, "g", "a")},
		{"beside a recursive message", "", `message M { N n = 1; string a = 2 [` + h + `]; } message N { N n = 1; }`, `{"type":"string","x-mcp-header":"X"}`, at(schema.String, "a")},
		{"in a message that holds a recursive one", "", `message M { O o = 1; } message N { N n = 1; } message O { N n = 1; string a = 2 [` + h + `]; }`, `{"type":"string","x-mcp-header":"X"}`, at(schema.String, "o", "a")},
		{"a message that is hidden elsewhere", "", `message M { N n = 1; repeated N more = 2 [(sallyport.tool.v1.field).hidden = true]; } message N { string a = 1 [` + h + `]; }`, `{"type":"string","x-mcp-header":"X"}`, at(schema.String, "n", "a")},
		{"what an Any may carry is not published", "", `message M { string a = 1 [` + h + `]; google.protobuf.Any any = 2; } message N { repeated string b = 1 [` + headed("no name") + `]; }`,
			`{"type":"string","x-mcp-header":"X"}`, at(schema.String, "a")},
		{"a name of one character", "", `message M { string a = 1 [` + headed("!") + `]; }`, `{"type":"string","x-mcp-header":"!"}`, []schema.Header{{Name: "!", Path: []string{"a"}, Kind: schema.String}}},
		{"the longest name", "", `message M { string a = 1 [` + headed(longest) + `]; }`, `{"type":"string","x-mcp-header":"` + longest + `"}`, []schema.Header{{Name: longest, Path: []string{"a"}, Kind: schema.String}}},
		{"every other character of a token", "", `message M { string a = 1 [` + headed("#$%&'*+-.^_`|~aZ09") + `]; }`, "{\"type\":\"string\",\"x-mcp-header\":\"#$%&'*+-.^_`|~aZ09\"}",
			[]schema.Header{{Name: "#$%&'*+-.^_`|~aZ09", Path: []string{"a"}, Kind: schema.String}}},
		{"names that headers of the protocol have", "", `message M { string a = 1 [` + headed("Method") + `]; string b = 2 [` + headed("Name") + `]; }`, `{"type":"string","x-mcp-header":"Name"}`,
			[]schema.Header{{Name: "Method", Path: []string{"a"}, Kind: schema.String}, {Name: "Name", Path: []string{"b"}, Kind: schema.String}}},
		{"an empty one is none", "", `message M { string a = 1 [` + headed("") + `]; }`, `{"type":"string"}`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			md := schematest.Message(t, row.proto)
			doc, _, err := schema.Input(md, profile(t, row.profile))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, doc.Headers()); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			if !strings.Contains(string(doc.JSON()), row.property) {
				t.Errorf("%s has no %s", doc.JSON(), row.property)
			}
			if diff := cmp.Diff(names(doc.Headers()), publishedHeaders(t, doc.JSON())); diff != "" {
				t.Errorf("the document (-want +got):\n%s", diff)
			}
			valid(t, doc.JSON())

			bare, _, err := schema.InputWithoutHeaders(md, profile(t, row.profile))
			if err != nil || bare.Headers() != nil || strings.Contains(string(bare.JSON()), "x-mcp-header") {
				t.Errorf("without headers: %s, headers %v, error %v", bare.JSON(), bare.Headers(), err)
			}
			out, _, err := schema.Output(md, profile(t, row.profile))
			if err != nil || strings.Contains(string(out.JSON()), "x-mcp-header") {
				t.Errorf("output %s, error %v", out.JSON(), err)
			}
		})
	}
}

// TestInput_headerProblems holds a row for each rule of mcp-protocol.md 2.6 on the definition.
func TestInput_headerProblems(t *testing.T) {
	const h = `(sallyport.tool.v1.field).header = "X"`
	sensitive := `(sallyport.tool.v1.field).sensitive = true`
	for _, row := range []struct {
		name, profile, proto string
		want                 []string // the field, and a part of what is said of it
	}{
		{"a name with a blank", "", `message M { string a = 1 [` + headed("My Region") + `]; }`, []string{`M.a: its header "My Region" is no name of a header`}},
		{"a name with a colon", "", `message M { string a = 1 [` + headed("a:b") + `]; }`, []string{`M.a: its header "a:b" is no name`}},
		{"a name with a line break", "", `message M { string a = 1 [` + headed(`a\r\nb`) + `]; }`, []string{`M.a: its header "a\r\nb" is no name`}},
		{"a name that ends in a line break", "", `message M { string a = 1 [` + headed(`a\n`) + `]; }`, []string{`M.a: its header "a\n" is no name`}},
		{"a name that is not ASCII", "", `message M { string a = 1 [` + headed("Größe") + `]; }`, []string{`M.a: its header "Größe" is no name`}},
		{"a name of 65 characters", "", `message M { string a = 1 [` + headed(strings.Repeat("x", 65)) + `]; }`, []string{`M.a: its header "xxx`}},
		{"one name twice", "", `message M { string a = 1 [` + h + `]; string b = 2 [` + h + `]; }`, []string{`M.b: its header "X" is that of field t.v1.M.a too`}},
		{"one name twice, but for capital letters", "", `message M { string a = 1 [` + headed("rEgion") + `]; N n = 2; } message N { string b = 1 [` + headed("Region") + `]; }`,
			[]string{`N.b: its header "Region" is that of field t.v1.M.a too`}},
		{"double", "", `message M { double a = 1 [` + h + `]; }`, []string{"M.a: only a string, an integer or a boolean can be repeated in a header, and it is published as a number; remove its header"}},
		{"float", "", `message M { float a = 1 [` + h + `]; }`, []string{"M.a: only a string, an integer or a boolean can be repeated in a header, and it is published as a number"}},
		{"wrapper of a double", "", `message M { google.protobuf.DoubleValue a = 1 [` + h + `]; }`, []string{"M.a: only a string, an integer or a boolean can be repeated in a header, and it is published as a number"}},
		{"list", "", `message M { repeated string a = 1 [` + h + `]; }`, []string{"M.a: only a string, an integer or a boolean can be repeated in a header, and it is published as an array"}},
		{"map", "", `message M { map<string, string> a = 1 [` + h + `]; }`, []string{"M.a: only a string, an integer or a boolean can be repeated in a header, and it is published as an object"}},
		{"message", "", `message M { N a = 1 [` + h + `]; } message N {}`, []string{"M.a: only a string, an integer or a boolean can be repeated in a header, and it is published as an object"}},
		{"Empty", "", `message M { google.protobuf.Empty a = 1 [` + h + `]; }`, []string{"M.a: only a string, an integer or a boolean can be repeated in a header, and it is published as an object"}},
		{"Struct", "", `message M { google.protobuf.Struct a = 1 [` + h + `]; }`, []string{"M.a: only a string, an integer or a boolean can be repeated in a header, and it is published as an object"}},
		{"ListValue", "", `message M { google.protobuf.ListValue a = 1 [` + h + `]; }`, []string{"M.a: only a string, an integer or a boolean can be repeated in a header, and it is published as an array"}},
		{"Value", "", `message M { google.protobuf.Value a = 1 [` + h + `]; }`, []string{"M.a: only a string, an integer or a boolean can be repeated in a header, and it is published as any JSON value"}},
		{"NullValue", "", `message M { google.protobuf.NullValue a = 1 [` + h + `]; }`, []string{"M.a: only a string, an integer or a boolean can be repeated in a header, and it is published as null"}},
		{"Any", "", `message M { google.protobuf.Any a = 1 [` + h + `]; }`, []string{"M.a: only a string, an integer or a boolean can be repeated in a header, and it is published as an object"}},
		{"hidden", "", `message M { string a = 1 [(sallyport.tool.v1.field) = {hidden: true, header: "X"}]; }`, []string{"M.a: no caller can repeat it in a header, since it is hidden or output-only"}},
		{"output only", "", `message M { string a = 1 [` + h + `, (google.api.field_behavior) = OUTPUT_ONLY]; }`, []string{"M.a: no caller can repeat it in a header, since it is hidden or output-only"}},
		{"sensitive", "", `message M { string a = 1 [(sallyport.tool.v1.field) = {sensitive: true, header: "X"}]; }`, []string{"M.a: it is sensitive, and whatever stands between a caller and the edge can read a header; drop one of the two"}},
		{"within a sensitive message", "", `message M { N n = 1 [` + sensitive + `]; } message N { O o = 1; } message O { string a = 1 [` + h + `]; }`, []string{"O.a: it is within the sensitive field t.v1.M.n, and whatever"}},
		{"within a list", "", `message M { repeated N n = 1; } message N { string a = 1 [` + h + `]; }`, []string{"N.a: one header cannot repeat the many values of n[].a; take the field out"}},
		{"within a map", "", `message M { map<string, N> n = 1; } message N { O o = 1; } message O { string a = 1 [` + h + `]; }`, []string{"O.a: one header cannot repeat the many values of n.{key}.o.a; take the field out"}},
		{"within a message and a list of it", "", `message M { N n = 1; repeated N more = 2; } message N { string a = 1 [` + h + `]; }`, []string{"N.a: one header cannot repeat the many values of more[].a"}},
		{"within a message that is used twice", "", `message M { N n = 1; N m = 2; } message N { string a = 1 [` + h + `]; }`, []string{"N.a: one header cannot repeat both n.a and m.a; give one of the two places a message of its own"}},
		{"below a message that is used twice", "", `message M { N n = 1; N m = 2; } message N { O o = 1; } message O { string a = 1 [` + h + `]; }`, []string{"O.a: one header cannot repeat both n.o.a and m.o.a"}},
		{"within a recursive root", "", `message M { M m = 1; string a = 2 [` + h + `]; }`, []string{"M.a: one header cannot repeat both m.a and a"}},
		{"within a recursive message", "", `message M { N n = 1; } message N { string a = 1 [` + h + `]; N n = 2; }`, []string{"N.a: one header cannot repeat both n.a and n.n.a"}},
		{"within a recursive list", "", `message M { string a = 1 [` + h + `]; repeated M m = 2; }`, []string{"M.a: one header cannot repeat the many values of m[].a"}},
		{"used twice, once without its rules", "", `message M { N n = 1; N m = 2 [(buf.validate.field).ignore = IGNORE_ALWAYS]; } message N { string a = 1 [` + h + `, (buf.validate.field).string.min_len = 1]; }`,
			[]string{"N.a: one header cannot repeat both n.a and m.a"}},
		{"several rules in one field", "", `message M { repeated N n = 1 [` + sensitive + `]; string b = 2 [` + headed("a b") + `]; } message N { double a = 1 [` + headed("A B") + `]; }`, []string{
			`N.a: its header "A B" is no name`, "N.a: only a string, an integer or a boolean", "N.a: it is within the sensitive field t.v1.M.n", "N.a: one header cannot repeat the many values of n[].a",
			`M.b: its header "a b" is no name`, `M.b: its header "a b" is that of field t.v1.N.a too`}},
		{"other problems beside it", "", `message M { double a = 1 [` + h + `]; string b = 2 [json_name = "b c"]; }`, []string{`M.b: the property name "b c"`, "M.a: only a string"}},
		{"in every profile", "numeric", `message M { double a = 1 [` + h + `]; }`, []string{"M.a: only a string"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			md := schematest.Message(t, row.proto)
			doc, _, err := schema.Input(md, profile(t, row.profile))
			if err == nil {
				t.Fatalf("published: %s", doc.JSON())
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(row.want) {
				t.Fatalf("said:\n%s\nwant %d lines", err, len(row.want))
			}
			for i, want := range row.want {
				if !strings.HasPrefix(lines[i], "field t.v1."+want) {
					t.Errorf("said %q, want %q", lines[i], want)
				}
			}
			var problem *schema.HeaderProblem
			if !errors.As(err, &problem) {
				t.Errorf("%v is no problem with a header", err)
			}
			if _, _, err := schema.Output(md, profile(t, row.profile)); err != nil && row.name != "other problems beside it" {
				t.Errorf("as a response: %v", err)
			}
		})
	}
}

// TestInput_headersOfLargeDocuments has types that move under $defs: one with a header never does, and an enum stands
// whole beside its header.
func TestInput_headersOfLargeDocuments(t *testing.T) {
	var large strings.Builder
	for i := range 400 {
		fmt.Fprintf(&large, " string some_property_%d = %d;", i, i+1)
	}
	var values strings.Builder
	for i := range 100 {
		fmt.Fprintf(&values, " A_RATHER_LONG_NAME_OF_A_VALUE_%d = %d;", i, i)
	}
	const uses = `E e1 = 1; E e2 = 2; E e3 = 3; E e4 = 4; E e5 = 5; E e6 = 6; E e7 = 7; E e8 = 8; E e9 = 9; E e10 = 10; E e11 = 11; E e12 = 12;`
	for _, row := range []struct {
		name, proto string
		defs        int
	}{
		{"a large message beside others that are shared", `message M { L l = 1; S s = 2; S t = 3; S u = 4; } message L {` + large.String() + ` string a = 1000 [` + headed("X") + `]; }
message S {` + large.String() + `}`, 1},
		{"an enum that is shared", `message M { ` + uses + ` E a = 20 [` + headed("X") + `]; } enum E {` + values.String() + `}`, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			doc, _, err := schema.Input(schematest.Message(t, row.proto), profile(t, ""))
			if err != nil {
				t.Fatal(err)
			}
			var whole struct {
				Defs map[string]json.RawMessage `json:"$defs"`
			}
			if err := json.Unmarshal(doc.JSON(), &whole); err != nil || len(whole.Defs) != row.defs {
				t.Fatalf("%d definitions, want %d; error %v", len(whole.Defs), row.defs, err)
			}
			if diff := cmp.Diff(map[string]string{"X": "string"}, publishedHeaders(t, doc.JSON())); diff != "" {
				t.Errorf("the document (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("more ways than can be counted", func(t *testing.T) {
		proto := strings.Replace(diamond(100), "message L100 { string c = 1;", "message L100 { string c = 1 ["+headed("X")+"];", 1)
		_, _, err := schema.Input(schematest.Message(t, proto), profile(t, ""))
		if err == nil || !strings.Contains(err.Error(), "field t.v1.L100.c: one header cannot repeat both ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("said: %v", err)
		}
	})
}

// TestInput_headersOfRandomContracts reads drawn documents as a client does.
func TestInput_headersOfRandomContracts(t *testing.T) {
	contracts := rapid.Custom(schematest.RandomMessage)
	count := 0
	for seed := range 300 {
		md := contracts.Example(seed)
		doc, _, err := schema.Input(md, profile(t, schema.BuiltinIDs()[seed%4]))
		if err != nil {
			var problem *schema.HeaderProblem
			if errors.As(err, &problem) {
				t.Errorf("seed %d: %v", seed, err)
			}
			continue
		}
		count += len(doc.Headers())
		if diff := cmp.Diff(names(doc.Headers()), publishedHeaders(t, doc.JSON())); diff != "" {
			t.Errorf("seed %d (-want +got):\n%s\n%s", seed, diff, schematest.Source(md))
		}
	}
	if count < 20 {
		t.Errorf("%d headers in all: too few to tell anything", count)
	}
}

// names are the headers of a document with their types, as publishedHeaders finds them.
func names(list []schema.Header) map[string]string {
	types := map[schema.Kind]string{schema.String: "string", schema.Integer: "integer", schema.Boolean: "boolean"}
	found := map[string]string{}
	for _, h := range list {
		found[h.Name] = types[h.Kind]
	}
	return found
}

// publishedHeaders reads a document as a client does: it finds every x-mcp-header in it, wherever it is, and fails
// for one that is not reached through `properties` alone, or is there twice.
func publishedHeaders(t testing.TB, text []byte) map[string]string {
	t.Helper()
	found, seen := map[string]string{}, map[string]bool{}
	var visit func(value any, at string, reachable bool)
	schemaAt := func(value any, at string, reachable bool) {
		object, _ := value.(map[string]any)
		name, ok := object["x-mcp-header"]
		if !ok {
			return
		}
		folded := strings.ToLower(name.(string))
		if !reachable || seen[folded] {
			t.Errorf("x-mcp-header %v at %s: reachable %v, there already %v", name, at, reachable, seen[folded])
		}
		seen[folded] = true
		found[name.(string)] = fmt.Sprint(object["type"])
	}
	visit = func(value any, at string, reachable bool) {
		switch v := value.(type) {
		case []any:
			for i, item := range v {
				visit(item, fmt.Sprintf("%s/%d", at, i), false)
			}
		case map[string]any:
			schemaAt(v, at, reachable)
			for _, key := range slices.Sorted(maps.Keys(v)) {
				properties, isProperties := v[key].(map[string]any)
				if key != "properties" || !isProperties {
					visit(v[key], at+"/"+key, false)
					continue
				}
				for _, name := range slices.Sorted(maps.Keys(properties)) {
					visit(properties[name], at+"/"+name, reachable)
				}
			}
		}
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	visit(document, "", true)
	return found
}
