package schemas_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/schemas"
)

func ExampleNormalize() {
	out, err := schemas.Normalize([]byte(`{"type":"object","properties":{"kind":{"$ref":"#/$defs/Kind","description":"Which."}},
		"$defs":{"Kind":{"type":"string","enum":["a","b"]}}}`))
	fmt.Println(string(out), err)
	// Output: {"type":"object","properties":{"kind":{"type":"string","enum":["a","b"],"description":"Which."}}} <nil>
}

func TestNormalize(t *testing.T) {
	for _, row := range []struct{ name, schema, want string }{
		{"nothing to do", `{"type":"object","x":[1,{"a":null}]}`, `{"type":"object","x":[1,{"a":null}]}`},
		{"a definition", `{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"type":"string"}}}`, `{"items":{"type":"string"}}`},
		{"a definition of draft 7", `{"items":{"$ref":"#/definitions/a"},"definitions":{"a":{"type":"string"}}}`, `{"items":{"type":"string"}}`},
		{"a definition of a definition", `{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"string"}}}`, `{"items":{"type":"string"}}`},
		{"a property elsewhere", `{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, `{"properties":{"a":{"type":"string"},"b":{"type":"string"}}}`},
		{"within a list", `{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}],"$defs":{"a":{"type":"string"}}}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`},
		{"escapes", `{"items":{"$ref":"#/$defs/a~1b%20c~0"},"$defs":{"a/b c~":{"type":"string"}}}`, `{"items":{"type":"string"}}`},
		{"an item of a list", `{"items":{"$ref":"#/anyOf/1"},"anyOf":[{},{"type":"string"}]}`, `{"items":{"type":"string"},"anyOf":[{},{"type":"string"}]}`},
		{"a keyword beside wins", `{"items":{"$ref":"#/$defs/a","description":"mine","minLength":2},"$defs":{"a":{"type":"string","description":"its"}}}`,
			`{"items":{"type":"string","description":"mine","minLength":2}}`},
		{"true", `{"items":{"$ref":"#/$defs/a"},"$defs":{"a":true}}`, `{"items":true}`},
		{"a cycle", `{"properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"properties":{"next":{"$ref":"#/$defs/N"}}}}}`,
			`{"properties":{"n":{"properties":{"next":{"$ref":"#/$defs/N"}}}},"$defs":{"N":{"properties":{"next":{"$ref":"#/$defs/N"}}}}}`},
		{"a cycle through the root", `{"properties":{"child":{"$ref":"#"}}}`,
			`{"properties":{"child":{"properties":{"child":{"$ref":"#/$defs/root"}}}},"$defs":{"root":{"properties":{"child":{"$ref":"#/$defs/root"}}}}}`},
		{"two types in a cycle", `{"$ref":"#/$defs/A","$defs":{"A":{"items":{"$ref":"#/$defs/B"}},"B":{"items":{"$ref":"#/$defs/A"}}}}`,
			`{"items":{"items":{"$ref":"#/$defs/A"}},"$defs":{"A":{"items":{"items":{"$ref":"#/$defs/A"}}}}}`},
		{"a reference to itself", `{"items":{"$ref":"#/items"}}`, `{"items":{"type":"object"}}`},
		{"a circle of references", `{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `{"items":{"type":"object"}}`},
		{"a reference to nowhere", `{"items":{"$ref":"#/$defs/a","title":"A"}}`, `{"items":{"type":"object","title":"A"}}`},
		{"a reference to elsewhere", `{"items":{"$ref":"https://example.com/a.json"}}`, `{"items":{"type":"object"}}`},
		{"a reference by anchor", `{"items":{"$ref":"#a"},"$defs":{"a":{"$anchor":"a"}}}`, `{"items":{"type":"object"}}`},
		{"a reference to no schema", `{"items":{"$ref":"#/type"},"type":"object"}`, `{"items":{"type":"object"},"type":"object"}`},
		{"a property that is called $ref", `{"properties":{"$ref":{"type":"string"}}}`, `{"properties":{"$ref":{"type":"string"}}}`},
		{"a property that is called $defs", `{"properties":{"$defs":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`, `{"properties":{"$defs":{"type":"string"}}}`},
		{"data is no schema", `{"const":{"$ref":"#/$defs/a"},"enum":[{"$ref":"x"}],"default":{"$ref":"y"}}`, `{"const":{"$ref":"#/$defs/a"},"enum":[{"$ref":"x"}],"default":{"$ref":"y"}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := schemas.Normalize([]byte(row.schema))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			again, err := schemas.Normalize(got)
			if err != nil || !strings.Contains(row.name, "cycle") && string(again) != row.want {
				t.Errorf("a second time: %s, %v", again, err)
			}
		})
	}
}

func TestNormalize_refusesWhatIsNoSchema(t *testing.T) {
	for _, text := range []string{``, `[]`, `true`, `"x"`, `{"a":1,"a":2}`, `{} {}`, `{"a":"\xff"}`, `{`} {
		if out, err := schemas.Normalize([]byte(text)); err == nil {
			t.Errorf("%q became %s", text, out)
		}
	}
}

// A chain of definitions that each use the next twice stands for 2^40 of the last. It stays small.
func TestNormalize_isBounded(t *testing.T) {
	defs := map[string]any{}
	for i := range 40 {
		next := map[string]any{"$ref": fmt.Sprintf("#/$defs/D%d", i+1)}
		defs[fmt.Sprintf("D%d", i)] = map[string]any{"properties": map[string]any{"a": next, "b": next}}
	}
	defs["D40"] = map[string]any{"type": "string"}
	text, err := json.Marshal(map[string]any{"$ref": "#/$defs/D0", "$defs": defs})
	if err != nil {
		t.Fatal(err)
	}
	out, err := schemas.Normalize(text)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) > 16*schemas.MostBytes {
		t.Errorf("%d bytes", len(out))
	}
	var parsed map[string]any
	if err := json.Unmarshal(out, &parsed); err != nil {
		t.Fatal(err)
	}
	kept, _ := parsed["$defs"].(map[string]any)
	if len(kept) == 0 || reflect.DeepEqual(parsed["properties"], nil) {
		t.Errorf("%d definitions are kept", len(kept))
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add([]byte(`{"$ref":"#/$defs/A","$defs":{"A":{"items":{"$ref":"#/$defs/B"}},"B":{"items":{"$ref":"#/$defs/A"}}}}`))
	f.Add([]byte(`{"properties":{"a":{"$ref":"#"}},"items":[{"$ref":"#/items/0"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		out, err := schemas.Normalize(text)
		if err != nil {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("%q became %q", text, out)
		}
	})
}
