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

// worst are messages that would be huge if everything were written out.
func worst() map[string]string {
	fields := func(format string, n int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, format, i, i+1)
		}
		return out.String()
	}
	large := "message L { string need = 1000 [(google.api.field_behavior) = REQUIRED]; " + fields("string a_property_with_a_long_name_%d = %d; ", 200) + "}"
	var diamond, maps, mutual strings.Builder
	for i := range 18 {
		fmt.Fprintf(&diamond, "message D%d { D%d a = 1; D%d b = 2; string need = 3 [(google.api.field_behavior) = REQUIRED]; } ", i, i+1, i+1)
		fmt.Fprintf(&maps, "message D%d { map<string, D%d> a = 1; map<string, D%d> b = 2; } ", i, i+1, i+1)
	}
	for i := range 4 {
		fmt.Fprintf(&mutual, "message D%d { %s} ", i, fields("repeated D%d f%d = 10;", 0)+"D0 a = 1; D1 b = 2; repeated D2 c = 3; map<string, D3> d = 4; string need = 5 [(google.api.field_behavior) = REQUIRED]; ")
	}
	return map[string]string{
		"a diamond":                "message M { D0 a = 1; } " + diamond.String() + "message D18 { bool x = 1; }",
		"a diamond of maps":        "message M { D0 a = 1; } " + maps.String() + "message D18 { bool x = 1; }",
		"four that use each other": "message M { D0 a = 1; } " + mutual.String(),
		"a large one often":        "message M { " + fields("L f%d = %d; ", 50) + "L last = 900 [(google.api.field_behavior) = REQUIRED]; } " + large,
		"a large one in maps":      "message M { " + fields("map<string, L> f%d = %d; ", 50) + "} " + large,
	}
}

// TestDialects_worstCases: what is written out stays near the budget.
func TestDialects_worstCases(t *testing.T) {
	for name, proto := range worst() {
		t.Run(name, func(t *testing.T) {
			doc, _, err := schema.Input(schematest.Message(t, proto), schema.Profile{})
			if err != nil {
				t.Fatal(err)
			}
			// The budget of 32 KiB, what no longer is written out but named, and as much as is canonical besides.
			most := 64<<10 + 2*len(doc.JSON())
			for _, d := range dialect.All() {
				if size := len(d.Input(doc).JSON()); size > most {
					t.Errorf("%s: %d bytes of %d canonical ones, want at most %d", d, size, len(doc.JSON()), most)
				}
			}
			checkRules(t, doc, true)
		})
	}
}

// TestDialects_whatIsRequiredCanBeGivenBeyondTheBudget: no call becomes impossible because a document is large.
func TestDialects_whatIsRequiredCanBeGivenBeyondTheBudget(t *testing.T) {
	doc, _, err := schema.Input(schematest.Message(t, worst()["a large one often"]), schema.Profile{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []dialect.Dialect{dialect.AnthropicStrict, dialect.BedrockStrict} {
		g, err := gate.Compile(d.Input(doc))
		if err != nil {
			t.Fatal(err)
		}
		if _, refusal := g.Judge([]byte(`{"last":"{\"need\":\"x\"}"}`)); refusal != nil {
			t.Errorf("%s: %s", d, refusal.Text())
		}
	}
}
