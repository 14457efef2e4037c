package main

import (
	"cmp"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/participant"
)

// check judges every service of the files, exposed or not, and gives what is wrong in the order of the files.
//
// A declared name must be unique in its zone's root, so that services of one root are compiled together. Where the
// proto names no zone, the process that registers the service will; services of one proto package are then taken to
// live together, and no more is assumed.
func (g *generator) check(wanted []*descriptorpb.FileDescriptorProto) (problems, warnings []string) {
	groups := map[string][]string{}
	var order []string
	for _, file := range wanted {
		for _, svc := range file.GetService() {
			key := "package " + file.GetPackage()
			if zone := declaredZone(file, svc); zone != "" {
				key = "root " + participant.Root(zone)
			}
			if groups[key] == nil {
				order = append(order, key)
			}
			groups[key] = append(groups[key], fullName(file, svc))
		}
	}
	var found []contract.Conflict
	for _, key := range order {
		c, err := g.files.Compile(contract.Source{Services: groups[key], Profiles: g.profile})
		var conflict *contract.ConflictError
		switch {
		case errors.As(err, &conflict):
			found = append(found, conflict.Conflicts...)
		case err != nil:
			found = append(found, contract.Conflict{Function: key, Problem: err.Error()})
		default:
			warnings = append(warnings, c.Warnings...)
		}
	}
	slices.SortStableFunc(found, func(a, b contract.Conflict) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	for _, c := range found {
		problems = append(problems, c.Located())
	}
	return problems, warnings
}

// profile knows the JSON profiles that the plugin was told of. What they do to JSON is the registry's to say; only
// that they exist matters here.
func (g *generator) profile(id string) (schema.Profile, bool) {
	return schema.Profile{ID: id}, g.options.profiles[id]
}

func declaredZone(file *descriptorpb.FileDescriptorProto, svc *descriptorpb.ServiceDescriptorProto) string {
	if o := svc.GetOptions(); o != nil && proto.HasExtension(o, toolv1.E_Service) {
		if said, ok := proto.GetExtension(o, toolv1.E_Service).(*toolv1.Service); ok && said.GetZone() != "" {
			return said.GetZone()
		}
	}
	if o := file.GetOptions(); o != nil && proto.HasExtension(o, toolv1.E_File) {
		if said, ok := proto.GetExtension(o, toolv1.E_File).(*toolv1.File); ok {
			return said.GetZone()
		}
	}
	return ""
}
