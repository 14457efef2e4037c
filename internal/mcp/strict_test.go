package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"
)

// wellFormed says what the decoder must make of a body, found in another way: encoding/json reads the tokens, and what
// it is lenient about is looked for by hand. Depth counts as the decoder's does, from the envelope.
func wellFormed(body []byte, depth, number int) bool {
	if !utf8.Valid(body) || !json.Valid(body) || loneSurrogate(body) {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	ok := distinct(d, depth, number)
	_, err := d.Token()
	return ok && errors.Is(err, io.EOF)
}

// distinct reads one value, and reports whether no object in it has a name twice, and all is within the limits.
func distinct(d *json.Decoder, depth, number int) bool {
	token, err := d.Token()
	if err != nil {
		return false
	}
	switch v := token.(type) {
	case json.Number:
		return len(v) <= number
	case json.Delim:
		if depth == 0 {
			return false
		}
		names := map[string]bool{}
		for d.More() {
			if v == '{' {
				name, err := d.Token()
				text, isText := name.(string)
				if err != nil || !isText || names[text] {
					return false
				}
				names[text] = true
			}
			if !distinct(d, depth-1, number) {
				return false
			}
		}
		_, err := d.Token()
		return err == nil
	}
	return true
}

// loneSurrogate reports an escape of half a pair in valid JSON.
func loneSurrogate(body []byte) bool {
	text := string(body)
	half := func(at int) (unit string) {
		if at+6 <= len(text) && text[at] == '\\' && text[at+1] == 'u' {
			return strings.ToLower(text[at+2 : at+6])
		}
		return ""
	}
	for at := 0; at < len(text); at++ {
		if text[at] != '\\' {
			continue
		}
		switch unit := half(at); {
		case unit >= "d800" && unit <= "dbff":
			if next := half(at + 6); next < "dc00" || next > "dfff" {
				return true
			}
			at += 11
		case unit >= "dc00" && unit <= "dfff":
			return true
		case unit != "":
			at += 5
		default:
			at++
		}
	}
	return false
}
