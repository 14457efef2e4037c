package boundary_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// errorRow is a row of the error table, in every version.
type errorRow struct {
	name string
	post post
	// legacy and modern are the answers in the two eras; the zero one is the other's.
	legacy, modern reply
	// closes says that the edge need not read the body, and so cannot keep the connection.
	closes bool
}

// $V stands for a canary in whatever a caller sends. None comes back.
var protocolCanary = newCanary("protocol", "errors")

// errorTable has every row of mcp-protocol.md 1.4 that a caller can bring about. What fails within the edge, outside a
// tool, is none of them: that takes a fault of ours.
func errorTable() []errorRow {
	both := func(name string, p post, want reply) errorRow { return errorRow{name: name, post: p, legacy: want} }
	modern := func(name string, p post, want reply) errorRow { return errorRow{name: name, post: p, modern: want} }
	eras := func(name string, p post, legacy, modern reply) errorRow {
		return errorRow{name: name, post: p, legacy: legacy, modern: modern}
	}
	list := func(lines ...string) post { return post{method: "tools/list", params: `"x":"$V"`, lines: lines} }
	verb := func(verb string) post { p := list("X-A: $V"); p.verb = verb; return p }
	out := []errorRow{
		both("foreign origin", list("Origin: https://$V.example"), denied),
		both("origin null", list("Origin: null"), denied),
		both("origin that is none", list("Origin: $V"), denied),
		both("two origins", list("Origin: http://localhost", "Origin: https://$V.example"), denied),
		both("foreign host", list("Host: $V.example"), denied),
		both("GET", verb("GET"), notPost),
		both("DELETE", verb("DELETE"), notPost),
		both("PUT", verb("PUT"), notPost),
		both("PATCH", verb("PATCH"), notPost),
		both("OPTIONS", verb("OPTIONS"), notPost),
		both("a verb of nobody", verb("BREW"), notPost),
		both("no content type", list("Content-Type"), wrongType),
		both("text", list("Content-Type: text/plain; x=$V"), wrongType),
		both("a form", list("Content-Type: application/x-www-form-urlencoded"), wrongType),
		both("an event stream", list("Content-Type: text/event-stream"), wrongType),
		both("two content types", list("Content-Type: application/json", "Content-Type: application/json"), wrongType),
		both("another charset", list("Content-Type: application/json; charset=utf-16"), wrongType),
		both("compressed", list("Content-Encoding: gzip"), wrongType),
		both("no credentials", post{method: "tools/list", anonymous: true, params: `"x":"$V"`}, challenge),
		both("wrong credentials", list("clientSecret: $V"), challenge),
		both("a token of nobody", list("Authorization: Bearer $V"), challenge),
		both("not JSON", post{message: `{"jsonrpc":"2.0","id":1,"method":"$V"`}, unparsed),
		both("no body", post{message: " "}, unparsed),
		both("two documents", post{method: "ping", params: `"x":"$V"`, closing: "{}"}, unparsed),
		both("a name twice", post{method: "ping", params: `"x":"$V","x":1`}, unparsed),
		both("a name twice, once by escapes", post{method: "ping", params: `"xy":"$V","x\u0079":1`}, unparsed),
		both("an array", post{method: "tools/list", params: `"x":"$V"`, opening: "[", closing: "]"}, nameless),
		both("an empty array", post{message: `[]`, lines: []string{"X-A: $V"}}, nameless),
		both("a text", post{message: `"$V"`}, nameless),
		both("null", post{message: `null`, lines: []string{"X-A: $V"}}, nameless),
		both("JSON-RPC 1.0", post{jsonrpc: `"1.0"`, method: "tools/list", params: `"x":"$V"`}, noRequest),
		both("no JSON-RPC", post{jsonrpc: absent, method: "tools/list", params: `"x":"$V"`}, noRequest),
		both("JSON-RPC of a number", post{jsonrpc: `2.0`, method: "tools/list", params: `"x":"$V"`}, noRequest),
		both("id null", post{id: `null`, method: "tools/list", params: `"x":"$V"`}, nameless),
		both("id of a fraction", post{id: `1.5`, method: "tools/list", params: `"x":"$V"`}, nameless),
		both("id true", post{id: `true`, method: "tools/list", params: `"x":"$V"`}, nameless),
		both("no method", post{message: `{"jsonrpc":"2.0","id":1,"params":{"x":"$V"}}`}, noRequest),
		both("method null", post{message: `{"jsonrpc":"2.0","id":1,"method":null,"params":{"x":"$V"}}`}, noRequest),
		both("a posted result", post{message: `{"jsonrpc":"2.0","id":1,"result":{"x":"$V"}}`}, taken).but(untakenReply),
		both("a posted error", post{message: `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"$V"}}`}, taken).but(untakenReply),

		modern("no params", post{method: "tools/list", shape: absent, lines: []string{"X-A: $V"}}, badEnvelope),
		modern("no _meta", post{method: "tools/list", shape: `{"x":"$V"}`}, badEnvelope),
		eras("_meta of text", post{method: "tools/list", meta: `"$V"`}, badParams, badEnvelope),
		eras("_meta null", post{method: "tools/list", params: `"x":"$V"`, meta: `null`}, badParams, badEnvelope),
		eras("params of an array", post{method: "tools/list", shape: `["$V"]`}, badParams, badEnvelope),
		eras("params null", post{method: "tools/list", shape: `null`, lines: []string{"X-A: $V"}}, badParams, badEnvelope),
		modern("no version in _meta", post{method: "tools/list", meta: `{"` + keyCapabilities + `":{},"x":"$V"}`}, badEnvelope),
		modern("no capabilities", post{method: "tools/list", meta: `{"` + keyVersion + `":"2026-07-28","x":"$V"}`}, badEnvelope),
		modern("capabilities of an array", post{method: "tools/list", meta: `{"` + keyVersion + `":"2026-07-28","` + keyCapabilities + `":["$V"]}`}, badEnvelope),
		modern("no version header", list("MCP-Protocol-Version"), mismatch),
		modern("a version header of nobody", list("MCP-Protocol-Version: $V"), mismatch),
		modern("a legacy version header", list("MCP-Protocol-Version: 2025-11-25"), mismatch),
		modern("two version headers", list("MCP-Protocol-Version: 2026-07-28", "MCP-Protocol-Version: 2026-07-28"), mismatch),
		modern("a version of nobody in _meta", post{method: "tools/list", meta: soundMeta("$V")}, mismatch),
		modern("a version of nobody", post{method: "tools/list", meta: soundMeta("$V"), lines: []string{"MCP-Protocol-Version: $V"}}, notServed("unrecognised")),
		modern("a version to come", post{method: "tools/list", params: `"x":"$V"`, meta: soundMeta("2099-01-01"), lines: []string{"MCP-Protocol-Version: 2099-01-01"}}, notServed("2099-01-01")),
		modern("a legacy version", post{method: "tools/list", params: `"x":"$V"`, meta: soundMeta("2025-11-25"), lines: []string{"MCP-Protocol-Version: 2025-11-25"}}, notServed("2025-11-25")),
		modern("no Mcp-Method", list("Mcp-Method"), mismatch),
		modern("another Mcp-Method", list("Mcp-Method: $V"), mismatch),
		modern("no Mcp-Name", post{method: "tools/call", params: `"name":"greet","x":"$V"`, lines: []string{"Mcp-Name"}}, mismatch),
		modern("another Mcp-Name", post{method: "tools/call", params: `"name":"greet"`, lines: []string{"Mcp-Name: $V"}}, mismatch),
		modern("a malformed Mcp-Name", post{method: "tools/call", params: `"name":"greet"`, lines: []string{"Mcp-Name: =?base64?$V!?="}}, mismatch),
		modern("no Mcp-Param", post{method: "tools/call", params: `"name":"send","arguments":{"region":"$V"}`}, mismatch),
		modern("another Mcp-Param", post{method: "tools/call", params: `"name":"send","arguments":{"region":"x"}`, lines: []string{"Mcp-Param-Region: $V"}}, mismatch),
		modern("an Mcp-Param without its argument", post{method: "tools/call", params: `"name":"send"`, lines: []string{"Mcp-Param-Level: $V"}}, mismatch),
		modern("a malformed Mcp-Param", post{method: "tools/call", params: `"name":"send","arguments":{"region":"x"}`, lines: []string{"Mcp-Param-Region: =?base64?$V!?="}}, mismatch),
		modern("a capability that is not stated", post{
			method: "tools/call", params: `"name":"ask","arguments":{"name":"$V"}`, meta: `{"` + keyVersion + `":"2026-07-28","` + keyCapabilities + `":{"$V":{}}}`,
		}, incapable(`{"elicitation":{"form":{}}}`)),
		eras("a method of nobody", post{method: "$V/x", params: `"x":1`}, legacyOnes, unknownOnes),
		eras("an unknown tool", post{method: "tools/call", params: `"name":"$V"`}, badParams, badParams),
		eras("no tool", post{method: "tools/call", params: `"x":"$V"`}, badParams, badParams),
		eras("a tool that is no text", post{method: "tools/call", params: `"name":["$V"]`}, badParams, badParams),
		eras("arguments of an array", post{method: "tools/call", params: `"name":"greet","arguments":["$V"]`}, badParams, badParams),
		eras("arguments of text", post{method: "tools/call", params: `"name":"greet","arguments":"$V"`}, badParams, badParams),
		eras("a cursor of nobody", post{method: "tools/list", params: `"cursor":"$V"`}, badParams, badParams),
		eras("a cursor of a number", post{method: "tools/list", params: `"cursor":7,"x":"$V"`}, badParams, badParams),
	}
	for _, version := range []string{"$V", "1999-01-01", "2024-11-05", "", "draft", "2025-11-25, 2025-11-25"} {
		out = append(out, errorRow{
			name: "a legacy request with the version header " + version, legacy: unserved(version),
			post: post{method: "tools/list", params: `"x":"$V"`, lines: []string{"MCP-Protocol-Version: " + version}},
		})
	}
	return append(out,
		errorRow{
			name: "two legacy version headers", legacy: notServed("unrecognised"),
			post: post{method: "tools/list", params: `"x":"$V"`, lines: []string{"MCP-Protocol-Version: 2025-11-25", "MCP-Protocol-Version: 2025-11-25"}},
		},
		errorRow{
			name: "a declared body that is too large", legacy: tooBig, modern: tooBig, closes: true,
			post: post{method: "tools/list", params: `"x":"$V"`, lines: []string{"Content-Length: 4194305"}},
		},
		errorRow{
			name: "a chunked body that is too large", legacy: tooBig, modern: tooBig, closes: true,
			post: post{
				message: "400001\r\n" + strings.Repeat(" ", 0x400001) + "\r\n0\r\n\r\n",
				lines:   []string{"Content-Length", "Transfer-Encoding: chunked", "X-A: $V"},
			},
		},
	)
}

// but gives a row another answer in the modern era.
func (r errorRow) but(modern reply) errorRow {
	r.modern = modern
	return r
}

// in is the request in a version, and its answer; false where the row says nothing of the version's era.
func (r *errorRow) in(version string) (post, reply, bool) {
	p, want := r.post, r.legacy
	if p.version = version; version == version20260728 {
		want = r.modern
		if want == (reply{}) && isOfBothEras(r.legacy) {
			want = r.legacy
		}
	}
	return p, want, want != (reply{})
}

// isOfBothEras says that an answer is given before the era is known.
func isOfBothEras(want reply) bool {
	switch want {
	case denied, notPost, wrongType, challenge, unparsed, nameless, noRequest, tooBig:
		return true
	}
	return false
}

func TestProtocol_everyErrorInEveryVersion(t *testing.T) {
	c := newCounter(t)
	count := 0
	for _, row := range errorTable() {
		t.Run(row.name, func(t *testing.T) {
			for _, version := range protocolVersions {
				p, want, applies := row.in(version)
				if !applies {
					continue
				}
				count++
				t.Run(versionName(version), func(t *testing.T) { c.checkErrorRow(t, p, want, row.closes) })
			}
		})
	}
	if log := c.log(); strings.Contains(log, protocolCanary.Value) {
		t.Error("the log repeats what was sent")
	}
	t.Logf("%d errors", count)
}

func (c *counter) checkErrorRow(t *testing.T, p post, want reply, closes bool) {
	p = p.filled(protocolCanary)
	before := c.witness.count()
	if closes {
		c.line.close()
		defer c.line.close()
	}
	got := c.say(t, p)
	want.check(t, &p, got)
	if bytes.Contains(bytes.ToLower(got.raw), []byte(protocolCanary.Value)) {
		t.Errorf("the answer repeats what was sent: %q", got.raw)
	}
	if bytes.Contains(got.raw, []byte("null")) {
		t.Errorf("the answer says null: %q", got.raw)
	}
	if want == challenge && !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer resource_metadata=") {
		t.Errorf("WWW-Authenticate %q", got.header.Get("WWW-Authenticate"))
	}
	if c.witness.count() != before {
		t.Error("the service was called")
	}
}

// filled writes a canary into a request.
func (p post) filled(c canary) post {
	for _, text := range []*string{&p.method, &p.params, &p.shape, &p.meta, &p.message, &p.id} {
		*text = c.fill(*text)
	}
	lines := make([]string, len(p.lines))
	for i, line := range p.lines {
		lines[i] = c.fill(line)
	}
	p.lines = lines
	return p
}

// A tool that is hidden, one that is denied and one that there is not are answered with the same bytes, whichever name
// of theirs is used.
func TestProtocol_unknownToolsAreOneAnswer(t *testing.T) {
	c := newCounter(t)
	for _, version := range protocolVersions {
		t.Run(versionName(version), func(t *testing.T) {
			var first []byte
			for _, name := range []string{
				"nosuch", "hidden", "denied", hashOf("management-api", "protocol.v1.HiddenService", "Hide"), hashOf("app-api", "protocol.v1.ProtocolService", "Deny"),
				"Greet", "greet ", "", "gr\u00fc\u00df", "greet\n",
			} {
				for _, rest := range []string{"", `,"arguments":{}`, `,"arguments":[]`, `,"arguments":{"x":1}`} {
					p := post{version: version, method: "tools/call", params: `"name":` + quote(name) + rest}
					got := c.say(t, p)
					badParams.check(t, &p, got)
					if first == nil {
						first = got.body
					}
					if !bytes.Equal(first, got.body) {
						t.Errorf("%q%s is answered %s, another %s", name, rest, got.body, first)
					}
				}
			}
		})
	}
}

// HEAD is answered as GET is, without the body, as HTTP wants it.
func TestProtocol_headHasNoBody(t *testing.T) {
	c := newCounter(t)
	for _, version := range protocolVersions {
		got := c.say(t, post{version: version, verb: http.MethodHead, message: " "})
		if got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "POST" || len(got.body) != 0 {
			t.Errorf("version %q: %d %v %q", version, got.status, got.header, got.body)
		}
	}
}
