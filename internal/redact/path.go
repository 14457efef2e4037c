package redact

import (
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// step is one step of a path in a service's words.
type step struct {
	name      string
	number    protoreflect.FieldNumber // 0 where the path has names only
	subscript bool                     // an index or a key instead of a name
}

// maxSteps is how long a path may be: nothing that a caller may send is deeper.
const maxSteps = 200

// published returns the published path that the steps lead to, and false where they lead to nothing published. A path
// into a value that is a text or open in JSON leads to that value.
func published(doc *schema.Document, steps []step) (string, bool) {
	if doc == nil || len(steps) == 0 || len(steps) > maxSteps {
		return "", false
	}
	var path strings.Builder
	n := doc.Root()
	for i := 0; i < len(steps); i++ {
		s := steps[i]
		switch n.Kind {
		case schema.Object:
			p := property(n, s)
			if p == nil {
				return "", false
			}
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			path.WriteString(p.Name)
			n = p.Node
		case schema.Array:
			path.WriteString("[]")
			n = n.Elem.Node
			if !s.subscript && !isIndex(s.name) {
				i-- // the service left the position out
			}
		case schema.Map:
			path.WriteString("." + keyStep)
			n = n.Elem.Node
		default:
			return path.String(), path.Len() > 0
		}
	}
	return path.String(), true
}

func isIndex(name string) bool { return name != "" && strings.Trim(name, "0123456789") == "" }

// property finds the property behind a field that a service names: by its number, by its name in protobuf, its JSON
// name, its published name, and last by letters and digits alone, as generated code spells it.
func property(n *schema.Node, s step) *schema.Property {
	if s.subscript {
		return nil
	}
	for _, is := range []func(*schema.Property) bool{
		func(p *schema.Property) bool { return p.Field != nil && s.number != 0 && p.Field.Number() == s.number },
		func(p *schema.Property) bool { return p.Field != nil && string(p.Field.Name()) == s.name },
		func(p *schema.Property) bool { return p.Field != nil && p.Field.TextName() == s.name },
		func(p *schema.Property) bool { return p.Field != nil && p.Field.JSONName() == s.name },
		func(p *schema.Property) bool { return p.Name == s.name },
		func(p *schema.Property) bool {
			return p.Field != nil && letters(string(p.Field.Name())) == letters(s.name)
		},
	} {
		for i := range n.Properties {
			if p := &n.Properties[i]; is(p) {
				return p
			}
		}
	}
	return nil
}

func letters(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// parsePath reads a path of google.rpc.BadRequest: names joined by dots, each with an index or a key in brackets or
// without. A path that cannot be read has no steps.
func parsePath(path string) []step {
	var steps []step
	rest := strings.TrimSpace(path)
	for rest != "" {
		switch rest[0] {
		case '.':
			rest = rest[1:]
			if rest == "" || rest[0] == '.' {
				return nil
			}
		case '[':
			end := subscriptEnd(rest)
			if end < 0 {
				return nil
			}
			steps = append(steps, step{subscript: true})
			rest = rest[end:]
		default:
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			steps = append(steps, step{name: rest[:end]})
			rest = rest[end:]
		}
		if len(steps) > maxSteps {
			return nil
		}
	}
	return steps
}

// subscriptEnd is the place behind the bracket that closes the one at the start of s; -1 if none does. A key in quotes
// may hold any.
func subscriptEnd(s string) int {
	quote := byte(0)
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ']':
			return i + 1
		}
	}
	return -1
}

// stepsOf are the steps of a path of protovalidate.
func stepsOf(path *validate.FieldPath) []step {
	var steps []step
	for _, e := range path.GetElements() {
		steps = append(steps, step{name: e.GetFieldName(), number: protoreflect.FieldNumber(e.GetFieldNumber())})
		if e.GetSubscript() != nil {
			steps = append(steps, step{subscript: true})
		}
		if len(steps) > maxSteps {
			return nil
		}
	}
	return steps
}
