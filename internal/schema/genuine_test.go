package schema_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// TestForgedWellKnownTypes: a contract that brings files of its own under the names of the well-known types gets an
// error for each message that is not what its name says, in whatever place it stands, and never a crash.
func TestForgedWellKnownTypes(t *testing.T) {
	for _, name := range []string{
		"Any", "Empty", "Struct", "Value", "ListValue", "Timestamp", "Duration", "FieldMask", "StringValue", "Int64Value", "BytesValue",
	} {
		t.Run(name, func(t *testing.T) {
			for form, fields := range map[string][]*descriptorpb.FieldDescriptorProto{
				"no fields":     nil,
				"another field": {field("other", 7, descriptorpb.FieldDescriptorProto_TYPE_STRING.Enum(), "")},
				"another kind":  {field("value", 1, descriptorpb.FieldDescriptorProto_TYPE_BOOL.Enum(), "")},
			} {
				if form == "no fields" && name == "Empty" {
					continue // which is genuine
				}
				forged := forge(t, name, fields)
				p, _ := schema.Builtin("protojson")
				for _, md := range []protoreflect.MessageDescriptor{
					forged.Messages().ByName(protoreflect.Name(name)), forged.Messages().ByName("M"),
				} {
					_, _, in := schema.Input(md, p)
					_, _, out := schema.Output(md, p)
					for direction, err := range map[string]error{"input": in, "output": out} {
						if err == nil || !strings.Contains(err.Error(), "message google.protobuf."+name+": ") {
							t.Errorf("%s of %s with %s: %v", direction, md.FullName(), form, err)
						}
					}
				}
			}
		})
	}
}

func field(name string, number int32, kind *descriptorpb.FieldDescriptorProto_Type, message string) *descriptorpb.FieldDescriptorProto {
	f := &descriptorpb.FieldDescriptorProto{
		Name: proto.String(name), Number: proto.Int32(number), Type: kind,
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), JsonName: proto.String(name),
	}
	if message != "" {
		f.TypeName = proto.String(message)
	}
	return f
}

// forge makes a file with a message of that name in google.protobuf, and M, which has it as a field, a list and a map.
func forge(t *testing.T, name string, fields []*descriptorpb.FieldDescriptorProto) protoreflect.FileDescriptor {
	t.Helper()
	message := descriptorpb.FieldDescriptorProto_TYPE_MESSAGE.Enum()
	list := field("list", 2, message, ".google.protobuf."+name)
	list.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	fd, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("google/protobuf/forged.proto"), Package: proto.String("google.protobuf"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String(name), Field: fields},
			{Name: proto.String("M"), Field: []*descriptorpb.FieldDescriptorProto{field("one", 1, message, ".google.protobuf."+name), list}},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return fd
}
