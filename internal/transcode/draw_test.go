package transcode_test

import (
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// drawer draws the wire bytes of messages as no serializer would write them: fields in any order and several times,
// messages in pieces, lists packed and not, unknown fields, known ones under foreign wire types, and now and then what
// no message may hold.
type drawer struct {
	t *rapid.T
	// types are what an Any may carry.
	types []protoreflect.MessageDescriptor
	// sound draws nothing that a parser or ProtoJSON refuses.
	sound bool
}

// drawMessage draws the bytes of a message for tests of its transcoding.
func drawMessage(t *rapid.T, md protoreflect.MessageDescriptor, sound bool) []byte {
	d := &drawer{t: t, sound: sound, types: schema.ContractMessages(md)}
	wire := d.message(md, 4)
	if !sound && d.rarely(20) && len(wire) > 0 {
		at := d.below(len(wire))
		if d.rarely(2) {
			return wire[:at]
		}
		wire[at] = byte(d.below(256))
	}
	return wire
}

func (d *drawer) below(n int) int     { return rapid.IntRange(0, n-1).Draw(d.t, "n") }
func (d *drawer) rarely(one int) bool { return rapid.IntRange(1, one).Draw(d.t, "once in") == one }

func (d *drawer) message(md protoreflect.MessageDescriptor, depth int) []byte {
	switch md.FullName() {
	case "google.protobuf.Any":
		return d.any(md, depth)
	case "google.protobuf.Value":
		// Without a kind it is refused.
		if d.sound {
			wire := d.field(md.Fields().Get(d.below(4)), 0)
			if depth > 0 && d.rarely(2) {
				wire = append(wire, d.field(md.Fields().Get(4+d.below(2)), depth-1)...)
			}
			return wire
		}
	}
	var wire []byte
	fds := md.Fields()
	if fds.Len() > 0 {
		for range d.below(5) {
			fd := fds.Get(d.below(fds.Len()))
			times := 1
			if d.rarely(4) {
				times += d.below(3)
			}
			for range times {
				wire = append(wire, d.field(fd, depth)...)
			}
		}
	}
	if d.rarely(8) {
		wire = append(wire, d.unknown(md)...)
	}
	return wire
}

// unknown draws a field that the message does not have, or has under another wire type.
func (d *drawer) unknown(md protoreflect.MessageDescriptor) []byte {
	number := protowire.Number(rapid.SampledFrom([]int{50, 51, 700, 19000, 1<<29 - 1}).Draw(d.t, "unknown"))
	if fds := md.Fields(); !d.sound && fds.Len() > 0 && d.rarely(2) {
		number = fds.Get(d.below(fds.Len())).Number()
	}
	if !d.sound && d.rarely(20) {
		return protowire.AppendVarint(nil, uint64(rapid.SampledFrom([]int{0, 1, 1 << 32, 1<<32 - 1, 4, 12, 14, 15}).Draw(d.t, "tag")))
	}
	switch d.below(5) {
	case 0:
		return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), d.number())
	case 1:
		return protowire.AppendFixed32(protowire.AppendTag(nil, number, protowire.Fixed32Type), uint32(d.number()))
	case 2:
		return protowire.AppendFixed64(protowire.AppendTag(nil, number, protowire.Fixed64Type), d.number())
	case 3:
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), d.text())
	}
	content := protowire.AppendVarint(protowire.AppendTag(nil, 3, protowire.VarintType), d.number())
	if d.rarely(2) {
		content = protowire.AppendGroup(protowire.AppendTag(content, 1, protowire.StartGroupType), 1, nil)
	}
	return protowire.AppendGroup(protowire.AppendTag(nil, number, protowire.StartGroupType), number, content)
}

// field draws a record of a field, or a few.
func (d *drawer) field(fd protoreflect.FieldDescriptor, depth int) []byte {
	if fd.Message() != nil && depth <= 0 && !fd.IsMap() {
		return nil
	}
	if fd.IsMap() {
		return d.entry(fd, depth)
	}
	packable := fd.IsList() && wireType(fd.Kind()) != protowire.BytesType && fd.Message() == nil
	if packable && d.rarely(2) {
		var packed []byte
		for range d.below(4) {
			packed = d.value(packed, fd, depth)
		}
		return protowire.AppendBytes(protowire.AppendTag(nil, fd.Number(), protowire.BytesType), packed)
	}
	if fd.Kind() == protoreflect.GroupKind {
		return protowire.AppendGroup(protowire.AppendTag(nil, fd.Number(), protowire.StartGroupType), fd.Number(), d.message(fd.Message(), depth-1))
	}
	return d.value(protowire.AppendTag(nil, fd.Number(), wireType(fd.Kind())), fd, depth)
}

// entry draws a record of a map: key and value, or one of them, or none, or one of them twice.
func (d *drawer) entry(fd protoreflect.FieldDescriptor, depth int) []byte {
	if d.sound && depth <= 0 && fd.MapValue().Message() != nil && fd.MapValue().Message().FullName() == "google.protobuf.Value" {
		return nil
	}
	parts := []protoreflect.FieldDescriptor{fd.MapKey(), fd.MapValue()}
	switch d.below(8) {
	case 0:
		parts = parts[:1]
	case 1:
		parts = parts[1:]
	case 2:
		slices.Reverse(parts)
	case 3:
		parts = append(parts, parts[d.below(2)])
	case 4:
		parts = nil
	}
	if value := fd.MapValue(); d.sound && value.Message() != nil && value.Message().FullName() == "google.protobuf.Value" && !slices.Contains(parts, value) {
		parts = append(parts, value)
	}
	var content []byte
	for _, part := range parts {
		content = append(content, d.field(part, depth)...)
	}
	if d.rarely(10) {
		content = append(content, d.unknown(fd.Message())...)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, fd.Number(), protowire.BytesType), content)
}

// value appends one value without its tag.
func (d *drawer) value(b []byte, fd protoreflect.FieldDescriptor, depth int) []byte {
	switch fd.Kind() {
	case protoreflect.StringKind:
		if fd.FullName() == "google.protobuf.FieldMask.paths" {
			return protowire.AppendBytes(b, d.path())
		}
		return protowire.AppendBytes(b, d.text())
	case protoreflect.BytesKind:
		return protowire.AppendBytes(b, rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(d.t, "bytes"))
	case protoreflect.MessageKind:
		return protowire.AppendBytes(b, d.message(fd.Message(), depth-1))
	case protoreflect.EnumKind:
		if d.sound && fd.Enum().FullName() == "google.protobuf.NullValue" {
			return protowire.AppendVarint(b, 0)
		}
		return protowire.AppendVarint(b, uint64(rapid.SampledFrom([]int{0, 1, 2, 3, -1, 5, 1000, 1 << 20, 1 << 32, math.MaxInt32, math.MinInt32}).Draw(d.t, "enum")))
	}
	switch wireType(fd.Kind()) {
	case protowire.Fixed32Type:
		if fd.Kind() == protoreflect.FloatKind {
			return protowire.AppendFixed32(b, math.Float32bits(float32(d.float())))
		}
		return protowire.AppendFixed32(b, uint32(d.number()))
	case protowire.Fixed64Type:
		if fd.Kind() == protoreflect.DoubleKind {
			x := d.float()
			if d.sound && (math.IsNaN(x) || math.IsInf(x, 0)) && fd.FullName() == "google.protobuf.Value.number_value" {
				x = 0
			}
			return protowire.AppendFixed64(b, math.Float64bits(x))
		}
		return protowire.AppendFixed64(b, d.number())
	}
	return protowire.AppendVarint(b, d.varint(fd))
}

// varint draws an integer, in range where the field belongs to a well-known type that has one.
func (d *drawer) varint(fd protoreflect.FieldDescriptor) uint64 {
	var limits []int64
	switch fd.FullName() {
	case "google.protobuf.Timestamp.seconds":
		limits = []int64{-62135596800, 253402300799, 0, 1, -1, 951782400, 1709164799, 1709164800, 4107542400}
	case "google.protobuf.Duration.seconds":
		limits = []int64{0, 1, 315576000000}
	case "google.protobuf.Timestamp.nanos", "google.protobuf.Duration.nanos":
		limits = []int64{0, 1, 999999999, 500000000, 120000, 999000}
	default:
		return d.number()
	}
	if !d.sound && d.rarely(6) {
		return uint64(rapid.SampledFrom([]int64{-62135596801, 253402300800, 315576000001, -315576000000, -999999999, 1000000000, -1}).Draw(d.t, "beyond"))
	}
	return uint64(rapid.SampledFrom(limits).Draw(d.t, "within"))
}

func (d *drawer) number() uint64 {
	if d.rarely(4) {
		return rapid.Uint64().Draw(d.t, "number")
	}
	return rapid.SampledFrom([]uint64{0, 1, 2, 9, 10, 99, 100, 1234567, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 53, 1<<63 - 1, 1 << 63, math.MaxUint64}).Draw(d.t, "number")
}

func (d *drawer) float() float64 {
	if d.rarely(4) {
		return rapid.Float64().Draw(d.t, "float")
	}
	return rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1.5, 19.99, 1e-6, 9.9e-7, 1e-7, 1e20, 1e21, -1e21, 1e100, 1 << 53, 1e15, 123456789.123,
		16777216, 16777217, math.MaxFloat32, math.MaxFloat64, math.SmallestNonzeroFloat32, 5e-324, math.NaN(), math.Inf(1), math.Inf(-1)}).Draw(d.t, "float")
}

func (d *drawer) text() []byte {
	if !d.sound && d.rarely(25) {
		return []byte(rapid.SampledFrom([]string{"\xff", "abcdefgh\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\x80", "\xc0\xaf", "0123456\xe2\x82"}).Draw(d.t, "not UTF-8"))
	}
	if d.rarely(3) {
		return []byte(rapid.StringN(0, 24, -1).Draw(d.t, "text"))
	}
	return []byte(rapid.SampledFrom([]string{"", "a", "b", "true", "10", "9", "abcdefgh", "0123456789abcdef", "say \"hi\" to C:\\dir", "line\nbreak\ttab\r\b\f\x00\x1f\x7f",
		"<&>\u2028\u2029", "grüße, 世界 😀\ufffd", "1234567\"", "12345678\\", "ascii then é", "éascii then", "\u0080\u07ff\u0800\uffff\U00010000\U0010ffff"}).Draw(d.t, "text"))
}

func (d *drawer) path() []byte {
	if !d.sound && d.rarely(6) {
		return []byte(rapid.SampledFrom([]string{"", "A", "aB", "a__b", "a_", "a_1", "1a", "a.", ".a", "a..b", "a b", "a-b", "é", "a_.b", "_", "\xff", "a\xff"}).Draw(d.t, "no path"))
	}
	return []byte(rapid.SampledFrom([]string{"a", "b", "foo_bar", "a.b", "foo_bar.baz_qux1", "_a", "a._b", "x1y2", "a_b_c"}).Draw(d.t, "path"))
}

func (d *drawer) any(md protoreflect.MessageDescriptor, depth int) []byte {
	if depth <= 0 || len(d.types) == 0 || d.rarely(6) {
		return nil
	}
	inner := d.types[d.below(len(d.types))]
	url := "type.googleapis.com/" + string(inner.FullName())
	switch d.below(10) {
	case 0:
		url = string(inner.FullName())
	case 1:
		url = "x/y \"z\"/" + string(inner.FullName())
	case 2:
		if !d.sound {
			url = rapid.SampledFrom([]string{"", "type.googleapis.com/", "type.googleapis.com/foreign.Type", "type.googleapis.com/" + string(inner.FullName()) + "/"}).Draw(d.t, "url")
		}
	}
	wire := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), url)
	content := d.message(inner, depth-1)
	if d.sound {
		// Messages with Anys are compared by the bytes in them: they must be those that a serializer writes.
		m := dynamicpb.NewMessage(inner)
		if err := (proto.UnmarshalOptions{AllowPartial: true, DiscardUnknown: true}).Unmarshal(content, m); err != nil {
			return nil
		}
		content, _ = proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(m)
		if inner.FullName() == "google.protobuf.Value" && len(content) == 0 {
			return nil
		}
	}
	return protowire.AppendBytes(protowire.AppendTag(wire, 2, protowire.BytesType), content)
}

func wireType(kind protoreflect.Kind) protowire.Type {
	switch kind {
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	}
	return protowire.VarintType
}
