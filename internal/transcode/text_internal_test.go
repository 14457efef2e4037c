package transcode

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"
)

// quoted writes text as a JSON string, from the middle of a response so that words reach beyond it, or from its end.
func quoted(text, after string) ([]byte, error) {
	const before = "\"\\\xff"
	return appendString([]byte("> "), []byte(before+text+after), len(before), len(before+text))
}

func checkString(t interface{ Fatalf(string, ...any) }, text string) {
	for _, after := range []string{"", "\"", "\\\x00\xff", "12345678", "\"\"\"\"\"\"\"\"\"\""} {
		got, err := quoted(text, after)
		if !utf8.ValidString(text) {
			if err == nil {
				t.Fatalf("%q before %q became %s", text, after, got)
			}
			continue
		}
		want, _ := jsontext.AppendQuote([]byte("> "), text)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%q before %q became %s, %v, want %s", text, after, got, err, want)
		}
	}
}

// TestAppendString puts every byte at every place of strings of every length up to three words, and likewise what is
// not UTF-8, and demands what another JSON writer makes of them.
func TestAppendString(t *testing.T) {
	plain := "abcdefghijklmnopqrstuvwxyz"
	for length := range 25 {
		for at := range length {
			for c := range 256 {
				checkString(t, plain[:at]+string([]byte{byte(c)})+plain[at+1:length])
			}
		}
	}
	for _, special := range []string{"é", "€", "😀", "\ufffd", "\u2028", "\u0080", "\U0010ffff", "\\\"", "\n\r", "\x7f", "é\"😀\\", "\x00\x1f",
		"\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc0\x80", "é\xff"} {
		for at := range 17 {
			checkString(t, plain[:at]+special)
			checkString(t, plain[:at]+special+plain[at:])
		}
	}
	checkString(t, strings.Repeat("\x01", 1000))
	checkString(t, strings.Repeat("世界", 1000))
}

func TestAppendString_ofAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkString(t, rapid.String().Draw(t, "text"))
		checkString(t, string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")))
		checkString(t, rapid.StringMatching(`[a-c"\\é\n]{0,40}`).Draw(t, "escapes"))
	})
}

// TestAppendQuoted demands that JSON within JSON is what another writer makes of it, wherever its escapes fall.
func TestAppendQuoted(t *testing.T) {
	check := func(t interface{ Fatalf(string, ...any) }, text string) {
		dst := append([]byte("\"\\> "), text...)
		got := appendQuoted(dst, 4, len(dst))
		want, _ := jsontext.AppendQuote(nil, text)
		if string(got) != string(dst)+string(want[1:len(want)-1]) {
			t.Fatalf("%s became %s, want %s", text, got[len(dst):], want)
		}
		if got := quoteFrom(append([]byte("\"\\> "), text...), 4); string(got) != "\"\\> "+string(want) {
			t.Fatalf("%s became %s, want %s", text, got, want)
		}
	}
	for mask := range 1 << 12 {
		text := []byte("abcdefghijkl")
		for i := range text {
			if mask>>i&1 != 0 {
				text[i] = `"\`[i&1]
			}
		}
		check(t, string(text))
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.StringMatching(`["\\a-zé世]{0,60}`).Draw(t, "JSON"))
	})
}

// TestEscapes asks of every byte, beside every other, whether it is found.
func TestEscapes(t *testing.T) {
	for a := range 256 {
		for b := range 256 {
			w := uint64(a) | uint64(b)<<8 | 0x6161616161610000
			want := uint64(0)
			for i, c := range []int{a, b} {
				if c == '"' || c == '\\' {
					want |= 0x80 << (8 * i)
				}
			}
			if got := escapes(w); got != want {
				t.Fatalf("escapes(%#x) = %#x, want %#x", w, got, want)
			}
		}
	}
}
