package dialect

import (
	"fmt"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// say ends a node's words with a sentence for each constraint that the dialect has no keyword for.
func (r *respeller) say(n *schema.Node) {
	n.Notes = append(n.Notes, r.unsaid(n)...)
}

// unsaid are the sentences for what the dialect's style does not say of a node.
func (r *respeller) unsaid(n *schema.Node) []string {
	var notes []string
	s := &r.spelling.style
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if n.Deprecated && !s.Has("deprecated") {
		add("Deprecated.")
	}
	switch n.Kind {
	case schema.Object:
		if !n.Loose && !s.Has("additionalProperties") {
			add("No other properties are accepted.")
		}
	case schema.Map:
		if !s.Has("propertyNames") {
			if about := about(n.Key); about != "" {
				add("Keys: %s", about)
			}
		}
		if !s.Has("additionalProperties") {
			add("The keys are yours to choose. Each value follows this JSON Schema: %s", r.embedded(n.Elem))
		}
		counted(add, n, s.Has("minProperties"), s.Has("maxProperties"), "entry", "entries")
	case schema.Pairs:
		counted(add, n, n.MinCount != nil && s.HasMinItems(*n.MinCount), s.Has("maxItems"), "entry", "entries")
	case schema.Array:
		counted(add, n, n.MinCount != nil && s.HasMinItems(*n.MinCount), s.Has("maxItems"), "item", "items")
		if n.Unique && !s.Has("uniqueItems") {
			add("No two items may be equal.")
		}
	case schema.Number:
		if n.Loose && s.SingleType && !s.Has("anyOf") {
			add("A number, or the text NaN, Infinity or -Infinity.")
		}
		scalar(add, n, s)
	case schema.String:
		if n.Loose && n.Enum != nil {
			if !s.Has("anyOf") {
				add("Known values: %s. An unknown one is a number.", literals(n.Enum))
			}
			break
		}
		scalar(add, n, s)
	case schema.Integer, schema.Boolean:
		scalar(add, n, s)
	case schema.Null, schema.Open, schema.OpenObject, schema.OpenArray, schema.AnyMessage:
	}
	return notes
}

// about are the sentences for everything that a scalar demands.
func about(n *schema.Node) string {
	var notes []string
	scalar(func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }, n,
		&schema.Style{Keywords: map[string]bool{}})
	return strings.Join(append(notes, n.Notes...), " ")
}

// scalar says what a style does not say of a scalar's value.
func scalar(add func(format string, args ...any), n *schema.Node, s *schema.Style) {
	switch {
	case n.Enum != nil && len(n.Enum) == 0:
		if !s.Has("not") {
			add("No value is accepted here.")
		}
	case n.Const && len(n.Enum) == 1 && s.Has("const"):
	case n.Enum != nil && !s.HasEnum(n.Kind):
		add("Accepted values: %s.", literals(n.Enum))
	}
	if n.Format != "" && !s.HasFormat(n.Format) {
		if words, ok := formats[n.Format]; ok {
			add("Must be %s.", words)
		} else {
			add("Must be of the format %s.", n.Format)
		}
	}
	if n.Pattern != "" && !s.Has("pattern") {
		add("Must match the pattern %s", n.Pattern)
	}
	if n.Form == schema.Base64 && !s.Has("contentEncoding") {
		add("Must be base64 of the standard alphabet, with padding.")
	}
	if n.MinLength != nil && !s.Has("minLength") {
		add("Must have at least %s.", plural(*n.MinLength, "character", "characters"))
	}
	if n.MaxLength != nil && !s.Has("maxLength") {
		add("Must have at most %s.", plural(*n.MaxLength, "character", "characters"))
	}
	if n.Kind == schema.Integer && n.Min != nil && n.Max != nil && !(s.Has("minimum") && s.Has("maximum")) {
		add("Accepted range: %s to %s.", n.Min, n.Max)
	}
	if b := n.Lower; b != nil {
		switch {
		case b.Exclusive && !s.Has("exclusiveMinimum"):
			add("Must be greater than %s.", b.Text)
		case !b.Exclusive && !s.Has("minimum"):
			add("Must be at least %s.", b.Text)
		}
	}
	if b := n.Upper; b != nil {
		switch {
		case b.Exclusive && !s.Has("exclusiveMaximum"):
			add("Must be less than %s.", b.Text)
		case !b.Exclusive && !s.Has("maximum"):
			add("Must be at most %s.", b.Text)
		}
	}
	if len(n.Not) > 0 && !s.Has("not") {
		add("Must be none of: %s.", literals(n.Not))
	}
}

// counted says what a style does not say of how many items or entries there may be.
func counted(add func(format string, args ...any), n *schema.Node, hasMin, hasMax bool, one, many string) {
	if n.MinCount != nil && !hasMin {
		add("At least %s.", plural(*n.MinCount, one, many))
	}
	if n.MaxCount != nil && !hasMax {
		add("At most %s.", plural(*n.MaxCount, one, many))
	}
}

// formats say in words what a value of `format` means.
var formats = map[string]string{
	"date-time": "an ISO-8601 date and time", "email": "an email address", "hostname": "a host name",
	"ipv4": "an IPv4 address", "ipv6": "an IPv6 address", "uri": "a URI", "uri-reference": "a URI or a relative reference",
	"uuid": "a UUID",
}

// sayPlace ends the words of a place with what the dialect has no keyword for.
func (r *respeller) sayPlace(p *schema.Place) {
	s := &r.spelling.style
	if p.Deprecated && !p.Node.Deprecated && !s.Has("deprecated") {
		p.Notes = append(p.Notes, "Deprecated.")
	}
	if len(p.Examples) > 0 && !s.Has("examples") {
		p.Notes = append(p.Notes, "For example: "+strings.Join(p.Examples, ", "))
	}
	if !s.Has("x-mcp-header") {
		p.Header = "" // nobody who reads this document is asked for it
	}
}

// embedded is a place's schema as a text, written without references. All such texts of a document share one budget:
// many maps of one large type are as good as many places of it.
func (r *respeller) embedded(p *schema.Place) string {
	if r.texts == nil {
		r.texts = newRespeller(&spellings[Flat])
	}
	root := r.texts.place(p)
	r.texts.spread(root)
	return schema.Spell(root, &spellings[Flat].style)
}

func literals(list []schema.Literal) string {
	texts := make([]string, len(list))
	for i, l := range list {
		texts[i] = l.JSON
	}
	return strings.Join(texts, ", ")
}

func plural(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// simpleName is the last part of a full name, by which a reader may know the type: without the mark that tells apart the
// forms that a type has in a document.
func simpleName(full string) string {
	name, _, _ := strings.Cut(full[strings.LastIndexByte(full, '.')+1:], "-")
	return name
}
