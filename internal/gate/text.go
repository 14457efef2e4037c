package gate

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"regexp"
	"unicode/utf8"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// text is a string field, and the key of a map<string, …>.
type text struct {
	node    *schema.Node
	pattern *regexp.Regexp
	format  func(string) bool
	// plain says that only control characters are refused.
	plain bool
	// skipEmpty leaves an empty string out: the field is implicit, and an absent one means the same.
	skipEmpty bool
}

func (t *text) value(j *judge, tag string) {
	if j.kind() != '"' {
		j.mismatch(t.node)
		return
	}
	s, escaped := j.str()
	if problem := t.check(s, escaped); problem != "" {
		j.problem(0, problem)
		return
	}
	if t.skipEmpty && len(s) == 0 {
		return
	}
	j.tag(tag)
	j.content(s)
}

func (t *text) key(j *judge) string {
	s, escaped := j.str()
	j.tag(keyTag)
	j.content(s)
	return t.check(s, escaped)
}

// check says what a string must be, or "".
func (t *text) check(s []byte, escaped bool) string {
	if escaped && controls(s) {
		return controlText
	}
	if t.plain {
		return ""
	}
	n := t.node
	if problem := constants(n, textOf(s)); problem != "" {
		return problem
	}
	if problem := lengths(n, s); problem != "" {
		return problem
	}
	if t.pattern != nil && !t.pattern.Match(s) {
		return "must match the pattern " + n.Pattern
	}
	if t.format != nil && !t.format(string(s)) {
		return "must be of the format " + n.Format
	}
	return ""
}

// lengths judges how many characters a string has.
func lengths(n *schema.Node, s []byte) string {
	if n.MinLength == nil && n.MaxLength == nil {
		return ""
	}
	length := uint64(utf8.RuneCount(s))
	if n.MinLength != nil && length < *n.MinLength {
		return "must have at least " + plural(int(*n.MinLength), "character", "characters")
	}
	if n.MaxLength != nil && length > *n.MaxLength {
		return "must have at most " + plural(int(*n.MaxLength), "character", "characters")
	}
	return ""
}

const controlText = "must not contain control characters other than tab, newline and carriage return"

// controls reports a C0 control character that text files do without.
func controls(s []byte) bool {
	for _, b := range s {
		if b < 0x20 && b != '\t' && b != '\n' && b != '\r' {
			return true
		}
	}
	return false
}

// textOf compares a string with the constants of a node.
func textOf(s []byte) func(schema.Literal) bool {
	return func(l schema.Literal) bool { return l.Text == string(s) }
}

// constants judges a scalar by the constants that its node accepts and refuses.
func constants(n *schema.Node, same func(schema.Literal) bool) string {
	if n.Enum != nil {
		for _, l := range n.Enum {
			if same(l) {
				return ""
			}
		}
		switch len(n.Enum) {
		case 0:
			return "no value is accepted here"
		case 1:
			return "must be " + n.Enum[0].JSON
		}
		return "must be one of: " + literals(n.Enum)
	}
	for _, l := range n.Not {
		if same(l) {
			return "must be none of: " + literals(n.Not)
		}
	}
	return ""
}

func literals(list []schema.Literal) string {
	texts := make([]string, len(list))
	for i, l := range list {
		texts[i] = l.Text
	}
	return names(texts)
}

// base64Text is a bytes field.
type base64Text struct {
	node      *schema.Node
	skipEmpty bool
}

var base64Strict = base64.StdEncoding.Strict()

func (t *base64Text) value(j *judge, tag string) {
	if j.kind() != '"' {
		j.mismatch(t.node)
		return
	}
	s, escaped := j.str()
	if escaped && controls(s) {
		j.problem(0, controlText)
		return
	}
	problem := constants(t.node, textOf(s))
	if problem == "" {
		problem = lengths(t.node, s) // required bytes are not empty
	}
	if problem != "" && base64Form(s) {
		j.problem(0, problem)
		return
	}
	if t.skipEmpty && len(s) == 0 {
		return
	}
	length := base64.StdEncoding.DecodedLen(len(s))
	for i := len(s); i > 0 && len(s)-i < 2 && s[i-1] == '='; i-- {
		length--
	}
	j.tag(tag)
	j.varint(uint64(max(length, 0)))
	var err error
	// The decoder skips line ends, which the form does not have.
	if j.bytes, err = base64Strict.AppendDecode(j.bytes, s); err != nil || bytes.ContainsAny(s, "\r\n") {
		j.problem(0, "must be base64 of the standard alphabet, with padding")
	}
}

// base64Form reports text that spells bytes.
func base64Form(s []byte) bool {
	_, err := base64Strict.AppendDecode(nil, s)
	return err == nil && !bytes.ContainsAny(s, "\r\n")
}

// boolKey is the key of a map<bool, …>.
type boolKey struct{ node *schema.Node }

func (k *boolKey) key(j *judge) string {
	s, escaped := j.str()
	j.tag(boolKeyTag)
	switch string(s) {
	case "true":
		j.varint(1)
	case "false":
		j.varint(0)
	default:
		if escaped && controls(s) {
			return controlText
		}
		return `must be "true" or "false"`
	}
	return constants(k.node, textOf(s))
}

// enum is an enum field; its values go by their names.
type enum struct {
	node *schema.Node
	// numbers are those of the accepted names.
	numbers  map[string]int32
	skipZero bool
}

func (e *enum) value(j *judge, tag string) {
	if j.kind() != '"' {
		j.mismatch(e.node)
		return
	}
	s, escaped := j.str()
	number, ok := e.numbers[string(s)]
	if !ok {
		if escaped && controls(s) {
			j.problem(0, controlText)
		} else {
			j.problem(0, constants(e.node, textOf(s)))
		}
		return
	}
	if e.skipZero && number == 0 {
		return
	}
	j.tag(tag)
	j.varint(uint64(int64(number)))
}

// null is a field of the enum NullValue, which has one value.
type null struct {
	node     *schema.Node
	skipZero bool
}

func (n *null) value(j *judge, tag string) {
	if j.kind() != 'n' {
		j.mismatch(n.node)
		return
	}
	j.literal()
	if !n.skipZero {
		j.tag(tag)
		j.varint(0)
	}
}

// boolean is a bool field.
type boolean struct {
	node      *schema.Node
	skipFalse bool
}

func (b *boolean) value(j *judge, tag string) {
	k := j.kind()
	if k != 't' && k != 'f' {
		j.mismatch(b.node)
		return
	}
	literal := j.at
	j.literal()
	if b.node.Enum != nil || b.node.Not != nil {
		if problem := constants(b.node, textOf(j.text[literal:j.at])); problem != "" {
			j.problem(0, problem)
		}
	}
	switch {
	case k == 't':
		j.tag(tag)
		j.varint(1)
	case !b.skipFalse:
		j.tag(tag)
		j.varint(0)
	}
}

// names lists accepted names, the first ones if there are many.
func names(list []string) string {
	if len(list) <= maxNames {
		return join(list)
	}
	return fmt.Sprintf("%s, and %d more", join(list[:maxNames]), len(list)-maxNames)
}
