package mcp_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/mcp"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// routedCall is one call of a tool with headers as they stand in the head, each line of them.
type routedCall struct {
	tool      string
	arguments string // the member's text; empty for no member
	headers   [][2]string
	legacy    bool
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func (s *server) route(t *testing.T, c routedCall) reply {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + c.tool + `"`
	if c.arguments != "" {
		body += `,"arguments":` + c.arguments
	}
	if !c.legacy {
		body += "," + modernMeta
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, strings.NewReader(body+"}}"))
	if err != nil {
		t.Fatal(err)
	}
	head := [][2]string{{"Content-Type", "application/json"}, {"clientId", "m-1"}, {"clientSecret", "secret"}}
	if c.legacy {
		head = append(head, [2]string{"MCP-Protocol-Version", "2025-11-25"})
	} else {
		head = append(head, [2]string{"MCP-Protocol-Version", "2026-07-28"}, [2]string{"Mcp-Method", "tools/call"}, [2]string{"Mcp-Name", c.tool})
	}
	for _, h := range append(head, c.headers...) {
		r.Header[h[0]] = append(r.Header[h[0]], h[1]) // spelled as it is written
	}
	response, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(text)}
}

// sentinel is a text as Mcp-Param-* carries what a header cannot.
func sentinel(text string) string {
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(text)) + "?="
}

// regionHeader is the one header of the tools below.
const regionHeader = "Mcp-Param-Region"

// accept and refuse are what the rows below can want.
const (
	accept = true
	refuse = false
)

// wantRouted holds an answer: the call's result, or the refusal of mcp-protocol.md 1.4 that names the header.
func wantRouted(t *testing.T, got reply, want bool) {
	t.Helper()
	if want == accept {
		if got.status != 200 || !strings.HasPrefix(got.body, `{"jsonrpc":"2.0","id":7,"result":{`) || strings.Contains(got.body, `"isError"`) {
			t.Errorf("got %d %s", got.status, got.body)
		}
		return
	}
	if got.status != 400 || !strings.HasPrefix(got.body, `{"jsonrpc":"2.0","id":7,"error":{"code":-32020,"message":"The header Mcp-Param-`) {
		t.Errorf("got %d %s", got.status, got.body)
	}
	if strings.Contains(got.body, "north") || strings.Contains(got.body, `"data"`) {
		t.Errorf("the refusal repeats the caller, or has data: %s", got.body)
	}
}

// TestParams holds the table of mcp-protocol.md 2.6: an argument, the values of its header, and whether they agree.
func TestParams(t *testing.T) {
	t.Parallel()
	header := func(kind schema.Kind) []schema.Header {
		return []schema.Header{{Name: "Region", Path: []string{"v"}, Kind: kind}}
	}
	s := start(t, catalog{
		{name: "boolean", headers: header(schema.Boolean)},
		{name: "integer", headers: header(schema.Integer)},
		{name: "string", headers: header(schema.String)},
	})
	none := []string(nil)
	one := func(value string) []string { return []string{value} }
	for _, row := range []struct {
		name, tool, value string // the argument's text; empty leaves it out
		headers           []string
		want              bool
	}{
		// Present, not null: equal, absent, different.
		{"equal", "string", `"north"`, one("north"), accept},
		{"another", "string", `"north"`, one("south"), refuse},
		{"absent header", "string", `"north"`, none, refuse},
		{"another case", "string", `"north"`, one("North"), refuse},
		{"a prefix", "string", `"north"`, one("nort"), refuse},
		{"blanks around are none of the value", "string", `"north"`, one(" \tnorth "), accept},
		{"blanks within are", "string", `"north"`, one("no rth"), refuse},
		{"an argument with blanks within", "string", `"far north"`, one("far north"), accept},
		{"an argument with a tab within", "string", `"far\tnorth"`, one("far\tnorth"), accept},
		{"an argument with blanks around", "string", `" north "`, one(" north "), refuse},
		{"an argument with blanks around, encoded", "string", `" north "`, one(sentinel(" north ")), accept},
		{"an argument with escapes", "string", `"n\u006frth\/\""`, one(`north/"`), accept},
		{"an escape is not spelled in a header", "string", `"n\u006frth"`, one(`n\u006frth`), refuse},
		{"quotation marks are not part of the value", "string", `"north"`, one(`"north"`), refuse},
		{"empty", "string", `""`, one(""), accept},
		{"empty, encoded", "string", `""`, one(sentinel("")), accept},
		{"empty, absent header", "string", `""`, none, refuse},
		{"an empty header", "string", `"north"`, one(""), refuse},
		{"the word null", "string", `"null"`, one("null"), accept},

		// Null or absent.
		{"null, absent header", "string", `null`, none, accept},
		{"null, header", "string", `null`, one("north"), refuse},
		{"null, the word null", "string", `null`, one("null"), refuse},
		{"null, empty header", "string", `null`, one(""), refuse},
		{"absent, absent header", "string", "", none, accept},
		{"absent, header", "string", "", one("north"), refuse},
		{"absent, empty header", "string", "", one(""), refuse},
		{"absent boolean, false", "boolean", "", one("false"), refuse},
		{"absent integer, zero", "integer", "", one("0"), refuse},

		// Encoded.
		{"encoded without need", "string", `"north"`, one(sentinel("north")), accept},
		{"encoded, another", "string", `"north"`, one(sentinel("south")), refuse},
		{"not ASCII, encoded", "string", `"größe 北"`, one(sentinel("größe 北")), accept},
		{"not ASCII, as it is", "string", `"größe"`, one("größe"), refuse},
		{"not ASCII, in Latin 1", "string", `"größe"`, one("gr\xf6\xdfe"), refuse},
		{"a line break, encoded", "string", `"a\r\nb"`, one(sentinel("a\r\nb")), accept},
		{"a null character, encoded", "string", `"\u0000"`, one(sentinel("\x00")), accept},
		{"a byte order mark is a character", "string", `"north"`, one(sentinel("\ufeffnorth")), refuse},
		{"another normal form of Unicode", "string", `"é"`, one(sentinel("e\u0301")), refuse},
		{"what looks encoded, encoded", "string", `"=?base64?eA==?="`, one(sentinel("=?base64?eA==?=")), accept},
		{"what looks encoded, as it is", "string", `"=?base64?eA==?="`, one("=?base64?eA==?="), refuse},
		{"encoded twice", "string", `"north"`, one(sentinel(sentinel("north"))), refuse},
		{"two sentinels", "string", `"northnorth"`, one(sentinel("north") + sentinel("north")), refuse},
		{"the URL alphabet", "string", `"??>"`, one("=?base64?Pz8-?="), refuse},
		{"the standard alphabet", "string", `"??>"`, one("=?base64?Pz8+?="), accept},
		{"another alphabet", "string", `"north"`, one("=?base64?bm9ydGg*?="), refuse},
		{"padding left out", "string", `"north"`, one("=?base64?bm9ydGg?="), refuse},
		{"padding", "string", `"north"`, one("=?base64?bm9ydGg=?="), accept},
		{"too much padding", "string", `"north"`, one("=?base64?bm9ydGg==?="), refuse},
		{"padding in the middle", "string", `"aa"`, one("=?base64?YQ==YQ==?="), refuse},
		{"bits that are not zero at the end", "string", `"a"`, one("=?base64?YR==?="), refuse},
		{"bits that are zero at the end", "string", `"a"`, one("=?base64?YQ==?="), accept},
		{"a blank within", "string", `"north"`, one("=?base64?bm9y dGg=?="), refuse},
		{"a blank before the end", "string", `"north"`, one("=?base64?bm9ydGg= ?="), refuse},
		{"bytes that are not UTF-8", "string", `"north"`, one("=?base64?/w==?="), refuse},
		{"half a character", "string", `"ä"`, one("=?base64?w6Q=?="), accept},
		{"half a character alone", "string", `"ä"`, one("=?base64?ww==?="), refuse},
		{"a surrogate", "string", `"north"`, one("=?base64?7aCA?="), refuse},
		{"an overlong form", "string", `"/"`, one("=?base64?wK8=?="), refuse},

		// What is not encoded is literal.
		{"marks in capitals are literal", "string", `"=?BASE64?bm9ydGg=?="`, one("=?BASE64?bm9ydGg=?="), accept},
		{"marks in capitals do not decode", "string", `"north"`, one("=?BASE64?bm9ydGg=?="), refuse},
		{"marks of another encoding", "string", `"=?utf-8?B?eA==?="`, one("=?utf-8?B?eA==?="), accept},
		{"the opening mark alone is literal", "string", `"=?base64?bm9ydGg="`, one("=?base64?bm9ydGg="), accept},
		{"the opening mark alone does not decode", "string", `"north"`, one("=?base64?bm9ydGg="), refuse},
		{"the closing mark alone is literal", "string", `"bm9ydGg=?="`, one("bm9ydGg=?="), accept},
		{"the closing mark alone does not decode", "string", `"north"`, one("bm9ydGg=?="), refuse},
		{"marks that overlap are literal", "string", `"=?base64?="`, one("=?base64?="), accept},
		{"marks that overlap decode to nothing", "string", `""`, one("=?base64?="), refuse},
		{"marks within are literal", "string", `"x=?base64?eA==?="`, one("x=?base64?eA==?="), accept},

		// Integers, by their value.
		{"an integer", "integer", "42", one("42"), accept},
		{"another integer", "integer", "42", one("43"), refuse},
		{"an integer, absent header", "integer", "42", none, refuse},
		{"42.0 in the header", "integer", "42", one("42.0"), accept},
		{"4.2e1 in the header", "integer", "42", one("4.2e1"), accept},
		{"420E-1 in the header", "integer", "42", one("420E-1"), accept},
		{"42.0 in the argument", "integer", "42.0", one("42"), accept},
		{"4.2e1 in the argument", "integer", "4.2e1", one("42"), accept},
		{"negative", "integer", "-7", one("-7"), accept},
		{"another sign", "integer", "-7", one("7"), refuse},
		{"negative zero", "integer", "0", one("-0"), accept},
		{"encoded digits", "integer", "42", one(sentinel("42")), accept},
		{"leading zero", "integer", "42", one("042"), refuse},
		{"plus sign", "integer", "42", one("+42"), refuse},
		{"a blank within digits", "integer", "42", one("4 2"), refuse},
		{"a blank before digits, encoded", "integer", "42", one(sentinel(" 42")), refuse},
		{"a blank behind digits, encoded", "integer", "42", one(sentinel("42\n")), refuse},
		{"hexadecimal", "integer", "42", one("0x2a"), refuse},
		{"underscore", "integer", "42", one("4_2"), refuse},
		{"a dot without digits behind it", "integer", "42", one("42."), refuse},
		{"a dot without digits before it", "integer", "0", one(".0"), refuse},
		{"an exponent without digits", "integer", "42", one("42e"), refuse},
		{"digits that are not ASCII", "integer", "42", one(sentinel("４２")), refuse},
		{"two numbers", "integer", "42", one("42, 42"), refuse},
		{"no number", "integer", "0", one("north"), refuse},
		{"infinity", "integer", "42", one("Infinity"), refuse},
		{"an empty header of an integer", "integer", "0", one(""), refuse},
		{"2^53 - 1", "integer", "9007199254740991", one("9007199254740991"), accept},
		{"2^53 + 1 against 2^53, which is the same double", "integer", "9007199254740993", one("9007199254740992"), refuse},
		{"2^53 + 1", "integer", "9007199254740993", one("9007199254740993"), accept},
		{"2^63 - 1", "integer", "9223372036854775807", one("9223372036854775807"), accept},
		{"2^63 - 1 against 2^63", "integer", "9223372036854775807", one("9223372036854775808"), refuse},
		{"far beyond any width", "integer", "1e400", one("10e399"), accept},
		{"far beyond any width, another", "integer", "1e400", one("1e401"), refuse},

		// Booleans.
		{"true", "boolean", "true", one("true"), accept},
		{"false", "boolean", "false", one("false"), accept},
		{"true against false", "boolean", "true", one("false"), refuse},
		{"false, absent header", "boolean", "false", none, refuse},
		{"true, encoded", "boolean", "true", one(sentinel("true")), accept},
		{"a capital letter", "boolean", "true", one("True"), refuse},
		{"one", "boolean", "true", one("1"), refuse},
		{"yes", "boolean", "true", one("yes"), refuse},

		// Values of another kind than the property's: the gate refuses them, once the header repeats them.
		{"a number for a string", "string", "42", one("42"), accept},
		{"a number for a string is its text", "string", "42", one("42.0"), refuse},
		{"a boolean for a string", "string", "true", one("true"), accept},
		{"a string for an integer", "integer", `"42"`, one("42"), accept},
		{"a string for an integer is its text", "integer", `"42"`, one("42.0"), refuse},
		{"a number for a boolean", "boolean", "1", one("1"), accept},
		{"a fraction for an integer", "integer", "4.5", one("4.5"), accept},
		{"an object, absent header", "string", `{"north":1}`, none, accept},
		{"an object, header", "string", `{"north":1}`, one(`{"north":1}`), refuse},
		{"an array, absent header", "string", `["north"]`, none, accept},
		{"an array, header", "string", `["north"]`, one("north"), refuse},

		// More than one.
		{"two headers that agree", "string", `"north"`, []string{"north", "north"}, refuse},
		{"two headers that do not", "string", `"north"`, []string{"north", "south"}, refuse},
		{"two headers, the second empty", "string", `"north"`, []string{"north", ""}, refuse},
		{"two headers without their argument", "string", "", []string{"north", "north"}, refuse},
		{"one header with a comma is one value", "string", `"north, north"`, one("north, north"), accept},
		{"one header with a comma is not two", "string", `"north"`, one("north, north"), refuse},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			arguments := `{"north":1}`
			if row.value != "" {
				arguments = `{"before":["v"],"v":` + row.value + `,"after":null}`
			}
			c := routedCall{tool: row.tool, arguments: arguments}
			for _, value := range row.headers {
				c.headers = append(c.headers, [2]string{regionHeader, value})
			}
			wantRouted(t, s.route(t, c), row.want)
		})
	}
}

// TestParams_places has arguments at other places than the top, tools with several headers, and whom none of it concerns.
func TestParams_places(t *testing.T) {
	t.Parallel()
	at := func(path ...string) []schema.Header {
		return []schema.Header{{Name: "Region", Path: path, Kind: schema.String}}
	}
	s := start(t, catalog{
		{name: "deep", headers: at("a", "b", "c")},
		{name: "dotted", headers: at("a.b")},
		{name: "none"},
		{name: "odd", headers: at("__proto__")},
		{name: "two", headers: []schema.Header{
			{Name: "Region", Path: []string{"region"}, Kind: schema.String},
			{Name: "Line", Path: []string{"line"}, Kind: schema.Integer},
		}},
	})
	header := func(pairs ...string) (list [][2]string) {
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, [2]string{pairs[i], pairs[i+1]})
		}
		return list
	}
	north := header(regionHeader, "north")
	for _, row := range []struct {
		name, tool, arguments string
		headers               [][2]string
		want                  bool
	}{
		{"nested", "deep", `{"a":{"b":{"c":"north"}}}`, north, accept},
		{"nested, another", "deep", `{"a":{"b":{"c":"south"}}}`, north, refuse},
		{"nested, absent header", "deep", `{"a":{"b":{"c":"north"}}}`, nil, refuse},
		{"nested, behind others of the names", "deep", `{"c":"x","b":{"c":"x"},"a":{"c":"x","a":{"b":{"c":"x"}},"b":{"a":"x","b":{"c":"x"},"c":"north"}}}`, north, accept},
		{"nested, with names that are escaped", "deep", `{"\u0061":{"\u0062":{"\u0063":"north"}}}`, north, accept},
		{"nested, between blanks", "deep", "\n{ \"a\" :\t{ \"b\" : { \"c\" : \"north\" } } }", north, accept},
		{"at the top instead", "deep", `{"c":"north"}`, north, refuse},
		{"spelled as a path", "deep", `{"a.b.c":"north"}`, north, refuse},
		{"the parent is absent, absent header", "deep", `{"a":{}}`, nil, accept},
		{"the parent is absent, header", "deep", `{"a":{}}`, north, refuse},
		{"the parent is null, absent header", "deep", `{"a":{"b":null}}`, nil, accept},
		{"the parent is null, header", "deep", `{"a":{"b":null}}`, north, refuse},
		{"the parent is a string, absent header", "deep", `{"a":{"b":"north"}}`, nil, accept},
		{"the parent is a string, header", "deep", `{"a":{"b":"north"}}`, north, refuse},
		{"the parent is an array, absent header", "deep", `{"a":[{"b":{"c":"north"}}]}`, nil, accept},
		{"the parent is an array, header", "deep", `{"a":[{"b":{"c":"north"}}]}`, north, refuse},
		{"the parent is an array like an object, absent header", "deep", `{"a":["b",{"c":"north"}]}`, nil, accept},
		{"the parent is an array like an object, header", "deep", `{"a":["b",{"c":"north"}]}`, north, refuse},
		{"the parent is a number, header", "deep", `{"a":{"b":1}}`, north, refuse},
		{"no arguments, absent header", "deep", "", nil, accept},
		{"no arguments, header", "deep", "", north, refuse},
		{"null for arguments, absent header", "deep", "null", nil, accept},
		{"null for arguments, header", "deep", "null", north, refuse},
		{"an array for arguments, header", "deep", `["north"]`, north, refuse},

		{"a name with a dot is one name", "dotted", `{"a.b":"north"}`, north, accept},
		{"a name with a dot is no path", "dotted", `{"a":{"b":"north"}}`, north, refuse},
		{"a name that JavaScript trips over", "odd", `{"__proto__":"north"}`, north, accept},

		{"two headers", "two", `{"region":"north","line":7}`, header(regionHeader, "north", "Mcp-Param-Line", "7.0"), accept},
		{"two headers, the first of which disagrees", "two", `{"region":"north","line":7}`, header(regionHeader, "south", "Mcp-Param-Line", "7"), refuse},
		{"two headers, the second of which disagrees", "two", `{"region":"north","line":7}`, header(regionHeader, "north", "Mcp-Param-Line", "8"), refuse},
		{"two headers, exchanged", "two", `{"region":"7","line":8}`, header(regionHeader, "8", "Mcp-Param-Line", "7"), refuse},
		{"one of two arguments", "two", `{"line":7}`, header("Mcp-Param-Line", "7"), accept},
		{"one of two arguments, both headers", "two", `{"line":7}`, header(regionHeader, "north", "Mcp-Param-Line", "7"), refuse},

		{"case does not count in a header's name", "two", `{"region":"north"}`, header("mcp-PARAM-region", "north"), accept},
		{"a header in two spellings is two", "two", `{"region":"north"}`, header(regionHeader, "north", "mcp-param-region", "north"), refuse},
		{"a header of another tool", "none", `{"region":"north"}`, header(regionHeader, "south"), accept},
		{"a malformed header of another tool", "none", `{}`, header(regionHeader, "=?base64?!?=", regionHeader, "x"), accept},
		{"a header that no tool declares", "two", `{"region":"north"}`, header(regionHeader, "north", "Mcp-Param-Other", "x", "Mcp-Param-", "y", "Mcp-Param", "z"), accept},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			wantRouted(t, s.route(t, routedCall{tool: row.tool, arguments: row.arguments, headers: row.headers}), row.want)
		})
	}

	t.Run("the legacy era knows no such headers", func(t *testing.T) {
		t.Parallel()
		for _, headers := range [][][2]string{nil, header(regionHeader, "south"), header(regionHeader, "=?base64?!?="), header(regionHeader, "a", regionHeader, "b")} {
			got := s.route(t, routedCall{tool: "two", arguments: `{"region":"north"}`, headers: headers, legacy: true})
			if got.status != 200 || !strings.Contains(got.body, `"structuredContent":{"region":"north"}`) {
				t.Errorf("with %q: %d %s", headers, got.status, got.body)
			}
		}
	})
}

// TestParams_order holds at which rung of the ladder the headers are looked at (mcp-protocol.md 1.5), and what is told.
func TestParams_order(t *testing.T) {
	headers := []schema.Header{{Name: "Region", Path: []string{"place", "region"}, Kind: schema.String}}
	s := start(t, catalog{
		{name: "capable", headers: headers, capabilities: []string{"sampling"}},
		{name: "hidden", headers: headers, hidden: true},
		{name: "offline", headers: headers, offline: true},
		{name: "refusing", headers: headers, refusal: &mcp.Refusal{Text: "no", Correctable: true}},
	})
	wrong := [][2]string{{regionHeader, "north"}}
	right := [][2]string{{regionHeader, "south"}}
	const mismatch = `{"jsonrpc":"2.0","id":7,"error":{"code":-32020,"message":"The header Mcp-Param-Region must stand once and repeat the argument place.region, …`
	for _, row := range []struct {
		name, tool, arguments string
		headers               [][2]string
		status                int
		want                  string
		class                 lifecycle.Class
	}{
		{"a tool that the caller does not see", "hidden", `{}`, wrong, 200, `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"Unknown tool."}}`, lifecycle.Authorization},
		{"a tool that is not there", "missing", `{}`, wrong, 200, `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"Unknown tool."}}`, lifecycle.Authorization},
		{"before the capabilities", "capable", `{}`, wrong, 400, mismatch, lifecycle.Envelope},
		{"then the capabilities", "capable", `{}`, nil, 400, `…"code":-32021`, lifecycle.Capability},
		{"before the shape of arguments", "refusing", `[]`, wrong, 400, mismatch, lifecycle.Envelope},
		{"then the shape of arguments", "refusing", `[]`, nil, 200, `…"code":-32602`, lifecycle.Envelope},
		{"before the service is asked for", "offline", `{}`, wrong, 400, mismatch, lifecycle.Envelope},
		{"then the service", "offline", `{}`, nil, 200, `…The tool is offline`, lifecycle.ServiceUnavailable},
		{"before the gate", "refusing", `{"place":{"region":"south"}}`, wrong, 400, mismatch, lifecycle.Envelope},
		{"then the gate", "refusing", `{"place":{"region":"south"}}`, right, 200, `…"isError":true`, lifecycle.InputValidation},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := s.route(t, routedCall{tool: row.tool, arguments: row.arguments, headers: row.headers})
			if got.status != row.status {
				t.Errorf("status %d, want %d", got.status, row.status)
			}
			expectBody(t, got.body, row.want)
			if settled := <-s.settlements.tell; settled.Class != row.class || settled.Status != row.status {
				t.Errorf("settled as %+v, want class %v", settled, row.class)
			}
		})
	}
}
