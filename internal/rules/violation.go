package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// problem is one violation in words of ours.
type problem struct {
	place
	text string
	// rule sorts the problems of one place as the rules are numbered.
	rule []int
}

func (p problem) compare(o problem) int {
	return cmp.Or(slices.Compare(p.order, o.order), slices.Compare(p.rule, o.rule), strings.Compare(p.path, o.path), strings.Compare(p.text, o.text))
}

// locate finds the published place of a violation and what to say there. It reports false for a violation of what the
// document does not publish.
func (j *judge) locate(at place, md protoreflect.MessageDescriptor, v *protovalidate.Violation) (problem, bool) {
	var fd protoreflect.FieldDescriptor
	elements := v.Proto.GetField().GetElements()
	for i, element := range elements {
		if at.node.Kind != schema.Object {
			return problem{}, false
		}
		if element.GetFieldNumber() == 0 {
			return oneofProblem(at, element.GetFieldName())
		}
		index := slices.IndexFunc(at.node.Properties, func(p schema.Property) bool {
			return p.Field != nil && p.Field.Number() == protoreflect.FieldNumber(element.GetFieldNumber())
		})
		if index < 0 {
			return problem{}, false
		}
		fd = at.node.Properties[index].Field
		at = at.property(index)
		switch {
		case element.WhichSubscript() == validate.FieldPathElement_Subscript_not_set_case:
			md = fd.Message()
		case fd.IsMap():
			if i == len(elements)-1 && v.Proto.GetForKey() {
				break // said of the map's keys at the map
			}
			at, md = at.entry(), fd.MapValue().Message()
		default:
			at, md = at.item(), fd.Message()
		}
	}
	p := problem{place: at}
	if len(v.Proto.GetRule().GetElements()) == 0 {
		p.order = append(slices.Clip(p.order), whole)
		p.text = messageText(at.node, md, v)
		return p, true
	}
	for _, element := range v.Proto.GetRule().GetElements() {
		p.rule = append(p.rule, int(element.GetFieldNumber()), int(element.GetIndex()))
	}
	p.text = fieldText(j.rules.doc, fd, v)
	if v.Proto.GetForKey() {
		p.text = "each key " + p.text
	}
	return p, true
}

// oneofProblem is said of a oneof of which a member is required.
func oneofProblem(at place, name string) (problem, bool) {
	var names []string
	for i := range at.node.Properties {
		p := &at.node.Properties[i]
		if p.Field != nil && p.Field.ContainingOneof() != nil && string(p.Field.ContainingOneof().Name()) == name {
			names = append(names, p.Name)
		}
	}
	at.order = append(slices.Clip(at.order), whole)
	return problem{place: at, text: "give exactly one of: " + strings.Join(names, ", ")}, len(names) > 0
}

// messageText is said of a rule of a message as a whole.
func messageText(n *schema.Node, md protoreflect.MessageDescriptor, v *protovalidate.Violation) string {
	rules, _ := protovalidate.ResolveMessageRules(md)
	id := v.Proto.GetRuleId()
	for _, r := range rules.GetCel() {
		if r.GetId() == id {
			return celText(r)
		}
	}
	for _, one := range rules.GetOneof() {
		// Protovalidate tells the rules of one message apart by what it says of them alone.
		declared := strings.Join(one.GetFields(), ", ")
		var names []string
		for i := range n.Properties {
			if p := &n.Properties[i]; p.Field != nil && slices.Contains(one.GetFields(), string(p.Field.Name())) {
				names = append(names, p.Name)
			}
		}
		published := strings.Join(names, ", ")
		switch v.Proto.GetMessage() {
		case fmt.Sprintf("only one of %s can be set", declared):
			if one.GetRequired() {
				return "give exactly one of: " + published
			}
			return "give at most one of: " + published
		case fmt.Sprintf("one of %s must be set", declared):
			return "give exactly one of: " + published
		}
	}
	return identified(id)
}

// fieldText is said of a rule of a field, an item, a key or a value.
func fieldText(doc *schema.Document, fd protoreflect.FieldDescriptor, v *protovalidate.Violation) string {
	rules, _ := protovalidate.ResolveFieldRules(fd)
	item := false
	path := v.Proto.GetRule().GetElements()
	for len(path) > 0 {
		switch name := path[0].GetFieldName(); {
		case name == "cel":
			if i := int(path[0].GetIndex()); i < len(rules.GetCel()) {
				return celText(rules.GetCel()[i])
			}
		case name == "required":
			if text := doc.RuleText(fd, item, rules, "required"); text != "" && !fd.HasPresence() {
				return text
			}
			return "is required"
		case len(path) < 2:
		case name == "repeated" && path[1].GetFieldName() == "items":
			rules, item, path = rules.GetRepeated().GetItems(), true, path[2:]
			continue
		case name == "map" && path[1].GetFieldName() == "keys":
			rules, fd, path = rules.GetMap().GetKeys(), fd.MapKey(), path[2:]
			continue
		case name == "map" && path[1].GetFieldName() == "values":
			rules, fd, path = rules.GetMap().GetValues(), fd.MapValue(), path[2:]
			continue
		default:
			if text := doc.RuleText(fd, item, rules, protoreflect.Name(path[1].GetFieldName())); text != "" {
				return text
			}
			if v.RuleDescriptor != nil {
				for _, r := range schema.PredefinedRules(v.RuleDescriptor).GetCel() {
					if r.GetId() == v.Proto.GetRuleId() {
						return celText(r)
					}
				}
			}
		}
		break
	}
	return identified(v.Proto.GetRuleId())
}

// celText is the rule's constant message. What its expression computes may quote values and is never said.
func celText(r *validate.Rule) string {
	if text := inline(r.GetMessage()); text != "" {
		return text
	}
	if r.GetId() != "" {
		return identified(r.GetId())
	}
	return identified(r.GetExpression())
}

func identified(id string) string { return "must satisfy the rule " + inline(id) }

func inline(text string) string { return strings.Join(strings.Fields(text), " ") }
