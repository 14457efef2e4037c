package contract

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// checkExamples reports the examples of fields that the schema refuses in which they are published: models would send
// them, and be refused. The gate judges, so that there is one opinion of what a schema accepts.
func (c *compiler) checkExamples(t *Tool, doc *schema.Document) {
	if doc == nil {
		return
	}
	seen := map[*schema.Node]bool{}
	var visit func(n *schema.Node)
	visit = func(n *schema.Node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		for i := range n.Properties {
			p := &n.Properties[i]
			if len(p.Examples) > 0 && judgeable(p.Node, map[*schema.Node]bool{}) {
				c.judgeExamples(t, doc, p)
			}
			visit(p.Node)
		}
		if n.Elem != nil {
			visit(n.Elem.Node)
		}
	}
	visit(doc.Root())
}

// judgeExamples judges the examples of one property.
func (c *compiler) judgeExamples(t *Tool, doc *schema.Document, p *schema.Property) {
	at := place{descriptor: p.Field, option: toolv1.E_Field, field: "examples"}
	g, err := gate.Compile(doc.Alone(p))
	if err != nil {
		c.report(t.Function(), at, "field %s: its examples cannot be judged: %v", p.Field.FullName(), err)
		return
	}
	for i, example := range p.Examples {
		arguments := append([]byte{'{'}, quoted(p.Name)...)
		arguments = append(append(append(arguments, ':'), example...), '}')
		_, refusal := g.Judge(arguments)
		if refusal == nil {
			continue
		}
		problems := make([]string, 0, len(refusal.Problems))
		for _, problem := range refusal.Problems {
			if problem.Path == p.Name {
				problems = append(problems, problem.Text)
				continue
			}
			problems = append(problems, problem.Path+" "+problem.Text)
		}
		c.report(t.Function(), at, "field %s: example %d is refused by the schema that publishes it: %s",
			p.Field.FullName(), i+1, strings.Join(problems, "; "))
	}
}

// judgeable reports a node of which the gate accepts what the schema does. In a result, whose schema has more than the
// gate would take, messages count as what they declare, since an example can have nothing else; but numbers that may be
// texts, enums that may be numbers, and messages of any type are left unjudged.
func judgeable(n *schema.Node, seen map[*schema.Node]bool) bool {
	if n == nil || seen[n] {
		return true
	}
	seen[n] = true
	switch {
	case n.Loose && n.Kind != schema.Object, n.Kind == schema.AnyMessage && len(n.Types) == 0:
		return false
	case n.Elem != nil && !judgeable(n.Elem.Node, seen):
		return false
	}
	for i := range n.Properties {
		if !judgeable(n.Properties[i].Node, seen) {
			return false
		}
	}
	return true
}

func quoted(name string) []byte {
	text, _ := jsontext.AppendQuote(nil, name) // names of properties are ASCII
	return text
}
