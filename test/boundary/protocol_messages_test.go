package boundary_test

import (
	"strings"
	"testing"
)

// A notification is taken, whatever it is of and whatever headers it has, as long as none names a version that is not
// served (mcp-protocol.md 1.3). Nothing comes of it.
func TestProtocol_notifications(t *testing.T) {
	c := newCounter(t)
	for _, version := range protocolVersions {
		t.Run(versionName(version), func(t *testing.T) {
			before := c.witness.count()
			for _, method := range append([]string{"", " ", "tools/call ", "\\ud83d\\ude00"}, allMethods...) {
				for _, rest := range []post{
					{}, {shape: absent}, {shape: `{}`}, {shape: `{"name":"greet","arguments":{}}`}, {shape: `{"_meta":null}`}, {shape: `{"_meta":7,"requestId":1}`},
					{meta: soundMeta(version20260728)}, {meta: `{"progressToken":[1.5]}`}, {lines: []string{"Mcp-Method", "Mcp-Name"}}, {lines: []string{"Mcp-Method: x", "Mcp-Name: x"}},
					{lines: []string{"Mcp-Method: x", "Mcp-Method: x", "Mcp-Name: =?base64?!?=", "Mcp-Name:"}}, {lines: []string{"Mcp-Param-Region: x"}},
					{lines: []string{"Accept"}}, {lines: []string{"Accept: text/event-stream"}}, {lines: []string{"MCP-Protocol-Version"}},
				} {
					p := rest
					p.version, p.id, p.method = version, absent, method
					if p.meta == "" && p.shape == "" {
						p.params = `"name":"greet","arguments":{},"requestId":1,"reason":"x"`
					}
					got := c.say(t, p)
					if got.status != 202 || len(got.body) != 0 {
						t.Errorf("%q with %+v: %d %s", method, rest, got.status, got.body)
					}
					taken.check(t, &p, got)
				}
			}
			if c.witness.count() != before {
				t.Error("a notification called the service")
			}
			// A message without an id whose params are none is no notification.
			for _, shape := range []string{`null`, `[]`, `"x"`, `7`} {
				p := post{version: version, id: absent, method: "notifications/initialized", shape: shape}
				nameless.check(t, &p, c.say(t, p))
			}
		})
	}
}

func TestProtocol_notificationsInOtherVersions(t *testing.T) {
	c := newCounter(t)
	for header, want := range map[string]reply{
		"2024-11-05": unserved("2024-11-05"), "1999-01-01": unserved("1999-01-01"), "2099-01-01": unserved("2099-01-01"),
		"2026-07-29": unserved("2026-07-29"), "x": notServed("unrecognised"), "": notServed("unrecognised"),
	} {
		t.Run(header, func(t *testing.T) {
			for _, meta := range []string{"", `{}`, soundMeta(version20260728), soundMeta("2099-01-01"), soundMeta(version20250618)} {
				for _, method := range []string{"notifications/initialized", "notifications/cancelled", "tools/call", "x"} {
					p := post{id: absent, method: method, meta: meta, lines: []string{"MCP-Protocol-Version: " + header, "Mcp-Method: " + method}}
					want.check(t, &p, c.say(t, p))
				}
			}
		})
	}
	twice := post{id: absent, method: "notifications/initialized", lines: []string{"MCP-Protocol-Version: 2026-07-28", "MCP-Protocol-Version: 2026-07-28"}}
	unserved("").check(t, &twice, c.say(t, twice))
}

// A posted response answers a request that the edge never made: dropped in the legacy era, no message in the modern one.
func TestProtocol_postedResponses(t *testing.T) {
	c := newCounter(t)
	for _, version := range protocolVersions {
		t.Run(versionName(version), func(t *testing.T) {
			for _, message := range []string{
				`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"x","result":{"roots":[]}}`, `{"jsonrpc":"2.0","id":0,"result":null}`,
				`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, `{"jsonrpc":"2.0","id":1,"error":null}`, `{"result":7,"id":1,"jsonrpc":"2.0","x":1}`,
			} {
				p := post{version: version, message: message}
				want := taken
				if version == version20260728 {
					want = untakenReply
				}
				want.check(t, &p, c.say(t, p))
			}
			for _, message := range []string{
				`{"jsonrpc":"2.0","result":{}}`, `{"jsonrpc":"2.0","id":null,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`,
				`{"jsonrpc":"2.0","id":1.5,"result":{}}`,
			} {
				p := post{version: version, message: message}
				nameless.check(t, &p, c.say(t, p))
			}
			both := post{version: version, message: `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}`}
			noRequest.check(t, &both, c.say(t, both))
		})
	}
}

// longestID is what may be echoed, in bytes as they were sent.
const longestID = 256

var legalIDs = []struct{ name, id string }{
	{"one", `1`},
	{"zero", `0`},
	{"minus zero", `-0`},
	{"negative", `-1`},
	{"2^31", `2147483648`},
	{"2^53", `9007199254740992`},
	{"2^53 + 1", `9007199254740993`},
	{"-2^53 - 1", `-9007199254740993`},
	{"2^63", `9223372036854775808`},
	{"2^64", `18446744073709551616`},
	{"100 digits", strings.Repeat("1234567890", 10)},
	{"256 digits", strings.Repeat("9", longestID)},
	{"text", `"a"`},
	{"empty text", `""`},
	{"blank", `" "`},
	{"text of digits", `"1"`},
	{"text of null", `"null"`},
	{"a UUID", `"6ba7b810-9dad-11d1-80b4-00c04fd430c8"`},
	{"the probe of a client", `"server-discover-probe-1"`},
	{"escapes", `"\"\\\/\b\f\n\r\t"`},
	{"escaped letters", `"\u0061\u0041\u00e9\u00E9"`},
	{"escaped NUL", `"\u0000"`},
	{"escaped emoji", `"\ud83d\ude00"`},
	{"escaped line separator", `"\u2028"`},
	{"umlauts", `"äöüß"`},
	{"emoji", `"😀"`},
	{"combining", "\"e\u0301\""},
	{"right to left", "\"\u202eabc\""},
	{"line separators", "\"\u2028\u2029\""},
	{"DEL", "\"\u007f\""},
	{"markup", `"<script>&amp;</script>"`},
	{"JSON in a text", `"{\"id\":1}"`},
	{"254 characters", quote(strings.Repeat("x", longestID-2))},
	{"127 umlauts", quote(strings.Repeat("ü", longestID/2-1))},
}

// Ids come back to the byte, beside every kind of answer (mcp-protocol.md 1.4).
func TestProtocol_legalIDsAreEchoed(t *testing.T) {
	c := newCounter(t)
	for _, row := range legalIDs {
		t.Run(row.name, func(t *testing.T) {
			for _, version := range protocolVersions {
				isModern := version == version20260728
				unknown, envelope, hello := legacyOnes, badParams, "ping"
				if isModern {
					unknown, envelope, hello = unknownOnes, badEnvelope, "server/discover"
				}
				for _, asked := range []struct {
					p    post
					want reply
				}{
					{post{method: hello}, good},
					{post{method: "tools/list"}, good},
					{post{method: "tools/call", params: `"name":"nothing"`}, good},
					{post{method: "tools/call", params: `"name":"greet","arguments":{"name":7}`}, good},
					{post{method: "tools/call", params: `"name":"nosuch"`}, badParams},
					{post{method: "x"}, unknown},
					{post{method: "tools/list", shape: `[]`}, envelope},
					{post{jsonrpc: `"1.0"`, method: "tools/list"}, noRequest},
				} {
					asked.p.version, asked.p.id = version, row.id
					asked.want.check(t, &asked.p, c.say(t, asked.p))
				}
				// Wherever it stands, and with white space around.
				p := post{version: version, id: row.id, message: `{"method":"x","id" :` + "\t\r\n " + row.id + ` ,"jsonrpc":"2.0"}`, lines: []string{"Mcp-Method: x"}}
				want := legacyOnes
				if isModern {
					want = badEnvelope
				}
				want.check(t, &p, c.say(t, p))
			}
		})
	}
}

func TestProtocol_illegalIDsAreRefused(t *testing.T) {
	c := newCounter(t)
	for _, row := range []struct{ name, id string }{
		{"null", `null`}, {"true", `true`}, {"false", `false`},
		{"fraction", `1.5`}, {"fraction of zero", `1.0`}, {"exponent", `1e2`}, {"capital exponent", `1E2`}, {"negative exponent", `100e-2`}, {"minus zero with a fraction", `-0.0`},
		{"array", `[]`}, {"array of one", `[1]`}, {"object", `{}`}, {"object with an id", `{"id":1}`},
		{"257 digits", strings.Repeat("9", longestID+1)},
		{"255 characters", quote(strings.Repeat("x", longestID-1))},
		{"128 umlauts", quote(strings.Repeat("ü", longestID/2))},
		{"43 escapes", `"` + strings.Repeat(`\u0041`, 43) + `"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, version := range protocolVersions {
				for _, p := range []post{
					{method: "tools/list"}, {method: "tools/call", params: `"name":"nothing"`}, {method: "x"}, {method: "notifications/initialized"}, {jsonrpc: `"1.0"`, method: "tools/list"},
					{message: `{"jsonrpc":"2.0","id":` + row.id + `,"result":{}}`}, {message: `{"jsonrpc":"2.0","id":` + row.id + `}`},
				} {
					p.version, p.id = version, or(p.id, row.id)
					nameless.check(t, &p, c.say(t, p))
				}
			}
		})
	}
}
