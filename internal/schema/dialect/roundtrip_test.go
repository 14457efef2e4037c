package dialect_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// spell writes canonical arguments as a reader of a dialect's document would: an absent property that is required is
// null, a map an array of pairs, an open value a text. hidden reports what the dialect has no spelling for: a value at a
// place that the document names and does not show, and a null that does not mean absence.
func spell(n *schema.Node, v *schematest.Value) (out []byte, hidden bool) {
	s := speller{}
	s.value(n, v)
	return s.out.Bytes(), s.hidden
}

type speller struct {
	out    bytes.Buffer
	hidden bool
}

func quote(text string) []byte {
	quoted, _ := jsontext.AppendQuote(nil, text)
	return quoted
}

func (s *speller) value(n *schema.Node, v *schematest.Value) {
	switch {
	case n.Kind == schema.Object && v.Kind == '{':
		s.object(n, v)
	case n.Kind == schema.Map && v.Kind == '{':
		s.out.WriteByte('{')
		for i, m := range v.Members {
			if i > 0 {
				s.out.WriteByte(',')
			}
			s.out.Write(quote(m.Name))
			s.out.WriteByte(':')
			s.value(n.Elem.Node, m.Value)
		}
		s.out.WriteByte('}')
	case n.Kind == schema.Pairs && v.Kind == '{':
		s.out.WriteByte('[')
		for i, m := range v.Members {
			if i > 0 {
				s.out.WriteByte(',')
			}
			s.out.WriteString(`{"key":`)
			s.out.Write(quote(m.Name))
			s.out.WriteString(`,"value":`)
			s.value(n.Elem.Node, m.Value)
			s.out.WriteByte('}')
		}
		s.out.WriteByte(']')
	case n.Kind == schema.Array && v.Kind == '[':
		s.out.WriteByte('[')
		for i, item := range v.Items {
			if i > 0 {
				s.out.WriteByte(',')
			}
			s.value(n.Elem.Node, item)
		}
		s.out.WriteByte(']')
	case n.Kind == schema.String && n.Form == schema.JSONText:
		s.out.Write(quote(v.String()))
	default:
		s.hidden = s.hidden || n.Kind == schema.Pairs && v.Kind == '[' // pairs themselves, which canonically are none
		s.out.WriteString(v.String())
	}
}

func (s *speller) object(n *schema.Node, v *schematest.Value) {
	s.out.WriteByte('{')
	first := true
	put := func(name string) {
		if !first {
			s.out.WriteByte(',')
		}
		first = false
		s.out.Write(quote(name))
		s.out.WriteByte(':')
	}
	for _, m := range v.Members {
		put(m.Name)
		if p := n.Property(m.Name); p != nil {
			// A null that was given is one that means absence here, whatever it meant canonically.
			s.hidden = s.hidden || p.Nullable && m.Value.Kind == 'n'
			s.value(p.Node, m.Value)
			continue
		}
		s.hidden = s.hidden || n.Title != ""
		s.out.WriteString(m.Value.String())
	}
	for i := range n.Properties {
		if p := &n.Properties[i]; p.Nullable && v.Get(p.Name) == nil {
			put(p.Name)
			s.out.WriteString("null")
		}
	}
	s.out.WriteByte('}')
}

// spelledArguments spells whole arguments: those of an open request are the one text of a closed object.
func spelledArguments(doc, canonical *schema.Document, v *schematest.Value) (out []byte, hidden bool) {
	if canonical.Root().Kind != schema.Object && doc.Root().Kind == schema.Object {
		return []byte(`{"` + doc.Root().Properties[0].Name + `":` + string(quote(v.String())) + `}`), false
	}
	return spell(doc.Root(), v)
}

// TestDialects_roundTrip: what the canonical document accepts is accepted in each dialect's spelling, by a neutral judge
// of the dialect's document and by its gate, and is the same request; what it refuses is refused. The inverse for
// readers beside the gate gives arguments that are the same request, too.
func TestDialects_roundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		md := schematest.RandomMessage(rt)
		profile, _ := schema.Builtin(rapid.SampledFrom(schema.BuiltinIDs()).Draw(rt, "profile"))
		canonical, _, err := schema.Input(md, profile)
		if err != nil {
			rt.Skip(err)
		}
		reference, err := gate.Compile(canonical)
		if err != nil {
			rt.Fatal(err)
		}
		drawer := schematest.NewDrawer(canonical.Root())
		if !drawer.Satisfiable() {
			rt.Skip("nothing is accepted")
		}
		arguments := drawer.Arguments(rt, 4)
		documents := []string{arguments}
		for range 3 {
			mutant, _ := drawer.Mutants(rt, arguments)
			documents = append(documents, mutant)
		}
		canonically := spelling{dialect.Canonical, canonical, reference, neutral(t, canonical)}
		for _, d := range dialect.All() {
			doc := d.Input(canonical)
			g, err := gate.Compile(doc)
			if err != nil {
				rt.Fatalf("%s: %v", d, err)
			}
			c := spelling{d, doc, g, neutral(t, doc)}
			for _, document := range documents {
				c.check(rt, canonically, document)
			}
		}
	})
}

// spelling is a document in a dialect with its judges.
type spelling struct {
	d       dialect.Dialect
	doc     *schema.Document
	gate    *gate.Gate
	neutral func(arguments []byte) bool
}

// neutral judges by a document as a validator that nobody here wrote does. It is slow to compile, and often not needed.
func neutral(t *testing.T, doc *schema.Document) func(arguments []byte) bool {
	validator := sync.OnceValue(func() *jsonschema.Schema { return schematest.Validator(t, doc.JSON()) })
	return func(arguments []byte) bool { return schematest.Accepts(t, validator(), arguments) }
}

func (c spelling) check(rt *rapid.T, canonical spelling, document string) {
	if strings.TrimSpace(document) == "null" {
		document = "{}" // null arguments are none
	}
	want, refusal := canonical.gate.Judge([]byte(document))
	v, err := schematest.Parse([]byte(document))
	if err != nil {
		rt.Fatal(err)
	}
	spelled, hidden := spelledArguments(c.doc, canonical.doc, v)
	got, no := c.gate.Judge(spelled)
	d, doc := c.d, c.doc
	switch {
	case hidden && (refusal != nil || d == dialect.OpenAIStrict): // it says something else in the dialect
	case refusal != nil && no == nil:
		rt.Fatalf("%s accepts %s\nof %s\nwhich canonical refuses: %s\n%s", d, spelled, document, refusal.Text(), doc.JSON())
	case refusal != nil:
	case hidden && no == nil:
		rt.Fatalf("%s accepts what its document does not show: %s\n%s", d, spelled, doc.JSON())
	case hidden:
	case no != nil:
		rt.Fatalf("%s refuses %s\nof %s: %s\n%s", d, spelled, document, no.Text(), doc.JSON())
	case !bytes.Equal(got.Wire, want.Wire) || got.RulesRemain != want.RulesRemain:
		rt.Fatalf("%s makes another request of %s: %x, want %x", d, spelled, got.Wire, want.Wire)
	default:
		again, no := canonical.gate.Judge(dialect.Canonicalize(doc, spelled))
		if no != nil || !bytes.Equal(again.Wire, want.Wire) {
			rt.Fatalf("%s: the inverse of %s is %s", d, spelled, dialect.Canonicalize(doc, spelled))
		}
		// Of a few texts it thinks otherwise than protovalidate: of some email addresses, for one. It does so canonically,
		// too.
		if d != dialect.Gemini && !c.neutral(spelled) && canonical.neutral([]byte(document)) {
			rt.Fatalf("%s: a neutral judge refuses %s\n%s", d, spelled, doc.JSON())
		}
	}
}
