package gate

import (
	"encoding/binary"
	"math/bits"

	"github.com/go-json-experiment/json/jsontext"
)

// cursor reads JSON that a strict decoder has accepted, so that nothing is checked twice: only what a reader needs to
// find its way is looked at. Bytes that are no JSON make it broken, and never more than that.
type cursor struct {
	text   []byte
	at     int
	broken bool
	// unquoted holds the text of the last string that had escapes.
	unquoted []byte
}

// peek passes white space and gives the byte under the cursor; 0 at the end.
func (c *cursor) peek() byte {
	for c.at < len(c.text) {
		switch b := c.text[c.at]; b {
		case ' ', '\t', '\n', '\r':
			c.at++
		default:
			return b
		}
	}
	return 0
}

// expect passes white space and one structural byte.
func (c *cursor) expect(b byte) {
	if c.peek() == b {
		c.at++
		return
	}
	c.fail()
}

// fail stops at bytes that are no JSON.
func (c *cursor) fail() { c.broken, c.at = true, len(c.text) }

// enter passes the opening byte of an object or array, and reports whether it has anything inside; otherwise it has
// passed the closing byte, too.
func (c *cursor) enter(closing byte) bool {
	c.at++
	if c.peek() == closing {
		c.at++
		return false
	}
	return true
}

// next passes what stands between two members or items, and reports whether there is another one.
func (c *cursor) next(closing byte) bool {
	switch c.peek() {
	case ',':
		c.at++
		return true
	case closing:
		c.at++
	default:
		c.fail()
	}
	return false
}

// name reads the name of a member and the colon after it. It is good until the next string is read.
func (c *cursor) name() []byte {
	if c.peek() != '"' {
		c.fail()
		return nil
	}
	name, _ := c.str()
	c.expect(':')
	return name
}

const (
	low  = 0x0101010101010101
	high = 0x8080808080808080
)

// str reads the string under the cursor and gives its text, good until the next string is read. Only an escaped one
// can hold control characters.
func (c *cursor) str() (text []byte, escaped bool) {
	start := c.at + 1
	i := start
	for {
		// Eight bytes at a time, up to the one with a quote or a backslash.
		for i+8 <= len(c.text) {
			w := binary.LittleEndian.Uint64(c.text[i:])
			quote, slash := w^(low*'"'), w^(low*'\\')
			if m := ((quote - low) &^ quote & high) | ((slash - low) &^ slash & high); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		for i < len(c.text) && c.text[i] != '"' && c.text[i] != '\\' {
			i++
		}
		switch {
		case i >= len(c.text) || c.text[i] == '\\' && i+1 >= len(c.text):
			c.fail()
			return nil, false
		case c.text[i] == '\\':
			escaped = true
			i += 2
		default:
			c.at = i + 1
			if !escaped {
				return c.text[start:i], false
			}
			var err error
			if c.unquoted, err = jsontext.AppendUnquote(c.unquoted[:0], c.text[start-1:i+1]); err != nil {
				c.fail()
			}
			return c.unquoted, true
		}
	}
}

// number reads the number under the cursor as it is spelled.
func (c *cursor) number() []byte {
	start := c.at
	for c.at < len(c.text) {
		switch b := c.text[c.at]; {
		case '0' <= b && b <= '9', b == '-', b == '+', b == '.', b == 'e', b == 'E':
			c.at++
		default:
			return c.text[start:c.at]
		}
	}
	return c.text[start:c.at]
}

// literal passes true, false or null.
func (c *cursor) literal() {
	for c.at < len(c.text) && 'a' <= c.text[c.at] && c.text[c.at] <= 'z' {
		c.at++
	}
}

// kinds gives the kind of value that begins with a byte, as jsontext names kinds; 0 if none does.
var kinds = [256]byte{
	'{': '{', '[': '[', '"': '"', 't': 't', 'f': 'f', 'n': 'n', '-': '0',
	'0': '0', '1': '0', '2': '0', '3': '0', '4': '0', '5': '0', '6': '0', '7': '0', '8': '0', '9': '0',
}

// kind passes white space and gives the kind of the value under the cursor; 0 if there is none.
func (c *cursor) kind() byte {
	k := kinds[c.peek()]
	if k == 0 {
		c.fail()
	}
	return k
}

// skip passes one value.
func (c *cursor) skip() {
	depth := 0
	for {
		switch b := c.peek(); kinds[b] {
		case '"':
			c.str()
		case '{', '[':
			depth++
			c.at++
		case '0':
			c.number()
		case 't', 'f', 'n':
			c.literal()
		default:
			switch b {
			case '}', ']':
				depth--
				c.at++
			case ',', ':':
				c.at++
			default:
				c.fail()
				return
			}
		}
		if depth <= 0 {
			return
		}
	}
}
