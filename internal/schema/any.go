package schema

import (
	"fmt"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// namedTypes is how many types an Any's description names; the others are counted.
const namedTypes = 50

// anyMessage returns the node of google.protobuf.Any, one for the document: it may carry any message that the
// contract carries. Nothing can be published by keywords, since "@type" is no name that model APIs accept.
func (d *deriver) anyMessage() *Node {
	if d.any != nil {
		return d.any
	}
	d.any = &Node{Kind: AnyMessage, Type: string(anyName)}
	// Rules that are waived where a message is used say nothing of what an Any carries: it is one node everywhere.
	outer := d.unruled
	d.unruled = false
	defer func() { d.unruled = outer }()
	if !d.input {
		// What a result carries is the service's choice, and nothing is judged.
		return d.any
	}
	for _, md := range ContractMessages(d.top) {
		var inner *Node
		if HasOwnForm(md) {
			inner = d.wrapped(md, true)
		} else {
			inner = d.message(md)
		}
		d.any.Types = append(d.any.Types, AnyType{URL: TypeURLPrefix + string(md.FullName()), Message: md, Node: inner})
	}
	return d.any
}

// HasOwnForm reports a message that ProtoJSON writes in an Any under WrappedName instead of beside the @type: those
// with a JSON form of their own, an Any within an Any included.
func HasOwnForm(md protoreflect.MessageDescriptor) bool {
	switch md.FullName() {
	case structName, emptyName, anyName:
		return true
	}
	return IsBare(md)
}

// narrowedAny is a use of Any whose rules accept fewer types.
type narrowedAny struct {
	node  *Node
	rules *validate.AnyRules
}

// finishAny leaves out of every Any the types that have no schema, and writes what is left into its description.
func (d *deriver) finishAny() {
	d.any.Types = slices.DeleteFunc(d.any.Types, func(t AnyType) bool {
		bad := false
		walk(t.Node, func(n *Node) { bad = bad || len(d.problems[n]) > 0 })
		return bad
	})
	d.any.Notes = []string{anyNote(d.any.Types, d.input)}
	for _, narrowed := range d.narrowed {
		for _, t := range d.any.Types {
			in, notIn := narrowed.rules.GetIn(), narrowed.rules.GetNotIn()
			if (len(in) == 0 || slices.Contains(in, t.URL)) && !slices.Contains(notIn, t.URL) {
				narrowed.node.Types = append(narrowed.node.Types, t)
			}
		}
		narrowed.node.Notes = append(narrowed.node.Notes, anyNote(narrowed.node.Types, d.input))
	}
}

func anyNote(types []AnyType, input bool) string {
	if !input {
		return "A message of any type; its property \"@type\" names the type."
	}
	if len(types) == 0 {
		return "A message of a type named by its property \"@type\". No type is accepted here."
	}
	names := make([]string, 0, namedTypes)
	for _, t := range types[:min(len(types), namedTypes)] {
		names = append(names, t.URL)
	}
	note := "A message together with the property \"@type\", which is required and names its type, one of: " + strings.Join(names, ", ")
	if more := len(types) - len(names); more > 0 {
		note += fmt.Sprintf(", and %d more of the contract's message types", more)
	}
	return note + ". A type whose JSON is no plain object of fields stands under \"value\"."
}

// ContractMessages lists the messages that a contract carries, sorted by full name: those declared in the file of md
// and in what it imports, to any depth. A file that imports google/protobuf/descriptor.proto defines options and is
// passed over together with what only it imports.
func ContractMessages(md protoreflect.MessageDescriptor) []protoreflect.MessageDescriptor {
	var found []protoreflect.MessageDescriptor
	var collect func(protoreflect.MessageDescriptors)
	collect = func(mds protoreflect.MessageDescriptors) {
		for i := range mds.Len() {
			if m := mds.Get(i); !m.IsMapEntry() && !m.IsPlaceholder() {
				found = append(found, m)
				collect(m.Messages())
			}
		}
	}
	seen := map[string]bool{}
	var visit func(protoreflect.FileDescriptor)
	visit = func(file protoreflect.FileDescriptor) {
		if seen[file.Path()] || file.IsPlaceholder() {
			return
		}
		seen[file.Path()] = true
		collect(file.Messages())
		for i := range file.Imports().Len() {
			if imported := file.Imports().Get(i).FileDescriptor; !definesOptions(imported) {
				visit(imported)
			}
		}
	}
	visit(md.ParentFile())
	slices.SortFunc(found, func(a, b protoreflect.MessageDescriptor) int {
		return strings.Compare(string(a.FullName()), string(b.FullName()))
	})
	return found
}

const descriptorProto = "google/protobuf/descriptor.proto"

func definesOptions(file protoreflect.FileDescriptor) bool {
	if file.Path() == descriptorProto {
		return true
	}
	for i := range file.Imports().Len() {
		if file.Imports().Get(i).Path() == descriptorProto {
			return true
		}
	}
	return false
}

// walk visits every node reachable from n once, in the order of the schema. What an Any may carry is no part of it.
func walk(n *Node, visit func(*Node)) {
	seen := map[*Node]bool{}
	var step func(*Node)
	step = func(n *Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		visit(n)
		for i := range n.Properties {
			step(n.Properties[i].Node)
		}
		if n.Elem != nil {
			step(n.Elem.Node)
		}
	}
	step(n)
}
