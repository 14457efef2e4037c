package transcode

import (
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// appendNumber writes a value that travels as a number: everything but strings, bytes and messages.
func appendNumber(dst []byte, f *field, v uint64) []byte {
	switch f.op {
	case opBool:
		if v != 0 {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case opInt32:
		return strconv.AppendInt(dst, int64(int32(v)), 10)
	case opSint32:
		return strconv.AppendInt(dst, int64(int32(protowire.DecodeZigZag(v&math.MaxUint32))), 10)
	case opUint32:
		return strconv.AppendUint(dst, uint64(uint32(v)), 10)
	case opInt64:
		return strconv.AppendInt(dst, int64(v), 10)
	case opSint64:
		return strconv.AppendInt(dst, protowire.DecodeZigZag(v), 10)
	case opUint64:
		return strconv.AppendUint(dst, v, 10)
	case opInt64Text:
		return append(strconv.AppendInt(append(dst, '"'), int64(v), 10), '"')
	case opSint64Text:
		return append(strconv.AppendInt(append(dst, '"'), protowire.DecodeZigZag(v), 10), '"')
	case opUint64Text:
		return append(strconv.AppendUint(append(dst, '"'), v, 10), '"')
	case opFloat:
		return appendFloat(dst, float64(math.Float32frombits(uint32(v))), 32)
	case opDouble:
		return appendFloat(dst, math.Float64frombits(v), 64)
	case opEnum:
		return f.enum.append(dst, int32(v))
	}
	return append(dst, "null"...)
}

// isZero reports whether a number is its type's zero. Negative zero is another number.
func (f *field) isZero(v uint64) bool {
	switch f.op {
	case opInt32, opSint32, opUint32, opFloat, opEnum, opNull:
		return uint32(v) == 0
	}
	return v == 0
}

// appendFloat writes a float of 32 or 64 bits with the fewest digits that tell it from its neighbours, as ProtoJSON
// does: what is no number as a string, what is very small or large with an exponent.
func appendFloat(dst []byte, x float64, bits int) []byte {
	switch {
	case math.IsNaN(x):
		return append(dst, `"NaN"`...)
	case math.IsInf(x, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(x, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if size := math.Abs(x); size != 0 {
		// The limits are those of the width: as a float, 1e-6 is another number.
		if bits == 64 && (size < 1e-6 || size >= 1e21) || bits == 32 && (float32(size) < 1e-6 || float32(size) >= 1e21) {
			format = 'e'
		}
	}
	dst = strconv.AppendFloat(dst, x, format, -1, bits)
	if n := len(dst); format == 'e' && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		// An exponent has no leading zero: 1e-9, not 1e-09.
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
