package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// look looks up every spelling under which a service may write a value.
func (f *finder) look(v *Value) {
	if v.Node != nil && v.Node.Enum != nil {
		return // one of the document's own
	}
	f.begin(v)
	if v.Kind == Number {
		f.number(string(v.Text))
		return
	}
	form := schema.Text
	if v.Node != nil && v.Node.Kind == schema.String {
		form = v.Node.Form
	}
	switch form {
	case schema.Base64:
		f.base64()
	case schema.Int:
		f.number(string(v.Text))
	case schema.Timestamp:
		f.timestamp()
	case schema.Duration:
		f.duration()
	case schema.FieldMask:
		f.fieldMask()
	default:
		f.text(v.Text)
	}
}

// number looks up a number by its value, with what a float or a double makes of it, and where it has some digits as
// text, too: there it need not be the whole of a number.
func (f *finder) number(literal string) {
	if !f.ix.digits {
		return
	}
	d, ok := schema.ParseDecimal(literal)
	if !ok {
		f.text([]byte(literal))
		return
	}
	f.by, f.decimal = byNumber, d
	f.equal(d)
	if !isInteger(literal) || len(literal) > 7 {
		f.rounded(literal)
	}
	f.digits(literal)
	if d.IsInteger() && !isInteger(literal) {
		if v, ok := d.Int(); ok {
			f.digits(v.String())
		}
	}
}

func isInteger(literal string) bool { return strings.Trim(literal, "-0123456789") == "" }

// digits looks a number up as text where it has enough digits to be told from a part of another one.
func (f *finder) digits(text string) {
	if f.value.Sensitive || len(strings.TrimPrefix(text, "-")) >= unitDigits {
		f.text([]byte(text))
	}
}

// rounded looks up what a literal is as a double and as a float.
func (f *finder) rounded(literal string) {
	double, err := strconv.ParseFloat(literal, 64)
	if err != nil {
		return
	}
	single := float32(double)
	for _, text := range []string{
		strconv.FormatFloat(double, 'e', -1, 64),
		strconv.FormatFloat(float64(single), 'e', -1, 64),
		strconv.FormatFloat(float64(single), 'e', -1, 32),
	} {
		if d, ok := schema.ParseDecimal(text); ok {
			f.equal(d)
		}
	}
}

// base64 looks up bytes as base64 of every kind, as text, in hexadecimal, and as Go prints a slice.
func (f *finder) base64() {
	given := f.value.Text
	f.text(given)
	bare := bytes.TrimRight(given, "=")
	if len(bare) < len(given) {
		f.text(bare)
	}
	if bytes.ContainsAny(given, "+/") {
		forURL := bytes.ReplaceAll(bytes.ReplaceAll(given, []byte("+"), []byte("-")), []byte("/"), []byte("_"))
		f.text(forURL)
		f.text(forURL[:len(bare)])
	}
	raw, err := base64.StdEncoding.DecodeString(string(given))
	if err != nil || len(raw) == 0 {
		return
	}
	if utf8.Valid(raw) {
		f.text(raw)
	}
	if len(raw) < 2 {
		return
	}
	f.text([]byte(hex.EncodeToString(raw)))
	list := make([]byte, 0, 4*len(raw))
	for _, b := range raw {
		list = append(strconv.AppendUint(list, uint64(b), 10), ' ')
	}
	f.text(list)
}

// timestamp looks up a moment to the second, in UTC and in the offset in which it was sent, in the usual spellings and as
// Unix time. A fraction and an offset behind it are part of it, whatever they are.
func (f *finder) timestamp() {
	t, err := time.Parse(time.RFC3339Nano, string(f.value.Text))
	if err != nil || f.value.Sensitive {
		f.text(f.value.Text)
	}
	if err != nil {
		return
	}
	inUTC := t.UTC()
	for _, at := range []time.Time{t, inUTC} {
		for _, layout := range momentLayouts {
			f.moment(at.AppendFormat(nil, layout))
		}
		if _, offset := t.Zone(); offset == 0 {
			break
		}
	}
	f.amount(strconv.FormatInt(inUTC.Unix(), 10))
	f.amount(strconv.FormatInt(inUTC.UnixMilli(), 10))
	if inUTC.Year() >= 1678 && inUTC.Year() < 2262 { // the range of nanoseconds in 64 bits
		f.amount(strconv.FormatInt(inUTC.UnixMicro(), 10))
		f.amount(strconv.FormatInt(inUTC.UnixNano(), 10))
	}
}

// momentLayouts are spellings up to the second.
var momentLayouts = []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "Mon, 02 Jan 2006 15:04:05", time.ANSIC}

// duration looks up a duration as it was sent, in the canonical spellings, as Go prints it, and as a number of seconds
// and of milliseconds.
func (f *finder) duration() {
	text := string(f.value.Text)
	f.text(f.value.Text)
	seconds, ok := strings.CutSuffix(text, "s")
	d, valid := schema.ParseDecimal(seconds)
	if !ok || !valid {
		return
	}
	f.equal(d)
	whole, fraction, _ := strings.Cut(seconds, ".")
	if millis, ok := schema.ParseDecimal(seconds + "e3"); ok {
		f.equal(millis)
		if v, ok := millis.Int(); ok {
			f.digits(v.String())
		}
	}
	if len(fraction) > 9 {
		return
	}
	padded := (fraction + "000000000")[:9]
	bare := strings.TrimRight(fraction, "0")
	for _, decimals := range []int{0, 3, 6, 9} {
		if len(bare) > decimals {
			continue
		}
		spelling := whole + "." + padded[:decimals] + "s"
		if decimals == 0 {
			spelling = whole + "s"
		}
		f.text([]byte(spelling))
	}
	f.digits(whole)
	if inGo, err := time.ParseDuration(text); err == nil {
		f.text([]byte(inGo.String()))
	}
}

// amount looks up a number that stands for a value of another kind.
func (f *finder) amount(text string) {
	if d, ok := schema.ParseDecimal(text); ok {
		f.equal(d)
	}
	f.digits(text)
}

// fieldMask looks up a mask and each of its paths, as in JSON and as in protobuf. A path of names that the document has
// is no secret.
func (f *finder) fieldMask() {
	whole := string(f.value.Text)
	paths := strings.Split(whole, ",")
	lookUp := func(text string, paths []string) {
		f.by, f.paths, f.subject = byPaths, paths, unknown
		f.text([]byte(text))
		if inProto := snake(text); inProto != text {
			f.text([]byte(inProto))
		}
	}
	lookUp(whole, paths)
	if len(paths) > 1 {
		for _, path := range paths {
			lookUp(path, []string{path})
		}
	}
}

// snake is a name in lowerCamelCase as protobuf declares it.
func snake(name string) string {
	var out strings.Builder
	for _, r := range name {
		if 'A' <= r && r <= 'Z' {
			fmt.Fprintf(&out, "_%c", r+'a'-'A')
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}
