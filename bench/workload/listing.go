package workload

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// ListedTools is how many tools [Listing] has.
const ListedTools = listedServices * listedMethods

const (
	listedServices = 100
	listedMethods  = 10
	listedPackage  = "sallyport.bench.listing.v1"
)

// Listing is a contract with [ListedTools] modest tools, and the services that they belong to. All are in [Zone].
// Nobody serves them: they are there to be listed.
func Listing() (set *descriptorpb.FileDescriptorSet, services []string) {
	file := &descriptorpb.FileDescriptorProto{
		Name: proto.String("sallyport/bench/listing/v1/listing.proto"), Package: proto.String(listedPackage),
		Syntax: proto.String("proto3"), Dependency: []string{toolv1.File_sallyport_tool_v1_options_proto.Path()},
	}
	file.MessageType = append(file.MessageType,
		message("FindRequest",
			field("query", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING, "Words to look for."),
			field("limit", 2, descriptorpb.FieldDescriptorProto_TYPE_INT32, "How many at most.")),
		message("FindResponse",
			field("title", 1, descriptorpb.FieldDescriptorProto_TYPE_STRING, "What was found.")))
	for s := range listedServices {
		service := &descriptorpb.ServiceDescriptorProto{
			Name: proto.String(fmt.Sprintf("Shelf%02dService", s)), Options: new(descriptorpb.ServiceOptions),
		}
		proto.SetExtension(service.Options, toolv1.E_Service, &toolv1.Service{Title: fmt.Sprintf("Shelf %02d", s), Zone: Zone})
		for m := range listedMethods {
			method := &descriptorpb.MethodDescriptorProto{
				Name:      proto.String(fmt.Sprintf("Find%d", m)),
				InputType: proto.String("." + listedPackage + ".FindRequest"), OutputType: proto.String("." + listedPackage + ".FindResponse"),
				Options: new(descriptorpb.MethodOptions),
			}
			proto.SetExtension(method.Options, toolv1.E_Tool, &toolv1.Tool{
				Description: fmt.Sprintf("Finds what is on board %d of shelf %d.", m, s), ReadOnlyHint: true,
				Access: &toolv1.Access{Roles: []string{Role}, Policy: "participant.application_id == '" + Application + "' && tool.hints.read_only"},
			})
			service.Method = append(service.Method, method)
		}
		file.Service = append(file.Service, service)
		services = append(services, listedPackage+"."+service.GetName())
	}
	set = new(descriptorpb.FileDescriptorSet)
	add(set, map[string]bool{}, toolv1.File_sallyport_tool_v1_options_proto)
	set.File = append(set.File, file)
	return set, services
}

func message(name string, fields ...*descriptorpb.FieldDescriptorProto) *descriptorpb.DescriptorProto {
	return &descriptorpb.DescriptorProto{Name: proto.String(name), Field: fields}
}

func field(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type, description string) *descriptorpb.FieldDescriptorProto {
	options := new(descriptorpb.FieldOptions)
	proto.SetExtension(options, toolv1.E_Field, &toolv1.Field{Description: description})
	return &descriptorpb.FieldDescriptorProto{
		Name: proto.String(name), JsonName: proto.String(name), Number: proto.Int32(number), Type: kind.Enum(),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Options: options,
	}
}

// add appends a file after everything that it imports.
func add(set *descriptorpb.FileDescriptorSet, seen map[string]bool, fd protoreflect.FileDescriptor) {
	if seen[fd.Path()] {
		return
	}
	seen[fd.Path()] = true
	for i := range fd.Imports().Len() {
		add(set, seen, fd.Imports().Get(i).FileDescriptor)
	}
	set.File = append(set.File, protodesc.ToFileDescriptorProto(fd))
}
