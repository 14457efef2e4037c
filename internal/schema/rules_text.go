package schema

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
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
	list := []rule{
		lowest(rules.MinLen, "At least %d characters.", &n.MinLength).of("min_len"),
		highest(rules.MaxLen, "At most %d characters.", &n.MaxLength).of("max_len"),
	}
	if rules.Len != nil {
		exactly := rules.GetLen()
		set := func() { atLeast(&n.MinLength, exactly); atMost(&n.MaxLength, exactly) }
		list = append(list, when(true, set, fmt.Sprintf("Exactly %d characters.", exactly), exactly == 0).of("len"))
	}
	if rules.Const != nil {
		list = append(list, constant(n, literalString(rules.GetConst()), rules.GetConst() == "").of("const"))
	}
	in, notIn := rules.GetIn(), rules.GetNotIn()
	list = append(list,
		among(n, literalStrings(in), slices.Contains(in, "")).of("in"),
		notAmong(n, literalStrings(notIn), !slices.Contains(notIn, "")).of("not_in"))
	if rules.Pattern != nil {
		source := rules.GetPattern()
		r := words("Must match the RE2 pattern %s", source).of("pattern")
		if re, err := regexp.Compile(source); err == nil {
			r.allowsZero = re.MatchString("")
			if portable, ok := portablePattern(source); ok {
				r.set = func() { n.Pattern = portable }
			}
		}
		list = append(list, r)
	}
	text := func(has bool, member protoreflect.Name, allowsZero bool, format string, value any) {
		if has {
			list = append(list, rule{words: fmt.Sprintf(format, value), allowsZero: allowsZero}.of(member))
		}
	}
	text(rules.Prefix != nil, "prefix", rules.GetPrefix() == "", "Must begin with %s.", quote(rules.GetPrefix()))
	text(rules.Suffix != nil, "suffix", rules.GetSuffix() == "", "Must end with %s.", quote(rules.GetSuffix()))
	text(rules.Contains != nil, "contains", rules.GetContains() == "", "Must contain %s.", quote(rules.GetContains()))
	text(rules.NotContains != nil, "not_contains", rules.GetNotContains() != "", "Must not contain %s.", quote(rules.GetNotContains()))
	text(rules.LenBytes != nil, "len_bytes", rules.GetLenBytes() == 0, "Exactly %d bytes in UTF-8.", rules.GetLenBytes())
	text(rules.MinBytes != nil, "min_bytes", rules.GetMinBytes() == 0, "At least %d bytes in UTF-8.", rules.GetMinBytes())
	text(rules.MaxBytes != nil, "max_bytes", true, "At most %d bytes in UTF-8.", rules.GetMaxBytes())
	return append(list, wellKnownText(n, rules.ProtoReflect())...)
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
func wellKnownText(n *Node, m protoreflect.Message) []rule {
	fd := m.WhichOneof(m.Descriptor().Oneofs().ByName("well_known"))
	if fd == nil {
		return nil
	}
	r := rule{}
	switch {
	case fd.Kind() == protoreflect.EnumKind:
		if v := fd.Enum().Values().ByNumber(m.Get(fd).Enum()); v != nil && v.Number() != 0 {
			name := strings.TrimPrefix(string(v.Name()), "KNOWN_REGEX_")
			r = words("Must be an %s.", strings.ReplaceAll(strings.ToLower(name), "_", " "))
			// Not strictly judged, protovalidate's own Go code wants at least one character, though its CEL rule does not.
			strict := m.Descriptor().Fields().ByName("strict")
			r.allowsZero = fd.Enum().Values().ByNumber(m.Get(fd).Enum()).Name() == "KNOWN_REGEX_HTTP_HEADER_VALUE" && (!m.Has(strict) || m.Get(strict).Bool())
		} else if v == nil {
			r.partly = true
		}
	case !m.Get(fd).Bool():
	case formats[fd.Name()] != "" && n.Form == Text:
		format := formats[fd.Name()]
		r = rule{set: func() { n.Format = format }, words: "Must be of the format " + format + "."}
	case forms[fd.Name()] != "":
		r = rule{words: forms[fd.Name()], allowsZero: fd.Name() == "uri_ref"}
	default:
		r = words("Must be of the form %s.", fd.Name())
	}
	return []rule{r.of(fd.Name())}
}

// bytesRules lists the rules of bytes. Lengths are of the decoded bytes, which no keyword counts.
func bytesRules(n *Node, rules *validate.BytesRules) []rule {
	var list []rule
	text := func(has bool, member protoreflect.Name, allowsZero bool, format string, value any) {
		if has {
			list = append(list, rule{words: fmt.Sprintf(format, value), allowsZero: allowsZero}.of(member))
		}
	}
	encode := base64.StdEncoding.EncodeToString
	text(rules.Len != nil, "len", rules.GetLen() == 0, "Exactly %d bytes.", rules.GetLen())
	text(rules.MinLen != nil, "min_len", rules.GetMinLen() == 0, "At least %d bytes.", rules.GetMinLen())
	text(rules.MaxLen != nil, "max_len", true, "At most %d bytes.", rules.GetMaxLen())
	if rules.Pattern != nil {
		re, err := regexp.Compile(rules.GetPattern())
		text(true, "pattern", err == nil && re.MatchString(""), "The bytes must match the RE2 pattern %s", rules.GetPattern())
	}
	text(rules.Prefix != nil, "prefix", len(rules.GetPrefix()) == 0, "Must begin with the bytes of %s.", encode(rules.GetPrefix()))
	text(rules.Suffix != nil, "suffix", len(rules.GetSuffix()) == 0, "Must end with the bytes of %s.", encode(rules.GetSuffix()))
	text(rules.Contains != nil, "contains", len(rules.GetContains()) == 0, "Must contain the bytes of %s.", encode(rules.GetContains()))
	literals := func(values [][]byte) (list []Literal, zero bool) {
		for _, v := range values {
			list = append(list, literalString(encode(v)))
			zero = zero || len(v) == 0
		}
		return list, zero
	}
	if rules.Const != nil {
		list = append(list, constant(n, literalString(encode(rules.GetConst())), len(rules.GetConst()) == 0).of("const"))
	}
	in, zeroIn := literals(rules.GetIn())
	notIn, zeroNotIn := literals(rules.GetNotIn())
	list = append(list, among(n, in, zeroIn).of("in"), notAmong(n, notIn, !zeroNotIn).of("not_in"))
	return append(list, wellKnownText(n, rules.ProtoReflect())...)
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
	var lower, upper string
	var low, high protoreflect.Message
	for _, bound := range []struct {
		name   protoreflect.Name
		format string
	}{
		{"const", ""}, {"gt", "greater than "}, {"gte", "at least "}, {"lt", "less than "}, {"lte", "at most "},
	} {
		fd := m.Descriptor().Fields().ByName(bound.name)
		if fd == nil || !m.Has(fd) {
			continue
		}
		switch text := bound.format + show(m.Get(fd)); {
		case bound.name == "const":
			list = append(list, words("Must be %s.", text).of("const"))
		case bound.name[0] == 'g':
			lower, low = text, m.Get(fd).Message()
		default:
			upper, high = text, m.Get(fd).Message()
		}
	}
	switch {
	case low != nil && high != nil && before(high, low):
		list = append(list, words("Must be %s or %s.", upper, lower).of(rangeMembers...))
	case low != nil && high != nil:
		list = append(list, words("Must be %s and %s.", lower, upper).of(rangeMembers...))
	case low != nil || high != nil:
		list = append(list, words("Must be %s.", lower+upper).of(rangeMembers...))
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
		list = append(list, words(set.format, strings.Join(values, ", ")).of(set.name))
	}
	return list
}

// before compares two timestamps or two durations, whose fields are alike.
func before(a, b protoreflect.Message) bool {
	seconds, nanos := a.Descriptor().Fields().ByName("seconds"), a.Descriptor().Fields().ByName("nanos")
	if x, y := a.Get(seconds).Int(), b.Get(seconds).Int(); x != y {
		return x < y
	}
	return a.Get(nanos).Int() < b.Get(nanos).Int()
}

func timestampWords(rules *validate.TimestampRules) []rule {
	list := []rule{
		when(rules.GetLtNow(), nil, "Must be in the past.", false).of("lt_now"),
		when(rules.GetGtNow(), nil, "Must be in the future.", false).of("gt_now"),
	}
	if w := rules.GetWithin(); w != nil {
		list = append(list, words("Must be within %s of now.", durationText(w)).of("within"))
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
