package schema

import "slices"

// Style says which part of JSON Schema a document is written in. The zero value is the whole of it, as the canonical
// document is written. A keyword that a style lacks is left out: whoever chooses the style says in the nodes' Notes what
// is lost with it.
type Style struct {
	// Keywords are those that there are, and Root those of the document's outermost object; nil stands for all, and a
	// nil Root for Keywords.
	Keywords, Root map[string]bool
	// Formats are the values of `format` that there are; nil stands for all.
	Formats map[string]bool
	// MostMinItems is the largest value of `minItems` that there is; nil stands for any.
	MostMinItems *uint64
	// EnumOfText says that `enum` lists texts alone.
	EnumOfText bool
	// Reference and Definitions spell `$ref` and `$defs`, where they are not blank.
	Reference, Definitions string
	// SingleType says that `type` names one type, so that a union is an `anyOf`.
	SingleType bool
	// EmptyProperties writes `properties` for objects that have none, since some readers refuse an object without it; not
	// for one that is named and not shown.
	EmptyProperties bool
	// EmptyRequired writes `required` for objects that require nothing: readers that want every property in it want the
	// list of no property, too.
	EmptyRequired bool
	// Inline writes no references. The graph must have no cycle.
	Inline bool
}

// Has reports whether a keyword is written anywhere but at the root.
func (s *Style) Has(keyword string) bool { return s.Keywords == nil || s.Keywords[keyword] }

// HasFormat reports whether a value of `format` is written.
func (s *Style) HasFormat(format string) bool {
	return s.Has("format") && (s.Formats == nil || s.Formats[format])
}

// HasMinItems reports whether a value of `minItems` is written.
func (s *Style) HasMinItems(n uint64) bool {
	return s.Has("minItems") && (s.MostMinItems == nil || n <= *s.MostMinItems)
}

// HasEnum reports whether `enum` is written for nodes of a kind.
func (s *Style) HasEnum(k Kind) bool { return s.Has("enum") && (k == String || !s.EnumOfText) }

// atRoot is the style of the outermost object.
func (s *Style) atRoot() *Style {
	if s.Root == nil {
		return s
	}
	root := *s
	root.Keywords = s.Root
	return &root
}

// HasAtRoot reports whether a keyword is written at the outermost object.
func (s *Style) HasAtRoot(keyword string) bool { return s.atRoot().Has(keyword) }

func (s *Style) reference() string   { return orElse(s.Reference, "$ref") }
func (s *Style) definitions() string { return orElse(s.Definitions, "$defs") }

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// canonical is the style of derived documents.
var canonical = &Style{}

// Respell gives a document of the same message that is written from another graph, in a style, and judged by that graph
// too where arguments are spelled in another way, else by the same as d. The graph must belong to the caller, who must
// not change it afterwards. Its size is not bounded here.
func (d *Document) Respell(root *Place, s *Style, judged bool) *Document {
	other := *d
	other.json = newRenderer(s).write(root)
	if judged {
		other.root = root
		other.unsaid = unsaid(root.Node)
	}
	if !s.HasAtRoot("description") {
		other.aside = aside(root, s)
	}
	// A sentence says it too.
	other.openAtRoot = !s.HasAtRoot("additionalProperties") && !s.HasAtRoot("description")
	if !s.Has("x-mcp-header") {
		other.headers = nil
	}
	return &other
}

// aside are the sentences of the outermost object, where the document cannot say them itself. What the author says of the
// message is not among them: the tool has words of its own.
func aside(root *Place, s *Style) string {
	notes := slices.Concat(root.Node.Notes, root.Notes)
	if root.Node.Kind == Object && !root.Node.Loose && !s.HasAtRoot("additionalProperties") {
		notes = append(notes, "No other properties are accepted.")
	}
	return withNotes("", notes)
}

// Complete ends the description of a tool with what the document cannot say of the arguments as a whole.
func (d *Document) Complete(description string) string {
	if d.aside == "" {
		return description
	}
	return withNotes(description, []string{"About the arguments: " + d.aside})
}

// OpenAtRoot reports that the document does not say that its outermost object is closed, though it is.
func (d *Document) OpenAtRoot() bool { return d.openAtRoot }

// Place is the place of the whole document.
func (d *Document) Place() *Place { return d.root }

// Cost is how many bytes a use of a node has in a style, without what stands at the places within it.
func Cost(p *Place, s *Style) int {
	b := compose(p.Node, s)
	size := len(b.head) + len(b.close) + len(remarks(p, false, s))
	for _, f := range b.tail {
		size += len(f.text)
	}
	return size
}

// Spell writes a place in a style, by itself.
func Spell(p *Place, s *Style) string { return string(newRenderer(s).write(p)) }
