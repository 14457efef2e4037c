package transcode_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// TestRooms_agree draws documents from the schema itself: the gate and a neutral validator accept each of them, the
// result of its wire bytes keeps to the output schema, and what is near it the gate and the validator refuse alike.
func TestRooms_agree(t *testing.T) {
	for _, id := range schema.BuiltinIDs() {
		t.Run(id, func(t *testing.T) {
			md := schematest.Message(t, everything)
			in, _, err := schema.Input(md, profile(t, id))
			if err != nil {
				t.Fatal(err)
			}
			out, _, err := schema.Output(md, profile(t, id))
			if err != nil {
				t.Fatal(err)
			}
			g, err := gate.Compile(in)
			if err != nil {
				t.Fatal(err)
			}
			r := compileResults(t, md, id)
			inputs, outputs := schematest.Validator(t, in.JSON()), schematest.Validator(t, out.JSON())
			rapid.Check(t, func(rt *rapid.T) {
				arguments := []byte(schematest.Arguments(rt, in.Root(), 4))
				request, refusal := g.Judge(arguments)
				if refusal != nil {
					rt.Fatalf("the gate refuses %s: %s", arguments, refusal.Text())
				}
				if !schematest.Accepts(t, inputs, arguments) {
					rt.Fatalf("the validator refuses %s", arguments)
				}
				result, err := r.AppendJSON(nil, request.Wire)
				if err != nil {
					rt.Fatalf("the bytes of %s have no JSON: %v", arguments, err)
				}
				if !schematest.Accepts(t, outputs, result) {
					rt.Fatalf("the output schema refuses %s", result)
				}
				if mutant, ok := schematest.Mutant(rt, in.Root(), string(arguments)); ok {
					if _, refusal := g.Judge([]byte(mutant)); refusal == nil {
						rt.Fatalf("the gate accepts %s", mutant)
					}
					if schematest.Accepts(t, inputs, []byte(mutant)) {
						rt.Fatalf("the validator accepts %s", mutant)
					}
				}
			})
		})
	}
}
