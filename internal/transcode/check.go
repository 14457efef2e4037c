package transcode

import "unicode/utf8"

// What is in a response but not in its JSON is checked all the same: a response is a message of its type, or it is
// refused. Checked is what a protobuf parser checks, not whether JSON could say it.

// checkValue checks one value of a singular field or of a list.
func (s *scratch) checkValue(f *field, v uint64, depth int) error {
	switch {
	case f.op == opMessage:
		return s.check(f.message, v, depth)
	case f.strict && !utf8.Valid(s.bytes(v)):
		return f.fail(errUTF8)
	}
	return nil
}

// check checks a message, or one piece of it.
func (s *scratch) check(m *message, v span, depth int) error {
	if depth--; depth < 0 {
		return errDepth
	}
	t, err := m.compiled()
	if err != nil {
		return err
	}
	w := s.wire[:endOf(v)]
	for p := startOf(v); p < len(w); {
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
		f := &t.fields[i]
		if f.wires>>(tag&7)&1 == 0 {
			continue
		}
		switch {
		case f.shape == shapeMap:
			err = s.checkEntry(f, v, depth)
		case f.packable && tag&7 == wireBytes:
			err = s.checkPacked(f, v)
		default:
			err = s.checkValue(f, v, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkPacked checks the numbers of a packed list.
func (s *scratch) checkPacked(f *field, v span) error {
	w := s.wire[:endOf(v)]
	for p := startOf(v); p < len(w); {
		if _, p = s.record(w, p, f.unit); p < 0 {
			return f.fail(wireError(p))
		}
	}
	return nil
}

// checkEntry checks an entry of a map.
func (s *scratch) checkEntry(f *field, v span, depth int) error {
	if depth--; depth < 0 {
		return errDepth
	}
	mark := len(s.runs)
	defer func() { s.runs = s.runs[:mark] }()
	e, err := s.entry(f, v)
	if err != nil {
		return err
	}
	if f.key.strict && !utf8.Valid(s.bytes(e.key)) {
		return f.fail(errUTF8)
	}
	return s.checkEntryValue(f, &e, depth)
}

// checkEntryValue checks the value of an entry that was read.
func (s *scratch) checkEntryValue(f *field, e *entry, depth int) error {
	for r := e.first; r >= firstRun; r = s.runs[r].next {
		if err := s.checkValue(f.value, s.runs[r].v, depth); err != nil {
			return err
		}
	}
	return s.checkValue(f.value, e.v, depth)
}

// checkRuns checks the messages of a repeated field.
func (s *scratch) checkRuns(f *field, sl *slot, depth int) error {
	for r := sl.first; r >= firstRun; r = s.runs[r].next {
		if err := s.checkRun(f, s.runs[r].v, depth); err != nil {
			return err
		}
	}
	return s.checkRun(f, sl.v, depth)
}

func (s *scratch) checkRun(f *field, run span, depth int) error {
	return s.items(run, func(v span) error { return s.checkValue(f, v, depth) })
}

// items hands over the value of every record of a run.
func (s *scratch) items(run span, f func(v uint64) error) error {
	w := s.wire[:endOf(run)]
	for p := startOf(run); p < len(w); {
		var tag, v uint64
		if tag, p = uvarint(w, p); p < 0 {
			return errWire
		}
		if v, p = s.record(w, p, tag); p < 0 {
			return wireError(p)
		}
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}
