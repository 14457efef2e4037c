package dialecttest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// Budget is the size up to which references are written out (boundary.md, "shared types").
const Budget = 32 << 10

// Bound is the size that no spelling of a document exceeds: Factor times the canonical size and the budget, for the
// words that stand where keywords stood.
func Bound(canonical int) int { return Factor * (canonical + Budget) }

// Factor is above what was measured, which the tests log: 0.94 over 374 RPCs of the corpora without the largest sets.
const Factor = 4

// Checker holds documents to everything that a dialect promises, and measures them.
type Checker struct {
	documents int
	largest   [dialect.Count]measure // by bytes
	nearest   [dialect.Count]measure // by the part of the bound
	differs   [dialect.Count]bool
}

type measure struct {
	what          string
	size, against int
}

func (m measure) part() float64 { return float64(m.size) / float64(m.against+Budget) }

// Check holds one document, of arguments or of results, in every dialect. What names it.
func (c *Checker) Check(t testing.TB, what string, doc *schema.Document, input bool) {
	t.Helper()
	c.documents++
	for _, d := range dialect.All() {
		spell := d.Output
		if input {
			spell = d.Input
		}
		spelled := spell(doc)
		text := spelled.JSON()
		fault := func(format string, args ...any) {
			t.Errorf("%s in %s: %s", what, d, fmt.Sprintf(format, args...))
		}
		if again := spell(doc).JSON(); !bytes.Equal(text, again) {
			fault("two texts of one document:\n%s\n%s", text, again)
		}
		for _, problem := range Broken(d, text, input) {
			fault("%s", problem)
		}
		for _, problem := range Lost(d, doc, text) {
			fault("lost: %s", problem)
		}
		if len(text) > Bound(len(doc.JSON())) {
			fault("%d bytes, of %d canonically", len(text), len(doc.JSON()))
		}
		if d != dialect.Gemini { // which is no JSON Schema
			schematest.Validator(t, text) // holds it to the metaschema, too
		}
		if input {
			if _, err := gate.Compile(spelled); err != nil {
				fault("%v", err)
			}
		}
		m := measure{what, len(text), len(doc.JSON())}
		if m.size > c.largest[d].size {
			c.largest[d] = m
		}
		if m.part() > c.nearest[d].part() {
			c.nearest[d] = m
		}
		c.differs[d] = c.differs[d] || !bytes.Equal(text, doc.JSON())
	}
}

// Distinct holds that each dialect but canonical spelled something otherwise than canonical.
func (c *Checker) Distinct(t testing.TB) {
	t.Helper()
	for _, d := range dialect.All() {
		if c.differs[d] != (d != dialect.Canonical) {
			t.Errorf("%s spells all of %d documents as canonical does: %v", d, c.documents, !c.differs[d])
		}
	}
}

// String tells how many documents there were, and for each dialect the largest and the one nearest to its bound.
func (c *Checker) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d documents", c.documents)
	for _, d := range dialect.All() {
		l, n := c.largest[d], c.nearest[d]
		fmt.Fprintf(&out, "\n%s: largest %s, %d bytes of %d; most for its size %s, %d bytes of %d, %.2f of canonical and budget",
			d, l.what, l.size, l.against, n.what, n.size, n.against, n.part())
	}
	return out.String()
}
