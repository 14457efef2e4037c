// Command vendorproto writes third_party/proto from the descriptors that the pinned Go modules embed.
//
// The modules ship generated code but not the .proto text that buf needs. Their descriptors are complete but for the
// comments, and go.sum pins them; so the text that is printed from them is pinned too, and no schema registry is
// asked. CI runs the command again and compares.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	_ "buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	_ "github.com/grpc-ecosystem/grpc-gateway/v2/protoc-gen-openapiv2/options"
	"github.com/jhump/protoreflect/v2/protoprint"
	_ "google.golang.org/genproto/googleapis/api/annotations"
	_ "google.golang.org/genproto/googleapis/rpc/code"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	_ "google.golang.org/genproto/googleapis/rpc/status"
	_ "google.golang.org/genproto/googleapis/type/money"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// modules maps a path prefix of the files to the buf module that holds them.
var modules = []struct{ prefix, module string }{
	{"google/api/", "googleapis"},
	{"google/rpc/", "googleapis"},
	{"google/type/", "googleapis"},
	{"buf/validate/", "protovalidate"},
	{"protoc-gen-openapiv2/", "grpc-gateway"},
}

func main() {
	out := "third_party/proto"
	if len(os.Args) > 1 {
		out = os.Args[1]
	}
	if err := run(out); err != nil {
		fmt.Fprintln(os.Stderr, "vendorproto:", err)
		os.Exit(1)
	}
}

func run(out string) error {
	printer := protoprint.Printer{SortElements: false}
	var err error
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for _, m := range modules {
			if strings.HasPrefix(file.Path(), m.prefix) {
				err = write(&printer, file, filepath.Join(out, m.module, filepath.FromSlash(file.Path())))
				return err == nil
			}
		}
		return true
	})
	return err
}

func write(printer *protoprint.Printer, file protoreflect.FileDescriptor, path string) error {
	text, err := printer.PrintProtoToString(file)
	if err != nil {
		return fmt.Errorf("print %s: %w", file.Path(), err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
