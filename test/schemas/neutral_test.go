// Package schemas_test holds derived schemas against two validators that nobody here wrote: ajv in its strict mode,
// which most MCP clients use, and santhosh-tekuri/jsonschema, which reads numbers exactly. Every schema compiles in
// both, and what they say of documents is what the gate says, but for the rules that JSON Schema has no keyword for:
// those are a table (exceptions_test.go), each row with its reason and a document that shows it.
package schemas_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"pgregory.net/rapid"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/internal/transcode/transcodetest"
)

// trial is one published input schema before its three judges.
type trial struct {
	doc   *schema.Document
	gate  *gate.Gate
	exact *jsonschema.Schema
	// count says how often each exception was needed.
	count map[string]int
}

func newTrial(t *testing.T, doc *schema.Document) *trial {
	t.Helper()
	g, err := gate.Compile(doc)
	if err != nil {
		t.Fatal(err)
	}
	return &trial{doc, g, schematest.Validator(t, doc.JSON()), map[string]int{}}
}

// judge compares what the gate and the validators say of documents, and explains every difference.
func (tr *trial) judge(t *testing.T, node *ajv, documents ...[]byte) {
	t.Helper()
	verdicts, err := node.judge(tr.doc.JSON(), documents...)
	if err != nil {
		t.Fatalf("ajv does not take the schema: %v\n%s", err, tr.doc.JSON())
	}
	for i, text := range documents {
		v, err := schematest.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		_, refusal := tr.gate.Judge(text)
		for _, validator := range []struct {
			name    string
			accepts bool
		}{{exactJudge, schematest.Accepts(t, tr.exact, text)}, {ajvJudge, verdicts[i]}} {
			if unexplained := tr.explain(validator.name, v, refusal, validator.accepts); unexplained != "" {
				t.Errorf("%s %s, the gate does not agree: %s\n%s\n%s", validator.name,
					map[bool]string{true: "accepts", false: "refuses"}[validator.accepts], unexplained, text, tr.doc.JSON())
			}
		}
	}
}

// explain finds an exception for every difference between the gate and one validator, and returns the first one that
// has none.
func (tr *trial) explain(validator string, v *schematest.Value, refusal *gate.Refusal, accepts bool) string {
	switch {
	case refusal == nil && accepts, refusal != nil && !accepts:
		return ""
	case refusal == nil:
		if name := tr.exception(narrower, validator, v, gate.Problem{}); name == "" {
			return "it accepts"
		}
		return ""
	}
	for _, problem := range refusal.Problems {
		if name := tr.exception(wider, validator, v, problem); name == "" {
			return fmt.Sprintf("%q %s", problem.Path, problem.Text)
		}
	}
	return ""
}

// exception finds the row that explains a difference, by a value of the document where it holds.
func (tr *trial) exception(table []exception, validator string, v *schematest.Value, problem gate.Problem) (name string) {
	schematest.Visit(tr.doc.Root(), v, func(path string, n *schema.Node, v *schematest.Value) {
		for _, row := range table {
			if name == "" && (row.validator == "" || row.validator == validator) && row.holds(site{path, n, v}, problem) {
				name = row.name
				tr.count[name]++
			}
		}
	})
	return name
}

// TestNeutral_randomContracts draws contracts, documents and mutants; and responses for the output schemas.
func TestNeutral_randomContracts(t *testing.T) {
	node := startAjv(t)
	contracts := rapid.Custom(schematest.RandomMessage)
	count, documents, responses := map[string]int{}, 0, 0
	for seed := range 200 {
		md := contracts.Example(seed)
		profile, _ := schema.Builtin(schema.BuiltinIDs()[seed%4])
		doc, _, err := schema.Input(md, profile)
		if err != nil {
			continue // schematest holds that these are few
		}
		tr := newTrial(t, doc)
		tr.count = count
		texts := draw(doc, seed, 2, 12)
		documents += len(texts)
		tr.judge(t, node, texts...)
		responses += judgeOutput(t, node, md, profile, seed, 4)
		if t.Failed() {
			t.Logf("seed %d:\n%s", seed, schematest.Source(md))
		}
	}
	t.Logf("%d documents and %d responses; exceptions needed: %v", documents, responses, count)
}

// draw draws documents that a schema accepts, and mutants; none of either where it accepts none.
func draw(doc *schema.Document, seed, valid, mutants int) (texts [][]byte) {
	drawer := schematest.NewDrawer(doc.Root())
	if !drawer.Satisfiable() {
		return nil
	}
	arguments := rapid.Custom(func(t *rapid.T) []byte { return []byte(drawer.Arguments(t, 4)) })
	mutant := rapid.Custom(func(t *rapid.T) []byte {
		text, _ := drawer.Mutants(t, drawer.Arguments(t, 3))
		return []byte(text)
	})
	for i := range valid {
		texts = append(texts, arguments.Example(seed*1000+i))
	}
	for i := range mutants {
		texts = append(texts, mutant.Example(seed*1000+i))
	}
	return texts
}

// judgeOutput holds drawn responses against the output schema, and returns how many there were.
func judgeOutput(t *testing.T, node *ajv, md protoreflect.MessageDescriptor, profile schema.Profile, seed, count int) int {
	t.Helper()
	doc, _, err := schema.Output(md, profile)
	if err != nil {
		t.Fatal(err)
	}
	if doc == nil {
		return 0 // a response that is no object has no schema
	}
	codec, err := transcodetest.Compile(md, md, profile)
	if err != nil {
		t.Fatal(err)
	}
	response := rapid.Custom(func(t *rapid.T) []byte {
		wire, err := proto.MarshalOptions{AllowPartial: true}.Marshal(schematest.Response(t, md, 3))
		if err != nil {
			panic(err)
		}
		return wire
	})
	exact := schematest.Validator(t, doc.JSON())
	var texts [][]byte
	for i := range count {
		text, err := codec.JSON(response.Example(seed*1000 + i))
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	verdicts, err := node.judge(doc.JSON(), texts...)
	if err != nil {
		t.Fatalf("ajv does not take the output schema: %v\n%s", err, doc.JSON())
	}
	for i, text := range texts {
		if !schematest.Accepts(t, exact, text) || !verdicts[i] {
			t.Errorf("the output schema does not accept (%s: %v, ajv: %v) %s\n%s", exactJudge, schematest.Accepts(t, exact, text), verdicts[i], text, doc.JSON())
		}
	}
	return len(texts)
}
