package assertion

import (
	"hash/maphash"
	"sync/atomic"
)

// memory remembers entries by a hash, in a fixed number of slots that are read and written without a lock: a slot
// holds a pointer to an immutable entry, and a writer replaces it. What does not fit is forgotten, never refused, and
// two writers who race only cost one of them its entry. Who reads must compare the whole key: the hash may collide.
type memory[E any] struct {
	seed  maphash.Seed
	slots []atomic.Pointer[E]
}

// ways is how many neighbouring slots an entry may sit in, so that two busy keys with one hash do not chase each
// other out.
const ways = 2

// newMemory makes room for a number of entries that is a power of two.
func newMemory[E any](entries int) *memory[E] {
	return &memory[E]{seed: maphash.MakeSeed(), slots: make([]atomic.Pointer[E], entries)}
}

// hash hashes the parts of a key.
func (m *memory[E]) hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	for _, part := range parts {
		_, _ = h.WriteString(part)
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// find gives the first entry for the hash that is the wanted one, or nil.
func (m *memory[E]) find(hash uint64, wanted func(*E) bool) *E {
	for way := range uint64(ways) {
		if e := m.slot(hash, way).Load(); e != nil && wanted(e) {
			return e
		}
	}
	return nil
}

// keep stores an entry in the first of its slots that is free or may be replaced, else in the last one.
func (m *memory[E]) keep(hash uint64, e *E, replaceable func(*E) bool) {
	for way := range uint64(ways) {
		slot := m.slot(hash, way)
		if old := slot.Load(); old == nil || way == ways-1 || replaceable(old) {
			slot.Store(e)
			return
		}
	}
}

func (m *memory[E]) slot(hash, way uint64) *atomic.Pointer[E] {
	return &m.slots[(hash^way)&uint64(len(m.slots)-1)]
}
