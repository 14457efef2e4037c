package schematest

import (
	"math"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// rules draws protovalidate rules for a field. Must says that the field is needed: its rules do not contradict each
// other then.
func (d *draft) rules(m *messageDraft, fd *descriptorpb.FieldDescriptorProto, form shape, v valueType, must bool) {
	if !percent(d.t, 55) {
		return
	}
	rules, _ := proto.GetExtension(fd.Options, validate.E_Field).(*validate.FieldRules)
	if rules == nil {
		rules = &validate.FieldRules{}
	}
	// A message that needs itself has no finite document: what may be empty stays so there.
	loop := v.message != nil && v.message.index <= m.index
	switch form {
	case singular:
		d.valueRules(rules, v, must)
	case repeated:
		r := &validate.RepeatedRules{}
		low := uint64(between(d.t, 0, 2))
		if percent(d.t, 40) && !loop {
			r.MinItems = proto.Uint64(low)
		}
		if percent(d.t, 40) {
			r.MaxItems = proto.Uint64(low + uint64(between(d.t, 0, 3)))
		}
		if v.kind != kindMessage && percent(d.t, 30) {
			r.Unique = proto.Bool(true)
		}
		if percent(d.t, 50) {
			items := &validate.FieldRules{}
			if d.valueRules(items, v, r.GetMinItems() > 0) {
				r.Items = items
			}
		}
		rules.Type = &validate.FieldRules_Repeated{Repeated: r}
	case mapped:
		r := &validate.MapRules{}
		low := uint64(between(d.t, 0, 2))
		if percent(d.t, 40) && !loop {
			r.MinPairs = proto.Uint64(low)
		}
		if percent(d.t, 40) {
			r.MaxPairs = proto.Uint64(low + uint64(between(d.t, 0, 3)))
		}
		entry := m.proto.NestedType[len(m.proto.NestedType)-1]
		if keys := (&validate.FieldRules{}); percent(d.t, 40) && d.valueRules(keys, valueType{kind: entry.Field[0].GetType()}, r.GetMinPairs() > 0) {
			r.Keys = keys
		}
		of := v
		if of.kind != entry.Field[1].GetType() {
			of = valueType{kind: entry.Field[1].GetType()}
		}
		if values := (&validate.FieldRules{}); percent(d.t, 40) && d.valueRules(values, of, r.GetMinPairs() > 0) {
			r.Values = values
		}
		rules.Type = &validate.FieldRules_Map{Map: r}
	}
	switch {
	case percent(d.t, 12):
		rules.Ignore = validate.Ignore_IGNORE_IF_ZERO_VALUE.Enum()
	case percent(d.t, 5):
		rules.Ignore = validate.Ignore_IGNORE_ALWAYS.Enum()
	}
	if percent(d.t, 5) {
		rules.Cel = []*validate.Rule{{Id: proto.String("field.holds"), Message: proto.String("holds always"), Expression: proto.String("true")}}
	}
	if proto.Equal(rules, &validate.FieldRules{}) {
		return
	}
	m.file.imports[rulesPath] = true
	proto.SetExtension(fd.Options, validate.E_Field, rules)
}

// valueRules draws the rules of one value into rules, and reports whether it has any.
func (d *draft) valueRules(rules *validate.FieldRules, v valueType, must bool) bool {
	switch v.name {
	case "":
		return d.scalarRules(rules, v.kind, must)
	case ".google.protobuf.Timestamp":
		rules.Type = &validate.FieldRules_Timestamp{Timestamp: d.timestampRules()}
		return true
	case ".google.protobuf.Duration":
		rules.Type = &validate.FieldRules_Duration{Duration: d.durationRules()}
		return true
	case ".google.protobuf.FieldMask":
		r := &validate.FieldMaskRules{}
		switch between(d.t, 0, 2) {
		case 0:
			r.In = []string{"a", "user_name"}
		case 1:
			r.NotIn = []string{"b"}
		case 2:
			r.Const = &fieldmaskpb.FieldMask{Paths: []string{"a"}}
		}
		rules.Type = &validate.FieldRules_FieldMask{FieldMask: r}
		return true
	case ".google.protobuf.Any":
		if must {
			return false
		}
		list := []string{"type.googleapis.com/google.protobuf.Any", "type.googleapis.com" + "/" + d.messages[len(d.messages)-1].name[1:]}
		r := &validate.AnyRules{In: list}
		if percent(d.t, 40) {
			r = &validate.AnyRules{NotIn: list[:1]}
		}
		rules.Type = &validate.FieldRules_Any{Any: r}
		return true
	}
	if scalar, ok := wrapped[v.name]; ok {
		return d.scalarRules(rules, scalar, must)
	}
	if v.enum != nil {
		return d.enumRules(rules, v.enum)
	}
	return false
}

// wrapped are the kinds inside the wrappers.
var wrapped = map[string]kind{
	".google.protobuf.DoubleValue": descriptorpb.FieldDescriptorProto_TYPE_DOUBLE,
	".google.protobuf.FloatValue":  descriptorpb.FieldDescriptorProto_TYPE_FLOAT,
	".google.protobuf.Int64Value":  descriptorpb.FieldDescriptorProto_TYPE_INT64,
	".google.protobuf.UInt64Value": descriptorpb.FieldDescriptorProto_TYPE_UINT64,
	".google.protobuf.Int32Value":  descriptorpb.FieldDescriptorProto_TYPE_INT32,
	".google.protobuf.UInt32Value": descriptorpb.FieldDescriptorProto_TYPE_UINT32,
	".google.protobuf.BoolValue":   kindBool,
	".google.protobuf.StringValue": kindString,
	".google.protobuf.BytesValue":  kindBytes,
}

func (d *draft) scalarRules(rules *validate.FieldRules, k kind, must bool) bool {
	switch k {
	case kindString:
		rules.Type = &validate.FieldRules_String_{String_: d.stringRules(must)}
	case kindBytes:
		rules.Type = &validate.FieldRules_Bytes{Bytes: d.bytesRules()}
	case kindBool:
		rules.Type = &validate.FieldRules_Bool{Bool: &validate.BoolRules{Const: proto.Bool(percent(d.t, 50))}}
	default:
		d.numericRules(rules, k, must)
	}
	return true
}

// patterns are the patterns that are drawn, with texts that match them. Some of them mean something else in
// ECMA-262 as they stand, and some cannot be published.
var patterns = []struct {
	source string
	match  []string
}{
	{`^[a-z-]+$`, []string{"a", "abc-d", "-"}},
	{`[0-9]{3}`, []string{"x123y", "007", "é000"}},
	{`^(foo|bar)?$`, []string{"", "foo", "bar"}},
	{`^\S.(?i:k)$`, []string{"a k", "x\u00a0K", "😀é\u212a"}},
	{`^\w+@\w+$`, []string{"a@b", "me_1@x"}},
	{`^.{2,4}$`, []string{"ab", "é😀x", "a\r\u2028b"}},
	{`\bword\b`, []string{"word", "a word.", "é word"}},
	{`(?s)^.*x$`, []string{"x", "\n\nx"}},
	{`^[^/]+/[^/]+$`, []string{"a/b", "é/😀\n"}},
	{`^\p{Lu}`, []string{"Äa", "A"}}, // not published
	{`(?m)^a$`, []string{"a", "b\na"}},
	{`^$`, []string{""}},
}

func (d *draft) stringRules(must bool) *validate.StringRules {
	r := &validate.StringRules{}
	choice := between(d.t, 0, 12)
	switch choice {
	case 0, 1:
		low := uint64(between(d.t, 0, 3))
		if percent(d.t, 60) {
			r.MinLen = proto.Uint64(low)
		}
		if percent(d.t, 60) {
			r.MaxLen = proto.Uint64(low + uint64(between(d.t, 0, 4)))
		}
	case 2:
		r.Len = proto.Uint64(uint64(between(d.t, 0, 4)))
	case 3, 4:
		r.Pattern = proto.String(pick(d.t, patterns).source)
	case 5:
		r.In = []string{"x", "é😀", "", "a\tb"}[:between(d.t, 1, 4)]
	case 6:
		r.NotIn = []string{"x", "", "a\"b"}[:between(d.t, 1, 3)]
	case 7:
		r.Const = proto.String(pick(d.t, []string{"x", "", "é\\"}))
	case 8:
		r.Prefix, r.Contains = proto.String("pre"), proto.String("mid")
	case 9:
		r.MinBytes, r.MaxBytes = proto.Uint64(1), proto.Uint64(4)
	default:
		// Set by number: the well-known forms are the members of one oneof of booleans.
		m := r.ProtoReflect()
		forms := m.Descriptor().Oneofs().ByName("well_known").Fields()
		names := []protoreflect.Name{"email", "hostname", "ipv4", "ipv6", "uri", "uuid", "ip", "address", "tuuid", "uri_ref"}
		m.Set(forms.ByName(pick(d.t, names)), protoreflect.ValueOfBool(!percent(d.t, 5)))
	}
	if !must && percent(d.t, 10) {
		// A second rule, which may or may not agree with the first.
		switch between(d.t, 0, 2) {
		case 0:
			r.MaxLen = proto.Uint64(uint64(between(d.t, 0, 40)))
		case 1:
			r.NotIn = []string{"x", "a@b.example"}
		case 2:
			r.Pattern = proto.String(pick(d.t, patterns).source)
		}
	}
	return r
}

func (d *draft) bytesRules() *validate.BytesRules {
	switch between(d.t, 0, 5) {
	case 0:
		return &validate.BytesRules{MinLen: proto.Uint64(1), MaxLen: proto.Uint64(4)}
	case 1:
		return &validate.BytesRules{Len: proto.Uint64(2)}
	case 2:
		return &validate.BytesRules{Const: []byte("a\xff")}
	case 3:
		return &validate.BytesRules{In: [][]byte{{0xfb}, {}, []byte("abc")}}
	case 4:
		return &validate.BytesRules{NotIn: [][]byte{[]byte("a"), {}}}
	default:
		return &validate.BytesRules{Prefix: []byte("p")}
	}
}

func (d *draft) enumRules(rules *validate.FieldRules, e *enumDraft) bool {
	r := &validate.EnumRules{}
	values := e.proto.Value
	number := func() int32 { return pick(d.t, values).GetNumber() }
	switch between(d.t, 0, 3) {
	case 0:
		r.DefinedOnly = proto.Bool(true)
	case 1:
		if len(values) > 1 {
			// A constant that the schema lists: the zero value may be left out of it.
			r.Const = proto.Int32(values[1].GetNumber())
		}
	case 2:
		r.In = []int32{values[len(values)-1].GetNumber(), number()}
		if r.In[0] == 0 {
			r.In = nil
		}
	case 3:
		if len(values) > 2 {
			r.NotIn = []int32{number(), 4242}
		}
	}
	rules.Type = &validate.FieldRules_Enum{Enum: r}
	return true
}

// limits are numbers near which a range of each kind is worth a look.
func limits(k kind) []float64 {
	switch k {
	case descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, descriptorpb.FieldDescriptorProto_TYPE_FLOAT:
		return []float64{0, 1, 0.1, -1.5, 100, 1e10, -1e-7, 3e38}
	case descriptorpb.FieldDescriptorProto_TYPE_UINT32, descriptorpb.FieldDescriptorProto_TYPE_FIXED32,
		descriptorpb.FieldDescriptorProto_TYPE_UINT64, descriptorpb.FieldDescriptorProto_TYPE_FIXED64:
		return []float64{0, 1, 10, 100, 1000, math.MaxUint32 - 1}
	}
	return []float64{0, 1, 10, -1, -100, 1000, math.MaxInt32 - 1, math.MinInt32 + 1}
}

// numericRules draws rules for any number, whose messages share their field names.
func (d *draft) numericRules(rules *validate.FieldRules, k kind, must bool) {
	top := rules.ProtoReflect()
	fd := top.Descriptor().Fields().ByName(protoreflect.Name(protoreflect.Kind(k).String()))
	m := top.Mutable(fd).Message()
	field := m.Descriptor().Fields().ByName
	number := func(f float64) protoreflect.Value { return numberOf(k, f) }
	list := limits(k)
	switch between(d.t, 0, 4) {
	case 0, 1, 2:
		low, high := pick(d.t, list), pick(d.t, list)
		if low > high && (must || percent(d.t, 80)) {
			low, high = high, low // in the wrong order, they mean "outside"
		}
		both := percent(d.t, 40)
		if both || percent(d.t, 50) {
			m.Set(field(pick(d.t, []protoreflect.Name{"gte", "gt"})), number(low))
		}
		if both && low == high {
			break
		}
		if both || percent(d.t, 50) {
			m.Set(field(pick(d.t, []protoreflect.Name{"lte", "lt"})), number(high))
		}
	case 3:
		m.Set(field("const"), number(pick(d.t, list)))
	case 4:
		name := pick(d.t, []protoreflect.Name{"in", "not_in"})
		for range between(d.t, 1, 3) {
			m.Mutable(field(name)).List().Append(number(pick(d.t, list)))
		}
	}
	if finite := field("finite"); finite != nil && percent(d.t, 10) {
		m.Set(finite, protoreflect.ValueOfBool(true))
	}
}

// numberOf is a limit as a value of its kind; those near the ends of 32 bits stand for the ends of 64 bits, too.
func numberOf(k kind, f float64) protoreflect.Value {
	switch k {
	case descriptorpb.FieldDescriptorProto_TYPE_DOUBLE:
		return protoreflect.ValueOfFloat64(f)
	case descriptorpb.FieldDescriptorProto_TYPE_FLOAT:
		return protoreflect.ValueOfFloat32(float32(f))
	case descriptorpb.FieldDescriptorProto_TYPE_UINT32, descriptorpb.FieldDescriptorProto_TYPE_FIXED32:
		return protoreflect.ValueOfUint32(uint32(f))
	case descriptorpb.FieldDescriptorProto_TYPE_UINT64, descriptorpb.FieldDescriptorProto_TYPE_FIXED64:
		if f == math.MaxUint32-1 {
			return protoreflect.ValueOfUint64(math.MaxUint64 - 1)
		}
		return protoreflect.ValueOfUint64(uint64(f))
	case descriptorpb.FieldDescriptorProto_TYPE_INT64, descriptorpb.FieldDescriptorProto_TYPE_SINT64, descriptorpb.FieldDescriptorProto_TYPE_SFIXED64:
		switch f {
		case math.MaxInt32 - 1:
			return protoreflect.ValueOfInt64(math.MaxInt64 - 1)
		case math.MinInt32 + 1:
			return protoreflect.ValueOfInt64(math.MinInt64 + 1)
		}
		return protoreflect.ValueOfInt64(int64(f))
	}
	return protoreflect.ValueOfInt32(int32(f))
}

func (d *draft) timestampRules() *validate.TimestampRules {
	at := func(seconds int64) *timestamppb.Timestamp {
		return &timestamppb.Timestamp{Seconds: seconds, Nanos: 5e8}
	}
	switch between(d.t, 0, 4) {
	case 0:
		return &validate.TimestampRules{GreaterThan: &validate.TimestampRules_Gte{Gte: at(0)}}
	case 1:
		return &validate.TimestampRules{GreaterThan: &validate.TimestampRules_Gt{Gt: at(-1)}, LessThan: &validate.TimestampRules_Lt{Lt: at(4e9)}}
	case 2:
		return &validate.TimestampRules{LessThan: &validate.TimestampRules_LtNow{LtNow: true}}
	case 3:
		return &validate.TimestampRules{Within: durationpb.New(3600e9)}
	default:
		return &validate.TimestampRules{Const: at(1e9)}
	}
}

func (d *draft) durationRules() *validate.DurationRules {
	of := func(seconds int64) *durationpb.Duration { return &durationpb.Duration{Seconds: seconds} }
	switch between(d.t, 0, 4) {
	case 0:
		return &validate.DurationRules{GreaterThan: &validate.DurationRules_Gte{Gte: of(0)}}
	case 1:
		return &validate.DurationRules{GreaterThan: &validate.DurationRules_Gt{Gt: of(-5)}, LessThan: &validate.DurationRules_Lte{Lte: of(3600)}}
	case 2:
		return &validate.DurationRules{In: []*durationpb.Duration{of(1), of(2)}}
	case 3:
		return &validate.DurationRules{NotIn: []*durationpb.Duration{of(0)}}
	default:
		return &validate.DurationRules{Const: of(60)}
	}
}

// messageRules draws rules that a message has as a whole.
func (d *draft) messageRules(m *messageDraft) {
	if !percent(d.t, 10) {
		return
	}
	rules := &validate.MessageRules{}
	if percent(d.t, 50) {
		rules.Cel = []*validate.Rule{{Id: proto.String("message.holds"), Message: proto.String("holds always"), Expression: proto.String("true")}}
	}
	var names []string
	for _, fd := range m.proto.Field {
		if fd.OneofIndex == nil && len(names) < 3 {
			names = append(names, fd.GetName())
		}
	}
	if len(names) > 1 && percent(d.t, 60) {
		rules.Oneof = []*validate.MessageOneofRule{{Fields: names, Required: proto.Bool(percent(d.t, 50))}}
	}
	if m.proto.Options == nil {
		m.proto.Options = &descriptorpb.MessageOptions{}
	}
	m.file.imports[rulesPath] = true
	proto.SetExtension(m.proto.Options, validate.E_Message, rules)
}
