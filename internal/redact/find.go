package redact

import (
	"strings"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// How much of a value must occur in a text to be found although it is no whole token and not the whole value: what a
// service cut short, or joined to something. Less would find what texts have in common by chance.
const (
	runLength          = 16
	sensitiveRunLength = 6
)

// ringSize is how many of its last runes a finder remembers; more than maxWhole.
const ringSize = 32

// finder looks the values of the arguments up in an index, one after the other, and marks what it finds.
type finder struct {
	ix    *index
	doc   *schema.Document
	names *names // of the document, read when something was found

	value  *Value
	serial int
	path   string // of the value, made when it was found

	// By what to decide whether the document names what is looked up, and the decision.
	by      naming
	decimal schema.Decimal
	paths   []string
	subject subject

	// State of the spelling that is being looked up.
	ring  [ringSize]rune // folded
	exact [exactLength]rune
	count int // runes so far
	hash  uint64
	run   run
}

// naming is how a document may name a value.
type naming int

const (
	byText   naming = iota // as a constant or as the type of an Any
	byNumber               // as a constant number
	byPaths                // as properties, in the paths of a field mask
)

// subject says whether the document names the value.
type subject int

const (
	unknown subject = iota
	ours
	callers
)

// run is a part of a value that occurs in the index.
type run struct {
	number int      // of all runs
	length int      // in windows
	groups []*group // each once, though a value may repeat itself for megabytes
}

func (r *run) next() { *r = run{number: r.number + 1, groups: r.groups[:0]} }

// begin starts a value.
func (f *finder) begin(v *Value) {
	f.value, f.path = v, ""
	f.serial++
	f.by, f.subject = byText, unknown
}

// isCallers reports whether what was found is the caller's: that a sensitive text is among the words of another property
// is no reason to repeat it.
func (f *finder) isCallers() bool {
	if f.subject == unknown {
		if f.names == nil {
			f.names = namesOf(f.doc)
		}
		f.subject = callers
		if !f.value.Sensitive && f.isNamed() {
			f.subject = ours
		}
	}
	return f.subject == callers
}

func (f *finder) isNamed() bool {
	switch f.by {
	case byNumber:
		return f.names.numbers[f.decimal] || f.value.Kind != Number && f.names.texts[string(f.value.Text)]
	case byPaths:
		return f.names.hasPaths(f.paths)
	default:
		return f.names.texts[string(f.value.Text)]
	}
}

func (f *finder) label() string {
	if f.path == "" {
		f.path = f.value.Path()
	}
	return f.path
}

// text looks up one spelling of the value: the whole of it at the bounds of tokens, and where it is long its parts
// anywhere.
func (f *finder) text(spelling []byte) {
	length := runLength
	if f.value.Sensitive {
		length = sensitiveRunLength
	}
	f.scan(spelling, length)
}

// moment looks up a spelling of a moment, of which no part says anything: two moments of the same day begin alike.
func (f *finder) moment(spelling []byte) {
	if f.value.Sensitive {
		f.text(spelling)
		return
	}
	f.scan(spelling, maxWhole+1)
}

// scan looks up a spelling, of which runs of the length are found anywhere.
func (f *finder) scan(spelling []byte, length int) {
	f.count, f.hash = 0, 0
	f.run.next()
	space := false
	for len(spelling) > 0 {
		r, n := rune(spelling[0]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(spelling)
		}
		spelling = spelling[n:]
		if blank(r) {
			space = f.count > 0
			continue
		}
		if space {
			f.push(' ', length)
			space = false
		}
		f.push(r, length)
	}
	switch {
	case f.count == 0:
	case f.count >= length:
		f.flush(length)
	case f.value.Sensitive && f.count > 1:
		if g := f.lookUp(); g != nil && f.isCallers() {
			g.within.take(2*f.count, f.serial, f.label)
		}
	default:
		if g := f.lookUp(); g != nil && f.isCallers() {
			g.whole.take(1, f.serial, f.label)
		}
	}
}

// push takes the next rune of a spelling.
func (f *finder) push(r rune, length int) {
	if f.count < exactLength {
		f.exact[f.count] = r
	}
	r = fold(r)
	if f.count < length {
		f.hash = add(mul(f.hash, f.ix.base), symbol(r))
	} else {
		oldest := f.ring[(f.count-length)%ringSize]
		f.hash = add(mul(sub(f.hash, mul(f.ix.of(length).top, symbol(oldest))), f.ix.base), symbol(r))
	}
	f.ring[f.count%ringSize] = r
	if f.count++; f.count < length {
		return
	}
	g := f.ix.of(length).find(f.hash, &f.ring, f.count)
	if g == nil {
		f.flush(length)
		return
	}
	if g.run != f.run.number {
		g.run = f.run.number
		f.run.groups = append(f.run.groups, g)
	}
	f.run.length++
}

// flush marks the run that has ended. The longer it is, the more likely is the value the one that was meant; of equals
// the one that occurs as a whole.
func (f *finder) flush(length int) {
	if f.run.length == 0 {
		return
	}
	score := 2 * (f.run.length + length - 1)
	if f.run.length == f.count-length+1 {
		score++
	}
	if f.isCallers() {
		for _, g := range f.run.groups {
			g.within.take(score, f.serial, f.label)
		}
	}
	f.run.next()
}

// lookUp returns the group of a spelling that was read whole and is shorter than what is found in parts.
func (f *finder) lookUp() *group {
	if f.count > maxWhole || f.count > len(f.ix.exact) {
		return nil
	}
	if f.count > exactLength {
		return f.ix.of(f.count).find(f.hash, &f.ring, f.count)
	}
	var ring [ringSize]rune
	var hash uint64
	for i, r := range f.exact[:f.count] {
		ring[i] = r
		hash = add(mul(hash, f.ix.base), symbol(r))
	}
	return f.ix.of(f.count).find(hash, &ring, f.count)
}

// equal looks up a number by its value.
func (f *finder) equal(d schema.Decimal) {
	if n := f.ix.numbers[d]; n != nil && f.isCallers() {
		n.mark.take(1, f.serial, f.label)
	}
}

// names are the texts of a document that are its own, though callers send them.
type names struct {
	texts   map[string]bool         // accepted and refused constants, types of an Any
	numbers map[schema.Decimal]bool // constants
	fields  map[string]bool         // properties, and the fields behind them
}

func namesOf(doc *schema.Document) *names {
	n := &names{map[string]bool{}, map[schema.Decimal]bool{}, map[string]bool{}}
	if doc != nil {
		n.collect(doc.Root(), map[*schema.Node]bool{})
	}
	return n
}

func (n *names) collect(node *schema.Node, seen map[*schema.Node]bool) {
	if node == nil || seen[node] {
		return
	}
	seen[node] = true
	for _, list := range [][]schema.Literal{node.Enum, node.Not} {
		for _, l := range list {
			if node.Kind == schema.String {
				n.texts[l.Text] = true
			} else if d, ok := schema.ParseDecimal(l.Text); ok {
				n.numbers[d] = true
			}
		}
	}
	for i := range node.Properties {
		p := &node.Properties[i]
		n.fields[p.Name] = true
		if p.Field != nil {
			n.fields[string(p.Field.Name())] = true
			n.fields[p.Field.JSONName()] = true
		}
		n.collect(p.Node, seen)
	}
	if node.Elem != nil {
		n.collect(node.Elem.Node, seen)
	}
	n.collect(node.Key, seen)
	for _, t := range node.Types {
		n.texts[t.URL] = true
		n.collect(t.Node, seen)
	}
}

// hasPaths reports that every name in the paths of a field mask is one of the document's.
func (n *names) hasPaths(paths []string) bool {
	for _, path := range paths {
		for name := range strings.SplitSeq(path, ".") {
			if !n.fields[name] && !n.fields[snake(name)] {
				return false
			}
		}
	}
	return true
}
