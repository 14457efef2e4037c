package contract_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// normalized is what Normalize keeps, after checking that it links and that its digest is true.
func normalized(t testing.TB, set *descriptorpb.FileDescriptorSet, services ...string) (*descriptorpb.FileDescriptorSet, string) {
	t.Helper()
	raw, digest, err := contract.Normalize(set, services)
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(raw); hex.EncodeToString(sum[:]) != digest {
		t.Errorf("digest %s is not that of the bytes", digest)
	}
	out := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(raw, out); err != nil {
		t.Fatal(err)
	}
	if _, err := protodesc.NewFiles(out); err != nil {
		t.Fatalf("what is kept does not link: %v", err)
	}
	return out, digest
}

// declarations lists the top-level declarations of a set.
func declarations(set *descriptorpb.FileDescriptorSet) []string {
	var out []string
	for _, f := range set.GetFile() {
		for _, m := range f.GetMessageType() {
			out = append(out, f.GetPackage()+"."+m.GetName())
		}
		for _, e := range f.GetEnumType() {
			out = append(out, f.GetPackage()+"."+e.GetName())
		}
		for _, s := range f.GetService() {
			out = append(out, f.GetPackage()+"."+s.GetName())
		}
	}
	slices.Sort(out)
	return out
}

const normalizeText = `
syntax = "proto3";
package shop;
import "sallyport/tool/v1/options.proto";
import "lib.proto";
import public "unused.proto";

// An unrelated message, first in the file.
message Unrelated { lib.Far far = 1; }
// An unrelated enum.
enum UnrelatedEnum { ZERO = 0; }
// An unrelated service.
service UnrelatedService { rpc Do(Unrelated) returns (Unrelated); }

// A request.
message Req {
  // The id.
  string id = 1; // Behind the id.
  // Nested.
  message Nested {
    // Inside.
    lib.Near near = 1;
  }
  Nested nested = 2;
  Kind kind = 3;
}
// A kind.
enum Kind {
  // None.
  KIND_UNSPECIFIED = 0;
}
// A response.
message Res { map<string, lib.Near> by_name = 1; Res self = 2; }

// A base.
service Base {
  // Base comment.
  rpc Find(Req) returns (Res) { option (sallyport.tool.v1.tool_info) = {read_only_hint: true}; }
}

// The service.
service Shop {
  option (sallyport.tool.v1.service) = {inherits: "shop.Base"};
  // Finds.
  rpc Find(Req) returns (Res);
  // Deletes.
  rpc Delete(Req) returns (Res);
}
`

var normalizeFiles = map[string]string{
	"shop.proto":   normalizeText,
	"unused.proto": `syntax = "proto3"; package unused; message Nothing {}`,
	"lib.proto": `syntax = "proto3"; package lib;
// Far.
message Far {}
// Near.
message Near { Deep deep = 1; }
// Deep.
message Deep {}
`,
}

func TestNormalize_keepsWhatTheServicesReach(t *testing.T) {
	set := compileSet(t, normalizeFiles)
	before := proto.CloneOf(set)
	out, _ := normalized(t, set, "shop.Shop")
	if !proto.Equal(before, set) {
		t.Error("the set was modified")
	}
	want := []string{"lib.Deep", "lib.Near", "shop.Base", "shop.Kind", "shop.Req", "shop.Res", "shop.Shop"}
	if got := declarations(out); !slices.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}

	// Comments are where they belong, although what stood before them is gone.
	files, err := protodesc.NewFiles(out)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"shop.Req": " A request.\n", "shop.Req.id": " The id.\n", "shop.Req.Nested": " Nested.\n", "shop.Req.Nested.near": " Inside.\n",
		"shop.Kind": " A kind.\n", "shop.KIND_UNSPECIFIED": " None.\n", "shop.Res": " A response.\n", "shop.Shop": " The service.\n",
		"shop.Shop.Find": " Finds.\n", "shop.Shop.Delete": " Deletes.\n", "shop.Base.Find": " Base comment.\n", "lib.Near": " Near.\n", "lib.Deep": " Deep.\n",
	} {
		d, err := files.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments; got != want {
			t.Errorf("comment of %s is %q, want %q", name, got, want)
		}
	}
	id, _ := files.FindDescriptorByName("shop.Req.id")
	if got := id.ParentFile().SourceLocations().ByDescriptor(id).TrailingComments; got != " Behind the id.\n" {
		t.Errorf("trailing comment %q", got)
	}
}

func TestNormalize_isTheSameContract(t *testing.T) {
	set := compileSet(t, normalizeFiles)
	out, _ := normalized(t, set, "shop.Shop")
	before := tools(compile(t, contract.Source{Files: set, Services: []string{"shop.Shop"}, Zone: "app-api"}))
	after := tools(compile(t, contract.Source{Files: out, Services: []string{"shop.Shop"}, Zone: "app-api"}))
	if len(before) != 2 || len(after) != 2 {
		t.Fatalf("%d tools before, %d after", len(before), len(after))
	}
	for function, tool := range before {
		if want, got := tool.Definition("n"), after[function].Definition("n"); !bytes.Equal(got, want) {
			t.Errorf("%s was\n%s\nis\n%s", function, want, got)
		}
	}
}

func TestNormalize_isDeterministic(t *testing.T) {
	set := compileSet(t, normalizeFiles)
	out, digest := normalized(t, set, "shop.Shop")
	t.Run("again", func(t *testing.T) {
		if _, again := normalized(t, set, "shop.Shop"); again != digest {
			t.Error("another digest")
		}
	})
	t.Run("of its own result", func(t *testing.T) {
		if _, again := normalized(t, out, "shop.Shop"); again != digest {
			t.Error("another digest")
		}
	})
	t.Run("files in another order", func(t *testing.T) {
		other := proto.CloneOf(set)
		slices.Reverse(other.File)
		if _, again := normalized(t, other, "shop.Shop"); again != digest {
			t.Error("another digest")
		}
	})
	t.Run("lines moved and the unrelated changed", func(t *testing.T) {
		files := map[string]string{}
		for path, text := range normalizeFiles {
			files[path] = strings.ReplaceAll(text, "message Unrelated { lib.Far far = 1; }", "\n\n\nmessage More {}\nmessage Unrelated { More more = 1; }")
		}
		if _, again := normalized(t, compileSet(t, files), "shop.Shop"); again != digest {
			t.Error("another digest")
		}
	})
	t.Run("a comment changed", func(t *testing.T) {
		files := map[string]string{}
		for path, text := range normalizeFiles {
			files[path] = strings.ReplaceAll(text, "// Finds.", "// Seeks.")
		}
		if _, again := normalized(t, compileSet(t, files), "shop.Shop"); again == digest {
			t.Error("the same digest")
		}
	})
}

func TestNormalize_carriesTheBuiltinBase(t *testing.T) {
	s := source(t, `service S { option (sallyport.tool.v1.service) = {inherits: "sallyport.crud.v1.CrudService"}; rpc Get(Req) returns (Res); }`)
	out, digest := normalized(t, s.Files, "acme.S")
	if !slices.Contains(declarations(out), "sallyport.crud.v1.CrudService") {
		t.Errorf("kept %q, without the base", declarations(out))
	}
	if _, again := normalized(t, out, "acme.S"); again != digest {
		t.Error("normalizing again gives another digest")
	}
}

func TestNormalize_keepsWhatAnAnyMayHold(t *testing.T) {
	files := map[string]string{
		"payloads.proto": `syntax = "proto3"; package pay; message Payload { Part part = 1; } message Part {}`,
		"mine.proto": `syntax = "proto3"; package mine; import "google/protobuf/descriptor.proto"; import "payloads.proto";
message Mine {} extend google.protobuf.MethodOptions { Mine mine = 50001; }`,
		"types.proto": `syntax = "proto3"; package types; import "google/protobuf/any.proto"; import "payloads.proto"; import "mine.proto";
message Req { google.protobuf.Any body = 1; mine.Mine reached = 2; } message Res {}`,
		"svc.proto": `syntax = "proto3"; package svc; import "types.proto"; import "sallyport/tool/v1/options.proto";
service Svc { option (sallyport.tool.v1.service) = {}; rpc Send(types.Req) returns (types.Res); }`,
	}
	set := compileSet(t, files)
	out, digest := normalized(t, set, "svc.Svc")
	got := declarations(out)
	for _, want := range []string{"pay.Payload", "pay.Part", "types.Req", "svc.Svc", "google.protobuf.Any"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s was dropped", want)
		}
	}
	before := tools(compile(t, contract.Source{Files: set, Services: []string{"svc.Svc"}}))["svc.Svc/Send"]
	after := tools(compile(t, contract.Source{Files: out, Services: []string{"svc.Svc"}}))["svc.Svc/Send"]
	if !bytes.Equal(before.Definition("n"), after.Definition("n")) {
		t.Errorf("was\n%s\nis\n%s", before.Definition("n"), after.Definition("n"))
	}
	var types []string
	for _, md := range schema.ContractMessages(after.Descriptor.Input()) {
		types = append(types, string(md.FullName()))
	}
	if !slices.Contains(types, "pay.Payload") || slices.Contains(types, "mine.Mine") {
		t.Errorf("an Any may hold %q: want pay.Payload, and nothing of a file that defines options", types)
	}
	if _, again := normalized(t, out, "svc.Svc"); again != digest {
		t.Error("normalizing again gives another digest")
	}
}

func TestNormalize_dropsExtensionsWithinMessages(t *testing.T) {
	set := compileSet(t, map[string]string{"p2.proto": `syntax = "proto2"; package p2;
message Open { extensions 100 to 200; }
message Req {
  extend Open {
    // An extension's comment.
    optional string x = 100;
  }
  // A field's comment.
  optional string id = 1;
  optional group Part = 2 { optional int32 n = 1; }
}
service S { rpc Find(Req) returns (Req); }`})
	out, _ := normalized(t, set, "p2.S")
	if got := declarations(out); !slices.Equal(got, []string{"p2.Req", "p2.S"}) {
		t.Errorf("kept %q", got)
	}
	if n := len(out.File[0].GetSourceCodeInfo().GetLocation()); n != 1 {
		t.Errorf("%d comments, want that of the field alone", n)
	}
}

func TestNormalize_refuses(t *testing.T) {
	set := compileSet(t, normalizeFiles)
	if _, _, err := contract.Normalize(set, []string{"shop.Missing"}); err == nil || !strings.Contains(err.Error(), "shop.Missing") {
		t.Errorf("an unknown service: %v", err)
	}
	if _, _, err := contract.Normalize(&descriptorpb.FileDescriptorSet{File: set.File[:1]}, []string{"shop.Shop"}); err == nil {
		t.Error("a set without its imports is no error")
	}
}
