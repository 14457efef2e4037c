package schema

import (
	"fmt"
	"strings"
)

// composer collects the fragments of one node, joining adjacent text.
type composer struct {
	style *Style
	tail  []fragment
	text  strings.Builder
}

func (c *composer) put(parts ...string) {
	for _, p := range parts {
		c.text.WriteString(p)
	}
}

func (c *composer) use(p *Place) {
	c.flush()
	c.tail = append(c.tail, fragment{use: p})
}

func (c *composer) flush() {
	if c.text.Len() > 0 {
		c.tail = append(c.tail, fragment{text: c.text.String()})
		c.text.Reset()
	}
}

// compose takes a node apart. The order of keys is fixed here: type, annotations, then what the kind has.
func compose(n *Node, s *Style) *body {
	c := &composer{style: s}
	head := `{"type":"` + typeName(n) + `"`
	switch n.Kind {
	case Object:
		c.object(n)
	case Map:
		if keys := keywords(n.Key, s); keys != "" && s.Has("propertyNames") {
			c.put(`,"propertyNames":{`, strings.TrimPrefix(keys, ","), `}`)
		}
		if s.Has("additionalProperties") {
			c.put(`,"additionalProperties":`)
			c.use(n.Elem)
		}
		c.count("minProperties", n.MinCount)
		c.count("maxProperties", n.MaxCount)
	case Pairs:
		c.put(`,"items":{"type":"object","properties":{"key":`)
		c.use(&Place{Node: n.Key})
		c.put(`,"value":`)
		c.use(n.Elem)
		c.put(`},"required":["key","value"],"additionalProperties":false}`)
		c.items(n)
	case Array:
		c.put(`,"items":`)
		c.use(n.Elem)
		c.items(n)
		if n.Unique && s.Has("uniqueItems") {
			c.put(`,"uniqueItems":true`)
		}
	case Open:
		head = `{`
	case Number:
		if n.Loose {
			head = union(s, "number", "string")
		}
		c.put(keywords(n, s))
	case String:
		if n.Loose && n.Enum != nil {
			// An unknown enum number is written as a number. Outputs may have unions; inputs never do.
			head = union(s, "string", "integer")
			if s.Has("anyOf") {
				if s.SingleType {
					head = `{`
				}
				c.put(`,"anyOf":[{"type":"string"`, keywords(n, s), `},{"type":"integer"}]`)
			}
			break
		}
		c.put(keywords(n, s))
	default:
		c.put(keywords(n, s))
	}
	c.flush()
	return &body{head: head, tail: c.tail, close: `}`}
}

// union begins a schema of two types.
func union(s *Style, one, other string) string {
	switch {
	case !s.SingleType:
		return `{"type":["` + one + `","` + other + `"]`
	case s.Has("anyOf"):
		return `{"anyOf":[{"type":"` + one + `"},{"type":"` + other + `"}]`
	default:
		return `{`
	}
}

func (c *composer) object(n *Node) {
	if len(n.Properties) > 0 || c.style.EmptyProperties && n.Title == "" {
		c.put(`,"properties":{`)
		for i := range n.Properties {
			if i > 0 {
				c.put(`,`)
			}
			c.put(quote(n.Properties[i].Name), `:`)
			c.use(&n.Properties[i].Place)
		}
		c.put(`}`)
	}
	var required []string
	for i := range n.Properties {
		if n.Properties[i].Required {
			required = append(required, quote(n.Properties[i].Name))
		}
	}
	if len(required) > 0 || c.style.EmptyRequired {
		c.put(`,"required":[`, strings.Join(required, ","), `]`)
	}
	if !n.Loose && c.style.Has("additionalProperties") {
		c.put(`,"additionalProperties":false`)
	}
}

// items writes the bounds of an array's length.
func (c *composer) items(n *Node) {
	if n.MinCount != nil && c.style.HasMinItems(*n.MinCount) {
		c.count("minItems", n.MinCount)
	}
	c.count("maxItems", n.MaxCount)
}

func (c *composer) count(keyword string, value *uint64) {
	if c.style.Has(keyword) {
		c.put(count(keyword, value))
	}
}

func typeName(n *Node) string {
	switch n.Kind {
	case Array, OpenArray, Pairs:
		return "array"
	case String:
		return "string"
	case Integer:
		return "integer"
	case Number:
		return "number"
	case Boolean:
		return "boolean"
	case Null:
		return "null"
	default:
		return "object"
	}
}

// keywords are the constraints of a scalar, each preceded by a comma.
func keywords(n *Node, s *Style) string {
	var out strings.Builder
	put := func(keyword, text string) {
		if text != "" && s.Has(keyword) {
			out.WriteString(text)
		}
	}
	literals := func(list []Literal) string {
		texts := make([]string, len(list))
		for i, l := range list {
			texts[i] = l.JSON
		}
		return strings.Join(texts, ",")
	}
	switch {
	case n.Const && len(n.Enum) == 1 && s.Has("const"):
		put("const", `,"const":`+n.Enum[0].JSON)
	case n.Enum != nil && len(n.Enum) == 0:
		put("not", `,"not":{}`) // rules that no value keeps; an empty enum is refused by validators
	case n.Enum != nil && s.HasEnum(n.Kind):
		put("enum", `,"enum":[`+literals(n.Enum)+`]`)
	}
	if n.Format != "" && s.HasFormat(n.Format) {
		put("format", `,"format":`+quote(n.Format))
	}
	if n.Pattern != "" {
		put("pattern", `,"pattern":`+quote(n.Pattern))
	}
	if n.Form == Base64 {
		put("contentEncoding", `,"contentEncoding":"base64"`)
	}
	put("minLength", count("minLength", n.MinLength))
	put("maxLength", count("maxLength", n.MaxLength))
	if n.Kind == Integer {
		put("minimum", fmt.Sprintf(`,"minimum":%s`, n.Min))
		put("maximum", fmt.Sprintf(`,"maximum":%s`, n.Max))
	}
	if b := n.Lower; b != nil {
		put(bound("minimum", "exclusiveMinimum", b))
	}
	if b := n.Upper; b != nil {
		put(bound("maximum", "exclusiveMaximum", b))
	}
	if len(n.Not) > 0 {
		put("not", `,"not":{"enum":[`+literals(n.Not)+`]}`)
	}
	return out.String()
}

func bound(inclusive, exclusive string, b *Bound) (keyword, text string) {
	keyword = inclusive
	if b.Exclusive {
		keyword = exclusive
	}
	return keyword, `,"` + keyword + `":` + b.Text
}

func count(key string, value *uint64) string {
	if value == nil {
		return ""
	}
	return fmt.Sprintf(`,%q:%d`, key, *value)
}
