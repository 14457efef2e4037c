package transcode

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// Words of eight bytes, for looking at eight at once.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks in its high bits the bytes of a word that a JSON string cannot hold as they are, or that are no ASCII.
// A byte above a marked one may be marked falsely.
func special(w uint64) uint64 {
	quote := w ^ '"'*ones
	slash := w ^ '\\'*ones
	return (w | (w - ' '*ones) | (quote - ones) | (slash - ones)) & highs
}

// appendString writes src as a JSON string. It escapes what JSON demands and nothing else, and fails on what is not
// UTF-8.
func appendString(dst, src []byte) ([]byte, error) {
	// Room for the quotes and for a whole last word.
	dst = slices.Grow(dst, len(src)+2+8)
	dst = append(dst, '"')
	n := len(dst)
	out := dst[:cap(dst)]
	i := 0
	for ; len(src)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(src[i:])
		if special(w) != 0 {
			return appendRest(out[:n+i], src[i:])
		}
		binary.LittleEndian.PutUint64(out[n+i:], w)
	}
	for ; i < len(src); i++ {
		c := src[i]
		if c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return appendRest(out[:n+i], src[i:])
		}
		out[n+i] = c
	}
	return append(out[:n+i], '"'), nil
}

// appendRest writes what is left of a string from its first special byte on, and the closing quote.
func appendRest(dst, src []byte) ([]byte, error) {
	for i := 0; i < len(src); {
		if len(src)-i >= 8 {
			if w := binary.LittleEndian.Uint64(src[i:]); special(w) == 0 {
				dst = binary.LittleEndian.AppendUint64(dst, w)
				i += 8
				continue
			}
		}
		c := src[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(src[i:])
			if r == utf8.RuneError && size == 1 {
				return dst, errUTF8
			}
			dst = append(dst, src[i:i+size]...)
			i += size
			continue
		}
		dst = appendByte(dst, c)
		i++
	}
	return append(dst, '"'), nil
}

func appendByte(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch {
	case c == '"' || c == '\\':
		return append(dst, '\\', c)
	case c >= ' ':
		return append(dst, c)
	case c == '\b':
		return append(dst, '\\', 'b')
	case c == '\f':
		return append(dst, '\\', 'f')
	case c == '\n':
		return append(dst, '\\', 'n')
	case c == '\r':
		return append(dst, '\\', 'r')
	case c == '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// appendQuoted writes once more what dst holds from start to end, as the contents of a JSON string. What is there is
// JSON itself, in which a quote and a backslash are all that a string must escape.
func appendQuoted(dst []byte, start, end int) []byte {
	at := len(dst)
	// In the worst case all of it is escaped. The backslash is always written, and kept where it is needed.
	dst = slices.Grow(dst, 2*(end-start)+1)
	src, out := dst[start:end], dst[at:cap(dst)]
	n := 0
	for _, c := range src {
		out[n] = '\\'
		n += int(escaped[c])
		out[n] = c
		n++
	}
	return dst[:at+n]
}

// quoteFrom makes a JSON string of the JSON that dst holds from start on.
func quoteFrom(dst []byte, start int) []byte {
	end := len(dst)
	dst = append(appendQuoted(append(dst, '"'), start, end), '"')
	return append(dst[:start], dst[end:]...)
}

// escaped is 1 for the bytes that appendQuoted escapes.
var escaped = [256]uint8{'"': 1, '\\': 1}
