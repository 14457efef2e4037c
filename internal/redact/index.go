package redact

import (
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// An index holds every way to read the texts that a service wrote, so that the caller's values are looked up in it one
// after the other: the texts are short and bounded, the arguments are not. A value costs time in proportion to its own
// length, however often the texts repeat it.
type index struct {
	// The views of all texts end to end, each followed by a barrier.
	exact, folded []rune
	from, to      []int32 // the bytes of the text that a rune stands for
	text          []int32 // the number of the text
	last          int32   // of the texts added so far

	grams   [maxWhole + 1]*grams // by length, made when a value needs them
	numbers map[schema.Decimal]*number
	digits  bool   // whether there are any
	base    uint64 // of the hashes; random, so that nobody can choose texts that collide
}

// barrier ends a view. No value has it.
const barrier rune = -1

// maxWhole is the length in runes up to which a value can be looked up as a whole. Values of runLength and more are looked
// up by their parts; only moments are not.
const maxWhole = 31

func newIndex(texts []string) *index {
	ix := &index{numbers: map[schema.Decimal]*number{}, base: 1<<32 + rand.Uint64N(prime-1<<33)}
	for i, text := range texts {
		ix.last = int32(i)
		for _, view := range views(text) {
			ix.add(view)
		}
	}
	return ix
}

func (ix *index) add(view []cell) {
	start := len(ix.exact)
	for _, c := range append(view, cell{r: barrier}) {
		ix.exact = append(ix.exact, c.r)
		ix.folded = append(ix.folded, fold(c.r))
		ix.from = append(ix.from, c.from)
		ix.to = append(ix.to, c.to)
		ix.text = append(ix.text, ix.last)
	}
	ix.addNumbers(start, len(ix.exact)-1)
}

// at is the rune at a place that may be before the first one.
func (ix *index) at(i int) rune {
	if i < 0 || i >= len(ix.exact) {
		return barrier
	}
	return ix.exact[i]
}

// bounded reports that the runes from start to end are whole tokens: no letter, digit or underscore at either end is
// continued outside. An end that is punctuation is one anywhere, except that fewer than four runes of nothing but
// punctuation must not touch a token at all: they join and end words.
func (ix *index) bounded(start, end int) bool {
	before, after := word(ix.at(start-1)), word(ix.at(end))
	if end-start < 4 && !slices.ContainsFunc(ix.exact[start:end], word) {
		return !before && !after
	}
	return !(before && word(ix.exact[start])) && !(after && word(ix.exact[end-1]))
}

// mark is a path that stands in the place of what was found.
type mark struct {
	path  string
	score int // of what the path was found with; 0 is not found
	by    int // the serial number of the value whose path it is
	// How many values were found here, and the last of them. What few values share says most about which one it is.
	values, last int
}

// take notes that a value was found. The best score has the path, the first of equals.
func (m *mark) take(score, serial int, path func() string) {
	if m.values == 0 || m.last != serial {
		m.values, m.last = m.values+1, serial
	}
	if score > m.score {
		m.score, m.by, m.path = score, serial, path()
	}
}

// grams are all runs of one length in the index, equal runs in one group.
type grams struct {
	length int
	runes  []rune // folded, but exact for the shortest
	group  []int32
	groups []group
	byHash map[uint64]int32
	filter []uint64 // bits by the hash: most lookups of a long value end here
	top    uint64   // base to the power of length-1
}

type group struct {
	at  int32 // one place of the run
	run int   // the number of the last run of a value that it was in
	// Whole is what was found as whole tokens, within what was found anywhere.
	whole, within mark
}

// exactLength is the length up to which upper and lower case are different values: there are too many words like "it"
// and "no" to take them for a country.
const exactLength = 2

// of returns the runs of a length.
func (ix *index) of(length int) *grams {
	if g := ix.grams[length]; g != nil {
		return g
	}
	g := &grams{length: length, runes: ix.folded, byHash: map[uint64]int32{}, top: 1}
	if length <= exactLength {
		g.runes = ix.exact
	}
	for range length - 1 {
		g.top = mul(g.top, ix.base)
	}
	g.group = make([]int32, len(g.runes))
	bitCount := 1 << bits.Len(uint(len(g.runes))*8+63)
	g.filter = make([]uint64, bitCount/64)
	var hash uint64
	filled := 0 // runes of the hash since the last barrier
	for end, r := range g.runes {
		start := end - length + 1
		if start >= 0 {
			g.group[start] = -1
		}
		if r == barrier {
			hash, filled = 0, 0
			for i := max(start, 0); i <= end; i++ {
				g.group[i] = -1
			}
			continue
		}
		if filled == length {
			hash = sub(hash, mul(g.top, symbol(g.runes[start-1])))
			filled--
		}
		hash = add(mul(hash, ix.base), symbol(r))
		if filled++; filled < length {
			continue
		}
		id, known := g.byHash[hash]
		if !known {
			id = int32(len(g.groups))
			g.byHash[hash] = id
			g.groups = append(g.groups, group{at: int32(start)})
			g.filter[g.bit(hash)/64] |= 1 << (g.bit(hash) % 64)
		}
		g.group[start] = id
	}
	ix.grams[length] = g
	return g
}

func (g *grams) bit(hash uint64) uint64 { return hash & uint64(len(g.filter)*64-1) }

// find returns the group of a run by its hash. The run itself is in a ring, of which the last rune is that before end.
func (g *grams) find(hash uint64, ring *[ringSize]rune, end int) *group {
	if bit := g.bit(hash); g.filter[bit/64]&(1<<(bit%64)) == 0 {
		return nil
	}
	id, ok := g.byHash[hash]
	if !ok {
		return nil
	}
	found := &g.groups[id]
	for i := range g.length {
		if g.runes[int(found.at)+i] != ring[(end-g.length+i)%ringSize] {
			return nil // a collision, once in ages
		}
	}
	return found
}

// Arithmetic modulo a Mersenne prime, of polynomial hashes.
const prime = 1<<61 - 1

func mul(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return reduce(lo&prime + (lo>>61 | hi<<3))
}

func add(a, b uint64) uint64 { return reduce(a + b) }
func sub(a, b uint64) uint64 { return reduce(a + prime - b) }

func reduce(a uint64) uint64 {
	a = a&prime + a>>61
	if a >= prime {
		a -= prime
	}
	return a
}

func symbol(r rune) uint64 { return uint64(r) + 1 }

// span is a part of a text that stands for a value of the caller's.
type span struct {
	from, to int
	path     string
	by       int // the serial number of the value
}

// spans returns what was found, by text.
func (ix *index) spans(texts int) [][]span {
	out := make([][]span, texts)
	put := func(start, end int, m *mark) {
		t := ix.text[start]
		out[t] = append(out[t], span{int(ix.from[start]), int(ix.to[end-1]), m.path, m.by})
	}
	for _, g := range ix.grams {
		if g != nil {
			g.spans(ix, put)
		}
	}
	for _, n := range ix.numbers {
		if n.mark.score == 0 {
			continue
		}
		for _, s := range n.at {
			put(s[0], s[1], &n.mark)
		}
	}
	return out
}

// spans gives the places of the marked runs. Runs that were found anywhere and overlap are one place, which belongs to
// the value that shares its runs with the fewest others, and takes in the whole tokens that it begins and ends in.
func (g *grams) spans(ix *index, put func(start, end int, m *mark)) {
	var best *mark
	start, end := 0, 0
	flush := func() {
		if best == nil {
			return
		}
		for word(ix.at(start-1)) && word(ix.at(start)) {
			start--
		}
		for word(ix.at(end-1)) && word(ix.at(end)) {
			end++
		}
		put(start, end, best)
		best = nil
	}
	for i, id := range g.group {
		if id < 0 {
			continue
		}
		found := &g.groups[id]
		if found.whole.score > 0 {
			behind := i + g.length
			if g.length >= runLength {
				behind = ix.momentEnd(behind)
			}
			if ix.bounded(i, behind) {
				put(i, behind, &found.whole)
			}
		}
		m := &found.within
		if m.score == 0 {
			continue
		}
		switch {
		case best == nil || i >= end:
			flush()
			best, start = m, i
		case m.values < best.values || m.values == best.values && m.score > best.score:
			best = m
		}
		end = i + g.length
	}
	flush()
}
