package transcodetest

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// object copies the braces of an object and hands every name to f, which reads the value.
func object(dec *jsontext.Decoder, enc *jsontext.Encoder, f func(name string) error) error {
	if err := bracket(dec, enc, '{'); err != nil {
		return err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if err := f(name.String()); err != nil {
			return err
		}
	}
	return bracket(dec, enc, '}')
}

// bracket copies one structural token, which must be the expected one.
func bracket(dec *jsontext.Decoder, enc *jsontext.Encoder, want jsontext.Kind) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != want {
		return fmt.Errorf("unexpected JSON %s where %s belongs", token.Kind(), want)
	}
	return enc.WriteToken(token)
}

// raw copies one value as it is, but for white space and escapes.
func raw(dec *jsontext.Decoder, enc *jsontext.Encoder) error {
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	return enc.WriteValue(value)
}

type member struct {
	name  string
	value jsontext.Value
}

// split takes an object apart into its members.
func split(text []byte) ([]member, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	if token.Kind() != '{' {
		return nil, fmt.Errorf("unexpected JSON %s where an object belongs", token.Kind())
	}
	var members []member
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		m.value = value.Clone()
		members = append(members, m)
	}
	_, err = dec.ReadToken()
	return members, err
}

func unquote(text jsontext.Value) (string, error) {
	b, err := jsontext.AppendUnquote(nil, text)
	return string(b), err
}
