package transcode

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// form is the JSON form of a message.
type form uint8

const (
	formFields form = iota // an object of its fields
	formWrapper
	formTimestamp
	formDuration
	formFieldMask
	formStruct
	formListValue
	formValue
	formAny
)

func formOf(md protoreflect.MessageDescriptor) form {
	switch md.FullName() {
	case "google.protobuf.Timestamp":
		return formTimestamp
	case "google.protobuf.Duration":
		return formDuration
	case "google.protobuf.FieldMask":
		return formFieldMask
	case "google.protobuf.Struct":
		return formStruct
	case "google.protobuf.ListValue":
		return formListValue
	case "google.protobuf.Value":
		return formValue
	case "google.protobuf.Any":
		return formAny
	}
	if schema.IsWrapper(md) {
		return formWrapper
	}
	return formFields
}

// shapes are the fields by which the forms are written, in the order of their numbers: a contract brings its own copy
// of the well-known files.
var shapes = map[form][]struct {
	kind protoreflect.Kind
	many bool
}{
	formTimestamp: {{kind: protoreflect.Int64Kind}, {kind: protoreflect.Int32Kind}},
	formDuration:  {{kind: protoreflect.Int64Kind}, {kind: protoreflect.Int32Kind}},
	formFieldMask: {{kind: protoreflect.StringKind, many: true}},
	formStruct:    {{kind: protoreflect.MessageKind, many: true}},
	formListValue: {{kind: protoreflect.MessageKind, many: true}},
	formValue: {
		{kind: protoreflect.EnumKind}, {kind: protoreflect.DoubleKind}, {kind: protoreflect.StringKind},
		{kind: protoreflect.BoolKind}, {kind: protoreflect.MessageKind}, {kind: protoreflect.MessageKind},
	},
	formAny: {{kind: protoreflect.StringKind}, {kind: protoreflect.BytesKind}},
}

// check reports a message that bears a well-known name but not the fields that go with it.
func (f form) check(md protoreflect.MessageDescriptor) error {
	if f == formWrapper {
		if fd := md.Fields().ByNumber(1); md.Fields().Len() != 1 || fd == nil || fd.Cardinality() == protoreflect.Repeated || fd.Message() != nil {
			return fmt.Errorf("message %s: the contract declares other fields than the well-known type of that name has", md.FullName())
		}
		return nil
	}
	want, ok := shapes[f]
	if !ok {
		return nil
	}
	good := md.Fields().Len() == len(want)
	for i := 0; good && i < len(want); i++ {
		fd := md.Fields().Get(i)
		good = int(fd.Number()) == i+1 && fd.Kind() == want[i].kind && (fd.Cardinality() == protoreflect.Repeated) == want[i].many
	}
	if !good || (f == formStruct) != md.Fields().Get(0).IsMap() {
		return fmt.Errorf("message %s: the contract declares other fields than the well-known type of that name has", md.FullName())
	}
	return nil
}

// appendSeconds writes a Timestamp or a Duration. They are frequent and have two numbers for fields: of each the last one
// holds, and no index is needed to find it.
func (t *table) appendSeconds(s *scratch, dst []byte, v span, first uint32) ([]byte, error) {
	var seconds, nanos uint64
	for r := first; r >= firstRun; r = s.runs[r].next {
		if err := s.twoNumbers(s.runs[r].v, &seconds, &nanos); err != nil {
			return dst, err
		}
	}
	if err := s.twoNumbers(v, &seconds, &nanos); err != nil {
		return dst, err
	}
	if t.form == formTimestamp {
		return appendTimestamp(dst, int64(seconds), int32(nanos))
	}
	return appendDuration(dst, int64(seconds), int32(nanos))
}

// twoNumbers reads the varints 1 and 2 of a message.
func (s *scratch) twoNumbers(v span, one, two *uint64) error {
	w := s.wire[:endOf(v)]
	for p := startOf(v); p < len(w); {
		var tag, v uint64
		if tag, p = uvarint(w, p); p < 0 {
			return errWire
		}
		if v, p = s.record(w, p, tag); p < 0 {
			return wireError(p)
		}
		switch number := tag >> 3; {
		case tag == 1<<3|wireVarint:
			*one = v
		case tag == 2<<3|wireVarint:
			*two = v
		case number < uint64(protowire.MinValidNumber) || number > uint64(protowire.MaxValidNumber):
			return errWire
		}
	}
	return nil
}

// appendForm writes an indexed message that is no object of its fields.
func (t *table) appendForm(s *scratch, dst []byte, slots []slot, depth int) ([]byte, error) {
	switch t.form {
	case formFieldMask:
		return s.appendFieldMask(dst, &slots[0])
	case formWrapper:
		return s.appendValue(dst, &t.fields[0], slots[0].v, alone, depth)
	case formStruct:
		if slots[0].first == absent {
			return append(dst, `{}`...), nil
		}
		return s.appendMap(dst, &t.fields[0], &slots[0], depth)
	case formListValue:
		if slots[0].first == absent {
			return append(dst, `[]`...), nil
		}
		return s.appendList(dst, &t.fields[0], &slots[0], depth)
	case formValue:
		return t.appendValue(s, dst, slots, depth)
	}
	return t.appendAny(s, dst, slots, depth)
}

// appendValue writes a google.protobuf.Value, which must hold something that JSON can say.
func (t *table) appendValue(s *scratch, dst []byte, slots []slot, depth int) ([]byte, error) {
	const number = 1 // the index of number_value
	for i := range t.fields {
		sl := &slots[i]
		if sl.first == absent {
			continue
		}
		if x := math.Float64frombits(sl.v); i == number && (math.IsNaN(x) || math.IsInf(x, 0)) {
			return dst, errors.New("a google.protobuf.Value holds a number that is not finite")
		}
		return s.appendValue(dst, &t.fields[i], sl.v, sl.first, depth)
	}
	return dst, errors.New("a google.protobuf.Value holds nothing, not even null")
}

const (
	minTimestamp = -62135596800 // 0001-01-01T00:00:00Z
	maxTimestamp = 253402300799 // 9999-12-31T23:59:59Z
	maxDuration  = 315576000000 // about 10,000 years
	maxNanos     = 999999999
)

// appendTimestamp writes an instant in UTC with no, three, six or nine decimals.
func appendTimestamp(dst []byte, seconds int64, nanos int32) ([]byte, error) {
	if seconds < minTimestamp || seconds > maxTimestamp || nanos < 0 || nanos > maxNanos {
		return dst, errors.New("a google.protobuf.Timestamp is out of range")
	}
	// Days since 0000-03-01, the first day of a calendar whose years begin in March, so that the leap day is a year's
	// last. The steps from there are Neri's and Schneider's (Euclidean affine functions and their application to
	// calendar algorithms, 2022).
	const secondsOfDay, daysTo1970 = 86400, 719468
	days, second := seconds/secondsOfDay, uint32(seconds%secondsOfDay)
	if seconds%secondsOfDay < 0 {
		days, second = days-1, second+secondsOfDay
	}
	quarters := uint32(days+daysTo1970)*4 + 3
	century, ofCentury := quarters/146097, quarters%146097|3
	product := uint64(ofCentury) * 2939745
	year, ofYear := uint32(product>>32), uint32(product)/2939745/4
	months := 2141*ofYear + 197913
	month, day := months>>16, months&0xffff/2141+1
	if ofYear >= 306 {
		month -= 12
		if year++; year == 100 {
			century, year = century+1, 0
		}
	}
	n := len(dst)
	dst = append(dst, `"0000-00-00T00:00:00`...)
	text := dst[n : n+20]
	putDigits(text[1:], century)
	putDigits(text[3:], year)
	putDigits(text[6:], month)
	putDigits(text[9:], day)
	putDigits(text[12:], second/3600)
	putDigits(text[15:], second/60%60)
	putDigits(text[18:], second%60)
	return append(appendDecimals(dst, uint32(nanos)), 'Z', '"'), nil
}

// putDigits writes a number below 100.
func putDigits(text []byte, d uint32) {
	text[0], text[1] = byte('0'+d/10), byte('0'+d%10)
}

// appendDuration writes seconds with no, three, six or nine decimals.
func appendDuration(dst []byte, seconds int64, nanos int32) ([]byte, error) {
	if seconds < -maxDuration || seconds > maxDuration || nanos < -maxNanos || nanos > maxNanos {
		return dst, errors.New("a google.protobuf.Duration is out of range")
	}
	if seconds > 0 && nanos < 0 || seconds < 0 && nanos > 0 {
		return dst, errors.New("the seconds and nanos of a google.protobuf.Duration have different signs")
	}
	dst = append(dst, '"')
	if seconds < 0 || nanos < 0 {
		seconds, nanos = -seconds, -nanos
		dst = append(dst, '-')
	}
	dst = strconv.AppendInt(dst, seconds, 10)
	return append(appendDecimals(dst, uint32(nanos)), 's', '"'), nil
}

// appendDecimals writes nanoseconds as decimals, in groups of three that are not all zero.
func appendDecimals(dst []byte, nanos uint32) []byte {
	if nanos == 0 {
		return dst
	}
	dst = append(dst, '.')
	for unit := uint32(100_000_000); nanos > 0; {
		for range 3 {
			dst = append(dst, byte('0'+nanos/unit))
			nanos %= unit
			unit /= 10
		}
	}
	return dst
}

// appendFieldMask writes paths in lowerCamelCase, joined by commas.
func (s *scratch) appendFieldMask(dst []byte, sl *slot) ([]byte, error) {
	dst = append(dst, '"')
	start := len(dst)
	paths := func(run span) error {
		return s.items(run, func(v span) error {
			if len(dst) > start {
				dst = append(dst, ',')
			}
			var ok bool
			if dst, ok = appendPath(dst, s.bytes(v)); !ok {
				return errors.New("a google.protobuf.FieldMask holds what is no path of field names, or cannot be written so that it can be read again")
			}
			return nil
		})
	}
	for r := sl.first; r >= firstRun; r = s.runs[r].next {
		if err := paths(s.runs[r].v); err != nil {
			return dst, err
		}
	}
	if err := paths(sl.v); err != nil {
		return dst, err
	}
	return append(dst, '"'), nil
}

// appendPath writes a path of names joined by dots, each underscore and the letter after it as a capital. It fails
// where the way back would lead elsewhere: at capitals, and at an underscore before anything but a small letter.
func appendPath(dst, path []byte) ([]byte, bool) {
	fresh := true // at the start of a name
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case 'a' <= c && c <= 'z':
			dst, fresh = append(dst, c), false
		case '0' <= c && c <= '9' && !fresh:
			dst = append(dst, c)
		case c == '_' && i+1 < len(path) && 'a' <= path[i+1] && path[i+1] <= 'z':
			i++
			dst, fresh = append(dst, path[i]-'a'+'A'), false
		case c == '.' && !fresh:
			dst, fresh = append(dst, c), true
		default:
			return dst, false
		}
	}
	return dst, !fresh
}
