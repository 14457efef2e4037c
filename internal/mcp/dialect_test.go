package mcp_test

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// The rows are boundary.md, "Dialects": who names a dialect, and whose naming wins. The double's list says which it was
// asked for. A message is judged as an envelope first, then by its method, and then by its dialect.
func TestHandler_choosesADialect(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{{name: "a", spelled: true}}, func(o *mcp.Options) {
		o.Dialects = map[string]dialect.Dialect{"Some Client": dialect.Flat, "agent": dialect.Gemini}
	})
	legacy := func(meta string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{` + meta + `}}}`
	}
	modern := func(meta string) string {
		return legacy(`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}` + meta)
	}
	modernHead := map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
	with := func(head map[string]string, name, value string) map[string]string {
		all := map[string]string{name: value}
		for k, v := range head {
			all[k] = v
		}
		return all
	}
	const unknown = `"error":{"code":-32602,"message":"Unknown dialect: the accepted ones are canonical, flat, openai_strict, anthropic_strict, bedrock_strict, nova, gemini."}`
	const noMethod = `"error":{"code":-32601,"message":"Method not found."}`
	const badToken = `"error":{"code":-32602,"message":"The member \"progressToken\" of _meta must be a string or an integer of at most 256 bytes."}`
	const noMessage = `"error":{"code":-32600,"message":"The member \"jsonrpc\" must be \"2.0\"."}`
	const noEnvelope = `"error":{"code":-32602,"message":"The params must be an object whose member \"_meta\" is an object with ` +
		`\"io.modelcontextprotocol/protocolVersion\", a string, and \"io.modelcontextprotocol/clientCapabilities\", an object."}`
	listed := func(d string) string { return `…"tools":[{"name":"a","dialect":"` + d + `"}]` }

	for _, test := range []struct {
		name    string
		path    string
		headers map[string]string
		body    string
		status  int
		want    string
	}{
		{"none", "", nil, legacy(""), 200, listed("canonical")},
		{"by _meta", "", nil, legacy(`"dev.sallyport/dialect":"nova"`), 200, listed("nova")},
		{"by _meta, escaped", "", nil, legacy(`"dev.sallyport/dialect":"nov\u0061"`), 200, listed("nova")},
		{"by the URL", "?dialect=flat", nil, legacy(""), 200, listed("flat")},
		{"by both", "?dialect=flat", nil, legacy(`"dev.sallyport/dialect":"gemini"`), 200, listed("gemini")},
		{"by _meta as canonical, by the URL as another", "?dialect=flat", nil, legacy(`"dev.sallyport/dialect":"canonical"`), 200, listed("canonical")},
		{"another parameter", "?x=flat", nil, legacy(""), 200, listed("canonical")},
		{"unknown in _meta", "", nil, legacy(`"dev.sallyport/dialect":"canary"`), 200, "…" + unknown},
		{"in another case", "", nil, legacy(`"dev.sallyport/dialect":"Flat"`), 200, "…" + unknown},
		{"a number", "", nil, legacy(`"dev.sallyport/dialect":1`), 200, "…" + unknown},
		{"null", "", nil, legacy(`"dev.sallyport/dialect":null`), 200, "…" + unknown},
		{"unknown in the URL", "?dialect=canary", nil, legacy(""), 200, "…" + unknown},
		{"empty in the URL", "?dialect=", nil, legacy(""), 200, "…" + unknown},
		{"twice in the URL", "?dialect=flat&dialect=flat", nil, legacy(""), 200, "…" + unknown},
		{"a URL that cannot be read", "?dialect=%zz", nil, legacy(""), 200, "…" + unknown},
		{"with something unreadable beside it", "?a=%zz&b;c=d&dialect=flat", nil, legacy(""), 200, listed("flat")},
		{"something unreadable alone", "?a=%zz&dialect;=flat", nil, legacy(""), 200, listed("canonical")},
		{"escaped in the URL", "?di%61lect=fl%61t", nil, legacy(""), 200, listed("flat")},
		{"without a value in the URL", "?dialect", nil, legacy(""), 200, "…" + unknown},
		{"with something joined to it by a semicolon", "?dialect=flat;x", nil, legacy(""), 200, "…" + unknown},
		{"unknown on another method", "?dialect=canary", nil, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, 200, "…" + unknown},
		{"unknown on a method that is none", "?dialect=canary", nil, `{"jsonrpc":"2.0","id":1,"method":"canary"}`, 200, "…" + noMethod},
		{"unknown beside params of another shape", "?dialect=canary", nil, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, 200, "…" + unknown},
		{"unknown beside a token that cannot be repeated", "?dialect=canary", nil, legacy(`"progressToken":1.5`), 200, "…" + badToken},
		{"unknown in a message that is none", "?dialect=canary", nil, `{"id":1,"method":"tools/list"}`, 400, "…" + noMessage},
		{"by the User-Agent", "", map[string]string{"User-Agent": "agent/1.2 (x)"}, legacy(""), 200, listed("gemini")},
		{"the URL wins over the User-Agent", "?dialect=canonical", map[string]string{"User-Agent": "agent/1.2"}, legacy(""), 200, listed("canonical")},
		{"a User-Agent with a blank in its name", "", map[string]string{"User-Agent": "Some Client/1.2 (x)"}, legacy(""), 200, listed("flat")},
		{"a User-Agent without a version", "", map[string]string{"User-Agent": "agent (x)"}, legacy(""), 200, listed("gemini")},
		{"another User-Agent", "", map[string]string{"User-Agent": "agents/1.2"}, legacy(""), 200, listed("canonical")},

		{"modern, none", "", modernHead, modern(""), 200, listed("canonical")},
		{"modern, by _meta", "", modernHead, modern(`,"dev.sallyport/dialect":"openai_strict"`), 200, listed("openai_strict")},
		{"modern, unknown", "", modernHead, modern(`,"dev.sallyport/dialect":"canary"`), 400, "…" + unknown},
		{"modern, unknown on a method that is none", "", map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "canary"},
			strings.Replace(modern(`,"dev.sallyport/dialect":"canary"`), "tools/list", "canary", 1), 404, "…" + noMethod},
		{"modern, unknown beside an envelope that lacks something", "?dialect=canary", modernHead, legacy(""), 400, "…" + noEnvelope},
		{"modern, by the client's name", "", modernHead, modern(`,"io.modelcontextprotocol/clientInfo":{"version":"1","name":"Some Client"}`), 200, listed("flat")},
		{"modern, the client's name over the User-Agent", "", with(modernHead, "User-Agent", "agent/1"),
			modern(`,"io.modelcontextprotocol/clientInfo":{"name":"Some Client","version":"1"}`), 200, listed("flat")},
		{"modern, a client that nobody knows", "", with(modernHead, "User-Agent", "agent/1"),
			modern(`,"io.modelcontextprotocol/clientInfo":{"name":"canary","version":"1"}`), 200, listed("canonical")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := s.do(t, call{path: test.path, headers: test.headers, body: test.body})
			if got.status != test.status {
				t.Errorf("status %d, want %d", got.status, test.status)
			}
			expectBody(t, got.body, test.want)
			if strings.Contains(got.body, "canary") {
				t.Errorf("the answer repeats the caller: %s", got.body)
			}
		})
	}
}

func TestHandler_instructionsNameTheDialects(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{})
	for _, c := range []call{
		{body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`},
		{
			headers: map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "server/discover"},
			body: `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
				`"io.modelcontextprotocol/clientCapabilities":{}}}}`,
		},
	} {
		got := s.do(t, c).body
		for _, want := range append(dialect.Names(), "dev.sallyport/dialect") {
			if !strings.Contains(got, want) {
				t.Errorf("%s is not in %s", want, got)
			}
		}
	}
}
