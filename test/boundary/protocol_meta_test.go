package boundary_test

import (
	"strings"
	"testing"
)

// metaOf writes the `_meta` of a request in a version: what the modern era demands, and these members.
func metaOf(version string, members ...string) string {
	if version == version20260728 {
		members = append([]string{strings.Trim(soundMeta(version), "{}") + "{}"}, members...)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// What the modern era demands of `_meta`, key by key (mcp-protocol.md 1.3).
func TestProtocol_metaOfTheModernEra(t *testing.T) {
	c := newCounter(t)
	const version, capabilities = `"` + keyVersion + `":"2026-07-28"`, `"` + keyCapabilities + `":{}`
	type row struct {
		name, shape string
		want        reply
	}
	rows := []row{
		{"no params", absent, badEnvelope},
		{"empty params", `{}`, badEnvelope},
		{"params null", `null`, badEnvelope},
		{"params of an array", `[]`, badEnvelope},
		{"params of text", `"x"`, badEnvelope},
		{"params of a number", `7`, badEnvelope},
		{"params true", `true`, badEnvelope},
		{"empty _meta", `{"_meta":{}}`, badEnvelope},
		{"_META", `{"_META":{` + version + `,` + capabilities + `}}`, badEnvelope},
		{"no version", `{"_meta":{` + capabilities + `}}`, badEnvelope},
		{"no capabilities", `{"_meta":{` + version + `}}`, badEnvelope},
		{"keys without their prefix", `{"_meta":{"protocolVersion":"2026-07-28","clientCapabilities":{}}}`, badEnvelope},
		{"keys in another case", `{"_meta":{"io.modelcontextprotocol/ProtocolVersion":"2026-07-28","io.modelcontextprotocol/ClientCapabilities":{}}}`, badEnvelope},
		{"keys in the params", `{` + version + `,` + capabilities + `}`, badEnvelope},
		{"keys in a _meta within", `{"_meta":{"_meta":{` + version + `,` + capabilities + `}}}`, badEnvelope},
		{"keys by escapes", `{"\u005fmeta":{"io.modelcontextprotocol\/protocolVersion":"2026-07-28","io.modelcontextprotocol\/clientCapabilities":{}}}`, good},
		{"the least", `{"_meta":{` + version + `,` + capabilities + `}}`, good},
		{"in the other order", `{"_meta":{` + capabilities + `,` + version + `}}`, good},
		{"after other members", `{"cursorless":1,"_meta":{"x":1,` + capabilities + `,"y":2,` + version + `}}`, good},
		{"unknown keys", `{"_meta":{` + version + `,` + capabilities + `,"x":null,"com.example/x":[1],"io.modelcontextprotocol/unknown":{},"mcp.dev/x":1,"":1,"dev.sallyport/type":7}}`, good},
		{"trace context", `{"_meta":{` + version + `,` + capabilities + `,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=b","baggage":"c=d"}}`, good},
		{"trace context of nobody", `{"_meta":{` + version + `,` + capabilities + `,"traceparent":7,"tracestate":[],"baggage":null}}`, good},
	}
	for _, wrong := range []string{`null`, `[]`, `"x"`, `7`, `true`, `[{` + version + `,` + capabilities + `}]`} {
		rows = append(rows, row{"_meta " + wrong, `{"_meta":` + wrong + `}`, badEnvelope})
	}
	for _, wrong := range []string{`null`, `20260728`, `2026.0728`, `true`, `["2026-07-28"]`, `{"x":"2026-07-28"}`} {
		rows = append(rows, row{"version " + wrong, `{"_meta":{"` + keyVersion + `":` + wrong + `,` + capabilities + `}}`, badEnvelope})
	}
	for _, wrong := range []string{`null`, `[]`, `["sampling"]`, `"sampling"`, `""`, `0`, `false`} {
		rows = append(rows, row{"capabilities " + wrong, `{"_meta":{` + version + `,"` + keyCapabilities + `":` + wrong + `}}`, badEnvelope})
	}
	for _, right := range []string{`{"sampling":{}}`, `{"sampling":null,"roots":7,"x":[]}`, `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, `{ }`} {
		rows = append(rows, row{"capabilities " + right, `{"_meta":{` + version + `,"` + keyCapabilities + `":` + right + `}}`, good})
	}
	both := `{"_meta":{` + version + `,` + capabilities + `,"`
	for _, wrong := range []string{`null`, `[]`, `"x"`, `7`, `true`} {
		rows = append(rows, row{"client info " + wrong, both + keyClientInfo + `":` + wrong + `}}`, badEnvelope})
	}
	for _, right := range []string{`{}`, `{"name":"x","version":"1"}`, `{"name":7,"version":null,"icons":"x"}`} {
		rows = append(rows, row{"client info " + right, both + keyClientInfo + `":` + right + `}}`, good})
	}
	for _, level := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
		rows = append(rows, row{"log level " + level, both + keyLogLevel + `":"` + level + `"}}`, good})
	}
	for _, wrong := range []string{`"Debug"`, `"DEBUG"`, `"warn"`, `"trace"`, `"off"`, `""`, `" debug"`, `"debug\u0000"`, `null`, `0`, `true`, `["debug"]`, `{"level":"debug"}`} {
		rows = append(rows, row{"log level " + wrong, both + keyLogLevel + `":` + wrong + `}}`, badEnvelope})
	}
	for _, method := range []string{"server/discover", "tools/list"} {
		for _, r := range rows {
			t.Run(method+" with "+r.name, func(t *testing.T) {
				p := post{version: version20260728, method: method, shape: r.shape, id: `"x\u0041"`}
				r.want.check(t, &p, c.say(t, p))
			})
		}
	}
	for _, r := range rows {
		t.Run("tools/call with "+r.name, func(t *testing.T) {
			p := post{version: version20260728, method: "tools/call", shape: r.shape}
			if strings.HasPrefix(r.shape, `{"`) {
				p.shape = `{"name":"nothing",` + strings.TrimPrefix(r.shape, "{")
			}
			before := c.witness.count()
			r.want.check(t, &p, c.say(t, p))
			if called := c.witness.count() > before; called != (r.want == good) {
				t.Errorf("the service was called: %v", called)
			}
		})
	}
}

// A progress token is a text or an integer that can be echoed to the byte, in every version (mcp-protocol.md 3.1).
func TestProtocol_progressTokens(t *testing.T) {
	c := newCounter(t)
	const long = 256
	for _, row := range []struct {
		name, token string
		isGood      bool
	}{
		{"text", `"token"`, true},
		{"empty text", `""`, true},
		{"text of digits", `"7"`, true},
		{"escapes", `"\u0041\n\ud83d\ude00"`, true},
		{"zero", `0`, true},
		{"negative", `-7`, true},
		{"beyond 2^53", `9007199254740993`, true},
		{"beyond 64 bits", `123456789012345678901234567890`, true},
		{"text of 256 bytes", quote(strings.Repeat("x", long-2)), true},
		{"256 digits", strings.Repeat("7", long), true},
		{"text of 257 bytes", quote(strings.Repeat("x", long-1)), false},
		{"257 digits", strings.Repeat("7", long+1), false},
		{"null", `null`, false},
		{"true", `true`, false},
		{"fraction", `1.5`, false},
		{"fraction of an integer", `1.0`, false},
		{"exponent", `1e3`, false},
		{"capital exponent", `1E3`, false},
		{"array", `["x"]`, false},
		{"object", `{"x":1}`, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, version := range protocolVersions {
				for _, method := range []string{"tools/list", "tools/call"} {
					want := good
					switch {
					case row.isGood:
					case version == version20260728:
						want = badEnvelope
					default:
						want = badParams
					}
					p := post{version: version, method: method, params: `"name":"nothing"`, meta: metaOf(version, `"progressToken":`+row.token)}
					t.Run(versionName(version)+" "+method, func(t *testing.T) {
						before := c.witness.count()
						want.check(t, &p, c.say(t, p))
						if called := c.witness.count() > before; called != (row.isGood && method == "tools/call") {
							t.Errorf("the service was called: %v", called)
						}
					})
				}
			}
		})
	}
}

// The legacy era takes whatever `_meta` says, as long as it is an object: what the modern era's keys mean is none of its.
func TestProtocol_metaOfTheLegacyEra(t *testing.T) {
	c := newCounter(t)
	for _, row := range []struct {
		name, meta string
		want       reply
	}{
		{"empty", `{}`, good},
		{"unknown keys", `{"x":null,"io.modelcontextprotocol/unknown":7}`, good},
		{"capabilities", `{"` + keyCapabilities + `":[]}`, good},
		{"client info", `{"` + keyClientInfo + `":"x"}`, good},
		{"log level", `{"` + keyLogLevel + `":"x"}`, good},
		{"null", `null`, badParams},
		{"array", `[]`, badParams},
		{"text", `"x"`, badParams},
		{"number", `7`, badParams},
		{"true", `true`, badParams},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, version := range protocolVersions {
				if version == version20260728 {
					continue
				}
				for _, method := range []string{"ping", "tools/list", "tools/call", "initialize"} {
					p := post{version: version, method: method, params: `"name":"nothing","protocolVersion":"2025-06-18"`, meta: row.meta}
					t.Run(versionName(version)+" "+method, func(t *testing.T) { row.want.check(t, &p, c.say(t, p)) })
				}
			}
		})
	}
}
