package gatetest

import (
	"fmt"
	"strings"
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

// judge collects problems while the arguments are walked.
type judge struct {
	gate  *Gate
	seen  map[Problem]bool
	first []Problem
}

// add notes a problem once: the many items of an array have one path.
func (j *judge) add(path, format string, args ...any) {
	p := Problem{Path: path, Text: fmt.Sprintf(format, args...)}
	if j.seen[p] {
		return
	}
	j.seen[p] = true
	if len(j.first) < maxProblems {
		j.first = append(j.first, p)
	}
}

func (j *judge) refusal() *Refusal {
	if len(j.first) == 0 {
		return nil
	}
	return &Refusal{Problems: j.first, More: len(j.seen) - len(j.first), Correctable: true}
}

// names lists accepted names, the first ones if there are many.
func names(list []string) string {
	if len(list) <= maxNames {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s, and %d more", strings.Join(list[:maxNames], ", "), len(list)-maxNames)
}
