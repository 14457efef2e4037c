package transcode_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/transcode"
)

const everything = `
message M {
  string str = 1; bool flag = 2; bytes raw = 3; double num = 4; float small = 5;
  int32 i32 = 6; uint32 u32 = 7; int64 i64 = 8; uint64 u64 = 9;
  E state = 10; google.protobuf.Timestamp at = 11; google.protobuf.Duration took = 12; google.protobuf.FieldMask mask = 13;
  google.protobuf.Struct object = 14; google.protobuf.ListValue list = 15; google.protobuf.Value any_json = 16;
  google.protobuf.Any detail = 17; google.protobuf.Empty nothing = 18; google.protobuf.NullValue null = 19;
  google.protobuf.Int64Value boxed = 20;
  repeated Item items = 21; map<string, Item> by_name = 22; map<int64, string> by_number = 23; map<bool, string> by_flag = 24;
  oneof pick { string a = 25; string b = 26; }
  string secret = 27 [(sallyport.tool.v1.field).hidden = true];
  string password = 28 [(google.api.field_behavior) = INPUT_ONLY];
  string renamed_field = 29 [(sallyport.tool.v1.field).name = "called"];
  optional string maybe = 30;
  map<string, int64> longs = 31; repeated uint64 many = 32;
}
enum E { E_UNSPECIFIED = 0; OPEN = 1; }
message Item { string sku_code = 1; int64 quantity = 2; repeated Item parts = 3; string named = 4 [(sallyport.tool.v1.field).name = "the.name"]; string inner_secret = 5 [(sallyport.tool.v1.field).hidden = true]; }
`

func profile(t testing.TB, id string) schema.Profile {
	t.Helper()
	p, ok := schema.Builtin(id)
	if !ok {
		t.Fatalf("no profile %q", id)
	}
	return p
}

func compileResults(t testing.TB, md protoreflect.MessageDescriptor, id string) *transcode.Results {
	t.Helper()
	r, err := transcode.CompileResults(md, profile(t, id))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wireOf reads ProtoJSON into a dynamic message and returns its bytes.
func wireOf(t testing.TB, md protoreflect.MessageDescriptor, text string) []byte {
	t.Helper()
	m := dynamicpb.NewMessage(md)
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	wire, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

func textBlock(text string) string {
	quoted, _ := protojson.Marshal(structpb.NewStringValue(text))
	// protojson escapes like the codec does, but for what HTML would mind.
	return `[{"type":"text","text":` + string(quoted) + `}]`
}

// Records of a message, for wires that no serializer writes.

func varint(number protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), v)
}

func fixed32(number protowire.Number, v uint32) []byte {
	return protowire.AppendFixed32(protowire.AppendTag(nil, number, protowire.Fixed32Type), v)
}

func fixed64(number protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(nil, number, protowire.Fixed64Type), v)
}

func text(number protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, number, protowire.BytesType), s)
}

func nested(number protowire.Number, parts ...[]byte) []byte {
	return text(number, string(join(parts...)))
}

func group(number protowire.Number, parts ...[]byte) []byte {
	return protowire.AppendGroup(protowire.AppendTag(nil, number, protowire.StartGroupType), number, join(parts...))
}

func join(parts ...[]byte) []byte {
	var wire []byte
	for _, part := range parts {
		wire = append(wire, part...)
	}
	return wire
}
