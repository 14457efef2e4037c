package schema

import (
	"regexp"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// celRules are CEL rules in words: protovalidate judges them after the gate. Of is the message that they speak of, or
// nil.
func (d *deriver) celRules(rules []*validate.Rule, expressions []string, of protoreflect.MessageDescriptor) (list []rule) {
	expression := func(text string) rule {
		return words("Must satisfy the CEL rule: %s", d.publishedNames(inOneLine(text), of))
	}
	for _, r := range rules {
		switch {
		case r.GetMessage() != "":
			list = append(list, words("%s", sentence(r.GetMessage())))
		case r.GetExpression() != "":
			list = append(list, expression(r.GetExpression()))
		default:
			list = append(list, rule{partly: true}) // no expression: protovalidate refuses it when it is compiled
		}
	}
	for _, e := range expressions {
		list = append(list, expression(e))
	}
	return list
}

// celPath is a selection of fields from what a CEL rule judges.
var celPath = regexp.MustCompile(`\bthis(?:\.[A-Za-z_][A-Za-z0-9_]*)+`)

// publishedNames writes the fields that a CEL expression selects from the message as callers know them.
func (d *deriver) publishedNames(expression string, md protoreflect.MessageDescriptor) string {
	if md == nil {
		return expression
	}
	return celPath.ReplaceAllStringFunc(expression, func(path string) string {
		names := strings.Split(path, ".")
		at := md
		for i := 1; i < len(names) && at != nil; i++ {
			fd := at.Fields().ByName(protoreflect.Name(names[i]))
			if fd == nil {
				break
			}
			names[i] = PropertyName(fd, d.profile)
			at = fd.Message()
		}
		return strings.Join(names, ".")
	})
}

func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?") {
		return text
	}
	return text + "."
}

// messageRules publishes the rules of a message in words; protovalidate judges them.
func (d *deriver) messageRules(n *Node, md protoreflect.MessageDescriptor) {
	rules := messageRules(md)
	if rules == nil {
		return
	}
	for _, one := range rules.GetOneof() {
		var names []string
		for _, field := range one.GetFields() {
			if i := slices.IndexFunc(n.Properties, func(p Property) bool { return string(p.Field.Name()) == field }); i >= 0 {
				names = append(names, n.Properties[i].Name)
			}
		}
		if note := oneofNote(names, one.GetRequired(), true); len(names) > 0 && note != "" {
			n.Notes = append(n.Notes, note)
		}
	}
	cel := d.celRules(rules.GetCel(), rules.GetCelExpression(), md)
	for _, r := range cel {
		if r.words != "" {
			n.Notes = append(n.Notes, r.words)
		}
	}
	n.Unsaid = len(rules.GetOneof()) > 0 || len(cel) > 0 || len(rules.ProtoReflect().GetUnknown()) > 0
}

// foreign are the rules of a typed message that typedRules knows nothing of: predefined rules, which are extensions,
// and what a newer version of protovalidate has.
func (d *deriver) foreign(fd protoreflect.FieldDescriptor, m protoreflect.Message, known []rule) (list []rule) {
	covered := map[protoreflect.Name]bool{"example": true, "strict": true, "finite": true, "defined_only": true, "items": true, "keys": true, "values": true}
	for _, r := range known {
		for _, name := range r.members {
			covered[name] = true
		}
	}
	m.Range(func(member protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if !covered[member.Name()] {
			list = append(list, rule{partly: true})
		}
		return true
	})
	for _, xd := range predefined(fd, m) {
		if xd == nil {
			list = append(list, rule{partly: true})
			continue
		}
		for _, r := range PredefinedRules(xd).GetCel() {
			switch {
			case r.GetMessage() != "":
				list = append(list, words("%s", sentence(r.GetMessage())))
			default:
				list = append(list, words("Must satisfy the rule %s.", r.GetId()))
			}
		}
	}
	return list
}
