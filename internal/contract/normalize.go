package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// descriptorFile is what every file imports that defines options.
const descriptorFile = "google/protobuf/descriptor.proto"

// anyMessage is the type whose values may hold any message that the contract carries.
const anyMessage protoreflect.FullName = "google.protobuf.Any"

// Normalize gives the bytes of a contract that the registry keeps: a serialised FileDescriptorSet with the services,
// the services whose descriptions they inherit, and the messages and enums that those reach, nothing else. Where a
// reachable message has a google.protobuf.Any, every message is reachable that [schema.ContractMessages] lists, since any
// of them may travel in it. Comments of what is kept stay as source info, without positions. The digest is
// the SHA-256 of the bytes in hexadecimal.
//
// The same services of equal files give the same bytes, whatever else the set holds and in whatever order. The set is
// not modified. Files that only define options are dropped: options are resolved against the types linked into the
// reader, and unknown ones stay as they are. Only what defines a predefined rule of protovalidate that a kept message
// uses is kept, since it is data and no reader has it linked.
func Normalize(set *descriptorpb.FileDescriptorSet, services []string) (raw []byte, digest string, err error) {
	linked, err := link(set)
	if err != nil {
		return nil, "", fmt.Errorf("normalize the contract: link the descriptors: %w", err)
	}
	files, err := Link(linked)
	if err != nil {
		return nil, "", fmt.Errorf("normalize the contract: %w", err)
	}
	p := &pruner{
		keep:    map[protoreflect.FullName]bool{},
		needs:   map[string]map[string]bool{},
		sources: map[string]*descriptorpb.FileDescriptorProto{},
	}
	for _, file := range files.builtin.set.GetFile() {
		p.sources[file.GetName()] = file
	}
	for _, file := range set.GetFile() {
		p.sources[file.GetName()] = file
	}
	var roots []protoreflect.ServiceDescriptor
	for _, name := range services {
		sd, err := files.service(protoreflect.FullName(name))
		if err != nil {
			return nil, "", fmt.Errorf("normalize the contract: %w", err)
		}
		roots = append(roots, sd)
		// What does not resolve is for Compile to report.
		roots = append(roots, files.bases(sd, func(protoreflect.ServiceDescriptor, string) {})...)
	}
	for _, sd := range roots {
		p.service(sd)
	}
	if p.keep[anyMessage] {
		// What an Any may hold depends on the file that its message is in, so that each file is asked once.
		asked := map[string]bool{}
		for _, sd := range roots {
			for i := range sd.Methods().Len() {
				for _, md := range []protoreflect.MessageDescriptor{sd.Methods().Get(i).Input(), sd.Methods().Get(i).Output()} {
					if path := md.ParentFile().Path(); !asked[path] {
						asked[path] = true
						p.payloads(md)
					}
				}
			}
		}
		done := map[string]bool{}
		for _, sd := range roots {
			p.bridge(sd.ParentFile(), done)
		}
	}
	out := &descriptorpb.FileDescriptorSet{}
	for _, path := range slices.Sorted(maps.Keys(p.needs)) {
		file, err := p.file(p.sources[path])
		if err != nil {
			return nil, "", fmt.Errorf("normalize the contract: %w", err)
		}
		out.File = append(out.File, file)
	}
	raw, err = proto.MarshalOptions{Deterministic: true}.Marshal(out)
	if err != nil {
		return nil, "", fmt.Errorf("normalize the contract: %w", err)
	}
	sum := sha256.Sum256(raw)
	return raw, hex.EncodeToString(sum[:]), nil
}

// pruner keeps top-level declarations: a message that is reached stays with all that is nested in it, but for
// extensions.
type pruner struct {
	keep    map[protoreflect.FullName]bool               // top-level declarations, and extensions at any depth
	needs   map[string]map[string]bool                   // kept file -> the files that it refers to
	sources map[string]*descriptorpb.FileDescriptorProto // by path; the set's before the built-in ones
}

// use keeps the top-level declaration around d, and reports whether it is new.
func (p *pruner) use(d protoreflect.Descriptor) (top protoreflect.Descriptor, fresh bool) {
	for {
		if _, whole := d.Parent().(protoreflect.FileDescriptor); whole {
			break
		}
		d = d.Parent()
	}
	if p.keep[d.FullName()] {
		return d, false
	}
	p.keep[d.FullName()] = true
	p.keepFile(d.ParentFile().Path())
	return d, true
}

// refer keeps what one declaration refers to, and the import that the reference needs.
func (p *pruner) refer(from protoreflect.FileDescriptor, to protoreflect.Descriptor) {
	top, fresh := p.use(to)
	if there := top.ParentFile(); there.Path() != from.Path() {
		p.needs[from.Path()][there.Path()] = true
	}
	if md, ok := top.(protoreflect.MessageDescriptor); ok && fresh {
		p.message(md)
	}
}

func (p *pruner) service(sd protoreflect.ServiceDescriptor) {
	if _, fresh := p.use(sd); !fresh {
		return
	}
	for i := range sd.Methods().Len() {
		p.refer(sd.ParentFile(), sd.Methods().Get(i).Input())
		p.refer(sd.ParentFile(), sd.Methods().Get(i).Output())
	}
}

func (p *pruner) message(md protoreflect.MessageDescriptor) {
	for i := range md.Fields().Len() {
		fd := md.Fields().Get(i)
		if fd.Message() != nil {
			p.refer(md.ParentFile(), fd.Message())
		}
		if fd.Enum() != nil {
			p.refer(md.ParentFile(), fd.Enum())
		}
		for _, xd := range schema.RuleExtensions(fd) {
			p.extension(md.ParentFile(), xd)
		}
	}
	for i := range md.Messages().Len() {
		p.message(md.Messages().Get(i))
	}
}

// extension keeps the declaration of a predefined rule, and the import by which the rule's user finds it.
func (p *pruner) extension(from protoreflect.FileDescriptor, xd protoreflect.ExtensionDescriptor) {
	there := xd.ParentFile()
	p.keepFile(there.Path())
	if there.Path() != from.Path() {
		p.needs[from.Path()][there.Path()] = true
	}
	if p.keep[xd.FullName()] {
		return
	}
	p.keep[xd.FullName()] = true
	if md, nested := xd.Parent().(protoreflect.MessageDescriptor); nested {
		p.refer(there, md)
	}
	p.refer(there, xd.ContainingMessage())
	if xd.Message() != nil {
		p.refer(there, xd.Message())
	}
	if xd.Enum() != nil {
		p.refer(there, xd.Enum())
	}
}

// payloads keeps the messages that an Any in this message may hold.
func (p *pruner) payloads(md protoreflect.MessageDescriptor) {
	for _, payload := range schema.ContractMessages(md) {
		if top, fresh := p.use(payload); fresh {
			p.message(top.(protoreflect.MessageDescriptor))
		}
	}
}

// bridge keeps the imports of a file that lead to a kept declaration, though nothing refers along them: payloads are
// found along the imports. It reports whether the file is kept.
func (p *pruner) bridge(fd protoreflect.FileDescriptor, done map[string]bool) bool {
	if kept, ok := done[fd.Path()]; ok {
		return kept
	}
	var imports []string
	marker := false
	for i := range fd.Imports().Len() {
		imported := fd.Imports().Get(i).FileDescriptor
		if p.bridge(imported, done) {
			imports = append(imports, imported.Path())
		}
		// That a file defines options, and so is no source of payloads, shows in this import alone.
		marker = marker || imported.Path() == descriptorFile
	}
	kept := p.needs[fd.Path()] != nil || len(imports) > 0
	done[fd.Path()] = kept
	if !kept {
		return false
	}
	if marker {
		imports = append(imports, descriptorFile)
		p.keepFile(descriptorFile)
	}
	p.keepFile(fd.Path())
	for _, path := range imports {
		p.needs[fd.Path()][path] = true
	}
	return true
}

func (p *pruner) keepFile(path string) {
	if p.needs[path] == nil {
		p.needs[path] = map[string]bool{}
	}
}

// file is what remains of one file. Its imports are those that its references need, all of them direct.
func (p *pruner) file(source *descriptorpb.FileDescriptorProto) (*descriptorpb.FileDescriptorProto, error) {
	if source == nil {
		return nil, fmt.Errorf("a file of the contract has no descriptor")
	}
	qualified := func(name string) string {
		if source.GetPackage() != "" {
			name = source.GetPackage() + "." + name
		}
		return name
	}
	kept := func(name string) bool { return p.keep[protoreflect.FullName(qualified(name))] }
	file := &descriptorpb.FileDescriptorProto{
		Name:       proto.String(source.GetName()),
		Package:    source.Package,
		Syntax:     source.Syntax,
		Edition:    source.Edition,
		Options:    source.GetOptions(),
		Dependency: slices.Sorted(maps.Keys(p.needs[source.GetName()])),
	}
	// From the old to the new position of a kept top-level declaration, by its field in the file.
	moved := map[[2]int32]int32{}
	for i, m := range source.GetMessageType() {
		if kept(m.GetName()) {
			moved[[2]int32{messageField, int32(i)}] = int32(len(file.MessageType))
			m = proto.CloneOf(m)
			p.dropExtensions(m, qualified(m.GetName()))
			file.MessageType = append(file.MessageType, m)
		}
	}
	for i, e := range source.GetEnumType() {
		if kept(e.GetName()) {
			moved[[2]int32{enumField, int32(i)}] = int32(len(file.EnumType))
			file.EnumType = append(file.EnumType, e)
		}
	}
	for i, s := range source.GetService() {
		if kept(s.GetName()) {
			moved[[2]int32{serviceField, int32(i)}] = int32(len(file.Service))
			file.Service = append(file.Service, s)
		}
	}
	for _, x := range source.GetExtension() {
		if kept(x.GetName()) {
			file.Extension = append(file.Extension, x)
		}
	}
	file.SourceCodeInfo = keptComments(source.GetSourceCodeInfo(), moved)
	return file, nil
}

// Numbers of the fields of FileDescriptorProto and DescriptorProto that paths of source info begin with.
const (
	messageField         = 4
	enumField            = 5
	serviceField         = 6
	nestedMessageField   = 3
	nestedExtensionField = 6
)

// dropExtensions removes the extensions that are declared within a message and are not kept: they are never published,
// and what they extend is not reached.
func (p *pruner) dropExtensions(m *descriptorpb.DescriptorProto, name string) {
	m.Extension = slices.DeleteFunc(m.Extension, func(x *descriptorpb.FieldDescriptorProto) bool {
		return !p.keep[protoreflect.FullName(name+"."+x.GetName())]
	})
	for _, nested := range m.GetNestedType() {
		p.dropExtensions(nested, name+"."+nested.GetName())
	}
}

// keptComments are the comments of what remains, at its new paths and in their order, without positions.
func keptComments(info *descriptorpb.SourceCodeInfo, moved map[[2]int32]int32) *descriptorpb.SourceCodeInfo {
	var out []*descriptorpb.SourceCodeInfo_Location
	for _, l := range Comments(info).GetLocation() {
		path := slices.Clone(l.GetPath())
		if len(path) < 2 || inExtension(path) {
			continue
		}
		to, ok := moved[[2]int32{path[0], path[1]}]
		if !ok {
			continue
		}
		path[1] = to
		l.Path = path
		out = append(out, l)
	}
	if len(out) == 0 {
		return nil
	}
	slices.SortStableFunc(out, func(a, b *descriptorpb.SourceCodeInfo_Location) int {
		return slices.Compare(a.GetPath(), b.GetPath())
	})
	return &descriptorpb.SourceCodeInfo{Location: out}
}

// inExtension reports whether a path leads into an extension that is declared within a message.
func inExtension(path []int32) bool {
	if path[0] != messageField {
		return false
	}
	for i := 2; i+1 < len(path); i += 2 {
		if path[i] == nestedExtensionField {
			return true
		}
		if path[i] != nestedMessageField {
			return false
		}
	}
	return false
}

// Comments reduces source info to the leading and trailing comments of a file's messages, enums and services and of
// what is in them, without positions. It is nil where there are none.
func Comments(info *descriptorpb.SourceCodeInfo) *descriptorpb.SourceCodeInfo {
	out := &descriptorpb.SourceCodeInfo{}
	for _, l := range info.GetLocation() {
		if blank(l.GetLeadingComments()) && blank(l.GetTrailingComments()) || len(l.GetPath()) < 2 {
			continue
		}
		if field := l.GetPath()[0]; field != messageField && field != enumField && field != serviceField {
			continue
		}
		out.Location = append(out.Location, &descriptorpb.SourceCodeInfo_Location{
			Path:             l.GetPath(),
			Span:             []int32{0, 0, 0},
			LeadingComments:  l.LeadingComments,
			TrailingComments: l.TrailingComments,
		})
	}
	if len(out.Location) == 0 {
		return nil
	}
	return out
}
