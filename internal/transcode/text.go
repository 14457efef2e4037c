package transcode

import (
	"encoding/binary"
	"math/bits"
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
	// In the worst case all of it is escaped; words are written whole, so that some are written past the end.
	dst = slices.Grow(dst, 2*(end-start)+3*8)
	src, out := dst[start:end], dst[at:cap(dst)]
	n := 0
	for ; len(src) >= 8; src = src[8:] {
		w := binary.LittleEndian.Uint64(src)
		o := out[n : n+3*8]
		binary.LittleEndian.PutUint64(o, w)
		if m := escapes(w); m != 0 {
			// The rest of the word goes one place up, behind a backslash. One escape in a word is the usual number.
			i := bits.TrailingZeros64(m) / 8 & 7
			binary.LittleEndian.PutUint64(o[i+1:i+1+8], w>>(8*i&63))
			o[i] = '\\'
			n++
			for m &= m - 1; m != 0; m &= m - 1 {
				i := bits.TrailingZeros64(m) / 8
				o := out[n+i:]
				binary.LittleEndian.PutUint64(o[1:], w>>(8*i&63))
				o[0] = '\\'
				n++
			}
		}
		n += 8
	}
	for _, c := range src {
		if c == '"' || c == '\\' {
			out[n] = '\\'
			n++
		}
		out[n] = c
		n++
	}
	return dst[:at+n]
}

// escapes marks in its high bits the quotes and backslashes of a word, and nothing else.
func escapes(w uint64) uint64 {
	const low = ^uint64(highs) // 0x7f in every byte
	quote, slash := w^'"'*ones, w^'\\'*ones
	return ^((quote&low + low | quote) & (slash&low + low | slash)) & highs
}

// quoteFrom makes a JSON string of the JSON that dst holds from start on.
func quoteFrom(dst []byte, start int) []byte {
	end := len(dst)
	dst = append(appendQuoted(append(dst, '"'), start, end), '"')
	return append(dst[:start], dst[end:]...)
}
