package contract_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
)

// wantConflict looks for one conflict of the function with the text in it.
func wantConflict(t testing.TB, got []contract.Conflict, function, problem string) {
	t.Helper()
	for _, c := range got {
		if c.Function == function && strings.Contains(c.Problem, problem) {
			return
		}
	}
	t.Errorf("conflicts %v, want one of %s with %q", got, function, problem)
}

func TestCompile_exposing(t *testing.T) {
	expose := func(function string) *registryv1.Overlay { return &registryv1.Overlay{Function: function} }
	for _, row := range []struct {
		name     string
		text     string
		overlays []*registryv1.Overlay
		want     []string
	}{
		{
			name: "an RPC that carries tool",
			text: `service S { rpc A(Req) returns (Res) { option (sallyport.tool.v1.tool) = {}; } rpc B(Req) returns (Res); }`,
			want: []string{"acme.S/A"},
		},
		{
			name: "a service option sweeps, even an empty one",
			text: `service S { option (sallyport.tool.v1.service) = {}; rpc A(Req) returns (Res); rpc B(Req) returns (Res); }`,
			want: []string{"acme.S/A", "acme.S/B"},
		},
		{
			name: "a sweep takes RPCs that are described by inheritance",
			text: `service S { option (sallyport.tool.v1.service) = {inherits: "sallyport.crud.v1.CrudService"}; rpc Get(Req) returns (Res); rpc Other(Req) returns (Res); }`,
			want: []string{"acme.S/Get", "acme.S/Other"},
		},
		{
			name: "inherits adds no RPC that the service does not have",
			text: `service Base { rpc Far(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {}; } }
service S { option (sallyport.tool.v1.service) = {inherits: "acme.Base"}; rpc Near(Req) returns (Res); }`,
			want: []string{"acme.S/Near"},
		},
		{
			name:     "code exposes an RPC without touching the proto",
			text:     `service S { rpc A(Req) returns (Res); rpc B(Req) returns (Res); }`,
			overlays: []*registryv1.Overlay{expose("acme.S/B")},
			want:     []string{"acme.S/B"},
		},
		{
			name:     "code exposes a service",
			text:     `service S { rpc A(Req) returns (Res); rpc B(Req) returns (Res); }`,
			overlays: []*registryv1.Overlay{expose("acme.S")},
			want:     []string{"acme.S/A", "acme.S/B"},
		},
		{
			name: "tool_info exclude keeps out of a sweep",
			text: `service S { option (sallyport.tool.v1.service) = {}; rpc A(Req) returns (Res); rpc B(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {exclude: true}; } }`,
			want: []string{"acme.S/A"},
		},
		{
			name: "an inherited exclude keeps out of a sweep",
			text: `service Base { rpc B(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {exclude: true}; } }
service S { option (sallyport.tool.v1.service) = {inherits: "acme.Base"}; rpc A(Req) returns (Res); rpc B(Req) returns (Res); }`,
			want: []string{"acme.S/A"},
		},
		{
			name: "the nearest tool_info decides about the sweep",
			text: `service Base { rpc B(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {exclude: true}; } }
service S { option (sallyport.tool.v1.service) = {inherits: "acme.Base"}; rpc B(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {}; } }`,
			want: []string{"acme.S/B"},
		},
		{
			name: "an excluded RPC that carries tool is a tool",
			text: `service S { option (sallyport.tool.v1.service) = {}; rpc B(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {exclude: true}; option (sallyport.tool.v1.tool) = {}; } }`,
			want: []string{"acme.S/B"},
		},
		{
			name:     "code exposes what a sweep leaves out",
			text:     `service S { option (sallyport.tool.v1.service) = {}; rpc A(Req) returns (Res); rpc B(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {exclude: true}; } }`,
			overlays: []*registryv1.Overlay{expose("acme.S/B")},
			want:     []string{"acme.S/A", "acme.S/B"},
		},
		{
			name: "tool_info alone exposes nothing",
			text: `service S { rpc A(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {title: "T"}; } }`,
		},
		{
			name: "a service with neither exposes nothing",
			text: `service S { rpc A(Req) returns (Res); }`,
		},
		{
			name: "a file option exposes nothing",
			text: `option (sallyport.tool.v1.file) = {zone: "app-api"}; service S { rpc A(Req) returns (Res); }`,
		},
		{
			name: "an excluded streaming RPC is no problem",
			text: `service S { option (sallyport.tool.v1.service) = {}; rpc A(Req) returns (Res); rpc W(Req) returns (stream Res) { option (sallyport.tool.v1.tool_info) = {exclude: true}; } }`,
			want: []string{"acme.S/A"},
		},
		{
			name: "a streaming RPC that nothing exposes is no problem",
			text: `service S { rpc A(Req) returns (Res) { option (sallyport.tool.v1.tool) = {}; } rpc W(stream Req) returns (stream Res); }`,
			want: []string{"acme.S/A"},
		},
		{
			name:     "the same by proto and by code is one entry",
			text:     `service S { option (sallyport.tool.v1.service) = {}; rpc A(Req) returns (Res) { option (sallyport.tool.v1.tool) = {}; } }`,
			overlays: []*registryv1.Overlay{expose("acme.S"), expose("acme.S/A"), expose("acme.S/A")},
			want:     []string{"acme.S/A"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := slices.Sorted(maps.Keys(tools(compile(t, source(t, row.text, row.overlays...)))))
			if !slices.Equal(got, row.want) {
				t.Errorf("tools %v, want %v", got, row.want)
			}
		})
	}
	t.Run("the same service named twice is one entry", func(t *testing.T) {
		s := source(t, `service S { option (sallyport.tool.v1.service) = {}; rpc A(Req) returns (Res); }`)
		s.Services = append(s.Services, s.Services...)
		if c := compile(t, s); len(c.Services) != 1 || len(c.Services[0].Tools) != 1 {
			t.Errorf("services %+v", c.Services)
		}
	})
}

const progressShape = `
message Step { oneof step { sallyport.tool.v1.Progress progress = 1; Res result = 2; } }
`

func TestCompile_streaming(t *testing.T) {
	const (
		cannot = "a client-streaming or bidirectional RPC cannot be a tool"
		unless = "a server-streaming RPC cannot be a tool unless"
		shape  = "has not the progress shape"
	)
	annotate := func(rpc, option string) string {
		return progressShape + `service S { rpc W` + rpc + ` { option (sallyport.tool.v1.tool) = {` + option + `}; } }`
	}
	sweep := func(rpc string) string {
		return progressShape + `service S { option (sallyport.tool.v1.service) = {}; rpc W` + rpc + `; }`
	}
	for _, row := range []struct {
		name, text, problem string
		overlays            []*registryv1.Overlay
	}{
		{name: "annotated client-streaming", text: annotate("(stream Req) returns (Res)", ""), problem: cannot},
		{name: "annotated bidirectional", text: annotate("(stream Req) returns (stream Res)", ""), problem: cannot},
		{name: "bidirectional with progress", text: annotate("(stream Req) returns (stream Step)", "progress: true"), problem: cannot},
		{name: "annotated server-streaming", text: annotate("(Req) returns (stream Res)", ""), problem: unless},
		{name: "server-streaming of the shape without progress", text: annotate("(Req) returns (stream Step)", ""), problem: unless},
		{name: "swept client-streaming", text: sweep("(stream Req) returns (Res)"), problem: cannot},
		{name: "swept bidirectional", text: sweep("(stream Req) returns (stream Res)"), problem: cannot},
		{name: "swept server-streaming", text: sweep("(Req) returns (stream Res)"), problem: unless},
		{name: "exposed in code", text: `service S { rpc W(Req) returns (stream Res); }`,
			overlays: []*registryv1.Overlay{{Function: "acme.S/W"}}, problem: unless},
		{name: "progress without the shape", text: annotate("(Req) returns (stream Res)", "progress: true"), problem: shape},
		{name: "progress outside a oneof", problem: shape,
			text: `message Bad { sallyport.tool.v1.Progress progress = 1; Res result = 2; }` + annotate("(Req) returns (stream Bad)", "progress: true")},
		{name: "a third member", problem: shape,
			text: `message Bad { oneof step { sallyport.tool.v1.Progress progress = 1; Res result = 2; Res other = 3; } }` + annotate("(Req) returns (stream Bad)", "progress: true")},
		{name: "a field beside the oneof", problem: shape,
			text: `message Bad { oneof step { sallyport.tool.v1.Progress progress = 1; Res result = 2; } string more = 3; }` + annotate("(Req) returns (stream Bad)", "progress: true")},
		{name: "two signs of life", problem: shape,
			text: `message Bad { oneof step { sallyport.tool.v1.Progress a = 1; sallyport.tool.v1.Progress b = 2; } }` + annotate("(Req) returns (stream Bad)", "progress: true")},
		{name: "a result that is no message", problem: shape,
			text: `message Bad { oneof step { sallyport.tool.v1.Progress a = 1; string b = 2; } }` + annotate("(Req) returns (stream Bad)", "progress: true")},
		{name: "progress on a unary RPC", text: annotate("(Req) returns (Res)", "progress: true"), problem: "it is not server-streaming"},
	} {
		t.Run(row.name, func(t *testing.T) {
			wantConflict(t, conflicts(t, source(t, row.text, row.overlays...)), "acme.S/W", row.problem)
		})
	}
	t.Run("the progress shape is a tool", func(t *testing.T) {
		tool := one(t, annotate("(Req) returns (stream Step)", "progress: true"))
		if !tool.Progress || tool.Result.FullName() != "acme.Res" {
			t.Errorf("progress %t, result %s", tool.Progress, tool.Result.FullName())
		}
	})
	t.Run("swept, with progress said by tool_info", func(t *testing.T) {
		tool := one(t, progressShape+`service S { option (sallyport.tool.v1.service) = {};
  rpc W(Req) returns (stream Step) { option (sallyport.tool.v1.tool_info) = {progress: true}; } }`)
		if !tool.Progress {
			t.Error("no progress")
		}
	})
	t.Run("described in code, with progress said by the proto", func(t *testing.T) {
		tool := one(t, annotate("(Req) returns (stream Step)", "progress: true"),
			&registryv1.Overlay{Function: "acme.S/W", Tool: &toolv1.Tool{Title: "Watch It"}})
		if !tool.Progress || tool.Title != "S Watch It" {
			t.Errorf("progress %t, title %q", tool.Progress, tool.Title)
		}
	})
}
