package contract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// TestCompile_headers has a tool whose callers repeat arguments in headers.
func TestCompile_headers(t *testing.T) {
	for _, row := range []struct{ name, profile, first string }{
		{"under JSON names", "protojson", "homeRegion"},
		{"under names of the proto", "proto", "home_region"},
	} {
		t.Run(row.name, func(t *testing.T) {
			tool := one(t, `
message In {
  string home_region = 1 [(sallyport.tool.v1.field).header = "Region"];
  Order order = 2;
}
message Order { int32 number = 1 [(sallyport.tool.v1.field).header = "Order-Number"]; bool express = 2 [(sallyport.tool.v1.field).header = "Express"]; }
message Out { string region = 1 [(sallyport.tool.v1.field).header = "Region"]; repeated Order orders = 2; double d = 3 [(sallyport.tool.v1.field).header = "no name"]; }
service S { rpc Find(In) returns (Out) { option (sallyport.tool.v1.tool) = {json_profile: "`+row.profile+`"}; } }`)
			want := []contract.Header{
				{Name: "Region", Path: []string{row.first}, Kind: schema.String},
				{Name: "Order-Number", Path: []string{"order", "number"}, Kind: schema.Integer},
				{Name: "Express", Path: []string{"order", "express"}, Kind: schema.Boolean},
			}
			if diff := cmp.Diff(want, tool.Headers); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			definition := string(tool.Definition(tool.Name))
			input, output, found := strings.Cut(definition, `"outputSchema"`)
			if !found || strings.Count(input, `"x-mcp-header"`) != 3 || strings.Contains(output, "x-mcp-header") {
				t.Errorf("definition %s", definition)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		if tool := one(t, `service S { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {}; } }`); tool.Headers != nil {
			t.Errorf("headers %v", tool.Headers)
		}
	})
}

// TestCompile_headerConflicts holds a row for each rule on header options (mcp-protocol.md 2.6).
func TestCompile_headerConflicts(t *testing.T) {
	const h = `(sallyport.tool.v1.field).header = "X"`
	for _, row := range []struct{ name, messages, problem string }{
		{"a name outside the grammar", `message In { string a = 1 [(sallyport.tool.v1.field).header = "My Region"]; }`, `field acme.In.a: its header "My Region" is no name of a header: write 1 to 64`},
		{"a name too long", `message In { string a = 1 [(sallyport.tool.v1.field).header = "` + strings.Repeat("x", 65) + `"]; }`, `field acme.In.a: its header "xxx`},
		{"one name twice", `message In { string a = 1 [` + h + `]; string b = 2 [(sallyport.tool.v1.field).header = "x"]; }`, `field acme.In.b: its header "x" is that of field acme.In.a too`},
		{"a number", `message In { double a = 1 [` + h + `]; }`, `field acme.In.a: only a string, an integer or a boolean can be repeated in a header, and it is published as a number`},
		{"an object", `message In { Req a = 1 [` + h + `]; }`, `and it is published as an object`},
		{"an array", `message In { repeated string a = 1 [` + h + `]; }`, `and it is published as an array`},
		{"null", `message In { google.protobuf.NullValue a = 1 [` + h + `]; }`, `and it is published as null`},
		{"any value", `message In { google.protobuf.Value a = 1 [` + h + `]; }`, `and it is published as any JSON value`},
		{"hidden", `message In { string a = 1 [(sallyport.tool.v1.field) = {header: "X", hidden: true}]; }`, `field acme.In.a: no caller can repeat it in a header, since it is hidden or output-only`},
		{"output only", `message In { string a = 1 [` + h + `, (google.api.field_behavior) = OUTPUT_ONLY]; }`, `field acme.In.a: no caller can repeat it in a header, since it is hidden or output-only`},
		{"sensitive", `message In { string a = 1 [(sallyport.tool.v1.field) = {header: "X", sensitive: true}]; }`, `field acme.In.a: it is sensitive, and whatever stands between a caller and the edge can read a header`},
		{"within what is sensitive", `message In { In2 b = 1 [(sallyport.tool.v1.field).sensitive = true]; } message In2 { string a = 1 [` + h + `]; }`, `field acme.In2.a: it is within the sensitive field acme.In.b`},
		{"within a list", `message In { repeated In2 b = 1; } message In2 { string a = 1 [` + h + `]; }`, `field acme.In2.a: one header cannot repeat the many values of b[].a`},
		{"within a map", `message In { map<string, In2> b = 1; } message In2 { string a = 1 [` + h + `]; }`, `field acme.In2.a: one header cannot repeat the many values of b.{key}.a`},
		{"in a message that stands twice", `message In { In2 b = 1; In2 c = 2; } message In2 { string a = 1 [` + h + `]; }`, `field acme.In2.a: one header cannot repeat both b.a and c.a`},
		{"in a message that refers to itself", `message In { In in = 1; string a = 2 [` + h + `]; }`, `field acme.In.a: one header cannot repeat both in.a and a`},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := source(t, "")
			s.Files = compileSet(t, map[string]string{"test.proto": strings.Replace(header, `import "sallyport`, `import "google/protobuf/struct.proto";
import "google/api/field_behavior.proto";
import "sallyport`, 1) + row.messages + `
service S { rpc Find(In) returns (Res) { option (sallyport.tool.v1.tool) = {}; } }`})
			s.Services = []string{"acme.S"}
			found := conflicts(t, s)
			wantConflict(t, found, "acme.S/Find", row.problem)
			if len(found) != 1 || found[0].File != "test.proto" || found[0].Line == 0 || !strings.HasPrefix(found[0].Problem, "field acme.") {
				t.Errorf("conflicts %+v", found)
			}

			// An edge takes what a registry took that did not know the rule, and publishes no header.
			s.RulesChecked = true
			c := compile(t, s)
			tool := c.Services[0].Tools[0]
			if tool.Headers != nil || strings.Contains(string(tool.Definition("x")), "x-mcp-header") {
				t.Errorf("published all the same: %s", tool.Definition("x"))
			}
			if len(c.Warnings) != 1 || !strings.HasPrefix(c.Warnings[0], "acme.S/Find: no headers are published: field acme.") {
				t.Errorf("warnings %q", c.Warnings)
			}
		})
	}
}

func TestCompile_reportsHeadersAtTheirOptionsAndWithEverythingElse(t *testing.T) {
	found := conflicts(t, source(t, `
message In {
  string a = 1 [json_name = "a b"];
  double b = 2 [
    deprecated = true,
    (sallyport.tool.v1.field).header = "B"
  ];
  string c = 3 [(sallyport.tool.v1.field) = {
    header: "no name"
  }];
}
service S {
  rpc Find(In) returns (Res) { option (sallyport.tool.v1.tool) = {name: "no.dots"}; }
  rpc Seek(In) returns (Res) { option (sallyport.tool.v1.tool) = {}; }
}`))
	var got []string
	for _, c := range found {
		problem, _, _ := strings.Cut(c.Problem, ";")
		got = append(got, fmt.Sprintf("%d:%d %s %.60s", c.Line, c.Column, c.Function, problem))
	}
	want := []string{
		"20:32 acme.S/Find tool: the declared name has a character outside [A-Za-z0-9_-",
		`20:3 acme.S/Find no input schema can be derived: field acme.In.a: the propert`,
		"13:5 acme.S/Find field acme.In.b: only a string, an integer or a boolean can ",
		`15:17 acme.S/Find field acme.In.c: its header "no name" is no name of a header`,
		`21:3 acme.S/Seek no input schema can be derived: field acme.In.a: the propert`,
		"13:5 acme.S/Seek field acme.In.b: only a string, an integer or a boolean can ",
		`15:17 acme.S/Seek field acme.In.c: its header "no name" is no name of a header`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
}

// TestCompile_capabilities holds the grammar of required_client_capabilities: dotted names of at most 128 characters.
func TestCompile_capabilities(t *testing.T) {
	const refused = "is not a capability: write a dotted name such as elicitation.form"
	for _, row := range []struct {
		name, text string
		fine       bool
	}{
		{"a word", "sampling", true},
		{"a dotted name", "elicitation.form", true},
		{"three parts", "tasks.requests.elicitation", true},
		{"digits, dashes and underscores", "x2.a-b_c.9", true},
		{"128 characters", strings.Repeat("a", 128), true},
		{"129 characters", strings.Repeat("a", 129), false},
		{"an empty one", "", false},
		{"a leading dot", ".form", false},
		{"a trailing dot", "elicitation.", false},
		{"two dots", "elicitation..form", false},
		{"a leading digit", "2x", false},
		{"a leading dash", "-x", false},
		{"a part with a leading dash", "a.-b", false},
		{"a blank", "elicitation form", false},
		{"a trailing line break", `sampling\n`, false},
		{"a slash", "io.example/ui", false},
		{"a letter that is not ASCII", "größe", false},
		{"a quotation mark", `a\"b`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, option := range []string{"tool", "tool_info"} {
				s := source(t, `service S { option (sallyport.tool.v1.service) = {}; rpc Find(Req) returns (Res) {
option (sallyport.tool.v1.`+option+`) = {required_client_capabilities: ["roots", "`+row.text+`"]}; } }`)
				if row.fine {
					if got := compile(t, s).Services[0].Tools[0].Capabilities; !cmp.Equal(got, []string{"roots", row.text}) {
						t.Errorf("capabilities %q", got)
					}
					continue
				}
				wantConflict(t, conflicts(t, s), "acme.S/Find", refused)
			}
		})
	}
}

// The outermost object has no description in nova. What it demands as a whole stands in the tool's.
func TestDefinitionIn_saysInTheToolsDescriptionWhatTheSchemaCannot(t *testing.T) {
	tool := one(t, `
import "buf/validate/validate.proto";
message In {
  option (buf.validate.message).cel = {id: "in.differ", message: "a must differ from b", expression: "this.a != this.b"};
  string a = 1;
  string b = 2;
}
message Out { string a = 1; }
service S {
  // Finds it.
  rpc Find(In) returns (Out) { option (sallyport.tool.v1.tool) = {}; }
}`)
	for _, d := range dialect.All() {
		definition := string(tool.DefinitionIn(d, "find"))
		want := `"description":"Finds it."`
		if d == dialect.Nova {
			want = `"description":"Finds it. About the arguments: a must differ from b. No other properties are accepted."`
		}
		if !strings.Contains(definition, want) || !strings.Contains(definition, "a must differ from b") {
			t.Errorf("in %s: %s", d, definition)
		}
	}
}
