package dialecttest_test

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect/dialecttest"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// TestLost_notices takes one sentence or keyword out of a spelling that says everything.
func TestLost_notices(t *testing.T) {
	for _, row := range []struct {
		name, proto string
		dialect     dialect.Dialect
		without     string
	}{
		{"a range", `message M { int32 a = 1; }`, dialect.Gemini, "Accepted range: -2147483648 to 2147483647."},
		{"a closure", `message M { S a = 1; } message S { bool b = 1; }`, dialect.Gemini, "No other properties are accepted."},
		{"a date", `message M { google.protobuf.Timestamp a = 1; }`, dialect.AnthropicStrict, `"format":"date-time"`},
		{"a length", `message M { string a = 1 [(buf.validate.field).string.min_len = 3]; }`, dialect.OpenAIStrict, "Must have at least 3 characters."},
		{"an encoding", `message M { bytes a = 1; }`, dialect.Nova, "Must be base64 of the standard alphabet, with padding."},
		{"a pattern", `message M { string a = 1 [(buf.validate.field).string.pattern = "^x$"]; }`, dialect.BedrockStrict, "Must match the pattern ^x$"},
		{"a count", `message M { repeated bool a = 1 [(buf.validate.field).repeated.max_items = 3]; }`, dialect.Gemini, "At most 3 items."},
		{"unequal items", `message M { repeated bool a = 1 [(buf.validate.field).repeated.unique = true]; }`, dialect.OpenAIStrict, "No two items may be equal."},
		{"values of a map", `message M { map<string, bool> a = 1; }`, dialect.Gemini, "Each value follows this JSON Schema:"},
		{"keys of a map", `message M { map<int32, bool> a = 1; }`, dialect.Nova, "Keys: "},
		{"keys of pairs", `message M { map<int32, bool> a = 1; }`, dialect.AnthropicStrict, "Must match the pattern "},
		{"deprecation", `message M { bool a = 1 [deprecated = true]; }`, dialect.Nova, "Deprecated."},
		{"refused values", `message M { int32 a = 1 [(buf.validate.field).int32 = {not_in: [7]}]; }`, dialect.Gemini, "Must be none of: 7."},
		{"no value", `message M { string a = 1 [(buf.validate.field).string = {const: "x", in: ["y"]}]; }`, dialect.Nova, "No value is accepted here."},
		{"a oneof", `message M { oneof o { bool a = 1; bool b = 2; } }`, dialect.OpenAIStrict, "Give at most one of: a, b."},
		{"an enum", `message M { E a = 1; } enum E { Z = 0; A = 1; }`, dialect.Flat, `"enum":["Z","A"]`},
		{"the author's words", "message M {\n// Of the author.\nbool a = 1; }", dialect.Nova, "Of the author."},
	} {
		t.Run(row.name, func(t *testing.T) {
			doc, _, err := schema.Input(schematest.Message(t, row.proto), schema.Profile{})
			if err != nil {
				t.Fatal(err)
			}
			text := string(row.dialect.Input(doc).JSON())
			if problems := dialecttest.Lost(row.dialect, doc, []byte(text)); problems != nil {
				t.Fatalf("of what is whole: %v\n%s", problems, text)
			}
			quoted := strings.ReplaceAll(row.without, `\`, `\\`)
			other := `"x":0`
			if !strings.HasPrefix(quoted, `"`) {
				other = "-"
			}
			less := strings.ReplaceAll(text, quoted, other)
			if less == text {
				t.Fatalf("%q is not in %s", row.without, text)
			}
			if problems := dialecttest.Lost(row.dialect, doc, []byte(less)); len(problems) == 0 {
				t.Errorf("nothing is missed in %s", less)
			}
		})
	}
}
