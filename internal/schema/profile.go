package schema

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// Profile says how protobuf maps to JSON in one tool's arguments and structured result (tools.md, "JSON profiles").
type Profile struct {
	// ID is the name by which options and configuration choose the profile.
	ID string
	// ProtoNames publishes field names as declared instead of their JSON names.
	ProtoNames bool
	// NumericInt64 writes 64-bit integers as JSON numbers instead of strings.
	NumericInt64 bool
	// OmitImplicit leaves fields without presence out of results while they hold their default.
	OmitImplicit bool
}

var builtins = []Profile{
	{ID: "protojson"},
	{ID: "proto", ProtoNames: true},
	{ID: "numeric", NumericInt64: true},
	{ID: "compact", OmitImplicit: true},
}

// Builtin returns the built-in profile of that id.
func Builtin(id string) (Profile, bool) {
	for _, p := range builtins {
		if p.ID == id {
			return p, true
		}
	}
	return Profile{}, false
}

// BuiltinIDs lists the built-in profiles, the default one first.
func BuiltinIDs() []string {
	ids := make([]string, len(builtins))
	for i, p := range builtins {
		ids[i] = p.ID
	}
	return ids
}

// PropertyName is the name under which a field is published: the one its option declares, else the profile's.
func PropertyName(fd protoreflect.FieldDescriptor, p Profile) string {
	if name := FieldOption(fd).GetName(); name != "" {
		return name
	}
	if p.ProtoNames {
		return string(fd.Name())
	}
	return fd.JSONName()
}

// FieldOption returns the field's (sallyport.tool.v1.field), or nil.
func FieldOption(fd protoreflect.FieldDescriptor) *toolv1.Field {
	return extension[*toolv1.Field](fd.Options(), toolv1.E_Field)
}

// extension reads one message-typed option; options built against another registry than the linked one are nil.
func extension[T any](options protoreflect.ProtoMessage, xt protoreflect.ExtensionType) (zero T) {
	if options == nil || !proto.HasExtension(options, xt) {
		return zero
	}
	value, ok := proto.GetExtension(options, xt).(T)
	if !ok {
		return zero
	}
	return value
}
