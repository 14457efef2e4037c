package contract

import (
	"encoding/base64"
	"errors"
)

const (
	// maxCursor bounds what is decoded at all. A cursor of ours is far shorter.
	maxCursor = 256
	// cursorVersion is the first byte of a decoded cursor, so that a later form can be told from this one.
	cursorVersion = 1
)

// ErrCursor is the one answer to every ill-formed cursor. It repeats nothing of what was sent.
var ErrCursor = errors.New("the cursor is not one that this server gave out: begin again without one")

// EncodeCursor seals the last hash that a page ended on (tools.md, "Order and pages"). A cursor reveals nothing that
// its receiver did not see on that page, and survives changes of the catalog.
func EncodeCursor(lastHash string) string {
	return base64.RawURLEncoding.EncodeToString(append([]byte{cursorVersion}, lastHash...))
}

// DecodeCursor gives the hash after which the next page begins. Every ill-formed cursor is [ErrCursor].
func DecodeCursor(s string) (string, error) {
	if len(s) > maxCursor {
		return "", ErrCursor
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) == 0 || raw[0] != cursorVersion || !hashDigits(string(raw[1:])) {
		return "", ErrCursor
	}
	last := string(raw[1:])
	// The decoder passes over line breaks; a cursor has exactly one spelling.
	if EncodeCursor(last) != s {
		return "", ErrCursor
	}
	return last, nil
}
