package schematest

import (
	"fmt"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

type kind = descriptorpb.FieldDescriptorProto_Type

const (
	kindGroup   = descriptorpb.FieldDescriptorProto_TYPE_GROUP
	kindMessage = descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	kindEnum    = descriptorpb.FieldDescriptorProto_TYPE_ENUM
	kindString  = descriptorpb.FieldDescriptorProto_TYPE_STRING
	kindBytes   = descriptorpb.FieldDescriptorProto_TYPE_BYTES
	kindBool    = descriptorpb.FieldDescriptorProto_TYPE_BOOL
)

// scalarKinds are all of them; mapKeyKinds those that key a map.
var (
	scalarKinds = []kind{
		kindString,
		descriptorpb.FieldDescriptorProto_TYPE_INT32, descriptorpb.FieldDescriptorProto_TYPE_INT64,
		kindBool, kindBytes,
		descriptorpb.FieldDescriptorProto_TYPE_DOUBLE, descriptorpb.FieldDescriptorProto_TYPE_FLOAT,
		descriptorpb.FieldDescriptorProto_TYPE_UINT32, descriptorpb.FieldDescriptorProto_TYPE_UINT64,
		descriptorpb.FieldDescriptorProto_TYPE_SINT32, descriptorpb.FieldDescriptorProto_TYPE_SINT64,
		descriptorpb.FieldDescriptorProto_TYPE_FIXED32, descriptorpb.FieldDescriptorProto_TYPE_FIXED64,
		descriptorpb.FieldDescriptorProto_TYPE_SFIXED32, descriptorpb.FieldDescriptorProto_TYPE_SFIXED64,
	}
	mapKeyKinds = slices.DeleteFunc(slices.Clone(scalarKinds), func(k kind) bool {
		return k == kindBytes || k == descriptorpb.FieldDescriptorProto_TYPE_DOUBLE || k == descriptorpb.FieldDescriptorProto_TYPE_FLOAT
	})
)

// value is the type of a field, an item, or a map's value.
type valueType struct {
	kind    kind
	name    string // of a message or enum, with a leading dot
	message *messageDraft
	enum    *enumDraft
	path    string // of a well-known type's file
}

// shape is how often a field holds its value.
type shape int

const (
	singular shape = iota
	repeated
	mapped
)

// fields draws the fields of a message, in oneofs and out of them.
func (d *draft) fields(m *messageDraft) {
	least := 0
	if m.index == 0 {
		least = between(d.t, 0, 5)
	}
	for range between(d.t, least, 8) {
		if percent(d.t, 15) {
			d.oneof(m)
			continue
		}
		d.field(m, nil)
	}
	if m.index == 0 && len(m.proto.Field) == 0 {
		d.field(m, nil)
	}
	d.presence(m)
	d.messageRules(m)
	if m.file.syntax != proto3 && percent(d.t, 8) {
		d.extension(m)
	}
}

// oneof draws a oneof with its members, which stand one after the other.
func (d *draft) oneof(m *messageDraft) {
	name := fmt.Sprintf("pick%d", len(m.proto.OneofDecl))
	od := &descriptorpb.OneofDescriptorProto{Name: proto.String(name)}
	index := int32(len(m.proto.OneofDecl))
	m.proto.OneofDecl = append(m.proto.OneofDecl, od)
	in := &inOneof{index: index, required: percent(d.t, 25)}
	if in.required {
		m.file.imports[rulesPath] = true
		od.Options = &descriptorpb.OneofOptions{}
		proto.SetExtension(od.Options, validate.E_Oneof, &validate.OneofRules{Required: proto.Bool(true)})
	}
	for i := range between(d.t, 1, 3) {
		in.first = i == 0
		d.field(m, in)
	}
}

// inOneof says where a member stands. The first member of a required one can always be given.
type inOneof struct {
	index           int32
	required, first bool
}

// field draws one field and adds it.
func (d *draft) field(m *messageDraft, in *inOneof) {
	fd := &descriptorpb.FieldDescriptorProto{Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
	fd.Options = &descriptorpb.FieldOptions{}
	fd.Number = proto.Int32(m.number(d.t))
	form := singular
	if in != nil {
		fd.OneofIndex = proto.Int32(in.index)
	} else {
		form = pick(d.t, []shape{singular, singular, singular, repeated, mapped})
	}
	// A place that every document of the message needs: what stands there must be possible to give.
	must := in != nil && in.required && in.first
	declared := in == nil && percent(d.t, 20)
	after := -1
	if must || declared {
		after = m.index
	}
	if in == nil && form != mapped && m.file.syntax == proto2 && percent(d.t, 10) {
		d.group(m, fd)
		if form == repeated {
			fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		m.proto.Field = append(m.proto.Field, fd)
		return
	}
	v := d.valueType(m, after)
	d.name(m, fd)
	switch form {
	case singular:
		d.set(m, fd, v)
		if v.enum != nil && v.enum.closed && m.file.implicit && in == nil {
			// Only open enums may go without presence.
			fd.Options.Features = &descriptorpb.FeatureSet{FieldPresence: descriptorpb.FeatureSet_EXPLICIT.Enum()}
		}
	case repeated:
		fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		d.set(m, fd, v)
		d.encoding(m, fd, v)
	case mapped:
		d.mapEntry(m, fd, v)
	}
	if m.file.syntax == edition2023 && form != mapped && v.kind == kindMessage && percent(d.t, 20) {
		features(fd).MessageEncoding = descriptorpb.FeatureSet_DELIMITED.Enum()
	}
	if m.file.syntax == edition2023 && v.kind == kindString && form != mapped && percent(d.t, 10) {
		features(fd).Utf8Validation = descriptorpb.FeatureSet_NONE.Enum()
	}
	if declared {
		d.require(m, fd, form)
	} else if !must && percent(d.t, 25) {
		d.conceal(m, fd)
	}
	d.rules(m, fd, form, v, must || declared)
	if form == singular && m.file.syntax != proto3 && v.kind != kindMessage && percent(d.t, 20) {
		d.defaultValue(m, fd, v)
	}
	if percent(d.t, 4) {
		fd.Options.Deprecated = proto.Bool(true)
	}
	m.proto.Field = append(m.proto.Field, fd)
}

// valueType draws a type; a message only of those after the given one.
func (d *draft) valueType(m *messageDraft, after int) valueType {
	switch between(d.t, 0, 9) {
	case 0, 1, 2, 9:
		return valueType{kind: pick(d.t, scalarKinds)}
	case 6:
		var usable []*enumDraft
		for _, e := range d.enums {
			if d.reaches(m.file, e.file) && (m.file.syntax != proto3 || !e.closed) {
				usable = append(usable, e)
			}
		}
		if len(usable) > 0 {
			e := pick(d.t, usable)
			return valueType{kind: kindEnum, name: e.name, enum: e}
		}
		return valueType{kind: kindEnum, name: ".google.protobuf.NullValue", path: "google/protobuf/struct.proto"}
	case 7, 8:
		wkt := pick(d.t, wellKnownTypes)
		return valueType{kind: kindMessage, name: wkt.name, path: wkt.path}
	}
	var usable []*messageDraft
	for _, other := range d.messages {
		if other.index > after && d.reaches(m.file, other.file) {
			usable = append(usable, other)
		}
	}
	if len(usable) == 0 {
		return valueType{kind: pick(d.t, scalarKinds)}
	}
	other := pick(d.t, usable)
	return valueType{kind: kindMessage, name: other.name, message: other}
}

// reaches reports whether a file may refer to another one.
func (d *draft) reaches(from, to *fileDraft) bool { return from == to || from == d.files[0] }

// set writes a type into a field and imports what it needs.
func (d *draft) set(m *messageDraft, fd *descriptorpb.FieldDescriptorProto, v valueType) {
	fd.Type = v.kind.Enum()
	if v.name == "" {
		return
	}
	fd.TypeName = proto.String(v.name)
	if v.path != "" {
		m.file.imports[v.path] = true
	}
	if v.message != nil && v.message.file != m.file || v.enum != nil && v.enum.file != m.file {
		m.file.imports[d.files[1].proto.GetName()] = true
	}
}

// fieldNames are names that JSON names, JavaScript and prototype tricks make interesting.
var fieldNames = []string{
	"name", "order_id", "x", "value", "a_b_c", "_lead", "trail_", "a1_b2", "URL", "fooBar", "constructor", "__proto__",
	"to_string", "type", "items", "n_1", "has_own_property", "key", "length", "i_d",
}

// name gives a field its names: none of them is taken, whatever the profile.
func (d *draft) name(m *messageDraft, fd *descriptorpb.FieldDescriptorProto) {
	base := pick(d.t, fieldNames)
	name := base
	for i := 2; m.taken[name] || m.taken[jsonName(name)]; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	fd.Name, fd.JsonName = proto.String(name), proto.String(jsonName(name))
	m.taken[name], m.taken[jsonName(name)] = true, true
	if own := pick(d.t, []string{"Bee", "with.dot", "with-dash", "__proto__", "constructor", "9to5", strings.Repeat("n", 64)}); percent(d.t, 8) && !m.taken[own] {
		fd.JsonName = proto.String(own)
		m.taken[own] = true
	}
	if own := pick(d.t, []string{"called", "the.name", "x-1", "_", "toString", "Order-ID"}); percent(d.t, 10) && !m.taken[own] {
		d.option(m, fd).Name = own
		m.taken[own] = true
	}
}

// option is the field's (sallyport.tool.v1.field).
func (d *draft) option(m *messageDraft, fd *descriptorpb.FieldDescriptorProto) *toolv1.Field {
	m.file.imports[optionsPath] = true
	if !proto.HasExtension(fd.Options, toolv1.E_Field) {
		proto.SetExtension(fd.Options, toolv1.E_Field, &toolv1.Field{})
	}
	return proto.GetExtension(fd.Options, toolv1.E_Field).(*toolv1.Field)
}

func features(fd *descriptorpb.FieldDescriptorProto) *descriptorpb.FeatureSet {
	if fd.Options.Features == nil {
		fd.Options.Features = &descriptorpb.FeatureSet{}
	}
	return fd.Options.Features
}

// group makes a field a proto2 group with two fields of its own.
func (d *draft) group(m *messageDraft, fd *descriptorpb.FieldDescriptorProto) {
	name := fmt.Sprintf("Group%d", len(m.proto.NestedType)+len(m.proto.Field))
	inner := &messageDraft{file: m.file, index: m.index, taken: map[string]bool{}, free: slices.Clone(fieldNumbers)}
	inner.name = m.name + "." + name
	inner.proto = &descriptorpb.DescriptorProto{Name: proto.String(name)}
	for range 2 {
		d.field(inner, &inOneof{index: -1})
	}
	for _, f := range inner.proto.Field {
		f.OneofIndex = nil
	}
	m.proto.NestedType = append(m.proto.NestedType, inner.proto)
	fd.Name = proto.String(strings.ToLower(name))
	fd.JsonName = proto.String(jsonName(strings.ToLower(name)))
	m.taken[fd.GetName()] = true
	fd.Type, fd.TypeName = kindGroup.Enum(), proto.String(inner.name)
}

// mapEntry makes a field a map, with the entry that protobuf derives for it.
func (d *draft) mapEntry(m *messageDraft, fd *descriptorpb.FieldDescriptorProto, v valueType) {
	if v.enum != nil && v.enum.proto.Value[0].GetNumber() != 0 {
		v = valueType{kind: kindString} // protobuf wants a zero value there
	}
	name := mapEntryName(fd.GetName())
	entry := &descriptorpb.DescriptorProto{
		Name:    proto.String(name),
		Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
		Field: []*descriptorpb.FieldDescriptorProto{
			{Name: proto.String("key"), JsonName: proto.String("key"), Number: proto.Int32(1), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: pick(d.t, mapKeyKinds).Enum()},
			{Name: proto.String("value"), JsonName: proto.String("value"), Number: proto.Int32(2), Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()},
		},
	}
	d.set(m, entry.Field[1], v)
	if v.enum != nil && v.enum.closed && m.file.implicit {
		entry.Field[1].Options = &descriptorpb.FieldOptions{Features: &descriptorpb.FeatureSet{FieldPresence: descriptorpb.FeatureSet_EXPLICIT.Enum()}}
	}
	m.proto.NestedType = append(m.proto.NestedType, entry)
	fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	fd.Type, fd.TypeName = kindMessage.Enum(), proto.String(m.name+"."+name)
}

// mapEntryName is the name that protobuf gives the entry of a map.
func mapEntryName(field string) string {
	var out strings.Builder
	raise := true
	for _, c := range []byte(field) {
		switch {
		case c == '_':
			raise = true
			continue
		case raise && 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		}
		raise = false
		out.WriteByte(c)
	}
	return out.String() + "Entry"
}

// encoding says how repeated scalars are written.
func (d *draft) encoding(m *messageDraft, fd *descriptorpb.FieldDescriptorProto, v valueType) {
	if v.kind == kindMessage || v.kind == kindString || v.kind == kindBytes || !percent(d.t, 30) {
		return
	}
	if m.file.syntax == edition2023 {
		features(fd).RepeatedFieldEncoding = pick(d.t, []descriptorpb.FeatureSet_RepeatedFieldEncoding{
			descriptorpb.FeatureSet_PACKED, descriptorpb.FeatureSet_EXPANDED,
		}).Enum()
		return
	}
	fd.Options.Packed = proto.Bool(m.file.syntax == proto2)
}

// require marks a field that every caller must give, in one of the ways there are.
func (d *draft) require(m *messageDraft, fd *descriptorpb.FieldDescriptorProto, form shape) {
	ways := []string{"behavior", "rule"}
	if form == singular && m.file.syntax != proto3 {
		ways = append(ways, "label")
	}
	switch pick(d.t, ways) {
	case "behavior":
		d.behavior(m, fd, annotations.FieldBehavior_REQUIRED)
	case "rule":
		m.file.imports[rulesPath] = true
		proto.SetExtension(fd.Options, validate.E_Field, &validate.FieldRules{Required: proto.Bool(true)})
	case "label":
		if m.file.syntax == proto2 {
			fd.Label = descriptorpb.FieldDescriptorProto_LABEL_REQUIRED.Enum()
			return
		}
		features(fd).FieldPresence = descriptorpb.FeatureSet_LEGACY_REQUIRED.Enum()
	}
}

// conceal leaves a field out of one direction or of both.
func (d *draft) conceal(m *messageDraft, fd *descriptorpb.FieldDescriptorProto) {
	switch between(d.t, 0, 3) {
	case 0:
		d.behavior(m, fd, annotations.FieldBehavior_OPTIONAL)
	case 1:
		d.behavior(m, fd, annotations.FieldBehavior_OUTPUT_ONLY)
	case 2:
		d.behavior(m, fd, annotations.FieldBehavior_INPUT_ONLY)
	case 3:
		d.option(m, fd).Hidden = true
	}
}

func (d *draft) behavior(m *messageDraft, fd *descriptorpb.FieldDescriptorProto, b annotations.FieldBehavior) {
	m.file.imports[behaviorPath] = true
	proto.SetExtension(fd.Options, annotations.E_FieldBehavior, []annotations.FieldBehavior{b})
}

// presence gives some singular fields explicit presence where the file has none. Their oneofs come after all others.
func (d *draft) presence(m *messageDraft) {
	for _, fd := range m.proto.Field {
		single := fd.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL && fd.OneofIndex == nil
		if !single || m.file.syntax == proto2 || !percent(d.t, 25) {
			continue
		}
		if m.file.syntax == proto3 {
			fd.Proto3Optional = proto.Bool(true)
			fd.OneofIndex = proto.Int32(int32(len(m.proto.OneofDecl)))
			m.proto.OneofDecl = append(m.proto.OneofDecl, &descriptorpb.OneofDescriptorProto{Name: proto.String("_" + fd.GetName())})
			continue
		}
		if fd.GetType() == kindMessage || fd.Options.GetFeatures().GetFieldPresence() != descriptorpb.FeatureSet_FIELD_PRESENCE_UNKNOWN {
			continue // messages have presence
		}
		if m.file.implicit {
			features(fd).FieldPresence = descriptorpb.FeatureSet_EXPLICIT.Enum()
		} else if fd.DefaultValue == nil && !d.closedEnum(fd) {
			features(fd).FieldPresence = descriptorpb.FeatureSet_IMPLICIT.Enum()
		}
	}
}

func (d *draft) closedEnum(fd *descriptorpb.FieldDescriptorProto) bool {
	return slices.ContainsFunc(d.enums, func(e *enumDraft) bool { return e.name == fd.GetTypeName() && e.closed })
}

// defaultValue declares a default. Nothing that callers see depends on it.
func (d *draft) defaultValue(m *messageDraft, fd *descriptorpb.FieldDescriptorProto, v valueType) {
	if m.file.implicit && fd.OneofIndex == nil && fd.Options.GetFeatures().GetFieldPresence() == descriptorpb.FeatureSet_FIELD_PRESENCE_UNKNOWN {
		return // only fields with presence have defaults
	}
	switch {
	case v.enum != nil:
		fd.DefaultValue = proto.String(pick(d.t, v.enum.proto.Value).GetName())
	case v.kind == kindEnum:
	case v.kind == kindBool:
		fd.DefaultValue = proto.String("true")
	case v.kind == kindString:
		fd.DefaultValue = proto.String("default é")
	case v.kind == kindBytes:
		fd.DefaultValue = proto.String(`\001x`)
	default:
		fd.DefaultValue = proto.String("7")
	}
}

// extension opens a range of a message for extensions and declares one, which no schema shows.
func (d *draft) extension(m *messageDraft) {
	m.proto.ExtensionRange = append(m.proto.ExtensionRange, &descriptorpb.DescriptorProto_ExtensionRange{Start: proto.Int32(300), End: proto.Int32(400)})
	m.file.proto.Extension = append(m.file.proto.Extension, &descriptorpb.FieldDescriptorProto{
		Name: proto.String(fmt.Sprintf("more%d", m.index)), Number: proto.Int32(300), Extendee: proto.String(m.name),
		Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), Type: kindString.Enum(),
	})
}
