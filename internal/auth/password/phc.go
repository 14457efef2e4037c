package password

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
)

// What is plausible in a stored hash: not so little that it protects nothing, not so much that checking one takes the
// process down. Memory is in KiB.
const (
	leastMemory, mostMemory = 7 << 10, 64 << 10
	mostPasses              = 10
	mostThreads             = 4
	leastSalt, mostSalt     = 8, 64
	leastHash, mostHash     = 16, 64
)

// phc is a hash with what it was computed with.
type phc struct {
	memory, passes uint32
	threads        uint8
	salt, hash     []byte
}

// String spells the hash. There is one spelling of each.
func (h *phc) String() string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.passes, h.threads,
		base64.RawStdEncoding.EncodeToString(h.salt), base64.RawStdEncoding.EncodeToString(h.hash))
}

// parse reads a stored hash, in the one spelling that String gives. The error repeats nothing of it.
func parse(text string) (phc, error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return phc{}, errors.New("not a PHC string of argon2id")
	}
	if parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return phc{}, errors.New("another version of argon2")
	}
	parameters := strings.Split(parts[3], ",")
	if len(parameters) != 3 {
		return phc{}, errors.New("the parameters are not m, t and p")
	}
	memory, err := parameter(parameters[0], "m=", leastMemory, mostMemory)
	if err != nil {
		return phc{}, err
	}
	passes, err := parameter(parameters[1], "t=", 1, mostPasses)
	if err != nil {
		return phc{}, err
	}
	threads, err := parameter(parameters[2], "p=", 1, mostThreads)
	if err != nil {
		return phc{}, err
	}
	salt, err := decode(parts[4], leastSalt, mostSalt)
	if err != nil {
		return phc{}, fmt.Errorf("salt: %w", err)
	}
	hash, err := decode(parts[5], leastHash, mostHash)
	if err != nil {
		return phc{}, fmt.Errorf("hash: %w", err)
	}
	return phc{memory: memory, passes: passes, threads: uint8(threads), salt: salt, hash: hash}, nil
}

// parameter reads a whole number without sign or leading zeros behind its name.
func parameter(text, name string, least, most uint32) (uint32, error) {
	digits, named := strings.CutPrefix(text, name)
	value, err := strconv.ParseUint(digits, 10, 32)
	if !named || err != nil || digits != strconv.FormatUint(value, 10) {
		return 0, fmt.Errorf("parameter %s is not a whole number", name)
	}
	if value < uint64(least) || value > uint64(most) {
		return 0, fmt.Errorf("parameter %s is not within %d and %d", name, least, most)
	}
	return uint32(value), nil
}

func decode(text string, least, most int) ([]byte, error) {
	if len(text) > base64.RawStdEncoding.EncodedLen(most) || strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("too long, or in two lines")
	}
	b, err := base64.RawStdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("not unpadded base64")
	}
	if len(b) < least {
		return nil, fmt.Errorf("%d bytes: at least %d are needed", len(b), least)
	}
	return b, nil
}
