package dialect_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/sallyport-dev/sallyport/comments"
	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	projectsv1 "github.com/sallyport-dev/sallyport/gen/acme/projects/v1"
	conformancev1 "github.com/sallyport-dev/sallyport/gen/sallyport/conformance/v1"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect/dialecttest"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// both checks a message as a request and as a response, under every profile.
func both(t *testing.T, c *dialecttest.Checker, in, out protoreflect.MessageDescriptor) {
	t.Helper()
	for _, id := range schema.BuiltinIDs() {
		profile, _ := schema.Builtin(id)
		doc, _, err := schema.Input(in, profile)
		if err != nil {
			t.Fatal(err)
		}
		c.Check(t, string(in.FullName())+" by "+id, doc, true)
		doc, _, err = schema.Output(out, profile)
		if err != nil {
			t.Fatal(err)
		}
		if doc != nil { // of an empty response there is none
			c.Check(t, "results of "+string(out.FullName())+" by "+id, doc, false)
		}
	}
}

// TestDialects_wholeSet holds every method of the repository's services and every fixture, and that each dialect changes
// something of them.
func TestDialects_wholeSet(t *testing.T) {
	c := &dialecttest.Checker{}
	fixtures(t, c)
	services(t, c)
	c.Distinct(t)
	t.Log(c)
}

// fixtures are every row of boundary.md's table, and every request that is no plain message.
func fixtures(t *testing.T, c *dialecttest.Checker) {
	for _, row := range schematest.Fixtures {
		t.Run(row.Name, func(t *testing.T) {
			files := schematest.Files(t, map[string]string{"t/v1/t.proto": schematest.WithHead(row.Proto)})
			md := schematest.Find(t, files, "t.v1.M")
			both(t, c, md, md)
		})
	}
	for _, name := range schematest.RequestTypes {
		t.Run("request "+name, func(t *testing.T) {
			files := schematest.Files(t, map[string]string{"t/v1/t.proto": schematest.Head})
			md := schematest.Find(t, files, "google.protobuf."+name)
			both(t, c, md, md)
		})
	}
}

// services are every method of the services that the repository has.
func services(t *testing.T, c *dialecttest.Checker) {
	set := comments.Collect(
		ordersv1.File_acme_orders_v1_order_service_proto, projectsv1.File_acme_projects_v1_project_service_proto,
		projectsv1.File_acme_projects_v1_environment_service_proto, conformancev1.File_sallyport_conformance_v1_conformance_proto)
	wire, err := proto.Marshal(set) // as it travels
	if err != nil {
		t.Fatal(err)
	}
	travelled := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(wire, travelled); err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(travelled)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []protoreflect.FullName{
		"acme.orders.v1.OrderService", "acme.projects.v1.ProjectService", "acme.projects.v1.EnvironmentService",
	} {
		if _, err := files.FindDescriptorByName(name); err != nil {
			t.Error(err)
		}
	}
	found := 0
	files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		for i := range fd.Services().Len() {
			found++
			methods := fd.Services().Get(i).Methods()
			for j := range methods.Len() {
				both(t, c, methods.Get(j).Input(), methods.Get(j).Output())
			}
		}
		return true
	})
	if found < 4 {
		t.Errorf("%d services", found)
	}
}

// TestDialects_nameTypesAsTheirAuthorsDo: a type that a waived rule gives a second form has one name in words.
func TestDialects_nameTypesAsTheirAuthorsDo(t *testing.T) {
	md := schematest.Message(t, `message M { M a = 1 [(buf.validate.field).ignore = IGNORE_ALWAYS]; string b = 2 [(buf.validate.field).string.min_len = 2]; }`)
	doc, _, err := schema.Input(md, schema.Profile{})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(doc.JSON()); !strings.Contains(text, `"t.v1.M-unruled"`) {
		t.Fatalf("no second form: %s", text)
	}
	for _, d := range dialect.All() {
		text := string(d.Input(doc).JSON())
		if strings.Contains(text, "structure of M-unruled") || strings.Contains(text, `"title":"M-unruled"`) {
			t.Errorf("%s: %s", d, text)
		}
	}
}
