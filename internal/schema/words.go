package schema

import (
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// RuleText says what one member of a field's protovalidate rules demands, in the words of its description as a refusal
// spells them: `must begin with "x"`. It is "" for what has no words: rules of CEL, and those this package does not
// know. Rules are those of fd, which for an entry of a map is the entry's key or value; item says that they are those
// of a list's items instead of the list's own. Nothing a caller sent is in it.
func (d *Document) RuleText(fd protoreflect.FieldDescriptor, item bool, rules *validate.FieldRules, member protoreflect.Name) string {
	scratch := newDeriver(d.message, d.profile, true)
	n := scratch.blank(fd, item)
	var list []rule
	m := rules.ProtoReflect()
	typed := m.WhichOneof(m.Descriptor().Oneofs().ByName("type"))
	switch {
	case member == "required":
		list = []rule{notZero(n, fd)}
	case typed != nil && rulesName(fd, n) == string(typed.Name()):
		list = scratch.typedRules(n, fd, m.Get(typed).Message())
	}
	var texts []string
	for _, r := range list {
		if r.words != "" && slices.Contains(r.members, member) {
			texts = append(texts, demand(r.words))
		}
	}
	return strings.Join(texts, " and ")
}

// blank is a node of a field's kind without rules.
func (d *deriver) blank(fd protoreflect.FieldDescriptor, item bool) *Node {
	entry := fd.ContainingMessage() != nil && fd.ContainingMessage().IsMapEntry()
	switch {
	case fd.IsMap():
		return &Node{Kind: Map}
	case fd.IsList() && !item:
		return &Node{Kind: Array}
	case entry && fd.Number() == 1:
		return d.mapKey(fd)
	case fd.Message() == nil:
		return d.scalar(fd)
	}
	if n := d.wellKnown(fd.Message()); n != nil {
		return n
	}
	return &Node{Kind: Object}
}

// demand turns a sentence of a description into the words of a refusal.
func demand(sentence string) string {
	text := sentence
	if !strings.Contains(sentence, " RE2 pattern ") { // which ends with what is the pattern's
		text = strings.TrimSuffix(sentence, ".")
	}
	for _, form := range []struct{ from, to string }{
		{"Must ", "must "},
		{"At least ", "must have at least "},
		{"At most ", "must have at most "},
		{"Exactly ", "must have exactly "},
		{"One of", "must be one of"},
		{"None of", "must be none of"},
		{"Paths ", "must hold only paths "},
		{"No paths ", "must hold no paths "},
		{"The bytes must ", "must hold bytes that "},
		{"The items are unique", "must have no two equal items"},
	} {
		if rest, ok := strings.CutPrefix(text, form.from); ok {
			return form.to + rest
		}
	}
	return text
}
