package transcode

import (
	"fmt"
	"strconv"
	"sync/atomic"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// op says how a value becomes JSON.
type op uint8

const (
	opBool op = iota
	opInt32
	opSint32
	opUint32
	opInt64 // as a number, under a profile that wants it
	opSint64
	opUint64
	opInt64Text // as the text of a number
	opSint64Text
	opUint64Text
	opFloat
	opDouble
	opEnum
	opNull
	opString
	opBytes
	opMessage
)

// shape says how many values a field has.
type shape uint8

const (
	shapeSingle shape = iota
	shapeMember       // of a oneof that has others
	shapeList
	shapeMap
)

// message is a message type as a response may carry it. Its table is compiled when the first message of the type
// arrives: most responses touch few of the types that they could.
type message struct {
	desc  protoreflect.MessageDescriptor
	types *types
	// content is a field of the root that becomes content blocks instead of JSON, or nil.
	content protoreflect.FieldDescriptor
	table   atomic.Pointer[table]
}

// table is how a message becomes JSON. It is immutable.
type table struct {
	form  form
	types *types
	// fields in the order in which they are declared and written.
	fields []field
	// slots is what an index of the message needs: one for a field and one for a oneof.
	slots int
	// near finds a field's index by a small number, far by any other.
	near []int32
	far  map[uint64]int32
}

// What a look-up finds besides an index.
const (
	unknown = -1 // no field has the number
	invalid = -2 // no field can have it
)

func (t *table) lookUp(number uint64) int {
	if number < uint64(len(t.near)) {
		return int(t.near[number])
	}
	return t.lookFar(number)
}

func (t *table) lookFar(number uint64) int {
	if number > uint64(protowire.MaxValidNumber) {
		return invalid
	}
	if i, ok := t.far[number]; ok {
		return int(i)
	}
	return unknown
}

// field is how one field becomes JSON. It is immutable.
type field struct {
	// name is a comma and the quoted published name with its colon.
	name string
	// head is the beginning of name, for copying it in words.
	head [3]uint64
	// absent is what is written where the field is not set: nothing, or name and default.
	absent string
	op     op
	shape  shape
	// wires has a bit for each wire type under which the field is read; under any other it is unknown.
	wires uint8
	// packable says that a list's numbers may stand together in one record, each with the wire type unit.
	packable bool
	// strict says that a string must be valid UTF-8 even where it is not written.
	strict bool
	// skipZero leaves the field out where it holds its type's zero.
	skipZero bool
	role     role
	unit     uint64
	// oneof is the slot of the oneof of a member.
	oneof   int
	message *message
	enum    *enum
	// key and value are the fields of a map's entries.
	key, value *field
	desc       protoreflect.FieldDescriptor
}

// role says what becomes of a field.
type role uint8

const (
	roleWritten role = iota
	roleHidden       // in no JSON, though it must have a JSON form
	roleBlocks       // in no JSON, but content blocks
)

// fail says where a response went wrong.
func (f *field) fail(err error) error { return fmt.Errorf("field %s: %w", f.desc.FullName(), err) }

// enum holds the quoted names of an enum's numbers.
type enum struct {
	near []string
	far  map[int32]string
}

func (e *enum) append(dst []byte, number int32) []byte {
	var name string
	if number >= 0 && int(number) < len(e.near) {
		name = e.near[number]
	} else {
		name = e.far[number]
	}
	if name == "" {
		return strconv.AppendInt(dst, int64(number), 10)
	}
	return append(dst, name...)
}
