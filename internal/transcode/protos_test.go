package transcode_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// The messages that the property tests draw: every construct of the three syntaxes.

const proto3Text = `
message M {
  string str = 1; bool flag = 2; bytes raw = 3; double num = 4; float small = 5;
  int32 i32 = 6; sint32 s32 = 7; uint32 u32 = 8; fixed32 f32 = 9; sfixed32 sf32 = 10;
  int64 i64 = 11; sint64 s64 = 12; uint64 u64 = 13; fixed64 f64 = 14; sfixed64 sf64 = 15;
  E state = 16; M child = 17;
  repeated string strs = 20; repeated bool flags = 21; repeated bytes raws = 22; repeated double nums = 23; repeated float smalls = 24;
  repeated int32 i32s = 25; repeated sint64 s64s = 26; repeated uint64 u64s = 27; repeated fixed32 f32s = 28; repeated sfixed64 sf64s = 29;
  repeated E states = 30; repeated M children = 31; repeated int64 expanded = 32 [packed = false]; repeated google.protobuf.NullValue nulls = 33;
  optional string o_str = 40; optional int64 o_i64 = 41; optional double o_num = 42; optional E o_state = 43; optional bytes o_raw = 44; optional bool o_flag = 45;
  oneof pick { string a = 46; M b = 47; int64 c = 48; google.protobuf.NullValue d = 49; Item e = 2000; }
  oneof lone { M only = 1999; }
  string secret = 60 [(sallyport.tool.v1.field).hidden = true]; repeated Item secrets = 61 [(sallyport.tool.v1.field).hidden = true];
  google.protobuf.Value password = 62 [(google.api.field_behavior) = INPUT_ONLY]; map<string, Item> hush = 63 [(sallyport.tool.v1.field).hidden = true];
  string renamed_field = 64 [(sallyport.tool.v1.field).name = "called-this"]; string out = 65 [(google.api.field_behavior) = OUTPUT_ONLY];
  string own_json_name = 536870911 [json_name = "json.Name"];
}
enum E { option allow_alias = true; E_UNSPECIFIED = 0; OPEN = 1; AJAR = 1; SHUT = 2; LAST = -1; FAR = 1048576; }
message Item { string sku_code = 1; int64 quantity = 2; string named = 3 [(sallyport.tool.v1.field).name = "the.name"]; string inner_secret = 4 [(sallyport.tool.v1.field).hidden = true]; repeated Item parts = 5; }
`

const mapsText = `
message M {
  map<string, string> s = 1; map<int32, string> i32 = 2; map<sint32, int64> s32 = 3; map<uint32, bool> u32 = 4; map<fixed32, double> f32 = 5; map<sfixed32, float> sf32 = 6;
  map<int64, bytes> i64 = 7; map<sint64, E> s64 = 8; map<uint64, google.protobuf.Timestamp> u64 = 9; map<fixed64, google.protobuf.Value> f64 = 10; map<sfixed64, M> sf64 = 11;
  map<bool, M> flag = 12; map<string, google.protobuf.Any> any = 13; map<string, google.protobuf.NullValue> null = 14; map<string, M> deep = 15; map<string, uint64> longs = 16;
  map<string, google.protobuf.Int64Value> boxed = 17; map<string, google.protobuf.Empty> empty = 18;
}
enum E { E_UNSPECIFIED = 0; OPEN = 1; }
`

const wellKnownText = `
message M {
  google.protobuf.Timestamp at = 1; google.protobuf.Duration took = 2; google.protobuf.FieldMask mask = 3; google.protobuf.Struct object = 4;
  google.protobuf.ListValue list = 5; google.protobuf.Value value = 6; google.protobuf.Any detail = 7; google.protobuf.Empty nothing = 8; google.protobuf.NullValue null = 9;
  google.protobuf.DoubleValue w_double = 10; google.protobuf.FloatValue w_float = 11; google.protobuf.Int64Value w_i64 = 12; google.protobuf.UInt64Value w_u64 = 13;
  google.protobuf.Int32Value w_i32 = 14; google.protobuf.UInt32Value w_u32 = 15; google.protobuf.BoolValue w_bool = 16; google.protobuf.StringValue w_str = 17; google.protobuf.BytesValue w_bytes = 18;
  repeated google.protobuf.Timestamp ats = 21; repeated google.protobuf.Duration tooks = 22; repeated google.protobuf.FieldMask masks = 23; repeated google.protobuf.Struct objects = 24;
  repeated google.protobuf.ListValue lists = 25; repeated google.protobuf.Value values = 26; repeated google.protobuf.Any details = 27; repeated google.protobuf.Empty nothings = 28;
  repeated google.protobuf.UInt64Value w_u64s = 29;
  oneof pick { google.protobuf.Value any_json = 30; google.protobuf.Any any_message = 31; google.protobuf.NullValue picked_null = 32; google.protobuf.StringValue text = 33; }
  M child = 40;
}
`

const proto2Text = schematest.Head2 + `
message M {
  optional string lax = 1 [default = "d"]; required int32 must = 2; optional E state = 3 [default = OPEN]; repeated string laxes = 4;
  optional group Part = 5 { optional string text = 1; repeated group Sub = 2 { optional int64 n = 1; } optional M back = 3; }
  repeated group Parts = 8 { optional bytes raw = 9; map<string, E> states = 10; }
  oneof pick { group Chosen = 11 { optional int32 n = 1; } string other = 12; M child = 13; }
  map<string, E> by_state = 14; map<string, string> lax_map = 15; repeated E states = 16 [packed = true]; repeated sint32 many = 17;
  optional string lax_secret = 18 [(sallyport.tool.v1.field).hidden = true]; optional group Hush = 19 { optional string text = 1; }
  extensions 100 to 200;
}
enum E { SHUT = 0; OPEN = 3; }
extend M { optional string extra = 100; repeated M more = 101; }
`

const editionsText = schematest.Head2023 + `
message M {
  string present = 1; string implicit = 2 [features.field_presence = IMPLICIT]; string must = 3 [features.field_presence = LEGACY_REQUIRED];
  M child = 4 [features.message_encoding = DELIMITED]; repeated Item items = 5 [features.message_encoding = DELIMITED]; Item plain = 6;
  string lax = 7 [features.utf8_validation = NONE]; repeated string laxes = 8 [features.utf8_validation = NONE]; string lax_implicit = 9 [features.utf8_validation = NONE, features.field_presence = IMPLICIT];
  repeated int32 expanded = 10 [features.repeated_field_encoding = EXPANDED]; repeated int32 packed = 11;
  Closed closed = 12; Open open = 13; Open implicit_open = 14 [features.field_presence = IMPLICIT]; map<string, Zero> by_closed = 15; map<int32, Item> by_item = 16;
  oneof pick { Item chosen = 17 [features.message_encoding = DELIMITED]; string lax_choice = 18 [features.utf8_validation = NONE]; int64 count = 19; }
  double implicit_num = 20 [features.field_presence = IMPLICIT]; bytes implicit_raw = 21 [features.field_presence = IMPLICIT];
  string lax_secret = 22 [features.utf8_validation = NONE, (sallyport.tool.v1.field).hidden = true];
  extensions 100 to 200;
}
message Item { M back = 1 [features.message_encoding = DELIMITED]; int64 n = 2; string text = 3; }
enum Open { UNSPECIFIED = 0; ONE = 1; }
enum Zero { option features.enum_type = CLOSED; NONE = 0; TWO = 2; }
enum Closed { option features.enum_type = CLOSED; FIVE = 5; SIX = 6; }
`

// texts are the declarations of the messages that the property tests draw, by name.
var texts = map[string]string{"proto3": proto3Text, "maps": mapsText, "well-known types": wellKnownText, "proto2": proto2Text, "editions": editionsText}

// plain takes away from a declaration what ProtoJSON does not know: names of ours, and fields that are in no result.
var plain = strings.NewReplacer(
	`(sallyport.tool.v1.field).hidden = true`, `deprecated = true`,
	`(sallyport.tool.v1.field).name = "called-this"`, `deprecated = true`,
	`(sallyport.tool.v1.field).name = "the.name"`, `deprecated = true`,
	`= INPUT_ONLY`, `= OPTIONAL`)

// messages compiles the texts.
func messages(t testing.TB) map[string]protoreflect.MessageDescriptor {
	t.Helper()
	found := map[string]protoreflect.MessageDescriptor{}
	for name, text := range texts {
		found[name] = schematest.Message(t, text)
	}
	return found
}
