package schematest

import (
	"math"
	"slices"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Arguments draws a JSON text that a node accepts, in any of its spellings; below the depth only what is required is
// given. A node that no finite document satisfies skips the test.
func Arguments(t *rapid.T, n *schema.Node, depth int) string {
	return NewDrawer(n).Arguments(t, depth)
}

// Drawer draws documents for one node, and keeps what it found out about the nodes below it. It is not safe for
// concurrent use.
type Drawer struct {
	root    *schema.Node
	heights map[*schema.Node]int
	leaves  map[*schema.Node]*leaf
}

// NewDrawer studies a node and what is below it.
func NewDrawer(n *schema.Node) *Drawer {
	d := &Drawer{root: n, heights: map[*schema.Node]int{}, leaves: map[*schema.Node]*leaf{}}
	d.measure()
	return d
}

// Satisfiable reports whether the drawer knows a document that its node accepts.
func (d *Drawer) Satisfiable() bool { return d.heights[d.root] < endless }

// Arguments draws a JSON text that the drawer's node accepts, like the function of that name.
func (d *Drawer) Arguments(t *rapid.T, depth int) string {
	if !d.Satisfiable() {
		t.Skip("no document satisfies the drawn schema")
	}
	return rapid.Custom(func(t *rapid.T) string {
		return spell(t, d.value(t, d.root, depth))
	}).Draw(t, "arguments")
}

// endless is the height of a node that no finite document satisfies.
const endless = math.MaxInt32

// measure finds how deep the least document of every node is.
func (d *Drawer) measure() {
	var order []*schema.Node
	var collect func(n *schema.Node)
	collect = func(n *schema.Node) {
		if _, known := d.heights[n]; known {
			return
		}
		d.heights[n] = endless
		for i := range n.Properties {
			collect(n.Properties[i].Node)
		}
		if n.Key != nil {
			collect(n.Key)
		}
		if n.Elem != nil {
			collect(n.Elem.Node)
		}
		for _, t := range n.Types {
			collect(t.Node)
		}
		order = append(order, n)
	}
	collect(d.root)
	for changed := true; changed; {
		changed = false
		for _, n := range order {
			if h := d.height(n); h < d.heights[n] {
				d.heights[n] = h
				changed = true
			}
		}
	}
}

func (d *Drawer) height(n *schema.Node) int {
	above := func(inner int) int {
		if inner == endless {
			return endless
		}
		return inner + 1
	}
	switch n.Kind {
	case schema.Object:
		most := 0
		need := func(h int) { most = max(most, above(h)) }
		for i := range n.Properties {
			if n.Properties[i].Required {
				need(d.heights[n.Properties[i].Node])
			}
		}
		for _, one := range n.Oneofs {
			if one.Required {
				need(d.heights[d.lowest(n, one.Names)])
			}
		}
		return most
	case schema.Map:
		count := low(n.MinCount)
		switch {
		case n.MaxCount != nil && count > low(n.MaxCount):
			return endless
		case count == 0:
			return 1
		case d.heights[n.Key] == endless || d.leaf(n.Key).capacity() < count:
			return endless
		}
		return above(d.heights[n.Elem.Node])
	case schema.Array:
		count := low(n.MinCount)
		switch {
		case n.MaxCount != nil && count > low(n.MaxCount):
			return endless
		case count == 0:
			return 1
		case n.Unique && d.leaf(n.Elem.Node).capacity() < count:
			return endless
		}
		return above(d.heights[n.Elem.Node])
	case schema.AnyMessage:
		least := endless
		for _, t := range n.Types {
			least = min(least, above(d.heights[t.Node]))
		}
		return least
	case schema.String, schema.Integer, schema.Number, schema.Boolean, schema.Null:
		if !plain(n) && d.leaf(n).capacity() == 0 {
			return endless
		}
	}
	return 0
}

// plain reports a scalar without rules, which can always be given.
func plain(n *schema.Node) bool {
	return n.Enum == nil && len(n.Not) == 0 && n.Format == "" && n.MinLength == nil && n.MaxLength == nil &&
		(n.Pattern == "" || n.Form != schema.Text) && n.Lower == nil && (n.Min == nil || n.Min.Cmp(n.Max) <= 0)
}

// lowest is the node of the property, of those named, that needs the least.
func (d *Drawer) lowest(n *schema.Node, names []string) *schema.Node {
	var best *schema.Node
	for i := range n.Properties {
		p := &n.Properties[i]
		if slices.Contains(names, p.Name) && (best == nil || d.heights[p.Node] < d.heights[best]) {
			best = p.Node
		}
	}
	return best
}

func low(count *uint64) int {
	if count == nil {
		return 0
	}
	return int(*count)
}

// value draws one value of a node that can be satisfied.
func (d *Drawer) value(t *rapid.T, n *schema.Node, depth int) *Value {
	switch n.Kind {
	case schema.Object:
		return d.object(t, n, depth)
	case schema.Map:
		v := objectValue()
		for _, key := range d.distinct(t, n.Key, d.count(t, n, depth, n.Key)) {
			v.Members = append(v.Members, Member{key.Text, d.value(t, n.Elem.Node, depth-1)})
		}
		return v
	case schema.Array:
		if n.Unique {
			return arrayValue(d.distinct(t, n.Elem.Node, d.count(t, n, depth, n.Elem.Node))...)
		}
		v := arrayValue()
		for range d.count(t, n, depth, nil) {
			v.Items = append(v.Items, d.value(t, n.Elem.Node, depth-1))
		}
		return v
	case schema.Open, schema.OpenObject, schema.OpenArray:
		return open(t, n.Kind, min(depth, 3))
	case schema.AnyMessage:
		return d.anyMessage(t, n, depth)
	default:
		return d.leaf(n).draw(t)
	}
}

func (d *Drawer) object(t *rapid.T, n *schema.Node, depth int) *Value {
	// Of each oneof one member at most, and one where it must.
	excluded, needed := map[string]bool{}, map[string]bool{}
	for _, one := range n.Oneofs {
		chosen := d.member(t, n, one, depth)
		for _, name := range one.Names {
			excluded[name] = name != chosen
		}
		needed[chosen] = one.Required
	}
	v := objectValue()
	for i := range n.Properties {
		p := &n.Properties[i]
		given := p.Required || needed[p.Name]
		if !given && depth > 0 && !excluded[p.Name] && d.heights[p.Node] < endless {
			if p.Node.Kind == schema.Object || p.Node.Kind == schema.Array || p.Node.Kind == schema.Map || p.Node.Kind == schema.AnyMessage {
				given = between(t, 0, 4) >= 5-min(depth, 3) // what branches, less often, so that documents stay small
			} else {
				given = rapid.Bool().Draw(t, "given")
			}
		}
		if given {
			v.Members = append(v.Members, Member{p.Name, d.value(t, p.Node, depth-1)})
		}
	}
	return v
}

// member draws which member of a oneof may be given: the required one if there is any, else one that can be. Too deep,
// it is one that needs the least.
func (d *Drawer) member(t *rapid.T, n *schema.Node, one schema.Oneof, depth int) string {
	var usable []string
	least := d.heights[d.lowest(n, one.Names)]
	for _, name := range one.Names {
		p := n.Property(name)
		if p.Required {
			return name
		}
		if h := d.heights[p.Node]; h < endless && (depth > 0 || h == least) {
			usable = append(usable, name)
		}
	}
	if len(usable) == 0 {
		return ""
	}
	return pick(t, usable)
}

// count draws how many items or entries there are; distinct ones are no more than there can be.
func (d *Drawer) count(t *rapid.T, n *schema.Node, depth int, distinct *schema.Node) int {
	least := low(n.MinCount)
	if depth <= 0 || d.heights[n.Elem.Node] == endless || n.Key != nil && d.heights[n.Key] == endless {
		return least
	}
	most := least + 2
	if n.MaxCount != nil {
		most = min(most, int(*n.MaxCount))
	}
	if distinct != nil {
		most = min(most, d.leaf(distinct).capacity())
	}
	return between(t, least, max(most, least))
}

// distinct draws so many scalars of which no two are equal.
func (d *Drawer) distinct(t *rapid.T, n *schema.Node, count int) []*Value {
	var list []*Value
	seen := map[string]bool{}
	add := func(v *Value) {
		if key := identity(v); len(list) < count && !seen[key] {
			seen[key] = true
			list = append(list, v)
		}
	}
	if count > 0 {
		for range 2 * count {
			add(d.value(t, n, 0))
		}
		for i := 0; len(list) < count && i < 1000; i++ {
			add(d.leaf(n).nth(i))
		}
	}
	return list
}

// identity is the same text for equal scalars.
func identity(v *Value) string {
	if v.Kind == '0' {
		if d, ok := schema.ParseDecimal(v.Text); ok {
			return "0" + d.String()
		}
	}
	return string(rune(v.Kind)) + v.Text
}

func (d *Drawer) anyMessage(t *rapid.T, n *schema.Node, depth int) *Value {
	var usable []schema.AnyType
	for _, named := range n.Types {
		if d.heights[named.Node] < endless && (depth > 0 || d.heights[named.Node]+1 == d.heights[n]) {
			usable = append(usable, named)
		}
	}
	named := pick(t, usable)
	v := d.object(t, named.Node, depth-1)
	v.Members = slices.Insert(v.Members, between(t, 0, len(v.Members)), Member{typeKey, stringValue(named.URL)})
	return v
}

// open draws any JSON of a kind, which nobody judges.
func open(t *rapid.T, kind schema.Kind, depth int) *Value {
	form := between(t, 0, 6)
	switch {
	case kind == schema.OpenObject || kind == schema.Open && form == 5 && depth > 0:
		v := objectValue()
		for _, name := range []string{"x", "", "__proto__", "@type", "é\u0001"} {
			if between(t, 0, 2) == 2 {
				v.Members = append(v.Members, Member{name, open(t, schema.Open, depth-1)})
			}
		}
		return v
	case kind == schema.OpenArray || kind == schema.Open && form == 6 && depth > 0:
		v := arrayValue()
		for range between(t, 0, 3) {
			v.Items = append(v.Items, open(t, schema.Open, depth-1))
		}
		return v
	}
	switch form {
	case 1:
		return boolValue(rapid.Bool().Draw(t, "flag"))
	case 2:
		return numberValue(pick(t, []string{"0", "-0", "1", "1.5", "-1e300", "9007199254740993", "0.1", "5e-324", "1e-400"}))
	case 3, 4:
		return stringValue(pick(t, []string{"", "x", "a\u0000\u001f\"\\/", "😀\u2028\ufeff", "NaN", "1"}))
	default:
		return &Value{Kind: 'n'}
	}
}
