package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// nested returns n arrays within each other.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// The rows are boundary.md, "The decoder". Each document stands for a request that would be served without its flaw.
func TestHandler_refusesWhatIsNotOneStrictDocument(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{{name: "a"}})
	in := func(arguments string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":` + arguments + `}}`
	}
	tests := []struct {
		name, body string
		refused    bool
	}{
		{"sound", in(`{"amount":1}`), false},
		{"empty body", ``, true},
		{"white space only", `  `, true},
		{"text", `hello`, true},
		{"cut off", `{"jsonrpc":"2.0","id":1,"method":"ping"`, true},
		{"duplicate name in arguments", in(`{"amount":1,"amount":9999}`), true},
		{"duplicate name by escape", in(`{"amount":1,"\u0061mount":9999}`), true},
		{"duplicate name deep in arguments", in(`{"x":[{"y":{"a":1,"a":1}}]}`), true},
		{"duplicate name in the envelope", `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, true},
		{"duplicate name in params", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b","name":"a"}}`, true},
		{"duplicate name in _meta", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"k":1,"k":1}}}`, true},
		{"duplicate name in a member that nobody reads", `{"jsonrpc":"2.0","id":1,"method":"ping","x":{"k":1,"k":1}}`, true},
		{"one name at two places", in(`{"a":{"a":1},"b":{"a":1}}`), false},
		{"second document", ping + `{}`, true},
		{"bytes after the document", ping + `x`, true},
		{"NUL after the document", ping + "\x00", true},
		{"line comment", "// x\n" + ping, true},
		{"comment inside", `{"jsonrpc":"2.0",/* x */"id":1,"method":"ping"}`, true},
		{"trailing comma in an object", in(`{"a":1,}`), true},
		{"trailing comma in an array", in(`{"a":[1,]}`), true},
		{"single quotes", in(`{'a':1}`), true},
		{"unquoted name", in(`{a:1}`), true},
		{"leading zero", in(`{"a":01}`), true},
		{"plus sign", in(`{"a":+1}`), true},
		{"bare point", in(`{"a":.5}`), true},
		{"hexadecimal", in(`{"a":0x1}`), true},
		{"NaN", in(`{"a":NaN}`), true},
		{"Infinity", in(`{"a":-Infinity}`), true},
		{"raw control character", in("{\"a\":\"\x01\"}"), true},
		{"raw line break in a string", in("{\"a\":\"\n\"}"), true},
		{"escaped control character", in(`{"a":"\u0001"}`), false},
		{"unknown escape", in(`{"a":"\x41"}`), true},
		{"invalid UTF-8", in("{\"a\":\"\xff\"}"), true},
		{"invalid UTF-8 in a name", in("{\"\xc0\xaf\":1}"), true},
		{"overlong UTF-8", in("{\"a\":\"\xc1\x81\"}"), true},
		{"UTF-8 encoded surrogate", in("{\"a\":\"\xed\xa0\x80\"}"), true},
		{"unpaired high surrogate", in(`{"a":"\ud800"}`), true},
		{"unpaired low surrogate", in(`{"a":"\udc00x"}`), true},
		{"surrogates in the wrong order", in(`{"a":"\udc00\ud800"}`), true},
		{"surrogate pair", in(`{"a":"\ud83d\ude00"}`), false},
		{"byte order mark", "\ufeff" + ping, true},
		{"UTF-16", "{\x00\"\x00", true},
		{"100 levels below arguments", in(`{"a":` + nested(100) + `}`), false},
		{"101 levels below arguments", in(`{"a":` + nested(101) + `}`), true},
		{"100,000 levels", in(`{"a":` + strings.Repeat("[", 100_000)), true},
		{"levels in a member that nobody reads", `{"jsonrpc":"2.0","id":1,"method":"ping","x":` + nested(103) + `}`, true},
		{"number of 1,000 characters", in(`{"a":` + strings.Repeat("1", 1000) + `}`), false},
		{"number of 1,001 characters", in(`{"a":` + strings.Repeat("1", 1001) + `}`), true},
		{"long number in an array", in(`{"a":[1,` + strings.Repeat("1", 1001) + `]}`), true},
		{"long number in the envelope", `{"jsonrpc":"2.0","id":1,"method":"ping","x":` + strings.Repeat("1", 1001) + `}`, true},
		{"long string", in(`{"a":"` + strings.Repeat("1", 10_000) + `"}`), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := s.do(t, call{body: test.body})
			if !test.refused {
				if got.status != http.StatusOK || !strings.Contains(got.body, `"result"`) {
					t.Errorf("status %d: %s", got.status, got.body)
				}
				return
			}
			if got.status != http.StatusBadRequest {
				t.Errorf("status %d", got.status)
			}
			expectBody(t, got.body, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"…`)
		})
	}
}

// The limits are the configuration's, and a refusal names those in force.
func TestHandler_limitsOfTheDecoderAreConfigurable(t *testing.T) {
	t.Parallel()
	in := func(value string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"a":` + value + `}}}`
	}
	digits := func(n int) string { return strings.Repeat("7", n) }
	tests := []struct {
		name          string
		depth, number int
		value         string
		refused       string // what the refusal must say; empty for none
	}{
		{"default depth", 0, 0, nested(101), "at most 100 levels below arguments"},
		{"default number", 0, 0, digits(1001), "no number longer than 1000 characters"},
		{"depth of 5", 5, 0, nested(5), ""},
		{"depth past 5", 5, 0, nested(6), "at most 5 levels below arguments"},
		{"depth of 1", 1, 0, nested(1), ""},
		{"depth past 1", 1, 0, nested(2), "at most 1 levels below arguments"},
		{"greatest depth", mcp.MostJSONDepth, 0, nested(mcp.MostJSONDepth), ""},
		{"past the greatest depth", mcp.MostJSONDepth, 0, nested(mcp.MostJSONDepth + 1), "at most 1000 levels below arguments"},
		{"number of 20", 0, 20, digits(20), ""},
		{"number past 20", 0, 20, digits(21), "no number longer than 20 characters"},
		{"number past 20 in an array", 0, 20, "[" + digits(21) + "]", "no number longer than 20 characters"},
		{"longest number", 0, mcp.MostJSONNumber, digits(mcp.MostJSONNumber), ""},
		{"past the longest number", 0, mcp.MostJSONNumber, digits(mcp.MostJSONNumber + 1), "no number longer than 10000 characters"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, catalog{{name: "a"}}, func(o *mcp.Options) { o.MaxJSONDepth, o.MaxJSONNumber = test.depth, test.number })
			got := s.do(t, call{body: in(test.value)})
			switch {
			case test.refused == "" && (got.status != http.StatusOK || !strings.Contains(got.body, `"result"`)),
				test.refused != "" && (got.status != http.StatusBadRequest || !strings.Contains(got.body, test.refused)):
				t.Errorf("status %d: %.300s", got.status, got.body)
			}
		})
	}
}

// The rows are mcp-protocol.md 1.4, "Array, not JSON-RPC 2.0, id null/fraction/bool, no method", and the platform's
// rules that batches are refused in every version and an id has at most 256 bytes.
func TestHandler_refusesWhatIsNotAMessage(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{})
	long := `"` + strings.Repeat("x", 255) + `"`
	tests := []struct {
		name, body string
		echoed     bool
	}{
		{"empty batch", `[]`, false},
		{"batch", `[` + ping + `]`, false},
		{"batch that is cut off", `[`, false},
		{"null", `null`, false},
		{"string", `"ping"`, false},
		{"number", `1`, false},
		{"empty object", `{}`, false},
		{"no jsonrpc", `{"id":1,"method":"ping"}`, true},
		{"jsonrpc 1.0", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, true},
		{"jsonrpc as a number", `{"jsonrpc":2.0,"id":1,"method":"ping"}`, true},
		{"no method", `{"jsonrpc":"2.0","id":1}`, true},
		{"method as a number", `{"jsonrpc":"2.0","id":1,"method":1}`, true},
		{"method null", `{"jsonrpc":"2.0","id":1,"method":null}`, true},
		{"method and result", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, true},
		{"method and error", `{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}`, true},
		{"result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, true},
		{"result without an id", `{"jsonrpc":"2.0","result":{}}`, false},
		{"error with a null id", `{"jsonrpc":"2.0","id":null,"error":{}}`, false},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, false},
		{"id true", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, false},
		{"id fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, false},
		{"id with a point", `{"jsonrpc":"2.0","id":1.0,"method":"ping"}`, false},
		{"id with an exponent", `{"jsonrpc":"2.0","id":1e2,"method":"ping"}`, false},
		{"id object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, false},
		{"id array", `{"jsonrpc":"2.0","id":[1],"method":"ping"}`, false},
		{"id of 257 bytes", `{"jsonrpc":"2.0","id":` + long + `,"method":"ping"}`, false},
		{"number id of 257 bytes", `{"jsonrpc":"2.0","id":` + strings.Repeat("1", 257) + `,"method":"ping"}`, false},
		{"notification with an array for params", `{"jsonrpc":"2.0","method":"x","params":[]}`, false},
	}
	for _, version := range []string{"", "2025-03-26", "2025-06-18", "2025-11-25"} {
		for _, test := range tests {
			t.Run(version+" "+test.name, func(t *testing.T) {
				t.Parallel()
				got := s.do(t, call{headers: map[string]string{"MCP-Protocol-Version": version}, body: test.body})
				if got.status != http.StatusBadRequest {
					t.Errorf("status %d", got.status)
				}
				want := `{"jsonrpc":"2.0","error":{"code":-32600,"message":"…`
				if test.echoed {
					want = `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"…`
				}
				expectBody(t, got.body, want)
				if !json.Valid([]byte(got.body)) {
					t.Errorf("not JSON: %s", got.body)
				}
			})
		}
	}
}

// A refusal says where the document stops being one, and why, in words of ours.
func TestHandler_saysWhereADocumentEndsToBeOne(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{{name: "a"}})
	in := func(value string) string { return `{"jsonrpc":"2.0","id":1,"method":"ping","x":` + value + `}` }
	const before = len(`{"jsonrpc":"2.0","id":1,"method":"ping","x":`)
	for _, test := range []struct {
		name, body, want string
		at               int
	}{
		{"duplicate name", in(`{"canary":1,"canary":2}`), "a name stands twice in one object", before + 12},
		{"trailing comma", in(`[1,]`), "this is not JSON", before + 2},
		{"half a surrogate pair", in(`"\ud800"`), "this is not JSON", before + 1},
		{"invalid UTF-8", in("\"\xff\""), "this is not JSON, or not UTF-8", before + 1},
		{"an end too early", in(`[`)[:before+1], "the document ends too early", before + 1},
		{"something after it", in(`1`) + ` canary`, "something follows the document", before + 2},
		{"too deep", in(strings.Repeat("[", 200)), "it is nested too deep", before + 103},
		{"too long", in(strings.Repeat("1", 1001)), "a number is too long", before + 1001},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := s.do(t, call{body: test.body})
			if want := fmt.Sprintf(" At byte %d: %s.\"", test.at, test.want); !strings.Contains(got.body, want) || strings.Contains(got.body, "canary") {
				t.Errorf("got %s, want %s", got.body, want)
			}
		})
	}
}
