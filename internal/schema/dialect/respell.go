package dialect

import (
	"slices"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// inlineBudget is the size in bytes up to which types that occur again are written out again where references are not
// to be had.
const inlineBudget = 32 << 10

// Input gives the document by which arguments are published and judged in the dialect. It is canonical itself for
// [Canonical].
func (d Dialect) Input(canonical *schema.Document) *schema.Document {
	return d.respell(canonical, &spellings[d])
}

// Output gives the document of results. A model generates none, so that the dialect's keywords alone count, and neither
// closed objects nor required properties.
func (d Dialect) Output(canonical *schema.Document) *schema.Document {
	s := spellings[d]
	s.closed, s.strict, s.style.EmptyRequired = false, false, false
	return d.respell(canonical, &s)
}

func (d Dialect) respell(canonical *schema.Document, s *spelling) *schema.Document {
	if d == Canonical {
		return canonical
	}
	r := newRespeller(s)
	root := r.place(canonical.Place())
	if s.closed && canonical.Root().Kind != schema.Object {
		// The arguments are an object, and an open one cannot be had: its text is the one property.
		root.Node = &schema.Node{Kind: schema.Object, Properties: []schema.Property{{
			Name: schema.WrappedName, Required: true, Place: schema.Place{Node: canonical.Root()},
		}}}
	}
	if s.style.Inline {
		r.spread(root)
	} else {
		root.Node = r.shared(root.Node)
	}
	return canonical.Respell(root, &s.style, d.ChangesArguments())
}

// respeller copies a graph. The original is shared by everybody and stays as it is.
type respeller struct {
	spelling *spelling
	copies   map[*schema.Node]*schema.Node
	// written are the types that were written out, as they were first, and size is what that took so far.
	written map[*schema.Node]*schema.Node
	size    int
	// texts spells what stands within sentences.
	texts *respeller
}

func newRespeller(s *spelling) *respeller {
	return &respeller{spelling: s, copies: map[*schema.Node]*schema.Node{}, written: map[*schema.Node]*schema.Node{}}
}

// shared copies a node with all that it leads to. What leads to one node in the original does so in the copy.
func (r *respeller) shared(n *schema.Node) *schema.Node {
	if c := r.copies[n]; c != nil {
		return c
	}
	c := new(schema.Node)
	r.copies[n] = c // before what it leads to, which may lead back
	*c = *r.node(n)
	for _, p := range places(c) {
		p.Node = r.shared(p.Node)
	}
	return c
}

// slot is a place that still holds a node of the original, and the types that it stands within.
type slot struct {
	place  *schema.Place
	within *chain
}

type chain struct {
	node  *schema.Node
	outer *chain
}

func (c *chain) holds(n *schema.Node) bool {
	for ; c != nil; c = c.outer {
		if c.node == n {
			return true
		}
	}
	return false
}

// spread writes out every reference below a place, the outermost ones first. A reference that closes a cycle is broken,
// and so are those to types that were written out before, from when the document is as large as it may be: the deepest
// ones, that is.
func (r *respeller) spread(root *schema.Place) {
	queue := []slot{{root, nil}}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		n := s.place.Node
		if n.Type == "" {
			queue = r.write(s, queue)
			continue
		}
		cycle := s.within.holds(n)
		if cycle || r.written[n] != nil && r.size > inlineBudget {
			s.place.Node = r.broken(n, cycle)
			r.size += schema.Cost(s.place, &r.spelling.style)
			continue
		}
		s.within = &chain{n, s.within}
		queue = r.write(s, queue)
		if r.written[n] == nil {
			r.written[n] = s.place.Node
		}
	}
}

// write writes a node out, and at once what is within it and is no type, so that the size is that of all that is seen.
// The types within are added to the queue.
func (r *respeller) write(s slot, queue []slot) []slot {
	s.place.Node = r.node(s.place.Node)
	s.place.Node.Type = "" // nothing refers to it
	r.size += schema.Cost(s.place, &r.spelling.style)
	for _, p := range places(s.place.Node) {
		if p.Node.Type == "" {
			queue = r.write(slot{p, s.within}, queue)
		} else {
			queue = append(queue, slot{p, s.within})
		}
	}
	return queue
}

// broken stands for a type that was written out before. It says how that is called, and accepts whatever the type does;
// where objects are closed, in a text.
func (r *respeller) broken(n *schema.Node, cycle bool) *schema.Node {
	if n.Kind != schema.Object {
		return r.node(n) // an enum has nothing within
	}
	name := simpleName(n.Type)
	r.call(r.written[n], name)
	repeats := "Repeats the structure of " + name
	if cycle {
		repeats += ", to any depth"
	}
	b := &schema.Node{Kind: schema.OpenObject, Title: name, Notes: []string{repeats + "."}, Deprecated: n.Deprecated}
	if r.spelling.closed {
		b.Kind, b.Form, b.Inner = schema.String, schema.JSONText, n
		b.Notes = []string{
			repeats + ", with maps as objects and open values as they are.",
			"Give it as the JSON text of " + texts[n.Kind] + ".",
		}
	}
	r.say(b)
	return b
}

// call has a type say what it is called where it was first written out.
func (r *respeller) call(first *schema.Node, name string) {
	if r.spelling.style.Has("title") {
		if first.Title == "" {
			first.Title = name
		}
	} else if note := "This is " + name + "."; !slices.Contains(first.Notes, note) {
		first.Notes = append(first.Notes, note)
	}
}

// node copies a node by itself: its places still lead to the original's nodes.
func (r *respeller) node(n *schema.Node) *schema.Node {
	c := *n
	c.Notes = slices.Clone(n.Notes)
	c.Properties = slices.Clone(n.Properties)
	for i := range c.Properties {
		p := &c.Properties[i]
		p.Place = *r.place(&p.Place)
		if r.spelling.strict && !p.Required {
			p.Required, p.Nullable = true, true
		}
	}
	if n.Elem != nil {
		c.Elem = r.place(n.Elem)
	}
	if r.spelling.closed {
		r.closed(&c, n)
	}
	r.say(&c)
	return &c
}

// closed turns what has keys of the caller's into what has none.
func (r *respeller) closed(c, n *schema.Node) {
	switch n.Kind {
	case schema.Map:
		c.Kind = schema.Pairs
		key := *n.Key
		key.Notes = slices.Clone(n.Key.Notes)
		c.Key = &key
		r.say(&key)
		c.Notes = append(c.Notes, "One object for each entry, no key twice.")
	case schema.Open, schema.OpenObject, schema.OpenArray, schema.AnyMessage:
		*c = schema.Node{
			Kind: schema.String, Form: schema.JSONText, Inner: n, Description: n.Description, Deprecated: n.Deprecated,
			Notes: append(slices.Clone(n.Notes), "Give it as the JSON text of "+texts[n.Kind]+"."),
		}
	}
}

var texts = map[schema.Kind]string{
	schema.Open: "any value", schema.OpenObject: "an object", schema.OpenArray: "an array", schema.AnyMessage: "an object",
	schema.Object: "an object",
}

// place copies a place by itself.
func (r *respeller) place(p *schema.Place) *schema.Place {
	c := *p
	c.Notes = slices.Clone(p.Notes)
	r.sayPlace(&c)
	return &c
}

// places are the places within a node.
func places(n *schema.Node) []*schema.Place {
	var all []*schema.Place
	for i := range n.Properties {
		all = append(all, &n.Properties[i].Place)
	}
	if n.Elem != nil {
		all = append(all, n.Elem)
	}
	return all
}
