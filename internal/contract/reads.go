package contract

import (
	"fmt"
	"slices"
	"strings"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
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
		asked := slices.ContainsFunc(reads, func(r access.Read) bool { return r.Tested && read.Within(r) })
		switch {
		case problem == "":
		case own:
			c.report(t.Function(), by.at("access"), "%s: access: %s", by.where(), problem)
		case !asked:
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
		of := access.Spelling(steps[:i])
		switch n.Kind {
		case schema.Open, schema.OpenObject, schema.OpenArray, schema.AnyMessage:
			return ""
		case schema.Object:
			if s.Kind != access.Member {
				return "" // it is computed which
			}
			next := property(n, s.Name)
			if next == nil {
				return fmt.Sprintf("the policy names %s, and %s %s", access.Spelling(steps[:i+1]), of, itsFields(n))
			}
			n = next
		case schema.Map:
			if s.Kind == access.Visit {
				n = n.Key
				continue
			}
			n = n.Elem.Node
		case schema.Array:
			if s.Kind == access.Member {
				return fmt.Sprintf("the policy names %s, and %s is an array: name an item of it by its number, or visit them all with all() or exists()",
					access.Spelling(steps[:i+1]), of)
			}
			n = n.Elem.Node
		default:
			if s.Kind != access.Member {
				return "" // CEL says it better
			}
			return fmt.Sprintf("the policy names %s, and %s has no fields: it is %s", access.Spelling(steps[:i+1]), of, kindName(n))
		}
	}
	return ""
}

func property(n *schema.Node, name string) *schema.Node {
	for i := range n.Properties {
		if n.Properties[i].Name == name {
			return n.Properties[i].Node
		}
	}
	return nil
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

// declaredAccess gives the access rule that counts for an RPC: the nearest of its own, with who declares it, else its
// service's.
func declaredAccess(said *toolv1.Service, d *declarations) (*toolv1.Access, *declaration) {
	if by := nearest(d.all(), func(s *toolv1.Tool) bool { return s.GetAccess() != nil }); by != nil {
		return by.tool.GetAccess(), by
	}
	return said.GetAccess(), nil
}
