package schematest

import (
	"bytes"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Validator compiles a schema as 2020-12, formats asserted, with a validator that nobody here wrote.
func Validator(t testing.TB, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("schema %s: %v", text, err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	if err := compiler.AddResource("mem://schema.json", doc); err != nil {
		t.Fatalf("schema %s: %v", text, err)
	}
	compiled, err := compiler.Compile("mem://schema.json")
	if err != nil {
		t.Fatalf("schema %s: %v", text, err)
	}
	return compiled
}

// Accepts reports what the neutral validator says of a document.
func Accepts(t testing.TB, validator *jsonschema.Schema, document []byte) bool {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	return err == nil && validator.Validate(value) == nil
}
