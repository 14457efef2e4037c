package mcp_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// The rows are the modern column of mcp-protocol.md 1.10 and the ladder of 1.5; test/boundary has the whole tables.
func TestHandler_modernEra(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{
		{name: "a"}, {name: "b", hidden: true},
		{name: "sampler", capabilities: []string{"sampling", "elicitation.form"}},
		{name: "router", headers: []schema.Header{{Name: "Region", Path: []string{"place", "region"}, Kind: schema.String}}},
	})

	const (
		server    = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"sallyport","title":"Sallyport","version":"1.2.3"}`
		complete  = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete",`
		mismatch  = `…{"code":-32020,"message":"The header `
		noMethod  = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found."}}`
		badMeta   = `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"The params must be an object whose member \"_meta\"…`
		unknown   = `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool."}}`
		supported = `"data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"requested":`
		meta      = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	)
	request := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params + `}}`
	}
	head := func(method string, more ...string) map[string]string {
		h := map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	discover := request("server/discover", meta)
	encoded := func(text string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?=" }
	capable := func(capabilities string) string {
		return strings.Replace(meta, "{}", capabilities, 1)
	}

	for _, test := range []struct {
		name    string
		headers map[string]string
		body    string
		status  int
		want    string
	}{
		{"server/discover", head("server/discover"), discover, 200,
			complete + `"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"capabilities":{"tools":{}},"instructions":"…`},
		{"server/discover says how long it is good", head("server/discover"), discover, 200,
			`…,"ttlMs":60000,"cacheScope":"public",` + server + `}}}`},
		{"tools/list", head("tools/list"), request("tools/list", meta), 200,
			complete + `"tools":[{"name":"a"},{"name":"sampler"},{"name":"router"}],"ttlMs":60000,"cacheScope":"private",` + server + `}}}`},
		{"tools/call", head("tools/call", "Mcp-Name", "a"), request("tools/call", `"name":"a","arguments":{"x":1},`+meta), 200,
			complete + `"structuredContent":{"x":1},"content":[{"type":"text","text":"{\"x\":1}"}],` + server + `,"dev.sallyport/type":"test.v1.Response"}}}`},
		{"ping", head("ping"), request("ping", meta), 404, noMethod},
		{"initialize", head("initialize"), request("initialize", meta), 404, noMethod},
		{"subscriptions/listen", head("subscriptions/listen"), request("subscriptions/listen", meta), 404, noMethod},

		{"header without _meta", head("tools/list"), request("tools/list", ""), 400, badMeta},
		{"header without params", head("tools/list"), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 400, badMeta},
		{"initialize with the header", head("initialize"), `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`, 400, badMeta},
		{"_meta without capabilities", head("tools/list"), request("tools/list", `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`), 400, badMeta},
		{"capabilities that are an array", head("tools/list"), request("tools/list", capable("[]")), 400, badMeta},
		{"a version that is no string", nil, request("tools/list", `"_meta":{"io.modelcontextprotocol/protocolVersion":7}`), 400, badMeta},
		{"no version header", map[string]string{"Mcp-Method": "tools/list"}, request("tools/list", meta), 400, mismatch},
		{"another version in the header", map[string]string{"MCP-Protocol-Version": "2025-11-25", "Mcp-Method": "tools/list"}, request("tools/list", meta), 400, mismatch},
		{"another version in the body", head("tools/list"), request("tools/list", strings.Replace(meta, "2026-07-28", "v999", 1)), 400, mismatch},
		{"a future version in both", map[string]string{"MCP-Protocol-Version": "2099-01-01", "Mcp-Method": "tools/list"},
			request("tools/list", strings.Replace(meta, "2026-07-28", "2099-01-01", 1)), 400, "…" + supported + `"2099-01-01"}`},
		{"a legacy version in both", map[string]string{"MCP-Protocol-Version": "2025-11-25", "Mcp-Method": "tools/list"},
			request("tools/list", strings.Replace(meta, "2026-07-28", "2025-11-25", 1)), 400, "…" + supported + `"2025-11-25"}`},
		{"no method header", map[string]string{"MCP-Protocol-Version": "2026-07-28"}, request("tools/list", meta), 400, mismatch},
		{"another method header", head("tools/call"), request("tools/list", meta), 400, mismatch},
		{"no name header", head("tools/call"), request("tools/call", `"name":"a",`+meta), 400, mismatch},
		{"another name header", head("tools/call", "Mcp-Name", "b"), request("tools/call", `"name":"a",`+meta), 400, mismatch},
		{"an encoded name header", head("tools/call", "Mcp-Name", encoded("a")), request("tools/call", `"name":"a",`+meta), 200, complete + "…"},
		{"a badly encoded name header", head("tools/call", "Mcp-Name", "=?base64?YQ=?="), request("tools/call", `"name":"a",`+meta), 400, mismatch},
		{"unknown tool", head("tools/call", "Mcp-Name", "canary"), request("tools/call", `"name":"canary",`+meta), 200, unknown},
		{"hidden tool", head("tools/call", "Mcp-Name", "b"), request("tools/call", `"name":"b",`+meta), 200, unknown},
		{"a name that is a number", head("tools/call", "Mcp-Name", "1"), request("tools/call", `"name":1,`+meta), 200, unknown},

		{"an argument repeated in its header", head("tools/call", "Mcp-Name", "router", "Mcp-Param-Region", "north"),
			request("tools/call", `"name":"router","arguments":{"place":{"region":"north"}},`+meta), 200, complete + "…"},
		{"an argument that its header does not repeat", head("tools/call", "Mcp-Name", "router", "Mcp-Param-Region", "canary"),
			request("tools/call", `"name":"router","arguments":{"place":{"region":"north"}},`+meta), 400, mismatch},
		{"a header without its argument", head("tools/call", "Mcp-Name", "router", "Mcp-Param-Region", "north"),
			request("tools/call", `"name":"router","arguments":{"place":{}},`+meta), 400, mismatch},
		{"neither", head("tools/call", "Mcp-Name", "router"), request("tools/call", `"name":"router",`+meta), 200, complete + "…"},

		{"capabilities that the client lacks", head("tools/call", "Mcp-Name", "sampler"), request("tools/call", `"name":"sampler",`+meta), 400,
			`…"code":-32021,"message":"The tool needs capabilities that the client does not state.","data":{"requiredCapabilities":{"sampling":{},"elicitation":{"form":{}}}}`},
		{"capabilities that the client has", head("tools/call", "Mcp-Name", "sampler"),
			request("tools/call", `"name":"sampler",`+capable(`{"sampling":{},"elicitation":{}}`)), 200, complete + "…"},
		{"capabilities of another mode", head("tools/call", "Mcp-Name", "sampler"),
			request("tools/call", `"name":"sampler",`+capable(`{"sampling":{},"elicitation":{"url":{}}}`)), 400, "…-32021"},
		{"capabilities in the legacy era", nil, request("tools/call", `"name":"sampler"`), 200,
			`…"isError":true,"_meta":{"dev.sallyport/executed":"no"}`},

		{"a progress token that is an array", head("tools/list"), request("tools/list", strings.Replace(meta, "{", `{"progressToken":[],`, 1)), 400, "…-32602"},
		{"a log level", head("tools/list"), request("tools/list", strings.Replace(meta, "{", `{"io.modelcontextprotocol/logLevel":"debug",`, 1)), 200, complete + "…"},
		{"a log level that is none", head("tools/list"), request("tools/list", strings.Replace(meta, "{", `{"io.modelcontextprotocol/logLevel":"canary",`, 1)), 400, "…-32602"},
		{"client info that is a string", head("tools/list"), request("tools/list", strings.Replace(meta, "{", `{"io.modelcontextprotocol/clientInfo":"canary",`, 1)), 400, "…-32602"},

		{"notification", head("notifications/cancelled"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, 202, ""},
		{"notification of another method", head("canary"), `{"jsonrpc":"2.0","method":"notifications/cancelled"}`, 202, ""},
		{"notification of a version that the header does not name", nil, `{"jsonrpc":"2.0","method":"x","params":{` + meta + `}}`, 202, ""},
		{"notification in a future version", map[string]string{"MCP-Protocol-Version": "2099-01-01"}, `{"jsonrpc":"2.0","method":"x"}`, 400, "…" + supported + `"2099-01-01"}`},
		{"posted result", head("x"), `{"jsonrpc":"2.0","id":5,"result":{}}`, 400,
			`{"jsonrpc":"2.0","error":{"code":-32600,"message":"Responses are not accepted: send requests and notifications."}}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := s.do(t, call{headers: test.headers, body: test.body})
			if got.status != test.status {
				t.Errorf("status %d, want %d", got.status, test.status)
			}
			expectBody(t, got.body, test.want)
			if strings.Contains(got.body, "canary") || strings.Contains(got.body, `"id":null`) {
				t.Errorf("the answer repeats the caller or has a null id: %s", got.body)
			}
		})
	}
}
