package boundary_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// routedProto has a tool whose callers repeat arguments in headers, one of them in another profile, and one whose
// callers do not.
const routedProto = `
syntax = "proto3";
package routed.v1;
import "google/protobuf/timestamp.proto";
import "sallyport/tool/v1/options.proto";

service RoutedService {
  rpc Route(RouteRequest) returns (RouteResponse) { option (sallyport.tool.v1.tool) = {name: "route"}; }
  rpc Count(CountRequest) returns (RouteResponse) { option (sallyport.tool.v1.tool) = {name: "count", json_profile: "numeric"}; }
  rpc Plain(PlainRequest) returns (RouteResponse) { option (sallyport.tool.v1.tool) = {name: "plain"}; }
}
message RouteRequest {
  string home_region = 1 [(sallyport.tool.v1.field).header = "Region"];
  Order order = 2;
  google.protobuf.Timestamp at = 3 [(sallyport.tool.v1.field).header = "At"];
  int64 version = 4 [(sallyport.tool.v1.field).header = "Version"];
  Size size = 5 [(sallyport.tool.v1.field).header = "SIZE"];
}
message Order {
  int32 number = 1 [(sallyport.tool.v1.field).header = "Order-Number"];
  bool express = 2 [(sallyport.tool.v1.field).header = "Express"];
  repeated string lines = 3;
}
enum Size { SIZE_UNSPECIFIED = 0; SIZE_SMALL = 1; SIZE_LARGE = 2; }
message CountRequest { int64 count = 1 [(sallyport.tool.v1.field).header = "Count"]; }
message PlainRequest { string home_region = 1; }
// In a response the option says nothing, whatever it says.
message RouteResponse { repeated string text = 1 [(sallyport.tool.v1.field).header = "no name"]; }
`

// TestParams_edge holds mcp-protocol.md 2.6 from the proto's option to what the service hears.
func TestParams_edge(t *testing.T) {
	h := newHouse(t, map[string]string{"routed/v1/routed.proto": routedProto})

	t.Run("the list", func(t *testing.T) {
		want := map[string][]string{
			"route": {"homeRegion string Region", "order.number integer Order-Number", "order.express boolean Express", "at string At", "version string Version", "size string SIZE"},
			"count": {"count integer Count"},
			"plain": nil,
		}
		tools := h.in(t).list()
		if len(tools) != len(want) {
			t.Fatalf("listed %v", tools)
		}
		for name, headers := range want {
			if got := listedHeaders(t, "", tools[name].InputSchema); !slices.Equal(got, headers) {
				t.Errorf("%s has %q, want %q", name, got, headers)
			}
			text := string(tools[name].InputSchema) + string(tools[name].OutputSchema)
			if strings.Count(text, "x-mcp-header") != len(headers) {
				t.Errorf("%s: %s", name, text)
			}
		}
	})

	const (
		good     = "called"
		mismatch = "-32020"
		judged   = "refused by the gate"
	)
	region := func(lines ...string) []string { return lines }
	for _, row := range []struct {
		name, tool, arguments string
		lines                 []string
		want                  string
	}{
		{"equal", "route", `{"homeRegion":"canary"}`, region("Mcp-Param-Region: canary"), good},
		{"equal, in another spelling of the name", "route", `{"homeRegion":"canary"}`, region("mcp-param-REGION:canary"), good},
		{"different", "route", `{"homeRegion":"canary"}`, region("Mcp-Param-Region: other"), mismatch},
		{"absent header", "route", `{"homeRegion":"canary"}`, nil, mismatch},
		{"absent argument", "route", `{}`, region("Mcp-Param-Region: canary"), mismatch},
		{"no arguments at all", "route", ``, region("Mcp-Param-Region: canary"), mismatch},
		{"null", "route", `{"homeRegion":null}`, region("Mcp-Param-Region: null"), mismatch},
		{"neither", "route", `{}`, nil, good},
		{"neither, and no arguments", "route", ``, nil, good},
		{"null and no header: the gate's", "route", `{"homeRegion":null}`, nil, judged},
		{"blanks around the header's value", "route", `{"homeRegion":"canary"}`, region("Mcp-Param-Region: \t canary \t "), good},
		{"empty", "route", `{"homeRegion":""}`, region("Mcp-Param-Region:"), good},
		{"encoded", "route", `{"homeRegion":"canary größe\n"}`, region("Mcp-Param-Region: " + encoded("canary größe\n")), good},
		{"not ASCII, as it is", "route", `{"homeRegion":"canary größe"}`, region("Mcp-Param-Region: canary größe"), mismatch},
		{"bad alphabet", "route", `{"homeRegion":"canary"}`, region("Mcp-Param-Region: =?base64?Y2FuYXJ5*?="), mismatch},
		{"bad padding", "route", `{"homeRegion":"canary!"}`, region("Mcp-Param-Region: =?base64?Y2FuYXJ5IQ?="), mismatch},
		{"bits that are not zero", "route", `{"homeRegion":"canary!"}`, region("Mcp-Param-Region: =?base64?Y2FuYXJ5IR==?="), mismatch},
		{"bytes that are not UTF-8", "route", `{"homeRegion":"canary"}`, region("Mcp-Param-Region: =?base64?/w==?="), mismatch},
		{"half a sentinel is literal", "route", `{"homeRegion":"=?base64?canary"}`, region("Mcp-Param-Region: =?base64?canary"), good},
		{"the other half is, too", "route", `{"homeRegion":"canary?="}`, region("Mcp-Param-Region: canary?="), good},
		{"marks in capitals are literal", "route", `{"homeRegion":"=?BASE64?Y2FuYXJ5?="}`, region("Mcp-Param-Region: =?BASE64?Y2FuYXJ5?="), good},
		{"a sentinel as an argument, literal in the header", "route", `{"homeRegion":"=?base64?Y2FuYXJ5?="}`, region("Mcp-Param-Region: =?base64?Y2FuYXJ5?="), mismatch},
		{"a sentinel as an argument, encoded in the header", "route", `{"homeRegion":"=?base64?Y2FuYXJ5?="}`, region("Mcp-Param-Region: " + encoded("=?base64?Y2FuYXJ5?=")), good},
		{"two equal headers", "route", `{"homeRegion":"canary"}`, region("Mcp-Param-Region: canary", "Mcp-Param-Region: canary"), mismatch},
		{"two headers, one encoded", "route", `{"homeRegion":"canary"}`, region("Mcp-Param-Region: canary", "mcp-param-region: "+encoded("canary")), mismatch},

		{"nested", "route", `{"order":{"number":42,"express":true,"lines":["canary"]}}`, region("Mcp-Param-Order-Number: 42", "Mcp-Param-Express: true"), good},
		{"nested, one differs", "route", `{"order":{"number":42,"express":true}}`, region("Mcp-Param-Order-Number: 42", "Mcp-Param-Express: false"), mismatch},
		{"nested, one is absent", "route", `{"order":{"number":42,"express":false}}`, region("Mcp-Param-Order-Number: 42"), mismatch},
		{"the parent is absent", "route", `{}`, region("Mcp-Param-Order-Number: 42"), mismatch},
		{"the parent is no object: the gate's", "route", `{"order":"canary"}`, nil, judged},
		{"the parent is no object, header", "route", `{"order":"canary"}`, region("Mcp-Param-Order-Number: 42"), mismatch},
		{"42.0 for 42", "route", `{"order":{"number":42}}`, region("Mcp-Param-Order-Number: 42.0"), good},
		{"4.2e1 for 42", "route", `{"order":{"number":42}}`, region("Mcp-Param-Order-Number: 4.2e1"), good},
		{"42 for 42.0", "route", `{"order":{"number":42.0}}`, region("Mcp-Param-Order-Number: 42"), good},
		{"a leading zero", "route", `{"order":{"number":42}}`, region("Mcp-Param-Order-Number: 042"), mismatch},
		{"a plus sign", "route", `{"order":{"number":42}}`, region("Mcp-Param-Order-Number: +42"), mismatch},
		{"a text for a number: the gate's, once it is repeated", "route", `{"order":{"number":"canary"}}`, region("Mcp-Param-Order-Number: canary"), judged},
		{"beyond the type: the gate's, once it is repeated", "route", `{"order":{"number":3000000000}}`, region("Mcp-Param-Order-Number: 3000000000"), judged},
		{"True for true", "route", `{"order":{"express":true}}`, region("Mcp-Param-Express: True"), mismatch},

		{"a timestamp is its text", "route", `{"at":"2026-01-31T12:00:00Z"}`, region("Mcp-Param-At: 2026-01-31T12:00:00Z"), good},
		{"a timestamp is not its moment", "route", `{"at":"2026-01-31T12:00:00Z"}`, region("Mcp-Param-At: 2026-01-31T13:00:00+01:00"), mismatch},
		{"a 64-bit integer that is a string", "route", `{"version":"9007199254740993"}`, region("Mcp-Param-Version: 9007199254740993"), good},
		{"a 64-bit integer that is a string is its text", "route", `{"version":"42"}`, region("Mcp-Param-Version: 42.0"), mismatch},
		{"an enum is its name", "route", `{"size":"SIZE_LARGE"}`, region("Mcp-Param-Size: SIZE_LARGE"), good},
		{"an enum is not its number", "route", `{"size":"SIZE_LARGE"}`, region("Mcp-Param-Size: 2"), mismatch},
		{"a 64-bit integer that is a number", "count", `{"count":9007199254740993}`, region("Mcp-Param-Count: 9007199254740993"), good},
		{"a 64-bit integer that is the same double", "count", `{"count":9007199254740993}`, region("Mcp-Param-Count: 9007199254740992"), mismatch},

		{"a header of another tool", "plain", `{"homeRegion":"canary"}`, region("Mcp-Param-Region: other", "Mcp-Param-Region: =?base64?*?="), good},
		{"a header of another tool beside one's own", "count", `{"count":7}`, region("Mcp-Param-Count: 7", "Mcp-Param-Region: other"), good},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := h.in(t)
			h.forgetLog()
			before := h.witness.count()
			r := h.sendRouted(row.tool, row.arguments, row.lines)
			called := h.witness.count() - before
			log := h.log()
			switch row.want {
			case good:
				r.result()
				if called != 1 {
					t.Errorf("the service heard %d calls", called)
				}
			case judged:
				if r.toolError(); called != 0 {
					t.Errorf("the service heard %d calls", called)
				}
			default:
				o := r.parse()
				if r.status != http.StatusBadRequest || r.code() != -32020 || string(o.ID) != `"a"` || o.Error.Data != nil || called != 0 {
					t.Errorf("status %d, %s; the service heard %d calls", r.status, r.body, called)
				}
				if !strings.Contains(o.Error.Message, "The header Mcp-Param-") {
					t.Errorf("the message names no header: %s", o.Error.Message)
				}
			}
			if row.want != good && strings.Contains(string(r.raw), "canary") || strings.Contains(log, "canary") {
				t.Errorf("the caller's text is repeated: answer %s, log %s", r.raw, log)
			}
		})
	}

	t.Run("the service hears the arguments", func(t *testing.T) {
		r := h.in(t).sendRouted("route", `{"homeRegion":"größe","order":{"number":4.2e1}}`, []string{"Mcp-Param-Region: " + encoded("größe"), "Mcp-Param-Order-Number: 42"})
		r.result()
		m := h.witness.last().as(t, h.message("routed.v1.RouteRequest"))
		fields := m.Descriptor().Fields()
		order := m.Get(fields.ByName("order")).Message()
		if got := m.Get(fields.ByName("home_region")).String(); got != "größe" {
			t.Errorf("region %q", got)
		}
		if got := order.Get(order.Descriptor().Fields().ByName("number")); !got.Equal(protoreflect.ValueOfInt32(42)) {
			t.Errorf("number %v", got)
		}
		if got := h.witness.last().metadata; len(got.Get("mcp-param-region")) != 0 {
			t.Errorf("the caller's header reached the service: %v", got)
		}
	})

	t.Run("the legacy era knows no such headers", func(t *testing.T) {
		for _, version := range []string{"", version20250326, version20250618, version20251125} {
			for _, value := range []string{"", "other", "=?base64?*?="} {
				headers := h.caller.headers(version)
				if value != "" {
					headers["Mcp-Param-Region"] = []string{value, value}
				}
				before := h.witness.count()
				r := h.in(t).post(callBody("1", "route", `{"homeRegion":"north"}`), headers)
				if r.result(); h.witness.count() != before+1 {
					t.Errorf("version %q, header %q: the service heard nothing", version, value)
				}
			}
		}
	})
}

// sendRouted calls a tool in the modern era with header lines beside those of every request, as they are.
func (h *house) sendRouted(tool, arguments string, lines []string) response {
	h.t.Helper()
	body := modernized(string(callBody(`"a"`, tool, arguments)))
	head := []string{"Content-Type: application/json", "clientId: " + h.caller.id, "clientSecret: " + h.caller.secret, "MCP-Protocol-Version: " + version20260728}
	head = append(append(head, routingLines(body)...), lines...)
	return h.send(h.rawRequest(head, []byte(body)))
}

// listedHeaders reads a schema as a client does: every property that is reached through `properties` and repeated in a
// header, as its path, its type and the header's name.
func listedHeaders(t testing.TB, path string, schema []byte) (found []string) {
	t.Helper()
	var node struct {
		Type       any             `json:"type"`
		Header     string          `json:"x-mcp-header"`
		Properties json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(schema, &node); err != nil {
		t.Fatal(err)
	}
	if kind, _ := node.Type.(string); node.Header != "" {
		found = append(found, path+" "+kind+" "+node.Header)
	}
	if node.Properties == nil {
		return found
	}
	for _, m := range entries(t, node.Properties) {
		found = append(found, listedHeaders(t, strings.TrimPrefix(path+"."+m.name, "."), m.value)...)
	}
	return found
}
