package contract

import (
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/sallyport-dev/sallyport/comments"
	crudv1 "github.com/sallyport-dev/sallyport/gen/sallyport/crud/v1"
)

// builtin is the conventional base, `sallyport.crud.v1`, as it is linked into this build, with its comments.
type builtin struct {
	set   *descriptorpb.FileDescriptorSet
	files *protoregistry.Files
}

var loadBuiltin = sync.OnceValues(func() (*builtin, error) {
	set := linkedSet(crudv1.File_sallyport_crud_v1_crud_proto)
	comments.Attach(set)
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("link the built-in base: %w", err)
	}
	return &builtin{set: set, files: files}, nil
})

// IsBuiltin reports whether the file of that path is built into every plugin, registry and edge, so that no contract
// must carry it to be understood.
func IsBuiltin(path string) bool { return path == crudv1.File_sallyport_crud_v1_crud_proto.Path() }

// linkedSet is a linked file and everything that it imports, dependencies first.
func linkedSet(fd protoreflect.FileDescriptor) *descriptorpb.FileDescriptorSet {
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(fd protoreflect.FileDescriptor) {
		if seen[fd.Path()] {
			return
		}
		seen[fd.Path()] = true
		for i := range fd.Imports().Len() {
			add(fd.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, proto.CloneOf(protodesc.ToFileDescriptorProto(fd)))
	}
	add(fd)
	return set
}
