package gate

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// wire is a message while it is written. What is nested goes before its length is known: one byte is left for it,
// which mostly is enough. A longer length is kept aside and put between the bytes when everything is there, so that the
// input is read once, and each byte is copied once.
type wire struct {
	bytes []byte
	// long are the lengths that need more than the byte that was left, in the order of their places.
	long []length
	// missing is how many bytes they need besides.
	missing int
}

// length is a length and the place of the byte that was left for it.
type length struct{ at, value int }

// mark is the place of a length that is not known yet.
type mark struct{ at, long, missing int }

// open leaves room for a length; what follows, up to close, is what it counts.
func (w *wire) open() mark {
	m := mark{len(w.bytes), len(w.long), w.missing}
	w.bytes = append(w.bytes, 0)
	return m
}

func (w *wire) close(m mark) {
	value := len(w.bytes) - m.at - 1 + w.missing - m.missing
	if value < 0x80 {
		w.bytes[m.at] = byte(value)
		return
	}
	w.missing += protowire.SizeVarint(uint64(value)) - 1
	w.long = slices.Insert(w.long, m.long, length{m.at, value})
}

// message is the finished message in memory of its own.
func (w *wire) message() []byte {
	out := make([]byte, 0, len(w.bytes)+w.missing)
	done := 0
	for _, l := range w.long {
		out = append(out, w.bytes[done:l.at]...)
		out = protowire.AppendVarint(out, uint64(l.value))
		done = l.at + 1
	}
	return append(out, w.bytes[done:]...)
}

func (w *wire) tag(tag string) { w.bytes = append(w.bytes, tag...) }
func (w *wire) varint(v uint64) {
	if v < 0x80 {
		w.bytes = append(w.bytes, byte(v))
		return
	}
	w.bytes = protowire.AppendVarint(w.bytes, v)
}
func (w *wire) fixed32(v uint32)  { w.bytes = protowire.AppendFixed32(w.bytes, v) }
func (w *wire) fixed64(v uint64)  { w.bytes = protowire.AppendFixed64(w.bytes, v) }
func (w *wire) content(b []byte)  { w.varint(uint64(len(b))); w.bytes = append(w.bytes, b...) }
func (w *wire) contents(s string) { w.varint(uint64(len(s))); w.bytes = append(w.bytes, s...) }

// tagOf is the encoded tag of a field; of a repeated one, that of an item or entry outside a packed list.
func tagOf(fd protoreflect.FieldDescriptor) string {
	return rawTag(fd.Number(), wireType(fd))
}

func rawTag(number protowire.Number, t protowire.Type) string {
	return string(protowire.AppendTag(nil, number, t))
}

func wireType(fd protoreflect.FieldDescriptor) protowire.Type {
	switch fd.Kind() {
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return protowire.BytesType
	case protoreflect.GroupKind:
		return protowire.StartGroupType
	default:
		return protowire.VarintType
	}
}
