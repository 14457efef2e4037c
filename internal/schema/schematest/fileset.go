package schematest

import (
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// FileSet gives files with all that they import, each after its imports, as a contract holds them. A file that was
// compiled keeps what the compiler made of it, source info included.
func FileSet(files ...protoreflect.FileDescriptor) *descriptorpb.FileDescriptorSet {
	set := new(descriptorpb.FileDescriptorSet)
	seen := make(map[string]bool)
	var add func(fd protoreflect.FileDescriptor)
	add = func(fd protoreflect.FileDescriptor) {
		if seen[fd.Path()] {
			return
		}
		seen[fd.Path()] = true
		for i := range fd.Imports().Len() {
			add(fd.Imports().Get(i).FileDescriptor)
		}
		if compiled, ok := fd.(interface {
			FileDescriptorProto() *descriptorpb.FileDescriptorProto
		}); ok {
			set.File = append(set.File, compiled.FileDescriptorProto())
			return
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(fd))
	}
	for _, fd := range files {
		add(fd)
	}
	return set
}

// WholeSet is FileSet of every file there is.
func WholeSet(files *protoregistry.Files) *descriptorpb.FileDescriptorSet {
	var all []protoreflect.FileDescriptor
	files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		all = append(all, fd)
		return true
	})
	return FileSet(all...)
}
