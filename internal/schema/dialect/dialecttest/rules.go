// Package dialecttest holds documents in dialects to what they promise, by readings of boundary.md that share nothing
// with the rewriter: [Broken] holds one to the written rules of its dialect, and [Lost] finds the constraints of the
// canonical document that it neither spells nor says. In come the texts of documents, out come problems in words.
package dialecttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// vendor is what the documentation of a dialect's reader allows, written down without a look at the rewriter: the
// keywords of a schema, those of the outermost one, the values of format, and what objects must be.
type vendor struct {
	keywords, root, formats []string
	references              bool   // may there be references
	reference, definitions  string // and how they are spelled
	closed                  bool   // every object says additionalProperties: false
	required                bool   // every property is required, of an object without any the empty list
	singleType              bool   // type names one type
	textEnums               bool   // enum lists texts
	mostMinItems            int    // -1 for any
}

var standardFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// rulesOf are the written rules of a dialect. A switch without default: the linter wants a row for a new dialect.
func rulesOf(d dialect.Dialect) (v vendor, checked bool) {
	v = vendor{reference: "$ref", definitions: "$defs", mostMinItems: -1}
	switch d {
	case dialect.Canonical:
		return v, false
	case dialect.Flat:
		v.keywords = []string{"type", "title", "description", "properties", "required", "additionalProperties", "items",
			"propertyNames", "pattern", "contentEncoding", "format", "enum", "const", "not", "minimum", "maximum",
			"exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems",
			"minProperties", "maxProperties", "deprecated", "examples", "anyOf", "x-mcp-header"}
	case dialect.OpenAIStrict:
		v.keywords = []string{"type", "title", "description", "properties", "required", "items", "anyOf", "$ref", "$defs",
			"additionalProperties", "enum", "const", "format", "pattern", "minimum", "maximum", "exclusiveMinimum",
			"exclusiveMaximum", "multipleOf", "minItems", "maxItems"}
		v.formats, v.references, v.closed, v.required = standardFormats, true, true, true
	case dialect.AnthropicStrict, dialect.BedrockStrict:
		v.keywords = []string{"type", "title", "description", "properties", "required", "items", "anyOf", "allOf",
			"additionalProperties", "enum", "const", "format", "default", "minItems"}
		v.formats, v.closed, v.mostMinItems = append([]string{"uri"}, standardFormats...), true, 1
	case dialect.Nova:
		v.keywords = []string{"type", "description", "properties", "required", "items", "additionalProperties", "enum",
			"format", "minimum", "maximum"}
		v.root, v.singleType = []string{"type", "properties", "required"}, true
	case dialect.Gemini:
		v.keywords = []string{"type", "description", "properties", "required", "items", "anyOf", "ref", "defs", "nullable",
			"format", "enum"}
		v.formats, v.references, v.reference, v.definitions = []string{"date-time"}, true, "ref", "defs"
		v.singleType, v.textEnums = true, true
	}
	return v, true
}

// Broken reports what of a document in a dialect breaks the written rules of the dialect. The canonical dialect has none
// beside those of JSON Schema.
func Broken(d dialect.Dialect, text []byte, input bool) []string {
	v, checked := rulesOf(d)
	if !checked {
		return nil
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		return []string{err.Error()}
	}
	c := checker{vendor: &v, document: document, input: input}
	c.schema("", document, true)
	return c.problems
}

type checker struct {
	vendor   *vendor
	document map[string]any
	input    bool
	problems []string
}

func (c *checker) fault(path, format string, args ...any) {
	c.problems = append(c.problems, path+": "+fmt.Sprintf(format, args...))
}

func (c *checker) schema(path string, s map[string]any, root bool) {
	allowed := c.vendor.keywords
	if root && c.vendor.root != nil {
		allowed = c.vendor.root
	}
	for keyword := range s {
		if !slices.Contains(allowed, keyword) {
			c.fault(path, "the keyword %s", keyword)
		}
	}
	if format, ok := s["format"].(string); ok && c.vendor.formats != nil && !slices.Contains(c.vendor.formats, format) {
		c.fault(path, "the format %s", format)
	}
	if least, ok := s["minItems"].(float64); ok && c.vendor.mostMinItems >= 0 && int(least) > c.vendor.mostMinItems {
		c.fault(path, "minItems %v", least)
	}
	if _, ok := s["type"].([]any); ok && c.vendor.singleType {
		c.fault(path, "several types")
	}
	if list, ok := s["enum"].([]any); ok && c.vendor.textEnums {
		for _, value := range list {
			if _, ok := value.(string); !ok {
				c.fault(path, "an enum of %v", value)
			}
		}
	}
	if pointer, ok := s[c.vendor.reference].(string); ok {
		c.reference(path, pointer)
	}
	if isObject(s) && c.input && c.vendor.closed {
		if s["additionalProperties"] != false {
			c.fault(path, "an object that is not closed")
		}
	}
	properties, _ := s["properties"].(map[string]any)
	required, listed := s["required"].([]any)
	if isObject(s) && c.input && c.vendor.required && !listed {
		c.fault(path, "an object that does not list what is required")
	}
	for name, property := range properties {
		if c.input && c.vendor.required && !slices.Contains(required, any(name)) {
			c.fault(path, "the property %s is not required", name)
		}
		c.schema(path+"."+name, property.(map[string]any), false)
	}
	for _, name := range required {
		if properties[name.(string)] == nil {
			c.fault(path, "%v is required and not declared", name)
		}
	}
	for _, keyword := range []string{"items", "additionalProperties", "propertyNames", "not"} {
		if inner, ok := s[keyword].(map[string]any); ok {
			c.schema(path+"/"+keyword, inner, false)
		}
	}
	if list, ok := s["anyOf"].([]any); ok {
		for _, inner := range list {
			c.schema(path+"/anyOf", inner.(map[string]any), false)
		}
	}
	definitions, _ := s[c.vendor.definitions].(map[string]any)
	for name, inner := range definitions {
		c.schema(path+"/"+name, inner.(map[string]any), false)
	}
}

func (c *checker) reference(path, pointer string) {
	if !c.vendor.references {
		c.fault(path, "a reference")
		return
	}
	name, ok := strings.CutPrefix(pointer, "#/"+c.vendor.definitions+"/")
	definitions, _ := c.document[c.vendor.definitions].(map[string]any)
	if !ok || definitions[name] == nil {
		c.fault(path, "the reference %s leads nowhere", pointer)
	}
}

func isObject(s map[string]any) bool {
	switch t := s["type"].(type) {
	case string:
		return t == "object"
	case []any:
		return slices.Contains(t, any("object"))
	}
	return false
}
