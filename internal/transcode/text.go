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

// appendString writes the bytes of w from i to end as a JSON string. It escapes what JSON demands and nothing else, and
// fails on what is not UTF-8.
func appendString(dst, w []byte, i, end int) ([]byte, error) {
	// Room for the quotes, and for a last word that is written whole.
	dst = slices.Grow(dst, end-i+2+8)
	out, n := dst[:cap(dst)], len(dst)
	out[n] = '"'
	n++
	for i < end {
		v, size := word(w, i, end)
		binary.LittleEndian.PutUint64(out[n:], v)
		m := special(v)
		if m == 0 {
			i, n = i+size, n+size
			continue
		}
		// What comes before the special byte has been written.
		plain := bits.TrailingZeros64(m) / 8
		i, n = i+plain, n+plain
		if c := w[i]; c < utf8.RuneSelf {
			// An escape is longer than what it stands for.
			out = slices.Grow(out[:n], end-i+6+2+8)
			out = appendEscape(out, c)
			n, i = len(out), i+1
			out = out[:cap(out)]
			continue
		}
		for i < end && w[i] >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(w[i:end])
			if r == utf8.RuneError && size == 1 {
				return dst, errUTF8
			}
			for range size {
				out[n] = w[i]
				i, n = i+1, n+1
			}
		}
	}
	out[n] = '"'
	return out[:n+1], nil
}

func (s *scratch) appendString(dst []byte, v span) ([]byte, error) {
	return appendString(dst, s.wire, startOf(v), endOf(v))
}

// word returns up to eight bytes of w from i to end, and how many they are. What is left of the word is spaces.
func word(w []byte, i, end int) (v uint64, size int) {
	switch size = end - i; {
	case size >= 8:
		return binary.LittleEndian.Uint64(w[i:]), 8
	case len(w)-i >= 8:
		v = binary.LittleEndian.Uint64(w[i:])
	case len(w) >= 8:
		v = binary.LittleEndian.Uint64(w[len(w)-8:]) >> (8 * (i + 8 - len(w)) & 63)
	default:
		for k := size - 1; k >= 0; k-- {
			v = v<<8 | uint64(w[i+k])
		}
	}
	used := uint64(1)<<(8*size&63) - 1
	return v&used | ' '*ones&^used, size
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

// appendEscape writes an ASCII character that a JSON string cannot hold as it is.
func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
