// Package schematest makes what tests of schema, gate and transcoder work on. It compiles .proto text into
// descriptors, built from a FileDescriptorSet like a registered contract's, with comments and resolved options; it
// draws random contracts, documents that a schema accepts, documents near those, and messages that a service may
// answer with; and it compiles schemas with a validator that nobody here wrote.
//
// In come text, descriptors, schema nodes and the bits of rapid; out come descriptors, JSON texts and messages, the
// same ones for the same bits. It must not know how gate and transcoder do what they do.
package schematest

import (
	"context"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	// What test protos may import.
	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	_ "google.golang.org/genproto/googleapis/api/annotations"
	_ "google.golang.org/protobuf/types/known/anypb"
	_ "google.golang.org/protobuf/types/known/durationpb"
	_ "google.golang.org/protobuf/types/known/emptypb"
	_ "google.golang.org/protobuf/types/known/fieldmaskpb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/timestamppb"
	_ "google.golang.org/protobuf/types/known/wrapperspb"

	_ "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// Head is what Message puts before the text of a proto3 file: package t.v1 and every import a test may need.
const Head = `syntax = "proto3"; package t.v1;
` + imports

// Head2 is Head for proto2.
const Head2 = `syntax = "proto2"; package t.v1;
` + imports

// Head2023 is Head for editions.
const Head2023 = `edition = "2023"; package t.v1;
` + imports

const imports = `
import "buf/validate/validate.proto";
import "google/api/field_behavior.proto";
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/empty.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "sallyport/tool/v1/content.proto";
import "sallyport/tool/v1/options.proto";
`

// Files compiles .proto texts, keyed by their path.
func Files(t testing.TB, texts map[string]string) *protoregistry.Files {
	t.Helper()
	compiler := protocompile.Compiler{
		SourceInfoMode: protocompile.SourceInfoStandard,
		Resolver: protocompile.CompositeResolver{
			&protocompile.SourceResolver{Accessor: protocompile.SourceAccessorFromMap(texts)},
			protocompile.ResolverFunc(func(path string) (protocompile.SearchResult, error) {
				fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
				if err != nil {
					return protocompile.SearchResult{}, err
				}
				return protocompile.SearchResult{Proto: protodesc.ToFileDescriptorProto(fd)}, nil
			}),
		},
	}
	var paths []string
	for path := range texts {
		paths = append(paths, path)
	}
	compiled, err := compiler.Compile(context.Background(), paths...)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(fd protoreflect.FileDescriptor)
	add = func(fd protoreflect.FileDescriptor) {
		if seen[fd.Path()] {
			return
		}
		seen[fd.Path()] = true
		for i := range fd.Imports().Len() {
			add(fd.Imports().Get(i).FileDescriptor)
		}
		if result, ok := fd.(linker.Result); ok && texts[fd.Path()] != "" {
			set.File = append(set.File, result.FileDescriptorProto())
			return
		}
		linked, err := protoregistry.GlobalFiles.FindFileByPath(fd.Path())
		if err != nil {
			t.Fatalf("find %s: %v", fd.Path(), err)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(linked))
	}
	for _, file := range compiled {
		add(file)
	}
	// Once over the wire, as a contract travels: options become the linked extension types.
	wire, err := proto.Marshal(set)
	if err != nil {
		t.Fatalf("marshal: %v", err)
	}
	travelled := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(wire, travelled); err != nil {
		t.Fatalf("unmarshal: %v", err)
	}
	files, err := protodesc.NewFiles(travelled)
	if err != nil {
		t.Fatalf("link: %v", err)
	}
	return files
}

// Find returns a message of compiled files by its full name.
func Find(t testing.TB, files *protoregistry.Files, name string) protoreflect.MessageDescriptor {
	t.Helper()
	desc, err := files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		t.Fatalf("find %s: %v", name, err)
	}
	md, ok := desc.(protoreflect.MessageDescriptor)
	if !ok {
		t.Fatalf("%s is no message", name)
	}
	return md
}

// Message compiles one file of the given text, with Head before it unless it names its own syntax, and returns its
// message t.v1.M.
func Message(t testing.TB, text string) protoreflect.MessageDescriptor {
	t.Helper()
	return Find(t, Files(t, map[string]string{"t/v1/t.proto": WithHead(text)}), "t.v1.M")
}

// WithHead is the text with Head before it, unless it names its own syntax.
func WithHead(text string) string {
	for _, prefix := range []string{"syntax", "edition"} {
		if len(text) > len(prefix) && text[:len(prefix)] == prefix {
			return text
		}
	}
	return Head + text
}
