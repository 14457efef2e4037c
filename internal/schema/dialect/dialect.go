package dialect

import (
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Dialect is one spelling of schema documents.
type Dialect int

// The dialects.
const (
	// Canonical is the document as it is derived.
	Canonical Dialect = iota
	// Flat has no references.
	Flat
	// OpenAIStrict is for OpenAI's strict tools: closed objects whose properties are all required.
	OpenAIStrict
	// AnthropicStrict is for Anthropic's strict tools: closed objects, no references, no bounds.
	AnthropicStrict
	// BedrockStrict is for strict tools on Amazon Bedrock.
	BedrockStrict
	// Nova is for Amazon Nova.
	Nova
	// Gemini is for the Gemini API.
	Gemini

	count
)

// Count is how many dialects there are.
const Count = int(count)

// spelling is what a dialect is.
type spelling struct {
	// name is what a request asks for.
	name string
	// reader says for whom the dialect is, for documentation.
	reader string
	style  schema.Style
	// closed objects have no keys of the caller's: a map is an array of pairs, and an open value is JSON text.
	closed bool
	// strict objects require every property, and an optional one may be null.
	strict bool
	// underscore says that the name of a tool must not begin with a digit.
	underscore bool
}

// spellings has a row for each dialect.
var spellings = [...]spelling{
	Canonical: {name: "canonical", reader: "readers of JSON Schema 2020-12"},
	Flat: {
		name: "flat", reader: "hosts that cannot follow references",
		style: schema.Style{Inline: true, EmptyProperties: true},
	},
	OpenAIStrict: {
		name: "openai_strict", reader: "strict tools of the OpenAI API",
		style: schema.Style{
			Keywords: keywords("type", "title", "description", "properties", "required", "items", "anyOf", "$ref", "$defs",
				"additionalProperties", "enum", "const", "format", "pattern", "minimum", "maximum", "exclusiveMinimum",
				"exclusiveMaximum", "multipleOf", "minItems", "maxItems"),
			Formats:         keywords("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"),
			EmptyProperties: true, EmptyRequired: true,
		},
		closed: true, strict: true,
	},
	AnthropicStrict: {
		name: "anthropic_strict", reader: "strict tools of the Anthropic API",
		style: strictWithoutBounds(), closed: true,
	},
	BedrockStrict: {
		name: "bedrock_strict", reader: "strict tools on Amazon Bedrock",
		style: strictWithoutBounds(), closed: true,
	},
	Nova: {
		name: "nova", reader: "Amazon Nova",
		style: schema.Style{
			Keywords: keywords("type", "description", "properties", "required", "items", "additionalProperties", "enum",
				"format", "minimum", "maximum"),
			Root:       keywords("type", "properties", "required"),
			SingleType: true, Inline: true,
		},
	},
	Gemini: {
		name: "gemini", reader: "the Gemini API",
		style: schema.Style{
			Keywords: keywords("type", "description", "properties", "required", "items", "anyOf", "ref", "defs", "nullable",
				"format", "enum"),
			Formats:   keywords("date-time"),
			Reference: "ref", Definitions: "defs", SingleType: true, EnumOfText: true,
		},
		underscore: true,
	},
}

// A dialect that was added to the enumeration without a row does not build.
var _ [count]spelling = spellings

// strictWithoutBounds is the style of the dialects that know neither references nor bounds.
func strictWithoutBounds() schema.Style {
	one := uint64(1)
	return schema.Style{
		Keywords: keywords("type", "title", "description", "properties", "required", "items", "anyOf", "allOf",
			"additionalProperties", "enum", "const", "format", "default", "minItems"),
		Formats:      keywords("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"),
		MostMinItems: &one, Inline: true, EmptyProperties: true,
	}
}

func keywords(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// All are the dialects, canonical first.
func All() []Dialect {
	all := make([]Dialect, count)
	for i := range all {
		all[i] = Dialect(i)
	}
	return all
}

// Names are the names of all dialects, in their order.
func Names() []string {
	names := make([]string, count)
	for i := range names {
		names[i] = spellings[i].name
	}
	return names
}

// Parse finds a dialect by its name, which is compared exactly.
func Parse(name string) (Dialect, bool) {
	for i := range spellings {
		if spellings[i].name == name {
			return Dialect(i), true
		}
	}
	return Canonical, false
}

// String is the dialect's name.
func (d Dialect) String() string { return spellings[d].name }

// Reader says for whom the dialect is.
func (d Dialect) Reader() string { return spellings[d].reader }

// ChangesArguments reports whether callers spell arguments in another way than canonically.
func (d Dialect) ChangesArguments() bool { return spellings[d].closed || spellings[d].strict }

// AsksForHeaders reports whether documents of the dialect say which arguments callers repeat in headers.
func (d Dialect) AsksForHeaders() bool { return spellings[d].style.Has("x-mcp-header") }

// ToolName spells the name of a tool: Gemini wants a letter or an underscore first.
func (d Dialect) ToolName(name string) string {
	if spellings[d].underscore && name != "" && name[0] >= '0' && name[0] <= '9' {
		return "_" + name
	}
	return name
}

// CanonicalName undoes ToolName. Another spelling is left as it is.
func (d Dialect) CanonicalName(name string) string {
	if len(name) > 1 && d.ToolName(name[1:]) == name {
		return name[1:]
	}
	return name
}
