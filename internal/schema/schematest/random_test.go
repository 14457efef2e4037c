package schematest_test

import (
	"fmt"
	"strings"
	"testing"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// examples are drawn by seeds and not by chance, so that what is counted here is the same at every run.
const examples = 2000

var contracts = rapid.Custom(schematest.RandomMessage)

func TestRandomMessage_isDeterministic(t *testing.T) {
	for seed := range 50 {
		a, b := contracts.Example(seed), contracts.Example(seed)
		if schematest.Source(a) != schematest.Source(b) {
			t.Fatalf("seed %d draws two contracts:\n%s\n%s", seed, schematest.Source(a), schematest.Source(b))
		}
	}
}

// TestRandomMessage_derives holds that what is drawn is of use: nearly all of it has a schema in every profile and
// both directions, and documents.
func TestRandomMessage_derives(t *testing.T) {
	const examples = 300
	refused, empty := 0, 0
	for seed := range examples {
		md := contracts.Example(seed)
		profile, _ := schema.Builtin(schema.BuiltinIDs()[seed%4])
		doc, _, err := schema.Input(md, profile)
		if err == nil {
			_, _, err = schema.Output(md, profile)
		}
		if err != nil {
			refused++
			t.Logf("seed %d: %v", seed, err)
			continue
		}
		if !schematest.NewDrawer(doc.Root()).Satisfiable() {
			empty++
		}
	}
	t.Logf("of %d contracts, %d are refused and %d accept no document", examples, refused, empty)
	if refused > examples/20 || empty > examples/20 {
		t.Error("too many are of no use")
	}
}

// TestRandomMessage_coversConstructs holds a row for each construct that is to be drawn, and counts it.
func TestRandomMessage_coversConstructs(t *testing.T) {
	seen := map[string]int{}
	for seed := range examples {
		note(contracts.Example(seed), func(what string) { seen[what]++ })
	}
	var want []string
	for _, k := range []string{"double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes", "enum", "message", "group"} {
		want = append(want, "singular "+k, "repeated "+k)
		switch k {
		case "double", "float", "bytes", "enum", "message", "group":
		default:
			want = append(want, "map key "+k)
		}
		if k != "group" {
			want = append(want, "map value "+k, "oneof "+k)
		}
	}
	for _, name := range []string{"Timestamp", "Duration", "FieldMask", "Struct", "Value", "ListValue", "Any", "Empty", "NullValue",
		"DoubleValue", "FloatValue", "Int64Value", "UInt64Value", "Int32Value", "UInt32Value", "BoolValue", "StringValue", "BytesValue"} {
		want = append(want, "singular "+name, "repeated "+name, "map value "+name, "oneof "+name)
		if name != "NullValue" {
			want = append(want, "root "+name)
		}
	}
	for _, rules := range []string{"string", "bytes", "bool", "enum", "repeated", "map", "any", "field_mask", "timestamp", "duration",
		"double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64"} {
		want = append(want, "rules "+rules)
	}
	want = append(want, "syntax proto2", "syntax proto3", "syntax editions", "two files", "nested message", "nested enum", "recursion", "mutual recursion",
		"required label", "required behavior", "required rule", "required oneof", "output only", "input only", "hidden", "renamed", "json name", "header", "deprecated",
		"proto3 optional", "implicit presence", "closed enum", "open enum", "alias", "negative number", "first number not zero", "unspecified", "default",
		"packed", "expanded", "ignored if zero", "ignored always", "cel", "message cel", "message oneof", "extension", "utf8 unverified",
		"email", "hostname", "ipv4", "ipv6", "uri", "uuid", "pattern", "min_len", "max_len", "const", "in", "not_in", "gt", "gte", "lt", "lte", "unique",
		"min_items", "max_items", "min_pairs", "max_pairs", "items", "keys", "values")
	for _, what := range want {
		if seen[what] == 0 {
			t.Errorf("no contract has: %s", what)
		}
	}
}

// note calls seen for every construct of a contract.
func note(root protoreflect.MessageDescriptor, seen func(string)) {
	if strings.HasPrefix(string(root.FullName()), "google.") {
		seen("root " + string(root.Name()))
		return
	}
	files := []protoreflect.FileDescriptor{root.ParentFile()}
	for i := range root.ParentFile().Imports().Len() {
		if f := root.ParentFile().Imports().Get(i); strings.HasPrefix(f.Path(), "random") {
			files = append(files, f.FileDescriptor)
			seen("two files")
		}
	}
	for _, file := range files {
		seen("syntax " + file.Syntax().String())
		when(file.Extensions().Len() > 0, seen, "extension")
		noteMessages(file.Messages(), seen)
		noteEnums(file.Enums(), seen)
	}
}

func when(on bool, seen func(string), what string) {
	if on {
		seen(what)
	}
}

func noteEnums(enums protoreflect.EnumDescriptors, seen func(string)) {
	for i := range enums.Len() {
		ed := enums.Get(i)
		when(ed.IsClosed(), seen, "closed enum")
		when(!ed.IsClosed(), seen, "open enum")
		when(ed.Options().(*descriptorpb.EnumOptions).GetAllowAlias(), seen, "alias")
		when(ed.Values().Get(0).Number() != 0, seen, "first number not zero")
		for j := range ed.Values().Len() {
			when(ed.Values().Get(j).Number() < 0, seen, "negative number")
			when(strings.HasSuffix(string(ed.Values().Get(j).Name()), "_UNSPECIFIED"), seen, "unspecified")
		}
	}
}

func noteMessages(mds protoreflect.MessageDescriptors, seen func(string)) {
	for i := range mds.Len() {
		md := mds.Get(i)
		if md.IsMapEntry() {
			continue
		}
		_, nested := md.Parent().(protoreflect.MessageDescriptor)
		when(nested, seen, "nested message")
		when(md.Enums().Len() > 0, seen, "nested enum")
		rules, _ := proto.GetExtension(md.Options(), validate.E_Message).(*validate.MessageRules)
		when(len(rules.GetCel()) > 0, seen, "message cel")
		when(len(rules.GetOneof()) > 0, seen, "message oneof")
		for j := range md.Oneofs().Len() {
			rules, _ := proto.GetExtension(md.Oneofs().Get(j).Options(), validate.E_Oneof).(*validate.OneofRules)
			when(rules.GetRequired(), seen, "required oneof")
		}
		for j := range md.Fields().Len() {
			noteField(md.Fields().Get(j), seen)
		}
		noteMessages(md.Messages(), seen)
		noteEnums(md.Enums(), seen)
	}
}

func noteField(fd protoreflect.FieldDescriptor, seen func(string)) {
	names := []string{fd.Kind().String()}
	if fd.IsMap() {
		seen("map key " + fd.MapKey().Kind().String())
		names[0] = fd.MapValue().Kind().String()
	}
	inner := fd
	if fd.IsMap() {
		inner = fd.MapValue()
	}
	for _, d := range []protoreflect.Descriptor{inner.Message(), inner.Enum()} {
		if d != nil && strings.HasPrefix(string(d.FullName()), "google.") {
			names = append(names, string(d.Name()))
		}
	}
	for _, name := range names {
		switch {
		case fd.IsMap():
			seen("map value " + name)
		case fd.IsList():
			seen("repeated " + name)
		case fd.ContainingOneof() != nil && !fd.ContainingOneof().IsSynthetic():
			seen("oneof " + name)
		default:
			seen("singular " + name)
		}
	}
	if inner.Message() != nil {
		when(inner.Message() == fd.ContainingMessage(), seen, "recursion")
		for i := range inner.Message().Fields().Len() {
			back := inner.Message().Fields().Get(i).Message()
			when(back == fd.ContainingMessage() && back != inner.Message(), seen, "mutual recursion")
		}
	}
	when(fd.Cardinality() == protoreflect.Required, seen, "required label")
	when(fd.HasOptionalKeyword() && fd.ParentFile().Syntax() == protoreflect.Proto3, seen, "proto3 optional")
	when(fd.Cardinality() == protoreflect.Optional && !fd.HasPresence(), seen, "implicit presence")
	when(fd.HasDefault(), seen, "default")
	when(fd.IsList() && fd.IsPacked(), seen, "packed")
	when(fd.IsList() && !fd.IsPacked() && fd.Kind() == protoreflect.Int32Kind, seen, "expanded")
	options := protodesc.ToFieldDescriptorProto(fd)
	when(options.GetOptions().GetDeprecated(), seen, "deprecated")
	when(options.GetOptions().GetFeatures().GetUtf8Validation() == descriptorpb.FeatureSet_NONE, seen, "utf8 unverified")
	behaviors, _ := proto.GetExtension(fd.Options(), annotations.E_FieldBehavior).([]annotations.FieldBehavior)
	for _, b := range behaviors {
		seen(map[annotations.FieldBehavior]string{
			annotations.FieldBehavior_REQUIRED: "required behavior", annotations.FieldBehavior_OUTPUT_ONLY: "output only", annotations.FieldBehavior_INPUT_ONLY: "input only",
		}[b])
	}
	when(schema.FieldOption(fd).GetHidden(), seen, "hidden")
	when(schema.FieldOption(fd).GetName() != "", seen, "renamed")
	when(schema.FieldOption(fd).GetHeader() != "", seen, "header")
	when(fd.JSONName() == "Bee" || fd.JSONName() == "with.dot", seen, "json name")
	if rules, _ := proto.GetExtension(fd.Options(), validate.E_Field).(*validate.FieldRules); rules != nil {
		noteRules(rules, seen)
	}
}

func noteRules(rules *validate.FieldRules, seen func(string)) {
	when(rules.GetRequired(), seen, "required rule")
	when(rules.GetIgnore() == validate.Ignore_IGNORE_IF_ZERO_VALUE, seen, "ignored if zero")
	when(rules.GetIgnore() == validate.Ignore_IGNORE_ALWAYS, seen, "ignored always")
	when(len(rules.GetCel()) > 0, seen, "cel")
	m := rules.ProtoReflect()
	typed := m.WhichOneof(m.Descriptor().Oneofs().ByName("type"))
	if typed == nil {
		return
	}
	seen("rules " + string(typed.Name()))
	m.Get(typed).Message().Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		seen(string(fd.Name()))
		if inner, ok := v.Interface().(protoreflect.Message); ok {
			if r, ok := inner.Interface().(*validate.FieldRules); ok {
				noteRules(r, seen)
			}
		}
		return true
	})
}

// TestArguments holds that spellings change nothing, and that simple documents are among those that are drawn.
func TestArguments(t *testing.T) {
	md := schematest.Message(t, `message M { string a_b = 1; int32 n = 2; double d = 3; repeated string list = 4; map<string, M> m = 5;
		google.protobuf.Value v = 6; google.protobuf.Any any = 7; uint32 u = 8; }`)
	profile, _ := schema.Builtin("protojson")
	doc, _, err := schema.Input(md, profile)
	if err != nil {
		t.Fatal(err)
	}
	drawn := rapid.Custom(func(t *rapid.T) string { return schematest.Arguments(t, doc.Root(), 4) })
	seen := map[string]bool{}
	for seed := range 400 {
		text := drawn.Example(seed)
		v, err := schematest.Parse([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for what, hint := range map[string]string{
			"escaped letter": `\u0061`, "escaped name": `"\u0061B"`, "exponent": "e+", "fraction of an integer": `.0`, "minus zero": `"d":-0`, "blank": "\n", "surrogates": `\ud83d`,
			"type named last": `"@type":"type.googleapis.com/t.v1.M"}`, "another order": `"n":`,
		} {
			seen[what] = seen[what] || strings.Contains(text, hint)
		}
		if again, err := schematest.Parse([]byte(v.String())); err != nil || again.String() != v.String() {
			t.Fatalf("%s is not written as it was read: %v", text, err)
		}
	}
	for what, found := range seen {
		if !found {
			t.Errorf("no document has: %s", what)
		}
	}
}

// TestMutants holds that mutants are one JSON value, that they are of many kinds, and that some are accepted by luck.
func TestMutants(t *testing.T) {
	md := schematest.Message(t, `message M { string name = 1 [(buf.validate.field).required = true]; int64 n = 2; google.protobuf.Timestamp at = 3; repeated M list = 4;
		oneof o { string a = 5; string b = 6; } map<int32, string> m = 7; google.protobuf.Any any = 8; bytes raw = 9; E e = 10; } enum E { ZERO = 0; ONE = 1; }`)
	profile, _ := schema.Builtin("protojson")
	doc, _, err := schema.Input(md, profile)
	if err != nil {
		t.Fatal(err)
	}
	type mutant struct{ text, what string }
	drawn := rapid.Custom(func(t *rapid.T) mutant {
		text, what := schematest.Mutants(t, doc.Root(), schematest.Arguments(t, doc.Root(), 3))
		return mutant{text, what}
	})
	kinds := []string{"undeclared", "is null", "turns into", "is gone", "is spelled", "is also spelled", "gets all of a oneof", "gets the key", "becomes", "loses its @type", "names ", "repeats an item", "is drawn anew"}
	seen := map[string]bool{}
	for seed := range 800 {
		m := drawn.Example(seed)
		if _, err := schematest.Parse([]byte(m.text)); err != nil {
			t.Fatalf("%s (%s): %v", m.text, m.what, err)
		}
		for _, kind := range kinds {
			seen[kind] = seen[kind] || strings.Contains(m.what, kind)
		}
		seen[fmt.Sprint("depth ", strings.Count(m.what, "list[]"))] = true
	}
	for _, kind := range append(kinds, "depth 2") {
		if !seen[kind] {
			t.Errorf("no mutant: %s", kind)
		}
	}
}

// TestResponse holds that drawn messages can be written and read.
func TestResponse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := schematest.Response(rt, schematest.RandomMessage(rt), 3)
		if !m.IsValid() {
			rt.Fatal("not a message")
		}
	})
}
