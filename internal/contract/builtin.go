package contract

import (
	"fmt"
	"sync"

	"google.golang.org/protobuf/reflect/protodesc"
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
	set := comments.Collect(crudv1.File_sallyport_crud_v1_crud_proto)
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("link the built-in base: %w", err)
	}
	return &builtin{set: set, files: files}, nil
})

// IsBuiltin reports whether the file of that path is built into every plugin, registry and edge, so that no contract
// must carry it to be understood.
func IsBuiltin(path string) bool { return path == crudv1.File_sallyport_crud_v1_crud_proto.Path() }
