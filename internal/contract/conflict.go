package contract

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Conflict is one reason why a contract cannot be published.
type Conflict struct {
	// Function is the RPC as `package.Service/Method`, or the service where the problem is not one RPC's.
	Function string
	// Problem says what is wrong and how to mend it.
	Problem string
	// File, Line and Column say where, counted from 1. Line is 0 where the descriptors carry no positions, File is
	// empty where no file is at fault.
	File         string
	Line, Column int
}

// String is the function and the problem, without the position.
func (c Conflict) String() string { return c.Function + ": " + c.Problem }

// Located is the conflict as compilers print it: `file.proto:LINE:COL: function: problem`.
func (c Conflict) Located() string {
	switch {
	case c.File == "":
		return c.String()
	case c.Line == 0:
		return c.File + ": " + c.String()
	default:
		return fmt.Sprintf("%s:%d:%d: %s", c.File, c.Line, c.Column, c.String())
	}
}

// ConflictError holds everything that is wrong with a contract, in the order of services and RPCs (tools.md,
// "Conflicts fail fast, by name").
type ConflictError struct{ Conflicts []Conflict }

// Error lists every conflict on a line of its own.
func (e *ConflictError) Error() string {
	lines := make([]string, len(e.Conflicts))
	for i, c := range e.Conflicts {
		lines[i] = c.String()
	}
	return strings.Join(lines, "\n")
}

// Numbers of the options field in the descriptors of the four kinds of declaration that carry our options.
const (
	fileOptionsField    = 8
	fieldOptionsField   = 8
	serviceOptionsField = 3
	methodOptionsField  = 4
)

// place is where a problem is: a declaration, and the option in it where there is one.
type place struct {
	descriptor protoreflect.Descriptor
	option     protoreflect.ExtensionType // nil: the declaration itself
	field      protoreflect.Name          // within the option; empty: the option itself
}

// locate finds the nearest position that the source info knows: the option's field, the option, the declaration.
func (p place) locate() (file string, line, column int) {
	if p.descriptor == nil {
		return "", 0, 0
	}
	fd := p.descriptor.ParentFile()
	if fd == nil {
		return "", 0, 0
	}
	locations := fd.SourceLocations()
	var base protoreflect.SourcePath
	options := int32(fileOptionsField)
	switch p.descriptor.(type) {
	case protoreflect.ServiceDescriptor:
		base, options = locations.ByDescriptor(p.descriptor).Path, serviceOptionsField
	case protoreflect.MethodDescriptor:
		base, options = locations.ByDescriptor(p.descriptor).Path, methodOptionsField
	case protoreflect.FieldDescriptor:
		base, options = locations.ByDescriptor(p.descriptor).Path, fieldOptionsField
	case protoreflect.FileDescriptor:
	default:
		base, options = locations.ByDescriptor(p.descriptor).Path, 0
	}
	if _, whole := p.descriptor.(protoreflect.FileDescriptor); base == nil && !whole {
		return fd.Path(), 0, 0
	}
	paths := []protoreflect.SourcePath{base}
	if p.option != nil && options != 0 {
		xt := p.option.TypeDescriptor()
		option := append(append(protoreflect.SourcePath{}, base...), options, int32(xt.Number()))
		paths = append(paths, option)
		if f := xt.Message().Fields().ByName(p.field); f != nil {
			paths = append(paths, append(append(protoreflect.SourcePath{}, option...), int32(f.Number())))
		}
	}
	for i := len(paths) - 1; i >= 0; i-- {
		loc := locations.ByPath(paths[i])
		// Contracts that are kept have their positions removed: an empty span says nothing.
		if loc.Path != nil && (loc.StartLine != loc.EndLine || loc.StartColumn != loc.EndColumn) {
			return fd.Path(), loc.StartLine + 1, loc.StartColumn + 1
		}
	}
	return fd.Path(), 0, 0
}
