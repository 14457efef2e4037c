// Package vendors_test gives the documents of every dialect to the code with which the vendors' own SDKs accept and
// transform the schemas of tools (judge.mjs, with pinned versions): none refuses one, and none would remove or move
// anything of one, but for what exceptions_test.go lists with its reason.
package vendors_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	projectsv1 "github.com/sallyport-dev/sallyport/gen/acme/projects/v1"
	conformancev1 "github.com/sallyport-dev/sallyport/gen/sallyport/conformance/v1"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/test/stack"
)

// judged is one document of one dialect.
type judged struct {
	Dialect string          `json:"dialect"`
	Name    string          `json:"name"`
	Schema  json.RawMessage `json:"schema"`
}

// verdict is what one judge says of one document.
type verdict struct {
	Judge, Dialect, Name, Error string
	Schema                      any
}

// judges are the names of all judges.
var judges = []string{
	"ajv", "openai", "@openai/agents-core", "@ai-sdk/openai", "@ai-sdk/openai chat", "@anthropic-ai/sdk",
	"@ai-sdk/anthropic", "@google/genai parameters", "@ai-sdk/google", "@ai-sdk/amazon-bedrock",
	"@ai-sdk/amazon-bedrock nova",
}

// TestVendors_acceptEveryDialect runs all judges once over all documents.
func TestVendors_acceptEveryDialect(t *testing.T) {
	node := stack.PinnedNode(t, "test/dialects/vendors")
	documents := everyDocument(t)
	ours := map[string]any{}
	for _, d := range documents {
		var s any
		if err := json.Unmarshal(d.Schema, &s); err != nil {
			t.Fatal(err)
		}
		ours[d.Dialect+" "+d.Name] = s
		if d.Dialect != dialect.Gemini.String() { // whose references are not those of JSON Schema
			schematest.Validator(t, d.Schema) // santhosh-tekuri/jsonschema compiles it
		}
	}
	verdicts := run(t, node, documents)
	seen, needed := map[string]int{}, map[string]int{}
	for _, v := range verdicts {
		seen[v.Judge]++
		was := ours[v.Dialect+" "+v.Name]
		if v.Error != "" {
			if d := (difference{keyword: refusal, ours: was, theirs: v.Error}); !d.excused(v.Judge, needed) {
				t.Errorf("%s refuses %s in %s: %s", v.Judge, v.Name, v.Dialect, v.Error)
			}
			continue
		}
		for _, d := range differences("", was, v.Schema) {
			if !d.excused(v.Judge, needed) {
				t.Errorf("%s changes %s in %s: %s", v.Judge, v.Name, v.Dialect, d)
			}
		}
	}
	for _, judge := range judges {
		if seen[judge] < 100 {
			t.Errorf("%s judged %d documents", judge, seen[judge])
		}
	}
	for _, e := range exceptions {
		if needed[e.String()] == 0 {
			t.Errorf("nothing needs the exception %s", e)
		}
	}
	t.Logf("%d documents, judged %v; exceptions needed: %v", len(documents), seen, needed)
}

// run gives the documents to the judges.
func run(t *testing.T, node string, documents []judged) (verdicts []verdict) {
	t.Helper()
	in, out := filepath.Join(t.TempDir(), "documents.json"), filepath.Join(t.TempDir(), "verdicts.json")
	text, err := json.Marshal(documents)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), node, "judge.mjs", in, out).CombinedOutput(); err != nil {
		t.Fatalf("judge.mjs: %v\n%s", err, said)
	}
	text, err = os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &verdicts); err != nil {
		t.Fatal(err)
	}
	return verdicts
}

// everyDocument spells the requests of the services, the fixtures and a sample of the corpora.
func everyDocument(t *testing.T) (list []judged) {
	t.Helper()
	add := func(name string, md protoreflect.MessageDescriptor, id string) {
		profile, _ := schema.Builtin(id)
		doc, _, err := schema.Input(md, profile)
		if err != nil {
			return // not published at all; the tests of the corpora count these
		}
		for _, d := range dialect.All() {
			list = append(list, judged{d.String(), name + " by " + id, d.Input(doc).JSON()})
		}
	}
	for _, fd := range []protoreflect.FileDescriptor{
		ordersv1.File_acme_orders_v1_order_service_proto, projectsv1.File_acme_projects_v1_project_service_proto,
		projectsv1.File_acme_projects_v1_environment_service_proto, conformancev1.File_sallyport_conformance_v1_conformance_proto,
	} {
		for i := range fd.Services().Len() {
			for j := range fd.Services().Get(i).Methods().Len() {
				method := fd.Services().Get(i).Methods().Get(j)
				add(string(method.FullName()), method.Input(), schema.BuiltinIDs()[0])
			}
		}
	}
	ids := schema.BuiltinIDs()
	for i, row := range schematest.Fixtures {
		files := schematest.Files(t, map[string]string{"t/v1/t.proto": schematest.WithHead(row.Proto)})
		add(row.Name, schematest.Find(t, files, "t.v1.M"), ids[0])
		add(row.Name, schematest.Find(t, files, "t.v1.M"), ids[1+i%(len(ids)-1)])
	}
	for _, name := range schematest.RequestTypes {
		files := schematest.Files(t, map[string]string{"t/v1/t.proto": schematest.Head})
		add("request "+name, schematest.Find(t, files, "google.protobuf."+name), schema.BuiltinIDs()[0])
	}
	for i, method := range sample(t) {
		add(string(method.FullName()), method.Input(), schema.BuiltinIDs()[i%len(schema.BuiltinIDs())])
	}
	return list
}

// sample takes every hundredth unary RPC of the corpora, and the first of each.
func sample(t *testing.T) (list []protoreflect.MethodDescriptor) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "..", "corpora", "testdata", "*.binpb.gz"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpora: %v", err)
	}
	for _, path := range paths {
		files, err := protodesc.NewFiles(read(t, path))
		if err != nil {
			continue // etcd's files name their imports otherwise than themselves
		}
		var methods []protoreflect.MethodDescriptor
		files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
			for i := range fd.Services().Len() {
				for j := range fd.Services().Get(i).Methods().Len() {
					methods = append(methods, fd.Services().Get(i).Methods().Get(j))
				}
			}
			return true
		})
		slices.SortFunc(methods, func(a, b protoreflect.MethodDescriptor) int {
			return strings.Compare(string(a.FullName()), string(b.FullName()))
		})
		for i := 0; i < len(methods); i += 100 {
			list = append(list, methods[i])
		}
	}
	return list
}

func read(t *testing.T, path string) *descriptorpb.FileDescriptorSet {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(raw, set); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", path, err))
	}
	return set
}
