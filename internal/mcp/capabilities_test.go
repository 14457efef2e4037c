package mcp_test

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// stating is a call of the tool "needy" by a client of the modern era that states capabilities.
func stating(capabilities string) call {
	return call{
		headers: map[string]string{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "needy"},
		body: `{"jsonrpc":"2.0","id":"seven","method":"tools/call","params":{"name":"needy","arguments":{"x":1},` +
			strings.Replace(modernMeta, "{}", capabilities, 1) + `}}`,
	}
}

// TestCapabilities holds what a client must state for a tool that needs something of it (mcp-protocol.md 1.4).
func TestCapabilities(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		needed []string
		stated string
		want   string // data.requiredCapabilities of the refusal; empty for a call that runs
	}{
		{"nothing is needed", nil, `{}`, ""},
		{"stated", []string{"sampling"}, `{"sampling":{}}`, ""},
		{"stated among others", []string{"sampling"}, `{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{}}`, ""},
		{"stated between blanks", []string{"sampling"}, `{ "sampling" : { } }`, ""},
		{"stated in escapes", []string{"sampling"}, `{"s\u0061mpling":{}}`, ""},
		{"nothing is stated", []string{"sampling"}, `{}`, `{"sampling":{}}`},
		{"another is stated", []string{"sampling"}, `{"roots":{}}`, `{"sampling":{}}`},
		{"another case", []string{"sampling"}, `{"Sampling":{}}`, `{"sampling":{}}`},
		{"null", []string{"sampling"}, `{"sampling":null}`, `{"sampling":{}}`},
		{"true", []string{"sampling"}, `{"sampling":true}`, `{"sampling":{}}`},
		{"false", []string{"sampling"}, `{"sampling":false}`, `{"sampling":{}}`},
		{"an array", []string{"sampling"}, `{"sampling":[]}`, `{"sampling":{}}`},
		{"a string", []string{"sampling"}, `{"sampling":"yes"}`, `{"sampling":{}}`},
		{"deeper than needed", []string{"sampling"}, `{"experimental":{"sampling":{}}}`, `{"sampling":{}}`},

		{"dotted, stated", []string{"sampling.tools"}, `{"sampling":{"tools":{}}}`, ""},
		{"dotted, the whole alone is stated", []string{"sampling.tools"}, `{"sampling":{}}`, `{"sampling":{"tools":{}}}`},
		{"dotted, another part is stated", []string{"sampling.tools"}, `{"sampling":{"context":{}}}`, `{"sampling":{"tools":{}}}`},
		{"dotted, no object on the way", []string{"sampling.tools"}, `{"sampling":"tools"}`, `{"sampling":{"tools":{}}}`},
		{"dotted, spelled as one name", []string{"sampling.tools"}, `{"sampling.tools":{}}`, `{"sampling":{"tools":{}}}`},
		{"three parts, stated", []string{"tasks.requests.elicitation"}, `{"tasks":{"requests":{"elicitation":{}}}}`, ""},
		{"three parts, two are stated", []string{"tasks.requests.elicitation"}, `{"tasks":{"requests":{}}}`, `{"tasks":{"requests":{"elicitation":{}}}}`},

		{"form mode, stated", []string{"elicitation.form"}, `{"elicitation":{"form":{}}}`, ""},
		{"form mode is what elicitation without a mode means", []string{"elicitation.form"}, `{"elicitation":{}}`, ""},
		{"form mode, without a mode, between blanks", []string{"elicitation.form"}, "{\"elicitation\": {\t\r\n }}", ""},
		{"form mode, another mode is stated", []string{"elicitation.form"}, `{"elicitation":{"url":{}}}`, `{"elicitation":{"form":{}}}`},
		{"form mode, null", []string{"elicitation.form"}, `{"elicitation":{"form":null}}`, `{"elicitation":{"form":{}}}`},
		{"form mode, elicitation is null", []string{"elicitation.form"}, `{"elicitation":null}`, `{"elicitation":{"form":{}}}`},
		{"url mode is not what elicitation without a mode means", []string{"elicitation.url"}, `{"elicitation":{}}`, `{"elicitation":{"url":{}}}`},

		{"several, all stated", []string{"sampling", "elicitation.form", "roots"}, `{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{}}`, ""},
		{"several, one is lacking: all are told", []string{"sampling", "elicitation.form", "roots"}, `{"sampling":{},"roots":{}}`, `{"sampling":{},"elicitation":{"form":{}},"roots":{}}`},
		{"several within one", []string{"elicitation.url", "roots", "elicitation.form"}, `{}`, `{"elicitation":{"url":{},"form":{}},"roots":{}}`},
		{"a whole and its part", []string{"elicitation", "elicitation.url"}, `{}`, `{"elicitation":{"url":{}}}`},
		{"a part and its whole", []string{"elicitation.url", "elicitation"}, `{}`, `{"elicitation":{"url":{}}}`},
		{"one twice", []string{"sampling", "sampling"}, `{}`, `{"sampling":{}}`},
		{"parts at several depths", []string{"tasks.requests.sampling", "tasks.list", "tasks.requests.elicitation"}, `{"tasks":{"list":{}}}`,
			`{"tasks":{"requests":{"sampling":{},"elicitation":{}},"list":{}}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, catalog{{name: "needy", capabilities: row.needed}})
			got := s.do(t, stating(row.stated))
			settled := <-s.settlements.tell
			if row.want == "" {
				if got.status != 200 || !strings.HasPrefix(got.body, `{"jsonrpc":"2.0","id":"seven","result":{"resultType":"complete",`) || settled.Outcome != lifecycle.Success {
					t.Errorf("got %d %s, settled as %+v", got.status, got.body, settled)
				}
				return
			}
			want := `{"jsonrpc":"2.0","id":"seven","error":{"code":-32021,"message":"The tool needs capabilities that the client does not state.","data":{"requiredCapabilities":` + row.want + `}}}`
			if got.status != 400 || got.body != want {
				t.Errorf("got  %d %s\nwant 400 %s", got.status, got.body, want)
			}
			if settled.Class != lifecycle.Capability || settled.Status != 400 || settled.Tool != "srv://system-api~test.v1.Service/needy" {
				t.Errorf("settled as %+v", settled)
			}
		})
	}
}

// TestCapabilities_legacy has callers whose capabilities a stateless server does not know, in each version.
func TestCapabilities_legacy(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{{name: "needy", capabilities: []string{"sampling", "elicitation.form"}}, {name: "other"}})
	for _, version := range []string{"", "2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run("version "+version, func(t *testing.T) {
			t.Parallel()
			headers := map[string]string{"MCP-Protocol-Version": version}
			opening := s.do(t, call{body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"elicitation":{}},"clientInfo":{"name":"x","version":"1"}}}`})
			if opening.status != 200 {
				t.Fatalf("initialize: %d %s", opening.status, opening.body)
			}
			list := s.do(t, call{headers: headers, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`})
			if !strings.Contains(list.body, `{"name":"needy"}`) {
				t.Errorf("the list is %s", list.body)
			}
			got := s.do(t, call{headers: headers, body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"needy","arguments":{}}}`})
			want := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"This tool needs a client that states these capabilities with each request, as protocol version 2026-07-28 does: sampling, elicitation.form. The call did not run."}],"isError":true,"_meta":{"dev.sallyport/executed":"no"}}}`
			if got.status != 200 || got.body != want {
				t.Errorf("got  %d %s\nwant 200 %s", got.status, got.body, want)
			}
			if got := s.do(t, call{headers: headers, body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"other","arguments":{}}}`}); strings.Contains(got.body, "isError") {
				t.Errorf("a tool that needs nothing: %s", got.body)
			}
		})
	}
}
