package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// rule is one protovalidate rule of a place: the keyword it becomes, if there is one, and the words for it.
type rule struct {
	// members are the names, in the rules' message, of what the rule was read from.
	members []protoreflect.Name
	// set writes the keyword; nil where JSON Schema has none.
	set func()
	// words say the rule where no keyword does.
	words string
	// allowsZero says that the zero value of the field keeps the rule.
	allowsZero bool
	// partly says that some values that the keyword accepts break the rule all the same.
	partly bool
}

// of names the members that a rule was read from.
func (r rule) of(members ...protoreflect.Name) rule {
	r.members = members
	return r
}

// remains is what the rules of one place leave beside its keywords.
type remains struct {
	// notes say in words what no keyword says.
	notes []string
	// unsaid says that protovalidate has to judge a value that is given.
	unsaid bool
	// absent says that protovalidate has to judge the absence of a value.
	absent bool
}

// use is where rules stand.
type use struct {
	// part is set for the rules of an item, a key or a map's value: nothing is required of those.
	part bool
	// implicit says that the zero value cannot be told from none, or is what rules of a part may be waived for.
	implicit bool
}

// hasRules reports rules that are to be applied at all.
func hasRules(rules *validate.FieldRules) bool {
	return rules != nil && rules.GetIgnore() != validate.Ignore_IGNORE_ALWAYS
}

// apply publishes the rules of one place on its node, and returns what the keywords leave. Nothing is published that
// protovalidate would not demand: where rules are waived for a zero value, a keyword that refuses it becomes words.
func (d *deriver) apply(n, owner *Node, fd protoreflect.FieldDescriptor, rules *validate.FieldRules, at use) (left remains) {
	if !d.input || !hasRules(rules) {
		return left
	}
	must := rules.GetRequired() && !at.part
	waived := at.implicit && rules.GetIgnore() == validate.Ignore_IGNORE_IF_ZERO_VALUE && !must
	var list []rule
	if must && at.implicit {
		list = append(list, notZero(n, fd))
	}
	m := rules.ProtoReflect()
	if typed := m.WhichOneof(m.Descriptor().Oneofs().ByName("type")); typed != nil {
		if want := rulesName(fd, n); want != string(typed.Name()) {
			d.problem(owner, "field %s: it has (buf.validate.field).%s rules, which do not fit its type; protovalidate would refuse every message", fd.FullName(), typed.Name())
			return left
		}
		message := m.Get(typed).Message()
		list = append(list, d.typedRules(n, fd, message)...)
		list = append(list, d.foreign(fd, message, list)...)
	}
	if len(m.GetUnknown()) > 0 {
		list = append(list, rule{partly: true})
	}
	list = append(list, d.celRules(rules.GetCel(), rules.GetCelExpression(), fd.Message())...)
	for _, r := range list {
		if r.set == nil && r.words == "" && !r.partly {
			continue
		}
		said := r.set != nil && (!waived || r.allowsZero)
		switch {
		case said:
			r.set()
		case r.words != "" && waived && !r.allowsZero:
			left.notes = append(left.notes, "Unless it is left at its default: "+r.words)
		case r.words != "":
			left.notes = append(left.notes, r.words)
		}
		left.unsaid = left.unsaid || !said || r.partly
		left.absent = left.absent || !at.part && at.implicit && !waived && !must && !r.allowsZero
	}
	if n.Enum != nil && len(n.Not) > 0 {
		// One list says what both say.
		n.Enum = slices.DeleteFunc(slices.Clone(n.Enum), func(l Literal) bool { return sameConstant(n, l, n.Not) })
		n.Not = nil
	}
	return left
}

// sameConstant reports a literal whose value is in a list; numbers may be spelled in several ways.
func sameConstant(n *Node, l Literal, list []Literal) bool {
	return slices.ContainsFunc(list, func(o Literal) bool {
		if n.Kind == Integer || n.Kind == Number {
			return parse(l).Cmp(parse(o)) == 0
		}
		return l == o
	})
}

// notZero is the rule that a required field without presence does not hold its zero value, which protovalidate takes
// for none.
func notZero(n *Node, fd protoreflect.FieldDescriptor) rule {
	one := uint64(1)
	switch {
	case n.Kind == Array || n.Kind == Map:
		return rule{set: func() { atLeast(&n.MinCount, one) }, words: "Must not be empty."}.of("required")
	case n.Kind == String && fd.Kind() == protoreflect.EnumKind:
		return enumNarrowed(n, fd, func(v int32) bool { return v != 0 }, "Must not be the default value.", false).of("required")
	case n.Kind == String && n.Form == Int:
		return rule{set: func() { n.Not = append(n.Not, literalString("0")) }, words: "Must not be 0."}.of("required")
	case n.Kind == String:
		return rule{set: func() { atLeast(&n.MinLength, one) }, words: "Must not be empty."}.of("required")
	case n.Kind == Integer:
		return rule{set: func() { n.Not = append(n.Not, literalRaw("0")) }, words: "Must not be 0."}.of("required")
	case n.Kind == Boolean:
		return constant(n, literalRaw("true"), false).of("required")
	}
	// Of a floating-point number only the positive zero is none. NullValue has no other value.
	return words("Must not be 0.").of("required")
}

// rulesName is the member of FieldRules that fits a field, or the value it carries.
func rulesName(fd protoreflect.FieldDescriptor, n *Node) string {
	switch n.Kind {
	case Map:
		return "map"
	case Array:
		return "repeated"
	}
	if fd.Message() == nil {
		return fd.Kind().String()
	}
	switch fd.Message().FullName() {
	case anyName:
		return "any"
	case timestampName:
		return "timestamp"
	case durationName:
		return "duration"
	case fieldMaskName:
		return "field_mask"
	}
	if IsWrapper(fd.Message()) && genuine(fd.Message()) == nil {
		return fd.Message().Fields().ByNumber(1).Kind().String()
	}
	return ""
}

// typedRules lists the rules of one type.
func (d *deriver) typedRules(n *Node, fd protoreflect.FieldDescriptor, m protoreflect.Message) []rule {
	switch rules := m.Interface().(type) {
	case *validate.StringRules:
		return stringRules(n, rules)
	case *validate.BytesRules:
		return bytesRules(n, rules)
	case *validate.BoolRules:
		if rules.Const == nil {
			return nil
		}
		only := literalRaw(strconv.FormatBool(rules.GetConst()))
		if n.Kind == String {
			only = literalString(only.Text) // the key of a map
		}
		return []rule{constant(n, only, !rules.GetConst()).of("const")}
	case *validate.EnumRules:
		return enumRules(n, fd, rules)
	case *validate.RepeatedRules:
		return []rule{
			lowest(rules.MinItems, "At least %d items.", &n.MinCount).of("min_items"),
			highest(rules.MaxItems, "At most %d items.", &n.MaxCount).of("max_items"),
			unique(n, fd, rules.GetUnique()).of("unique"),
		}
	case *validate.MapRules:
		return []rule{
			lowest(rules.MinPairs, "At least %d entries.", &n.MinCount).of("min_pairs"),
			highest(rules.MaxPairs, "At most %d entries.", &n.MaxCount).of("max_pairs"),
		}
	case *validate.AnyRules:
		// Said by the accepted types, in finishAny; no Any that a caller can give is the zero value.
		return []rule{
			when(len(rules.GetIn()) > 0, func() {}, "One of: "+strings.Join(rules.GetIn(), ", ")+".", true).of("in"),
			when(len(rules.GetNotIn()) > 0, func() {}, "None of: "+strings.Join(rules.GetNotIn(), ", ")+".", true).of("not_in"),
		}
	case *validate.FieldMaskRules:
		var list []rule
		if rules.Const != nil {
			list = append(list, words("Must be the mask %s.", strings.Join(rules.GetConst().GetPaths(), ",")).of("const"))
		}
		if len(rules.GetIn()) > 0 {
			list = append(list, words("Paths at or below one of: %s.", strings.Join(rules.GetIn(), ", ")).of("in"))
		}
		if len(rules.GetNotIn()) > 0 {
			list = append(list, words("No paths at or below: %s.", strings.Join(rules.GetNotIn(), ", ")).of("not_in"))
		}
		return list
	case *validate.TimestampRules:
		return append(rangeWords(m), timestampWords(rules)...)
	case *validate.DurationRules:
		return rangeWords(m)
	}
	return numericRules(n, m)
}

func words(format string, args ...any) rule { return rule{words: fmt.Sprintf(format, args...)} }

func when(on bool, set func(), text string, allowsZero bool) rule {
	if !on {
		return rule{}
	}
	return rule{set: set, words: text, allowsZero: allowsZero}
}

// lowest and highest bound a count or a length. Several rules may: the narrower one holds.
func lowest(limit *uint64, format string, to **uint64) rule {
	if limit == nil {
		return rule{}
	}
	return rule{set: func() { atLeast(to, *limit) }, words: fmt.Sprintf(format, *limit), allowsZero: *limit == 0}
}

func highest(limit *uint64, format string, to **uint64) rule {
	if limit == nil {
		return rule{}
	}
	return rule{set: func() { atMost(to, *limit) }, words: fmt.Sprintf(format, *limit), allowsZero: true}
}

func atLeast(to **uint64, limit uint64) {
	if *to == nil || **to < limit {
		*to = &limit
	}
}

func atMost(to **uint64, limit uint64) {
	if *to == nil || **to > limit {
		*to = &limit
	}
}

// unique is the rule that no two items of a list are equal. Protovalidate compares what the fields hold, so that two
// names of one enum value are equal, and two numbers that one float stands for.
func unique(n *Node, fd protoreflect.FieldDescriptor, on bool) rule {
	r := when(on, func() { n.Unique = true }, "The items are unique.", true)
	switch {
	case !on:
	case fd.Message() != nil:
		r.set = nil
	case fd.Kind() == protoreflect.EnumKind:
		numbers := map[protoreflect.EnumNumber]bool{}
		for i := range fd.Enum().Values().Len() {
			number := fd.Enum().Values().Get(i).Number()
			r.partly = r.partly || numbers[number]
			numbers[number] = true
		}
	case fd.Kind() == protoreflect.FloatKind, fd.Kind() == protoreflect.DoubleKind:
		r.partly = true
	}
	return r
}

func constant(n *Node, value Literal, allowsZero bool) rule {
	return rule{
		set:        func() { n.Enum, n.Const = intersect(n.Enum, []Literal{value}), true },
		words:      "Must be " + value.JSON + ".",
		allowsZero: allowsZero,
	}
}

func among(n *Node, list []Literal, allowsZero bool) rule {
	if len(list) == 0 {
		return rule{}
	}
	return rule{set: func() { n.Enum = intersect(n.Enum, list) }, words: "One of: " + texts(list) + ".", allowsZero: allowsZero}
}

func notAmong(n *Node, list []Literal, allowsZero bool) rule {
	if len(list) == 0 {
		return rule{}
	}
	return rule{set: func() { n.Not = append(n.Not, list...) }, words: "None of: " + texts(list) + ".", allowsZero: allowsZero}
}

// intersect keeps a constant that a const rule wrote before: both rules hold.
func intersect(have, list []Literal) []Literal {
	if have == nil {
		return list
	}
	return slices.DeleteFunc(slices.Clone(have), func(l Literal) bool { return !slices.Contains(list, l) })
}

func texts(list []Literal) string {
	parts := make([]string, len(list))
	for i, l := range list {
		parts[i] = l.JSON
	}
	return strings.Join(parts, ", ")
}

// enumRules narrow the accepted names. Every enum is closed in an input already, so defined_only adds nothing.
func enumRules(n *Node, fd protoreflect.FieldDescriptor, rules *validate.EnumRules) []rule {
	named := func(numbers []int32) string {
		var parts []string
		for _, number := range numbers {
			if vd := fd.Enum().Values().ByNumber(protoreflect.EnumNumber(number)); vd != nil {
				parts = append(parts, string(vd.Name()))
			}
		}
		return strings.Join(parts, ", ")
	}
	var list []rule
	if rules.Const != nil {
		only := rules.GetConst()
		list = append(list, enumNarrowed(n, fd, func(v int32) bool { return v == only }, "Must be "+named([]int32{only})+".", only == 0).of("const"))
	}
	if in := rules.GetIn(); len(in) > 0 {
		list = append(list, enumNarrowed(n, fd, func(v int32) bool { return slices.Contains(in, v) }, "One of: "+named(in)+".", slices.Contains(in, 0)).of("in"))
	}
	if not := rules.GetNotIn(); len(not) > 0 {
		list = append(list, enumNarrowed(n, fd, func(v int32) bool { return !slices.Contains(not, v) }, "None of: "+named(not)+".", !slices.Contains(not, 0)).of("not_in"))
	}
	return list
}

func enumNarrowed(n *Node, fd protoreflect.FieldDescriptor, keep func(int32) bool, text string, allowsZero bool) rule {
	if n.Kind != String {
		return rule{words: text, allowsZero: allowsZero} // NullValue, whose one value no list narrows
	}
	values := fd.Enum().Values()
	return rule{
		set: func() {
			n.Enum = slices.DeleteFunc(slices.Clone(n.Enum), func(l Literal) bool {
				return !keep(int32(values.ByName(protoreflect.Name(l.Text)).Number()))
			})
			if len(n.Enum) > 0 || !keep(0) {
				return
			}
			// Left out as what nobody needs to give, the zero value is all that can be given here.
			for i := range values.Len() {
				if vd := values.Get(i); vd.Number() == 0 {
					n.Enum = append(n.Enum, literalString(string(vd.Name())))
				}
			}
		},
		words: text, allowsZero: allowsZero,
	}
}
