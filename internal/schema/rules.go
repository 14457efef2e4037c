package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// rule is one protovalidate rule of a place: the keyword it becomes, if there is one, and the words for it.
type rule struct {
	// set writes the keyword; nil where JSON Schema has none.
	set func()
	// words say the rule where no keyword does.
	words string
	// allowsZero says that the zero value of the field keeps the rule.
	allowsZero bool
}

// hasRules reports rules that are to be applied at all.
func hasRules(rules *validate.FieldRules) bool {
	return rules != nil && rules.GetIgnore() != validate.Ignore_IGNORE_ALWAYS
}

// apply publishes the rules of one place on its node, and returns in words what no keyword can say. Implicit says that
// a zero value cannot be told from none. Nothing is published that protovalidate would not demand: where rules are
// waived for a zero value, a keyword that refuses it becomes words.
func (d *deriver) apply(n, owner *Node, fd protoreflect.FieldDescriptor, rules *validate.FieldRules, implicit bool) (notes []string) {
	if !d.input || !hasRules(rules) {
		return nil
	}
	waived := implicit && rules.GetIgnore() == validate.Ignore_IGNORE_IF_ZERO_VALUE
	var list []rule
	m := rules.ProtoReflect()
	if typed := m.WhichOneof(m.Descriptor().Oneofs().ByName("type")); typed != nil {
		if want := rulesName(fd, n); want != string(typed.Name()) {
			d.problem(owner, "field %s: it has (buf.validate.field).%s rules, which do not fit its type; protovalidate would refuse every message", fd.FullName(), typed.Name())
			return nil
		}
		list = d.typedRules(n, fd, m.Get(typed).Message())
	}
	for _, r := range list {
		switch {
		case r.set != nil && (!waived || r.allowsZero):
			r.set()
		case r.words != "" && waived && !r.allowsZero:
			notes = append(notes, "Unless it is left at its default: "+r.words)
		case r.words != "":
			notes = append(notes, r.words)
		}
	}
	return append(notes, celWords(rules.GetCel(), rules.GetCelExpression())...)
}

// celWords are the messages of CEL rules, which protovalidate judges after the gate.
func celWords(rules []*validate.Rule, expressions []string) (notes []string) {
	for _, r := range rules {
		switch {
		case r.GetMessage() != "":
			notes = append(notes, sentence(r.GetMessage()))
		case r.GetExpression() != "":
			notes = append(notes, "Must satisfy the CEL rule: "+inOneLine(r.GetExpression()))
		}
	}
	for _, e := range expressions {
		notes = append(notes, "Must satisfy the CEL rule: "+inOneLine(e))
	}
	return notes
}

func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

// messageRules publishes the rules of a message in words; protovalidate judges them.
func (d *deriver) messageRules(n *Node, md protoreflect.MessageDescriptor) {
	rules := extension[*validate.MessageRules](md.Options(), validate.E_Message)
	if rules == nil {
		return
	}
	for _, one := range rules.GetOneof() {
		var names []string
		for _, field := range one.GetFields() {
			if i := slices.IndexFunc(n.Properties, func(p Property) bool { return string(p.Field.Name()) == field }); i >= 0 {
				names = append(names, n.Properties[i].Name)
			}
		}
		if note := oneofNote(names, one.GetRequired(), true); len(names) > 0 && note != "" {
			n.Notes = append(n.Notes, note)
		}
	}
	n.Notes = append(n.Notes, celWords(rules.GetCel(), rules.GetCelExpression())...)
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
	if IsWrapper(fd.Message()) {
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
		return []rule{constant(n, literalRaw(strconv.FormatBool(rules.GetConst())), !rules.GetConst())}
	case *validate.EnumRules:
		return enumRules(n, fd, rules)
	case *validate.RepeatedRules:
		return []rule{
			counted(rules.MinItems, "At least %d items.", &n.MinCount, rules.GetMinItems() == 0),
			counted(rules.MaxItems, "At most %d items.", &n.MaxCount, true),
			when(rules.GetUnique() && fd.Message() == nil, func() { n.Unique = true }, "The items are unique.", true),
		}
	case *validate.MapRules:
		return []rule{
			counted(rules.MinPairs, "At least %d entries.", &n.MinCount, rules.GetMinPairs() == 0),
			counted(rules.MaxPairs, "At most %d entries.", &n.MaxCount, true),
		}
	case *validate.AnyRules:
		return nil // they narrow the accepted types, in finishAny
	case *validate.FieldMaskRules:
		var list []rule
		if rules.Const != nil {
			list = append(list, words("Must be the mask %s.", strings.Join(rules.GetConst().GetPaths(), ",")))
		}
		if len(rules.GetIn()) > 0 {
			list = append(list, words("Paths at or below one of: %s.", strings.Join(rules.GetIn(), ", ")))
		}
		if len(rules.GetNotIn()) > 0 {
			list = append(list, words("No paths at or below: %s.", strings.Join(rules.GetNotIn(), ", ")))
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

func counted(limit *uint64, format string, to **uint64, allowsZero bool) rule {
	if limit == nil {
		return rule{}
	}
	return rule{set: func() { *to = limit }, words: fmt.Sprintf(format, *limit), allowsZero: allowsZero}
}

func constant(n *Node, value Literal, allowsZero bool) rule {
	return rule{
		set:        func() { n.Enum, n.Const = []Literal{value}, true },
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
	return rule{set: func() { n.Not = list }, words: "None of: " + texts(list) + ".", allowsZero: allowsZero}
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
	values := fd.Enum().Values()
	narrow := func(keep func(int32) bool, text string, allowsZero bool) rule {
		return rule{
			set: func() {
				n.Enum = slices.DeleteFunc(slices.Clone(n.Enum), func(l Literal) bool {
					return !keep(int32(values.ByName(protoreflect.Name(l.Text)).Number()))
				})
			},
			words: text, allowsZero: allowsZero,
		}
	}
	named := func(numbers []int32) string {
		var parts []string
		for _, number := range numbers {
			if vd := values.ByNumber(protoreflect.EnumNumber(number)); vd != nil {
				parts = append(parts, string(vd.Name()))
			}
		}
		return strings.Join(parts, ", ")
	}
	if n.Kind != String {
		return nil // NullValue has one value
	}
	var list []rule
	if rules.Const != nil {
		only := []int32{rules.GetConst()}
		list = append(list, narrow(func(v int32) bool { return v == only[0] }, "Must be "+named(only)+".", only[0] == 0))
	}
	if in := rules.GetIn(); len(in) > 0 {
		list = append(list, narrow(func(v int32) bool { return slices.Contains(in, v) }, "One of: "+named(in)+".", slices.Contains(in, 0)))
	}
	if not := rules.GetNotIn(); len(not) > 0 {
		list = append(list, narrow(func(v int32) bool { return !slices.Contains(not, v) }, "None of: "+named(not)+".", !slices.Contains(not, 0)))
	}
	return list
}

// numericRules are the rules of all numbers, whose messages share their field names.
func numericRules(n *Node, m protoreflect.Message) []rule {
	get := func(name protoreflect.Name) (Literal, bool) {
		fd := m.Descriptor().Fields().ByName(name)
		if fd == nil || !m.Has(fd) {
			return Literal{}, false
		}
		return numberLiteral(n, fd, m.Get(fd))
	}
	all := func(name protoreflect.Name) (list []Literal) {
		fd := m.Descriptor().Fields().ByName(name)
		for i := range m.Get(fd).List().Len() {
			if l, ok := numberLiteral(n, fd, m.Get(fd).List().Get(i)); ok {
				list = append(list, l)
			}
		}
		return list
	}
	isZero := func(l Literal) bool { return parse(l).Sign() == 0 }

	var list []rule
	if c, ok := get("const"); ok {
		list = append(list, constant(n, c, isZero(c)))
	}
	list = append(list, ranged(n, get)...)
	in, notIn := all("in"), all("not_in")
	return append(list,
		among(n, in, slices.ContainsFunc(in, isZero)),
		notAmong(n, notIn, !slices.ContainsFunc(notIn, isZero)))
}

// ranged publishes gt, gte, lt and lte. Ends in the wrong order mean "outside", which no keyword says.
func ranged(n *Node, get func(protoreflect.Name) (Literal, bool)) []rule {
	var lower, upper *Bound
	for _, name := range []protoreflect.Name{"gt", "gte"} {
		if l, ok := get(name); ok {
			lower = &Bound{Text: l.Text, Exclusive: name == "gt"}
		}
	}
	for _, name := range []protoreflect.Name{"lt", "lte"} {
		if l, ok := get(name); ok {
			upper = &Bound{Text: l.Text, Exclusive: name == "lt"}
		}
	}
	lowerText, upperText := "", ""
	if lower != nil {
		lowerText = map[bool]string{true: "greater than ", false: "at least "}[lower.Exclusive] + lower.Text
	}
	if upper != nil {
		upperText = map[bool]string{true: "less than ", false: "at most "}[upper.Exclusive] + upper.Text
	}
	if lower != nil && upper != nil {
		order := parse(literalRaw(upper.Text)).Cmp(parse(literalRaw(lower.Text)))
		if order < 0 || order == 0 && (lower.Exclusive || upper.Exclusive) {
			return []rule{words("Must be %s or %s.", upperText, lowerText)}
		}
	}
	var list []rule
	if lower != nil {
		sign := parse(literalRaw(lower.Text)).Sign()
		list = append(list, rule{
			set: func() { raise(n, lower) }, words: "Must be " + lowerText + ".",
			allowsZero: sign < 0 || sign == 0 && !lower.Exclusive,
		})
	}
	if upper != nil {
		sign := parse(literalRaw(upper.Text)).Sign()
		list = append(list, rule{
			set: func() { cut(n, upper) }, words: "Must be " + upperText + ".",
			allowsZero: sign > 0 || sign == 0 && !upper.Exclusive,
		})
	}
	return list
}

// raise and cut narrow a range: of integers by the next one, of other numbers by the bound as it stands.
func raise(n *Node, b *Bound) {
	if n.Kind == Number {
		n.Lower = b
		return
	}
	v, _ := new(big.Int).SetString(b.Text, 10)
	if b.Exclusive {
		v.Add(v, big.NewInt(1))
	}
	n.Min = v
}

func cut(n *Node, b *Bound) {
	if n.Kind == Number {
		n.Upper = b
		return
	}
	v, _ := new(big.Int).SetString(b.Text, 10)
	if b.Exclusive {
		v.Sub(v, big.NewInt(1))
	}
	n.Max = v
}

// numberLiteral writes a rule's number as the node writes its values. What is not finite cannot be written.
func numberLiteral(n *Node, fd protoreflect.FieldDescriptor, v protoreflect.Value) (Literal, bool) {
	var text string
	switch fd.Kind() {
	case protoreflect.FloatKind:
		text = strconv.FormatFloat(v.Float(), 'g', -1, 32)
	case protoreflect.DoubleKind:
		text = strconv.FormatFloat(v.Float(), 'g', -1, 64)
	default:
		text = v.String()
	}
	if strings.ContainsAny(text, "IN") {
		return Literal{}, false
	}
	if n.Kind == String {
		return Literal{JSON: `"` + text + `"`, Text: text}, true
	}
	return literalRaw(text), true
}

// parse reads a literal of a number exactly. The text is ours and finite.
func parse(l Literal) Decimal {
	d, _ := ParseDecimal(l.Text)
	return d
}
