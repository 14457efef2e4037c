package transcode

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// entry is one entry of a map, as it arrived.
type entry struct {
	// key is the span of a string, or else a number whose order is that of the keys.
	key uint64
	// v is the value, as in a slot, and first its earlier runs.
	v     uint64
	first uint32
	// nth counts the entries: of several with one key the last holds.
	nth uint32
}

// appendMap writes a map, sorted by its keys: strings by their bytes, numbers by size, false before true.
func (s *scratch) appendMap(dst []byte, f *field, sl *slot, depth int) ([]byte, error) {
	if depth--; depth < 0 {
		return dst, errDepth
	}
	base := len(s.entries)
	var err error
	for r := sl.first; r >= firstRun; r = s.runs[r].next {
		if err = s.collect(f, s.runs[r].v, base); err != nil {
			return dst, err
		}
	}
	if err = s.collect(f, sl.v, base); err != nil {
		return dst, err
	}
	entries := s.entries[base:]
	s.sort(f, entries)
	start := len(dst)
	for i := range entries {
		e := &entries[i]
		if i+1 < len(entries) && s.compareKeys(f, e, &entries[i+1]) == 0 {
			if err = s.checkEntryValue(f, e, depth); err != nil {
				return dst, err
			}
			continue
		}
		if dst, err = s.appendKey(append(dst, ','), f, e.key); err != nil {
			return dst, err
		}
		if dst, err = s.appendValue(append(dst, ':'), f.value, e.v, e.first, depth); err != nil {
			return dst, err
		}
	}
	s.entries = s.entries[:base]
	return closed(dst, start, '{', '}'), nil
}

// collect puts the entries of a run of records on the stack.
func (s *scratch) collect(f *field, run span, base int) error {
	w := s.wire[:endOf(run)]
	for p := startOf(run); p < len(w); {
		var tag, v uint64
		if tag, p = uvarint(w, p); p < 0 {
			return errWire
		}
		if v, p = s.record(w, p, tag); p < 0 {
			return wireError(p)
		}
		e, err := s.entry(f, v)
		if err != nil {
			return err
		}
		e.nth = uint32(len(s.entries) - base)
		s.entries = append(s.entries, e)
	}
	return nil
}

// entry reads one entry. What is missing in it is zero: a number, or the empty span.
func (s *scratch) entry(f *field, v span) (entry, error) {
	w := s.wire[:endOf(v)]
	var key uint64
	var value slot
	haveKey := false
	for p := startOf(v); p < len(w); {
		var tag, v uint64
		if tag, p = uvarint(w, p); p < 0 {
			return entry{}, errWire
		}
		if v, p = s.record(w, p, tag); p < 0 {
			return entry{}, wireError(p)
		}
		switch number := tag >> 3; {
		case number == 1 && f.key.wires>>(tag&7)&1 != 0:
			if haveKey && f.key.strict && !utf8.Valid(s.bytes(key)) {
				return entry{}, f.fail(errUTF8)
			}
			key, haveKey = v, true
		case number == 2 && f.value.wires>>(tag&7)&1 != 0:
			if value.first == absent {
				value.first = alone
			} else if f.value.op == opMessage {
				s.push(&value)
			} else if f.value.strict && !utf8.Valid(s.bytes(value.v)) {
				return entry{}, f.fail(errUTF8)
			}
			value.v = v
		case number < uint64(protowire.MinValidNumber) || number > uint64(protowire.MaxValidNumber):
			return entry{}, errWire
		}
	}
	return entry{key: f.key.ordered(key), v: value.v, first: value.first}, nil
}

// ordered turns the bits of a map's key into a number by which keys sort. Signed ones are moved up by half the range.
func (f *field) ordered(v uint64) uint64 {
	const half = 1 << 63
	switch f.op {
	case opBool:
		if v != 0 {
			return 1
		}
		return 0
	case opInt32:
		return uint64(int64(int32(v))) ^ half
	case opSint32:
		return uint64(int64(int32(protowire.DecodeZigZag(v&math.MaxUint32)))) ^ half
	case opUint32:
		return uint64(uint32(v))
	case opInt64, opInt64Text:
		return v ^ half
	case opSint64, opSint64Text:
		return uint64(protowire.DecodeZigZag(v)) ^ half
	}
	return v
}

// appendKey writes a key as JSON demands it: as a string, whatever its kind and profile.
func (s *scratch) appendKey(dst []byte, f *field, key uint64) ([]byte, error) {
	const half = 1 << 63
	switch f.key.op {
	case opString:
		dst, err := s.appendString(dst, key)
		if err != nil {
			return dst, f.fail(err)
		}
		return dst, nil
	case opBool:
		if key != 0 {
			return append(dst, `"true"`...), nil
		}
		return append(dst, `"false"`...), nil
	case opUint32, opUint64, opUint64Text:
		return append(strconv.AppendUint(append(dst, '"'), key, 10), '"'), nil
	}
	return append(strconv.AppendInt(append(dst, '"'), int64(key^half), 10), '"'), nil
}

func (s *scratch) compareKeys(f *field, a, b *entry) int {
	if f.key.op == opString {
		return bytes.Compare(s.bytes(a.key), s.bytes(b.key))
	}
	return cmp.Compare(a.key, b.key)
}

// sort sorts entries by key and arrival.
func (s *scratch) sort(f *field, entries []entry) {
	slices.SortFunc(entries, func(a, b entry) int {
		if c := s.compareKeys(f, &a, &b); c != 0 {
			return c
		}
		return cmp.Compare(a.nth, b.nth)
	})
}
