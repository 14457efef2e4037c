// Package memory remembers what costs more to find out again: verified credentials, signed assertions, decisions.
//
// In come immutable entries with a hash of their key, out come entries that were kept under the hash. It knows nothing
// of what it remembers, and bounds it: what does not fit is forgotten, never refused.
package memory

import (
	"hash/maphash"
	"sync/atomic"
)

// Memory remembers entries by a hash, in a fixed number of slots that are read and written without a lock: a slot
// holds a pointer to an immutable entry, and a writer replaces it. Two writers who race only cost one of them its entry.
// Who reads must compare the whole key: the hash may collide. It is safe for concurrent use.
type Memory[E any] struct {
	seed  maphash.Seed
	slots []atomic.Pointer[E]
}

// ways is how many neighbouring slots an entry may sit in, so that two busy keys with one hash do not chase each
// other out.
const ways = 2

// New makes room for a number of entries, which must be a power of two.
func New[E any](entries int) *Memory[E] {
	if entries <= 0 || entries&(entries-1) != 0 {
		panic("memory: the number of entries is not a power of two")
	}
	return &Memory[E]{seed: maphash.MakeSeed(), slots: make([]atomic.Pointer[E], entries)}
}

// Hash hashes the parts of a key. Nobody outside the process can find parts that collide.
func (m *Memory[E]) Hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	for _, part := range parts {
		_, _ = h.WriteString(part)
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// HashOf hashes a key that is compared as a whole, such as a pointer.
func HashOf[E any, K comparable](m *Memory[E], key K) uint64 { return maphash.Comparable(m.seed, key) }

// Find gives the first entry for the hash that is the wanted one, or nil.
func (m *Memory[E]) Find(hash uint64, wanted func(*E) bool) *E {
	for way := range uint64(ways) {
		if e := m.slot(hash, way).Load(); e != nil && wanted(e) {
			return e
		}
	}
	return nil
}

// Keep stores an entry in the first of its slots that is free or may be replaced, else in the last one.
func (m *Memory[E]) Keep(hash uint64, e *E, replaceable func(*E) bool) {
	for way := range uint64(ways) {
		slot := m.slot(hash, way)
		if old := slot.Load(); old == nil || way == ways-1 || replaceable(old) {
			slot.Store(e)
			return
		}
	}
}

func (m *Memory[E]) slot(hash, way uint64) *atomic.Pointer[E] {
	return &m.slots[(hash^way)&uint64(len(m.slots)-1)]
}
