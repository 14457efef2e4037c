package gatetest

import (
	"bytes"
	"fmt"
	"regexp"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Gate judges arguments by one document. It is immutable and safe for concurrent use.
type Gate struct {
	root     *schema.Node
	patterns map[*schema.Node]*regexp.Regexp
}

// Compile makes the gate of a document. An error is a defect of the document, and so of ours.
func Compile(doc *schema.Document) (*Gate, error) {
	g := &Gate{root: doc.Root(), patterns: map[*schema.Node]*regexp.Regexp{}}
	seen := map[*schema.Node]bool{}
	if err := g.prepare(doc.Root(), seen); err != nil {
		return nil, fmt.Errorf("compile the gate of %s: %w", doc.Message().FullName(), err)
	}
	return g, nil
}

// prepare compiles the pattern of every node that can be reached, those within an Any included.
func (g *Gate) prepare(n *schema.Node, seen map[*schema.Node]bool) error {
	if n == nil || seen[n] {
		return nil
	}
	seen[n] = true
	if n.Pattern != "" {
		re, err := regexp.Compile(n.Pattern)
		if err != nil {
			return fmt.Errorf("published pattern %q: %w", n.Pattern, err)
		}
		g.patterns[n] = re
	}
	for i := range n.Properties {
		if err := g.prepare(n.Properties[i].Node, seen); err != nil {
			return err
		}
	}
	if n.Elem != nil {
		if err := g.prepare(n.Elem.Node, seen); err != nil {
			return err
		}
	}
	for _, t := range n.Types {
		if err := g.prepare(t.Node, seen); err != nil {
			return err
		}
	}
	return g.prepare(n.Key, seen)
}

// Judge returns nil where the document accepts the arguments, and otherwise why it does not. Absent arguments and
// null are the empty object. Arguments that are not one valid JSON value are refused, too, though whoever decoded the
// request has seen to that.
func (g *Gate) Judge(arguments []byte) *Refusal {
	j := &judge{gate: g, seen: map[Problem]bool{}}
	if trimmed := bytes.TrimSpace(arguments); len(trimmed) == 0 || string(trimmed) == "null" {
		arguments = []byte(`{}`)
	}
	v, err := parse(arguments)
	if err != nil {
		j.add("", "must be one valid JSON value")
	} else {
		j.value(g.root, v, "")
	}
	return j.refusal()
}
