package dialect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// Where a closed dialect cannot show a message, it is given whole, as its text, which the message's own rules judge.
func TestDialects_whatIsNotShownIsJudged(t *testing.T) {
	for _, row := range []struct {
		name, proto string
		accepted    []string
		refused     []string
		remain      bool
	}{
		{"nothing is required", `message M { string a = 1; M m = 2; }`, []string{`{"m":"{}"}`, `{"m":"{\"a\":\"y\",\"m\":{\"m\":{}}}"}`, `{"a":"x"}`}, []string{`{"m":{}}`, `{"m":"{\"b\":1}"}`}, false},
		{
			"a property", `message M { string a = 1 [(google.api.field_behavior) = REQUIRED]; M m = 2; map<string, int32> n = 3; }`,
			[]string{`{"a":"x","m":"{\"a\":\"y\",\"m\":{\"a\":\"\"},\"n\":{\"k\":1}}"}`},
			[]string{`{"a":"x","m":{}}`, `{"a":"x","m":"{}"}`, `{"a":"x","m":"{\"a\":\"y\",\"m\":{}}"}`, `{"a":"x","m":"{\"a\":\"y\",\"a\":\"y\"}"}`, `{"a":"x","m":"[]"}`},
			false,
		},
		{
			"one of several", `message M { oneof o { option (buf.validate.oneof).required = true; string a = 1; M m = 2; } }`,
			[]string{`{"m":"{\"a\":\"\"}"}`}, []string{`{"m":{}}`, `{"m":"{}"}`}, false,
		},
		{
			"absence breaks a rule", `message M { string a = 1 [(buf.validate.field).string.len = 1]; M m = 2; }`,
			[]string{`{"a":"x","m":"{}"}`}, []string{`{"a":"x","m":{}}`}, true,
		},
		{
			"an expression", `message M { option (buf.validate.message).cel = {id: "x", message: "Never.", expression: "false"}; M m = 1; }`,
			[]string{`{"m":"{}"}`}, []string{`{"m":{}}`}, true,
		},
	} {
		canonical, _, err := schema.Input(schematest.Message(t, row.proto), schema.Profile{})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []dialect.Dialect{dialect.AnthropicStrict, dialect.BedrockStrict} {
			t.Run(row.name+" "+d.String(), func(t *testing.T) {
				g, err := gate.Compile(d.Input(canonical))
				if err != nil {
					t.Fatal(err)
				}
				for _, arguments := range row.accepted {
					request, refusal := g.Judge([]byte(arguments))
					if refusal != nil || request.RulesRemain != row.remain {
						t.Errorf("%s: rules remain %v, %v", arguments, request.RulesRemain, refusal)
					}
				}
				for _, arguments := range row.refused {
					if _, refusal := g.Judge([]byte(arguments)); refusal == nil {
						t.Errorf("%s is accepted", arguments)
					}
				}
				checkRules(t, canonical, true)
			})
		}
	}
}

// Whoever reads that a structure is repeated finds out which one that is.
func TestDialects_repeatedStructuresAreNamed(t *testing.T) {
	recursive, _, err := schema.Input(schematest.Message(t, `message M { Node tree = 1; Node again = 2; } message Node { string name = 1; Node next = 2; }`), schema.Profile{})
	if err != nil {
		t.Fatal(err)
	}
	large := `message M { Wide a = 1; Wide b = 2; Wide c = 3; Wide d = 4; } message Wide { string first = 1;`
	for i := 2; i < 400; i++ {
		large += fmt.Sprintf(` string field_number_%d = %d;`, i, i)
	}
	wide, _, err := schema.Input(schematest.Message(t, large+`}`), schema.Profile{})
	if err != nil {
		t.Fatal(err)
	}
	for d, name := range map[dialect.Dialect]string{
		dialect.Flat: `"title":"%s"`, dialect.AnthropicStrict: `"title":"%s"`, dialect.BedrockStrict: `"title":"%s"`,
		dialect.Nova: `This is %s.`,
	} {
		t.Run(d.String(), func(t *testing.T) {
			for _, row := range []struct {
				doc           *schema.Document
				named, repeat string
			}{
				{recursive, "Node", "Repeats the structure of Node, to any depth"},
				{wide, "Wide", "Repeats the structure of Wide"},
			} {
				text := string(d.Input(row.doc).JSON())
				at := strings.Index(text, fmt.Sprintf(name, row.named))
				shown, repeated := strings.Index(text, `"properties":{"name":`), strings.Index(text, row.repeat)
				if row.doc == wide {
					shown = strings.Index(text, `"properties":{"first":`)
				}
				if at < 0 || shown < 0 || repeated < 0 || at > repeated || shown > repeated {
					t.Errorf("%s: named at %d, shown at %d, repeated at %d: %.600s", row.named, at, shown, repeated, text)
				}
				if row.doc == wide && strings.Contains(text, "to any depth") {
					t.Error("what is not recursive is repeated to any depth")
				}
			}
		})
	}
}
