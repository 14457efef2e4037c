package schematest

import (
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Response draws a message that a service may send: any values that its fields can hold and JSON can write, rules or
// not, with unknown numbers in open enums, numbers that are not finite, and messages of the contract in every Any.
// Below the depth there are no further messages.
func Response(t *rapid.T, md protoreflect.MessageDescriptor, depth int) *dynamicpb.Message {
	wire := rapid.Custom(func(t *rapid.T) []byte {
		rapid.Bool().Draw(t, "at all") // a message without fields draws nothing, which rapid takes for a mistake
		m := dynamicpb.NewMessage(md)
		fill(t, m, schema.ContractMessages(md), depth)
		wire, err := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(m)
		if err != nil {
			panic(err)
		}
		return wire
	}).Draw(t, "response")
	m := dynamicpb.NewMessage(md)
	if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(wire, m); err != nil {
		t.Fatalf("the drawn message of %s cannot be read: %v", md.FullName(), err)
	}
	return m
}

func fill(t *rapid.T, m protoreflect.Message, contract []protoreflect.MessageDescriptor, depth int) {
	if fillWellKnown(t, m, contract, depth) {
		return
	}
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		fd := fields.Get(i)
		if fd.Message() != nil && depth <= 0 || fd.Cardinality() != protoreflect.Required && !rapid.Bool().Draw(t, "given") {
			continue
		}
		value := func(fd protoreflect.FieldDescriptor, fresh func() protoreflect.Value) protoreflect.Value {
			if fd.Message() == nil {
				return scalar(t, fd)
			}
			v := fresh()
			fill(t, v.Message(), contract, depth-1)
			return v
		}
		switch {
		case fd.IsMap():
			entries := m.Mutable(fd).Map()
			for range between(t, 0, 2) {
				entries.Set(scalar(t, fd.MapKey()).MapKey(), value(fd.MapValue(), entries.NewValue))
			}
		case fd.IsList():
			items := m.Mutable(fd).List()
			for range between(t, 0, 3) {
				items.Append(value(fd, items.NewElement))
			}
		default:
			m.Set(fd, value(fd, func() protoreflect.Value { return m.NewField(fd) }))
		}
	}
}

// fillWellKnown fills in a message whose JSON form holds fewer values than its fields do.
func fillWellKnown(t *rapid.T, m protoreflect.Message, contract []protoreflect.MessageDescriptor, depth int) bool {
	field := m.Descriptor().Fields().ByName
	switch m.Descriptor().FullName() {
	case "google.protobuf.Timestamp":
		first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
		m.Set(field("seconds"), protoreflect.ValueOfInt64(pick(t, []int64{0, first, last, -1, rapid.Int64Range(first, last).Draw(t, "seconds")})))
		m.Set(field("nanos"), protoreflect.ValueOfInt32(pick(t, []int32{0, 1, 999999999, 500000000, 120000, rapid.Int32Range(0, 999999999).Draw(t, "nanos")})))
	case "google.protobuf.Duration":
		seconds := pick(t, []int64{0, 1, 315576000000, rapid.Int64Range(0, 315575999999).Draw(t, "seconds")})
		nanos := pick(t, []int32{0, 1, 999999999, 500000000, rapid.Int32Range(0, 999999999).Draw(t, "nanos")})
		if seconds == 315576000000 {
			nanos = 0
		}
		if rapid.Bool().Draw(t, "negative") {
			seconds, nanos = -seconds, -nanos
		}
		m.Set(field("seconds"), protoreflect.ValueOfInt64(seconds))
		m.Set(field("nanos"), protoreflect.ValueOfInt32(nanos))
	case "google.protobuf.FieldMask":
		paths := m.Mutable(field("paths")).List()
		for range between(t, 0, 2) {
			paths.Append(protoreflect.ValueOfString(pick(t, []string{"a", "user_name.b", "c_d"})))
		}
	case "google.protobuf.Value":
		switch kind := between(t, 0, 5); {
		case kind == 0 || kind > 3 && depth <= 0:
			m.Set(field("null_value"), protoreflect.ValueOfEnum(0))
		case kind == 1:
			m.Set(field("number_value"), protoreflect.ValueOfFloat64(pick(t, []float64{0, math.Copysign(0, -1), 1, 1.5, -1e300, 1e21, 1e-7, 123456789})))
		case kind == 2:
			m.Set(field("string_value"), protoreflect.ValueOfString(text(t)))
		case kind == 3:
			m.Set(field("bool_value"), protoreflect.ValueOfBool(rapid.Bool().Draw(t, "flag")))
		default:
			fd := field(map[int]protoreflect.Name{4: "struct_value", 5: "list_value"}[kind])
			v := m.NewField(fd)
			fill(t, v.Message(), contract, depth-1)
			m.Set(fd, v)
		}
	case "google.protobuf.Any":
		if depth <= 0 || len(contract) == 0 {
			return true // an Any that holds nothing
		}
		inner := dynamicpb.NewMessage(pick(t, contract))
		fill(t, inner, contract, depth-1)
		wire, err := proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(inner)
		if err != nil {
			panic(err)
		}
		m.Set(field("type_url"), protoreflect.ValueOfString("type.googleapis.com/"+string(inner.Descriptor().FullName())))
		m.Set(field("value"), protoreflect.ValueOfBytes(wire))
	default:
		return false
	}
	return true
}

func text(t *rapid.T) string {
	return pick(t, []string{"", "x", "é😀", "a\u0000\u001f\u007f\"\\/<>&", "\u2028\u2029\ufeff\ufffd", strings.Repeat("long ", 20)})
}

// scalar draws any value of a field's kind, its ends often among them.
func scalar(t *rapid.T, fd protoreflect.FieldDescriptor) protoreflect.Value {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rapid.Bool().Draw(t, "flag"))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text(t))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "bytes"))
	case protoreflect.EnumKind:
		values := fd.Enum().Values()
		if !fd.Enum().IsClosed() && fd.Enum().FullName() != "google.protobuf.NullValue" && percent(t, 20) {
			return protoreflect.ValueOfEnum(pick(t, []protoreflect.EnumNumber{12345, -7, math.MaxInt32 - 3}))
		}
		return protoreflect.ValueOfEnum(values.Get(between(t, 0, values.Len()-1)).Number())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(rapid.Int32().Draw(t, "int32"))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(rapid.Uint32().Draw(t, "uint32"))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(rapid.Int64().Draw(t, "int64"))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(rapid.Uint64().Draw(t, "uint64"))
	case protoreflect.FloatKind:
		f := pick(t, []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat32, math.SmallestNonzeroFloat32, float64(rapid.Float32().Draw(t, "float"))})
		return protoreflect.ValueOfFloat32(float32(f))
	default:
		return protoreflect.ValueOfFloat64(pick(t, []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, 5e-324, 1e21, 1e-7, 1e20, rapid.Float64().Draw(t, "double")}))
	}
}
