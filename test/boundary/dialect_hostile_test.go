package boundary_test

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// How the answers to the hostile corpus differ in a dialect. Everything outside a tool's arguments is answered as ever.
// Within them:
//
//   - flat answers as canonical does, to the byte; so does gemini, which besides finds a tool by its hash behind an
//     underscore ("unknown tools").
//   - nova adds one sentence where its document cannot close the root.
//   - openai_strict demands every property, and hardly a payload gives them all: the families of tool calls are turned
//     away, but for "after the gate".
//   - anthropic_strict and bedrock_strict spell maps and open values in another way ("type confusion", "map keys" and
//     what else has one in it): a call that canonical lets through may be turned away. The other way round it is with
//     pairs alone, which are what these dialects ask for.

// runsInDialects says whether a payload can be sent in a dialect that the harness names in the URL. Whoever is not known
// is refused before anybody looks at a dialect, and not in all of them: failed attempts are counted by id.
func (p *payload) runsInDialects() bool {
	return p.Wire == nil && p.Target == "" && p.Want.Status != http.StatusUnauthorized
}

// wantedIn is the answer in a dialect, blank for canonical, where w is wanted canonically; reached says whether the
// service was called.
func (p *payload) wantedIn(spoken string, w want, reachedIt bool) want {
	d, ok := dialect.Parse(spoken)
	switch {
	case !ok || d == dialect.Canonical:
		return w
	case d == dialect.Gemini && p.Family == "unknown tools" && strings.HasPrefix(p.Name, `name "_<judge>"`):
		return reached()
	case w.Call == noCall || w.Call == turnedAway && strings.Contains(w.Meta, "executed"):
		return w
	case !d.ChangesArguments():
		w.quiet = d == dialect.Nova
		return w
	case d != dialect.OpenAIStrict && p.givesPairs():
		return reached()
	case !reachedIt || w.Call == turnedAway:
		return want{Status: w.Status, ID: w.ID, Call: turnedAway, Meta: `{"dev.sallyport/correctable":true}`}
	}
	return w
}

// givesPairs says whether a payload gives pairs for a map, which canonically are a mistake.
func (p *payload) givesPairs() bool {
	field, isEmpty := strings.CutSuffix(p.Name, " is empty array")
	return p.Family == "map keys" && p.Name == "a list of pairs for a map" || p.Family == "type confusion" && isEmpty &&
		slices.Contains(strings.Fields("byName labels byInt byUint byLong byUlong byFlag openByName"), field)
}

// unsaidAtRoot is what refusals in nova add about a root that its document cannot close.
const unsaidAtRoot = "; the schema in this dialect cannot say so here"
