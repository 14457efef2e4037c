package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// diamond is a chain of messages, each of which uses the next one twice.
func diamond(levels int) string {
	var out strings.Builder
	out.WriteString("message M { L0 a = 1; L0 b = 2; }\n")
	for i := range levels {
		fmt.Fprintf(&out, "message L%d { L%d a = 1; L%d b = 2; string c = 3; }\n", i, i+1, i+1)
	}
	fmt.Fprintf(&out, "message L%d { string c = 1; }\n", levels)
	return out.String()
}

func TestInput_staysSmall(t *testing.T) {
	var mutual strings.Builder
	for _, name := range []string{"M", "B", "C", "D"} {
		fmt.Fprintf(&mutual, "message %s { M m = 1; B b = 2; C c = 3; D d = 4; repeated D e = 5; }\n", name)
	}
	for _, row := range []struct {
		name, proto string
		limit       int
	}{
		{"diamond of 18 levels", diamond(18), 32 << 10},
		{"diamond of 100 levels", diamond(100), 40 << 10},
		{"four mutually recursive messages", mutual.String(), 4 << 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, derive := range []func() (*schema.Document, []string, error){
				func() (*schema.Document, []string, error) {
					return schema.Input(schematest.Message(t, row.proto), profile(t, ""))
				},
				func() (*schema.Document, []string, error) {
					return schema.Output(schematest.Message(t, row.proto), profile(t, ""))
				},
			} {
				doc, warnings, err := derive()
				if err != nil || len(warnings) > 0 {
					t.Fatal(warnings, err)
				}
				if len(doc.JSON()) > row.limit {
					t.Errorf("%d bytes, more than %d", len(doc.JSON()), row.limit)
				}
				valid(t, doc.JSON())
				again, _, _ := derive()
				if string(again.JSON()) != string(doc.JSON()) {
					t.Error("a second derivation differs")
				}
			}
		})
	}
}

// TestInput_largestSavingFirst has two shared types of which sharing the larger one is enough.
func TestInput_largestSavingFirst(t *testing.T) {
	var out strings.Builder
	out.WriteString("message M {")
	for i := range 10 {
		fmt.Fprintf(&out, " Large l%d = %d; Small s%d = %d;", i, 2*i+1, i, 2*i+2)
	}
	out.WriteString("}\nmessage Small { string a = 1; }\nmessage Large {")
	for i := range 100 {
		fmt.Fprintf(&out, " string some_property_%d = %d;", i, i+1)
	}
	out.WriteString("}\n")
	doc, _, err := schema.Input(schematest.Message(t, out.String()), profile(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Defs map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(doc.JSON(), &parsed); err != nil {
		t.Fatal(err)
	}
	if len(parsed.Defs) != 1 || parsed.Defs["t.v1.Large"] == nil {
		t.Errorf("definitions: %v", parsed.Defs)
	}
	valid(t, doc.JSON())
}

func TestInput_sizeLimits(t *testing.T) {
	wide := func(fields int) string {
		var out strings.Builder
		out.WriteString("message M { string small = 1; Wide wide = 2; }\nmessage Wide {\n")
		for i := range fields {
			fmt.Fprintf(&out, "// %s\nstring f%d = %d;\n", strings.Repeat("word ", 100), i, i+1)
		}
		out.WriteString("}\n")
		return out.String()
	}
	t.Run("within", func(t *testing.T) {
		if _, warnings, err := schema.Input(schematest.Message(t, wide(400)), profile(t, "")); err != nil || len(warnings) > 0 {
			t.Error(warnings, err)
		}
	})
	t.Run("warning over 256 KiB", func(t *testing.T) {
		doc, warnings, err := schema.Input(schematest.Message(t, wide(600)), profile(t, ""))
		if err != nil || len(warnings) != 1 || !strings.Contains(warnings[0], "property wide") || !strings.Contains(warnings[0], fmt.Sprint(len(doc.JSON()))) {
			t.Error(warnings, err)
		}
	})
	t.Run("error over 1 MiB", func(t *testing.T) {
		if _, _, err := schema.Input(schematest.Message(t, wide(3000)), profile(t, "")); err == nil || !strings.Contains(err.Error(), "largest subtree is property wide") {
			t.Error(err)
		}
	})
	t.Run("error over 1 MiB names a shared type", func(t *testing.T) {
		text := strings.Replace(wide(3000), "Wide wide = 2;", "Wide wide = 2; Wide more = 3;", 1)
		if _, _, err := schema.Input(schematest.Message(t, text), profile(t, "")); err == nil || !strings.Contains(err.Error(), "largest subtree is type t.v1.Wide") {
			t.Error(err)
		}
	})
}

// TestInput_largeOneofStaysLinear has a oneof that is too large to be spelled out at each of its members.
func TestInput_largeOneofStaysLinear(t *testing.T) {
	var out strings.Builder
	out.WriteString("message M { oneof o {")
	for i := range 100 {
		fmt.Fprintf(&out, " bool member_%d = %d;", i, i+1)
	}
	out.WriteString(" } }")
	doc, _, err := schema.Input(schematest.Message(t, out.String()), profile(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	text := string(doc.JSON())
	if n := strings.Count(text, "Give at most one of: member0, member1, "); n != 1 {
		t.Errorf("the members are listed %d times", n)
	}
	if n := strings.Count(text, `"Give at most one of 100 properties that the object's description names."`); n != 100 {
		t.Errorf("%d members say so", n)
	}
}
