package schema

import (
	"math/big"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Kind is the shape of JSON value that a Node stands for.
type Kind int

// The kinds of nodes.
const (
	Object     Kind = iota // a message: declared properties and, in an input, no others
	Map                    // an object with keys of the caller's
	Array                  // a list of one kind of value
	String                 // text, in one of the Forms
	Integer                // a number without fraction
	Number                 // a number
	Boolean                // true or false
	Null                   // null alone
	Open                   // any JSON value, unjudged
	OpenObject             // any JSON object, unjudged within (Struct)
	OpenArray              // any JSON array, unjudged within (ListValue)
	AnyMessage             // google.protobuf.Any: an object that names its type
	Pairs                  // a Map spelled as an array of {key, value} objects, in documents of other dialects
)

// Form is what the text of a String node spells.
type Form int

// The forms of text.
const (
	Text      Form = iota // itself
	Base64                // bytes: standard alphabet, padding required
	Int                   // a 64-bit integer, or an integer map key, within Min and Max
	Bool                  // a boolean map key
	Timestamp             // RFC 3339, years 0001 to 9999
	Duration              // seconds with up to nine decimals and the suffix s, within Min and Max (of nanoseconds)
	FieldMask             // paths separated by commas
	JSONText              // the JSON text of a value that Inner judges, in documents of other dialects
)

// Literal is one scalar constant of a schema.
type Literal struct {
	// JSON is the constant as JSON text.
	JSON string
	// Text is the decoded text of a string; of anything else it equals JSON.
	Text string
}

// Bound is an end of a number's range, as decimal text.
type Bound struct {
	Text      string
	Exclusive bool
}

// Node is one place's shape in a Document. Nodes form a graph: a message that several places use is one node, and a
// recursive one is reachable from itself. Nodes are immutable once their Document is derived.
type Node struct {
	Kind Kind

	// Type is the full name of the message or enum that the node stands for where it may be moved under $defs;
	// blank for a node that belongs to one place.
	Type string
	// Title is the name of a type that is named and not shown, in documents of other dialects.
	Title string
	// Description is the comment of the type itself.
	Description string
	// Notes are sentences of ours that every description of the node ends with: what no keyword says.
	Notes []string
	// Deprecated marks a type that its author deprecated.
	Deprecated bool
	// Unsaid says that the message itself has rules that the gate does not judge: CEL, and the oneof rules of
	// protovalidate. Whoever walks the node must have protovalidate judge the request. Of an input alone.
	Unsaid bool

	// Properties of an Object, in the order of the schema.
	Properties []Property
	// Oneofs of an Object of which at most one member may be present.
	Oneofs []Oneof

	// Key judges the keys of a Map and of Pairs: a String node.
	Key *Node
	// Elem is the place of the values of a Map and of Pairs, and of an Array's items.
	Elem *Place
	// Inner is what a JSONText spells.
	Inner *Node
	// MinCount and MaxCount bound the entries of a Map and of Pairs, and an Array's items.
	MinCount, MaxCount *uint64
	// Unique demands that no two items of an Array are equal.
	Unique bool

	// Form is what a String spells.
	Form Form
	// Format is the JSON Schema format of a String, or blank.
	Format string
	// Pattern must be found in a String; it means the same in RE2 and in ECMA-262.
	Pattern string
	// MinLength and MaxLength bound a String in code points.
	MinLength, MaxLength *uint64

	// Enum lists the accepted constants of a scalar where it is not nil; Const publishes its only one as const.
	Enum  []Literal
	Const bool
	// Not lists refused constants of a scalar.
	Not []Literal

	// Min and Max bound an Integer and the Int and Duration forms, both inclusive.
	Min, Max *big.Int
	// Lower and Upper bound a Number.
	Lower, Upper *Bound

	// Types are the messages that an AnyMessage may carry, sorted by name.
	Types []AnyType

	// Loose marks a node of an output whose values may leave the declared range: an enum that may arrive as an
	// unknown number, a number that may be the text NaN, an object that may have grown fields.
	Loose bool
}

// Property is the declared property of that name, or nil. It is the node's own.
func (n *Node) Property(name string) *Property {
	for i := range n.Properties {
		if n.Properties[i].Name == name {
			return &n.Properties[i]
		}
	}
	return nil
}

// Place is a use of a node together with what its author says there.
type Place struct {
	Node        *Node
	Description string
	Notes       []string
	Deprecated  bool
	Examples    []string // JSON texts
	// Header is the `x-mcp-header` of the place, or blank. The gate does not know of it.
	Header string
	// Nullable says that null may stand here and means absence, in documents of other dialects.
	Nullable bool
	// Unsaid says that the value given here, its keys included, has rules that are published as words alone or not at
	// all, so that protovalidate must judge the request. Rules of its items and of what else is inside it stand at
	// their own places. Of an input alone.
	Unsaid bool
}

// Property is one declared member of an Object.
type Property struct {
	Name     string
	Required bool
	// Field is the descriptor behind the property; nil for the one property of a wrapped request.
	Field protoreflect.FieldDescriptor
	// UnsaidAbsent says that leaving the property out breaks a rule, or may, though it is not Required: absence and
	// the zero value of a field without presence are one thing to protovalidate, which must judge the request then. Of
	// an input alone.
	UnsaidAbsent bool
	Place
}

// Oneof is a set of property names of which at most one, or exactly one, may be present.
type Oneof struct {
	Names    []string
	Required bool
}

// AnyType is one message that an Any may carry.
type AnyType struct {
	URL     string
	Message protoreflect.MessageDescriptor
	Node    *Node // an Object, or the wrapping of a type with a JSON form of its own
}

// Document is one derived schema. It is immutable and safe for concurrent use.
type Document struct {
	root    *Place
	json    []byte
	message protoreflect.MessageDescriptor
	profile Profile
	unsaid  bool
	headers []Header
	// aside is what the document cannot say of its outermost object.
	aside string
	// openAtRoot is set where a dialect cannot say that the root is closed.
	openAtRoot bool
}

// JSON returns the document as compact JSON, the same bytes for the same descriptor and profile at every run. The
// slice is shared: nobody may modify it.
func (d *Document) JSON() []byte { return d.json }

// Root is the node of the whole document: an Object, an OpenObject or an AnyMessage.
func (d *Document) Root() *Node { return d.root.Node }

// Message is the descriptor from which the document was derived.
func (d *Document) Message() protoreflect.MessageDescriptor { return d.message }

// Profile is the profile under which the document was derived.
func (d *Document) Profile() Profile { return d.profile }

// Unsaid reports that rules are left to protovalidate somewhere in the document, those within an Any included: that
// some node, place or property of it has one of the facts of that name.
func (d *Document) Unsaid() bool { return d.unsaid }

func literalString(s string) Literal { return Literal{JSON: quote(s), Text: s} }
func literalRaw(s string) Literal    { return Literal{JSON: s, Text: s} }
