package gatetest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// value judges one value by its node. A value of the wrong type is one problem, whatever is inside it.
func (j *judge) value(n *schema.Node, v value, path string) {
	if want, ok := wanted(n, v); !ok {
		if v.kind == 'n' {
			j.add(path, "%s; to give none, leave it out", want)
			return
		}
		j.add(path, "%s", want)
		return
	}
	switch n.Kind {
	case schema.Open, schema.OpenObject, schema.OpenArray:
		if !finite(v) {
			j.add(path, "must hold no number that a double cannot")
		}
	case schema.Object:
		j.object(n, v.members, path)
	case schema.Map:
		j.mapping(n, v, path)
	case schema.Array:
		j.array(n, v, path)
	case schema.AnyMessage:
		j.anyMessage(n, v, path)
	case schema.String:
		if text := j.gate.text(n, v.text); text != "" {
			j.add(path, "%s", text)
		}
	case schema.Integer:
		if text := integer(n, v.text); text != "" {
			j.add(path, "%s", text)
		}
	case schema.Number:
		if text := number(n, v.text); text != "" {
			j.add(path, "%s", text)
		}
	case schema.Boolean:
		if text := constants(n, func(l schema.Literal) bool { return l.Text == boolText(v) }); text != "" {
			j.add(path, "%s", text)
		}
	}
}

// wanted says in words which type a node wants, and whether the value has it.
func wanted(n *schema.Node, v value) (want string, ok bool) {
	switch n.Kind {
	case schema.Object, schema.Map, schema.OpenObject, schema.AnyMessage:
		return "must be an object", v.kind == '{'
	case schema.Array, schema.OpenArray:
		return "must be an array", v.kind == '['
	case schema.String:
		return "must be a string", v.kind == '"'
	case schema.Integer:
		return "must be an integer", v.kind == '0'
	case schema.Number:
		return "must be a number", v.kind == '0'
	case schema.Boolean:
		return "must be true or false", v.kind == 't' || v.kind == 'f'
	case schema.Null:
		return "must be null", v.kind == 'n'
	default:
		return "", true // any JSON is carried unjudged
	}
}

func boolText(v value) string {
	if v.kind == 't' {
		return "true"
	}
	return "false"
}

// finite reports whether every number inside a value fits a double, which is what an open value carries it in. Nothing
// else of an open value is judged.
func finite(v value) bool {
	if v.kind == '0' {
		_, err := strconv.ParseFloat(v.text, 64)
		return err == nil
	}
	for _, item := range v.items {
		if !finite(item) {
			return false
		}
	}
	for _, m := range v.members {
		if !finite(m.value) {
			return false
		}
	}
	return true
}

// object judges a message: its properties in their order, then its oneofs, then what is not declared.
func (j *judge) object(n *schema.Node, members []member, path string) {
	object := value{members: members}
	declared := make([]string, len(n.Properties))
	known := 0
	for i := range n.Properties {
		p := &n.Properties[i]
		declared[i] = p.Name
		v, present := object.member(p.Name)
		switch {
		case present:
			known++
			j.value(p.Node, v, join(path, p.Name))
		case p.Required:
			j.add(join(path, p.Name), "is required")
		}
	}
	for _, one := range n.Oneofs {
		given := 0
		for _, name := range one.Names {
			if _, present := object.member(name); present {
				given++
			}
		}
		switch {
		case one.Required && given != 1:
			j.add(path, "give exactly one of: %s", names(one.Names))
		case given > 1:
			j.add(path, "give at most one of: %s", names(one.Names))
		}
	}
	switch undeclared := len(members) - known; {
	case undeclared == 0:
	case len(declared) == 0:
		j.add(path, "%s; none is accepted here", plural(undeclared, "undeclared property", "undeclared properties"))
	default:
		j.add(path, "%s; accepted: %s", plural(undeclared, "undeclared property", "undeclared properties"), names(declared))
	}
}

// mapping judges a map. Its keys are the caller's and have one path.
func (j *judge) mapping(n *schema.Node, v value, path string) {
	if n.MinCount != nil && uint64(len(v.members)) < *n.MinCount {
		j.add(path, "must have at least %s", plural(int(*n.MinCount), "entry", "entries"))
	}
	if n.MaxCount != nil && uint64(len(v.members)) > *n.MaxCount {
		j.add(path, "must have at most %s", plural(int(*n.MaxCount), "entry", "entries"))
	}
	at := join(path, "{key}")
	for _, m := range v.members {
		if text := j.gate.text(n.Key, m.name); text != "" {
			j.add(path, "each key %s", text)
		}
		j.value(n.Elem.Node, m.value, at)
	}
}

func (j *judge) array(n *schema.Node, v value, path string) {
	if n.MinCount != nil && uint64(len(v.items)) < *n.MinCount {
		j.add(path, "must have at least %s", plural(int(*n.MinCount), "item", "items"))
	}
	if n.MaxCount != nil && uint64(len(v.items)) > *n.MaxCount {
		j.add(path, "must have at most %s", plural(int(*n.MaxCount), "item", "items"))
	}
	if n.Unique && repeats(v.items) {
		j.add(path, "must have no two equal items")
	}
	for _, item := range v.items {
		j.value(n.Elem.Node, item, path+"[]")
	}
}

// repeats reports two equal scalars: numbers are equal by value, however they are spelled.
func repeats(items []value) bool {
	seen := map[string]bool{}
	for _, item := range items {
		key := string(rune(item.kind)) + item.text
		if item.kind == '0' {
			if d, ok := schema.ParseDecimal(item.text); ok {
				key = "0" + d.String()
			}
		}
		if seen[key] {
			return true
		}
		seen[key] = true
	}
	return false
}

// anyMessage judges a google.protobuf.Any by the type that it names.
func (j *judge) anyMessage(n *schema.Node, v value, path string) {
	const key = "@type"
	at := join(path, key)
	named, present := v.member(key)
	if !present {
		j.add(at, "is required")
		return
	}
	for _, t := range n.Types {
		if named.kind == '"' && named.text == t.URL {
			rest := slices.DeleteFunc(slices.Clone(v.members), func(m member) bool { return m.name == key })
			j.object(t.Node, rest, path)
			return
		}
	}
	if len(n.Types) == 0 {
		j.add(at, "no type is accepted here")
		return
	}
	urls := make([]string, len(n.Types))
	for i, t := range n.Types {
		urls[i] = t.URL
	}
	j.add(at, "must be one of: %s", names(urls))
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return strings.Join([]string{path, name}, ".")
}
