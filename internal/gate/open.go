package gate

import (
	"math"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// open is google.protobuf.Value: any JSON, carried unjudged but for numbers that no double holds.
type open struct{}

// openObject is google.protobuf.Struct.
type openObject struct{ node *schema.Node }

// openArray is google.protobuf.ListValue.
type openArray struct{ node *schema.Node }

// Fields of google/protobuf/struct.proto: the items and entries are field 1, the key of an entry 1 and its value 2;
// the kinds of a Value are 1 to 6.
var (
	itemTag   = rawTag(1, bytesType)
	nullTag   = rawTag(1, varintType)
	numberTag = rawTag(2, fixed64Type)
	stringTag = rawTag(3, bytesType)
	boolTag   = rawTag(4, varintType)
	structTag = rawTag(5, bytesType)
	listTag   = rawTag(6, bytesType)
)

func (open) body(j *judge) {
	switch k := j.kind(); k {
	case 'n':
		j.literal()
		j.tag(nullTag)
		j.varint(0)
	case 't', 'f':
		j.literal()
		j.tag(boolTag)
		if k == 't' {
			j.varint(1)
		} else {
			j.varint(0)
		}
	case '0':
		v, err := parseFloat(j.number(), 64)
		if err != nil {
			j.problem(0, "must hold no number that a double cannot")
		}
		j.tag(numberTag)
		j.fixed64(math.Float64bits(v))
	case '"':
		s, _ := j.str()
		j.tag(stringTag)
		j.content(s)
	case '{':
		j.tag(structTag)
		m := j.open()
		members(j)
		j.close(m)
	case '[':
		j.tag(listTag)
		m := j.open()
		items(j)
		j.close(m)
	}
}

func (o openObject) body(j *judge) {
	if j.kind() != '{' {
		j.mismatch(o.node)
		return
	}
	members(j)
}

func (o openArray) body(j *judge) {
	if j.kind() != '[' {
		j.mismatch(o.node)
		return
	}
	items(j)
}

// members writes an object as the fields of a Struct.
func members(j *judge) {
	for more := j.enter('}'); more; more = j.next('}') {
		j.tag(itemTag)
		entry := j.open()
		name := j.name()
		j.tag(keyTag)
		j.content(name)
		j.tag(valueTag)
		v := j.open()
		open{}.body(j)
		j.close(v)
		j.close(entry)
	}
}

// items writes an array as the fields of a ListValue.
func items(j *judge) {
	for more := j.enter(']'); more; more = j.next(']') {
		j.tag(itemTag)
		v := j.open()
		open{}.body(j)
		j.close(v)
	}
}
