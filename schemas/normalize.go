package schemas

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// MostBytes is the size up to which references are written out. Beyond it a repeated definition stays a reference: a
// small document can stand for an immense one.
const MostBytes = 256 << 10

// Normalize writes out every reference of a schema that can be: `$ref` to a definition of the same document, whatever
// keyword holds it. What is left is what cannot be written out:
//
//   - a cycle stays a reference, and its definition stands under `$defs`;
//   - a reference that cannot be read, because it leads nowhere or out of the document, becomes an object without shape.
//
// A keyword beside a reference wins over the definition's, as the words at the place of use are the closer ones
// (JSON Schema 2020-12 lets both hold; most readers of references take one). Keywords that are not about references stay
// as they are, in their order. The error is that of a text which is not one JSON object, duplicate names and invalid
// UTF-8 included; it says where that shows. Nothing is ever fetched.
func Normalize(schema []byte) ([]byte, error) {
	root, err := parse(schema)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	if root.kind != '{' {
		return nil, errors.New("read the schema: a schema of a tool is a JSON object")
	}
	n := &normalizer{root: root, kept: map[string]string{}, written: map[string]*tree{}}
	out := n.schema(root, nil)
	for i := 0; i < len(out.members); {
		if name := out.members[i].name; name == "$defs" || name == "definitions" {
			out.members = slices.Delete(out.members, i, i+1)
			continue
		}
		i++
	}
	// Definitions of cycles lead to others, which come along.
	for done := false; !done; {
		done = true
		for _, pointer := range slices.Sorted(maps.Keys(n.kept)) {
			if n.written[pointer] == nil {
				done = false
				n.written[pointer] = n.schema(n.target(pointer), []string{pointer})
			}
		}
	}
	if len(n.kept) > 0 {
		defs := &tree{kind: '{'}
		for _, pointer := range slices.Sorted(maps.Keys(n.kept)) {
			defs.members = append(defs.members, member{n.kept[pointer], n.written[pointer]})
		}
		out.set("$defs", defs)
	}
	return out.append(nil), nil
}

type normalizer struct {
	root *tree
	// kept are the names of the definitions that stay, by their pointer, and written what they are.
	kept    map[string]string
	written map[string]*tree
	// bytes is about how much was written out.
	bytes int
}

// schema copies a schema with its references written out. within are the pointers of the definitions that it stands in.
func (n *normalizer) schema(t *tree, within []string) *tree {
	switch t.kind {
	case '[':
		out := &tree{kind: '['}
		for _, item := range t.items {
			out.items = append(out.items, n.schema(item, within))
		}
		return out
	case '{':
	default:
		return t
	}
	if pointer, ok := t.get("$ref").string(); ok {
		return n.reference(t, pointer, within)
	}
	out := &tree{kind: '{'}
	for _, m := range t.members {
		switch {
		case slices.Contains(literal, m.name), m.name == "$defs" || m.name == "definitions":
			out.members = append(out.members, m)
		case slices.Contains(named, m.name) && m.value.kind == '{':
			inner := &tree{kind: '{'}
			for _, p := range m.value.members {
				inner.members = append(inner.members, member{p.name, n.schema(p.value, within)})
			}
			out.members = append(out.members, member{m.name, inner})
		default:
			out.members = append(out.members, member{m.name, n.schema(m.value, within)})
		}
	}
	return out
}

// Keywords whose values are data and no schemas, and those whose members are named by the author and are schemas.
var (
	literal = []string{"const", "enum", "default", "examples", "required", "type", "title", "description"}
	named   = []string{"properties", "patternProperties", "dependentSchemas"}
)

func (n *normalizer) reference(t *tree, pointer string, within []string) *tree {
	target := n.target(pointer)
	if target == nil {
		shapeless := &tree{kind: '{', members: []member{{"type", &tree{kind: '"', text: []byte(`"object"`)}}}}
		return n.beside(shapeless, t, within)
	}
	if slices.Contains(within, pointer) || n.bytes > MostBytes {
		name := n.keep(pointer)
		quoted := []byte(strconv.Quote("#/$defs/" + name)) // a name of ours: letters, digits and _.-
		ref := &tree{kind: '{', members: []member{{"$ref", &tree{kind: '"', text: quoted}}}}
		return n.beside(ref, t, within)
	}
	n.bytes += target.size()
	return n.beside(n.schema(target, append(slices.Clone(within), pointer)), t, within)
}

// beside puts the keywords that stand beside a reference over those of what it stands for.
func (n *normalizer) beside(target, use *tree, within []string) *tree {
	if len(use.members) == 1 {
		return target
	}
	if target.kind != '{' {
		return target // true or false, which take no keywords
	}
	out := &tree{kind: '{', members: slices.Clone(target.members)}
	for _, m := range use.members {
		if m.name == "$ref" || m.name == "$defs" || m.name == "definitions" {
			continue
		}
		one := n.schema(&tree{kind: '{', members: []member{m}}, within)
		out.set(m.name, one.members[0].value)
	}
	return out
}

// target finds the schema that a reference into the document leads to, over references that are nothing else; nil where
// there is none.
func (n *normalizer) target(pointer string) *tree {
	seen := map[string]bool{}
	for {
		if seen[pointer] {
			return nil // it leads to nothing but itself
		}
		seen[pointer] = true
		at := n.resolve(pointer)
		if at == nil || at.kind != '{' && at.kind != 't' && at.kind != 'f' {
			return nil
		}
		next, ok := at.get("$ref").string()
		if !ok || len(at.members) > 1 {
			return at
		}
		pointer = next
	}
}

// resolve follows one pointer (RFC 6901, as a fragment of a URI) and no further.
func (n *normalizer) resolve(pointer string) *tree {
	if pointer == "#" {
		return n.root
	}
	path, ok := strings.CutPrefix(pointer, "#/")
	if !ok {
		return nil
	}
	at := n.root
	for step := range strings.SplitSeq(path, "/") {
		if unescaped, err := url.PathUnescape(step); err == nil {
			step = unescaped
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch at.kind {
		case '{':
			at = at.get(step)
		case '[':
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(at.items) {
				return nil
			}
			at = at.items[i]
		default:
			return nil
		}
		if at == nil {
			return nil
		}
	}
	return at
}

// keep gives the name under which a definition stays: the last step of its pointer, made unique.
func (n *normalizer) keep(pointer string) string {
	if name := n.kept[pointer]; name != "" {
		return name
	}
	base := "root"
	if i := strings.LastIndexByte(pointer, '/'); i >= 0 {
		base = strings.Map(func(r rune) rune {
			switch {
			case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.', r == '-':
				return r
			}
			return '_'
		}, pointer[i+1:])
	}
	name := base
	for i := 2; slices.Contains(slices.Collect(maps.Values(n.kept)), name); i++ {
		name = base + strconv.Itoa(i)
	}
	n.kept[pointer] = name
	return name
}
