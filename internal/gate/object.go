package gate

import (
	"fmt"
	"math/bits"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// object is a message.
type object struct {
	node       *schema.Node
	properties []property
	// names finds a property where there are too many to look through.
	names map[string]int
	// The sets have a bit for each property. required must be present; absence of one in absent breaks a rule that
	// the document does not say.
	required, absent []uint64
	oneofs           []oneof
	unsaid           bool
	// nullable says that some property may be null, which then is as good as absent but not missing.
	nullable bool
	// quiet says that the published document cannot say that no other property is accepted.
	quiet bool
}

type property struct {
	name   string
	step   int // into the gate's names
	tag    string
	value  value
	unsaid bool
	// nullable says that null stands for absence.
	nullable bool
}

type oneof struct {
	members  []uint64
	required bool
	names    []string
}

// fewProperties are looked through faster than a map finds one.
const fewProperties = 8

func (o *object) body(j *judge) {
	if j.kind() != '{' {
		j.mismatch(o.node)
		return
	}
	o.members(j, "")
}

// members reads an object. The member named besides, if any, has been dealt with.
func (o *object) members(j *judge, besides string) {
	seen := j.set(len(o.properties))
	nulls := seen
	if o.nullable {
		nulls = j.set(len(o.properties))
	}
	undeclared, next := 0, 0
	for more := j.enter('}'); more; more = j.next('}') {
		name := j.name()
		i := o.find(name, next)
		if i < 0 {
			if besides == "" || string(name) != besides {
				undeclared++
			}
			j.skip()
			continue
		}
		next = i + 1
		p := &o.properties[i]
		if p.nullable && j.kind() == 'n' {
			j.literal()
			j.sets[nulls+i/64] |= 1 << (i % 64)
			continue
		}
		j.sets[seen+i/64] |= 1 << (i % 64)
		if p.unsaid {
			j.remain = true
		}
		j.push(p.step, i)
		p.value.value(j, p.tag)
		j.pop()
	}
	if o.unsaid {
		j.remain = true
	}
	o.whole(j, seen, nulls, undeclared)
	j.drop(seen)
}

// find gives the index of the property with that name, -1 if there is none. Documents mostly follow the order of the
// schema, so that the next one is tried first.
func (o *object) find(name []byte, next int) int {
	if next < len(o.properties) && o.properties[next].name == string(name) {
		return next
	}
	if o.names != nil {
		if i, ok := o.names[string(name)]; ok {
			return i
		}
		return -1
	}
	for i := range o.properties {
		if o.properties[i].name == string(name) {
			return i
		}
	}
	return -1
}

// whole judges what only the whole object shows: what is missing, what excludes each other, what is not declared.
func (o *object) whole(j *judge, seen, nulls, undeclared int) {
	for w, required := range o.required {
		for missing := required &^ (j.sets[seen+w] | j.sets[nulls+w]); missing != 0; missing &= missing - 1 {
			i := w*64 + bits.TrailingZeros64(missing)
			j.push(o.properties[i].step, i)
			if o.properties[i].nullable {
				j.problem(0, "is required; to give none, give null")
			} else {
				j.problem(0, "is required")
			}
			j.pop()
		}
	}
	for w, absent := range o.absent {
		if absent&^j.sets[seen+w] != 0 {
			j.remain = true
		}
	}
	for k := range o.oneofs {
		one := &o.oneofs[k]
		given := 0
		for w, members := range one.members {
			given += bits.OnesCount64(members & j.sets[seen+w])
		}
		if given > 1 || one.required && given == 0 {
			rule := "give at most one of: "
			if one.required {
				rule = "give exactly one of: "
			}
			j.problem(len(o.properties)+k, rule+names(one.names))
		}
	}
	if undeclared > 0 {
		text := plural(undeclared, "undeclared property", "undeclared properties")
		if len(o.properties) == 0 {
			text += "; none is accepted here"
		} else {
			declared := make([]string, len(o.properties))
			for i := range o.properties {
				declared[i] = o.properties[i].name
			}
			text = fmt.Sprintf("%s; accepted: %s", text, names(declared))
		}
		if o.quiet {
			text += "; the schema in this dialect cannot say so here"
		}
		j.problem(len(o.properties)+len(o.oneofs), text)
	}
}
