package transcode

import (
	"encoding/binary"
	"errors"
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// maxDepth bounds how deep messages may nest: a message counts one, and so does a map around it. It is protobuf-go's
// limit, but counted through Any, whose contents protobuf-go counts anew.
const maxDepth = protowire.DefaultRecursionLimit

// maxWire bounds a response in bytes: spans hold 32-bit offsets. gRPC cannot carry more in one message.
const maxWire = math.MaxUint32

// The JSON of a response may be growth times as long as its bytes, and growthBytes in any case. Two bytes are enough for
// an empty message, whose JSON has all its fields, and one for an enum's value, whose JSON is a name: a service could
// otherwise fill the edge's memory with a response of a size that the edge accepts.
const (
	growth      = 16
	growthBytes = 16 << 20
)

var (
	errLarge = errors.New("the JSON is out of proportion to the response")
	errWire  = errors.New("the bytes are no protobuf message")
	errDepth = errors.New("messages nest too deep")
	errUTF8  = errors.New("a string is not valid UTF-8")
)

// Wire types, as they stand in the low bits of a tag.
const (
	wireVarint  = uint64(protowire.VarintType)
	wireFixed64 = uint64(protowire.Fixed64Type)
	wireBytes   = uint64(protowire.BytesType)
	wireGroup   = uint64(protowire.StartGroupType)
	wireFixed32 = uint64(protowire.Fixed32Type)
)

// span is a piece of the response: the offset of its first byte in the high half, the one after its last in the low.
type span = uint64

func spanOf(start, end int) span { return uint64(start)<<32 | uint64(end) }
func startOf(v span) int         { return int(v >> 32) }
func endOf(v span) int           { return int(uint32(v)) }

func (s *scratch) bytes(v span) []byte { return s.wire[startOf(v):endOf(v)] }

// uvarint reads the varint at p and returns the position after it, which is negative where there is none.
func uvarint(w []byte, p int) (uint64, int) {
	if p < len(w) && w[p] < 0x80 {
		return uint64(w[p]), p + 1
	}
	return longVarint(w, p)
}

func longVarint(w []byte, p int) (uint64, int) {
	v, n := protowire.ConsumeVarint(w[p:])
	if n < 0 {
		return 0, -1
	}
	return v, p + n
}

// record reads the value behind a tag: a number's bits, or the span of what has a length or an end. The position after
// it is negative where there is none, and then wireError says why.
func (s *scratch) record(w []byte, p int, tag uint64) (v uint64, next int) {
	switch tag & 7 {
	case wireVarint:
		return uvarint(w, p)
	case wireBytes:
		n, p := uvarint(w, p)
		if p < 0 || n > uint64(len(w)-p) {
			return 0, -1
		}
		return spanOf(p, p+int(n)), p + int(n)
	case wireFixed64:
		if len(w)-p < 8 {
			return 0, -1
		}
		return binary.LittleEndian.Uint64(w[p:]), p + 8
	case wireFixed32:
		if len(w)-p < 4 {
			return 0, -1
		}
		return uint64(binary.LittleEndian.Uint32(w[p:])), p + 4
	case wireGroup:
		if tag>>3 > math.MaxInt32 {
			return 0, -1
		}
		content, n := protowire.ConsumeGroup(protowire.Number(tag>>3), w[p:])
		if n < 0 {
			return 0, -1
		}
		if s.groups += n; s.groups > groupEffort*len(s.wire)+groupBytes {
			return 0, tooDeep
		}
		return spanOf(p, p+len(content)), p + n
	}
	return 0, -1
}

// groupEffort bounds how often, on average, a byte of a response may be passed over in search of a group's end, and
// groupBytes what is searched in any case. A group does not say how long it is: groups within groups are searched once more
// at every level, and a large response that nests them deep would keep a processor busy for minutes. Messages that say
// their length are bounded by maxDepth alone.
const (
	groupEffort = 64
	groupBytes  = 32 << 20
)

// tooDeep is the position after a group that exhausts groupEffort.
const tooDeep = -2

// wireError says what a negative position means.
func wireError(p int) error {
	if p == tooDeep {
		return errDepth
	}
	return errWire
}

// slot is what the index of a message knows of one field.
type slot struct {
	// v is the bits of the last number, the span of the last string, bytes or message, or, of a repeated field, the
	// span of the last run of records.
	v uint64
	// first is absent, alone, or the index of the first of the runs that came before v.
	first uint32
	// last is the last of those runs.
	last uint32
}

const (
	absent   = 0
	alone    = 1
	firstRun = 2
)

// run is one piece of a field that arrived in several, linked to the next one before the slot's own.
type run struct {
	v    span
	next uint32
}

// push moves a slot's span to the end of the runs before it.
func (s *scratch) push(sl *slot) {
	at := uint32(len(s.runs))
	s.runs = append(s.runs, run{v: sl.v})
	if sl.first == alone {
		sl.first = at
	} else {
		s.runs[sl.last].next = at
	}
	sl.last = at
}

// index notes in slots where the fields between p and end are. Several calls for one message merge its pieces. What an
// index leaves out of the message, since a later value replaced it, is checked here, for nobody will read it.
func (s *scratch) index(t *table, slots []slot, v span, depth int) error {
	w := s.wire[:endOf(v)]
	for p := startOf(v); p < len(w); {
		at := p
		var tag, v uint64
		if tag, p = uvarint(w, p); p < 0 {
			return errWire
		}
		if v, p = s.record(w, p, tag); p < 0 {
			return wireError(p)
		}
		i := t.lookUp(tag >> 3)
		if i < 0 {
			if i == invalid {
				return errWire
			}
			continue
		}
		f, sl := &t.fields[i], &slots[i]
		if f.wires>>(tag&7)&1 == 0 {
			continue
		}
		switch f.shape {
		case shapeList, shapeMap:
			switch {
			case sl.first == absent:
				sl.v, sl.first = spanOf(at, p), alone
			case endOf(sl.v) == at:
				sl.v = spanOf(startOf(sl.v), p)
			default:
				s.push(sl)
				sl.v = spanOf(at, p)
			}
			continue
		case shapeMember:
			if chosen := &slots[f.oneof]; chosen.v != uint64(i)+1 {
				if chosen.v != 0 {
					if err := s.drop(&t.fields[chosen.v-1], &slots[chosen.v-1], depth); err != nil {
						return err
					}
				}
				chosen.v = uint64(i) + 1
			}
		}
		if sl.first == absent {
			sl.first = alone
		} else if f.op == opMessage {
			s.push(sl)
		} else if f.strict && !utf8.Valid(s.bytes(sl.v)) {
			return f.fail(errUTF8)
		}
		sl.v = v
	}
	return nil
}

// drop empties the slot of a oneof's member that another one replaced.
func (s *scratch) drop(f *field, sl *slot, depth int) error {
	for r := sl.first; r >= firstRun; r = s.runs[r].next {
		if err := s.checkValue(f, s.runs[r].v, depth); err != nil {
			return err
		}
	}
	err := s.checkValue(f, sl.v, depth)
	*sl = slot{}
	return err
}
