package redact

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

const fuzzProto = `
enum State { STATE_UNSPECIFIED = 0; ACTIVE = 1; }
message M {
  string id = 1;
  repeated M items = 2;
  map<string, string> labels = 3;
  int64 total = 4;
  double amount = 5;
  bytes token = 6;
  google.protobuf.Timestamp at = 7;
  google.protobuf.Duration wait = 8;
  google.protobuf.FieldMask mask = 9;
  google.protobuf.Value open = 10;
  google.protobuf.Any any = 11;
  State state = 12;
  string secret = 13 [(sallyport.tool.v1.field).sensitive = true];
}
`

// FuzzStatus holds what is shown against a plain search: whatever arguments and message are, no value of four
// characters or more is left where it stands as whole tokens.
func FuzzStatus(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"id":"A-17"}`, "order 'A-17' not found"},
		{`{"id":"a\"b\\c\nd","labels":{"key one":"<x>"}}`, `no "a\"b\\c\nd" with key+one=%3Cx%3E`},
		{`{"total":"9007199254740993","amount":1e2}`, "9007199254740993 or 100.00 or 1e+02"},
		{`{"token":"3q2+7w=="}`, "deadbeef [222 173 190 239] 3q2-7w"},
		{`{"at":"2024-05-01T12:00:00.5+02:00","wait":"5400s"}`, "2024-05-01 10:00:00.5 +0000 UTC 1h30m0s seconds:1714557600"},
		{`{"mask":"evilName.a,id"}`, "no path evil_name.a"},
		{`{"open":{"a":[1,"b",{"c":null}]},"any":{"@type":"type.googleapis.com/t.v1.M","id":"inner"}}`, "inner is c of b"},
		{`{"state":"ACTIVE","id":"ACTIVE"}`, "the state ACTIVE"},
		{`{"secret":"hunter2"}`, "xhunter2x is unter2"},
		{`{"id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabcdef"}`, "aaaaaaaaaaaaaaaaabcdef"},
		{`{"id":"....","labels":{"----":"-"}}`, "a....b----c-d"},
		{`{"id":"\u00e9\ud83d\ude00abc"}`, `\u00e9\ud83d\ude00abc \xc3\xa9 \303\251 \u{1f600}`},
		{`{"items":[{"items":[{"id":"deep"}]}]}`, "deep\x00\xff\u2028deep"},
		{`{"undeclared":{"x":["y"]}}`, "undeclared x y"},
		{`{"id":`, "A-17"},
		{``, ""},
	} {
		f.Add(seed[0], seed[1])
	}
	p, _ := schema.Builtin("protojson")
	doc, _, err := schema.Input(schematest.Message(f, fuzzProto), p)
	if err != nil {
		f.Fatal(err)
	}
	names := namesOf(doc)
	f.Fuzz(func(t *testing.T, arguments, message string) {
		shown, _ := Status(doc, []byte(arguments), status.New(codes.NotFound, message))
		if !utf8.ValidString(shown) || utf8.RuneCountInString(shown) > MaxMessage || strings.ContainsFunc(shown, unicode.IsControl) || shown == "" {
			t.Fatalf("shown %q", shown)
		}
		if arguments != "" && !json.Valid([]byte(arguments)) {
			return
		}
		said := clean(message, MaxMessage)
		found, err := find(doc, []byte(arguments), []string{said.clean})
		if err != nil {
			t.Fatal(err)
		}
		covered := make([]bool, len(said.clean))
		for _, s := range found[0] {
			for i := s.from; i < s.to; i++ {
				covered[i] = true
			}
		}
		err = Values(doc, []byte(arguments), func(v *Value) bool {
			value := strings.TrimFunc(string(v.Text), blank)
			if utf8.RuneCountInString(value) < 4 || v.Node != nil && v.Node.Enum != nil || isOurs(names, v) {
				return true
			}
			for _, at := range occurrences(said.clean, value) {
				for i := at; i < at+len(value); i++ {
					if !covered[i] {
						t.Fatalf("%q at %d of %q is left of %s", value, at, said.clean, arguments)
					}
				}
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// isOurs reports a value that the document names, and so nobody needs to hide.
func isOurs(n *names, v *Value) bool {
	if v.Kind == Number {
		// A short one before or behind a dot is a part of another number.
		return len(strings.TrimPrefix(string(v.Text), "-")) < unitDigits
	}
	if n.texts[string(v.Text)] && !v.Sensitive {
		return true
	}
	if v.Node == nil || v.Node.Kind != schema.String {
		return false
	}
	switch v.Node.Form {
	case schema.Text:
		return false
	case schema.FieldMask:
		return n.hasPaths(strings.Split(string(v.Text), ","))
	case schema.Int:
		return len(strings.TrimPrefix(string(v.Text), "-")) < unitDigits
	}
	return false
}

// occurrences are the places at which a value stands as whole tokens.
func occurrences(s, value string) []int {
	first, _ := utf8.DecodeRuneInString(value)
	last, _ := utf8.DecodeLastRuneInString(value)
	var out []int
	for from := 0; ; {
		i := strings.Index(s[from:], value)
		if i < 0 {
			return out
		}
		at := from + i
		before, _ := utf8.DecodeLastRuneInString(s[:at])
		after, _ := utf8.DecodeRuneInString(s[at+len(value):])
		if !(at > 0 && word(before) && word(first)) && !(at+len(value) < len(s) && word(after) && word(last)) {
			out = append(out, at)
		}
		_, n := utf8.DecodeRuneInString(s[at:])
		from = at + n
	}
}
