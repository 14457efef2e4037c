package boundary_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/contract"
)

// Families about the JSON-RPC message around the arguments (mcp-protocol.md 1.2 to 1.5; boundary.md, "What a refusal
// says").

func ids() []payload {
	const family = "ids"
	with := func(id string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping","params":{"x":"$V"}}`
	}
	var out []payload
	echoed := func(name, id string) {
		// What stands for the id in the answer is known once the canary is.
		c := newCanary(family, name)
		out = append(out, bodies(family, body{name, with(id), want{Status: 200, ID: c.fill(id)}})...)
	}
	refuse := func(name, id string) {
		out = append(out, bodies(family, body{name, with(id), noMessage("")})...)
	}
	echoed("text", `"$V"`)
	echoed("empty text", `""`)
	echoed("blank text", `" $V "`)
	echoed("number", `$N`)
	echoed("zero", `0`)
	echoed("minus zero", `-0`)
	echoed("negative", `-$N`)
	echoed("beyond 64 bits", `$N$N$N`)
	echoed("254 characters", `"$V`+strings.Repeat("x", 254-22)+`"`)
	echoed("256 digits", strings.Repeat("7", 256))
	echoed("escapes", `"\u0024\/\b\f\n\r\t\"\\$V"`)
	echoed("escapes in capitals", `"\u00E9\u00e9$V"`)
	echoed("surrogate pair by escapes", `"\ud83d\ude00$V"`)
	echoed("raw emoji", `"😀$V"`)
	echoed("NUL by escape", `"\u0000$V"`)
	echoed("terminal escape", `"\u001b[31m$V"`)
	echoed("markup", `"<script>alert('$V')</script>"`)
	echoed("line ends by escape", `"\r\nX-Injected: $V"`)
	echoed("line separators, raw", "\"\u2028\u2029$V\"")
	echoed("looks like JSON", `"\",\"result\":{\"$K\":1},\"x\":\""`)
	echoed("null as text", `"null"`)
	echoed("prototype name", `"__proto__"`)
	echoed("DEL and C1, raw", "\"\u007f\u0085$V\"")
	echoed("base64 of nothing", `"===="`)

	refuse("null", `null`)
	refuse("true", `true`)
	refuse("false", `false`)
	refuse("fraction", `1.5`)
	refuse("fraction of the canary", `$N.5`)
	refuse("a point that changes nothing", `1.0`)
	refuse("exponent", `1e2`)
	refuse("exponent in capitals", `1E2`)
	refuse("negative exponent", `$Ne-2`)
	refuse("huge exponent", `1e999999999`)
	refuse("object", `{"$K":"$V"}`)
	refuse("empty object", `{}`)
	refuse("array", `["$V"]`)
	refuse("empty array", `[]`)
	refuse("array of one number", `[$N]`)
	refuse("255 characters", `"$V`+strings.Repeat("x", 255-22)+`"`)
	refuse("257 digits", strings.Repeat("7", 257))
	refuse("43 escapes", `"`+strings.Repeat(`\u0041`, 43)+`"`)
	refuse("64 emoji", `"`+strings.Repeat("😀", 64)+`"`)
	refuse("a million characters", `"$V`+strings.Repeat("x", 1<<20)+`"`)
	out = append(out, bodies(family,
		body{"a long id of a call", `{"jsonrpc":"2.0","id":"$V` + strings.Repeat("x", 300) + `","method":"tools/call","params":{"name":"judge","arguments":{"note":"$V"}}}`, noMessage("")},
		body{"a long id of an unknown method", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"$V"}`, noMessage("")},
		body{"a long id of a posted response", `{"jsonrpc":"2.0","id":"$V` + strings.Repeat("x", 300) + `","result":{}}`, noMessage("")},
		body{"a null id of a posted error", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"$V"}}`, noMessage("")},
		body{"capital ID", `{"jsonrpc":"2.0","ID":"$V","method":"ping"}`, accepted()},
		body{"the id by escapes", `{"jsonrpc":"2.0","\u0069d":1,"method":"ping","params":{"x":"$V"}}`, answered()},
		body{"the id last", `{"jsonrpc":"2.0","method":"$V","params":{"$K":1},"id":1}`, inBand(-32601)},
		body{"an id with an unknown tool", strings.Replace(toolCall("$V", `{"$K":1}`), `"id":1`, `"id":"x\u0041"`, 1), want{Status: 200, Code: -32602, ID: `"x\u0041"`}},
	)...)
	return out
}

func versionsOfJSONRPC() []payload {
	const family = "jsonrpc member"
	var out []payload
	for _, value := range []string{`"1.0"`, `"2"`, `"2.00"`, `" 2.0"`, `"2.0 "`, `"$V"`, `2.0`, `2`, `null`, `true`, `["2.0"]`, `{"$K":"2.0"}`, `""`, `"2.0\u0000"`, `"２.０"`} {
		out = append(out, bodies(family, body{value, `{"jsonrpc":` + value + `,"id":1,"method":"ping","params":{"x":"$V"}}`, noMessage("1")})...)
	}
	return append(out, bodies(family,
		body{"missing", `{"id":1,"method":"ping","params":{"x":"$V"}}`, noMessage("1")},
		body{"missing from a notification", `{"method":"ping","params":{"x":"$V"}}`, noMessage("")},
		body{"in capitals", `{"JSONRPC":"2.0","id":1,"method":"ping","params":{"x":"$V"}}`, noMessage("1")},
		body{"by escapes", `{"\u006asonrpc":"\u0032.0","id":1,"method":"ping","params":{"x":"$V"}}`, answered()},
	)...)
}

func messages() []payload {
	const family = "messages"
	return bodies(family,
		body{"empty object", `{ }`, noMessage("")},
		body{"object of the canary", `{"$K":"$V"}`, noMessage("")},
		body{"text", `"$V"`, noMessage("")},
		body{"number", `$N`, noMessage("")},
		body{"true", `true `, noMessage("")},
		body{"null", `null`, noMessage("")},
		body{"no method", `{"jsonrpc":"2.0","id":1,"params":{"x":"$V"}}`, noMessage("1")},
		body{"method that is null", `{"jsonrpc":"2.0","id":1,"method":null,"params":{"x":"$V"}}`, noMessage("1")},
		body{"method that is a number", `{"jsonrpc":"2.0","id":1,"method":$N}`, noMessage("1")},
		body{"method that is an array", `{"jsonrpc":"2.0","id":1,"method":["$V"]}`, noMessage("1")},
		body{"method that is an object", `{"jsonrpc":"2.0","id":1,"method":{"$K":"$V"}}`, noMessage("1")},
		body{"method and result", `{"jsonrpc":"2.0","id":1,"method":"$V","result":{"$K":1}}`, noMessage("1")},
		body{"method and error", `{"jsonrpc":"2.0","id":1,"method":"ping","error":{"code":1,"message":"$V"}}`, noMessage("1")},
		body{"result and error", `{"jsonrpc":"2.0","id":1,"result":{"x":"$V"},"error":{"$K":1}}`, noMessage("1")},
		body{"result without an id", `{"jsonrpc":"2.0","result":{"x":"$V"}}`, noMessage("")},
		body{"result with an object for an id", `{"jsonrpc":"2.0","id":{"$K":1},"result":"$V"}`, noMessage("")},
		body{"notification whose params are an array", `{"jsonrpc":"2.0","method":"x","params":["$V"]}`, noMessage("")},
		body{"notification whose params are text", `{"jsonrpc":"2.0","method":"x","params":"$V"}`, noMessage("")},
		body{"notification whose params are null", `{"jsonrpc":"2.0","method":"$V","params":null}`, noMessage("")},
		body{"notification of the canary", `{"jsonrpc":"2.0","method":"$V","params":{"$K":1}}`, accepted()},
		body{"notifications/initialized", `{"jsonrpc":"2.0","method":"notifications/initialized","params":{"$K":"$V"}}`, accepted()},
		body{"notifications/cancelled", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"$V","reason":"$K"}}`, accepted()},
		body{"notifications/progress", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"$V","progress":$N}}`, accepted()},
		body{"a call without an id", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"judge","arguments":{"note":"$V"}}}`, accepted()},
		body{"a call of an unknown tool without an id", `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"$V","arguments":{"$K":1}}}`, accepted()},
		body{"initialize without an id", `{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"$V"}}`, accepted()},
	)
}

// responses are messages that answer a request of the edge, which makes none: dropped in the legacy era, no message in
// the modern one (mcp-protocol.md 1.1).
func responses() []payload {
	dropped := accepted().but(noMessage(""))
	return bodies("posted responses",
		body{"result", `{"jsonrpc":"2.0","id":"$V","result":{"$K":1}}`, dropped},
		body{"result of a number", `{"jsonrpc":"2.0","id":$N,"result":null}`, dropped},
		body{"error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"$V","data":{"$K":1}}}`, dropped},
		body{"elicited", `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"$K":"$V"}}}`, dropped},
		body{"result with params", `{"jsonrpc":"2.0","id":1,"result":{},"params":["$V"]}`, dropped},
	)
}

func batches() []payload {
	const family = "batches"
	one := rpc("ping", `{"x":"$V"}`)
	return bodies(family,
		body{"empty", `[ ]`, noMessage("")},
		body{"one request", `[` + one + `]`, noMessage("")},
		body{"two requests", `[` + one + `,` + strings.Replace(one, `"id":1`, `"id":"$V"`, 1) + `]`, noMessage("")},
		body{"two requests of one id", `[` + one + `,` + one + `]`, noMessage("")},
		body{"a call", `[` + toolCall("judge", `{"note":"$V"}`) + `]`, noMessage("")},
		body{"initialize", `[` + rpc("initialize", `{"protocolVersion":"2025-03-26","clientInfo":{"name":"$V"}}`) + `]`, noMessage("")},
		body{"a notification", `[{"jsonrpc":"2.0","method":"$V"}]`, noMessage("")},
		body{"a response", `[{"jsonrpc":"2.0","id":1,"result":"$V"}]`, noMessage("")},
		body{"numbers", `[$N,2]`, noMessage("")},
		body{"nothing that is a message", `["$V",null,{"$K":1}]`, noMessage("")},
		body{"a batch in a batch", `[[` + one + `]]`, noMessage("")},
		body{"cut off", `[` + one, noMessage("")},
		body{"with a duplicate key", `[{"$K":1,"$K":"$V"}]`, noMessage("")},
		body{"with bytes after it", `[` + one + `]$V`, noMessage("")},
		body{"10,000 requests", `[` + strings.Repeat(one+",", 9_999) + one + `]`, noMessage("")},
		body{"after white space", " \r\n\t[" + one + `]`, noMessage("")},
	)
}

func methods() []payload {
	const family = "methods"
	var out []payload
	for _, method := range []string{
		"$V", "", " ", "Ping", "PING", "ping ", " ping", "ping/", "/ping", "tools", "tools/", "tools/List", "tools/list ", "tools/call/judge", "tools//call", "tools.list",
		"tools/call?x=$V", "../tools/list", `tools\/call\u0000`, `pi\u200bng`, "rpc.discover", "system.listMethods", "$/cancelRequest", "exit", "shutdown",
		"resources/list", "resources/read", "resources/subscribe", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "roots/list",
		"sampling/createMessage", "elicitation/create", "server/discover", "subscriptions/listen", "tasks/get", "tasks/cancel", "notifications/initialized",
		"hostile.v1.HostileService/Judge", "/hostile.v1.HostileService/Judge", "judge", "eval", `\ud83d\ude00`, `<script>`,
	} {
		name := method
		if name == "" {
			name = "empty"
		}
		w := inBand(-32601)
		var said string
		if err := json.Unmarshal([]byte(`"`+method+`"`), &said); err != nil || !isHeaderText(said) {
			w = w.but(ofTheEnvelope(-32020)) // no header can repeat it
		} else if method == "server/discover" {
			w = w.but(answered())
		}
		out = append(out, bodies(family, body{name, rpc(method, `{"uri":"$V","name":"$K","level":"debug"}`), w})...)
	}
	unknownOrWrong := inBand(-32601).but(ofTheEnvelope(-32602))
	return append(out, bodies(family,
		body{"unknown, with params that are an array", rpc("$V", `["$K"]`), unknownOrWrong},
		body{"unknown, with params that are text", rpc("$V", `"$K"`), unknownOrWrong},
		body{"unknown, with _meta that is text", rpc("$V", `{"_meta":"$K"}`), unknownOrWrong},
		body{"known, by escapes", rpc(`p\u0069ng`, `{"x":"$V"}`), answered().but(want{Status: 404, Code: -32601, ID: "1"})},
		body{"known, by an escaped solidus", rpc(`tools\/list`, `{"x":"$V"}`), answered()},
	)...)
}

func paramsShapes() []payload {
	const family = "params"
	var out []payload
	for _, method := range []string{"ping", "tools/list", "initialize"} {
		for _, params := range []string{`null`, `["$V"]`, `[]`, `"$V"`, `$N`, `true`, `false`, `1.5`} {
			text := strings.TrimSuffix(rpc(method, params), "}") + `,"x":"$V"}`
			out = append(out, bodies(family, body{method + " with " + params, text, wrongParams()})...)
		}
	}
	for _, meta := range []string{`null`, `["$K"]`, `[]`, `"$K"`, `$N`, `true`} {
		for _, method := range []string{"ping", "tools/list", "initialize"} {
			params := `{"protocolVersion":"2025-11-25","x":"$V","_meta":` + meta + `}`
			out = append(out, bodies("_meta", body{method + " with " + meta, rpc(method, params), wrongParams()})...)
		}
	}
	for _, m := range []struct {
		name, meta string
		// isWrong says that the modern era knows the member, and wants it otherwise.
		isWrong bool
	}{
		{"empty", `{}`, false},
		{"unknown", `{"$K":"$V"}`, false},
		{"progressToken of text", `{"progressToken":"$V"}`, false},
		{"progressToken of a number", `{"progressToken":$N}`, false},
		{"reserved prefix", `{"io.modelcontextprotocol/$K":"$V"}`, false},
		{"our own keys", `{"dev.sallyport/executed":"$V","dev.sallyport/correctable":"$K","dev.sallyport/type":1}`, false},
		{"trace", `{"traceparent":"00-$V","tracestate":"$K=1","baggage":"x=$V"}`, false},
		{"client", `{"io.modelcontextprotocol/clientInfo":{"name":"$V","version":"$K"},"io.modelcontextprotocol/clientCapabilities":{"$K":{}}}`, false},
		{"client of a wrong shape", `{"io.modelcontextprotocol/clientInfo":"$V","io.modelcontextprotocol/clientCapabilities":["$K"]}`, true},
		{"log level", `{"io.modelcontextprotocol/logLevel":"$V"}`, true},
		{"case of the version key", `{"io.modelcontextprotocol/ProtocolVersion":"$V"}`, false},
		{"prototype", `{"__proto__":{"io.modelcontextprotocol/protocolVersion":"$V"}}`, false},
		{"many members", `{"x":"$V",` + members(1000) + `}`, false},
	} {
		pinged, called := answered(), reached()
		if m.isWrong {
			pinged, called = pinged.but(ofTheEnvelope(-32602)), called.but(ofTheEnvelope(-32602))
		}
		out = append(out, bodies("_meta",
			body{"ping: " + m.name, rpc("ping", `{"_meta":`+m.meta+`}`), pinged},
			body{"tools/call: " + m.name, rpc("tools/call", `{"name":"judge","arguments":{"note":"$V"},"_meta":`+m.meta+`}`), called})...)
	}
	// The body's own word for the version is the modern era's (mcp-protocol.md 1.5, rung 11).
	for _, version := range []string{`"$V"`, `"2026-07-28"`, `"2025-11-25"`, `"1999"`, `""`, `null`, `7`, `["2025-11-25"]`, `{"$K":1}`, `true`, `"2025-11-25\u0000"`, `"` + strings.Repeat("9", 10_000) + `"`} {
		name := fmt.Sprintf("version %.30s", version)
		// Beside it stands nothing else of what the era demands, but where the harness adds it.
		pinged := ofTheEnvelope(-32602)
		called := pinged
		switch {
		case version == `"2026-07-28"`:
			pinged, called = pinged.but(answered()), called.but(inBand(-32602))
		case strings.HasPrefix(version, `"`):
			pinged, called = pinged.but(ofTheEnvelope(-32020)), called.but(ofTheEnvelope(-32020))
		}
		out = append(out, bodies("_meta",
			body{"ping: " + name, rpc("ping", `{"x":"$V","_meta":{"io.modelcontextprotocol/protocolVersion":`+version+`}}`), pinged},
			body{"tools/call: " + name, rpc("tools/call", `{"name":"$V","_meta":{"io.modelcontextprotocol/protocolVersion":`+version+`}}`), called})...)
	}
	// A dialect that nobody knows is refused on any method (boundary.md, "Dialects").
	dialects := wrongParams()
	return append(out, bodies("_meta",
		body{"dialect of the canary", rpc("ping", `{"_meta":{"dev.sallyport/dialect":"$V"}}`), dialects},
		body{"dialect that is an object", rpc("ping", `{"_meta":{"dev.sallyport/dialect":{"$K":"$V"}}}`), dialects},
	)...)
}

func initializes() []payload {
	const family = "initialize"
	// The modern era does not have it.
	agreed, wrong := answered().but(want{Status: 404, Code: -32601, ID: "1"}), inBand(-32602).but(want{Status: 404, Code: -32601, ID: "1"})
	var out []payload
	for _, version := range []string{`"$V"`, `"2026-07-28"`, `"2024-11-05"`, `"1999"`, `""`, `"2025-11-25 "`, `"2025-11-25\u0000"`, `"9999-99-99"`, `"` + strings.Repeat("2", 100_000) + `"`} {
		out = append(out, bodies(family, body{fmt.Sprintf("version %.30s", version),
			rpc("initialize", `{"protocolVersion":`+version+`,"capabilities":{},"clientInfo":{"name":"$V","version":"$K"}}`), agreed})...)
	}
	for _, version := range []string{`null`, `7`, `true`, `["2025-11-25"]`, `{"$K":"2025-11-25"}`} {
		out = append(out, bodies(family, body{"version " + version,
			rpc("initialize", `{"protocolVersion":`+version+`,"capabilities":{},"clientInfo":{"name":"$V"}}`), wrong})...)
	}
	return append(out, bodies(family,
		body{"no version", rpc("initialize", `{"capabilities":{},"clientInfo":{"name":"$V"}}`), wrong},
		body{"no params", `{"jsonrpc":"2.0","id":1,"method":"initialize","x":"$V"}`, wrong},
		body{"hostile capabilities", rpc("initialize", `{"protocolVersion":"2025-11-25","capabilities":["$V"],"clientInfo":"$K"}`), agreed},
		body{"hostile client", rpc("initialize", `{"protocolVersion":"2025-06-18","capabilities":{"$K":{"__proto__":1}},"clientInfo":{"name":"<b>$V","version":{"$K":1},"websiteUrl":"javascript:$V"}}`), agreed},
	)...)
}

func cursors() []payload {
	const family = "cursors"
	var out []payload
	for _, cursor := range []string{
		`"$V"`, `""`, `" "`, `null`, `$N`, `true`, `["$V"]`, `{"$K":1}`, `"AQ$V"`, `"AWE="`, `"AWE\n"`, `"A"`, `"_-_-"`, `"+/+/"`, `"../../$V"`, `"\u0000"`,
		`"AQBx"`, `"BGE"`, `"AA"`, `"gGE"`, `"AWH_"`, `"AX9_"`, `"` + strings.Repeat("A", 257) + `"`, `"` + strings.Repeat("A", 100_000) + `"`, `"0"`, `"MQ"`, `"eyJvZmZzZXQiOjF9"`,
		`"\ud83d\ude00"`, `"AWE AWE"`, `"AWE,AWE"`, `"ＡＷＥ"`,
	} {
		out = append(out, bodies(family, body{fmt.Sprintf("%.40s", cursor) + fmt.Sprintf(" of %d", len(cursor)), rpc("tools/list", `{"x":"$V","cursor":`+cursor+`}`), inBand(-32602)})...)
	}
	return out
}

func argumentsShapes() []payload {
	const family = "arguments"
	var out []payload
	for _, tool := range []string{"judge", "need", "asleep"} {
		for _, arguments := range []string{`[]`, `["$V"]`, `"$V"`, `"{}"`, `""`, `$N`, `0`, `1.5`, `true`, `false`, `[{}]`} {
			out = append(out, bodies(family, body{tool + " with " + arguments, rpc("tools/call", `{"name":"`+tool+`","x":"$V","arguments":`+arguments+`}`), inBand(-32602)})...)
		}
	}
	return append(out, bodies(family,
		body{"null is the empty object", rpc("tools/call", `{"name":"choose","arguments":null,"x":"$V"}`), refused("arguments: give exactly one of: left, right")},
		body{"absent is the empty object", rpc("tools/call", `{"name":"choose","x":"$V"}`), refused("arguments: give exactly one of: left, right")},
		body{"in capitals is absent", rpc("tools/call", `{"name":"choose","Arguments":{"note":"$V","left":"x"}}`), refused("arguments: give exactly one of: left, right")},
		body{"beside the params", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"choose"},"arguments":{"note":"$V","left":"x"}}`, refused("arguments: give exactly one of: left, right")},
		body{"params within params", rpc("tools/call", `{"name":"choose","params":{"arguments":{"note":"$V","left":"x"}}}`), refused("arguments: give exactly one of: left, right")},
		body{"twice nested", rpc("tools/call", `{"name":"choose","arguments":{"arguments":{"note":"$V"}}}`), refused("arguments: give exactly one of: left, right", "arguments: "+undeclaredOne+"note, left, right")},
		body{"of a tool that is offline", toolCall("asleep", `{"note":"$V"}`), offline()},
		body{"that do not fit, of a tool that is offline", toolCall("asleep", `{"$K":"$V"}`), offline()},
	)...)
}

// offline is the answer for a tool that the caller may see and that has no instance online.
func offline() want {
	return want{
		Status: 200, ID: "1", Call: turnedAway, Meta: `{"dev.sallyport/executed":"no"}`,
		Text: "The tool is offline: no instance of its service is running. The call did not run.",
	}
}

// unknownTools have one answer, byte for byte, in every version (boundary.md, "What a refusal says"). Names in
// angle brackets stand for the hashes of tools that there are.
func unknownTools() []payload {
	var out []payload
	hashes := strings.NewReplacer("<judge>", hashOf("app-api", "hostile.v1.HostileService", "Judge"), "<denied>", hashOf("app-api", "hostile.v1.HostileService", "Deny"),
		"<hidden>", hashOf("management-api", "hostile.v1.HiddenService", "Hide"), "<foreign>", hashOf("app.other-org.shop", "hostile.v1.ForeignService", "Shop"))
	// addAs is add with another answer in the modern era, which looks at the envelope first.
	addAs := func(w want, name, params string) {
		out = append(out, bodies("unknown tools", body{name, rpc("tools/call", hashes.Replace(params)), inBand(-32602).but(w)})...)
	}
	add := func(name, params string) { addAs(inBand(-32602), name, params) }
	wrong := func(name, params string) { addAs(ofTheEnvelope(-32602), name, params) }
	for _, name := range []string{
		`"$V"`, `""`, `" "`, `"hidden"`, `"denied"`, `"foreign"`, `"<hidden>"`, `"<denied>"`, `"<foreign>"`, `"Judge"`, `"JUDGE"`, `"judge "`, `" judge"`, `"judge\u0000"`,
		`"judge\n"`, `"jud\u200bge"`, `"j\u0443dge"`, `"_judge"`, `"_<judge>"`, `"judge?x=$V"`, `"../judge"`, `"hostile.v1.HostileService/Judge"`,
		`"app-api~hostile.v1.HostileService/Judge"`, `"srv://app-api~hostile.v1.HostileService/Judge"`, `"judge;hidden"`, `"judge,hidden"`, `"*"`, `"%"`, `"judge%00"`,
		`"\ud83d\ude00"`, `"<script>$V</script>"`, `"\r\nX-Injected: $V"`, `"__proto__"`, `"5nwldv2gqljeygvmd1ywjl2z7"`, `"zzzzzzzzzzzzzzzzzzzzzzzzz"`,
		`null`, `$N`, `1.5`, `true`, `false`, `["judge"]`, `[]`, `{"$K":"judge"}`, `{}`,
	} {
		add(fmt.Sprintf("name %.60s of %d", name, len(name)), `{"name":`+name+`,"arguments":{"note":"$V"}}`)
	}
	addAs(ofTheEnvelope(-32020), "name of 65,536 characters, which no header can repeat", `{"name":"`+strings.Repeat("n", 65_536)+`","arguments":{"note":"$V"}}`)
	add("no name", `{"arguments":{"note":"$V"}}`)
	add("name in capitals", `{"Name":"judge","arguments":{"note":"$V"}}`)
	add("name of a wrong shape with arguments of a wrong shape", `{"name":7,"arguments":["$V"]}`)
	add("unknown with arguments of a wrong shape", `{"name":"$V","arguments":["$K"]}`)
	add("hidden with arguments of a wrong shape", `{"name":"hidden","arguments":["$V"]}`)
	add("denied with arguments that do not fit", `{"name":"denied","arguments":{"$K":"$V"}}`)
	add("denied with arguments that fit", `{"name":"denied","arguments":{"note":"$V","sku":"x","count":1,"inner":{"id":"y"}}}`)
	add("hidden with arguments that fit", `{"name":"hidden","arguments":{"note":"$V","sku":"x","count":1,"inner":{"id":"y"}}}`)
	add("empty params", `{ }`)
	add("params of the canary", `{"$K":"$V"}`)
	wrong("params that are null", `null`)
	wrong("params that are an array", `["judge",{"note":"$V"}]`)
	wrong("params that are text", `"$V"`)
	wrong("params that are a number", `$N`)
	wrong("params that are true", `true`)
	for _, meta := range []string{`null`, `[]`, `["$V"]`, `"$V"`, `$N`, `true`} {
		wrong("a tool that there is, with _meta "+meta, `{"name":"judge","arguments":{"note":"$V"},"_meta":`+meta+`}`)
	}
	wrong("no tool, with _meta that is text", `{"name":"$V","_meta":"$K"}`)
	wrong("a hidden tool, with _meta that is text", `{"name":"hidden","_meta":"$V"}`)
	return append(out, bodies("unknown tools",
		body{"no params", `{"jsonrpc":"2.0","id":1,"method":"tools/call","x":"$V"}`, inBand(-32602)})...)
}

// hashOf is a tool's name that anyone can compute.
func hashOf(zone, service, method string) string {
	return contract.ToolName(contract.QualifiedName(zone, service), method)
}
