package schemas

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// tree is one JSON value. Members keep their order.
type tree struct {
	kind    jsontext.Kind // '{', '[', or that of a scalar
	members []member
	items   []*tree
	text    jsontext.Value // of a scalar
}

type member struct {
	name  string
	value *tree
}

func (t *tree) get(name string) *tree {
	if t == nil || t.kind != '{' {
		return nil
	}
	for i := range t.members {
		if t.members[i].name == name {
			return t.members[i].value
		}
	}
	return nil
}

func (t *tree) set(name string, value *tree) {
	for i := range t.members {
		if t.members[i].name == name {
			t.members[i].value = value
			return
		}
	}
	t.members = append(t.members, member{name, value})
}

// text of a string; false for any other value.
func (t *tree) string() (string, bool) {
	if t == nil || t.kind != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, t.text)
	return string(text), err == nil
}

var errTrailing = errors.New("something follows the document")

func parse(text []byte) (*tree, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	t, err := read(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return t, nil
}

func read(d *jsontext.Decoder) (*tree, error) {
	t := &tree{kind: d.PeekKind()}
	switch t.kind {
	case '{':
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			m := member{name: name.String()}
			if m.value, err = read(d); err != nil {
				return nil, err
			}
			t.members = append(t.members, m)
		}
		_, err := d.ReadToken()
		return t, err
	case '[':
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		for k := d.PeekKind(); k != ']' && k != 0; k = d.PeekKind() {
			item, err := read(d)
			if err != nil {
				return nil, err
			}
			t.items = append(t.items, item)
		}
		_, err := d.ReadToken()
		return t, err
	default:
		value, err := d.ReadValue()
		t.text = value.Clone()
		return t, err
	}
}

func (t *tree) append(b []byte) []byte {
	switch t.kind {
	case '{':
		b = append(b, '{')
		for i, m := range t.members {
			if i > 0 {
				b = append(b, ',')
			}
			b, _ = jsontext.AppendQuote(b, m.name) // it was read, so that it is valid UTF-8
			b = append(b, ':')
			b = m.value.append(b)
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for i, item := range t.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.append(b)
		}
		return append(b, ']')
	default:
		return append(b, t.text...)
	}
}

// size is how many bytes append would write, as far as anybody needs to know.
func (t *tree) size() int {
	n := len(t.text) + 2
	for _, m := range t.members {
		n += len(m.name) + 4 + m.value.size()
	}
	for _, item := range t.items {
		n += 1 + item.size()
	}
	return n
}
