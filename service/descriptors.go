package service

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/sallyport-dev/sallyport/comments"
)

// infrastructure says whether a service belongs to gRPC itself and is not registered. The names are gRPC's own.
func infrastructure(service string) bool {
	switch service {
	case "grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection":
		return true
	default:
		return false
	}
}

// open says whether who calls a method is not asked. These are whole names: of a method that only begins like one of
// them, a server with a handler for unknown methods may make anything.
func open(fullMethod string) bool {
	switch fullMethod {
	case "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/List", "/grpc.health.v1.Health/Watch",
		"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo":
		return true
	default:
		return false
	}
}

// servedBy finds the descriptors of what a server serves, in order of their names.
func servedBy(server interface {
	GetServiceInfo() map[string]grpc.ServiceInfo
}) ([]protoreflect.ServiceDescriptor, error) {
	var services []protoreflect.ServiceDescriptor
	var problems []error
	for name := range server.GetServiceInfo() {
		if infrastructure(name) {
			continue
		}
		sd, err := findService(name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		services = append(services, sd)
	}
	slices.SortFunc(services, func(a, b protoreflect.ServiceDescriptor) int {
		return strings.Compare(string(a.FullName()), string(b.FullName()))
	})
	if len(problems) == 0 && len(services) == 0 {
		problems = append(problems, errors.New("the server serves nothing to register: register services before"))
	}
	return services, errors.Join(problems...)
}

func findService(name string) (protoreflect.ServiceDescriptor, error) {
	d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil, fmt.Errorf("service %s: its descriptor is not linked into the program: import the Go package generated from its proto", name)
	}
	sd, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("service %s: the descriptor of that name is no service", name)
	}
	return sd, nil
}

// descriptorSet gathers the files that the services need, with the comments and inherited bases that generated code
// carries.
func descriptorSet(services []protoreflect.ServiceDescriptor) *descriptorpb.FileDescriptorSet {
	files := make([]protoreflect.FileDescriptor, len(services))
	for i, sd := range services {
		files[i] = sd.ParentFile()
	}
	return comments.Collect(files...)
}
