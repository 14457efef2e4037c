package transcode

import (
	"encoding/base64"
	"encoding/binary"
)

// append writes a message: the piece v, after the runs that start at first if the message arrived in more than one.
func (m *message) append(s *scratch, dst []byte, v span, first uint32, depth int) ([]byte, error) {
	if depth--; depth < 0 {
		return dst, errDepth
	}
	if len(dst) > s.most {
		return dst, errLarge
	}
	t, err := m.compiled()
	if err != nil {
		return dst, err
	}
	if t.form == formTimestamp || t.form == formDuration {
		return t.appendSeconds(s, dst, v, first)
	}
	slots, runs := len(s.slots), len(s.runs)
	taken, err := s.indexAll(t, v, first, depth)
	if err != nil {
		return dst, err
	}
	dst, err = t.append(s, dst, taken, depth)
	s.slots, s.runs = s.slots[:slots], s.runs[:runs]
	return dst, err
}

// indexAll finds the fields of a message. The slots are the top of the stack; the caller gives them back.
func (s *scratch) indexAll(t *table, v span, first uint32, depth int) ([]slot, error) {
	taken := s.take(t.slots)
	for r := first; r >= firstRun; r = s.runs[r].next {
		if err := s.index(t, taken, s.runs[r].v, depth); err != nil {
			return nil, err
		}
	}
	return taken, s.index(t, taken, v, depth)
}

// append writes an indexed message in its form. Of the depth, the message itself is spent.
func (t *table) append(s *scratch, dst []byte, slots []slot, depth int) ([]byte, error) {
	if t.form != formFields {
		return t.appendForm(s, dst, slots, depth)
	}
	start := len(dst)
	dst, err := t.appendFields(s, dst, slots, depth)
	if err != nil {
		return dst, err
	}
	return closed(dst, start, '{', '}'), nil
}

// closed makes an object or an array of members that were each written after a comma, from start on.
func closed(dst []byte, start int, opening, closing byte) []byte {
	if len(dst) == start {
		return append(dst, opening, closing)
	}
	dst[start] = opening
	return append(dst, closing)
}

// appendFields writes a message's fields as they are declared, each after a comma.
func (t *table) appendFields(s *scratch, dst []byte, slots []slot, depth int) ([]byte, error) {
	var err error
	for i := range t.fields {
		f, sl := &t.fields[i], &slots[i]
		if sl.first == absent {
			dst = append(dst, f.absent...)
			continue
		}
		mark := len(dst)
		if f.role == roleBlocks {
			if err := s.checkRuns(f, sl, depth); err != nil {
				return dst, err
			}
			continue
		}
		dst = f.appendName(dst)
		switch f.shape {
		case shapeList:
			start := len(dst)
			if dst, err = s.appendList(dst, f, sl, depth); err != nil {
				return dst, err
			}
			if f.skipZero && len(dst) == start+2 {
				dst = dst[:mark]
			}
		case shapeMap:
			if dst, err = s.appendMap(dst, f, sl, depth); err != nil {
				return dst, err
			}
		default:
			if f.skipZero && f.holdsZero(sl.v) {
				dst = dst[:mark]
				continue
			}
			if dst, err = s.appendValue(dst, f, sl.v, sl.first, depth); err != nil {
				return dst, err
			}
		}
		if f.role == roleHidden {
			dst = dst[:mark]
		}
	}
	return dst, nil
}

// appendName writes the name in whole words: how long it is then decides no branch, which would be mispredicted at most
// fields.
func (f *field) appendName(dst []byte) []byte {
	const size = 8 * len(f.head)
	n := len(dst)
	if len(f.name) > size || cap(dst)-n < size {
		return append(dst, f.name...)
	}
	out := dst[n : n+size]
	binary.LittleEndian.PutUint64(out, f.head[0])
	binary.LittleEndian.PutUint64(out[8:], f.head[1])
	binary.LittleEndian.PutUint64(out[16:], f.head[2])
	return dst[:n+len(f.name)]
}

// holdsZero reports a value that a field without presence cannot tell from absence.
func (f *field) holdsZero(v uint64) bool {
	if f.unit == wireBytes {
		return startOf(v) == endOf(v)
	}
	return f.isZero(v)
}

// appendValue writes one value; of a message, the runs from first on come before v.
func (s *scratch) appendValue(dst []byte, f *field, v uint64, first uint32, depth int) ([]byte, error) {
	switch f.op {
	case opString:
		dst, err := s.appendString(dst, v)
		if err != nil {
			return dst, f.fail(err)
		}
		return dst, nil
	case opBytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, s.bytes(v))
		return append(dst, '"'), nil
	case opMessage:
		return f.message.append(s, dst, v, first, depth)
	}
	return appendNumber(dst, f, v), nil
}

// appendList writes a repeated field's items.
func (s *scratch) appendList(dst []byte, f *field, sl *slot, depth int) ([]byte, error) {
	start := len(dst)
	var err error
	for r := sl.first; r >= firstRun; r = s.runs[r].next {
		if dst, err = s.appendRun(dst, f, s.runs[r].v, depth); err != nil {
			return dst, err
		}
	}
	if dst, err = s.appendRun(dst, f, sl.v, depth); err != nil {
		return dst, err
	}
	return closed(dst, start, '[', ']'), nil
}

// appendRun writes the items of a run of records, each after a comma.
func (s *scratch) appendRun(dst []byte, f *field, run span, depth int) ([]byte, error) {
	w := s.wire[:endOf(run)]
	var err error
	for p := startOf(run); p < len(w); {
		if len(dst) > s.most {
			return dst, errLarge
		}
		var tag, v uint64
		if tag, p = uvarint(w, p); p < 0 {
			return dst, errWire
		}
		if v, p = s.record(w, p, tag); p < 0 {
			return dst, wireError(p)
		}
		if f.packable && tag&7 == wireBytes {
			if dst, err = s.appendPacked(dst, f, v); err != nil {
				return dst, err
			}
			continue
		}
		if dst, err = s.appendValue(append(dst, ','), f, v, alone, depth); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// appendPacked writes numbers that stand together in one record.
func (s *scratch) appendPacked(dst []byte, f *field, packed span) ([]byte, error) {
	w := s.wire[:endOf(packed)]
	for p := startOf(packed); p < len(w); {
		if len(dst) > s.most {
			return dst, errLarge
		}
		var v uint64
		if v, p = s.record(w, p, f.unit); p < 0 {
			return dst, f.fail(wireError(p))
		}
		dst = appendNumber(append(dst, ','), f, v)
	}
	return dst, nil
}
