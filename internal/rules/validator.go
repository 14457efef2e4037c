package rules

import (
	"fmt"
	"runtime"
	"sync"
	"weak"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// shared is the validator of one file's messages. A validator costs about half a megabyte before it has seen a
// message, and keeps by descriptor what it has compiled for as long as it lives. So the documents of one file share
// one, and it goes when the last of them goes: a contract that is replaced takes along all that was compiled for it.
type shared struct {
	protovalidate.Validator

	// thin are the files by which documents are judged, by the document's message: compiled again, a document must not
	// leave other descriptors behind.
	mutex sync.Mutex
	thin  map[protoreflect.FullName]*protoregistry.Files
}

// files returns the files by which a document of the file is judged.
func (s *shared) files(doc *schema.Document) (*protoregistry.Files, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	name := doc.Message().FullName()
	if files := s.thin[name]; files != nil {
		return files, nil
	}
	files, err := thin(doc)
	if err == nil {
		s.thin[name] = files
	}
	return files, err
}

var (
	mutex sync.Mutex
	// byFile holds no validator alive. A file is dropped from it once its validator is gone.
	byFile = map[protoreflect.FileDescriptor]weak.Pointer[shared]{}
)

// validatorOf returns the validator for messages of a file and of what it imports.
func validatorOf(file protoreflect.FileDescriptor) (*shared, error) {
	mutex.Lock()
	defer mutex.Unlock()
	if v := byFile[file].Value(); v != nil {
		return v, nil
	}
	// Predefined rules are extensions, which are linked into no program: they come with the contract.
	extensions := &protoregistry.Types{}
	var failed error
	schema.Extensions(file, func(xd protoreflect.ExtensionDescriptor) bool {
		failed = extensions.RegisterExtension(dynamicpb.NewExtensionType(xd))
		return failed == nil
	})
	if failed != nil {
		return nil, fmt.Errorf("collect the extensions that %s imports: %w", file.Path(), failed)
	}
	validator, err := protovalidate.New(protovalidate.WithExtensionTypeResolver(extensions))
	if err != nil {
		return nil, fmt.Errorf("make a validator: %w", err)
	}
	v := &shared{Validator: validator, thin: map[protoreflect.FullName]*protoregistry.Files{}}
	byFile[file] = weak.Make(v)
	runtime.AddCleanup(v, forget, file)
	return v, nil
}

func forget(file protoreflect.FileDescriptor) {
	mutex.Lock()
	defer mutex.Unlock()
	if byFile[file].Value() == nil {
		delete(byFile, file)
	}
}
