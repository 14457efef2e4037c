package schematest

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"pgregory.net/rapid"
)

// draft is a contract in the making.
type draft struct {
	t *rapid.T
	// files: the first may import the second.
	files []*fileDraft
	// messages: the root first. What a message needs stands behind it, so that every message has a finite document.
	messages []*messageDraft
	enums    []*enumDraft
}

type syntax int

const (
	proto3 syntax = iota
	proto2
	edition2023
)

type fileDraft struct {
	proto   *descriptorpb.FileDescriptorProto
	syntax  syntax
	imports map[string]bool
	// implicit and delimited are the file's defaults for its fields.
	implicit, delimited bool
}

type messageDraft struct {
	proto *descriptorpb.DescriptorProto
	file  *fileDraft
	index int    // in draft.messages
	name  string // with a leading dot
	taken map[string]bool
	// free are field numbers not yet given.
	free []int32
}

type enumDraft struct {
	proto  *descriptorpb.EnumDescriptorProto
	file   *fileDraft
	name   string // with a leading dot
	closed bool
}

// finish completes a file with its imports.
func (f *fileDraft) finish() *descriptorpb.FileDescriptorProto {
	for path := range f.imports {
		f.proto.Dependency = append(f.proto.Dependency, path)
	}
	slices.Sort(f.proto.Dependency)
	return f.proto
}

// skeleton draws files, and messages and enums without what is in them.
func (d *draft) skeleton() {
	d.file(0)
	if percent(d.t, 25) {
		d.file(1)
	}
	count := between(d.t, 1, 6)
	at := d.files[0]
	for i := range count {
		if i > 0 && len(d.files) > 1 && percent(d.t, 30) {
			at = d.files[1] // and all that follow, since it imports nothing of the first
		}
		d.message(at)
	}
	for range between(d.t, 0, 3) {
		d.enum(pick(d.t, d.files))
	}
}

func (d *draft) file(index int) {
	f := &fileDraft{syntax: pick(d.t, []syntax{proto3, proto2, edition2023}), imports: map[string]bool{}}
	f.proto = &descriptorpb.FileDescriptorProto{
		Name:    proto.String(fmt.Sprintf("random%d.proto", index)),
		Package: proto.String([]string{"r.v1", "s.v1.deep"}[index]),
	}
	switch f.syntax {
	case proto3:
		f.proto.Syntax = proto.String("proto3")
		f.implicit = true
	case proto2:
		f.proto.Syntax = proto.String("proto2")
	case edition2023:
		f.proto.Syntax = proto.String("editions")
		f.proto.Edition = descriptorpb.Edition_EDITION_2023.Enum()
		features := &descriptorpb.FeatureSet{}
		if percent(d.t, 30) {
			f.implicit = true
			features.FieldPresence = descriptorpb.FeatureSet_IMPLICIT.Enum()
		}
		if percent(d.t, 30) {
			features.EnumType = descriptorpb.FeatureSet_CLOSED.Enum()
		}
		if percent(d.t, 30) {
			features.RepeatedFieldEncoding = descriptorpb.FeatureSet_EXPANDED.Enum()
		}
		if percent(d.t, 30) {
			f.delimited = true
			features.MessageEncoding = descriptorpb.FeatureSet_DELIMITED.Enum()
		}
		if percent(d.t, 30) {
			features.Utf8Validation = descriptorpb.FeatureSet_NONE.Enum()
		}
		if !proto.Equal(features, &descriptorpb.FeatureSet{}) {
			f.proto.Options = &descriptorpb.FileOptions{Features: features}
		}
	}
	d.files = append(d.files, f)
}

// message adds an empty message to a file, at its top or nested in one that is there.
func (d *draft) message(f *fileDraft) {
	m := &messageDraft{file: f, index: len(d.messages), taken: map[string]bool{}}
	m.proto = &descriptorpb.DescriptorProto{Name: proto.String(fmt.Sprintf("M%d", m.index))}
	m.free = slices.Clone(fieldNumbers)
	parents := d.within(f)
	if len(parents) > 0 && percent(d.t, 30) {
		parent := pick(d.t, parents)
		parent.proto.NestedType = append(parent.proto.NestedType, m.proto)
		m.name = parent.name + "." + m.proto.GetName()
	} else {
		f.proto.MessageType = append(f.proto.MessageType, m.proto)
		m.name = "." + f.proto.GetPackage() + "." + m.proto.GetName()
	}
	if percent(d.t, 4) {
		m.proto.Options = &descriptorpb.MessageOptions{Deprecated: proto.Bool(true)}
	}
	d.messages = append(d.messages, m)
}

// fieldNumbers are near and far, with keys of one to five bytes, and not in order.
var fieldNumbers = []int32{1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 100, 2047, 2048, 262143, 536870911, 9, 10, 11, 12, 13, 14, 18999, 20000, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40}

func (m *messageDraft) number(t *rapid.T) int32 {
	i := between(t, 0, min(14, len(m.free)-1))
	number := m.free[i]
	m.free = slices.Delete(m.free, i, i+1)
	return number
}

func (d *draft) within(f *fileDraft) (list []*messageDraft) {
	for _, m := range d.messages {
		if m.file == f {
			list = append(list, m)
		}
	}
	return list
}

// enum adds an enum with its values to a file.
func (d *draft) enum(f *fileDraft) {
	e := &enumDraft{file: f, closed: f.syntax == proto2}
	if f.syntax == edition2023 {
		e.closed = f.proto.GetOptions().GetFeatures().GetEnumType() == descriptorpb.FeatureSet_CLOSED
	}
	name := fmt.Sprintf("E%d", len(d.enums))
	e.proto = &descriptorpb.EnumDescriptorProto{Name: proto.String(name)}
	if f.syntax == edition2023 && percent(d.t, 20) {
		e.closed = !e.closed
		kind := descriptorpb.FeatureSet_OPEN
		if e.closed {
			kind = descriptorpb.FeatureSet_CLOSED
		}
		e.proto.Options = &descriptorpb.EnumOptions{Features: &descriptorpb.FeatureSet{EnumType: kind.Enum()}}
	}
	if parents := d.within(f); len(parents) > 0 && percent(d.t, 40) {
		parent := pick(d.t, parents)
		parent.proto.EnumType = append(parent.proto.EnumType, e.proto)
		e.name = parent.name + "." + name
	} else {
		f.proto.EnumType = append(f.proto.EnumType, e.proto)
		e.name = "." + f.proto.GetPackage() + "." + name
	}
	value := func(suffix string, number int32) {
		e.proto.Value = append(e.proto.Value, &descriptorpb.EnumValueDescriptorProto{
			Name: proto.String(name + "_" + suffix), Number: proto.Int32(number),
		})
	}
	if !e.closed || percent(d.t, 60) {
		value(pick(d.t, []string{"UNSPECIFIED", "NONE", "zero"}), 0)
	}
	numbers := []int32{1, 2, 3, -1, 100, 2147483647, -2147483648}
	if len(e.proto.Value) == 0 {
		value("FIRST", pick(d.t, numbers[1:]))
		numbers = []int32{1, 4, 5, -3, 101, 2147483646, -2147483647}
	}
	for i := range between(d.t, 0, 4) {
		at := between(d.t, 0, len(numbers)-1)
		value(string(rune('A'+i)), numbers[at])
		numbers = slices.Delete(numbers, at, at+1)
	}
	if percent(d.t, 20) {
		if e.proto.Options == nil {
			e.proto.Options = &descriptorpb.EnumOptions{}
		}
		e.proto.Options.AllowAlias = proto.Bool(true)
		value("ALIAS", pick(d.t, e.proto.Value).GetNumber())
	}
	if percent(d.t, 10) {
		pick(d.t, e.proto.Value).Options = &descriptorpb.EnumValueOptions{Deprecated: proto.Bool(true)}
	}
	d.enums = append(d.enums, e)
}

// jsonName is the JSON name that protobuf gives a field by itself.
func jsonName(name string) string {
	var out strings.Builder
	raise := false
	for _, c := range []byte(name) {
		if c == '_' {
			raise = true
			continue
		}
		if raise && 'a' <= c && c <= 'z' {
			c -= 'a' - 'A'
		}
		raise = false
		out.WriteByte(c)
	}
	return out.String()
}
