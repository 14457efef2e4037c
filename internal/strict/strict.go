// Package strict reads JSON from callers by the platform's rules, which go beyond JSON's own (boundary.md, "The
// decoder").
//
// In comes a jsontext.Decoder, which refuses duplicate names at every depth, invalid UTF-8, unpaired surrogates, a byte
// order mark, and everything that is not JSON; the limits and the end of a document are held here. The room knows
// neither what the document is for nor who sent it.
package strict

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// What jsontext does not mind.
var (
	ErrDepth    = errors.New("it is nested too deep")
	ErrNumber   = errors.New("a number is too long")
	ErrTrailing = errors.New("something follows the document")
)

// Limits are what a document may have.
type Limits struct {
	// Depth is the deepest accepted container, counted from the outermost one of the document, which is 1.
	Depth int
	// Number is the length of the longest accepted number in characters.
	Number int
}

// Skip reads one value of any kind. Its errors are those of the decoder, and ErrDepth and ErrNumber.
func (l Limits) Skip(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '{', '[':
	default:
		_, err := l.Scalar(d)
		return err
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	return l.Close(d)
}

// Close reads to the end of the object or array whose opening the decoder has just read. Its errors are those of Skip.
func (l Limits) Close(d *jsontext.Decoder) error {
	outside := d.StackDepth() - 1
	for d.StackDepth() > outside {
		if d.StackDepth() > l.Depth {
			return ErrDepth
		}
		if d.PeekKind() == '0' {
			if _, err := l.Scalar(d); err != nil {
				return err
			}
			continue
		}
		if _, err := d.ReadToken(); err != nil {
			return err
		}
	}
	return nil
}

// Scalar reads a value that is neither object nor array, and gives it as it is spelled.
func (l Limits) Scalar(d *jsontext.Decoder) (jsontext.Value, error) {
	v, err := d.ReadValue()
	if err == nil && v.Kind() == '0' && len(v) > l.Number {
		err = ErrNumber
	}
	return v, err
}

// End gives nil where nothing but white space follows, and else ErrTrailing.
func End(d *jsontext.Decoder) error {
	if d.PeekKind() == 0 {
		if _, err := d.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		}
	}
	return ErrTrailing
}

// Document reads a text as one whole document.
func (l Limits) Document(text []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(text))
	if err := l.Skip(d); err != nil {
		return err
	}
	return End(d)
}
