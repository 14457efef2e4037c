package gatetest

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// value is one JSON value of the arguments. Text is a string's content or a number's literal.
type value struct {
	kind    jsontext.Kind
	text    string
	members []member
	items   []value
}

type member struct {
	name  string
	value value
}

// parse reads one JSON value strictly: no duplicate names, no invalid UTF-8, nothing after it.
func parse(text []byte) (value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	v, err := read(dec)
	if err != nil {
		return value{}, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return value{}, errors.New("more than one JSON value")
	}
	return v, nil
}

func read(dec *jsontext.Decoder) (value, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return value{}, err
	}
	v := value{kind: token.Kind()}
	switch v.kind {
	case '"', '0':
		v.text = token.String()
	case '{':
		for dec.PeekKind() != '}' {
			name, err := dec.ReadToken()
			if err != nil {
				return value{}, err
			}
			m := member{name: name.String()}
			if m.value, err = read(dec); err != nil {
				return value{}, err
			}
			v.members = append(v.members, m)
		}
		_, err = dec.ReadToken()
	case '[':
		for dec.PeekKind() != ']' {
			item, err := read(dec)
			if err != nil {
				return value{}, err
			}
			v.items = append(v.items, item)
		}
		_, err = dec.ReadToken()
	}
	return v, err
}

func (v *value) member(name string) (value, bool) {
	for i := range v.members {
		if v.members[i].name == name {
			return v.members[i].value, true
		}
	}
	return value{}, false
}
