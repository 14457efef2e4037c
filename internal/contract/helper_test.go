package contract_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/types/descriptorpb"

	_ "github.com/sallyport-dev/sallyport/gen/sallyport/crud/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/contract/contracttest"
)

// header begins every test file; the messages are there for services that care for none of their own.
const header = `
syntax = "proto3";
package acme;
import "sallyport/tool/v1/options.proto";
import "sallyport/tool/v1/content.proto";
message Req { string id = 1; }
message Res { string id = 1; }
`

// compileSet compiles proto texts by path.
func compileSet(t testing.TB, files map[string]string) *descriptorpb.FileDescriptorSet {
	t.Helper()
	return contracttest.Set(t, files)
}

// source is one file `test.proto` of the header and the text, whose services are all compiled.
func source(t testing.TB, text string, overlays ...*registryv1.Overlay) contract.Source {
	t.Helper()
	set := compileSet(t, map[string]string{"test.proto": header + text})
	file := set.File[len(set.File)-1]
	s := contract.Source{Files: set, Overlays: overlays}
	for _, svc := range file.GetService() {
		s.Services = append(s.Services, file.GetPackage()+"."+svc.GetName())
	}
	return s
}

func compile(t testing.TB, s contract.Source) *contract.Contract {
	t.Helper()
	c, err := contract.Compile(s)
	if err != nil {
		t.Fatalf("compile: %v", err)
	}
	return c
}

// conflicts gives what stands in the way, and fails where nothing does.
func conflicts(t testing.TB, s contract.Source) []contract.Conflict {
	t.Helper()
	c, err := contract.Compile(s)
	var conflict *contract.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("compiled to %+v (error %v), want conflicts", c, err)
	}
	return conflict.Conflicts
}

// tools are the tools of a contract by function.
func tools(c *contract.Contract) map[string]*contract.Tool {
	out := map[string]*contract.Tool{}
	for _, s := range c.Services {
		for _, t := range s.Tools {
			out[t.Function()] = t
		}
	}
	return out
}

// one compiles the text and gives the one tool of it.
func one(t testing.TB, text string, overlays ...*registryv1.Overlay) *contract.Tool {
	t.Helper()
	all := tools(compile(t, source(t, text, overlays...)))
	if len(all) != 1 {
		t.Fatalf("%d tools, want 1", len(all))
	}
	for _, tool := range all {
		return tool
	}
	return nil
}
