package contract

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

// link builds the files of a set that somebody sent.
//
// A set may lack files that its files import. Some projects generate each file under another path than the one by which
// it is imported (etcd's are `kv.proto`, imported as `etcd/api/mvccpb/kv.proto`), so that descriptors taken from their
// programs never resolve by path; and a file imported for its options alone is not needed here. Types are named fully,
// so that the imports of such a file can be written anew from what it refers to. A type that is in no file stays an
// error. The set is not modified.
func link(set *descriptorpb.FileDescriptorSet) (*protoregistry.Files, error) {
	return protodesc.NewFiles(relink(set))
}

func relink(set *descriptorpb.FileDescriptorSet) *descriptorpb.FileDescriptorSet {
	paths := map[string]bool{}
	for _, file := range set.GetFile() {
		paths[file.GetName()] = true
	}
	var definedIn map[string]string // made when it is needed: most sets are whole
	out := &descriptorpb.FileDescriptorSet{File: slices.Clone(set.GetFile())}
	for i, file := range out.File {
		if !slices.ContainsFunc(file.GetDependency(), func(path string) bool { return !paths[path] }) {
			continue
		}
		if definedIn == nil {
			definedIn = definitions(set)
		}
		out.File[i] = withImports(file, paths, definedIn)
	}
	return out
}

// withImports is the file with those of its imports that are in the set, and the files of all that it refers to.
func withImports(file *descriptorpb.FileDescriptorProto, paths map[string]bool, definedIn map[string]string) *descriptorpb.FileDescriptorProto {
	public := map[string]bool{}
	for _, i := range file.GetPublicDependency() {
		if 0 <= i && int(i) < len(file.GetDependency()) {
			public[file.GetDependency()[i]] = true
		}
	}
	kept := map[string]bool{}
	for _, path := range file.GetDependency() {
		if paths[path] {
			kept[path] = true
		}
	}
	references(file, func(typeName string) {
		if path := definedIn[typeName]; path != "" && path != file.GetName() {
			kept[path] = true
		}
	})
	out := &descriptorpb.FileDescriptorProto{
		Name:           file.Name,
		Package:        file.Package,
		Syntax:         file.Syntax,
		Edition:        file.Edition,
		Options:        file.Options,
		MessageType:    file.MessageType,
		EnumType:       file.EnumType,
		Service:        file.Service,
		Extension:      file.Extension,
		SourceCodeInfo: file.SourceCodeInfo,
		Dependency:     slices.Sorted(maps.Keys(kept)),
	}
	for i, path := range out.Dependency {
		if public[path] {
			out.PublicDependency = append(out.PublicDependency, int32(i))
		}
	}
	out.ProtoReflect().SetUnknown(file.ProtoReflect().GetUnknown())
	return out
}

// definitions gives the file of every message and enum of the set, by full name with the leading dot of references.
func definitions(set *descriptorpb.FileDescriptorSet) map[string]string {
	out := map[string]string{}
	for _, file := range set.GetFile() {
		var messages func(scope string, list []*descriptorpb.DescriptorProto)
		enums := func(scope string, list []*descriptorpb.EnumDescriptorProto) {
			for _, e := range list {
				out[scope+"."+e.GetName()] = file.GetName()
			}
		}
		messages = func(scope string, list []*descriptorpb.DescriptorProto) {
			for _, m := range list {
				name := scope + "." + m.GetName()
				out[name] = file.GetName()
				messages(name, m.GetNestedType())
				enums(name, m.GetEnumType())
			}
		}
		scope := ""
		if file.GetPackage() != "" {
			scope = "." + file.GetPackage()
		}
		messages(scope, file.GetMessageType())
		enums(scope, file.GetEnumType())
	}
	return out
}

// references visits every type that a file names.
func references(file *descriptorpb.FileDescriptorProto, visit func(typeName string)) {
	see := func(name *string) {
		if name != nil && strings.HasPrefix(*name, ".") {
			visit(*name)
		}
	}
	fields := func(list []*descriptorpb.FieldDescriptorProto) {
		for _, f := range list {
			see(f.TypeName)
			see(f.Extendee)
		}
	}
	var messages func(list []*descriptorpb.DescriptorProto)
	messages = func(list []*descriptorpb.DescriptorProto) {
		for _, m := range list {
			fields(m.GetField())
			fields(m.GetExtension())
			messages(m.GetNestedType())
		}
	}
	messages(file.GetMessageType())
	fields(file.GetExtension())
	for _, s := range file.GetService() {
		for _, m := range s.GetMethod() {
			see(m.InputType)
			see(m.OutputType)
		}
	}
}
