package transcode

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// types are the message types of one Results, compiled on demand. Safe for concurrent use.
type types struct {
	profile schema.Profile
	// carried finds by full name what an Any may carry: the messages of the contract, and no others, whatever is linked
	// into this program. They are looked for when the first Any arrives, since most tools have none.
	carried func() map[string]*message

	mu    sync.Mutex
	known map[protoreflect.FullName]*message
}

func newTypes(p schema.Profile, roots []protoreflect.MessageDescriptor) *types {
	ts := &types{profile: p, known: map[protoreflect.FullName]*message{}}
	ts.carried = sync.OnceValue(func() map[string]*message {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		found := map[string]*message{}
		for _, root := range roots {
			for _, md := range schema.ContractMessages(root) {
				found[string(md.FullName())] = ts.message(md)
			}
		}
		return found
	})
	return ts
}

// message returns the one message of a descriptor. The caller holds mu.
func (ts *types) message(md protoreflect.MessageDescriptor) *message {
	m := ts.known[md.FullName()]
	if m == nil {
		m = &message{desc: md, types: ts}
		ts.known[md.FullName()] = m
	}
	return m
}

// compiled returns the message's table. An error is the contract's fault: a well-known type that is not the known one,
// or two fields of one name.
func (m *message) compiled() (*table, error) {
	if t := m.table.Load(); t != nil {
		return t, nil
	}
	m.types.mu.Lock()
	defer m.types.mu.Unlock()
	if t := m.table.Load(); t != nil {
		return t, nil
	}
	t, err := m.types.compile(m)
	if err != nil {
		return nil, err
	}
	m.table.Store(t)
	return t, nil
}

// nearLimit bounds the numbers that are looked up in a slice, beyond four for each field.
const nearLimit = 128

// compile makes a message's table. The caller holds mu.
func (ts *types) compile(m *message) (*table, error) {
	fds := m.desc.Fields()
	t := &table{form: formOf(m.desc), types: ts, fields: make([]field, fds.Len()), slots: fds.Len()}
	if err := t.form.check(m.desc); err != nil {
		return nil, err
	}
	for i := range m.desc.Oneofs().Len() {
		// Those that stand for a field's presence come last.
		if !m.desc.Oneofs().Get(i).IsSynthetic() {
			t.slots++
		}
	}
	highest := protowire.Number(0)
	names := map[string]bool{}
	for i := range fds.Len() {
		fd := fds.Get(i)
		f := ts.field(fd)
		if fd == m.content {
			f.role, f.absent = roleBlocks, ""
		}
		if f.role == roleWritten {
			if names[f.name] {
				return nil, fmt.Errorf("field %s: another field of the message is published under the same name", fd.FullName())
			}
			names[f.name] = true
		}
		t.fields[i] = f
		if fd.Number() < protowire.Number(nearLimit+4*fds.Len()) {
			highest = max(highest, fd.Number())
		}
	}
	t.near = make([]int32, highest+1)
	for i := range t.near {
		t.near[i] = unknown
	}
	t.near[0] = invalid
	for i := range t.fields {
		if number := fds.Get(i).Number(); number <= highest {
			t.near[number] = int32(i)
		} else {
			if t.far == nil {
				t.far = map[uint64]int32{}
			}
			t.far[uint64(number)] = int32(i)
		}
	}
	return t, nil
}

// field compiles a field of a message. The caller holds mu.
func (ts *types) field(fd protoreflect.FieldDescriptor) field {
	f := ts.value(fd)
	quoted, _ := jsontext.AppendQuote([]byte{','}, schema.PropertyName(fd, ts.profile))
	f.name = string(append(quoted, ':'))
	var head [8 * len(f.head)]byte
	copy(head[:], f.name)
	for i := range f.head {
		f.head[i] = binary.LittleEndian.Uint64(head[8*i:])
	}
	if !schema.Visible(fd, false) {
		f.role = roleHidden
	}
	var zero string
	switch {
	case fd.IsMap():
		key, value := ts.value(fd.MapKey()), ts.value(fd.MapValue())
		f.shape, f.wires, f.packable, f.strict, f.message = shapeMap, 1<<wireBytes, false, false, nil
		key.desc, value.desc = fd, fd // an error names the field, not a message that nobody declared
		f.key, f.value = &key, &value
		zero = `{}`
	case fd.IsList():
		f.shape = shapeList
		if f.packable {
			f.wires |= 1 << wireBytes
		}
		zero = `[]`
	default:
		if od := fd.ContainingOneof(); od != nil && od.Fields().Len() > 1 {
			f.shape, f.oneof = shapeMember, fd.ContainingMessage().Fields().Len()+od.Index()
		}
		f.packable = false
		zero = f.zeroText()
	}
	if !fd.HasPresence() && f.role == roleWritten {
		if f.skipZero = ts.profile.OmitImplicit; !f.skipZero {
			f.absent = f.name + zero
		}
	}
	return f
}

// value compiles what a single value of a field is.
func (ts *types) value(fd protoreflect.FieldDescriptor) field {
	f := field{desc: fd}
	number := func(unit uint64, o op) { f.op, f.unit, f.packable = o, unit, true }
	wide := func(unit uint64, asNumber, asText op) {
		if ts.profile.NumericInt64 {
			number(unit, asNumber)
		} else {
			number(unit, asText)
		}
	}
	switch fd.Kind() {
	case protoreflect.BoolKind:
		number(wireVarint, opBool)
	case protoreflect.Int32Kind:
		number(wireVarint, opInt32)
	case protoreflect.Sint32Kind:
		number(wireVarint, opSint32)
	case protoreflect.Uint32Kind:
		number(wireVarint, opUint32)
	case protoreflect.Sfixed32Kind:
		number(wireFixed32, opInt32)
	case protoreflect.Fixed32Kind:
		number(wireFixed32, opUint32)
	case protoreflect.Int64Kind:
		wide(wireVarint, opInt64, opInt64Text)
	case protoreflect.Sint64Kind:
		wide(wireVarint, opSint64, opSint64Text)
	case protoreflect.Uint64Kind:
		wide(wireVarint, opUint64, opUint64Text)
	case protoreflect.Sfixed64Kind:
		wide(wireFixed64, opInt64, opInt64Text)
	case protoreflect.Fixed64Kind:
		wide(wireFixed64, opUint64, opUint64Text)
	case protoreflect.FloatKind:
		number(wireFixed32, opFloat)
	case protoreflect.DoubleKind:
		number(wireFixed64, opDouble)
	case protoreflect.EnumKind:
		if fd.Enum().FullName() == "google.protobuf.NullValue" {
			number(wireVarint, opNull)
		} else {
			number(wireVarint, opEnum)
			f.enum = enumOf(fd.Enum())
		}
	case protoreflect.StringKind:
		f.op, f.unit, f.strict = opString, wireBytes, strict(fd)
	case protoreflect.BytesKind:
		f.op, f.unit = opBytes, wireBytes
	case protoreflect.MessageKind:
		f.op, f.unit, f.message = opMessage, wireBytes, ts.message(fd.Message())
	case protoreflect.GroupKind:
		f.op, f.unit, f.message = opMessage, wireGroup, ts.message(fd.Message())
	}
	f.wires = 1 << f.unit
	return f
}

// zeroText is the JSON of a scalar field that is not set.
func (f *field) zeroText() string {
	switch f.op {
	case opBool:
		return `false`
	case opInt64Text, opSint64Text, opUint64Text:
		return `"0"`
	case opEnum:
		return string(f.enum.append(nil, 0))
	case opNull:
		return `null`
	case opString, opBytes:
		return `""`
	}
	return `0`
}

// strict reports a string field whose bytes a parser must find to be UTF-8.
func strict(fd protoreflect.FieldDescriptor) bool {
	if fd.Syntax() == protoreflect.Editions {
		enforced, ok := fd.(interface{ EnforceUTF8() bool })
		return ok && enforced.EnforceUTF8()
	}
	return fd.Syntax() == protoreflect.Proto3
}

func enumOf(ed protoreflect.EnumDescriptor) *enum {
	e := &enum{}
	values := ed.Values()
	for i := range values.Len() {
		number := values.Get(i).Number()
		if number >= 0 && int(number) < nearLimit+4*values.Len() {
			e.near = append(e.near, make([]string, max(0, int(number)+1-len(e.near)))...)
		}
	}
	for i := range values.Len() {
		number := values.Get(i).Number()
		// Of several names of one number the first is written.
		quoted := strconv.Quote(string(values.ByNumber(number).Name()))
		if number >= 0 && int(number) < len(e.near) {
			e.near[number] = quoted
			continue
		}
		if e.far == nil {
			e.far = map[int32]string{}
		}
		e.far[int32(number)] = quoted
	}
	return e
}
