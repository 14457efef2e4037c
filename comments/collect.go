package comments

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

// Collect gives linked files and every file that they need, each after what it imports, completed by [Attach]: what a
// program sends to say which services it has. The result is the caller's own.
//
// Some projects link a file under another path than the one by which it is imported. The import is then a placeholder,
// and the file is found where its types are.
func Collect(files ...protoreflect.FileDescriptor) *descriptorpb.FileDescriptorSet {
	c := &collector{set: &descriptorpb.FileDescriptorSet{}, seen: map[string]bool{}}
	for _, file := range files {
		c.add(file)
	}
	Attach(c.set)
	return c.set
}

type collector struct {
	set  *descriptorpb.FileDescriptorSet
	seen map[string]bool
}

func (c *collector) add(file protoreflect.FileDescriptor) {
	if file == nil || file.IsPlaceholder() || c.seen[file.Path()] {
		return
	}
	c.seen[file.Path()] = true
	whole := true
	for i := range file.Imports().Len() {
		imported := file.Imports().Get(i).FileDescriptor
		whole = whole && !imported.IsPlaceholder()
		c.add(imported)
	}
	if !whole {
		c.addReferences(file)
	}
	// A clone, since parts of what protodesc makes are the descriptor's own.
	c.set.File = append(c.set.File, proto.CloneOf(protodesc.ToFileDescriptorProto(file)))
}

func (c *collector) addReferences(file protoreflect.FileDescriptor) {
	var messages func(protoreflect.MessageDescriptors)
	messages = func(list protoreflect.MessageDescriptors) {
		for i := range list.Len() {
			for j := range list.Get(i).Fields().Len() {
				field := list.Get(i).Fields().Get(j)
				if md := field.Message(); md != nil && !md.IsPlaceholder() {
					c.add(md.ParentFile())
				}
				if ed := field.Enum(); ed != nil && !ed.IsPlaceholder() {
					c.add(ed.ParentFile())
				}
			}
			messages(list.Get(i).Messages())
		}
	}
	messages(file.Messages())
	for i := range file.Services().Len() {
		methods := file.Services().Get(i).Methods()
		for j := range methods.Len() {
			for _, md := range []protoreflect.MessageDescriptor{methods.Get(j).Input(), methods.Get(j).Output()} {
				if !md.IsPlaceholder() {
					c.add(md.ParentFile())
				}
			}
		}
	}
}
