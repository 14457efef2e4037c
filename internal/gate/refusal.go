package gate

import (
	"fmt"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// maxProblems is how many problems one refusal spells out.
const maxProblems = 10

// maxNames is how many accepted names one problem lists.
const maxNames = 50

// Problem is one reason for a refusal, in words of ours.
type Problem struct {
	// Path is where: declared names joined by dots, [] for the items of an array, {key} for a key of a map. Blank is
	// the arguments as a whole.
	Path string
	// Text says what the value must be, for example "must be an integer".
	Text string
}

// Refusal is the answer to arguments that the document does not accept.
type Refusal struct {
	// Problems are the first ten, in the order of the schema; problems of the same place and text are one.
	Problems []Problem
	// More counts the others.
	More int
	// Correctable says that a corrected input may succeed.
	Correctable bool
}

// Text renders the refusal for a model.
func (r *Refusal) Text() string {
	var out strings.Builder
	out.WriteString("The arguments do not fit the tool's input schema:")
	for _, p := range r.Problems {
		path := p.Path
		if path == "" {
			path = "arguments"
		}
		out.WriteString("\n- " + path + ": " + p.Text)
	}
	if r.More > 0 {
		fmt.Fprintf(&out, "\nand %d more", r.More)
	}
	return out.String()
}

// wanted says in words which type a node wants.
func wanted(n *schema.Node) string {
	switch n.Kind {
	case schema.Object, schema.Map, schema.OpenObject, schema.AnyMessage:
		return "an object"
	case schema.Array, schema.OpenArray, schema.Pairs:
		return "an array"
	case schema.String:
		return "a string"
	case schema.Integer:
		return "an integer"
	case schema.Number:
		return "a number"
	case schema.Boolean:
		return "true or false"
	case schema.Null:
		return "null"
	default:
		return "any JSON"
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
