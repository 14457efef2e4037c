package mcp_test

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// The rows are mcp-protocol.md 1.2, the legacy column of 1.10, and the platform's own rules where they differ.
func TestHandler_legacyEra(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{{name: "a"}, {name: "b"}, {name: "c", hidden: true}, {name: "d", offline: true}})

	const (
		unknown     = `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool."}}`
		badParams   = `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"The params are not what this method takes."}}`
		badCursor   = `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"The cursor is not one of ours: list again without it."}}`
		noMethod    = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found."}}`
		unsupported = `"code":-32022,"message":"Unsupported protocol version.","data":{"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26"],"requested":`
		listed      = `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"b"},{"name":"d"}]}}`
		pong        = `{"jsonrpc":"2.0","id":1,"result":{}}`
	)
	initialize := func(version string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` + version +
			`,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	}
	agreed := func(version string) string {
		return `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"` + version +
			`","capabilities":{"tools":{}},"serverInfo":{"name":"sallyport","title":"Sallyport","version":"1.2.3"},"instructions":"`
	}
	named := func(method string) string { return `{"jsonrpc":"2.0","id":1,"method":"` + method + `"}` }
	list := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` + params + `}`
	}
	toolCall := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	version := func(v string) map[string]string { return map[string]string{"MCP-Protocol-Version": v} }

	tests := []struct {
		name    string
		headers map[string]string
		body    string
		status  int
		want    string // the whole body, or its beginning where it ends in "…", or a part where it begins with "…"
	}{
		{"initialize 2025-11-25", nil, initialize(`"2025-11-25"`), 200, agreed("2025-11-25") + "…"},
		{"initialize 2025-06-18", nil, initialize(`"2025-06-18"`), 200, agreed("2025-06-18") + "…"},
		{"initialize 2025-03-26", nil, initialize(`"2025-03-26"`), 200, agreed("2025-03-26") + "…"},
		{"initialize the past", nil, initialize(`"2024-11-05"`), 200, agreed("2025-11-25") + "…"},
		{"initialize the future", nil, initialize(`"2099-01-01"`), 200, agreed("2025-11-25") + "…"},
		{"initialize the modern era", nil, initialize(`"2026-07-28"`), 200, agreed("2025-11-25") + "…"},
		{"initialize nonsense", nil, initialize(`"canary"`), 200, agreed("2025-11-25") + "…"},
		{"initialize with an escaped version", nil, initialize(`"2025\u002d06-18"`), 200, agreed("2025-06-18") + "…"},
		{"initialize with a legacy header", version("2025-06-18"), initialize(`"2025-11-25"`), 200, agreed("2025-11-25") + "…"},
		{"initialize with a strange header", version("1999"), initialize(`"2025-11-25"`), 200, agreed("2025-11-25") + "…"},
		{"initialize with a number for a version", nil, initialize(`7`), 200, badParams},
		{"initialize without params", nil, named("initialize"), 200, badParams},
		{"initialize without a version", nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, 200, badParams},
		{"initialize with params that are an array", nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":[]}`, 200, badParams},

		{"ping", nil, named("ping"), 200, pong},
		{"ping 2025-03-26", version("2025-03-26"), named("ping"), 200, pong},
		{"ping 2025-06-18", version("2025-06-18"), named("ping"), 200, pong},
		{"ping 2025-11-25", version("2025-11-25"), named("ping"), 200, pong},
		{"ping with empty params", nil, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`, 200, pong},
		{"ping with null params", nil, `{"jsonrpc":"2.0","id":1,"method":"ping","params":null}`, 200, badParams},
		{"ping with a _meta that is no object", nil, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":[]}}`, 200, badParams},
		{"members in another order", nil, `{"params":{},"method":"ping","id":1,"jsonrpc":"2.0"}`, 200, pong},
		{"an escaped member name is the member", nil, `{"jsonrpc":"2.0","id":1,"\u006dethod":"ping"}`, 200, pong},
		{"unknown members are not ours to judge", nil, `{"jsonrpc":"2.0","id":1,"method":"ping","extra":{"a":[1]}}`, 200, pong},
		{"white space around", nil, " \n" + named("ping") + "\r\n\t", 200, pong},
		{"a session id that was never issued", map[string]string{"Mcp-Session-Id": "x"}, named("ping"), 200, pong},
		{"Accept of JSON only", map[string]string{"Accept": "application/json"}, named("ping"), 200, pong},

		{"header 1999", version("1999"), named("ping"), 400, "…" + unsupported + `"1999"}`},
		{"header 2024-11-05", version("2024-11-05"), named("ping"), 400, "…" + unsupported + `"2024-11-05"}`},
		{"header v999.0.0", version("v999.0.0"), named("ping"), 400, "…" + unsupported + `"v999.0.0"}`},
		{"header of the longest version", version("v1111.2222-3333.4444"), named("ping"), 400, "…" + unsupported + `"v1111.2222-3333.4444"}`},
		{"header of too many numbers for a version", version("1.2.3.4.5"), named("ping"), 400, "…" + unsupported + `"unrecognised"}`},
		{"header of too long a number for a version", version("20251"), named("ping"), 400, "…" + unsupported + `"unrecognised"}`},
		{"header with a word", version("2025-11-25-rc1"), named("ping"), 400, "…" + unsupported + `"unrecognised"}`},
		{"header of a letter", version("v"), named("ping"), 400, "…" + unsupported + `"unrecognised"}`},
		{"header that ends in a dash", version("2025-"), named("ping"), 400, "…" + unsupported + `"unrecognised"}`},
		{"header of dots", version("1..2"), named("ping"), 400, "…" + unsupported + `"unrecognised"}`},
		{"header with a space", version("2025 11"), named("ping"), 400, "…" + unsupported + `"unrecognised"}`},

		{"notifications/initialized", nil, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 202, ""},
		{"notifications/cancelled", version("2025-11-25"), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, 202, ""},
		{"notification that nobody knows", nil, `{"jsonrpc":"2.0","method":"x"}`, 202, ""},
		{"notification in a version that is not served", version("2099-01-01"), `{"jsonrpc":"2.0","method":"notifications/initialized"}`, 400, "…" + unsupported + `"2099-01-01"}`},
		{"posted result", nil, `{"jsonrpc":"2.0","id":5,"result":{}}`, 202, ""},
		{"posted error", version("2025-03-26"), `{"jsonrpc":"2.0","id":"5","error":{"code":1,"message":"x"}}`, 202, ""},

		{"server/discover", nil, named("server/discover"), 200, noMethod},
		{"resources/list", nil, named("resources/list"), 200, noMethod},
		{"prompts/list", nil, named("prompts/list"), 200, noMethod},
		{"logging/setLevel", nil, named("logging/setLevel"), 200, noMethod},
		{"subscriptions/listen", nil, named("subscriptions/listen"), 200, noMethod},
		{"notifications/initialized as a request", nil, named("notifications/initialized"), 200, noMethod},
		{"a method in another case", nil, named("Ping"), 200, noMethod},
		{"the empty method", nil, named(""), 200, noMethod},

		{"tools/list", nil, named("tools/list"), 200, listed},
		{"tools/list with empty params", nil, list(`{}`), 200, listed},
		{"tools/list with _meta", nil, list(`{"_meta":{"progressToken":1}}`), 200, listed},
		{"tools/list after a", nil, list(`{"cursor":"AWE"}`), 200, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"b"},{"name":"d"}]}}`},
		{"tools/list after the last", nil, list(`{"cursor":"AWQ"}`), 200, `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`},
		{"tools/list with the empty cursor", nil, list(`{"cursor":""}`), 200, badCursor},
		{"tools/list with a null cursor", nil, list(`{"cursor":null}`), 200, badCursor},
		{"tools/list with a number for a cursor", nil, list(`{"cursor":1}`), 200, badCursor},
		{"tools/list with a foreign cursor", nil, list(`{"cursor":"canary!"}`), 200, badCursor},
		{"tools/list with params that are an array", nil, list(`[]`), 200, badParams},
		{"tools/list with a _meta that is no object", nil, list(`{"_meta":"x"}`), 200, badParams},

		{"tools/call", nil, toolCall(`{"name":"a","arguments":{"x":1}}`), 200,
			`{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"x":1},"content":[{"type":"text","text":"{\"x\":1}"}],"_meta":{"dev.sallyport/type":"test.v1.Response"}}}`},
		{"tools/call with an escaped name", nil, toolCall(`{"name":"\u0061","arguments":{}}`), 200, `…"structuredContent":{}`},
		{"tools/call without arguments", nil, toolCall(`{"name":"a"}`), 200, `…"structuredContent":{}`},
		{"tools/call with null arguments", nil, toolCall(`{"name":"a","arguments":null}`), 200, `…"structuredContent":{}`},
		{"tools/call with members for other versions", nil,
			toolCall(`{"name":"a","task":{"ttl":1},"inputResponses":{},"requestState":"s","_meta":{"progressToken":"p"}}`), 200, `…"structuredContent":{}`},
		{"tools/call with an array for arguments", nil, toolCall(`{"name":"a","arguments":[]}`), 200,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"The member \"arguments\" must be an object."}}`},
		{"tools/call with a string for arguments", nil, toolCall(`{"name":"a","arguments":"{}"}`), 200, `…"code":-32602`},
		{"tools/call of an offline tool", nil, toolCall(`{"name":"d"}`), 200,
			`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"The tool is offline: no instance of its service is running. The call did not run."}],"isError":true,"_meta":{"dev.sallyport/executed":"no"}}}`},

		{"unknown tool", nil, toolCall(`{"name":"canary"}`), 200, unknown},
		{"hidden tool", nil, toolCall(`{"name":"c"}`), 200, unknown},
		{"unknown tool with wrong arguments", nil, toolCall(`{"name":"canary","arguments":[]}`), 200, unknown},
		{"a name that is a number", nil, toolCall(`{"name":1}`), 200, unknown},
		{"a name that is null", nil, toolCall(`{"name":null}`), 200, unknown},
		{"no name", nil, toolCall(`{"arguments":{}}`), 200, unknown},
		{"no params", nil, named("tools/call"), 200, unknown},
		{"params that are an array", nil, toolCall(`["a"]`), 200, unknown},
		{"params that are a string", nil, toolCall(`"a"`), 200, unknown},
		{"a _meta that is no object", nil, toolCall(`{"name":"a","_meta":[]}`), 200, unknown},
		{"a _meta that is null", nil, toolCall(`{"name":"a","_meta":null}`), 200, unknown},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := s.do(t, call{headers: test.headers, body: test.body})
			if got.status != test.status {
				t.Errorf("status %d, want %d", got.status, test.status)
			}
			expectBody(t, got.body, test.want)
			if got.body != "" && got.header.Get("Content-Type") != "application/json" {
				t.Errorf("Content-Type %q", got.header.Get("Content-Type"))
			}
			if strings.Contains(got.body, "canary") || strings.Contains(got.body, `"id":null`) {
				t.Errorf("the answer repeats the caller or has a null id: %s", got.body)
			}
			if got.header.Get("Mcp-Session-Id") != "" {
				t.Error("a session was issued")
			}
		})
	}
}

func TestHandler_pagesUntilTheEnd(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{{name: "a"}, {name: "b"}, {name: "c"}}, func(o *mcp.Options) { o.PageSize = 2 })
	first := s.do(t, call{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`})
	expectBody(t, first.body, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"b"}],"nextCursor":"AWI"}}`)
	second := s.do(t, call{body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"AWI"}}`})
	expectBody(t, second.body, `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"c"}]}}`)
}

func TestHandler_echoesIDsToTheByte(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{})
	for _, id := range []string{
		`0`, `-1`, `-0`, `7`, `123456789012345678901234567890`, `""`, `"a"`, `"\u0061\n\/é\""`, `"null"`, `"😀"`,
		`"` + strings.Repeat("x", 254) + `"`,
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			got := s.do(t, call{body: `{"jsonrpc":"2.0","method":"ping","id": ` + id + ` }`})
			expectBody(t, got.body, `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`)
		})
	}
}

// expectBody compares with want: all of it, its beginning where want ends in "…", a part where want begins with "…".
func expectBody(t *testing.T, got, want string) {
	t.Helper()
	ok := got == want
	if beginning, cut := strings.CutSuffix(want, "…"); cut {
		ok = strings.HasPrefix(got, beginning)
	} else if part, cut := strings.CutPrefix(want, "…"); cut {
		ok = strings.Contains(got, part)
	}
	if !ok {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
