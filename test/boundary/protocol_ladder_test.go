package boundary_test

import (
	"bytes"
	"strings"
	"testing"
)

// rung is one step of the ladder (mcp-protocol.md 1.5): how a sound request fails at it, and the answer.
type rung struct {
	name   string
	breaks func(*post)
	want   reply
	// closes says that the edge cannot keep the connection.
	closes bool
}

func (p *post) line(lines ...string) { p.lines = append(p.lines, lines...) }

// headRungs are those before the era is known. The platform looks at the whole head before it asks who is calling.
func headRungs() []rung {
	return []rung{
		{name: "host", breaks: func(p *post) { p.line("Host: elsewhere.example") }, want: denied},
		{name: "origin", breaks: func(p *post) { p.line("Origin: https://elsewhere.example") }, want: denied},
		{name: "verb", breaks: func(p *post) { p.verb = "PUT" }, want: notPost},
		{name: "content type", breaks: func(p *post) { p.line("Content-Type: text/plain") }, want: wrongType},
		{name: "declared length", breaks: func(p *post) { p.line("Content-Length: 4194305") }, want: tooBig, closes: true},
		{name: "credentials", breaks: func(p *post) { p.anonymous = true }, want: challenge},
		{name: "batch", breaks: func(p *post) { p.opening = "[" + p.opening }, want: nameless},
		{name: "document", breaks: func(p *post) { p.opening = "]" }, want: unparsed},
		{name: "id", breaks: func(p *post) { p.id = "null" }, want: nameless},
		{name: "JSON-RPC", breaks: func(p *post) { p.jsonrpc = `"1.0"` }, want: noRequest},
	}
}

func modernRungs() []rung {
	return append(headRungs(),
		rung{name: "capabilities in _meta", breaks: func(p *post) { p.meta = `{"` + keyVersion + `":"2026-07-28"}` }, want: badEnvelope},
		rung{name: "version header", breaks: func(p *post) { p.line("MCP-Protocol-Version") }, want: mismatch},
		rung{name: "version", breaks: func(p *post) {
			p.meta = soundMeta("2099-01-01")
			p.line("MCP-Protocol-Version: 2099-01-01")
		}, want: notServed("2099-01-01")},
		rung{name: "Mcp-Method", breaks: func(p *post) { p.line("Mcp-Method: tools/wish") }, want: mismatch},
		rung{name: "method", breaks: func(p *post) { p.method = "tools/burn" }, want: unknownOnes},
		rung{name: "no name", breaks: func(p *post) { p.params = strings.Replace(p.params, `"name":`, `"title":`, 1) }, want: badParams},
		rung{name: "Mcp-Name", breaks: func(p *post) { p.line("Mcp-Name: greet") }, want: mismatch},
		rung{name: "tool", breaks: func(p *post) {
			p.params = strings.Replace(p.params, `"route"`, `"nosuch"`, 1)
		}, want: badParams},
		rung{name: "Mcp-Param", breaks: func(p *post) { p.line("Mcp-Param-Region: north") }, want: mismatch},
		rung{name: "capability", breaks: func(p *post) { p.meta = soundMeta(version20260728) }, want: incapable(`{"elicitation":{"form":{}}}`)},
		rung{name: "shape of the arguments", breaks: func(p *post) { p.params = strings.Replace(p.params, `{}`, `[{}]`, 1) }, want: badParams},
	)
}

func legacyRungs() []rung {
	return append(headRungs(),
		rung{name: "version header", breaks: func(p *post) { p.line("MCP-Protocol-Version: 1999-01-01") }, want: notServed("1999-01-01")},
		rung{name: "method", breaks: func(p *post) { p.method = "tools/burn" }, want: legacyOnes},
		rung{name: "tool", breaks: func(p *post) { p.params = strings.Replace(p.params, `"greet"`, `"nosuch"`, 1) }, want: badParams},
		rung{name: "shape of the arguments", breaks: func(p *post) { p.params = strings.Replace(p.params, `{}`, `[{}]`, 1) }, want: badParams},
	)
}

// What fails at two rungs is answered at the earlier one, with the very bytes of a request that fails there alone.
func TestProtocol_theEarlierRungAnswers(t *testing.T) {
	c := newCounter(t)
	capable := `{"` + keyVersion + `":"2026-07-28","` + keyCapabilities + `":{"elicitation":{}}}`
	for _, version := range protocolVersions {
		sound, rungs := post{version: version, method: "tools/call", params: `"name":"greet","arguments":{}`}, legacyRungs()
		if version == version20260728 {
			sound, rungs = post{version: version, method: "tools/call", params: `"name":"route","arguments":{}`, meta: capable}, modernRungs()
		}
		t.Run(versionName(version), func(t *testing.T) {
			good.check(t, &sound, c.say(t, sound))
			pairs := 0
			for i, earlier := range rungs {
				alone := c.broken(t, sound, earlier)
				for _, later := range rungs[i+1:] {
					pairs++
					both := c.broken(t, sound, later, earlier)
					if !bytes.Equal(alone, both) {
						t.Errorf("what breaks %q and %q is answered %s, want %s", earlier.name, later.name, both, alone)
					}
				}
			}
			if pairs == 0 {
				t.Error("no pairs")
			}
			t.Logf("%d pairs", pairs)
		})
	}
}

// broken sends a request that breaks some rungs, the last of which answers, and gives the answer's body.
func (c *counter) broken(t *testing.T, sound post, rungs ...rung) []byte {
	t.Helper()
	p, closes, title := sound, false, ""
	for _, r := range rungs {
		r.breaks(&p)
		closes = closes || r.closes
		title = r.name + ", " + title
	}
	p.lines = lastOfEach(p.lines)
	if closes {
		c.line.close()
		defer c.line.close()
	}
	got := c.say(t, p)
	want := rungs[len(rungs)-1].want
	t.Run(strings.TrimSuffix(title, ", "), func(t *testing.T) { want.check(t, &p, got) })
	return got.body
}

// lastOfEach leaves of lines with one name the last.
func lastOfEach(lines []string) []string {
	var out []string
	for i, line := range lines {
		if !overridden(line, lines[i+1:]) {
			out = append(out, line)
		}
	}
	return out
}
