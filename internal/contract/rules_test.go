package contract_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/rules"
)

// ruled is a file whose service has one RPC with the given fields in its request.
func ruled(fields string) map[string]string {
	return map[string]string{"shop.proto": `
syntax = "proto3";
package shop;
import "buf/validate/validate.proto";
import "sallyport/tool/v1/options.proto";
import "rules.proto";
message Req { ` + fields + ` }
message Inner { string text = 1 [(buf.validate.field).cel = {id: "inner", expression: "this.nope()"}]; }
message Res {}
service Shop { option (sallyport.tool.v1.service) = {}; rpc Buy(Req) returns (Res); }
`, "rules.proto": `
syntax = "proto2";
package house;
import "buf/validate/validate.proto";
// How texts begin in this house.
extend buf.validate.StringRules {
  optional string opening = 1161 [(buf.validate.predefined).cel = {id: "house.opening", message: "must open as the house does", expression: "this.startsWith(rule)"}];
  optional bool unused = 1162;
}
message Scope {
  extend buf.validate.RepeatedRules { optional uint32 most = 1163 [(buf.validate.predefined).cel = {id: "house.most", expression: "size(this) <= int(rule) ? '' : 'too many'"}]; }
  extend buf.validate.StringRules { optional bool dropped = 1164; }
}
message Unused { optional string text = 1; }
`}
}

// TestCompile_rules holds the rules that no contract may have.
func TestCompile_rules(t *testing.T) {
	for _, row := range []struct {
		name, fields string
		want         []string // parts of one conflict each
	}{
		{"all compile", `string a = 1 [(buf.validate.field).cel_expression = "this != 'x'"];`, nil},
		{"no CEL", `string a = 1 [(buf.validate.field).cel_expression = "this !="];`, []string{"field shop.Req.a: its protovalidate rules do not compile"}},
		{"neither bool nor text", `string a = 1 [(buf.validate.field).cel = {id: "x", expression: "size(this)"}];`, []string{"field shop.Req.a"}},
		{"no expression", `string a = 1 [(buf.validate.field).cel = {id: "x", message: "m"}];`, []string{"field shop.Req.a"}},
		{"no pattern", `string a = 1 [(buf.validate.field).string.pattern = "("];`, []string{"field shop.Req.a"}},
		{"of the message", `option (buf.validate.message).cel_expression = "this.b == 1"; string a = 1;`, []string{"message shop.Req: its protovalidate rules do not compile: failed to compile expression this.b == 1: ERROR: <input>:1:5: undefined field 'b'"}},
		{"oneof rule with a strange field", `option (buf.validate.message).oneof = {fields: "b"}; string a = 1;`, []string{"message shop.Req"}},
		{"of items", `repeated string a = 1 [(buf.validate.field).repeated.items.cel_expression = "this.b"];`, []string{"field shop.Req.a"}},
		{"of keys", `map<string, string> a = 1 [(buf.validate.field).map.keys.cel_expression = "this.b"];`, []string{"field shop.Req.a"}},
		{"deep", `repeated Inner a = 1;`, []string{"field shop.Inner.text"}},
		{"within an Any", `google.protobuf.Any a = 1;`, []string{"field shop.Inner.text"}},
		{"where they are ignored", `Inner a = 1 [(buf.validate.field).ignore = IGNORE_ALWAYS];`, nil},
		{"hidden", `string a = 1 [(sallyport.tool.v1.field).hidden = true, (buf.validate.field).cel_expression = "this !="];`, nil},
		{"several", `string a = 1 [(buf.validate.field).cel_expression = "this.b"]; string b = 2 [(buf.validate.field).cel_expression = "this.c"];`, []string{"field shop.Req.a", "field shop.Req.b"}},
		{"rules of another type", `string a = 1 [(buf.validate.field).int32.gt = 1];`, []string{"field shop.Req.a: it has (buf.validate.field).int32 rules"}},
		{"predefined", `string a = 1 [(buf.validate.field).string.(house.opening) = "x"];`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			files := ruled(row.fields)
			files["shop.proto"] = strings.Replace(files["shop.proto"], "package shop;", "package shop;\nimport \"google/protobuf/any.proto\";", 1)
			s := contract.Source{Files: compileSet(t, files), Services: []string{"shop.Shop"}}
			if len(row.want) == 0 {
				compile(t, s)
				return
			}
			got := conflicts(t, s)
			if len(got) != len(row.want) {
				t.Fatalf("got %+v", got)
			}
			for i, want := range row.want {
				if got[i].Function != "shop.Shop/Buy" || !strings.Contains(got[i].Problem, want) || strings.Contains(got[i].Problem, "\n") {
					t.Errorf("got %+v, want %q", got[i], want)
				}
			}
		})
	}
}

// TestCompile_predefinedRulesTravel registers predefined rules, which no program has linked.
func TestCompile_predefinedRulesTravel(t *testing.T) {
	set := compileSet(t, ruled(`string a = 1 [(buf.validate.field).string.(house.opening) = "x"];
		repeated string b = 2 [(buf.validate.field).repeated = {items: {string: {[house.opening]: "x"}}, [house.Scope.most]: 1}];`))
	kept, digest := normalized(t, set, "shop.Shop")
	if _, again := normalized(t, kept, "shop.Shop"); again != digest {
		t.Error("normalizing again gives another digest")
	}
	list := declarations(kept)
	if slices.Contains(list, "house.Unused") || slices.Contains(list, "buf.validate.MessageRules") || !slices.Contains(list, "buf.validate.StringRules") {
		t.Errorf("kept %q", list)
	}
	var extensions []string
	for _, f := range kept.GetFile() {
		for _, x := range f.GetExtension() {
			extensions = append(extensions, x.GetName())
		}
		for _, m := range f.GetMessageType() {
			for _, x := range m.GetExtension() {
				extensions = append(extensions, m.GetName()+"."+x.GetName())
			}
		}
	}
	slices.Sort(extensions)
	if want := []string{"Scope.most", "opening"}; !slices.Equal(extensions, want) {
		t.Errorf("kept the extensions %q, want %q", extensions, want)
	}

	input := tools(compile(t, contract.Source{Files: kept, Services: []string{"shop.Shop"}}))["shop.Shop/Buy"].Input
	if !strings.Contains(string(input.JSON()), "must open as the house does.") || !strings.Contains(string(input.JSON()), "Must satisfy the rule house.most.") {
		t.Errorf("published %s", input.JSON())
	}
	judge, err := rules.Compile(input)
	if err != nil {
		t.Fatal(err)
	}
	m := dynamicpb.NewMessage(input.Message())
	m.Set(input.Message().Fields().ByName("a"), protoreflect.ValueOfString("yes"))
	texts := m.Mutable(input.Message().Fields().ByName("b")).List()
	texts.Append(protoreflect.ValueOfString("no"))
	texts.Append(protoreflect.ValueOfString("xo"))
	wire, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	refusal := judge.Judge(wire)
	want := "The arguments do not fit the tool's input schema:\n- a: must open as the house does\n- b: must satisfy the rule house.most\n- b[]: must open as the house does"
	if refusal == nil || refusal.Text() != want {
		t.Errorf("got %+v", refusal)
	}

	t.Run("and are missed", func(t *testing.T) {
		without := proto.CloneOf(kept)
		without.File = slices.DeleteFunc(without.File, func(f *descriptorpb.FileDescriptorProto) bool { return f.GetName() == "rules.proto" })
		got := conflicts(t, contract.Source{Files: without, Services: []string{"shop.Shop"}})
		if len(got) != 2 || !strings.Contains(got[0].Problem, "field shop.Req.a") || !strings.Contains(got[0].Problem, "unknown rules") {
			t.Errorf("got %+v", got)
		}
	})
}
