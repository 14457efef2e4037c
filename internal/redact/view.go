package redact

import (
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// cell is one rune of a view, and the bytes of the text that it stands for.
type cell struct {
	r        rune
	from, to int32
}

// escapeLevels is how often escapes are undone: text that was quoted into text that was quoted into text.
const escapeLevels = 3

// views are the ways to read a text: as it is, with its backslash escapes undone, once and again, and with its percent
// escapes undone. A value that a service quoted, or wrote into JSON or into a URL, stands in one of them as it was sent.
// White space is one space in each.
func views(text string) [][]cell {
	plain := make([]cell, 0, len(text))
	for i, r := range text {
		plain = append(plain, cell{r, int32(i), int32(i + utf8.RuneLen(r))})
	}
	out := [][]cell{collapse(plain)}
	if strings.Contains(text, `\`) {
		read, changed := plain, true
		for range escapeLevels {
			if read, changed = unescape(read); !changed {
				break
			}
			out = append(out, collapse(read))
		}
	}
	if strings.ContainsAny(text, "%+") {
		if read, changed := unpercent(plain); changed {
			out = append(out, collapse(read))
		}
	}
	return out
}

// blank reports white space and control characters, which services and terminals turn into one another.
func blank(r rune) bool {
	if r < utf8.RuneSelf {
		return r <= ' ' || r == 0x7f
	}
	return unicode.IsSpace(r) || unicode.IsControl(r)
}

// collapse makes every run of white space one space.
func collapse(in []cell) []cell {
	out := make([]cell, 0, len(in))
	for _, c := range in {
		if !blank(c.r) {
			out = append(out, c)
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].r == ' ' {
			out[last].to = c.to
			continue
		}
		out = append(out, cell{' ', c.from, c.to})
	}
	return out
}

// simple are the escapes of one letter in JSON, Go, C, Python and the protobuf text format.
var simple = map[rune]rune{
	'\\': '\\', '"': '"', '\'': '\'', '/': '/', '`': '`', '?': '?',
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
}

// unescape undoes backslash escapes: those of one letter, \xHH, octal ones, \uHHHH with surrogates, \u{H}, \UHHHHHHHH.
// What is no escape stays as it is.
func unescape(in []cell) (out []cell, changed bool) {
	out = make([]cell, 0, len(in))
	var bytes []byte // of escapes that spell single bytes, with their places
	var places []cell
	flush := func() {
		out = appendDecoded(out, bytes, places)
		bytes, places = bytes[:0], places[:0]
	}
	for i := 0; i < len(in); {
		r, n, isByte := escape(in[i:])
		if n == 0 {
			flush()
			out = append(out, in[i])
			i++
			continue
		}
		changed = true
		at := cell{r, in[i].from, in[i+n-1].to}
		if isByte {
			bytes, places = append(bytes, byte(r)), append(places, at)
		} else {
			flush()
			out = append(out, at)
		}
		i += n
	}
	flush()
	return out, changed
}

// escape reads the escape at the start of in. N is how many cells it takes, 0 for none; isByte says that it spells a
// byte, of which several may be a rune.
func escape(in []cell) (r rune, n int, isByte bool) {
	if in[0].r != '\\' || len(in) < 2 {
		return 0, 0, false
	}
	c := in[1].r
	if plain, ok := simple[c]; ok {
		return plain, 2, false
	}
	switch {
	case c == 'x':
		if v, ok := digits(in, 2, 2, 16); ok {
			return v, 4, true
		}
	case '0' <= c && c <= '7':
		length := 1
		for length < 3 && len(in) > 1+length && '0' <= in[1+length].r && in[1+length].r <= '7' {
			length++
		}
		if v, ok := digits(in, 1, length, 8); ok && v < 256 {
			return v, 1 + length, true
		}
	case c == 'U':
		if v, ok := digits(in, 2, 8, 16); ok && utf8.ValidRune(v) {
			return v, 10, false
		}
	case c == 'u' && len(in) > 2 && in[2].r == '{':
		for length := 1; length <= 6 && len(in) > 3+length; length++ {
			if in[3+length].r == '}' {
				if v, ok := digits(in, 3, length, 16); ok && utf8.ValidRune(v) {
					return v, 4 + length, false
				}
				break
			}
		}
	case c == 'u':
		v, ok := digits(in, 2, 4, 16)
		if !ok {
			break
		}
		if !utf16.IsSurrogate(v) {
			return v, 6, false
		}
		if len(in) >= 12 && in[6].r == '\\' && in[7].r == 'u' {
			if low, ok := digits(in, 8, 4, 16); ok {
				if pair := utf16.DecodeRune(v, low); pair != utf8.RuneError {
					return pair, 12, false
				}
			}
		}
		return utf8.RuneError, 6, false
	}
	return 0, 0, false
}

// digits reads exactly length digits of the base from in[at:].
func digits(in []cell, at, length int, base rune) (rune, bool) {
	if len(in) < at+length {
		return 0, false
	}
	var v rune
	for _, c := range in[at : at+length] {
		d := digit(c.r)
		if d >= base {
			return 0, false
		}
		if v = v*base + d; v < 0 {
			return 0, false
		}
	}
	return v, true
}

// digit is the value of a hexadecimal digit, and 16 for any other rune.
func digit(r rune) rune {
	switch {
	case '0' <= r && r <= '9':
		return r - '0'
	case 'a' <= r && r <= 'f':
		return r - 'a' + 10
	case 'A' <= r && r <= 'F':
		return r - 'A' + 10
	}
	return 16
}

// appendDecoded appends the runes that bytes spell. Bytes that spell none are Latin-1, as Python and JavaScript escape.
func appendDecoded(out []cell, bytes []byte, places []cell) []cell {
	for i := 0; i < len(bytes); {
		r, n := utf8.DecodeRune(bytes[i:])
		if r == utf8.RuneError && n == 1 {
			r = rune(bytes[i])
		}
		out = append(out, cell{r, places[i].from, places[i+n-1].to})
		i += n
	}
	return out
}

// unpercent undoes the escapes of URLs, those of queries included, in which a plus is a space.
func unpercent(in []cell) (out []cell, changed bool) {
	out = make([]cell, 0, len(in))
	var bytes []byte
	var places []cell
	for i := 0; i < len(in); {
		if in[i].r == '%' {
			if v, ok := digits(in, i+1, 2, 16); ok {
				changed = true
				bytes, places = append(bytes, byte(v)), append(places, cell{v, in[i].from, in[i+2].to})
				i += 3
				continue
			}
		}
		out = appendDecoded(out, bytes, places)
		bytes, places = bytes[:0], places[:0]
		c := in[i]
		if c.r == '+' {
			c.r, changed = ' ', true
		}
		out = append(out, c)
		i++
	}
	return appendDecoded(out, bytes, places), changed
}

// fold is one rune for the upper and the lower case of a letter.
func fold(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	return unicode.ToLower(unicode.ToUpper(r))
}

// word reports a rune that continues a token.
func word(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_'
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}
