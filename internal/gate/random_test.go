package gate_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// TestGate_agreesOverRandomContracts draws the contract, too: messages of every syntax with rules and options, a
// profile, documents that they accept and documents near those.
func TestGate_agreesOverRandomContracts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		md := schematest.RandomMessage(rt)
		profile, _ := schema.Builtin(rapid.SampledFrom(schema.BuiltinIDs()).Draw(rt, "profile"))
		doc, _, err := schema.Input(md, profile)
		if err != nil {
			rt.Skip(err)
		}
		p := newPair(rt, doc)
		drawer := schematest.NewDrawer(doc.Root())
		for range 4 {
			arguments := drawer.Arguments(rt, 4)
			if !p.check(rt, []byte(arguments)) {
				rt.Fatalf("refused: %s\n%s", arguments, doc.JSON())
			}
			for range 4 {
				mutant, what := drawer.Mutants(rt, arguments)
				rt.Log(what)
				p.check(rt, []byte(mutant))
			}
		}
	})
}
