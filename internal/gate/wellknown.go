package gate

import (
	"bytes"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Fields of Timestamp, Duration and FieldMask.
var (
	secondsTag = rawTag(1, varintType)
	nanosTag   = rawTag(2, varintType)
	pathTag    = rawTag(1, bytesType)
)

// spelled reads the string under the cursor for a message that has one; false after a problem.
func spelled(j *judge, n *schema.Node) ([]byte, bool) {
	if j.kind() != '"' {
		j.mismatch(n)
		return nil, false
	}
	s, escaped := j.str()
	if escaped && controls(s) {
		j.problem(0, controlText)
		return nil, false
	}
	return s, true
}

// writeTime writes what Timestamp and Duration have in common.
func writeTime(j *judge, seconds int64, nanos int32) {
	if seconds != 0 {
		j.tag(secondsTag)
		j.varint(uint64(seconds))
	}
	if nanos != 0 {
		j.tag(nanosTag)
		j.varint(uint64(int64(nanos)))
	}
}

// timestamp is google.protobuf.Timestamp.
type timestamp struct{ node *schema.Node }

func (t timestamp) body(j *judge) {
	s, ok := spelled(j, t.node)
	if !ok {
		return
	}
	seconds, nanos, ok := parseTimestamp(s)
	if !ok {
		j.problem(0, "must be an RFC 3339 date and time with an offset, for example 2024-05-01T12:00:00Z: capital T and Z, "+
			"at most nine decimals, no leap second, years 0001 to 9999")
		return
	}
	writeTime(j, seconds, nanos)
}

// Ends of google.protobuf.Timestamp in Unix seconds.
const (
	firstSecond = -62135596800
	lastSecond  = 253402300799
)

// parseTimestamp reads RFC 3339 with capital T and Z, an offset, at most nine decimals, no leap second, and a moment
// within the years 0001 to 9999 in UTC.
func parseTimestamp(s []byte) (seconds int64, nanos int32, ok bool) {
	const form = "0000-00-00T00:00:00"
	if len(s) <= len(form) {
		return 0, 0, false
	}
	for i := range len(form) {
		if form[i] == '0' {
			if s[i] < '0' || s[i] > '9' {
				return 0, 0, false
			}
		} else if s[i] != form[i] {
			return 0, 0, false
		}
	}
	year, month, day := int(two(s[0:]))*100+int(two(s[2:])), int(two(s[5:])), int(two(s[8:]))
	hour, minute, second := two(s[11:]), two(s[14:]), two(s[17:])
	if month < 1 || month > 12 || day < 1 || day > daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return 0, 0, false
	}
	rest := s[len(form):]
	if rest[0] == '.' {
		if nanos, rest, ok = decimals(rest[1:]); !ok {
			return 0, 0, false
		}
	}
	offset, ok := zoneOffset(rest)
	if !ok {
		return 0, 0, false
	}
	seconds = daysBefore(year, month, day)*86400 + hour*3600 + minute*60 + second - offset
	return seconds, nanos, seconds >= firstSecond && seconds <= lastSecond
}

// zoneOffset reads Z or ±hh:mm, in seconds.
func zoneOffset(s []byte) (int64, bool) {
	if len(s) == 1 && s[0] == 'Z' {
		return 0, true
	}
	if len(s) != 6 || s[0] != '+' && s[0] != '-' || s[3] != ':' {
		return 0, false
	}
	for _, i := range []int{1, 2, 4, 5} {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	hours, minutes := two(s[1:]), two(s[4:])
	if hours > 23 || minutes > 59 {
		return 0, false
	}
	offset := hours*3600 + minutes*60
	if s[0] == '-' {
		offset = -offset
	}
	return offset, true
}

func two(s []byte) int64 { return int64(s[0]-'0')*10 + int64(s[1]-'0') }

// decimals reads one to nine digits as nanoseconds.
func decimals(s []byte) (nanos int32, rest []byte, ok bool) {
	i := 0
	for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
		if i == 9 {
			return 0, nil, false
		}
		nanos = nanos*10 + int32(s[i]-'0')
	}
	for range 9 - i {
		nanos *= 10
	}
	return nanos, s[i:], i > 0
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysBefore counts the days from 1970-01-01 to a date of the Gregorian calendar. The year begins in March here, so
// that the day that leap years have more is the last one.
func daysBefore(year, month, day int) int64 {
	if month < 3 {
		year, month = year-1, month+12
	}
	year += 400 // not negative for the year 0
	days := 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1
	return int64(days) - 865_565
}

// duration is google.protobuf.Duration.
type duration struct{ node *schema.Node }

func (d duration) body(j *judge) {
	s, ok := spelled(j, d.node)
	if !ok {
		return
	}
	seconds, nanos, ok := parseDuration(s)
	if !ok {
		j.problem(0, "must be seconds with the suffix s, for example 1.5s, from -315576000000s to 315576000000s")
		return
	}
	writeTime(j, seconds, nanos)
}

// maxSeconds is 10,000 years.
const maxSeconds = 315_576_000_000

// parseDuration reads seconds with at most nine decimals and the suffix s.
func parseDuration(s []byte) (seconds int64, nanos int32, ok bool) {
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	if len(s) == 0 || s[len(s)-1] != 's' {
		return 0, 0, false
	}
	whole, fraction := s[:len(s)-1], []byte(nil)
	point := bytes.IndexByte(whole, '.')
	if point >= 0 {
		whole, fraction = whole[:point], whole[point+1:]
	}
	minus, magnitude, ok := digits(whole)
	if !ok || minus || magnitude > maxSeconds {
		return 0, 0, false
	}
	if point >= 0 {
		var rest []byte
		if nanos, rest, ok = decimals(fraction); !ok || len(rest) > 0 {
			return 0, 0, false
		}
	}
	if magnitude == maxSeconds && nanos > 0 {
		return 0, 0, false
	}
	seconds = int64(magnitude)
	if negative {
		return -seconds, -nanos, true
	}
	return seconds, nanos, true
}

// mask is google.protobuf.FieldMask: paths in lowerCamelCase, which go to the wire as the fields are declared.
type mask struct{ node *schema.Node }

func (m mask) body(j *judge) {
	s, ok := spelled(j, m.node)
	if !ok || len(s) == 0 {
		return
	}
	for path := range bytes.SplitSeq(s, []byte(",")) {
		if !maskPath(path) {
			j.problem(0, "must be field paths in lowerCamelCase, separated by commas")
			return
		}
		capitals := 0
		for _, b := range path {
			if 'A' <= b && b <= 'Z' {
				capitals++
			}
		}
		j.tag(pathTag)
		j.varint(uint64(len(path) + capitals))
		for _, b := range path {
			if 'A' <= b && b <= 'Z' {
				j.bytes = append(j.bytes, '_', b+'a'-'A')
			} else {
				j.bytes = append(j.bytes, b)
			}
		}
	}
}

// maskPath reports names of letters and digits that begin with a small letter, joined by dots.
func maskPath(path []byte) bool {
	first := true
	for _, b := range path {
		switch {
		case 'a' <= b && b <= 'z':
			first = false
		case !first && ('A' <= b && b <= 'Z' || '0' <= b && b <= '9'):
		case !first && b == '.':
			first = true
		default:
			return false
		}
	}
	return !first
}
