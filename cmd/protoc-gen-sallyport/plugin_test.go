package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv2/options"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	"github.com/sallyport-dev/sallyport/comments"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/contract/contracttest"
)

// shop is a file that is right; the text of one service follows.
const shop = `syntax = "proto3";
package shop.v1;
option go_package = "example.com/shop/gen/shop/v1;shopv1";
import "sallyport/tool/v1/options.proto";
message Req { string id = 1; }
message Res { string id = 1; }
`

// ask feeds the plugin a request over its own wire and gives its response and what it prints.
func ask(t *testing.T, set *descriptorpb.FileDescriptorSet, parameter string, wanted ...string) (*pluginpb.CodeGeneratorResponse, string) {
	t.Helper()
	request := &pluginpb.CodeGeneratorRequest{ProtoFile: set.GetFile(), FileToGenerate: wanted, Parameter: proto.String(parameter)}
	raw, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	var out, warnings bytes.Buffer
	if err := run(bytes.NewReader(raw), &out, &warnings); err != nil {
		t.Fatal(err)
	}
	response := &pluginpb.CodeGeneratorResponse{}
	if err := proto.Unmarshal(out.Bytes(), response); err != nil {
		t.Fatal(err)
	}
	return response, warnings.String()
}

func problems(r *pluginpb.CodeGeneratorResponse) []string {
	if r.GetError() == "" {
		return nil
	}
	return strings.Split(r.GetError(), "\n")
}

func TestPlugin_refusesBrokenAnnotationsByFileLineAndFunction(t *testing.T) {
	for _, row := range []struct {
		name, text, parameter string
		want                  []string // beginnings of the error's lines
	}{
		{name: "a swept streaming RPC", text: `service Shop {
  option (sallyport.tool.v1.service) = {};
  rpc Watch(Req) returns (stream Res);
}`, want: []string{"shop.proto:9:3: shop.v1.Shop/Watch: a server-streaming RPC cannot be a tool"}},
		{name: "an annotated bidirectional RPC", text: `service Shop {
  rpc Chat(stream Req) returns (stream Res) {
    option (sallyport.tool.v1.tool) = {};
  }
}`, want: []string{"shop.proto:8:3: shop.v1.Shop/Chat: a client-streaming or bidirectional RPC cannot be a tool"}},
		{name: "a clashing alias in one service", text: `service Shop {
  rpc Find(Req) returns (Res) {
    option (sallyport.tool.v1.tool) = {name: "find"};
  }
  rpc Seek(Req) returns (Res) {
    option (sallyport.tool.v1.tool) = {name: "find"};
  }
}`, want: []string{`shop.proto:12:5: shop.v1.Shop/Seek: the declared name "find" is that of shop.v1.Shop/Find too`}},
		{name: "a clashing alias in one zone root", text: `service Shop {
  option (sallyport.tool.v1.service) = {zone: "app.acme.shop"};
  rpc Find(Req) returns (Res) {
    option (sallyport.tool.v1.tool) = {name: "find"};
  }
}
service Stock {
  option (sallyport.tool.v1.service) = {zone: "app.acme.shop.stock"};
  rpc Find(Req) returns (Res) {
    option (sallyport.tool.v1.tool) = {name: "find"};
  }
}`, want: []string{`shop.proto:16:5: shop.v1.Stock/Find: the declared name "find" is that of shop.v1.Shop/Find too`}},
		{name: "a clashing alias in one package without a zone", text: `service Shop {
  rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {name: "find"}; }
}
service Stock {
  rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {name: "find"}; }
}`, want: []string{`shop.proto:11:33: shop.v1.Stock/Find: the declared name "find"`}},
		{name: "an unknown profile", text: `service Shop {
  option (sallyport.tool.v1.service) = {json_profile: "house"};
  rpc Find(Req) returns (Res);
}`, want: []string{`shop.proto:8:3: shop.v1.Shop: json_profile "house" is unknown`}},
		{name: "an unknown profile beside the known ones", parameter: "profiles=home,away", text: `service Shop {
  rpc Find(Req) returns (Res) {
    option (sallyport.tool.v1.tool).json_profile = "house";
  }
}`, want: []string{`shop.proto:9:5: shop.v1.Shop/Find: json_profile "house" is unknown`}},
		{name: "a bad inherits", text: `service Shop {
  option (sallyport.tool.v1.service) = {inherits: "shop.v1.Missing"};
  rpc Find(Req) returns (Res);
}`, want: []string{`shop.proto:8:3: shop.v1.Shop: inherits "shop.v1.Missing": no service shop.v1.Missing`}},
		{name: "tool_info of what nothing exposes", text: `service Shop {
  rpc Find(Req) returns (Res) {
    option (sallyport.tool.v1.tool_info) = {name: "no.dots"};
  }
}`, want: []string{`shop.proto:9:5: shop.v1.Shop/Find: tool_info: the declared name has a character`}},
		{name: "header options that break rules, at their places", text: `message Routed {
  string region = 1 [(sallyport.tool.v1.field).header = "Home Region"];
  repeated string tags = 2 [
    (sallyport.tool.v1.field) = {header: "Tags"}
  ];
}
service Shop {
  rpc Find(Routed) returns (Res) {
    option (sallyport.tool.v1.tool) = {};
  }
}`, want: []string{
			`shop.proto:8:22: shop.v1.Shop/Find: field shop.v1.Routed.region: its header "Home Region" is no name of a header`,
			`shop.proto:10:5: shop.v1.Shop/Find: field shop.v1.Routed.tags: only a string, an integer or a boolean can be repeated in a header, and it is published as an array; remove its header`,
		}},
		{name: "everything at once, in the order of the file", text: `service Shop {
  option (sallyport.tool.v1.service) = {inherits: "Missing"};
  rpc Watch(Req) returns (stream Res);
  rpc Find(Req) returns (Res) {
    option (sallyport.tool.v1.tool) = {name: "a b"};
  }
}
service Stock {
  option (sallyport.tool.v1.service) = {zone: "No Zone"};
}`, want: []string{
			`shop.proto:8:3: shop.v1.Shop: inherits "Missing"`,
			`shop.proto:9:3: shop.v1.Shop/Watch: `,
			`shop.proto:11:5: shop.v1.Shop/Find: `,
			`shop.proto:15:3: shop.v1.Stock: `,
			`shop.proto:15:3: shop.v1.Stock: `,
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			set := contracttest.Set(t, map[string]string{"shop.proto": shop + row.text})
			response, _ := ask(t, set, row.parameter, "shop.proto")
			got := problems(response)
			if len(got) != len(row.want) {
				t.Fatalf("problems %q, want %q", got, row.want)
			}
			for i, want := range row.want {
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("problem %q, want %q", got[i], want)
				}
			}
			if len(response.GetFile()) != 0 {
				t.Error("files are generated beside an error")
			}
		})
	}
}

func TestPlugin_accepts(t *testing.T) {
	const find = `service Shop { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {name: "find"}; } }`
	for _, row := range []struct {
		name, parameter string
		files           map[string]string
		wanted          []string
	}{
		{name: "one alias in two packages whose zones are not known",
			files: map[string]string{"a.proto": shop + find, "b.proto": strings.Replace(shop, "shop.v1;", "stock.v1;", 1) + find}, wanted: []string{"a.proto", "b.proto"}},
		{name: "a profile that it is told of", parameter: "profiles=home,house,paths=source_relative",
			files:  map[string]string{"a.proto": shop + `service Shop { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {json_profile: "house"}; } }`},
			wanted: []string{"a.proto"}},
		{name: "the built-in base, which nobody imports",
			files:  map[string]string{"a.proto": shop + `service Shop { option (sallyport.tool.v1.service) = {inherits: "sallyport.crud.v1.CrudService"}; rpc Get(Req) returns (Res); }`},
			wanted: []string{"a.proto"}},
		{name: "a broken annotation in a file that is not to be generated",
			files:  map[string]string{"a.proto": shop + find, "b.proto": strings.Replace(shop, "shop.v1;", "other.v1;", 1) + `service S { rpc W(Req) returns (stream Res) { option (sallyport.tool.v1.tool) = {}; } }`},
			wanted: []string{"a.proto"}},
		{name: "a file without services and options", files: map[string]string{"a.proto": `syntax = "proto3"; message Bare {}`}, wanted: []string{"a.proto"}},
		{name: "nothing to generate", files: map[string]string{"a.proto": shop}},
	} {
		t.Run(row.name, func(t *testing.T) {
			response, _ := ask(t, contracttest.Set(t, row.files), row.parameter, row.wanted...)
			if got := problems(response); len(got) != 0 {
				t.Errorf("problems %q", got)
			}
		})
	}
}

func TestPlugin_goesOnWithoutAGoPackage(t *testing.T) {
	text := strings.Replace(shop, `option go_package = "example.com/shop/gen/shop/v1;shopv1";`, "", 1)
	t.Run("nothing is generated", func(t *testing.T) {
		set := contracttest.Set(t, map[string]string{"a.proto": text + "// Commented.\nmessage More {}"})
		response, _ := ask(t, set, "", "a.proto")
		if len(problems(response)) != 0 || len(response.GetFile()) != 0 {
			t.Errorf("response %v", response)
		}
	})
	t.Run("it is checked all the same", func(t *testing.T) {
		set := contracttest.Set(t, map[string]string{"a.proto": text + `service S { rpc W(Req) returns (stream Res) { option (sallyport.tool.v1.tool) = {}; } }`})
		response, _ := ask(t, set, "", "a.proto")
		if len(problems(response)) != 1 {
			t.Errorf("problems %q, want one", problems(response))
		}
	})
}

// Third-party files take part as they are: every file that is linked into this test, googleapis, protovalidate and
// grpc-gateway's among them.
func TestPlugin_acceptsThirdPartyFiles(t *testing.T) {
	var files []protoreflect.FileDescriptor
	protoregistry.GlobalFiles.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		files = append(files, fd)
		return true
	})
	set := comments.Collect(files...)
	var wanted []string
	for _, f := range set.GetFile() {
		wanted = append(wanted, f.GetName())
	}
	for _, path := range []string{"buf/validate/validate.proto", "google/api/http.proto", "protoc-gen-openapiv2/options/annotations.proto", "google/protobuf/descriptor.proto"} {
		if !slices.Contains(wanted, path) {
			t.Errorf("%s is not linked into the test", path)
		}
	}
	response, _ := ask(t, set, "paths=source_relative", wanted...)
	if got := problems(response); len(got) != 0 {
		t.Errorf("problems %q", got)
	}
}

func TestPlugin_options(t *testing.T) {
	const text = shop + "// A comment.\nmessage More {}"
	for _, row := range []struct{ name, parameter, file, goPackage, problem string }{
		{"by import path", "", "example.com/shop/gen/shop/v1/shop.sallyport.go", "shopv1", ""},
		{"paths=import", "paths=import", "example.com/shop/gen/shop/v1/shop.sallyport.go", "shopv1", ""},
		{"paths=source_relative", "paths=source_relative", "dir/shop.sallyport.go", "shopv1", ""},
		{"module", "module=example.com/shop", "gen/shop/v1/shop.sallyport.go", "shopv1", ""},
		{"M", "Mdir/shop.proto=example.com/other/go-pkg", "example.com/other/go-pkg/shop.sallyport.go", "go_pkg", ""},
		{"M with a name", "Mdir/shop.proto=example.com/other;type", "example.com/other/shop.sallyport.go", "_type", ""},
		{"a module that the package is not in", "module=example.com/else", "", "", "dir/shop.proto: its Go package example.com/shop/gen/shop/v1 is not within module=example.com/else"},
		{"an unknown option", "path=x", "", "", `option "path=x" is unknown`},
		{"an unknown way of paths", "paths=here", "", "", `option "paths=here" is unknown`},
		{"module with source-relative paths", "paths=source_relative,module=x", "", "", "module= has no meaning"},
	} {
		t.Run(row.name, func(t *testing.T) {
			response, _ := ask(t, contracttest.Set(t, map[string]string{"dir/shop.proto": text}), row.parameter, "dir/shop.proto")
			if row.problem != "" {
				if !strings.HasPrefix(response.GetError(), row.problem) {
					t.Errorf("error %q, want %q", response.GetError(), row.problem)
				}
				return
			}
			if len(response.GetFile()) != 1 || response.GetFile()[0].GetName() != row.file {
				t.Fatalf("error %q, files %v, want %s", response.GetError(), response.GetFile(), row.file)
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), "", response.GetFile()[0].GetContent(), parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if parsed.Name.Name != row.goPackage || !ast.IsGenerated(parsed) {
				t.Errorf("package %s, generated %t", parsed.Name.Name, ast.IsGenerated(parsed))
			}
		})
	}
	t.Run("a file that is not there", func(t *testing.T) {
		response, _ := ask(t, contracttest.Set(t, map[string]string{"a.proto": shop}), "", "b.proto")
		if !strings.Contains(response.GetError(), "b.proto") {
			t.Errorf("error %q", response.GetError())
		}
	})
	t.Run("a request that is none", func(t *testing.T) {
		if err := run(strings.NewReader("nonsense"), &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("features", func(t *testing.T) {
		response, _ := ask(t, contracttest.Set(t, map[string]string{"a.proto": shop}), "", "a.proto")
		for _, f := range []pluginpb.CodeGeneratorResponse_Feature{pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL, pluginpb.CodeGeneratorResponse_FEATURE_SUPPORTS_EDITIONS} {
			if response.GetSupportedFeatures()&uint64(f) == 0 {
				t.Errorf("no %s", f)
			}
		}
	})
}

func TestPlugin_printsWarnings(t *testing.T) {
	long := strings.Repeat("A sentence about orders. ", 300)
	set := contracttest.Set(t, map[string]string{"a.proto": shop + "service Shop { option (sallyport.tool.v1.service) = {};\n// " + long + "\nrpc Find(Req) returns (Res); }"})
	response, printed := ask(t, set, "", "a.proto")
	if len(problems(response)) != 0 || !strings.HasPrefix(printed, "warning: shop.v1.Shop/Find: ") {
		t.Errorf("problems %q, printed %q", problems(response), printed)
	}
}

// carried runs what generated code does when a program starts, and gives the registered path.
func carried(t *testing.T, file *pluginpb.CodeGeneratorResponse_File) string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "", file.GetContent(), 0)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	var text func(e ast.Expr) string
	text = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BinaryExpr:
			return text(e.X) + text(e.Y)
		case *ast.BasicLit:
			s, err := strconv.Unquote(e.Value)
			if err != nil {
				t.Fatal(err)
			}
			return s
		default:
			t.Fatalf("unexpected %T in generated code", e)
			return ""
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			for _, a := range call.Args {
				texts = append(texts, text(a))
			}
		}
		return true
	})
	if len(texts) != 2 {
		t.Fatalf("generated code registers %d texts", len(texts))
	}
	comments.Register(texts[0], texts[1])
	return texts[0]
}

func TestPlugin_carriesCommentsAndBasesToRuntime(t *testing.T) {
	files := map[string]string{
		"carry/types.proto": `syntax = "proto3"; package carry.types; message Part { string id = 1; }`,
		"carry/base.proto": `syntax = "proto3"; package carry.base; import "carry/types.proto"; import "sallyport/tool/v1/options.proto";
message Req { carry.types.Part part = 1; }
service Further {
  // Peeks, says the further base.
  rpc Peek(Req) returns (Req) { option (sallyport.tool.v1.tool_info) = {open_world_hint: true}; }
}
service Base {
  option (sallyport.tool.v1.service) = {inherits: "carry.base.Further"};
  // Gets, says the base.
  rpc Get(Req) returns (Req) { option (sallyport.tool.v1.tool_info) = {read_only_hint: true}; }
}`,
		"carry/shop.proto": strings.Replace(shop, "shop.v1;", "carry.shop;", 1) + `
// The service.
service Shop {
  option (sallyport.tool.v1.service) = {inherits: ["carry.base.Base", "sallyport.crud.v1.CrudService"]};
  rpc Get(Req) returns (Res);
  rpc Peek(Req) returns (Res);
  rpc Delete(Req) returns (Res);
  // Finds one.
  rpc Find(Query) returns (Res);
}
message Query {
  // What to look for.
  string text = 1;
}`,
	}
	set := contracttest.Set(t, files)
	response, _ := ask(t, set, "paths=source_relative", "carry/shop.proto")
	if len(problems(response)) != 0 || len(response.GetFile()) != 1 {
		t.Fatalf("problems %q, files %v", problems(response), response.GetFile())
	}
	again, _ := ask(t, set, "paths=source_relative", "carry/shop.proto")
	if !proto.Equal(response, again) {
		t.Error("generating again gives something else")
	}
	if path := carried(t, response.GetFile()[0]); path != "carry/shop.proto" {
		t.Errorf("registered for %s", path)
	}

	// What a program has: its own file and its imports, without comments, and without the base.
	linked := &descriptorpb.FileDescriptorSet{}
	for _, f := range set.GetFile() {
		if f.GetName() == "carry/base.proto" || f.GetName() == "carry/types.proto" {
			continue
		}
		f = proto.CloneOf(f)
		f.SourceCodeInfo = nil
		linked.File = append(linked.File, f)
	}
	comments.Attach(linked)
	var paths []string
	for _, f := range linked.GetFile() {
		paths = append(paths, f.GetName())
	}
	if !slices.Contains(paths, "carry/base.proto") || !slices.Contains(paths, "carry/types.proto") || slices.Contains(paths, "sallyport/crud/v1/crud.proto") {
		t.Errorf("files %q, want the base with what it imports, without what is built in", paths)
	}
	compiled, err := contract.Compile(contract.Source{Files: linked, Services: []string{"carry.shop.Shop"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range compiled.Services[0].Tools {
		want := map[string]struct {
			description string
			hints       contract.Hints
		}{
			"Get":    {"Gets, says the base.", contract.Hints{ReadOnly: true}},
			"Peek":   {"Peeks, says the further base.", contract.Hints{OpenWorld: true}},
			"Delete": {"Deletes one resource by its id.", contract.Hints{Destructive: true, Idempotent: true}},
			"Find":   {"Finds one.", contract.Hints{ReadOnly: true}},
		}[tool.Method]
		if tool.Description != want.description || tool.Hints != want.hints {
			t.Errorf("%s: description %q, hints %+v; want %+v", tool.Method, tool.Description, tool.Hints, want)
		}
		if tool.Method == "Find" && !strings.Contains(string(tool.Input.JSON()), "What to look for.") {
			t.Errorf("the field's comment is lost: %s", tool.Input.JSON())
		}
	}
}
