package schematest

import (
	"fmt"
	"slices"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// headers has callers repeat some of the root's own values in headers, where that may be: nothing refers to the root.
func (d *draft) headers() {
	root := d.messages[0]
	if d.referred(root) {
		return
	}
	for _, fd := range root.proto.Field {
		if repeatable(fd) && percent(d.t, 50) {
			d.option(root, fd).Header = fmt.Sprintf("Field-%d", fd.GetNumber())
		}
	}
}

// referred reports a message that is the type of some field.
func (d *draft) referred(m *messageDraft) bool {
	var within func([]*descriptorpb.DescriptorProto) bool
	within = func(list []*descriptorpb.DescriptorProto) bool {
		return slices.ContainsFunc(list, func(md *descriptorpb.DescriptorProto) bool {
			return within(md.GetNestedType()) || slices.ContainsFunc(md.GetField(), func(fd *descriptorpb.FieldDescriptorProto) bool {
				return fd.GetTypeName() == m.name
			})
		})
	}
	return slices.ContainsFunc(d.files, func(f *fileDraft) bool { return within(f.proto.GetMessageType()) })
}

// repeatable reports a field whose values a header can repeat.
func repeatable(fd *descriptorpb.FieldDescriptorProto) bool {
	behaviors, _ := proto.GetExtension(fd.Options, annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	switch fd.GetType() {
	case kindMessage, kindGroup, descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, descriptorpb.FieldDescriptorProto_TYPE_FLOAT:
		return false
	}
	return fd.GetLabel() != descriptorpb.FieldDescriptorProto_LABEL_REPEATED &&
		fd.GetTypeName() != ".google.protobuf.NullValue" &&
		!slices.Contains(behaviors, annotations.FieldBehavior_OUTPUT_ONLY) &&
		!proto.GetExtension(fd.Options, toolv1.E_Field).(*toolv1.Field).GetHidden()
}
