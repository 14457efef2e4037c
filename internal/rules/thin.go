package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// thin returns the files of a document's messages with only what the document reaches in them. For every message with
// rules protovalidate describes to CEL each message of the files that it comes from, at one to two kilobytes a message:
// judged by its own descriptors, a file of 2,000 requests would cost gigabytes.
func thin(doc *schema.Document) (*protoregistry.Files, error) {
	md := doc.Message()
	t := thinner{files: map[string]*descriptorpb.FileDescriptorProto{}, needs: map[string]map[string]bool{}, seen: map[protoreflect.FullName]bool{}, linked: &protoregistry.Files{}}
	t.refer(md.ParentFile(), md)
	for _, carried := range carriedBy(doc.Root(), map[*schema.Node]bool{}) {
		// An Any refers to nothing, so that the message's file has to.
		t.refer(md.ParentFile(), carried)
	}
	if err := t.link(md.ParentFile().Path()); err != nil {
		return nil, fmt.Errorf("link what %s reaches: %w", md.FullName(), err)
	}
	return t.linked, nil
}

// carriedBy lists the messages that the Anys of a document may carry.
func carriedBy(n *schema.Node, seen map[*schema.Node]bool) (list []protoreflect.MessageDescriptor) {
	if seen[n] {
		return nil
	}
	seen[n] = true
	for i := range n.Properties {
		list = append(list, carriedBy(n.Properties[i].Node, seen)...)
	}
	if n.Elem != nil {
		list = append(list, carriedBy(n.Elem.Node, seen)...)
	}
	for _, t := range n.Types {
		list = append(append(list, t.Message), carriedBy(t.Node, seen)...)
	}
	return list
}

// thinner copies top-level declarations, each with what it refers to, into files of the same names.
type thinner struct {
	files map[string]*descriptorpb.FileDescriptorProto
	needs map[string]map[string]bool
	seen  map[protoreflect.FullName]bool
	// linked are the new files, and those that stay as they are.
	linked *protoregistry.Files
}

// link links a file after what it imports. No file imports itself, at any remove, since none did before.
func (t *thinner) link(path string) error {
	if _, err := t.linked.FindFileByPath(path); err == nil {
		return nil
	}
	file := t.files[path]
	file.Dependency = slices.Sorted(maps.Keys(t.needs[path]))
	for _, imported := range file.Dependency {
		if err := t.link(imported); err != nil {
			return err
		}
	}
	fd, err := protodesc.NewFile(file, t.linked)
	if err != nil {
		return err
	}
	return t.linked.RegisterFile(fd)
}

// asItIs reports the files of the well-known types. They are small, and a predefined rule may hold one of their types,
// which CEL takes for equal to a value of the very same type alone.
func asItIs(file protoreflect.FileDescriptor) bool {
	return strings.HasPrefix(file.Path(), "google/protobuf/") && file.Imports().Len() == 0
}

func (t *thinner) refer(from protoreflect.FileDescriptor, to protoreflect.Descriptor) {
	for _, whole := to.Parent().(protoreflect.FileDescriptor); !whole; _, whole = to.Parent().(protoreflect.FileDescriptor) {
		to = to.Parent()
	}
	if there := to.ParentFile(); there.Path() != from.Path() {
		t.file(from)
		t.needs[from.Path()][there.Path()] = true
	}
	if file := to.ParentFile(); asItIs(file) {
		if _, err := t.linked.FindFileByPath(file.Path()); err != nil {
			_ = t.linked.RegisterFile(file) // fails only for what another file declares, too
		}
		return
	}
	switch d := to.(type) {
	case protoreflect.MessageDescriptor:
		t.message(d)
	case protoreflect.EnumDescriptor:
		if !t.seen[d.FullName()] {
			t.seen[d.FullName()] = true
			file := t.file(d.ParentFile())
			file.EnumType = append(file.EnumType, protodesc.ToEnumDescriptorProto(d))
		}
	}
}

// message copies a top-level message with all that is nested in it but extensions, which may extend anything.
func (t *thinner) message(md protoreflect.MessageDescriptor) {
	if t.seen[md.FullName()] {
		return
	}
	t.seen[md.FullName()] = true
	file := t.file(md.ParentFile())
	m := protodesc.ToDescriptorProto(md)
	withoutExtensions(m)
	withoutWrappedRules(m, md)
	file.MessageType = append(file.MessageType, m)
	t.fields(md)
}

func (t *thinner) fields(md protoreflect.MessageDescriptor) {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if fd.Message() != nil {
			t.refer(md.ParentFile(), fd.Message())
		}
		if fd.Enum() != nil {
			t.refer(md.ParentFile(), fd.Enum())
		}
	}
	for i := range md.Messages().Len() {
		t.fields(md.Messages().Get(i))
	}
}

func withoutExtensions(m *descriptorpb.DescriptorProto) {
	m.Extension = nil
	for _, nested := range m.GetNestedType() {
		withoutExtensions(nested)
	}
}

// withoutWrappedRules takes the standard rules of a number or text off wrappers that are items of a list or values of a map.
// protovalidate 1.4.0 does not look into the wrapper there: it panics over a number, and measures the text by which the
// message prints itself. The gate judges what of them is a keyword; the rest is the service's to judge.
func withoutWrappedRules(m *descriptorpb.DescriptorProto, md protoreflect.MessageDescriptor) {
	for i, field := range m.GetField() {
		fd := md.Fields().Get(i)
		inner := fd.Message()
		if fd.IsMap() {
			inner = fd.MapValue().Message()
		}
		if inner == nil || !fd.IsMap() && !fd.IsList() || !schema.IsWrapper(inner) {
			continue
		}
		ruled, ok := proto.GetExtension(field.GetOptions(), validate.E_Field).(*validate.FieldRules)
		if !ok || ruled == nil {
			continue
		}
		ruled = proto.CloneOf(ruled)
		withoutStandardRules(ruled.GetRepeated().GetItems())
		withoutStandardRules(ruled.GetMap().GetValues())
		proto.SetExtension(field.Options, validate.E_Field, ruled)
	}
	for i, nested := range m.GetNestedType() {
		withoutWrappedRules(nested, md.Messages().Get(i))
	}
}

// withoutStandardRules leaves CEL rules and predefined ones, which are extensions.
func withoutStandardRules(ruled *validate.FieldRules) {
	m := ruled.ProtoReflect()
	typed := m.WhichOneof(m.Descriptor().Oneofs().ByName("type"))
	if typed == nil {
		return
	}
	standard := typed.Message().Fields()
	for i := range standard.Len() {
		m.Get(typed).Message().Clear(standard.Get(i))
	}
}

// file returns the copy of a file, as yet without imports.
func (t *thinner) file(source protoreflect.FileDescriptor) *descriptorpb.FileDescriptorProto {
	if file := t.files[source.Path()]; file != nil {
		return file
	}
	file := &descriptorpb.FileDescriptorProto{Name: proto.String(source.Path())}
	if source.Package() != "" {
		file.Package = proto.String(string(source.Package()))
	}
	if options, ok := source.Options().(*descriptorpb.FileOptions); ok {
		file.Options = options
	}
	switch edition, ok := source.(interface{ Edition() int32 }); {
	case source.Syntax() == protoreflect.Editions && ok:
		file.Syntax, file.Edition = proto.String("editions"), descriptorpb.Edition(edition.Edition()).Enum()
	case source.Syntax() == protoreflect.Proto3:
		file.Syntax = proto.String("proto3")
	}
	t.files[source.Path()], t.needs[source.Path()] = file, map[string]bool{}
	return file
}
