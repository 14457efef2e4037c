package service

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// zoneOf is the zone in which the registry will file a linked service: the service's own, its file's, else the one
// that the process supplies. Assertions name it in their audience. A test holds it to what internal/contract derives.
func zoneOf(sd protoreflect.ServiceDescriptor, supplied string) string {
	if said, ok := proto.GetExtension(sd.Options(), toolv1.E_Service).(*toolv1.Service); ok && said.GetZone() != "" {
		return said.GetZone()
	}
	if defaults, ok := proto.GetExtension(sd.ParentFile().Options(), toolv1.E_File).(*toolv1.File); ok && defaults.GetZone() != "" {
		return defaults.GetZone()
	}
	return supplied
}
