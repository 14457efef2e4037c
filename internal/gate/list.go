package gate

import (
	"bytes"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// The places of an array's or map's own problems, and of those inside it.
const (
	orderMin = iota
	orderMax
	orderWhole // an array's repetitions, a map's keys
	orderInner
)

// array is a repeated field.
type array struct {
	node   *schema.Node
	item   value
	packed bool
	unsaid bool // of each item
}

func (a *array) value(j *judge, tag string) {
	if j.kind() != '[' {
		j.mismatch(a.node)
		return
	}
	before, itemTag := len(j.bytes), tag
	var m mark
	if a.packed {
		j.tag(tag)
		m, itemTag = j.open(), ""
	}
	var repeated *repetitions
	if a.node.Unique {
		repeated = &repetitions{}
	}
	count := uint64(0)
	j.push(itemStep, orderInner)
	for more := j.enter(']'); more; more = j.next(']') {
		count++
		if repeated != nil {
			repeated.note(j)
		}
		a.item.value(j, itemTag)
	}
	j.pop()
	if repeated != nil {
		repeated.drop(j)
	}
	switch {
	case !a.packed:
	case count == 0:
		j.bytes = j.bytes[:before]
	default:
		j.close(m)
	}
	if a.unsaid && count > 0 {
		j.remain = true
	}
	counted(j, a.node, count, "item", "items")
	if repeated != nil && repeated.found {
		j.problem(orderWhole, "must have no two equal items")
	}
}

// counted judges how many items or entries there are.
func counted(j *judge, n *schema.Node, count uint64, one, many string) {
	if n.MinCount != nil && count < *n.MinCount {
		j.problem(orderMin, "must have at least "+plural(int(*n.MinCount), one, many))
	}
	if n.MaxCount != nil && count > *n.MaxCount {
		j.problem(orderMax, "must have at most "+plural(int(*n.MaxCount), one, many))
	}
}

// repetitions notices two equal scalars: numbers are equal by value, however they are spelled. Whoever has one drops it
// when its last scalar was noted; those of values within are dropped before.
type repetitions struct {
	// few are the scalars as pieces of the judge's scalars, and so is count while there are few; more of them are in many.
	few   [fewScalars]piece
	count int
	many  map[string]bool
	found bool
}

// piece is from one place to another.
type piece struct{ from, to int }

// fewScalars are looked through faster than a map finds one, and take no memory of their own.
const fewScalars = 8

// note looks at the value under the cursor and leaves the cursor there. One repetition is enough.
func (r *repetitions) note(j *judge) {
	if r.found {
		return
	}
	at, from := j.at, len(j.scalars)
	switch k := j.kind(); k {
	case '"':
		text, _ := j.str()
		j.scalars = append(append(j.scalars, '"'), text...)
	case '0':
		number := string(j.number())
		if d, ok := schema.ParseDecimal(number); ok {
			number = d.String()
		}
		j.scalars = append(append(j.scalars, '0'), number...)
	default:
		j.scalars = append(j.scalars, k)
	}
	if !j.broken {
		j.at = at
	}
	scalar := j.scalars[from:]
	if r.many == nil {
		for _, p := range r.few[:r.count] {
			if bytes.Equal(j.scalars[p.from:p.to], scalar) {
				r.found = true
				j.scalars = j.scalars[:from]
				return
			}
		}
		if r.count < fewScalars {
			r.few[r.count] = piece{from, len(j.scalars)}
			r.count++
			return
		}
		r.many = make(map[string]bool, 4*fewScalars)
		for _, p := range r.few {
			r.many[string(j.scalars[p.from:p.to])] = true
		}
	}
	if r.found = r.many[string(scalar)]; !r.found {
		r.many[string(scalar)] = true
	}
	j.scalars = j.scalars[:from]
}

// drop gives the scratch memory back.
func (r *repetitions) drop(j *judge) {
	if r.count > 0 {
		j.scalars = j.scalars[:r.few[0].from]
	}
}

// mapping is a map field. Its keys are the caller's and have one path.
type mapping struct {
	node   *schema.Node
	key    key
	entry  value
	tag    string // of an entry's value
	unsaid bool   // of each value
	// pairs says that the map is spelled as an array of objects with key and value.
	pairs bool
}

// key judges the string under the cursor as the key of an entry, and writes it.
type key interface {
	key(j *judge) (problem string)
}

func (m *mapping) value(j *judge, tag string) {
	if m.pairs {
		m.pairsValue(j, tag)
		return
	}
	if j.kind() != '{' {
		j.mismatch(m.node)
		return
	}
	count := uint64(0)
	for more := j.enter('}'); more; more = j.next('}') {
		count++
		j.tag(tag)
		entry := j.open()
		if j.peek() != '"' {
			j.fail()
			return
		}
		if text := m.key.key(j); text != "" {
			j.problem(orderWhole, "each key "+text)
		}
		j.expect(':')
		j.push(keyStep, orderInner)
		m.entry.value(j, m.tag)
		j.pop()
		j.close(entry)
	}
	if m.unsaid && count > 0 {
		j.remain = true
	}
	counted(j, m.node, count, "entry", "entries")
}

// The members of a pair.
const (
	pairKey   = "key"
	pairValue = "value"
)

// pairsValue reads an array of pairs.
func (m *mapping) pairsValue(j *judge, tag string) {
	if j.kind() != '[' {
		j.mismatch(m.node)
		return
	}
	var repeated repetitions
	count := uint64(0)
	j.push(itemStep, orderInner)
	for more := j.enter(']'); more; more = j.next(']') {
		count++
		m.pair(j, tag, &repeated)
	}
	j.pop()
	repeated.drop(j)
	if m.unsaid && count > 0 {
		j.remain = true
	}
	counted(j, m.node, count, "entry", "entries")
	if repeated.found {
		j.problem(orderWhole, "must have no key twice")
	}
}

// pair reads one object with key and value, in whatever order, as an entry.
func (m *mapping) pair(j *judge, tag string, repeated *repetitions) {
	if j.kind() != '{' {
		j.problem(0, "must be an object")
		j.skip()
		return
	}
	j.tag(tag)
	entry := j.open()
	keyed, valued, undeclared := false, false, 0
	for more := j.enter('}'); more; more = j.next('}') {
		switch string(j.name()) {
		case pairKey:
			keyed = true
			j.push(pairKeyStep, 0)
			if j.kind() != '"' {
				j.mismatch(m.node.Key)
			} else {
				repeated.note(j)
				if text := m.key.key(j); text != "" {
					j.problem(0, text)
				}
			}
			j.pop()
		case pairValue:
			valued = true
			j.push(pairValueStep, 1)
			m.entry.value(j, m.tag)
			j.pop()
		default:
			undeclared++
			j.skip()
		}
	}
	j.close(entry)
	for _, member := range [...]struct {
		step  int
		given bool
	}{{pairKeyStep, keyed}, {pairValueStep, valued}} {
		if !member.given {
			j.push(member.step, member.step-pairKeyStep)
			j.problem(0, "is required")
			j.pop()
		}
	}
	if undeclared > 0 {
		j.problem(2, plural(undeclared, "undeclared property", "undeclared properties")+"; accepted: "+pairKey+", "+pairValue)
	}
}
