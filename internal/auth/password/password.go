// Package password hashes the passwords of users and checks them.
//
// In come passwords, and hashes as they are stored; out go hashes, or whether the two belong together. The hash is
// argon2id (RFC 9106) with the parameters that OWASP's Password Storage Cheat Sheet recommends, 19 MiB and two passes,
// and is spelled as a PHC string:
//
//	$argon2id$v=19$m=19456,t=2,p=1$<salt>$<hash>
//
// with salt and hash in unpadded base64. Hashes with other parameters are checked as long as they are plausible, so that
// the parameters can be raised and old hashes still work.
//
// The package knows no users and no storage. Machines' secrets are not for it: they are random, and there is nothing to
// slow down.
package password

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// The parameters of new hashes, and how long their parts are in bytes.
const (
	Memory  = 19 << 10 // KiB
	Passes  = 2
	Threads = 1

	saltBytes = 16
	hashBytes = 32
)

// MaxBytes is the longest password. It is far beyond what anyone remembers, and keeps a hashing from costing what the
// caller wants.
const MaxBytes = 1024

// concurrent is how many hashings run at once in this process; others wait for their turn. With the largest memory that
// a stored hash may ask for they take half a gigabyte, with that of new ones 152 MiB.
const concurrent = 8

var (
	turns    = make(chan struct{}, concurrent)
	computed atomic.Uint64
)

// Computed is how many hashes this process has computed. Tests compare what two refusals cost by it.
func Computed() uint64 { return computed.Load() }

// Hash hashes a password with a new salt. A password that is empty, longer than [MaxBytes] or not UTF-8 is an error.
func Hash(password string) (string, error) {
	switch {
	case password == "":
		return "", errors.New("the password is empty")
	case len(password) > MaxBytes:
		return "", fmt.Errorf("the password has %d bytes: at most %d are allowed", len(password), MaxBytes)
	case !utf8.ValidString(password):
		return "", errors.New("the password is not UTF-8")
	}
	h := phc{memory: Memory, passes: Passes, threads: Threads, salt: make([]byte, saltBytes)}
	rand.Read(h.salt) // never fails
	h.hash = h.compute(password, hashBytes)
	return h.String(), nil
}

// Check reports whether the stored hash is the password's. It computes one hash in any case, and one that takes as long
// where the stored string is empty, is not one of argon2id or has absurd parameters: then nothing matches.
func Check(stored, password string) bool {
	h, err := parse(stored)
	if err != nil {
		h, _ = parse(Dummy())
	}
	if len(password) > MaxBytes {
		password = password[:MaxBytes]
		err = errors.New("too long")
	}
	matches := subtle.ConstantTimeCompare(h.compute(password, len(h.hash)), h.hash) == 1
	return matches && err == nil
}

// Dummy is a hash of nothing that anyone knows, with the parameters of new hashes: what the password of a user is checked
// against who does not exist.
var Dummy = sync.OnceValue(func() string {
	h := phc{memory: Memory, passes: Passes, threads: Threads, salt: make([]byte, saltBytes), hash: make([]byte, hashBytes)}
	rand.Read(h.salt)
	rand.Read(h.hash)
	return h.String()
})

// compute hashes a password when it is its turn.
func (h *phc) compute(password string, length int) []byte {
	turns <- struct{}{}
	defer func() { <-turns }()
	computed.Add(1)
	return argon2.IDKey([]byte(password), h.salt, h.passes, h.memory, h.threads, uint32(length))
}
