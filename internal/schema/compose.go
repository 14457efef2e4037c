package schema

import (
	"fmt"
	"strings"
)

// composer collects the fragments of one node, joining adjacent text.
type composer struct {
	tail []fragment
	text strings.Builder
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
func compose(n *Node) *body {
	c := &composer{}
	head := `{"type":"` + typeName(n) + `"`
	switch n.Kind {
	case Object:
		c.object(n)
	case Map:
		if keys := keywords(n.Key); keys != "" {
			c.put(`,"propertyNames":{`, strings.TrimPrefix(keys, ","), `}`)
		}
		c.put(`,"additionalProperties":`)
		c.use(n.Elem)
		c.put(count("minProperties", n.MinCount), count("maxProperties", n.MaxCount))
	case Array:
		c.put(`,"items":`)
		c.use(n.Elem)
		c.put(count("minItems", n.MinCount), count("maxItems", n.MaxCount))
		if n.Unique {
			c.put(`,"uniqueItems":true`)
		}
	case Open:
		head = `{`
	case Number:
		if n.Loose {
			head = `{"type":["number","string"]`
		}
		c.put(keywords(n))
	case String:
		if n.Loose && n.Enum != nil {
			// An unknown enum number is written as a number. Outputs may have unions; inputs never do.
			head = `{"type":["string","integer"]`
			c.put(`,"anyOf":[{"type":"string"`, keywords(n), `},{"type":"integer"}]`)
			break
		}
		c.put(keywords(n))
	default:
		c.put(keywords(n))
	}
	c.put(`}`)
	c.flush()
	return &body{head: head, tail: c.tail}
}

func (c *composer) object(n *Node) {
	if len(n.Properties) > 0 {
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
	if len(required) > 0 {
		c.put(`,"required":[`, strings.Join(required, ","), `]`)
	}
	if !n.Loose {
		c.put(`,"additionalProperties":false`)
	}
}

func typeName(n *Node) string {
	switch n.Kind {
	case Array, OpenArray:
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
func keywords(n *Node) string {
	var out strings.Builder
	literals := func(list []Literal) string {
		texts := make([]string, len(list))
		for i, l := range list {
			texts[i] = l.JSON
		}
		return strings.Join(texts, ",")
	}
	if n.Const && len(n.Enum) == 1 {
		out.WriteString(`,"const":` + n.Enum[0].JSON)
	} else if n.Enum != nil && len(n.Enum) == 0 {
		out.WriteString(`,"not":{}`) // rules that no value keeps; an empty enum is refused by validators
	} else if n.Enum != nil {
		out.WriteString(`,"enum":[` + literals(n.Enum) + `]`)
	}
	if n.Format != "" {
		out.WriteString(`,"format":` + quote(n.Format))
	}
	if n.Pattern != "" {
		out.WriteString(`,"pattern":` + quote(n.Pattern))
	}
	if n.Form == Base64 {
		out.WriteString(`,"contentEncoding":"base64"`)
	}
	out.WriteString(count("minLength", n.MinLength))
	out.WriteString(count("maxLength", n.MaxLength))
	if n.Kind == Integer {
		fmt.Fprintf(&out, `,"minimum":%s,"maximum":%s`, n.Min, n.Max)
	}
	if b := n.Lower; b != nil {
		out.WriteString(bound("minimum", "exclusiveMinimum", b))
	}
	if b := n.Upper; b != nil {
		out.WriteString(bound("maximum", "exclusiveMaximum", b))
	}
	if len(n.Not) > 0 {
		out.WriteString(`,"not":{"enum":[` + literals(n.Not) + `]}`)
	}
	return out.String()
}

func bound(inclusive, exclusive string, b *Bound) string {
	key := inclusive
	if b.Exclusive {
		key = exclusive
	}
	return `,"` + key + `":` + b.Text
}

func count(key string, value *uint64) string {
	if value == nil {
		return ""
	}
	return fmt.Sprintf(`,%q:%d`, key, *value)
}
