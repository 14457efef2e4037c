package boundary_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Header and body say the version, the method and the tool's name twice. Every pair of what they can say is sent.

// saying is what a header or a body says, and how the test's table calls it.
type saying struct {
	name string
	// lines are header lines; of a body, raw is JSON, blank where the member is left out.
	lines []string
	raw   string
	// value is what a sound reader makes of it; heard is false where there is no one value.
	value string
	heard bool
}

func headerOf(name, value string) saying {
	return saying{name: value, lines: []string{name + ": " + value}, value: value, heard: true}
}

func versionHeaderSayings() []saying {
	const name = "MCP-Protocol-Version"
	out := []saying{
		{name: "none", lines: []string{name}},
		{name: "small letters", lines: []string{"mcp-protocol-version: 2026-07-28"}, value: version20260728, heard: true},
		{name: "blanks around", lines: []string{name + ":\t 2026-07-28 \t"}, value: version20260728, heard: true},
		{name: "no blank", lines: []string{name + ":2025-06-18"}, value: version20250618, heard: true},
		{name: "twice the same", lines: []string{name + ": 2026-07-28", name + ": 2026-07-28"}},
		{name: "twice, one served", lines: []string{name + ": 2025-11-25", name + ": 2026-07-28"}},
		{name: "twice, once blank", lines: []string{name + ": 2026-07-28", name + ":"}},
		{name: "legacy twice", lines: []string{name + ": 2025-11-25", "Mcp-Protocol-Version: 2025-11-25"}},
		{name: "empty", lines: []string{name + ":"}, heard: true},
	}
	for _, value := range []string{
		version20260728, version20251125, version20250618, version20250326, "2024-11-05", "1999-01-01", "2026-07-27", "2026-07-29", "2099-01-01", "9999-99-99",
		"draft", "DRAFT-2026-v1", "2026-7-28", "2026-07-28.1", "v2026-07-28", "2026-07-28, 2026-07-28", `"2026-07-28"`, "2026-07-28;q=1", "=?base64?MjAyNi0wNy0yOA==?=", "x",
	} {
		out = append(out, headerOf(name, value))
	}
	return out
}

func versionBodySayings() []saying {
	out := []saying{{name: "none"}}
	for _, value := range []string{
		version20260728, version20251125, version20250618, version20250326, "2024-11-05", "1999-01-01", "2099-01-01", "9999-99-99", "draft", "x", "", " 2026-07-28", "2026-07-28 ",
		"=?base64?MjAyNi0wNy0yOA==?=",
	} {
		out = append(out, saying{name: quote(value), raw: quote(value), value: value, heard: true})
	}
	out = append(out, saying{name: "by escapes", raw: `"2026\u002d07\u002d28"`, value: version20260728, heard: true})
	for _, raw := range []string{`null`, `20260728`, `true`, `["2026-07-28"]`, `{"version":"2026-07-28"}`} {
		out = append(out, saying{name: raw, raw: raw})
	}
	return out
}

// legacyVersions are those that `initialize` agrees on.
var legacyVersions = []string{version20251125, version20250618, version20250326}

// versionForm is what a version may look like so that an answer repeats it, as the protocol demands.
var versionForm = regexp.MustCompile(`^v?[0-9]{1,4}([.-][0-9]{1,4}){0,3}$`)

func unserved(version string) reply {
	if versionForm.MatchString(version) {
		return notServed(version)
	}
	return notServed("unrecognised")
}

// isDate says that a text has the form that protocol versions have.
func isDate(text string) bool {
	var year, month, day int
	n, err := fmt.Sscanf(text, "%4d-%2d-%2d", &year, &month, &day)
	return err == nil && n == 3 && fmt.Sprintf("%04d-%02d-%02d", year, month, day) == text
}

// versionReply is rungs 11 to 13 of the ladder as far as they are about versions.
func versionReply(header, body saying) (want reply, isModern bool) {
	switch {
	case body.raw == "" && header.heard && isDate(header.value) && header.value >= version20260728:
		return badEnvelope, true // a modern header without what a modern body must say
	case body.raw == "" && len(header.lines) == 1 && !strings.Contains(header.lines[0], ":"):
		return good, false // no header is 2025-03-26
	case body.raw == "" && header.heard && slices.Contains(legacyVersions, header.value):
		return good, false
	case body.raw == "":
		return unserved(header.value), false
	case !body.heard:
		return badEnvelope, true
	case !header.heard || header.value != body.value:
		return mismatch, true
	case body.value != version20260728:
		return unserved(body.value), true
	}
	return good, true
}

func TestProtocol_versionInHeaderAndBody(t *testing.T) {
	c := newCounter(t)
	pairs, served := 0, 0
	for _, header := range versionHeaderSayings() {
		t.Run(header.name, func(t *testing.T) {
			for _, body := range versionBodySayings() {
				for _, method := range []string{"tools/list", "tools/call"} {
					pairs++
					want, isModern := versionReply(header, body)
					p := post{method: method, params: `"name":"greet"`, meta: `{"` + keyCapabilities + `":{}}`, lines: slices.Clone(header.lines)}
					if body.raw != "" {
						p.meta = `{"` + keyVersion + `":` + body.raw + `,"` + keyCapabilities + `":{}}`
					}
					p.lines = append(p.lines, "Mcp-Method: "+method, "Mcp-Name: greet")
					t.Run(body.name+" of "+method, func(t *testing.T) {
						got := c.say(t, p)
						if result := want.check(t, &p, got); result != nil {
							served++
							if (memberOf(t, result, "resultType") != nil) != isModern {
								t.Errorf("the result is of another era: %s", result)
							}
						}
					})
				}
			}
		})
	}
	t.Logf("%d pairs, %d of them served", pairs, served)
	if served == 0 {
		t.Error("nothing was served")
	}
}

func TestProtocol_methodInHeaderAndBody(t *testing.T) {
	c := newCounter(t)
	const name = "Mcp-Method"
	headers := []saying{
		{name: "none", lines: []string{name}},
		{name: "empty", lines: []string{name + ":"}, heard: true},
		{name: "small letters", lines: []string{"mcp-method: tools/list"}, value: "tools/list", heard: true},
		{name: "blanks around", lines: []string{name + ":\t tools/list \t"}, value: "tools/list", heard: true},
		{name: "twice the same", lines: []string{name + ": tools/list", name + ": tools/list"}},
		{name: "twice", lines: []string{name + ": tools/list", name + ": tools/call"}},
	}
	for _, value := range []string{
		"tools/list", "tools/call", "server/discover", "no/such", "Tools/List", "TOOLS/LIST", "tools/list/", "tools /list", "tools/list, tools/list", "tools%2Flist", `"tools/list"`,
		"=?base64?dG9vbHMvbGlzdA==?=", "=?base64?c2VydmVyL2Rpc2NvdmVy?=", "*",
	} {
		headers = append(headers, headerOf(name, value))
	}
	for _, header := range headers {
		t.Run(header.name, func(t *testing.T) {
			for _, method := range []string{"tools/list", "tools/call", "server/discover", "no/such", "Tools/List", "ping", "=?base64?dG9vbHMvbGlzdA==?=", `tools\/list`, `t\u006fols/list`} {
				value := strings.NewReplacer(`\/`, "/", `\u006f`, "o").Replace(method)
				p := post{version: version20260728, method: method, params: `"name":"greet"`, lines: append([]string{"Mcp-Name: greet"}, header.lines...)}
				want := good
				switch {
				case !header.heard || header.value != value:
					want = mismatch
				case !slices.Contains([]string{"tools/list", "tools/call", "server/discover"}, value):
					want = unknownOnes
				}
				t.Run(method, func(t *testing.T) { want.check(t, &p, c.say(t, p)) })
			}
		})
	}
}

func TestProtocol_nameInHeaderAndBody(t *testing.T) {
	c := newCounter(t)
	const name = "Mcp-Name: "
	same, other := badParams, mismatch // a name that header and body agree on, and that is no tool's
	for _, row := range []struct {
		name, raw string
		lines     []string
		want      reply
	}{
		{"the tool", `"greet"`, []string{name + "greet"}, good},
		{"by its hash", quote(hashOf("app-api", "protocol.v1.ProtocolService", "Greet")), []string{name + hashOf("app-api", "protocol.v1.ProtocolService", "Greet")}, good},
		{"the hash here, the alias there", `"greet"`, []string{name + hashOf("app-api", "protocol.v1.ProtocolService", "Greet")}, other},
		{"small letters", `"greet"`, []string{"mcp-name: greet"}, good},
		{"blanks around", `"greet"`, []string{"Mcp-Name:\t greet \t"}, good},
		{"no blank", `"greet"`, []string{"Mcp-Name:greet"}, good},
		{"escapes in the body", `"gr\u0065et"`, []string{name + "greet"}, good},
		{"none", `"greet"`, []string{"Mcp-Name"}, other},
		{"none for a tool that there is not", `"nosuch"`, []string{"Mcp-Name"}, other},
		{"empty", `"greet"`, []string{"Mcp-Name:"}, other},
		{"blanks only", `"greet"`, []string{"Mcp-Name: \t "}, other},
		{"another tool", `"greet"`, []string{name + "count"}, other},
		{"another case", `"greet"`, []string{name + "Greet"}, other},
		{"longer", `"greet"`, []string{name + "greet2"}, other},
		{"shorter", `"greet"`, []string{name + "gree"}, other},
		{"quoted", `"greet"`, []string{name + `"greet"`}, other},
		{"by escapes in the header", `"greet"`, []string{name + `gr\u0065et`}, other},
		{"by percent", `"greet"`, []string{name + "gr%65et"}, other},
		{"twice the same", `"greet"`, []string{name + "greet", name + "greet"}, other},
		{"twice the same, once in small letters", `"greet"`, []string{name + "greet", "mcp-name: greet"}, other},
		{"twice the same, once encoded", `"greet"`, []string{name + "greet", name + encoded("greet")}, other},
		{"twice", `"greet"`, []string{name + "greet", name + "count"}, other},
		{"twice, once empty", `"greet"`, []string{name + "greet", "Mcp-Name:"}, other},
		{"a list", `"greet"`, []string{name + "greet, greet"}, other},
		{"a list on both sides", `"greet, greet"`, []string{name + "greet, greet"}, same},
		{"both of nobody", `"nosuch"`, []string{name + "nosuch"}, same},
		{"blank within", `"a b"`, []string{name + "a b"}, same},
		{"tab within", `"a\tb"`, []string{name + "a\tb"}, same},
		{"blank before, in the body", `" greet"`, []string{name + " greet"}, other},
		{"blank after, in the body", `"greet "`, []string{name + "greet "}, other},

		{"encoded", `"greet"`, []string{name + "=?base64?Z3JlZXQ=?="}, good},
		{"encoded, blanks around", `"greet"`, []string{name + " =?base64?Z3JlZXQ=?= \t"}, good},
		{"encoded without need of padding", `"ask"`, []string{name + "=?base64?YXNr?="}, incapable(`{"elicitation":{"form":{}}}`)},
		{"encoded twice", `"greet"`, []string{name + encoded(encoded("greet"))}, other},
		{"encoded, another", `"greet"`, []string{name + encoded("count")}, other},
		{"encoded with a line end", `"greet"`, []string{name + encoded("greet\n")}, other},
		{"encoded non-ASCII", `"gr\u00fc\u00df"`, []string{name + encoded("gr\u00fc\u00df")}, same},
		{"encoded emoji", `"\ud83d\ude00"`, []string{name + encoded("\U0001f600")}, same},
		{"encoded NUL", `"\u0000"`, []string{name + encoded("\x00")}, same},
		{"encoded line ends", `"\r\nX: y"`, []string{name + encoded("\r\nX: y")}, same},
		{"encoded blanks around", `" greet "`, []string{name + encoded(" greet ")}, same},
		{"encoded nothing", `""`, []string{name + "=?base64??="}, same},
		{"encoded nothing for a tool", `"greet"`, []string{name + "=?base64??="}, other},
		{"encoded, decomposed", `"gr\u00fc\u00df"`, []string{name + encoded("gru\u0308\u00df")}, other},
		{"encoded mark", `"=?base64?Z3JlZXQ=?="`, []string{name + encoded("=?base64?Z3JlZXQ=?=")}, same},
		{"a mark that is not encoded", `"=?base64?Z3JlZXQ=?="`, []string{name + "=?base64?Z3JlZXQ=?="}, other},
		{"encoded, of 3000 characters", quote(strings.Repeat("\u00fc", 1500)), []string{name + encoded(strings.Repeat("\u00fc", 1500))}, same},

		{"no padding", `"greet"`, []string{name + "=?base64?Z3JlZXQ?="}, other},
		{"too much padding", `"greet"`, []string{name + "=?base64?Z3JlZXQ==?="}, other},
		{"padding where none belongs", `"ask"`, []string{name + "=?base64?YXNr=?="}, other},
		{"padding within", `"greet"`, []string{name + "=?base64?Z3Jl=ZXQ?="}, other},
		{"padding alone", `""`, []string{name + "=?base64?==?="}, other},
		{"trailing bits", `"greet"`, []string{name + "=?base64?Z3JlZXR=?="}, other},
		{"trailing bits of two", `"gree"`, []string{name + "=?base64?Z3JlZZ==?="}, other},
		{"one character", `"greet"`, []string{name + "=?base64?Z?="}, other},
		{"URL alphabet", `"\u00fb\u00ff?"`, []string{name + "=?base64?w7vDvz8_?="}, other},
		{"another alphabet", `"greet"`, []string{name + "=?base64?Z3Jl!XQ=?="}, other},
		{"blank within the code", `"greet"`, []string{name + "=?base64?Z3Jl ZXQ=?="}, other},
		{"tab within the code", `"greet"`, []string{name + "=?base64?Z3Jl\tZXQ=?="}, other},
		{"invalid UTF-8", `"\ufffd"`, []string{name + "=?base64?/w==?="}, other},
		{"overlong UTF-8", `"/"`, []string{name + "=?base64?wK8=?="}, other},
		{"half of a surrogate pair", `"\ufffd"`, []string{name + "=?base64?7aCA?="}, other},

		{"capital mark", `"greet"`, []string{name + "=?BASE64?Z3JlZXQ=?="}, other},
		{"capital mark, literally", `"=?BASE64?Z3JlZXQ=?="`, []string{name + "=?BASE64?Z3JlZXQ=?="}, same},
		{"opening mark only", `"greet"`, []string{name + "=?base64?Z3JlZXQ="}, other},
		{"opening mark only, literally", `"=?base64?Z3JlZXQ="`, []string{name + "=?base64?Z3JlZXQ="}, same},
		{"closing mark only", `"greet"`, []string{name + "Z3JlZXQ=?="}, other},
		{"closing mark only, literally", `"Z3JlZXQ=?="`, []string{name + "Z3JlZXQ=?="}, same},
		{"marks that share a character, literally", `"=?base64?="`, []string{name + "=?base64?="}, same},
		{"another encoding, literally", `"=?utf-8?b?Z3JlZXQ=?="`, []string{name + "=?utf-8?b?Z3JlZXQ=?="}, same},
		{"text after the mark, literally", `"=?base64?Z3JlZXQ=?=x"`, []string{name + "=?base64?Z3JlZXQ=?=x"}, same},
		{"text before the mark, literally", `"x=?base64?Z3JlZXQ=?="`, []string{name + "x=?base64?Z3JlZXQ=?="}, same},
		{"non-ASCII as it is", `"gr\u00fc\u00df"`, []string{name + "gr\u00fc\u00df"}, other},
		{"Latin 1", `"gr\u00fc\u00df"`, []string{name + "gr\xfc\xdf"}, other},

		{"a name that is a number", `7`, []string{name + "7"}, badParams},
		{"a name that is null", `null`, []string{"Mcp-Name"}, badParams},
		{"a name that is a list", `["greet"]`, []string{name + "greet"}, badParams},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := post{version: version20260728, method: "tools/call", params: `"name":` + row.raw, lines: row.lines}
			row.want.check(t, &p, c.say(t, p))
			// The legacy era knows no such header.
			for _, version := range protocolVersions {
				if version == version20260728 {
					continue
				}
				p.version = version
				want := badParams
				if row.want == good || row.raw == `"greet"` || row.raw == `"gr\u0065et"` || row.raw == `"ask"` {
					want = good
				}
				want.check(t, &p, c.say(t, p))
			}
		})
	}
}

// Methods that have no name take no offence at the header.
func TestProtocol_nameOfOtherMethods(t *testing.T) {
	c := newCounter(t)
	for method, want := range map[string]reply{"tools/list": good, "server/discover": good, "prompts/get": unknownOnes, "resources/read": unknownOnes} {
		for _, lines := range [][]string{{"Mcp-Name"}, {"Mcp-Name: greet"}, {"Mcp-Name: =?base64?!?="}, {"Mcp-Name: a", "Mcp-Name: b"}} {
			t.Run(method+" "+strings.Join(lines, " "), func(t *testing.T) {
				p := post{version: version20260728, method: method, params: `"name":"x","uri":"x:y"`, lines: lines}
				want.check(t, &p, c.say(t, p))
			})
		}
	}
}
