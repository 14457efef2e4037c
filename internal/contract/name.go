package contract

import (
	"encoding/binary"
	"math/big"
	"unicode/utf16"

	"github.com/zeebo/xxh3"

	"github.com/sallyport-dev/sallyport/participant"
)

// Lengths of what has the shape of a hashed name. A hash has 25 digits at most; one with fewer than 20 is a matter of
// one in a thousand million, so that a declared name of that length is taken for what it is.
const (
	minHash = 20
	maxHash = 25
)

// maxAlias is the length of the longest declared name.
const maxAlias = 64

// QualifiedName gives the name under which a service is known across zones: `zone~package.Service`, or
// `package.Service` where zone is empty.
func QualifiedName(zone, service string) string {
	return participant.QualifiedName(zone, service)
}

// ToolName computes the published name of a function from its service's qualified name and the RPC's simple name
// (tools.md, "Name"): base 36 of the XXH3-128 of `qualified/method` in UTF-16LE, the low 64 bits before the high ones.
// Names are never parsed; anyone may compute them.
func ToolName(qualified, method string) string {
	units := utf16.Encode([]rune(qualified + "/" + method))
	raw := make([]byte, 0, 2*len(units))
	for _, u := range units {
		raw = binary.LittleEndian.AppendUint16(raw, u)
	}
	sum := xxh3.Hash128(raw)
	var bits [16]byte
	binary.BigEndian.PutUint64(bits[:8], sum.Lo)
	binary.BigEndian.PutUint64(bits[8:], sum.Hi)
	return new(big.Int).SetBytes(bits[:]).Text(36)
}

// IsHash reports whether name has the shape of a hashed name, 20 to 25 characters of `[0-9a-z]`. No declared name may
// have it.
func IsHash(name string) bool {
	return len(name) >= minHash && hashDigits(name)
}

// hashDigits reports whether s consists of 1 to 25 digits of base 36.
func hashDigits(s string) bool {
	if s == "" || len(s) > maxHash {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'z') {
			return false
		}
	}
	return true
}

// checkAlias says what is wrong with a declared name, or nothing.
func checkAlias(name string) string {
	if len(name) > maxAlias {
		return "the declared name is longer than 64 characters"
	}
	for i := range len(name) {
		c := name[i]
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '-') {
			return "the declared name has a character outside [A-Za-z0-9_-]"
		}
	}
	if len(name) > 1 && name[0] == '_' && '0' <= name[1] && name[1] <= '9' {
		return "the declared name begins with an underscore and a digit: the dialect gemini spells names that begin with a " +
			"digit that way, so choose another beginning"
	}
	if IsHash(name) {
		return "the declared name has the shape of a hash, 20 to 25 characters of [0-9a-z]: choose one that cannot be taken for one"
	}
	return ""
}
