package schema

import (
	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// messageKey tells apart the two nodes that a message may have.
type messageKey struct {
	name    protoreflect.FullName
	unruled bool
}

// definition is the message's name under $defs. A message's name has no dash, so that no other message has this one.
func (k messageKey) definition() string {
	if k.unruled {
		return string(k.name) + "-unruled"
	}
	return string(k.name)
}

// embedded derives a message where a field uses it. Where the rules of the use waive those of the message itself, it
// is the message as if no rule were in it. Waived reports rules that hold for some values of it all the same.
func (d *deriver) embedded(fd protoreflect.FieldDescriptor, rules *validate.FieldRules, at use) (n *Node, waived bool) {
	ignore := rules.GetIgnore()
	waived = at.part && ignore == validate.Ignore_IGNORE_IF_ZERO_VALUE
	if d.unruled || !waived && ignore != validate.Ignore_IGNORE_ALWAYS || !d.input || !d.hasInnerRules(fd.Message()) {
		return d.message(fd.Message()), false
	}
	d.unruled = true
	defer func() { d.unruled = false }()
	return d.message(fd.Message()), waived
}

// hasInnerRules reports rules in a message or in what it holds, to any depth. What an Any holds is no part of it.
func (d *deriver) hasInnerRules(md protoreflect.MessageDescriptor) bool {
	if found, known := d.ruled[md.FullName()]; known {
		return found
	}
	seen := map[protoreflect.FullName]bool{}
	var visit func(protoreflect.MessageDescriptor) bool
	visit = func(md protoreflect.MessageDescriptor) bool {
		if seen[md.FullName()] {
			return false
		}
		seen[md.FullName()] = true
		if messageRules(md) != nil {
			return true
		}
		for i := range md.Oneofs().Len() {
			if oneofRequired(md.Oneofs().Get(i)) {
				return true
			}
		}
		for i := range md.Fields().Len() {
			fd := md.Fields().Get(i)
			if fieldRules(fd) != nil || fd.Message() != nil && visit(fd.Message()) {
				return true
			}
		}
		return false
	}
	d.ruled[md.FullName()] = visit(md)
	return d.ruled[md.FullName()]
}

// rules are the rules of a field as protovalidate applies them: for a member of a message's oneof rule that says
// nothing else, they are waived while it has its zero value.
func (d *deriver) rules(fd protoreflect.FieldDescriptor) *validate.FieldRules {
	if !d.input || d.unruled {
		return nil
	}
	rules := fieldRules(fd)
	if rules == nil || rules.Ignore != nil {
		return rules
	}
	for _, one := range messageRules(fd.ContainingMessage()).GetOneof() {
		for _, name := range one.GetFields() {
			if name == string(fd.Name()) {
				rules = proto.CloneOf(rules)
				rules.Ignore = validate.Ignore_IGNORE_IF_ZERO_VALUE.Enum()
				return rules
			}
		}
	}
	return rules
}

// required reports a field that every caller must give.
func (d *deriver) required(fd protoreflect.FieldDescriptor) bool {
	if fd.Cardinality() == protoreflect.Required || hasBehavior(fd, annotations.FieldBehavior_REQUIRED) {
		return true
	}
	rules := d.rules(fd)
	return rules.GetRequired() && rules.GetIgnore() != validate.Ignore_IGNORE_ALWAYS
}

func fieldRules(fd protoreflect.FieldDescriptor) *validate.FieldRules {
	return extension[*validate.FieldRules](fd.Options(), validate.E_Field)
}

func messageRules(md protoreflect.MessageDescriptor) *validate.MessageRules {
	return extension[*validate.MessageRules](md.Options(), validate.E_Message)
}

func oneofRequired(od protoreflect.OneofDescriptor) bool {
	return extension[*validate.OneofRules](od.Options(), validate.E_Oneof).GetRequired()
}

// PredefinedRules are the CEL rules that an extension of protovalidate's rules stands for; nil for any other field.
func PredefinedRules(xd protoreflect.FieldDescriptor) *validate.PredefinedRules {
	return extension[*validate.PredefinedRules](xd.Options(), validate.E_Predefined)
}

// predefined finds the extensions that a message of rules uses without being linked into this program: they are
// declared in what the field's file imports. One that is not found is nil.
func predefined(fd protoreflect.FieldDescriptor, m protoreflect.Message) (list []protoreflect.FieldDescriptor) {
	seen := map[protowire.Number]bool{}
	for rest := m.GetUnknown(); len(rest) > 0; {
		number, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			return append(list, nil)
		}
		rest = rest[n:]
		if seen[number] {
			continue
		}
		seen[number] = true
		var found protoreflect.FieldDescriptor
		Extensions(fd.ParentFile(), func(xd protoreflect.ExtensionDescriptor) bool {
			if xd.Number() == number && xd.ContainingMessage().FullName() == m.Descriptor().FullName() {
				found = xd
			}
			return found == nil
		})
		list = append(list, found)
	}
	return list
}

// RuleExtensions lists the extensions of protovalidate's rules that a field uses, those on its items, keys and values
// included: predefined rules, which have to travel with a contract. What the field's file imports is searched.
func RuleExtensions(fd protoreflect.FieldDescriptor) (list []protoreflect.ExtensionDescriptor) {
	var visit func(*validate.FieldRules)
	visit = func(rules *validate.FieldRules) {
		if rules == nil {
			return
		}
		m := rules.ProtoReflect()
		if typed := m.WhichOneof(m.Descriptor().Oneofs().ByName("type")); typed != nil {
			for _, xd := range predefined(fd, m.Get(typed).Message()) {
				if xd != nil {
					list = append(list, xd)
				}
			}
		}
		visit(rules.GetRepeated().GetItems())
		visit(rules.GetMap().GetKeys())
		visit(rules.GetMap().GetValues())
	}
	visit(fieldRules(fd))
	return list
}

// Extensions visits the extensions that a file and its imports declare, to any depth, until visit returns false.
func Extensions(file protoreflect.FileDescriptor, visit func(protoreflect.ExtensionDescriptor) bool) {
	seen := map[string]bool{}
	var inFile func(protoreflect.FileDescriptor) bool
	var inScope func(protoreflect.ExtensionDescriptors, protoreflect.MessageDescriptors) bool
	inScope = func(extensions protoreflect.ExtensionDescriptors, messages protoreflect.MessageDescriptors) bool {
		for i := range extensions.Len() {
			if !visit(extensions.Get(i)) {
				return false
			}
		}
		for i := range messages.Len() {
			if !inScope(messages.Get(i).Extensions(), messages.Get(i).Messages()) {
				return false
			}
		}
		return true
	}
	inFile = func(file protoreflect.FileDescriptor) bool {
		if seen[file.Path()] || file.IsPlaceholder() {
			return true
		}
		seen[file.Path()] = true
		if !inScope(file.Extensions(), file.Messages()) {
			return false
		}
		for i := range file.Imports().Len() {
			if !inFile(file.Imports().Get(i).FileDescriptor) {
				return false
			}
		}
		return true
	}
	inFile(file)
}

// unsaid reports a fact about rules that are left to protovalidate anywhere in a graph, what an Any may carry and what a
// text may hold included.
func unsaid(root *Node) bool {
	seen := map[*Node]bool{}
	var visit func(*Node) bool
	visit = func(n *Node) bool {
		if seen[n] {
			return false
		}
		seen[n] = true
		if n.Unsaid || n.Elem != nil && (n.Elem.Unsaid || visit(n.Elem.Node)) || n.Inner != nil && visit(n.Inner) {
			return true
		}
		for i := range n.Properties {
			if p := &n.Properties[i]; p.Unsaid || p.UnsaidAbsent || visit(p.Node) {
				return true
			}
		}
		for _, t := range n.Types {
			if visit(t.Node) {
				return true
			}
		}
		return false
	}
	return visit(root)
}
