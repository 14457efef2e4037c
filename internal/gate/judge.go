package gate

import (
	"slices"
	"sync"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// judge is one pass over the arguments of one call: it reads, collects problems, and writes the request. From the
// first problem on, what is written is of no use, and nobody looks at it.
type judge struct {
	cursor
	wire
	gate *Gate
	// remain says that a place with rules was passed that the document cannot say.
	remain bool
	// inText says that what is judged stands in a JSON text, where everything is spelled canonically.
	inText bool
	path   []step
	sets   []uint64
	// scalars are those that must not come twice, one after the other.
	scalars []byte
	found   []found
	known   map[Problem]bool
}

// step is one step of the path to the value under the cursor. It holds no pointer, so that a path costs the garbage
// collector nothing.
type step struct {
	name  int32 // into the gate's names
	order int32
}

// The steps that are no property's. The names of a gate begin with them.
const (
	itemStep = iota
	keyStep
	typeStep
	pairKeyStep
	pairValueStep
)

var stepNames = []string{
	itemStep: "[]", keyStep: "{key}", typeStep: typeName, pairKeyStep: pairKey, pairValueStep: pairValue,
}

// judges are reused between calls: the one place where scratch memory is pooled.
var judges = sync.Pool{New: func() any { return new(judge) }}

// maxPooled keeps one large call from pinning its memory for good.
const maxPooled = 1 << 20

// release forgets the call and returns the scratch memory.
func (j *judge) release() {
	if cap(j.bytes) > maxPooled || cap(j.unquoted) > maxPooled || cap(j.long) > maxPooled/16 || cap(j.sets) > maxPooled/16 ||
		cap(j.scalars) > maxPooled {
		return
	}
	j.gate, j.text, j.at, j.broken, j.remain, j.inText, j.missing = nil, nil, 0, false, false, false, 0
	j.bytes, j.long, j.path, j.sets = j.bytes[:0], j.long[:0], j.path[:0], j.sets[:0]
	j.scalars = j.scalars[:0]
	if j.known != nil {
		j.found, j.known = nil, nil
	}
	judges.Put(j)
}

func (j *judge) push(name, order int) { j.path = append(j.path, step{int32(name), int32(order)}) }
func (j *judge) pop()                 { j.path = j.path[:len(j.path)-1] }

// found is a problem and its place in the order of the schema.
type found struct {
	Problem
	order []int
}

// problem notes what is wrong with the value at the path. Order is the problem's own place among those of its value.
// Problems of the same place and text are one: the many items of an array have one path.
func (j *judge) problem(order int, text string) {
	p := Problem{Path: j.where(), Text: text}
	if j.known[p] {
		return
	}
	if j.known == nil {
		j.known = map[Problem]bool{}
	}
	j.known[p] = true
	at := make([]int, 0, len(j.path)+1)
	for _, s := range j.path {
		at = append(at, int(s.order))
	}
	j.found = append(j.found, found{p, append(at, order)})
}

// where renders the path.
func (j *judge) where() string {
	var out []byte
	stepNames := *j.gate.names.Load()
	for i, s := range j.path {
		if i > 0 && s.name != itemStep {
			out = append(out, '.')
		}
		out = append(out, stepNames[s.name]...)
	}
	return string(out)
}

// mismatch notes a value of the wrong type and passes it.
func (j *judge) mismatch(n *schema.Node) {
	text := "must be " + wanted(n)
	if j.peek() == 'n' && (!j.gate.nullable || j.inText) {
		text += "; to give none, leave it out"
	}
	j.problem(0, text)
	j.skip()
}

// refusal is what was found, nil if nothing was.
func (j *judge) refusal() *Refusal {
	if j.broken {
		return &Refusal{Problems: []Problem{{Text: "must be one valid JSON value"}}, Correctable: true}
	}
	if len(j.found) == 0 {
		return nil
	}
	slices.SortStableFunc(j.found, func(a, b found) int { return slices.Compare(a.order, b.order) })
	r := &Refusal{Correctable: true}
	for _, f := range j.found[:min(len(j.found), maxProblems)] {
		r.Problems = append(r.Problems, f.Problem)
	}
	r.More = len(j.found) - len(r.Problems)
	return r
}

// set makes room for n bits, all clear. It is good until drop.
func (j *judge) set(n int) (base int) {
	base = len(j.sets)
	for range (n + 63) / 64 {
		j.sets = append(j.sets, 0)
	}
	return base
}

func (j *judge) drop(base int) { j.sets = j.sets[:base] }
