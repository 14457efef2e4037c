package dialect

import "strings"

// RequiresEverything reports whether every property is required, and null stands for an optional one that is absent.
func (d Dialect) RequiresEverything() bool { return spellings[d].strict }

// Lacks says in words, for documentation, what documents of the dialect do without.
func (d Dialect) Lacks() string {
	if d == Canonical {
		return "nothing"
	}
	s := &spellings[d].style
	var lacks []string
	switch {
	case s.Inline:
		lacks = append(lacks, "references")
	case s.Reference != "":
		lacks = append(lacks, "the dollar sign in `"+s.Reference+"` and `"+s.Definitions+"`")
	}
	if s.Keywords == nil {
		return strings.Join(lacks, "; ")
	}
	if s.Root != nil {
		lacks = append(lacks, "everything but `type`, `properties` and `required` at the root")
	}
	var missing []string
	for _, keyword := range derived {
		if !s.Has(keyword) {
			missing = append(missing, "`"+keyword+"`")
		}
	}
	lacks = append(lacks, strings.Join(missing, ", "))
	if s.MostMinItems != nil {
		lacks = append(lacks, "`minItems` above 1")
	}
	if s.Formats != nil {
		lacks = append(lacks, "some values of `format`")
	}
	if s.EnumOfText {
		lacks = append(lacks, "`enum` of other values than texts")
	}
	return strings.Join(lacks, "; ")
}

// derived are the keywords of canonical documents that some dialect lacks, in the order in which people look for them.
var derived = []string{
	"title", "additionalProperties", "anyOf", "const", "not", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems", "minProperties", "maxProperties",
	"propertyNames", "contentEncoding", "deprecated", "examples", "x-mcp-header",
}

// Changes says in words, for documentation, how arguments in the dialect differ from canonical ones.
func (d Dialect) Changes() string {
	s := &spellings[d]
	var changes []string
	if s.strict {
		changes = append(changes, "an absent property is null")
	}
	if s.closed {
		changes = append(changes, "a map is an array of pairs", "an open value is its JSON text")
	}
	if len(changes) == 0 {
		return "nothing"
	}
	return strings.Join(changes, "; ")
}
