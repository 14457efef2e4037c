package contract

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// mostNamed is how many fields a message of ours lists.
const mostNamed = 12

// checkReads reports the places in the arguments that a tool's policy names and no argument can have. Such a policy
// refuses every call that it comes to, or, where it asks with has() first, permits calls that its author means to refuse.
//
// A policy that the RPC has from elsewhere holds for others, too. What it names and this one does not have is worth a
// warning, unless it asks; what none of a service has is for [compiler.checkShared].
func (c *compiler) checkReads(t *Tool, by *declaration) {
	if t.Input == nil {
		return
	}
	own := by != nil && by.method == t.Descriptor
	reads := t.Rule.Reads()
	for _, read := range reads {
		problem := misses(t.Input.Root(), read.Steps)
		switch {
		case problem == "":
		case own:
			c.report(t.Function(), by.at("access"), "%s: access: %s", by.where(), problem)
		case !slices.ContainsFunc(reads, func(asked access.Read) bool { return asked.Tested && read.Within(asked) }):
			c.warn(t.Function(), "access: %s; it has the policy from elsewhere: calls for which that comes so far are refused", problem)
		}
	}
}

// checkShared reports what a service's policy names and none of the tools that it guards has.
func (c *compiler) checkShared(service string, at place, guarded []*Tool) {
	if len(guarded) == 0 {
		return
	}
	for _, read := range guarded[0].Rule.Reads() {
		problem := ""
		if !slices.ContainsFunc(guarded, func(t *Tool) bool {
			problem = misses(t.Input.Root(), read.Steps)
			return problem == ""
		}) {
			c.report(service, at, "access: %s; nor has any other RPC that the policy guards", problem)
		}
	}
}

// misses says what of a place is not there in arguments of the schema; empty if all of it may be.
func misses(n *schema.Node, steps []access.Step) string {
	for i, s := range steps {
		switch n.Kind {
		case schema.Open, schema.OpenObject, schema.OpenArray, schema.AnyMessage:
			return ""
		case schema.Object:
			if s.Kind != access.Member {
				return "" // it is computed which
			}
			p := n.Property(s.Name)
			if p == nil {
				return fmt.Sprintf("the policy names %s, and %s %s", access.Spelling(steps[:i+1]), access.Spelling(steps[:i]), itsFields(n))
			}
			n = p.Node
		case schema.Map:
			if s.Kind == access.Visit {
				n = n.Key
				continue
			}
			n = n.Elem.Node
		case schema.Array:
			if s.Kind == access.Member {
				return fmt.Sprintf("the policy names %s, and %s is an array: name an item of it by its number, or visit them all with all() or exists()",
					access.Spelling(steps[:i+1]), access.Spelling(steps[:i]))
			}
			n = n.Elem.Node
		default:
			if s.Kind != access.Member {
				return "" // what CEL cannot index or visit, it refuses when it comes to it
			}
			return fmt.Sprintf("the policy names %s, and %s has no fields: it is %s", access.Spelling(steps[:i+1]), access.Spelling(steps[:i]), kindName(n))
		}
	}
	return ""
}

// itsFields lists the fields of an object for a message.
func itsFields(n *schema.Node) string {
	var names []string
	for i := range n.Properties {
		if len(names) == mostNamed {
			names = append(names, "…")
			break
		}
		names = append(names, n.Properties[i].Name)
	}
	if len(names) == 0 {
		return "has no fields"
	}
	return "has no such field: its fields are " + strings.Join(names, ", ")
}

func kindName(n *schema.Node) string {
	switch n.Kind {
	case schema.Integer, schema.Number:
		return "a number"
	case schema.Boolean:
		return "a boolean"
	case schema.Null:
		return "null"
	default:
		return "a text"
	}
}
