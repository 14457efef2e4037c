package schematest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/jhump/protoreflect/v2/protoprint"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"pgregory.net/rapid"
)

// RandomMessage draws the root of a contract: one or two files of proto2, proto3 or edition 2023 with up to six
// messages that refer to each other, themselves and the well-known types, with enums, options and rules; now and then
// a well-known type itself. Every message can be given by some finite document, unless its rules contradict each
// other; few do. The deriver may refuse what was drawn: the caller skips it. The same bits of rapid draw the same
// message.
func RandomMessage(t *rapid.T) protoreflect.MessageDescriptor {
	return randomContract.Draw(t, "contract").link()
}

// Source writes the .proto text of the file that declares a message, for the words of a failing test.
func Source(md protoreflect.MessageDescriptor) string {
	text, err := (&protoprint.Printer{}).PrintProtoToString(md.ParentFile())
	if err != nil {
		return fmt.Sprintf("%s (not printable: %v)", md.FullName(), err)
	}
	return text
}

// contract is what RandomMessage draws: plain data, so that rapid can compare and print it.
type contract struct {
	set  []byte // a FileDescriptorSet, what is imported before what imports it, without the well-known files
	root protoreflect.FullName
}

var randomContract = rapid.Custom(func(t *rapid.T) contract {
	if percent(t, 14) {
		return contract{root: protoreflect.FullName(pick(t, wellKnownTypes).name[1:])}
	}
	d := &draft{t: t}
	d.skeleton()
	for _, m := range d.messages {
		d.fields(m)
	}
	d.headers()
	set := &descriptorpb.FileDescriptorSet{}
	for i := len(d.files) - 1; i >= 0; i-- {
		set.File = append(set.File, d.files[i].finish())
	}
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	if err != nil {
		panic(err)
	}
	return contract{set: wire, root: protoreflect.FullName(d.messages[0].name[1:])}
})

// GoString is the .proto text, which rapid prints.
func (c contract) GoString() string {
	files, err := c.files()
	if err != nil {
		return err.Error()
	}
	var out strings.Builder
	fmt.Fprintf(&out, "root %s\n", c.root)
	files.RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(fd.Path(), "random") {
			return true
		}
		text, err := (&protoprint.Printer{}).PrintProtoToString(fd)
		fmt.Fprintf(&out, "// %s\n%s", fd.Path(), text)
		if err != nil {
			fmt.Fprintf(&out, "// not printable: %v\n", err)
		}
		return true
	})
	return out.String()
}

// link returns the root. That it cannot is a mistake of this package.
func (c contract) link() protoreflect.MessageDescriptor {
	files, err := c.files()
	if err != nil {
		panic(fmt.Sprintf("the drawn contract is no contract: %v", err))
	}
	desc, err := files.FindDescriptorByName(c.root)
	if err != nil {
		panic(fmt.Sprintf("the drawn contract has no root: %v", err))
	}
	return desc.(protoreflect.MessageDescriptor)
}

// files links the drawn files. What they import is linked once for all, since it is larger than they are.
func (c contract) files() (*protoregistry.Files, error) {
	files := new(protoregistry.Files)
	wellKnownFiles().RangeFiles(func(fd protoreflect.FileDescriptor) bool {
		return files.RegisterFile(fd) == nil
	})
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(c.set, set); err != nil {
		return nil, err
	}
	for _, file := range set.GetFile() {
		fd, err := protodesc.NewFile(file, files)
		if err != nil {
			return nil, err
		}
		if err := files.RegisterFile(fd); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// wellKnownFiles are what drawn files may import, linked like the files of a contract and not the generated ones.
var wellKnownFiles = sync.OnceValue(func() *protoregistry.Files {
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(path string)
	add = func(path string) {
		if seen[path] {
			return
		}
		seen[path] = true
		fd, err := protoregistry.GlobalFiles.FindFileByPath(path)
		if err != nil {
			panic(err)
		}
		for i := range fd.Imports().Len() {
			add(fd.Imports().Get(i).Path())
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(fd))
	}
	add(rulesPath)
	add(behaviorPath)
	add(optionsPath)
	for _, wkt := range wellKnownTypes {
		add(wkt.path)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		panic(err)
	}
	return files
})

const (
	rulesPath    = "buf/validate/validate.proto"
	behaviorPath = "google/api/field_behavior.proto"
	optionsPath  = "sallyport/tool/v1/options.proto"
)

// wellKnown is a well-known message type; its name begins with a dot, as references do.
type wellKnown struct{ name, path string }

var wellKnownTypes = []wellKnown{
	{".google.protobuf.Timestamp", "google/protobuf/timestamp.proto"},
	{".google.protobuf.Duration", "google/protobuf/duration.proto"},
	{".google.protobuf.FieldMask", "google/protobuf/field_mask.proto"},
	{".google.protobuf.Struct", "google/protobuf/struct.proto"},
	{".google.protobuf.Value", "google/protobuf/struct.proto"},
	{".google.protobuf.ListValue", "google/protobuf/struct.proto"},
	{".google.protobuf.Any", "google/protobuf/any.proto"},
	{".google.protobuf.Empty", "google/protobuf/empty.proto"},
	{".google.protobuf.DoubleValue", "google/protobuf/wrappers.proto"},
	{".google.protobuf.FloatValue", "google/protobuf/wrappers.proto"},
	{".google.protobuf.Int64Value", "google/protobuf/wrappers.proto"},
	{".google.protobuf.UInt64Value", "google/protobuf/wrappers.proto"},
	{".google.protobuf.Int32Value", "google/protobuf/wrappers.proto"},
	{".google.protobuf.UInt32Value", "google/protobuf/wrappers.proto"},
	{".google.protobuf.BoolValue", "google/protobuf/wrappers.proto"},
	{".google.protobuf.StringValue", "google/protobuf/wrappers.proto"},
	{".google.protobuf.BytesValue", "google/protobuf/wrappers.proto"},
}

// percent is true in about that many of a hundred draws, and false in the simplest one.
func percent(t *rapid.T, n int) bool { return rapid.IntRange(0, 99).Draw(t, "percent") >= 100-n }

// pick draws one element; the first is the simplest.
func pick[T any](t *rapid.T, list []T) T {
	return list[rapid.IntRange(0, len(list)-1).Draw(t, "pick")]
}

// between draws an integer; the lowest is the simplest.
func between(t *rapid.T, low, high int) int { return rapid.IntRange(low, high).Draw(t, "between") }
