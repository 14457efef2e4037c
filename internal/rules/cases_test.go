package rules_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	// What the suite's files import beyond the usual.
	_ "google.golang.org/protobuf/types/known/apipb"
	_ "google.golang.org/protobuf/types/known/emptypb"
	_ "google.golang.org/protobuf/types/known/fieldmaskpb"
	_ "google.golang.org/protobuf/types/known/sourcecontextpb"
	_ "google.golang.org/protobuf/types/known/structpb"
	_ "google.golang.org/protobuf/types/known/typepb"
)

// conformanceFiles are the protos of protovalidate's own conformance suite and of its Go module's tests. The module
// has them as generated code in internal packages, which nobody else can import; their descriptors are read from its
// sources, so that they are always those of the version that is linked. The module is under the Apache License 2.0.
func conformanceFiles(t testing.TB) *protoregistry.Files {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "buf.build/go/protovalidate").Output()
	if err != nil {
		t.Fatalf("find the module: %v", err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	known := map[string]bool{}
	root := filepath.Join(strings.TrimSpace(string(dir)), "internal", "gen")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".pb.go") || strings.HasSuffix(path, "_protoopaque.pb.go") || strings.Contains(path, "harness") {
			return err
		}
		file := &descriptorpb.FileDescriptorProto{}
		if err := proto.Unmarshal(rawDescriptor(t, path), file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if slices.Contains(file.GetDependency(), "gofakeit/gofakeit.proto") {
			return nil // two files for benchmarks, with options of a module that is not linked here
		}
		set.File = append(set.File, file)
		known[file.GetName()] = true
		return nil
	})
	if err != nil {
		t.Fatalf("read the module: %v", err)
	}
	if len(set.File) < 40 {
		t.Fatalf("found %d files in %s", len(set.File), root)
	}
	// What they import is linked here.
	for i := 0; i < len(set.File); i++ {
		for _, path := range set.File[i].GetDependency() {
			if known[path] {
				continue
			}
			known[path] = true
			linked, err := protoregistry.GlobalFiles.FindFileByPath(path)
			if err != nil {
				t.Fatalf("%s imports %s: %v", set.File[i].GetName(), path, err)
			}
			set.File = append(set.File, protodesc.ToFileDescriptorProto(linked))
		}
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatalf("link: %v", err)
	}
	return files
}

// rawDescriptor is the constant in a generated file that holds its serialised descriptor.
func rawDescriptor(t testing.TB, path string) []byte {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		general, ok := decl.(*ast.GenDecl)
		if !ok || general.Tok != token.CONST {
			continue
		}
		for _, spec := range general.Specs {
			value := spec.(*ast.ValueSpec)
			if !strings.HasSuffix(value.Names[0].Name, "_rawDesc") {
				continue
			}
			var out []byte
			ast.Inspect(value.Values[0], func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok {
					text, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatalf("%s: %v", path, err)
					}
					out = append(out, text...)
				}
				return true
			})
			return out
		}
	}
	t.Fatalf("%s holds no descriptor", path)
	return nil
}

// messagesOf lists the messages of the files that are the suite's, by full name.
func messagesOf(files *protoregistry.Files) (list []protoreflect.MessageDescriptor) {
	var collect func(protoreflect.MessageDescriptors)
	collect = func(mds protoreflect.MessageDescriptors) {
		for i := range mds.Len() {
			if md := mds.Get(i); !md.IsMapEntry() {
				list = append(list, md)
				collect(md.Messages())
			}
		}
	}
	files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(fd.Path(), "buf/validate/conformance/") || strings.HasPrefix(fd.Path(), "tests/") {
			collect(fd.Messages())
		}
		return true
	})
	return list
}
