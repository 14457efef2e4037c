package dialect_test

import (
	"testing"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// TestDialects_whatIsNotShownIsJudged: where a dialect cannot show a message, no rule of it is waived. An empty object
// stands for a message that may be empty; one that may not is given as its text, which its own rules judge.
func TestDialects_whatIsNotShownIsJudged(t *testing.T) {
	for _, row := range []struct {
		name, proto string
		accepted    []string
		refused     []string
		remain      bool
	}{
		{"nothing is required", `message M { string a = 1; M m = 2; }`, []string{`{"m":{}}`, `{"a":"x"}`}, []string{`{"m":{"m":{}}}`, `{"m":"{}"}`}, false},
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
