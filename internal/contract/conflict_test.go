package contract_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/descriptorpb"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

func TestCompile_conflicts(t *testing.T) {
	tool := func(option string) string {
		return `service S { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {` + option + `}; } }`
	}
	swept := func(service, rpcs string) string {
		return `service S { option (sallyport.tool.v1.service) = {` + service + `}; ` + rpcs + ` }`
	}
	const find = `rpc Find(Req) returns (Res);`
	for _, row := range []struct {
		name, text, function, problem string
		overlays                      []*registryv1.Overlay
	}{
		{name: "an annotated streaming RPC outside the progress shape", function: "acme.S/Find", problem: "cannot be a tool",
			text: `service S { rpc Find(Req) returns (stream Res) { option (sallyport.tool.v1.tool) = {}; } }`},
		{name: "a duplicate name", function: "acme.S/Seek", problem: `the declared name "find" is that of acme.S/Find too`,
			text: `service S { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {name: "find"}; }
rpc Seek(Req) returns (Res) { option (sallyport.tool.v1.tool) = {name: "find"}; } }`},
		{name: "a message for which no schema can be derived", function: "acme.S/Find", problem: "no input schema can be derived",
			text: `message Odd { string id = 1 [json_name = "not a property name!"]; } service S { rpc Find(Odd) returns (Res) { option (sallyport.tool.v1.tool) = {}; } }`},
		{name: "a blank description", function: "acme.S/Find", problem: "the description is blank", text: tool(`description: " \n"`)},
		{name: "an overlong description", function: "acme.S/Find", problem: "the description has 4097 characters",
			text: tool(`description: "` + strings.Repeat("é", 4097) + `"`)},
		{name: "an overlong description of what nothing exposes", function: "acme.S/Find", problem: "tool_info: the description has 4097 characters",
			text: `service S { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {description: "` + strings.Repeat("x", 4097) + `"}; } }`},
		{name: "a name without words", function: "acme.S/_", problem: "its description is blank", text: swept("", `rpc _(Req) returns (Res);`)},
		{name: "an alias outside the grammar", function: "acme.S/Find", problem: "outside [A-Za-z0-9_-]", text: tool(`name: "find.it"`)},
		{name: "an unknown JSON profile of a method", function: "acme.S/Find", problem: `json_profile "odd" is unknown`, text: tool(`json_profile: "odd"`)},
		{name: "an unknown JSON profile of a service", function: "acme.S", problem: `json_profile "odd" is unknown`, text: swept(`json_profile: "odd"`, find)},
		{name: "an unknown JSON profile of a file", function: "acme.S", problem: `json_profile "odd" is unknown`,
			text: `option (sallyport.tool.v1.file) = {json_profile: "odd"};` + swept(``, find)},
		{name: "an unknown JSON profile of a base", function: "acme.S/Find", problem: `json_profile "odd" is unknown`,
			text: `service Base { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {json_profile: "odd"}; } }` + swept(`inherits: "acme.Base"`, find)},
		{name: "a policy that does not parse", function: "acme.S/Find", problem: "the policy does not compile", text: tool(`access: {policy: "participant.roles ==="}`)},
		{name: "a policy that names something unknown", function: "acme.S/Find", problem: "undeclared reference to 'tool.nmae'", text: tool(`access: {policy: "tool.nmae == 'x'"}`)},
		{name: "a policy that is no condition", function: "acme.S/Find", problem: "it gives string, not a boolean", text: tool(`access: {policy: "participant.id"}`)},
		{name: "a policy of a service", function: "acme.S", problem: "the policy does not compile", text: swept(`access: {policy: ")"}`, find)},
		{name: "a blank role", function: "acme.S/Find", problem: "a role is blank", text: tool(`access: {roles: ["admin", ""]}`)},
		{name: "an action outside the grammar", function: "acme.S/Find", problem: `"Orders Refund" is not an action that a role can name`,
			text: tool(`access: {action: "Orders Refund"}`)},
		{name: "an action that is a pattern", function: "acme.S/Find", problem: `"orders.*" is not an action that a role can name`,
			text: tool(`access: {action: "orders.*"}`)},
		{name: "an action of a service", function: "acme.S", problem: `"orders..refund" is not an action`,
			text: swept(`access: {action: "orders..refund"}`, find)},
		{name: "an overlong action", function: "acme.S/Find", problem: "an action has at most 200 characters",
			text: tool(`access: {action: "` + strings.Repeat("x", 201) + `"}`)},
		{name: "a capability name outside the grammar", function: "acme.S/Find", problem: `"elicitation..form" is not a capability`,
			text: tool(`required_client_capabilities: ["sampling", "elicitation..form"]`)},
		{name: "an inherits that does not resolve", function: "acme.S", problem: `inherits "acme.Missing"`, text: swept(`inherits: "acme.Missing"`, find)},
		{name: "an inherits of what nothing exposes cannot be said, so a bad one of a service with no RPC exposed is named too",
			function: "acme.S", problem: "goes in a circle", text: swept(`inherits: "acme.S"`, find)},
		{name: "an empty exposure set: no RPC", function: "acme.S", problem: "none of its RPCs is", text: swept(``, ``)},
		{name: "an empty exposure set: all excluded", function: "acme.S", problem: "none of its RPCs is",
			text: swept(``, `rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {exclude: true}; }`)},
		{name: "an empty exposure set asked for in code", function: "acme.S", problem: "none of its RPCs is",
			text: `service S {}`, overlays: []*registryv1.Overlay{{Function: "acme.S"}}},
		{name: "exclude on tool", function: "acme.S/Find", problem: "exclude is read from tool_info only", text: tool(`exclude: true`)},
		{name: "a weight's level above 10", function: "acme.S/Find", problem: "the weight's level is 11", text: tool(`weight: {level: 11}`)},
		{name: "a weight's level below 1", function: "acme.S/Find", problem: "the weight's level is -1", text: tool(`weight: {level: -1}`)},
		{name: "a weight's durations in the wrong order", function: "acme.S/Find", problem: "max_duration is shorter", text: tool(`weight: {min_duration: {seconds: 2} max_duration: {seconds: 1}}`)},
		{name: "a negative duration of a weight", function: "acme.S/Find", problem: "negative or out of range", text: tool(`weight: {min_duration: {seconds: -2}}`)},
		{name: "a timeout of nothing", function: "acme.S/Find", problem: "not a positive duration", text: tool(`timeout: {}`)},
		{name: "a timeout out of range", function: "acme.S/Find", problem: "not a positive duration", text: tool(`timeout: {seconds: 315576000001}`)},
		{name: "an ill-spelled zone of a service", function: "acme.S", problem: `"App.Orders"`, text: swept(`zone: "App.Orders"`, find)},
		{name: "an ill-spelled zone of a file", function: "acme.S", problem: `"app..x"`, text: `option (sallyport.tool.v1.file) = {zone: "app..x"};` + swept(``, find)},
		{name: "code names an RPC that is not there", function: "acme.S/Missing", problem: "acme.S has no RPC of that name",
			text: `service S { ` + find + ` }`, overlays: []*registryv1.Overlay{{Function: "acme.S/Missing"}}},
		{name: "code names a service that is not served", function: "acme.T/Find", problem: "acme.T is none of the services",
			text: `service S { ` + find + ` }`, overlays: []*registryv1.Overlay{{Function: "acme.T/Find"}}},
		{name: "code describes a whole service as if it were an RPC", function: "acme.S", problem: "a description of one RPC is given to the whole service",
			text: `service S { ` + find + ` }`, overlays: []*registryv1.Overlay{{Function: "acme.S", Tool: &toolv1.Tool{}}}},
		{name: "code titles an RPC as if it were a service", function: "acme.S/Find", problem: "a title for the whole service is given to one RPC",
			text: `service S { ` + find + ` }`, overlays: []*registryv1.Overlay{{Function: "acme.S/Find", ServiceTitle: "X"}}},
		{name: "code describes twice and differently", function: "acme.S/Find", problem: "described in code twice",
			text: `service S { ` + find + ` }`, overlays: []*registryv1.Overlay{
				{Function: "acme.S/Find", Tool: &toolv1.Tool{Title: "A"}}, {Function: "acme.S/Find", Tool: &toolv1.Tool{Title: "B"}}}},
		{name: "what code says is judged like proto", function: "acme.S/Find", problem: "the description in code: the declared name has a character",
			text: `service S { ` + find + ` }`, overlays: []*registryv1.Overlay{{Function: "acme.S/Find", Tool: &toolv1.Tool{Name: "a.b"}}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			wantConflict(t, conflicts(t, source(t, row.text, row.overlays...)), row.function, row.problem)
		})
	}
}

func TestCompile_reportsEveryConflictAtOnceWithItsPlace(t *testing.T) {
	s := source(t, `
service S {
  option (sallyport.tool.v1.service) = {
    inherits: "acme.Missing"
  };
  rpc Watch(Req) returns (stream Res);
  rpc Find(Req) returns (Res) {
    option (sallyport.tool.v1.tool) = {
      name: "no.dots"
      json_profile: "odd"
    };
  }
  rpc Seek(Req) returns (Res) {
    option (sallyport.tool.v1.tool).title = "Seek";
    option (sallyport.tool.v1.tool).name = "no.dots.either";
  }
}`)
	_, err := contract.Compile(s)
	var conflict *contract.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("error %v", err)
	}
	var got []string
	for _, c := range conflict.Conflicts {
		if c.Line == 0 || c.File != "test.proto" {
			t.Errorf("no place for %s", c)
		}
		located := c.Located()
		got = append(got, located[:strings.Index(located, " ")]+" "+c.Function)
		if !strings.Contains(err.Error(), c.String()) {
			t.Errorf("the error does not list %s", c)
		}
	}
	want := []string{
		"test.proto:10:3: acme.S",
		"test.proto:13:3: acme.S/Watch",
		"test.proto:15:5: acme.S/Find",
		"test.proto:15:5: acme.S/Find",
		"test.proto:22:5: acme.S/Seek",
	}
	if len(got) != len(want) {
		t.Fatalf("conflicts %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("conflict %d at %q, want %q", i, got[i], want[i])
		}
	}
}

func TestCompile_sources(t *testing.T) {
	good := `service S { option (sallyport.tool.v1.service) = {}; rpc Find(Req) returns (Res); }`
	t.Run("no service", func(t *testing.T) {
		s := source(t, good)
		s.Services = nil
		wantConflict(t, conflicts(t, s), "(no function)", "no service is named")
	})
	t.Run("an unknown service", func(t *testing.T) {
		s := source(t, good)
		s.Services = []string{"acme.Missing"}
		wantConflict(t, conflicts(t, s), "acme.Missing", "no such service")
	})
	t.Run("a message instead of a service", func(t *testing.T) {
		s := source(t, good)
		s.Services = []string{"acme.Req"}
		wantConflict(t, conflicts(t, s), "acme.Req", "not a service")
	})
	t.Run("a type that is in no file", func(t *testing.T) {
		set := compileSet(t, normalizeFiles)
		set.File = slices.DeleteFunc(set.File, func(f *descriptorpb.FileDescriptorProto) bool { return f.GetName() == "lib.proto" })
		wantConflict(t, conflicts(t, contract.Source{Files: set, Services: []string{"shop.Shop"}}), "shop.Shop", "the descriptors do not link")
	})
	t.Run("an import that only options need may be missing", func(t *testing.T) {
		s := source(t, good)
		s.Files = &descriptorpb.FileDescriptorSet{File: s.Files.File[len(s.Files.File)-1:]}
		compile(t, s)
	})
	t.Run("an ill-spelled supplied zone", func(t *testing.T) {
		s := source(t, good)
		s.Zone = "No"
		wantConflict(t, conflicts(t, s), "acme.S", `"No"`)
	})
}

func TestCompile_zone(t *testing.T) {
	const file = `option (sallyport.tool.v1.file) = {zone: "app.acme.file"};`
	const service = `zone: "app.acme.service"`
	for _, row := range []struct{ name, file, service, supplied, want string }{
		{"the service's own", file, service, "app.acme.supplied", "app.acme.service"},
		{"then the file's", file, "", "app.acme.supplied", "app.acme.file"},
		{"then the supplied one", "", "", "app.acme.supplied", "app.acme.supplied"},
		{"else none", "", "", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := source(t, row.file+`service S { option (sallyport.tool.v1.service) = {`+row.service+`}; rpc Find(Req) returns (Res); }`)
			s.Zone = row.supplied
			tool := tools(compile(t, s))["acme.S/Find"]
			if tool.Zone != row.want {
				t.Errorf("zone %q, want %q", tool.Zone, row.want)
			}
			if want := contract.ToolName(contract.QualifiedName(row.want, "acme.S"), "Find"); tool.Name != want {
				t.Errorf("name %s, want %s", tool.Name, want)
			}
		})
	}
}

func TestCompile_jsonProfile(t *testing.T) {
	custom := func(id string) (schema.Profile, bool) {
		return schema.Profile{ID: "house", ProtoNames: true, OmitImplicit: true}, id == "house"
	}
	numeric, _ := schema.Builtin("numeric")
	const file = `option (sallyport.tool.v1.file) = {json_profile: "proto"};`
	for _, row := range []struct {
		name, file, service, method string
		configured                  schema.Profile
		want                        string
	}{
		{"the method's", file, "compact", "house", numeric, "house"},
		{"then the service's", file, "compact", "", numeric, "compact"},
		{"then the file's", file, "", "", numeric, "proto"},
		{"then the configured one", "", "", "", numeric, "numeric"},
		{"else protojson", "", "", "", schema.Profile{}, "protojson"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := source(t, row.file+`service S { option (sallyport.tool.v1.service) = {json_profile: "`+row.service+`"};
  rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {json_profile: "`+row.method+`"}; } }`)
			s.DefaultProfile, s.Profiles = row.configured, custom
			if got := tools(compile(t, s))["acme.S/Find"].Profile; got.ID != row.want {
				t.Errorf("profile %+v, want %s", got, row.want)
			}
		})
	}
}
