package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzHeaderText holds the reading of a header's value to plainText, which decodes bit by bit; and every text comes
// back from its encoding.
func FuzzHeaderText(f *testing.F) {
	for _, seed := range []string{
		"", "north", "far\tnorth", " ", "\x7f", "gr\xc3\xb6\xc3\x9fe", "\xff",
		"=?base64?bm9ydGg=?=", "=?base64?bm9ydGg?=", "=?base64?bm9ydGg==?=", "=?base64?YQ==?=", "=?base64?YR==?=", "=?base64?YWI=?=",
		"=?base64?YWJ=?=", "=?base64?YWJj?=", "=?base64??=", "=?base64?=", "=?base64?", "?=", "=?base64?====?=", "=?base64?=AAA?=",
		"=?base64?YQ==YQ==?=", "=?base64?Pz8-?=", "=?base64?Pz8+?=", "=?base64?/w==?=", "=?base64?7aCA?=", "=?base64?wK8=?=",
		"=?base64?YQ\n==?=", "=?base64?Y\rQ==?=", "=?base64?\n?=", "=?base64?Y Q==?=", "=?BASE64?YQ==?=", "=?base64?YQ==", "YQ==?=",
		"x=?base64?YQ==?=", "=?base64?YQ==?=x", "=?base64?YQ==?==?base64?YQ==?=",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := headerText([]string{value})
		want, fine := plainText(value)
		if ok != fine || ok && string(got) != want {
			t.Fatalf("%q: %q %v, want %q %v", value, got, ok, want, fine)
		}
		for _, values := range [][]string{nil, {}, {value, value}, {value, ""}} {
			if text, ok := headerText(values); ok {
				t.Fatalf("%q are read as %q", values, text)
			}
		}
		encoded := encodedOpening + base64.StdEncoding.EncodeToString([]byte(value)) + encodedClosing
		got, ok = headerText([]string{encoded})
		if valid := string([]rune(value)) == value; ok != valid || ok && string(got) != value {
			t.Fatalf("%q, encoded as %q: %q %v", value, encoded, got, ok)
		}
	})
}

// plainText reads a value of Mcp-Name or Mcp-Param-* (mcp-protocol.md 1.3) without the standard library's decoder.
func plainText(value string) (string, bool) {
	inner, opened := strings.CutPrefix(value, "=?base64?")
	inner, closed := strings.CutSuffix(inner, "?=")
	if !opened || !closed {
		for _, c := range []byte(value) {
			if c != 9 && (c < 32 || c > 126) {
				return "", false
			}
		}
		return value, true
	}
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	digits := strings.TrimRight(inner, "=")
	if padding := len(inner) - len(digits); len(inner)%4 != 0 || padding > 2 {
		return "", false
	}
	var text strings.Builder
	bits, count := 0, 0
	for _, c := range []byte(digits) {
		digit := strings.IndexByte(alphabet, c)
		if digit < 0 {
			return "", false
		}
		bits, count = bits<<6|digit, count+6
		if count >= 8 {
			count -= 8
			text.WriteByte(byte(bits >> count))
			bits &= 1<<count - 1
		}
	}
	// What is left of the last digit says nothing and is zero; a whole digit that says nothing is one too many.
	if bits != 0 || count >= 6 {
		return "", false
	}
	return text.String(), string([]rune(text.String())) == text.String()
}

// FuzzFind holds the look-up of an argument to one in what encoding/json reads.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{
		`{"a":{"b":"north"}}`, `{"a":{"b":{}}}`, `{"a":[{"b":1}]}`, `{"a":null}`, `{}`, `[]`, `"a"`, `null`, `{"b":1,"a":{"a":2,"b":3}}`,
		`{"\u0061":{"\u0062":"x"}}`, ` { "a" : { "b" : [ 1 , 2 ] } } `, `{"a":{"b":1e400}}`, `{"a":{"b":true}}`, `{"a":{"B":1}}`, `{"a":["b",1]}`, `["a",{"b":1}]`,
	} {
		f.Add([]byte(seed), "a", "b")
	}
	f.Add([]byte(`{"":{"é":"\ud83d\ude00"}}`), "", "é")
	f.Fuzz(func(t *testing.T, document []byte, first, second string) {
		if !wellFormed(document, DefaultMaxJSONDepth, DefaultMaxJSONNumber) {
			return // the decoder has refused it
		}
		got := find(document, []string{first, second})
		var want any = json.RawMessage(document)
		for _, name := range []string{first, second} {
			var object map[string]json.RawMessage
			raw, _ := want.(json.RawMessage)
			if json.Unmarshal(raw, &object) != nil || object == nil || object[name] == nil {
				want = nil
				break
			}
			want = object[name]
		}
		if want == nil {
			if got != nil {
				t.Fatalf("%s: found %s", document, got)
			}
			return
		}
		if !bytes.Equal(got, want.(json.RawMessage)) {
			t.Fatalf("%s: found %q, want %q", document, got, want)
		}
	})
}
