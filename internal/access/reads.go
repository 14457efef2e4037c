package access

import (
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
		case isIdentifier(s.Name):
			b.WriteString("." + s.Name)
		default:
			b.WriteString("[" + strconv.Quote(s.Name) + "]")
		}
	}
	return b.String()
}

func isIdentifier(name string) bool {
	for i, r := range name {
		if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return name != ""
}

// Within reports whether the place is that of other or inside it.
func (r Read) Within(other Read) bool {
	if len(r.Steps) < len(other.Steps) {
		return false
	}
	for i, s := range other.Steps {
		if r.Steps[i] != s {
			return false
		}
	}
	return true
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

func (p *place) step(s Step) *place {
	return &place{append(p.steps[:len(p.steps):len(p.steps)], s)}
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
		at := of.step(Step{Kind: Member, Name: s.FieldName()})
		r.reads = append(r.reads, Read{Steps: at.steps, Tested: s.IsTestOnly()})
		if !s.IsTestOnly() {
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
		at := places[0].step(Step{Kind: Index})
		if name, written := text(call.Args()[1]); written {
			at = places[0].step(Step{Kind: Member, Name: name})
		}
		r.reads = append(r.reads, Read{Steps: at.steps})
		return at
	case operators.In:
		if name, written := text(call.Args()[0]); written && places[1] != nil {
			at := places[1].step(Step{Kind: Member, Name: name})
			r.reads = append(r.reads, Read{Steps: at.steps, Tested: true})
		}
	}
	return nil
}

func (r *reader) loop(loop ast.ComprehensionExpr, in *scope) {
	over := r.read(loop.IterRange(), in)
	r.read(loop.AccuInit(), in)
	in = &scope{variable: loop.AccuVar(), outer: in}
	result := in
	if over != nil {
		over = over.step(Step{Kind: Visit})
	}
	in = &scope{variable: loop.IterVar(), place: over, outer: in}
	r.read(loop.LoopCondition(), in)
	r.read(loop.LoopStep(), in)
	r.read(loop.Result(), result)
}

// text is the text that an expression spells out.
func text(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().(types.String)
	return string(s), ok
}
