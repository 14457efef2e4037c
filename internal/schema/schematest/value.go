package schematest

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Value is one JSON value in pieces. Its members keep their order and their spelling of numbers.
type Value struct {
	Kind    jsontext.Kind // one of n, t, f, ", 0, { and [
	Text    string        // the decoded text of a string, the literal of a number
	Members []Member      // of an object
	Items   []*Value      // of an array
}

// Member is one name of an object with its value.
type Member struct {
	Name  string
	Value *Value
}

// Get returns the value of a name, or nil.
func (v *Value) Get(name string) *Value {
	for _, m := range v.Members {
		if m.Name == name {
			return m.Value
		}
	}
	return nil
}

func (v *Value) clone() *Value {
	c := *v
	c.Members = make([]Member, len(v.Members))
	for i, m := range v.Members {
		c.Members[i] = Member{m.Name, m.Value.clone()}
	}
	c.Items = make([]*Value, len(v.Items))
	for i, item := range v.Items {
		c.Items[i] = item.clone()
	}
	return &c
}

func stringValue(s string) *Value   { return &Value{Kind: '"', Text: s} }
func numberValue(s string) *Value   { return &Value{Kind: '0', Text: s} }
func arrayValue(v ...*Value) *Value { return &Value{Kind: '[', Items: v} }

func boolValue(b bool) *Value {
	if b {
		return &Value{Kind: 't'}
	}
	return &Value{Kind: 'f'}
}

func objectValue(members ...Member) *Value { return &Value{Kind: '{', Members: members} }

// Parse takes a JSON text apart. It reads what the decoder of requests reads: one value without duplicate names.
func Parse(text []byte) (*Value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	v, err := read(dec)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

func read(dec *jsontext.Decoder) (*Value, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	v := &Value{Kind: token.Kind()}
	switch v.Kind {
	case '"', '0':
		v.Text = token.String()
	case '{':
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return nil, err
			}
			m := Member{Name: name.String()}
			if m.Value, err = read(dec); err != nil {
				return nil, err
			}
			v.Members = append(v.Members, m)
		}
		_, err = dec.ReadToken()
	case '[':
		for dec.PeekKind() != ']' {
			item, err := read(dec)
			if err != nil {
				return nil, err
			}
			v.Items = append(v.Items, item)
		}
		_, err = dec.ReadToken()
	}
	return v, err
}

// Visit calls f for every value of a document together with the node that judges it, as far as the two fit: what is
// undeclared or inside a value of the wrong type has no node. The path is spelled as in a refusal. Keys of maps are
// visited as strings, at the map's path; what an Any holds is visited as an object at the Any's.
func Visit(n *schema.Node, v *Value, f func(path string, n *schema.Node, v *Value)) {
	visit("", n, v, f)
}

func visit(path string, n *schema.Node, v *Value, f func(path string, n *schema.Node, v *Value)) {
	f(path, n, v)
	under := func(name string) string {
		if path == "" {
			return name
		}
		return path + "." + name
	}
	switch n.Kind {
	case schema.Object:
		for i := range n.Properties {
			if inner := v.Get(n.Properties[i].Name); inner != nil {
				visit(under(n.Properties[i].Name), n.Properties[i].Node, inner, f)
			}
		}
	case schema.Map:
		for _, m := range v.Members {
			f(path, n.Key, stringValue(m.Name))
			visit(under("{key}"), n.Elem.Node, m.Value, f)
		}
	case schema.Array:
		for _, item := range v.Items {
			visit(path+"[]", n.Elem.Node, item, f)
		}
	case schema.AnyMessage:
		if inner := namedType(n, v); inner != nil {
			// The object of the named type, which does not know the name of its type.
			rest := objectValue()
			for _, m := range v.Members {
				if m.Name != typeKey {
					rest.Members = append(rest.Members, m)
				}
			}
			visit(path, inner, rest, f)
		}
	}
}

// typeKey is the member of an Any that names its type.
const typeKey = "@type"

// namedType is the node of the type that an Any names, or nil.
func namedType(n *schema.Node, v *Value) *schema.Node {
	named := v.Get(typeKey)
	if named == nil || named.Kind != '"' {
		return nil
	}
	for _, t := range n.Types {
		if t.URL == named.Text {
			return t.Node
		}
	}
	return nil
}

func quoted(s string) string {
	b, _ := jsontext.AppendQuote(nil, s)
	return string(b)
}
