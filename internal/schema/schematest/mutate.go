package schematest

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Mutants draws a JSON text near one that a node accepts: up to three changes at any depth, each of a kind that a
// careless or a hostile caller makes. It is still one JSON value without duplicate names, and now and then it is
// still acceptable: what it tests is that all judges say the same. The second result says in words what was done.
func Mutants(t *rapid.T, n *schema.Node, arguments string) (mutant, what string) {
	return NewDrawer(n).Mutants(t, arguments)
}

// Mutants draws a JSON text near one that the drawer's node accepts, like the function of that name.
func (d *Drawer) Mutants(t *rapid.T, arguments string) (mutant, what string) {
	v, err := Parse([]byte(arguments))
	if err != nil {
		t.Fatalf("mutate %s: %v", arguments, err)
	}
	// Drawn as one value, so that rapid prints it and not every choice on the way.
	m := rapid.Custom(func(t *rapid.T) mutation {
		root := v.clone()
		var done []string
		for range between(t, 1, 3) {
			done = append(done, d.mutate(t, root))
		}
		return mutation{spell(t, root), strings.Join(done, "; ")}
	}).Draw(t, "mutant")
	return m.Text, m.What
}

type mutation struct{ Text, What string }

// Mutant draws a text near a valid one that JSON Schema refuses: a property that is not declared, or one of another
// type. It returns false where the drawn place allows none.
func Mutant(t *rapid.T, n *schema.Node, arguments string) (string, bool) {
	v, err := Parse([]byte(arguments))
	if err != nil || n.Kind != schema.Object {
		return "", false
	}
	if rapid.Bool().Draw(t, "undeclared") {
		v.Members = append(v.Members, Member{"not_declared_anywhere", numberValue("1")})
		return spell(t, v), true
	}
	var wrong []Member
	for i := range n.Properties {
		p := &n.Properties[i]
		if v.Get(p.Name) != nil {
			continue
		}
		switch p.Node.Kind {
		case schema.String, schema.Integer, schema.Number, schema.Object, schema.Map, schema.AnyMessage, schema.Null:
			wrong = append(wrong, Member{p.Name, arrayValue(boolValue(true))})
		case schema.Array, schema.Boolean:
			wrong = append(wrong, Member{p.Name, stringValue("x")})
		}
	}
	if len(wrong) == 0 {
		return "", false
	}
	v.Members = append(v.Members, pick(t, wrong))
	return spell(t, v), true
}

// site is one value of a document, and the node that judges it.
type site struct {
	node *schema.Node
	v    *Value
	path string
	// drop takes the value out of what holds it; nil at the root.
	drop func()
}

func sites(n *schema.Node, v *Value, path string, drop func(), list []site) []site {
	list = append(list, site{n, v, path, drop})
	member := func(name string) func() {
		return func() {
			v.Members = slices.DeleteFunc(v.Members, func(m Member) bool { return m.Name == name })
		}
	}
	properties := func(n *schema.Node) {
		for _, m := range v.Members {
			if p := n.Property(m.Name); p != nil {
				list = sites(p.Node, m.Value, path+"."+m.Name, member(m.Name), list)
			}
		}
	}
	switch n.Kind {
	case schema.Object:
		properties(n)
	case schema.Map:
		for _, m := range v.Members {
			list = sites(n.Elem.Node, m.Value, path+".{key}", member(m.Name), list)
		}
	case schema.Array:
		for _, item := range v.Items {
			drop := func() {
				v.Items = slices.DeleteFunc(v.Items, func(o *Value) bool { return o == item })
			}
			list = sites(n.Elem.Node, item, path+"[]", drop, list)
		}
	case schema.AnyMessage:
		if inner := namedType(n, v); inner != nil {
			properties(inner)
		}
	}
	return list
}

// change is one way to change a site.
type change struct {
	what string
	do   func()
}

// mutate changes one value of a document and says what it did.
func (d *Drawer) mutate(t *rapid.T, root *Value) string {
	all := sites(d.root, root, "arguments", nil, nil)
	if len(all) > 1 && percent(t, 70) {
		all = all[1:] // below the root
	}
	s := pick(t, all)
	var changes []change
	add := func(what string, do func()) { changes = append(changes, change{what, do}) }
	to := func(what string, values ...*Value) {
		for _, v := range values {
			add(what+" "+v.String(), func() { *s.v = *v.clone() })
		}
	}
	switch s.node.Kind {
	case schema.Object:
		d.mutateObject(t, s.node, s.v, add)
	case schema.AnyMessage:
		d.mutateAny(t, s.node, s.v, add)
	case schema.Map:
		d.mutateMap(t, s.node, s.v, add)
	case schema.Array:
		d.mutateArray(t, s.node, s.v, add)
	case schema.OpenObject, schema.OpenArray, schema.Open:
		to("becomes", numberValue("1e400"), arrayValue(numberValue("-1e309")), objectValue(Member{"a", numberValue("1e308")}))
	default:
		to("becomes", Near(s.node, s.v)...)
	}
	if len(changes) == 0 || percent(t, 15) {
		changes = changes[:0]
		to("turns into", &Value{Kind: 'n'}, boolValue(true), numberValue("7"), numberValue("1.5"), stringValue("x"), stringValue("7"), stringValue("true"),
			arrayValue(), objectValue(), arrayValue(s.v.clone()), objectValue(Member{"value", s.v.clone()}), arrayValue(boolValue(true)))
		if s.drop != nil {
			add("is gone", s.drop)
		}
	}
	c := pick(t, changes)
	c.do()
	return s.path + " " + c.what
}

func put(v *Value, name string, value *Value) {
	if v.Kind != '{' {
		return
	}
	for i := range v.Members {
		if v.Members[i].Name == name {
			v.Members[i].Value = value
			return
		}
	}
	v.Members = append(v.Members, Member{name, value})
}

func (d *Drawer) mutateObject(t *rapid.T, n *schema.Node, v *Value, add func(string, func())) {
	for _, name := range []string{"not_declared", "", "__proto__", "constructor", "@type", "$ref", "toString", "value", "\x00"} {
		if n.Property(name) == nil {
			add("gets the undeclared "+quoted(name), func() { put(v, name, numberValue("1")) })
		}
	}
	if len(n.Properties) > 0 {
		p := &n.Properties[between(t, 0, len(n.Properties)-1)]
		d.mutateProperty(t, n, p, v, add)
		if p.Field != nil {
			fields := p.Field.ContainingMessage().Fields()
			fd := fields.Get(between(t, 0, fields.Len()-1))
			for _, name := range []string{fd.JSONName(), string(fd.Name())} {
				add("gets the field "+quoted(name), func() { put(v, name, d.some(t, n, fd)) })
			}
		}
	}
	if len(n.Oneofs) > 0 {
		one := pick(t, n.Oneofs)
		add("gets all of a oneof", func() {
			for _, name := range one.Names {
				if p := n.Property(name); v.Get(name) == nil && d.heights[p.Node] < endless {
					put(v, name, d.value(t, p.Node, 0))
				}
			}
		})
		add("gets none of a oneof", func() {
			v.Members = slices.DeleteFunc(v.Members, func(m Member) bool { return slices.Contains(one.Names, m.Name) })
		})
	}
}

// some is a value of a field that may not be declared under the name that is used.
func (d *Drawer) some(t *rapid.T, n *schema.Node, fd protoreflect.FieldDescriptor) *Value {
	for i := range n.Properties {
		if p := &n.Properties[i]; p.Field == fd && d.heights[p.Node] < endless {
			return d.value(t, p.Node, 0)
		}
	}
	return stringValue("x")
}

func (d *Drawer) mutateProperty(t *rapid.T, n *schema.Node, p *schema.Property, v *Value, add func(string, func())) {
	name := p.Name
	add(quoted(name)+" is null", func() { put(v, name, &Value{Kind: 'n'}) })
	add(quoted(name)+" is gone", func() {
		v.Members = slices.DeleteFunc(v.Members, func(m Member) bool { return m.Name == name })
	})
	if d.heights[p.Node] < endless {
		add(quoted(name)+" is drawn anew", func() { put(v, name, d.value(t, p.Node, 1)) })
	}
	value := v.Get(name)
	if value == nil {
		return
	}
	spellings := []string{strings.ToUpper(name), strings.ToLower(name), name + " ", " " + name, name + "\x00", name + "_", strings.ReplaceAll(name, "_", "")}
	if p.Field != nil {
		spellings = append(spellings, p.Field.JSONName(), string(p.Field.Name()), p.Field.TextName())
	}
	for _, other := range spellings {
		if other == name {
			continue
		}
		add(quoted(name)+" is also spelled "+quoted(other), func() { put(v, other, value.clone()) })
		add(quoted(name)+" is spelled "+quoted(other), func() {
			v.Members = slices.DeleteFunc(v.Members, func(m Member) bool { return m.Name == name })
			put(v, other, value)
		})
	}
}

func (d *Drawer) mutateAny(t *rapid.T, n *schema.Node, v *Value, add func(string, func())) {
	drop := func() {
		v.Members = slices.DeleteFunc(v.Members, func(m Member) bool { return m.Name == typeKey })
	}
	add("loses its @type", drop)
	named, _, _ := strings.Cut(v.String(), "\x00")
	if inner := v.Get(typeKey); inner != nil {
		named = inner.Text
	}
	for _, url := range []string{"type.googleapis.com/none.Such", "", named + " ", "evil.example/" + named[strings.LastIndexByte(named, '/')+1:], named[strings.LastIndexByte(named, '/')+1:], "type.googleapis.com/google.protobuf.Struct"} {
		add("names "+quoted(url), func() { put(v, typeKey, stringValue(url)) })
	}
	add("names a number", func() { put(v, typeKey, numberValue("7")) })
	add("names a list", func() { put(v, typeKey, arrayValue(stringValue(named))) })
	if len(n.Types) > 0 {
		other := pick(t, n.Types)
		add("names "+quoted(other.URL), func() { put(v, typeKey, stringValue(other.URL)) })
	}
	add("gets a value", func() { put(v, "value", objectValue()) })
	if inner := namedType(n, v); inner != nil {
		d.mutateObject(t, inner, v, add)
	}
}

func (d *Drawer) mutateMap(t *rapid.T, n *schema.Node, v *Value, add func(string, func())) {
	element := func() *Value {
		if d.heights[n.Elem.Node] == endless {
			return &Value{Kind: 'n'}
		}
		return d.value(t, n.Elem.Node, 0)
	}
	key := stringValue("")
	if len(v.Members) > 0 {
		key = stringValue(v.Members[0].Name)
	}
	for _, other := range Near(n.Key, key) {
		if other.Kind == '"' {
			add("gets the key "+other.String(), func() { put(v, other.Text, element()) })
		}
	}
	for _, name := range []string{"__proto__", "constructor", "x", "01", "-0", "1.0", "TRUE", "1e2"} {
		add("gets the key "+quoted(name), func() { put(v, name, element()) })
	}
	add("has too few entries", func() { v.Members = v.Members[:min(len(v.Members), max(low(n.MinCount)-1, 0))] })
	most := 3
	if n.MaxCount != nil {
		most = int(*n.MaxCount)
	}
	add("has more entries", func() {
		for i := 0; len(v.Members) < most+1 && i < 20 && d.leaf(n.Key).capacity() > 0; i++ {
			put(v, d.leaf(n.Key).nth(i).Text, element())
		}
	})
}

func (d *Drawer) mutateArray(t *rapid.T, n *schema.Node, v *Value, add func(string, func())) {
	add("has too few items", func() { v.Items = v.Items[:min(len(v.Items), max(low(n.MinCount)-1, 0))] })
	add("holds null", func() { v.Items = append(v.Items, &Value{Kind: 'n'}) })
	most := 3
	if n.MaxCount != nil {
		most = int(*n.MaxCount)
	}
	if d.heights[n.Elem.Node] < endless {
		add("has more items", func() {
			for len(v.Items) < most+1 {
				v.Items = append(v.Items, d.value(t, n.Elem.Node, 0))
			}
		})
	}
	if len(v.Items) > 0 {
		item := v.Items[0]
		add("repeats an item", func() { v.Items = append(v.Items, item.clone()) })
		if item.Kind == '0' {
			add("repeats an item in another spelling", func() { v.Items = append(v.Items, respelled(item)...) })
		}
	}
}

// respelled is the same number written otherwise.
func respelled(v *Value) []*Value {
	if strings.ContainsAny(v.Text, ".eE") {
		return []*Value{v.clone()}
	}
	return []*Value{numberValue(v.Text + ".0")}
}
