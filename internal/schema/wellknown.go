package schema

import (
	"fmt"
	"math/big"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Full names of messages that have a JSON form or a meaning of their own.
const (
	anyName        protoreflect.FullName = "google.protobuf.Any"
	emptyName      protoreflect.FullName = "google.protobuf.Empty"
	structName     protoreflect.FullName = "google.protobuf.Struct"
	valueName      protoreflect.FullName = "google.protobuf.Value"
	listValueName  protoreflect.FullName = "google.protobuf.ListValue"
	nullValueName  protoreflect.FullName = "google.protobuf.NullValue"
	timestampName  protoreflect.FullName = "google.protobuf.Timestamp"
	durationName   protoreflect.FullName = "google.protobuf.Duration"
	fieldMaskName  protoreflect.FullName = "google.protobuf.FieldMask"
	contentName    protoreflect.FullName = "sallyport.tool.v1.Content"
	toolResultName protoreflect.FullName = "sallyport.tool.v1.ToolResult"
)

var wrapperNames = map[protoreflect.FullName]bool{
	"google.protobuf.DoubleValue": true, "google.protobuf.FloatValue": true,
	"google.protobuf.Int64Value": true, "google.protobuf.UInt64Value": true,
	"google.protobuf.Int32Value": true, "google.protobuf.UInt32Value": true,
	"google.protobuf.BoolValue": true, "google.protobuf.StringValue": true, "google.protobuf.BytesValue": true,
}

// IsWrapper reports a message of google/protobuf/wrappers.proto.
func IsWrapper(md protoreflect.MessageDescriptor) bool { return wrapperNames[md.FullName()] }

// IsBare reports a message whose JSON form is, or may be, no object: the wrappers, Timestamp, Duration, FieldMask,
// Value and ListValue. As a request it becomes an object with the one property WrappedName; as a response it is
// served as one bare text without an output schema (tools.md, "Results").
func IsBare(md protoreflect.MessageDescriptor) bool {
	switch md.FullName() {
	case timestampName, durationName, fieldMaskName, valueName, listValueName:
		return true
	}
	return IsWrapper(md)
}

// IsToolResult reports the message with which a service authors a result whole.
func IsToolResult(md protoreflect.MessageDescriptor) bool { return md.FullName() == toolResultName }

// WrappedName is the property that carries a value which is no object where an object is needed: in a request of a
// bare type, and in an Any beside its @type.
const WrappedName = "value"

// TypeURLPrefix precedes a message's full name in the @type of an Any.
const TypeURLPrefix = "type.googleapis.com/"

const (
	intPattern      = `^(0|-?[1-9][0-9]{0,18})$`
	uintPattern     = `^(0|[1-9][0-9]{0,19})$`
	boolPattern     = `^(true|false)$`
	durationPattern = `^-?(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?s$`
	maskPath        = `[a-z][A-Za-z0-9]*(\.[a-z][A-Za-z0-9]*)*`
	maskPattern     = `^(` + maskPath + `(,` + maskPath + `)*)?$`
)

var (
	minInt32, maxInt32   = big.NewInt(-1 << 31), big.NewInt(1<<31 - 1)
	minInt64, maxInt64   = big.NewInt(-1 << 63), big.NewInt(1<<63 - 1)
	maxUint32, maxUint64 = big.NewInt(1<<32 - 1), new(big.Int).SetUint64(1<<64 - 1)
	zero                 = big.NewInt(0)

	// Nanoseconds of 10,000 years, the range of google.protobuf.Duration.
	maxDuration = new(big.Int).Mul(big.NewInt(315_576_000_000), big.NewInt(1_000_000_000))
	minDuration = new(big.Int).Neg(maxDuration)
)

// maxFloat32 is the largest finite float as ProtoJSON spells it: the shortest text that is read as it. What a result
// holds can be sent back, though the text is a little larger than the value.
const maxFloat32 = "3.4028235e+38"

// genuine returns an error for a message that has the name of one that JSON has a form for, or that the edge reads
// itself, and other fields: a contract brings its own files, whatever they are called.
func genuine(md protoreflect.MessageDescriptor) error {
	switch md.FullName() {
	case anyName, emptyName, contentName, toolResultName, structName:
	default:
		if !IsBare(md) {
			return nil
		}
	}
	linked, err := protoregistry.GlobalTypes.FindMessageByName(md.FullName())
	if err != nil {
		return nil // nothing of ours reads it
	}
	want := linked.Descriptor().Fields()
	same := md.Fields().Len() == want.Len()
	for i := 0; same && i < want.Len(); i++ {
		have, want := md.Fields().ByNumber(want.Get(i).Number()), want.Get(i)
		same = have != nil && have.Name() == want.Name() && have.Kind() == want.Kind() && have.Cardinality() == want.Cardinality() &&
			(have.Message() == nil || have.Message().FullName() == want.Message().FullName())
	}
	if !same {
		return fmt.Errorf("message %s: it does not have the fields of the type of that name; import the original file", md.FullName())
	}
	return nil
}

// wellKnown returns the node of a message that has a JSON form of its own; nil for any other, and for Any and Empty.
func (d *deriver) wellKnown(md protoreflect.MessageDescriptor) *Node {
	if err := genuine(md); err != nil {
		n := &Node{Kind: Open}
		d.problem(n, "%w", err)
		return n
	}
	switch md.FullName() {
	case structName:
		return &Node{Kind: OpenObject}
	case listValueName:
		return &Node{Kind: OpenArray}
	case valueName:
		return &Node{Kind: Open}
	case timestampName:
		return &Node{Kind: String, Form: Timestamp, Format: "date-time"}
	case durationName:
		n := &Node{Kind: String, Form: Duration, Pattern: durationPattern, Min: minDuration, Max: maxDuration}
		if d.input {
			n.Notes = []string{"Seconds with the suffix s, for example 1.5s; from -315576000000s to 315576000000s."}
		}
		return n
	case fieldMaskName:
		n := &Node{Kind: String, Form: FieldMask, Pattern: maskPattern}
		if d.input {
			n.Notes = []string{"Field paths in lowerCamelCase, separated by commas."}
		}
		return n
	}
	if IsWrapper(md) {
		return d.scalar(md.Fields().ByNumber(1))
	}
	return nil
}

// scalar returns the node of a field's own scalar kind, without rules; nil for messages.
func (d *deriver) scalar(fd protoreflect.FieldDescriptor) *Node {
	switch fd.Kind() {
	case protoreflect.BoolKind:
		return &Node{Kind: Boolean}
	case protoreflect.StringKind:
		return &Node{Kind: String}
	case protoreflect.BytesKind:
		return &Node{Kind: String, Form: Base64}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return &Node{Kind: Integer, Min: minInt32, Max: maxInt32}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return &Node{Kind: Integer, Min: zero, Max: maxUint32}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return d.int64(minInt64, maxInt64, intPattern)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return d.int64(zero, maxUint64, uintPattern)
	case protoreflect.FloatKind:
		n := &Node{Kind: Number, Loose: !d.input}
		if d.input {
			n.Lower, n.Upper = &Bound{Text: "-" + maxFloat32}, &Bound{Text: maxFloat32}
		}
		return n
	case protoreflect.DoubleKind:
		return &Node{Kind: Number, Loose: !d.input}
	case protoreflect.EnumKind:
		return d.enum(fd.Enum())
	}
	return nil
}

func (d *deriver) int64(lo, hi *big.Int, pattern string) *Node {
	if d.profile.NumericInt64 {
		return &Node{Kind: Integer, Min: lo, Max: hi}
	}
	return &Node{Kind: String, Form: Int, Pattern: pattern, Min: lo, Max: hi}
}

// mapKey returns the node that judges the keys of a map. Keys are text in JSON whatever their kind and profile.
func (d *deriver) mapKey(fd protoreflect.FieldDescriptor) *Node {
	switch fd.Kind() {
	case protoreflect.StringKind:
		return &Node{Kind: String}
	case protoreflect.BoolKind:
		return &Node{Kind: String, Form: Bool, Pattern: boolPattern}
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return &Node{Kind: String, Form: Int, Pattern: intPattern, Min: minInt32, Max: maxInt32}
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return &Node{Kind: String, Form: Int, Pattern: intPattern, Min: minInt64, Max: maxInt64}
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return &Node{Kind: String, Form: Int, Pattern: uintPattern, Min: zero, Max: maxUint32}
	default:
		return &Node{Kind: String, Form: Int, Pattern: uintPattern, Min: zero, Max: maxUint64}
	}
}
