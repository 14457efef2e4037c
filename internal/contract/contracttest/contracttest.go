// Package contracttest compiles proto text into file sets as `buf build` makes them, for tests of whatever reads
// contracts.
package contracttest

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// Set compiles proto texts, keyed by their paths, into a set with source info, each file after what it imports. Imports
// that have no text are those linked into the test. Options are resolved against the linked types.
func Set(t testing.TB, texts map[string]string) *descriptorpb.FileDescriptorSet {
	t.Helper()
	compiler := protocompile.Compiler{
		Resolver: protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
			if text, ok := texts[path]; ok {
				return protocompile.SearchResult{Source: strings.NewReader(text)}, nil
			}
			fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
			if err != nil {
				return protocompile.SearchResult{}, err
			}
			return protocompile.SearchResult{Desc: fd}, nil
		}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	compiled, err := compiler.Compile(context.Background(), slices.Sorted(maps.Keys(texts))...)
	if err != nil {
		t.Fatalf("compile the test's proto text: %v", err)
	}
	files := make([]protoreflect.FileDescriptor, len(compiled))
	for i, fd := range compiled {
		files[i] = fd
	}
	// Over the wire, as contracts travel.
	raw, err := proto.Marshal(schematest.FileSet(files...))
	if err != nil {
		t.Fatal(err)
	}
	travelled := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(raw, travelled); err != nil {
		t.Fatal(err)
	}
	return travelled
}
