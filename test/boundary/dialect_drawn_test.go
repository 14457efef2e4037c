package boundary_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// What is drawn for a tool and spelled by the document that a dialect lists is the same request there, and what only
// canonical is asked to refuse is refused there: by the handler, in both eras.
func TestDialects_drawnArgumentsAreTheSameRequest(t *testing.T) {
	const draws = 40
	h := newSpelledHouse(t)
	listed := make(map[dialect.Dialect]map[string][]byte)
	for _, d := range dialect.All() {
		listed[d] = make(map[string][]byte)
		for name, definition := range h.definitionsIn(version20251125, d) {
			listed[d][name] = memberOf(t, definition, "inputSchema")
		}
	}
	accepted, refused, beyond := map[dialect.Dialect]int{}, map[dialect.Dialect]int{}, map[dialect.Dialect]int{}
	for _, tool := range h.spelledTools() {
		if tool.Alias == "route" || tool.Alias == "1st" {
			continue // the header and the name of these have tests of their own
		}
		name, md := contractName(tool), tool.Descriptor.Input()
		drawer := schematest.NewDrawer(tool.Input.Root())
		drawn := rapid.Custom(func(rt *rapid.T) []string {
			arguments := drawer.Arguments(rt, 4)
			mutant, _ := drawer.Mutants(rt, arguments)
			return []string{arguments, mutant}
		})
		for seed := range draws {
			version := eras[seed%2]
			for _, arguments := range drawn.Example(seed) {
				if arguments = strings.TrimSpace(arguments); !strings.HasPrefix(arguments, "{") {
					continue // is no arguments at all, which is judged before any dialect
				}
				want := h.callIn(version, dialect.Canonical, name, spelledBy(t, listed[dialect.Canonical][name], arguments))
				for _, d := range dialect.All() {
					spelled, other := spelledOr(t, listed[d][d.ToolName(name)], arguments)
					got := h.callIn(version, d, name, spelled)
					switch {
					case want.seen == nil && (other || d == dialect.OpenAIStrict && strings.Contains(arguments, "null")):
						// It says something else: in openai_strict null is absence.
					case want.seen == nil:
						refused[d]++
						if got.seen != nil {
							t.Errorf("%s in %s accepts %s of %s", name, d, spelled, arguments)
						}
					case other:
						beyond[d]++
						if got.seen != nil {
							t.Errorf("%s in %s accepts %s, which it says cannot be given", name, d, spelled)
						}
					case got.seen == nil:
						t.Errorf("%s in %s refuses %s of %s: %s", name, d, spelled, arguments, got.body)
					case !proto.Equal(got.seen.as(t, md), want.seen.as(t, md)):
						t.Errorf("%s in %s: %s is %v, want %v", name, d, spelled, got.seen.as(t, md), want.seen.as(t, md))
					default:
						accepted[d]++
					}
				}
			}
		}
	}
	for _, d := range dialect.All() {
		t.Logf("%s: %d accepted, %d refused, %d that cannot be given", d, accepted[d], refused[d], beyond[d])
		if accepted[d] < 150 || refused[d] < 50 {
			t.Errorf("%s: too few to show anything", d)
		}
	}
}
