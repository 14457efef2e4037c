// Package claims reads what a signed token says, strictly: one JSON object, no name twice, nothing behind it, whole
// seconds for times.
//
// In come the payload or the protected header of a JWS, out go the values of the members that the caller asks for. It
// knows no signatures and no token: assertions and access tokens are read with it.
package claims

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxSeconds is the end of the year 9999, up to which times can be compared without overflow.
const MaxSeconds = 253402300799

// Read reads an object and gives each member to take, in their order. The value is good until take returns. What take
// does not know it leaves alone. Errors repeat no value.
func Read(object []byte, take func(name string, value jsontext.Value) error) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(object))
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return errors.New("not an object")
	}
	for decoder.PeekKind() != '}' {
		token, err := decoder.ReadToken()
		if err != nil {
			return notJSON(err)
		}
		name := token.String()
		value, err := decoder.ReadValue()
		if err != nil {
			return notJSON(err)
		}
		if err := take(name, value); err != nil {
			return err
		}
	}
	if _, err := decoder.ReadToken(); err != nil {
		return notJSON(err)
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the object")
	}
	return nil
}

// ReadList gives each element of a value that Read gave, and that is a list, to take.
func ReadList(list jsontext.Value, take func(value jsontext.Value) error) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(list))
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '[' {
		return errors.New("not a list")
	}
	for decoder.PeekKind() != ']' {
		value, err := decoder.ReadValue()
		if err != nil {
			return notJSON(err)
		}
		if err := take(value); err != nil {
			return err
		}
	}
	return nil
}

// notJSON says what is wrong without the decoder's words, which may repeat a name.
func notJSON(err error) error {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return errors.New("a name stands twice")
	}
	return errors.New("not strict JSON")
}

// Text reads a member that is a string.
func Text(name string, value jsontext.Value) (string, error) {
	if value.Kind() != '"' {
		return "", fmt.Errorf("%s is not a string", name)
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return "", fmt.Errorf("%s is not a string", name)
	}
	return string(text), nil
}

// Seconds reads a member that is a time in whole seconds since the epoch.
func Seconds(name string, value jsontext.Value) (int64, error) {
	if value.Kind() != '0' {
		return 0, fmt.Errorf("%s is not a number", name)
	}
	seconds, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || seconds < 0 || seconds > MaxSeconds {
		return 0, fmt.Errorf("%s is not a plausible whole number of seconds", name)
	}
	return seconds, nil
}
