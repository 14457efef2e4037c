package contract_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// unknown is a field that no build knows.
func unknown(n protowire.Number) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, n, protowire.VarintType), 1)
}

func TestCompile_unknownMeansNo(t *testing.T) {
	const text = `
service Base { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {}; } }
service S { option (sallyport.tool.v1.service) = {inherits: "acme.Base" access: {}};
  rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {access: {}}; }
  rpc Swept(Req) returns (Res); }`
	type options struct {
		service    *toolv1.Service
		tool, base *toolv1.Tool
	}
	for _, row := range []struct {
		name        string
		change      func(*options)
		find, swept string
	}{
		{name: "nothing unknown", change: func(*options) {}},
		{name: "a cosmetic field of the tool", change: func(o *options) { o.tool.ProtoReflect().SetUnknown(unknown(999)) }},
		{name: "a cosmetic field beyond the range", change: func(o *options) { o.tool.ProtoReflect().SetUnknown(unknown(2000)) }},
		{name: "a field of the tool in the range, first", change: func(o *options) { o.tool.ProtoReflect().SetUnknown(unknown(1000)) }, find: "tool option has field 1000"},
		{name: "a field of the tool in the range, last", change: func(o *options) { o.tool.ProtoReflect().SetUnknown(unknown(1999)) }, find: "tool option has field 1999"},
		{name: "a field in the range behind a cosmetic one", change: func(o *options) {
			o.tool.ProtoReflect().SetUnknown(append(unknown(20), unknown(1500)...))
		}, find: "field 1500"},
		{name: "a field of the service in the range", change: func(o *options) { o.service.ProtoReflect().SetUnknown(unknown(1001)) },
			find: "service option has field 1001", swept: "service option has field 1001"},
		{name: "a field of the base's tool_info in the range", change: func(o *options) { o.base.ProtoReflect().SetUnknown(unknown(1002)) }, find: "field 1002"},
		{name: "any field of the RPC's access", change: func(o *options) { o.tool.Access.ProtoReflect().SetUnknown(unknown(77)) }, find: "access rule has field 77"},
		{name: "any field of the service's access", change: func(o *options) { o.service.Access.ProtoReflect().SetUnknown(unknown(77)) }, swept: "access rule has field 77"},
		{name: "an unknown mode", change: func(o *options) { o.tool.Access.Mode = 9 }, find: "mode 9"},
		{name: "deny all", change: func(o *options) { o.service.Access.Mode = toolv1.AccessMode_ACCESS_MODE_DENY_ALL }, swept: "denies everybody"},
		{name: "permit all", change: func(o *options) { o.service.Access.Mode = toolv1.AccessMode_ACCESS_MODE_PERMIT_ALL }},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := source(t, text)
			s.Services = []string{"acme.S"}
			file := s.Files.File[len(s.Files.File)-1]
			o := &options{
				service: proto.GetExtension(file.Service[1].Options, toolv1.E_Service).(*toolv1.Service),
				tool:    proto.GetExtension(file.Service[1].Method[0].Options, toolv1.E_Tool).(*toolv1.Tool),
				base:    proto.GetExtension(file.Service[0].Method[0].Options, toolv1.E_ToolInfo).(*toolv1.Tool),
			}
			row.change(o)
			// Over the wire, as an edge reads it.
			raw, err := proto.Marshal(s.Files)
			if err != nil {
				t.Fatal(err)
			}
			s.Files = &descriptorpb.FileDescriptorSet{}
			if err := proto.Unmarshal(raw, s.Files); err != nil {
				t.Fatal(err)
			}
			all := tools(compile(t, s))
			for function, want := range map[string]string{"acme.S/Find": row.find, "acme.S/Swept": row.swept} {
				got := all[function].Denied
				if (want == "") != (got == "") || !strings.Contains(got, want) {
					t.Errorf("%s denied %q, want %q", function, got, want)
				}
			}
		})
	}
}

func TestCompile_settings(t *testing.T) {
	const service = `access: {roles: ["service-role"]}`
	find := func(options string) string {
		return `service S { option (sallyport.tool.v1.service) = {` + service + `}; rpc Find(Req) returns (Res) {` + options + `} }`
	}
	t.Run("the service's access where the RPC says nothing", func(t *testing.T) {
		tool := one(t, find(""))
		if !slices.Equal(tool.Access.GetRoles(), []string{"service-role"}) || tool.Restricted != "access needs one of the roles service-role" {
			t.Errorf("access %v, restricted %q", tool.Access, tool.Restricted)
		}
	})
	t.Run("the RPC's access instead, even an empty one", func(t *testing.T) {
		tool := one(t, find(`option (sallyport.tool.v1.tool) = {access: {}};`))
		if len(tool.Access.GetRoles()) != 0 || tool.Restricted != "" || tool.Denied != "" {
			t.Errorf("access %v, restricted %q", tool.Access, tool.Restricted)
		}
	})
	t.Run("a title in code does not undo the proto's access", func(t *testing.T) {
		tool := one(t, find(`option (sallyport.tool.v1.tool) = {access: {action: "orders.read" policy: "participant.id != ''"} confirm: true timeout: {seconds: 3}};`),
			&registryv1.Overlay{Function: "acme.S/Find", Tool: &toolv1.Tool{Title: "T"}})
		if tool.Restricted != "access needs the action orders.read and a policy that is true" {
			t.Errorf("restricted %q", tool.Restricted)
		}
		if !tool.Confirm || tool.Timeout != 3*time.Second || tool.Title != "S T" {
			t.Errorf("tool %+v", tool)
		}
	})
	t.Run("code's own access beats the proto's", func(t *testing.T) {
		tool := one(t, find(`option (sallyport.tool.v1.tool) = {access: {action: "a"}};`),
			&registryv1.Overlay{Function: "acme.S/Find", Tool: &toolv1.Tool{Access: &toolv1.Access{Action: "b"}}})
		if tool.Access.GetAction() != "b" {
			t.Errorf("access %v", tool.Access)
		}
	})
	t.Run("nothing declared is public", func(t *testing.T) {
		tool := one(t, `service S { option (sallyport.tool.v1.service) = {}; rpc Find(Req) returns (Res); }`)
		if tool.Access != nil || tool.Restricted != "" || tool.Denied != "" {
			t.Errorf("access %v", tool.Access)
		}
	})
	t.Run("capabilities", func(t *testing.T) {
		tool := one(t, find(`option (sallyport.tool.v1.tool) = {required_client_capabilities: ["sampling", "elicitation.form"]};`))
		if !slices.Equal(tool.Capabilities, []string{"sampling", "elicitation.form"}) {
			t.Errorf("capabilities %v", tool.Capabilities)
		}
	})
	t.Run("a declared name is not inherited", func(t *testing.T) {
		s := source(t, `service Base { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {name: "base_find"}; } }
service S { option (sallyport.tool.v1.service) = {inherits: "acme.Base"}; rpc Find(Req) returns (Res); }`)
		if tool := tools(compile(t, s))["acme.S/Find"]; tool.Alias != "" {
			t.Errorf("alias %q", tool.Alias)
		}
	})
	t.Run("a policy may name the participant, the tool and the arguments", func(t *testing.T) {
		one(t, find(`option (sallyport.tool.v1.tool) = {access: {policy:
  "'admin' in participant.roles && tool.hints.read_only && tool.zone != '' && tool.weight.level < 5 && arguments.id != ''"}};`))
	})
}

func TestTool_definition(t *testing.T) {
	definition := func(t *testing.T, option, published string) string {
		return string(one(t, `service S { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {`+option+`}; } }`).Definition(published))
	}
	t.Run("whole", func(t *testing.T) {
		tool := one(t, `service S { rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool) = {
  title: "Say \"hi\"" description: "Line.\nLine." read_only_hint: true open_world_hint: true
  weight: {type: WEIGHT_TYPE_LOOKUP level: 3 min_duration: {nanos: 50000000} max_duration: {seconds: 90}} }; } }`)
		want := `{"name":"published","title":"S Say \"hi\"","description":"Line.\nLine.","inputSchema":` + string(tool.Input.JSON()) +
			`,"outputSchema":` + string(tool.Output.JSON()) +
			`,"annotations":{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":false,"openWorldHint":true}` +
			`,"_meta":{"dev.sallyport/weight":{"type":"LOOKUP","level":3,"minDuration":"0.05s","maxDuration":"90s"}}}`
		if got := string(tool.Definition("published")); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
	t.Run("all four hints are always written", func(t *testing.T) {
		if got := definition(t, ``, "n"); !strings.Contains(got, `"annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false}`) {
			t.Errorf("got %s", got)
		}
	})
	for _, row := range []struct{ name, weight, want string }{
		{"no weight, no _meta", ``, ``},
		{"an empty weight, no _meta", `weight: {}`, ``},
		{"a level alone", `weight: {level: 10}`, `"_meta":{"dev.sallyport/weight":{"level":10}}`},
		{"an agent", `weight: {type: WEIGHT_TYPE_AGENT max_duration: {seconds: 1 nanos: 500000000}}`, `"_meta":{"dev.sallyport/weight":{"type":"AGENT","maxDuration":"1.5s"}}`},
		{"compute", `weight: {type: WEIGHT_TYPE_COMPUTE level: 1}`, `{"type":"COMPUTE","level":1}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := definition(t, row.weight, "n")
			if row.want == "" && strings.Contains(got, "_meta") || !strings.Contains(got, row.want) {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
	t.Run("no output schema where none is published", func(t *testing.T) {
		tool := one(t, `service S { rpc Find(Req) returns (sallyport.tool.v1.ToolResult) { option (sallyport.tool.v1.tool) = {}; } }`)
		if tool.Output != nil || strings.Contains(string(tool.Definition("n")), "outputSchema") {
			t.Errorf("got %s", tool.Definition("n"))
		}
	})
}
