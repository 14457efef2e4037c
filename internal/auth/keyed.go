package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
)

// keyed is HMAC-SHA-256 with a random key of this process: what is remembered of a secret. Who reads the process's
// memory or a dump of it finds no secret in it, and nobody can aim at a place in it. It is written out here because the
// one of crypto/hmac allocates.
type keyed struct{ inner, outer [sha256.BlockSize]byte }

// mac is what is remembered of credentials.
type mac [sha256.Size]byte

func newKeyed() keyed {
	var k keyed
	rand.Read(k.inner[:]) // never fails
	for i, b := range k.inner {
		k.inner[i], k.outer[i] = b^0x36, b^0x5c
	}
	return k
}

// of hashes parts, each with its length before it, so that no two lists of parts are alike.
func (k *keyed) of(parts ...string) mac {
	var room [1024]byte // on the stack, for credentials of any sensible length
	b := append(room[:0], k.inner[:]...)
	for _, part := range parts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(part)))
		b = append(b, part...)
	}
	inner := sha256.Sum256(b)
	return sha256.Sum256(append(append(b[:0], k.outer[:]...), inner[:]...))
}

// place is where in a memory the mac belongs.
func (m *mac) place() uint64 { return binary.LittleEndian.Uint64(m[:]) }

func (m *mac) equal(other *mac) bool { return subtle.ConstantTimeCompare(m[:], other[:]) == 1 }
