package access

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
)

// StepKind is how a policy goes one step into the arguments.
type StepKind int

const (
	// Member is a field of an object, or a key of a map, by its name.
	Member StepKind = iota
	// Index is an item by its number, or a member whose name is not written out.
	Index
	// Visit is what a loop visits: the items of a list, the keys of a map.
	Visit
)

// Step is one step into the arguments.
type Step struct {
	Kind StepKind
	// Name is that of a Member.
	Name string
}

// Read is one place in the arguments that a policy names.
type Read struct {
	// Steps lead there from the arguments. There is at least one.
	Steps []Step
	// Tested says that the policy only asks whether the place is there, by has() or in.
	Tested bool
}

// Spelling is the place as messages name it, such as arguments.lines[].price.
func Spelling(steps []Step) string {
	var b strings.Builder
	b.WriteString("arguments")
	for _, s := range steps {
		switch {
		case s.Kind != Member:
			b.WriteString("[]")
		case identifier.MatchString(s.Name):
			b.WriteString("." + s.Name)
		default:
			b.WriteString("[" + strconv.Quote(s.Name) + "]")
		}
	}
	return b.String()
}

// identifier is a name that CEL takes after a dot.
var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Within reports whether the place is that of other or inside it.
func (r Read) Within(other Read) bool {
	n := len(other.Steps)
	return len(r.Steps) >= n && slices.Equal(r.Steps[:n], other.Steps)
}

// readsOf finds the places in the arguments that an expression names. What it computes from them it does not follow.
func readsOf(checked *ast.AST) []Read {
	r := &reader{}
	r.read(checked.Expr(), nil)
	return r.reads
}

type reader struct{ reads []Read }

// scope is what the variables of the loops around an expression stand for: places in the arguments, or nil for others.
type scope struct {
	variable string
	place    *place
	outer    *scope
}

// place is the arguments or a place in them.
type place struct{ steps []Step }

func (p *place) step(s Step) *place { return &place{append(slices.Clip(p.steps), s)} }

// enter notes the place one step within another, and gives it.
func (r *reader) enter(of *place, s Step, tested bool) *place {
	at := of.step(s)
	r.reads = append(r.reads, Read{Steps: at.steps, Tested: tested})
	return at
}

// read visits an expression and gives the place in the arguments that it is, or nil.
func (r *reader) read(e ast.Expr, in *scope) *place {
	switch e.Kind() {
	case ast.IdentKind:
		for ; in != nil; in = in.outer {
			if in.variable == e.AsIdent() {
				return in.place
			}
		}
		if strings.TrimPrefix(e.AsIdent(), ".") == "arguments" {
			return &place{}
		}
	case ast.SelectKind:
		s := e.AsSelect()
		of := r.read(s.Operand(), in)
		if of == nil {
			return nil
		}
		if at := r.enter(of, Step{Kind: Member, Name: s.FieldName()}, s.IsTestOnly()); !s.IsTestOnly() {
			return at
		}
	case ast.CallKind:
		return r.call(e.AsCall(), in)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			r.read(element, in)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.read(entry.AsMapEntry().Key(), in)
			r.read(entry.AsMapEntry().Value(), in)
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			r.read(field.AsStructField().Value(), in)
		}
	case ast.ComprehensionKind:
		r.loop(e.AsComprehension(), in)
	}
	return nil
}

func (r *reader) call(call ast.CallExpr, in *scope) *place {
	var places []*place
	if call.IsMemberFunction() {
		r.read(call.Target(), in)
	}
	for _, argument := range call.Args() {
		places = append(places, r.read(argument, in))
	}
	switch call.FunctionName() {
	case operators.Index:
		if places[0] == nil {
			return nil
		}
		if name, written := text(call.Args()[1]); written {
			return r.enter(places[0], Step{Kind: Member, Name: name}, false)
		}
		return r.enter(places[0], Step{Kind: Index}, false)
	case operators.In:
		if name, written := text(call.Args()[0]); written && places[1] != nil {
			r.enter(places[1], Step{Kind: Member, Name: name}, true)
		}
	}
	return nil
}

func (r *reader) loop(loop ast.ComprehensionExpr, in *scope) {
	over := r.read(loop.IterRange(), in)
	r.read(loop.AccuInit(), in)
	if over != nil {
		over = over.step(Step{Kind: Visit})
	}
	outside := &scope{variable: loop.AccuVar(), outer: in}
	inside := &scope{variable: loop.IterVar(), place: over, outer: outside}
	r.read(loop.LoopCondition(), inside)
	r.read(loop.LoopStep(), inside)
	r.read(loop.Result(), outside)
}

// text is the text that an expression spells out.
func text(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}
