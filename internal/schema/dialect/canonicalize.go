package dialect

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Canonicalize undoes what a dialect changes about arguments: a null that stands for absence is dropped, pairs become
// an object, and JSON texts what they spell. doc is the dialect's document, by which the gate has accepted the
// arguments; what it would not accept is left as it is wherever it stands. It is for whoever reads arguments beside the
// gate, which undoes the same while it judges.
func Canonicalize(doc *schema.Document, arguments []byte) []byte {
	var out bytes.Buffer
	root := doc.Root()
	if p := wrapping(root); p != nil {
		// The text is the arguments themselves.
		if text := member(arguments, p.Name); text.Kind() == '"' {
			if inner, err := jsontext.AppendUnquote(nil, text); err == nil && jsontext.Value(inner).IsValid() {
				return inner
			}
		}
		return arguments
	}
	canonicalize(&out, root, bytes.TrimSpace(arguments))
	return out.Bytes()
}

// wrapping gives the one property of a root that only wraps the text of open arguments.
func wrapping(root *schema.Node) *schema.Property {
	if root.Kind == schema.Object && len(root.Properties) == 1 {
		p := &root.Properties[0]
		if p.Field == nil && p.Node.Form == schema.JSONText && p.Node.Kind == schema.String &&
			p.Node.Inner.Kind != schema.Open && p.Node.Inner.Kind != schema.OpenArray {
			return p
		}
	}
	return nil
}

func canonicalize(out *bytes.Buffer, n *schema.Node, value jsontext.Value) {
	switch kind := value.Kind(); {
	case n.Kind == schema.Object && kind == '{':
		object(out, value, func(name string) (*schema.Place, bool) {
			for i := range n.Properties {
				if n.Properties[i].Name == name {
					return &n.Properties[i].Place, true
				}
			}
			return nil, false
		})
	case n.Kind == schema.Map && kind == '{':
		object(out, value, func(string) (*schema.Place, bool) { return n.Elem, true })
	case n.Kind == schema.Array && kind == '[':
		out.WriteByte('[')
		for i, item := range items(value) {
			if i > 0 {
				out.WriteByte(',')
			}
			canonicalize(out, n.Elem.Node, item)
		}
		out.WriteByte(']')
	case n.Kind == schema.Pairs && kind == '[':
		pairs(out, n, value)
	case n.Kind == schema.String && n.Form == schema.JSONText && kind == '"':
		if inner, err := jsontext.AppendUnquote(nil, value); err == nil && jsontext.Value(inner).IsValid() {
			out.Write(inner)
			return
		}
		out.Write(value)
	default:
		out.Write(value)
	}
}

// object writes an object whose members stand at places, less those that are null for absence.
func object(out *bytes.Buffer, value jsontext.Value, place func(name string) (*schema.Place, bool)) {
	out.WriteByte('{')
	first := true
	for _, m := range members(value) {
		p, declared := place(m.text)
		if declared && p.Nullable && m.value.Kind() == 'n' {
			continue
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		out.Write(m.name)
		out.WriteByte(':')
		if declared {
			canonicalize(out, p.Node, m.value)
		} else {
			out.Write(m.value)
		}
	}
	out.WriteByte('}')
}

// pairs writes an array of pairs as an object, or as it is where something in it is no pair.
func pairs(out *bytes.Buffer, n *schema.Node, value jsontext.Value) {
	list := items(value)
	keys, values := make([]jsontext.Value, len(list)), make([]jsontext.Value, len(list))
	for i, item := range list {
		keys[i], values[i] = member(item, "key"), member(item, "value")
		if keys[i].Kind() != '"' || values[i] == nil {
			out.Write(value)
			return
		}
	}
	out.WriteByte('{')
	for i := range list {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(keys[i])
		out.WriteByte(':')
		canonicalize(out, n.Elem.Node, values[i])
	}
	out.WriteByte('}')
}

type namedValue struct {
	name  jsontext.Value // as it is spelled
	text  string
	value jsontext.Value
}

// members takes an object apart; it gives what can be read.
func members(value jsontext.Value) []namedValue {
	d := jsontext.NewDecoder(bytes.NewReader(value))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil
	}
	var all []namedValue
	for d.PeekKind() == '"' {
		name, err := d.ReadValue()
		if err != nil {
			break
		}
		m := namedValue{name: name.Clone()}
		text, _ := jsontext.AppendUnquote(nil, name)
		m.text = string(text)
		v, err := d.ReadValue()
		if err != nil {
			break
		}
		m.value = v.Clone()
		all = append(all, m)
	}
	return all
}

func member(value jsontext.Value, name string) jsontext.Value {
	for _, m := range members(value) {
		if m.text == name {
			return m.value
		}
	}
	return nil
}

// items takes an array apart; it gives what can be read.
func items(value jsontext.Value) []jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewReader(value))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return nil
	}
	var all []jsontext.Value
	for k := d.PeekKind(); k != ']' && k != 0; k = d.PeekKind() {
		v, err := d.ReadValue()
		if err != nil {
			break
		}
		all = append(all, v.Clone())
	}
	return all
}
