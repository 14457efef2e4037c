package schema

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// stringRules lists the rules of a string.
func stringRules(n *Node, rules *validate.StringRules) []rule {
	minLen, maxLen := rules.MinLen, rules.MaxLen
	if rules.Len != nil {
		minLen, maxLen = rules.Len, rules.Len
	}
	list := []rule{
		counted(minLen, "At least %d characters.", &n.MinLength, minLen == nil || *minLen == 0),
		counted(maxLen, "At most %d characters.", &n.MaxLength, true),
	}
	if rules.Const != nil {
		list = append(list, constant(n, literalString(rules.GetConst()), rules.GetConst() == ""))
	}
	in, notIn := literalStrings(rules.GetIn()), literalStrings(rules.GetNotIn())
	empty := func(list []string) bool {
		for _, s := range list {
			if s == "" {
				return true
			}
		}
		return false
	}
	list = append(list, among(n, in, empty(rules.GetIn())), notAmong(n, notIn, !empty(rules.GetNotIn())))
	if source := rules.GetPattern(); source != "" {
		r := words("Must match the RE2 pattern %s", source)
		if re, err := regexp.Compile(source); err == nil {
			r.allowsZero = re.MatchString("")
			if portable, ok := portablePattern(source); ok {
				r.set = func() { n.Pattern = portable }
			}
		}
		list = append(list, r)
	}
	text := func(has bool, allowsZero bool, format string, value any) {
		if has {
			list = append(list, rule{words: fmt.Sprintf(format, value), allowsZero: allowsZero})
		}
	}
	text(rules.Prefix != nil, rules.GetPrefix() == "", "Must begin with %s.", quote(rules.GetPrefix()))
	text(rules.Suffix != nil, rules.GetSuffix() == "", "Must end with %s.", quote(rules.GetSuffix()))
	text(rules.Contains != nil, rules.GetContains() == "", "Must contain %s.", quote(rules.GetContains()))
	text(rules.NotContains != nil, true, "Must not contain %s.", quote(rules.GetNotContains()))
	text(rules.LenBytes != nil, rules.GetLenBytes() == 0, "Exactly %d bytes in UTF-8.", rules.GetLenBytes())
	text(rules.MinBytes != nil, rules.GetMinBytes() == 0, "At least %d bytes in UTF-8.", rules.GetMinBytes())
	text(rules.MaxBytes != nil, true, "At most %d bytes in UTF-8.", rules.GetMaxBytes())
	if r, ok := wellKnownText(n, rules.ProtoReflect()); ok {
		list = append(list, r)
	}
	return list
}

// formats are the well-known forms of text that JSON Schema has a format for.
var formats = map[protoreflect.Name]string{
	"email": "email", "hostname": "hostname", "ipv4": "ipv4", "ipv6": "ipv6", "uri": "uri", "uuid": "uuid",
}

// forms are the other ones, in words.
var forms = map[protoreflect.Name]string{
	"ip":                  "Must be an IP address.",
	"uri_ref":             "Must be a URI reference.",
	"address":             "Must be a host name or an IP address.",
	"tuuid":               "Must be a UUID without dashes.",
	"ip_with_prefixlen":   "Must be an IP address with its prefix length.",
	"ipv4_with_prefixlen": "Must be an IPv4 address with its prefix length.",
	"ipv6_with_prefixlen": "Must be an IPv6 address with its prefix length.",
	"ip_prefix":           "Must be an IP prefix.",
	"ipv4_prefix":         "Must be an IPv4 prefix.",
	"ipv6_prefix":         "Must be an IPv6 prefix.",
	"host_and_port":       "Must be a host and port.",
	"ulid":                "Must be a ULID.",
	"protobuf_fqn":        "Must be a fully qualified protobuf name.",
	"protobuf_dot_fqn":    "Must be a fully qualified protobuf name with a leading dot.",
}

// wellKnownText is the rule of the member set in well_known, if any.
func wellKnownText(n *Node, m protoreflect.Message) (rule, bool) {
	fd := m.WhichOneof(m.Descriptor().Oneofs().ByName("well_known"))
	if fd == nil {
		return rule{}, false
	}
	if fd.Kind() == protoreflect.EnumKind {
		if v := fd.Enum().Values().ByNumber(m.Get(fd).Enum()); v != nil && v.Number() != 0 {
			name := strings.TrimPrefix(string(v.Name()), "KNOWN_REGEX_")
			return words("Must be an %s.", strings.ReplaceAll(strings.ToLower(name), "_", " ")), true
		}
		return rule{}, false
	}
	if !m.Get(fd).Bool() {
		return rule{}, false
	}
	if format := formats[fd.Name()]; format != "" && n.Form == Text {
		return rule{set: func() { n.Format = format }, words: "Must be of the format " + format + "."}, true
	}
	if text := forms[fd.Name()]; text != "" {
		return rule{words: text}, true
	}
	return words("Must be of the form %s.", fd.Name()), true
}

// bytesRules lists the rules of bytes. Lengths are of the decoded bytes, which no keyword counts.
func bytesRules(n *Node, rules *validate.BytesRules) []rule {
	var list []rule
	text := func(has bool, allowsZero bool, format string, value any) {
		if has {
			list = append(list, rule{words: fmt.Sprintf(format, value), allowsZero: allowsZero})
		}
	}
	encode := base64.StdEncoding.EncodeToString
	text(rules.Len != nil, rules.GetLen() == 0, "Exactly %d bytes.", rules.GetLen())
	text(rules.MinLen != nil, rules.GetMinLen() == 0, "At least %d bytes.", rules.GetMinLen())
	text(rules.MaxLen != nil, true, "At most %d bytes.", rules.GetMaxLen())
	text(rules.Pattern != nil, false, "The bytes must match the RE2 pattern %s", rules.GetPattern())
	text(rules.Prefix != nil, len(rules.GetPrefix()) == 0, "Must begin with the bytes of %s.", encode(rules.GetPrefix()))
	text(rules.Suffix != nil, len(rules.GetSuffix()) == 0, "Must end with the bytes of %s.", encode(rules.GetSuffix()))
	text(rules.Contains != nil, len(rules.GetContains()) == 0, "Must contain the bytes of %s.", encode(rules.GetContains()))
	literals := func(values [][]byte) (list []Literal, zero bool) {
		for _, v := range values {
			list = append(list, literalString(encode(v)))
			zero = zero || len(v) == 0
		}
		return list, zero
	}
	if rules.Const != nil {
		list = append(list, constant(n, literalString(encode(rules.GetConst())), len(rules.GetConst()) == 0))
	}
	in, zeroIn := literals(rules.GetIn())
	notIn, zeroNotIn := literals(rules.GetNotIn())
	list = append(list, among(n, in, zeroIn), notAmong(n, notIn, !zeroNotIn))
	if r, ok := wellKnownText(n, rules.ProtoReflect()); ok {
		list = append(list, r)
	}
	return list
}

// rangeWords says the bounds of timestamps and durations, which are text in JSON and have no keyword.
func rangeWords(m protoreflect.Message) []rule {
	show := func(v protoreflect.Value) string {
		switch t := v.Message().Interface().(type) {
		case *durationpb.Duration:
			return durationText(t)
		case *timestamppb.Timestamp:
			return t.AsTime().Format(time.RFC3339Nano)
		}
		return ""
	}
	var list []rule
	for _, bound := range []struct {
		name   protoreflect.Name
		format string
	}{
		{"const", "Must be %s."}, {"gt", "Must be greater than %s."}, {"gte", "Must be at least %s."},
		{"lt", "Must be less than %s."}, {"lte", "Must be at most %s."},
	} {
		if fd := m.Descriptor().Fields().ByName(bound.name); fd != nil && m.Has(fd) {
			list = append(list, words(bound.format, show(m.Get(fd))))
		}
	}
	for _, set := range []struct {
		name   protoreflect.Name
		format string
	}{{"in", "One of: %s."}, {"not_in", "None of: %s."}} {
		fd := m.Descriptor().Fields().ByName(set.name)
		if fd == nil || m.Get(fd).List().Len() == 0 {
			continue
		}
		var values []string
		for i := range m.Get(fd).List().Len() {
			values = append(values, show(m.Get(fd).List().Get(i)))
		}
		list = append(list, words(set.format, strings.Join(values, ", ")))
	}
	return list
}

func timestampWords(rules *validate.TimestampRules) []rule {
	var list []rule
	if rules.GetLtNow() {
		list = append(list, words("Must be in the past."))
	}
	if rules.GetGtNow() {
		list = append(list, words("Must be in the future."))
	}
	if w := rules.GetWithin(); w != nil {
		list = append(list, words("Must be within %s of now.", durationText(w)))
	}
	return list
}

// durationText writes a duration as ProtoJSON does, without trailing zeros.
func durationText(d *durationpb.Duration) string {
	seconds, nanos, sign := d.GetSeconds(), d.GetNanos(), ""
	if seconds < 0 || nanos < 0 {
		seconds, nanos, sign = -seconds, -nanos, "-"
	}
	text := fmt.Sprintf("%s%d", sign, seconds)
	if nanos != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%09d", nanos), "0")
	}
	return text + "s"
}

func literalStrings(values []string) []Literal {
	var list []Literal
	for _, v := range values {
		if utf8.ValidString(v) {
			list = append(list, literalString(v))
		}
	}
	return list
}
