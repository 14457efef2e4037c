package transcode

import (
	"slices"
	"sync"
)

// scratch is what one transcoding needs besides the buffer it writes to. Its slices are stacks: a message takes what it
// needs and gives it back when it is written, so that a scratch has the size of the deepest message it has met. Taking
// may move a stack; what a message has taken it keeps reading where it was.
type scratch struct {
	// wire is the whole response. Every position and every span is an offset into it.
	wire []byte
	// slots hold the index of the messages that are being written, one slot for a field or a oneof.
	slots []slot
	// runs hold the spans of fields that arrived in more than one piece. The first two are never used: a slot names a
	// run by its index, and 0 and 1 have a meaning of their own there.
	runs []run
	// entries hold the entries of the maps that are being written.
	entries []entry
	// most is the length that the caller's buffer may grow to.
	most int
	// groups is how many bytes were passed over in search of the ends of groups.
	groups int
}

// Limits of what a pooled scratch may keep, in elements: about one megabyte together.
const (
	keptSlots   = 32 << 10
	keptRuns    = 8 << 10
	keptEntries = 8 << 10
)

var pool = sync.Pool{New: func() any { return &scratch{runs: make([]run, firstRun)} }}

// borrow returns a scratch for one response, which will be written after the first written bytes of a buffer.
func borrow(wire []byte, written int) *scratch {
	s := pool.Get().(*scratch)
	s.wire, s.most = wire, written+growthBytes+growth*len(wire)
	return s
}

// whole is the span of the response.
func (s *scratch) whole() span { return spanOf(0, len(s.wire)) }

// giveBack makes s available to other calls. It forgets the response, which belongs to the caller.
func (s *scratch) giveBack() {
	if cap(s.slots) > keptSlots || cap(s.runs) > keptRuns || cap(s.entries) > keptEntries {
		return
	}
	*s = scratch{slots: s.slots[:0], runs: s.runs[:firstRun], entries: s.entries[:0]}
	pool.Put(s)
}

// take returns n empty slots from the top of the stack.
func (s *scratch) take(n int) []slot {
	base := len(s.slots)
	if cap(s.slots)-base < n {
		s.slots = slices.Grow(s.slots, n)
	}
	s.slots = s.slots[:base+n]
	taken := s.slots[base : base+n : base+n]
	clear(taken)
	return taken
}
