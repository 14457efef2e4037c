package boundary_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// What the list says of the arguments that callers repeat, and where.
func TestProtocol_listedHeaders(t *testing.T) {
	c := newCounter(t)
	for _, version := range protocolVersions {
		p := post{version: version, method: "tools/list"}
		var tools []listed
		if err := json.Unmarshal(memberOf(t, good.check(t, &p, c.say(t, p)), "tools"), &tools); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(tools, func(tool listed) bool { return tool.Name == "send" })
		if i < 0 {
			t.Fatal("the tool is not listed")
		}
		var schema struct {
			Properties map[string]struct {
				Header     string `json:"x-mcp-header"`
				Properties map[string]struct {
					Header string `json:"x-mcp-header"`
				} `json:"properties"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(tools[i].InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		for property, header := range map[string]string{"region": "Region", "total": "Total", "level": "Level", "urgent": "Urgent", "inner": "", "note": ""} {
			if got := schema.Properties[property].Header; got != header {
				t.Errorf("version %q: %s has the header %q, want %q", version, property, got, header)
			}
		}
		if got := schema.Properties["inner"].Properties["shard"].Header; got != "Name" {
			t.Errorf("version %q: inner.shard has the header %q", version, got)
		}
	}
}

// An argument and the header that repeats it, in every pair of what they can say (mcp-protocol.md 2.6).
func TestProtocol_argumentInHeaderAndBody(t *testing.T) {
	c := newCounter(t)
	type row struct {
		name, arguments string
		lines           []string
		want            reply
	}
	var rows []row
	add := func(name, arguments string, want reply, lines ...string) {
		rows = append(rows, row{name, arguments, lines, want})
	}
	const region = "Mcp-Param-Region: "
	add("neither", `{}`, good)
	add("null", `{"region":null}`, good)
	add("arguments left out", ``, good)
	add("arguments null", `null`, good)
	add("same", `{"region":"north"}`, good, region+"north")
	add("small letters", `{"region":"north"}`, good, "mcp-param-region: north")
	add("capitals", `{"region":"north"}`, good, "MCP-PARAM-REGION: north")
	add("blanks around", `{"region":"north"}`, good, "Mcp-Param-Region:\t north \t")
	add("escapes in the body", `{"region":"n\u006frth"}`, good, region+"north")
	add("escapes in the name", `{"regi\u006fn":"north"}`, good, region+"north")
	add("after other arguments", `{"note":"x","inner":{},"region":"north"}`, good, region+"north")
	add("blank within", `{"region":"north east"}`, good, region+"north east")
	add("header only", `{}`, mismatch, region+"north")
	add("empty header only", `{}`, mismatch, "Mcp-Param-Region:")
	add("header beside null", `{"region":null}`, mismatch, region+"north")
	add("header that says null beside null", `{"region":null}`, mismatch, region+"null")
	add("header without arguments", ``, mismatch, region+"north")
	add("header beside null arguments", `null`, mismatch, region+"north")
	add("body only", `{"region":"north"}`, mismatch)
	add("other", `{"region":"north"}`, mismatch, region+"south")
	add("other case", `{"region":"north"}`, mismatch, region+"North")
	add("empty header", `{"region":"north"}`, mismatch, "Mcp-Param-Region:")
	add("twice the same", `{"region":"north"}`, mismatch, region+"north", region+"north")
	add("twice the same, once in small letters", `{"region":"north"}`, mismatch, region+"north", "mcp-param-region: north")
	add("twice", `{"region":"north"}`, mismatch, region+"north", region+"south")
	add("twice, once empty", `{"region":"north"}`, mismatch, region+"north", "Mcp-Param-Region:")
	add("a list", `{"region":"north"}`, mismatch, region+"north, north")
	add("quoted", `{"region":"north"}`, mismatch, region+`"north"`)
	add("by percent", `{"region":"north"}`, mismatch, region+"n%6frth")
	add("encoded", `{"region":"north"}`, good, region+encoded("north"))
	add("encoded umlauts", `{"region":"nörd"}`, good, region+encoded("nörd"))
	add("encoded umlauts by escapes", `{"region":"n\u00f6rd"}`, good, region+encoded("nörd"))
	add("encoded emoji", `{"region":"\ud83d\ude00"}`, good, region+encoded("😀"))
	add("encoded blanks around", `{"region":" north "}`, good, region+encoded(" north "))
	add("encoded line end", `{"region":"a\nb"}`, good, region+encoded("a\nb"))
	add("encoded nothing", `{"region":""}`, good, region+encoded(""))
	add("encoded mark", `{"region":"=?base64?bm9ydGg=?="}`, good, region+encoded("=?base64?bm9ydGg=?="))
	add("a mark that is not encoded", `{"region":"=?base64?bm9ydGg=?="}`, mismatch, region+"=?base64?bm9ydGg=?=")
	add("encoded other", `{"region":"north"}`, mismatch, region+encoded("south"))
	add("encoded twice", `{"region":"north"}`, mismatch, region+encoded(encoded("north")))
	add("no padding", `{"region":"north"}`, mismatch, region+"=?base64?bm9ydGg?=")
	add("too much padding", `{"region":"north"}`, mismatch, region+"=?base64?bm9ydGg==?=")
	add("trailing bits", `{"region":"north"}`, mismatch, region+"=?base64?bm9ydGh=?=")
	add("another alphabet", `{"region":"north"}`, mismatch, region+"=?base64?bm9y!Gg=?=")
	add("URL alphabet", `{"region":"\u00fb\u00ff?"}`, mismatch, region+"=?base64?w7vDvz8_?=")
	add("blank within the code", `{"region":"north"}`, mismatch, region+"=?base64?bm9y dGg=?=")
	add("invalid UTF-8", `{"region":"\ufffd"}`, mismatch, region+"=?base64?/w==?=")
	add("capital mark", `{"region":"north"}`, mismatch, region+"=?BASE64?bm9ydGg=?=")
	add("capital mark, literally", `{"region":"=?BASE64?bm9ydGg=?="}`, good, region+"=?BASE64?bm9ydGg=?=")
	add("opening mark only, literally", `{"region":"=?base64?bm9ydGg="}`, good, region+"=?base64?bm9ydGg=")
	add("closing mark only, literally", `{"region":"bm9ydGg=?="}`, good, region+"bm9ydGg=?=")
	add("marks that share a character, literally", `{"region":"=?base64?="}`, good, region+"=?base64?=")
	add("umlauts as they are", `{"region":"nörd"}`, mismatch, region+"nörd")
	add("Latin 1", `{"region":"nörd"}`, mismatch, region+"n\xf6rd")

	// An integer is compared as a number.
	add("integer", `{"level":42}`, good, "Mcp-Param-Level: 42")
	add("integer, encoded", `{"level":42}`, good, "Mcp-Param-Level: "+encoded("42"))
	add("integer with a fraction of zero in the body", `{"level":42.0}`, good, "Mcp-Param-Level: 42")
	add("integer with a fraction of zero in the header", `{"level":42}`, good, "Mcp-Param-Level: 42.0")
	add("integer by an exponent", `{"level":4.2e1}`, good, "Mcp-Param-Level: 42")
	add("negative integer", `{"level":-1}`, good, "Mcp-Param-Level: -1")
	add("zero", `{"level":0}`, good, "Mcp-Param-Level: 0")
	add("zero only in the header", `{}`, mismatch, "Mcp-Param-Level: 0")
	add("integer only in the body", `{"level":42}`, mismatch)
	add("another integer", `{"level":42}`, mismatch, "Mcp-Param-Level: 43")
	add("another sign", `{"level":42}`, mismatch, "Mcp-Param-Level: -42")
	add("integer and a fraction", `{"level":42}`, mismatch, "Mcp-Param-Level: 42.5")
	add("integer with a unit", `{"level":42}`, mismatch, "Mcp-Param-Level: 42 m")
	add("integer in hexadecimal", `{"level":42}`, mismatch, "Mcp-Param-Level: 0x2a")
	add("integer in words", `{"level":42}`, mismatch, "Mcp-Param-Level: x")
	add("64 bits of text", `{"total":"9007199254740993"}`, good, "Mcp-Param-Total: 9007199254740993")
	add("64 bits of text, another", `{"total":"9007199254740993"}`, mismatch, "Mcp-Param-Total: 9007199254740992")

	add("true", `{"urgent":true}`, good, "Mcp-Param-Urgent: true")
	add("false", `{"urgent":false}`, good, "Mcp-Param-Urgent: false")
	add("false, left out of the body", `{}`, mismatch, "Mcp-Param-Urgent: false")
	add("false, left out of the head", `{"urgent":false}`, mismatch)
	add("true and false", `{"urgent":true}`, mismatch, "Mcp-Param-Urgent: false")
	add("True", `{"urgent":true}`, mismatch, "Mcp-Param-Urgent: True")
	add("1", `{"urgent":true}`, mismatch, "Mcp-Param-Urgent: 1")

	add("nested", `{"inner":{"shard":"s"}}`, good, "Mcp-Param-Name: s")
	add("nested, not there", `{"inner":{}}`, mismatch, "Mcp-Param-Name: s")
	add("nested, without what it is nested in", `{}`, mismatch, "Mcp-Param-Name: s")
	add("nested, at the root", `{"shard":"s"}`, mismatch, "Mcp-Param-Name: s")
	add("nested, left out of the head", `{"inner":{"shard":"s"}}`, mismatch)

	all := `{"region":"north","level":1,"total":"2","urgent":true,"inner":{"shard":"s"}}`
	lines := []string{"Mcp-Param-Region: north", "Mcp-Param-Level: 1", "Mcp-Param-Total: 2", "Mcp-Param-Urgent: true", "Mcp-Param-Name: s"}
	add("all", all, good, lines...)
	for i, line := range lines {
		add("all but "+line, all, mismatch, slices.Delete(slices.Clone(lines), i, i+1)...)
	}
	add("headers that the tool does not declare", `{"note":"x"}`, good, "Mcp-Param-Note: y", "Mcp-Param-Note: z", "Mcp-Param-X: =?base64?!?=")

	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			for _, version := range protocolVersions {
				want := r.want
				p := post{version: version, method: "tools/call", params: `"name":"send"`, lines: r.lines}
				if r.arguments != "" {
					p.params += `,"arguments":` + r.arguments
				}
				if version != version20260728 {
					want = good // the legacy era knows no such headers
				}
				before := c.witness.count()
				result := want.check(t, &p, c.say(t, p))
				// Null where a property may only be left out, and a name that is not declared, are the gate's to refuse.
				isRefused := strings.Contains(r.arguments, ":null") || strings.Contains(r.arguments, `{"shard"`) && !strings.Contains(r.arguments, "inner")
				if called := c.witness.count() > before; called != (want == good && !isRefused) {
					t.Errorf("version %q: the service was called: %v: %s", version, called, result)
				}
			}
		})
	}
	// The same headers mean nothing to a tool that declares none.
	for _, version := range protocolVersions {
		p := post{version: version, method: "tools/call", params: `"name":"greet","arguments":{"name":"x"}`, lines: []string{"Mcp-Param-Region: y", "Mcp-Param-Name: y"}}
		good.check(t, &p, c.say(t, p))
	}
}
