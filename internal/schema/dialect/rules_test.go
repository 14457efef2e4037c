package dialect_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect/dialecttest"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// checkRules holds the spelling of a document in every dialect against the rules of the dialect, and against what the
// canonical document says.
func checkRules(t interface{ Errorf(string, ...any) }, doc *schema.Document, input bool) {
	for _, d := range dialect.All() {
		spelled := d.Output(doc)
		if input {
			spelled = d.Input(doc)
		}
		for _, problem := range dialecttest.Broken(d, spelled.JSON(), input) {
			t.Errorf("%s: %s\n%s", d, problem, spelled.JSON())
		}
		for _, problem := range dialecttest.Lost(d, doc, spelled.JSON()) {
			t.Errorf("%s: lost: %s\n%s\n%s", d, problem, doc.JSON(), spelled.JSON())
		}
		if len(spelled.JSON()) > dialecttest.Bound(len(doc.JSON())) {
			t.Errorf("%s: %d bytes, of %d", d, len(spelled.JSON()), len(doc.JSON()))
		}
	}
}

func TestDialects_keepTheirRules(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		md := schematest.RandomMessage(rt)
		profile, _ := schema.Builtin(rapid.SampledFrom(schema.BuiltinIDs()).Draw(rt, "profile"))
		if doc, _, err := schema.Input(md, profile); err == nil {
			checkRules(rt, doc, true)
		}
		if doc, _, err := schema.Output(md, profile); err == nil && doc != nil {
			checkRules(rt, doc, false)
		}
	})
}

func TestDialects_areTheSameAtEveryRun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		doc, _, err := schema.Input(schematest.RandomMessage(rt), schema.Profile{})
		if err != nil {
			rt.Skip(err)
		}
		for _, d := range dialect.All() {
			if one, other := d.Input(doc).JSON(), d.Input(doc).JSON(); string(one) != string(other) {
				rt.Fatalf("%s: %s\nand %s", d, one, other)
			}
		}
	})
}

// A field that is null in any case has no second null for its absence.
func TestDialects_nullIsNullOnce(t *testing.T) {
	doc, _, err := schema.Input(schematest.Message(t, `message M { google.protobuf.NullValue nothing = 1; }`), schema.Profile{})
	if err != nil {
		t.Fatal(err)
	}
	got := string(dialect.OpenAIStrict.Input(doc).JSON())
	const want = `{"type":"object","properties":{"nothing":{"type":"null"}},"required":["nothing"],"additionalProperties":false}`
	if got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
}
