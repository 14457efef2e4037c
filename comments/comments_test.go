package comments_test

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/apipb"

	"github.com/sallyport-dev/sallyport/comments"
	crudv1 "github.com/sallyport-dev/sallyport/gen/sallyport/crud/v1"
)

func pack(t *testing.T, files ...*descriptorpb.FileDescriptorProto) string {
	t.Helper()
	raw, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: files})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func info(text string) *descriptorpb.SourceCodeInfo {
	return &descriptorpb.SourceCodeInfo{Location: []*descriptorpb.SourceCodeInfo_Location{
		{Path: []int32{4, 0}, Span: []int32{0, 0, 0}, LeadingComments: proto.String(text)},
	}}
}

func file(name string, dependencies ...string) *descriptorpb.FileDescriptorProto {
	return &descriptorpb.FileDescriptorProto{Name: proto.String(name), Syntax: proto.String("proto3"), Dependency: dependencies}
}

func names(set *descriptorpb.FileDescriptorSet) []string {
	var out []string
	for _, f := range set.GetFile() {
		out = append(out, f.GetName())
	}
	return out
}

func comment(f *descriptorpb.FileDescriptorProto) string {
	if len(f.GetSourceCodeInfo().GetLocation()) == 0 {
		return ""
	}
	return f.GetSourceCodeInfo().GetLocation()[0].GetLeadingComments()
}

func reduced(name, text string) *descriptorpb.FileDescriptorProto {
	return &descriptorpb.FileDescriptorProto{Name: proto.String(name), SourceCodeInfo: info(text)}
}

func TestAttach_givesFilesTheirComments(t *testing.T) {
	comments.Register("attach/a.proto", pack(t, reduced("attach/a.proto", "registered")))
	withOwn := file("attach/a.proto")
	withOwn.SourceCodeInfo = info("own")
	for _, row := range []struct {
		name string
		in   *descriptorpb.FileDescriptorProto
		want string
	}{
		{"a file without source info", file("attach/a.proto"), "registered"},
		{"a file that has its own", withOwn, "own"},
		{"a file that nobody registered", file("attach/b.proto"), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{row.in}}
			comments.Attach(set)
			if got := comment(set.File[0]); got != row.want || len(set.File) != 1 {
				t.Errorf("comment %q in %d files, want %q in one", got, len(set.File), row.want)
			}
		})
	}
}

func TestAttach_addsInheritedBasesAfterTheirImports(t *testing.T) {
	base := file("base/base.proto", "base/types.proto", "google/protobuf/api.proto")
	base.SourceCodeInfo = info("base")
	comments.Register("base/user.proto", pack(t, reduced("base/user.proto", "user"), base, file("base/types.proto")))
	set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file("base/user.proto")}}
	comments.Attach(set)
	got := names(set)
	for _, pair := range [][2]string{
		{"base/types.proto", "base/base.proto"},
		{"google/protobuf/api.proto", "base/base.proto"},
		{"google/protobuf/type.proto", "google/protobuf/api.proto"},
	} {
		before, after := slices.Index(got, pair[0]), slices.Index(got, pair[1])
		if before < 0 || after < 0 || before > after {
			t.Errorf("files %q, want %s before %s", got, pair[0], pair[1])
		}
	}
	if _, err := protodesc.NewFiles(set); err != nil {
		t.Errorf("the set does not link: %v", err)
	}

	t.Run("a file of the set is never replaced", func(t *testing.T) {
		mine := file("base/base.proto")
		set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{mine, file("base/user.proto")}}
		comments.Attach(set)
		if set.File[0] != mine || slices.Index(names(set)[1:], "base/base.proto") >= 0 {
			t.Errorf("files %q", names(set))
		}
	})
	t.Run("bases of bases", func(t *testing.T) {
		comments.Register("far/user.proto", pack(t, reduced("far/user.proto", "user"), file("far/base.proto")))
		comments.Register("far/base.proto", pack(t, reduced("far/base.proto", "base"), file("far/further.proto")))
		set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file("far/user.proto")}}
		comments.Attach(set)
		if got := names(set); !slices.Equal(got, []string{"far/user.proto", "far/base.proto", "far/further.proto"}) {
			t.Errorf("files %q", got)
		}
		if got := comment(set.File[1]); got != "base" {
			t.Errorf("comment %q of the base", got)
		}
	})
}

func TestAttach_doesNotShareWhatItAttaches(t *testing.T) {
	comments.Register("share/a.proto", pack(t, reduced("share/a.proto", "registered")))
	attach := func() *descriptorpb.FileDescriptorProto {
		set := &descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file("share/a.proto")}}
		comments.Attach(set)
		return set.File[0]
	}
	attach().SourceCodeInfo.Location[0].LeadingComments = proto.String("changed")
	if got := comment(attach()); got != "registered" {
		t.Errorf("comment %q", got)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			comments.Register("share/a.proto", pack(t, reduced("share/a.proto", "registered")))
			attach()
		})
	}
	all.Wait()
}

func TestAttach_panicsOnDamagedGeneratedCode(t *testing.T) {
	for _, row := range []struct{ name, path, gz, want string }{
		{"not packed", "bad/a.proto", "nonsense", "unpack the comments of bad/a.proto"},
		{"another file's", "bad/b.proto", pack(t, reduced("bad/c.proto", "x")), "another file"},
		{"nothing in it", "bad/d.proto", pack(t), "another file"},
	} {
		t.Run(row.name, func(t *testing.T) {
			comments.Register(row.path, row.gz)
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, row.want) {
					t.Errorf("panics with %q, want %q", got, row.want)
				}
			}()
			comments.Attach(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{file(row.path)}})
		})
	}
}

func TestCollect_gathersImportsAndComments(t *testing.T) {
	set := comments.Collect(crudv1.File_sallyport_crud_v1_crud_proto, apipb.File_google_protobuf_api_proto)
	got := names(set)
	for _, want := range []string{"google/protobuf/descriptor.proto", "sallyport/tool/v1/options.proto", "sallyport/crud/v1/crud.proto", "google/protobuf/api.proto"} {
		if !slices.Contains(got, want) {
			t.Errorf("files %q, without %s", got, want)
		}
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		t.Fatal(err)
	}
	d, err := files.FindDescriptorByName("sallyport.crud.v1.CrudService.Get")
	if err != nil {
		t.Fatal(err)
	}
	if got := d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments; got != " Gets one resource by its id.\n" {
		t.Errorf("comment %q", got)
	}
}
