package boundary_test

// The contracts that the hostile corpus is judged by. Every message has a `note`, which carries the canary of a payload
// whose hostile part has no room for one.

// hostileProto declares a field of every construct, and one tool for each way of judging it.
const hostileProto = `
syntax = "proto3";
package hostile.v1;

import "buf/validate/validate.proto";
import "google/api/field_behavior.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/empty.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "sallyport/tool/v1/options.proto";

service HostileService {
  rpc Judge(Everything) returns (Receipt) { option (sallyport.tool.v1.tool) = {name: "judge"}; }
  rpc JudgeProto(Everything) returns (Receipt) { option (sallyport.tool.v1.tool) = {name: "judge_proto", json_profile: "proto"}; }
  rpc JudgeNumeric(Everything) returns (Receipt) { option (sallyport.tool.v1.tool) = {name: "judge_numeric", json_profile: "numeric"}; }
  rpc Bound(Bounded) returns (Receipt) { option (sallyport.tool.v1.tool) = {name: "bound"}; }
  rpc Need(Needed) returns (Receipt) { option (sallyport.tool.v1.tool) = {name: "need"}; }
  rpc Choose(Chosen) returns (Receipt) { option (sallyport.tool.v1.tool) = {name: "choose"}; }
  rpc Constrain(Constrained) returns (Receipt) { option (sallyport.tool.v1.tool) = {name: "constrain"}; }
  rpc Fail(FailRequest) returns (Receipt) { option (sallyport.tool.v1.tool) = {name: "fail"}; }
  rpc Echo(EchoMessage) returns (EchoMessage) { option (sallyport.tool.v1.tool) = {name: "echo"}; }
  rpc Deny(Needed) returns (Receipt) { option (sallyport.tool.v1.tool) = {name: "denied", access: {mode: ACCESS_MODE_DENY_ALL}}; }
}

// In a zone that no application reaches.
service HiddenService {
  option (sallyport.tool.v1.service) = {zone: "management-api"};
  rpc Hide(Needed) returns (Receipt) { option (sallyport.tool.v1.tool) = {name: "hidden"}; }
}

// In the zone of another application.
service ForeignService {
  option (sallyport.tool.v1.service) = {zone: "app.other-org.shop"};
  rpc Shop(Needed) returns (Receipt) { option (sallyport.tool.v1.tool) = {name: "foreign"}; }
}

message Receipt { bool ok = 1; }

message Everything {
  string note = 1;
  bool flag = 2;
  bytes raw = 3;
  double num = 4;
  float small = 5;
  int32 i32 = 6;
  sint32 s32 = 7;
  sfixed32 x32 = 8;
  uint32 u32 = 9;
  fixed32 f32 = 10;
  int64 i64 = 11;
  sint64 s64 = 12;
  sfixed64 x64 = 13;
  uint64 u64 = 14;
  fixed64 f64 = 15;
  Color color = 16;
  google.protobuf.Timestamp at = 17;
  google.protobuf.Duration took = 18;
  google.protobuf.FieldMask mask = 19;
  google.protobuf.Struct object = 20;
  google.protobuf.ListValue list = 21;
  google.protobuf.Value any_json = 22;
  google.protobuf.Empty nothing = 23;
  google.protobuf.NullValue nil = 24;
  google.protobuf.DoubleValue boxed_num = 25;
  google.protobuf.FloatValue boxed_small = 26;
  google.protobuf.Int64Value boxed_long = 27;
  google.protobuf.UInt64Value boxed_ulong = 28;
  google.protobuf.Int32Value boxed_int = 29;
  google.protobuf.UInt32Value boxed_uint = 30;
  google.protobuf.BoolValue boxed_flag = 31;
  google.protobuf.StringValue boxed_text = 32;
  google.protobuf.BytesValue boxed_raw = 33;
  Item item = 34;
  repeated Item items = 35;
  repeated string words = 36;
  repeated int32 numbers = 37;
  repeated int64 longs = 38;
  repeated Color colors = 39;
  repeated google.protobuf.Timestamp times = 40;
  repeated bool flags = 41;
  map<string, Item> by_name = 42;
  map<string, string> labels = 43;
  map<int32, string> by_int = 44;
  map<uint32, string> by_uint = 45;
  map<int64, string> by_long = 46;
  map<uint64, int64> by_ulong = 47;
  map<bool, string> by_flag = 48;
  map<string, google.protobuf.Value> open_by_name = 49;
  string order_id = 50;
  oneof pick {
    string left = 51;
    string right = 52;
    int64 third = 53;
    Item fourth = 54;
  }
  oneof other {
    bool up = 55;
    bool down = 56;
  }
  optional string maybe = 57;
  string secret = 58 [(sallyport.tool.v1.field).hidden = true];
  string stamp = 59 [(google.api.field_behavior) = OUTPUT_ONLY];
  string renamed_field = 60 [(sallyport.tool.v1.field).name = "called"];
}

enum Color {
  option allow_alias = true;
  COLOR_UNSPECIFIED = 0;
  RED = 1;
  SCARLET = 1;
  GREEN = 2;
}

message Item {
  string sku = 1;
  int32 quantity = 2;
  repeated Item parts = 3;
}

// Every rule that JSON Schema can say. Fields with a rule that their zero value breaks have presence, or sit in a message
// of their own.
message Bounded {
  string note = 1;
  optional string short = 2 [(buf.validate.field).string.max_len = 4];
  optional string long = 3 [(buf.validate.field).string.min_len = 3];
  optional string exact = 4 [(buf.validate.field).string.len = 2];
  optional string form = 5 [(buf.validate.field).string.pattern = "^[a-z]{2,4}$"];
  optional string choice = 6 [(buf.validate.field).string = {in: ["x", "y"]}];
  optional string banned = 7 [(buf.validate.field).string = {not_in: ["x", "y"]}];
  optional string fixed = 8 [(buf.validate.field).string.const = "on"];
  optional string mail = 9 [(buf.validate.field).string.email = true];
  optional string host = 10 [(buf.validate.field).string.hostname = true];
  optional string four = 11 [(buf.validate.field).string.ipv4 = true];
  optional string six = 12 [(buf.validate.field).string.ipv6 = true];
  optional string link = 13 [(buf.validate.field).string.uri = true];
  optional string ident = 14 [(buf.validate.field).string.uuid = true];
  optional int32 inner = 15 [(buf.validate.field).int32 = {gt: 0, lt: 10}];
  optional int64 ends = 16 [(buf.validate.field).int64 = {gte: -5, lte: 5}];
  optional uint64 above = 17 [(buf.validate.field).uint64.gte = 18446744073709551615];
  optional double ratio = 18 [(buf.validate.field).double = {gte: 0.5, lt: 1.5}];
  optional float slim = 19 [(buf.validate.field).float.gt = 0];
  optional int32 even = 20 [(buf.validate.field).int32 = {in: [2, 4]}];
  optional int32 odd = 21 [(buf.validate.field).int32 = {not_in: [2, 4]}];
  optional bool on = 22 [(buf.validate.field).bool.const = true];
  optional Color hue = 23 [(buf.validate.field).enum = {in: [2]}];
  Counted counted = 24;
  repeated int32 unique = 25 [(buf.validate.field).repeated.unique = true];
  repeated string each = 26 [(buf.validate.field).repeated.items.string.max_len = 3];
  map<string, int32> keyed = 27 [(buf.validate.field).map = {keys: {string: {max_len: 3}}, values: {int32: {gte: 0}}}];
}

message Counted {
  repeated string list = 1 [(buf.validate.field).repeated = {min_items: 2, max_items: 3}];
  map<string, string> pairs = 2 [(buf.validate.field).map = {min_pairs: 1, max_pairs: 2}];
}

message Needed {
  string note = 1;
  string sku = 2 [(buf.validate.field).required = true];
  int32 count = 3 [(google.api.field_behavior) = REQUIRED];
  Inner inner = 4 [(buf.validate.field).required = true];
  repeated Inner more = 5;
  map<string, Inner> by_name = 6;
}
message Inner { string id = 1 [(google.api.field_behavior) = REQUIRED]; }

message Chosen {
  string note = 1;
  oneof pick {
    option (buf.validate.oneof).required = true;
    string left = 2;
    string right = 3;
  }
}

// Rules that no keyword says.
message Constrained {
  option (buf.validate.message).cel = {
    id: "ordered", message: "low must not be above high", expression: "this.low <= this.high"
  };
  option (buf.validate.message).cel = {
    id: "told", expression: "this.low == 3 ? 'not ' + this.note : ''"
  };
  string note = 1;
  int32 low = 2;
  int32 high = 3;
  string begins = 4 [(buf.validate.field) = {ignore: IGNORE_IF_ZERO_VALUE, string: {prefix: "p-"}}];
}

message FailRequest {
  string note = 1;
  int32 code = 2;
  string order_id = 3;
  int64 number = 4;
  map<string, string> labels = 5;
  repeated string words = 6;
}

message EchoMessage {
  string note = 1;
  google.protobuf.Value any_json = 2;
}
`

// parcelProto has an Any and few messages, so that a refusal can name them all.
const parcelProto = `
syntax = "proto3";
package parcel.v1;

import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "sallyport/tool/v1/options.proto";

service ParcelService {
  rpc Send(Parcel) returns (Parcel) { option (sallyport.tool.v1.tool) = {name: "parcel"}; }
}
message Parcel {
  string note = 1;
  google.protobuf.Any detail = 2;
  repeated google.protobuf.Any details = 3;
  map<string, google.protobuf.Any> by_key = 4;
}
message Leaf {
  string sku = 1;
  int32 quantity = 2;
}
`

// offlineProto is a contract whose last instance left.
const offlineProto = `
syntax = "proto3";
package offline.v1;
import "sallyport/tool/v1/options.proto";

service OfflineService {
  rpc Sleep(Sleeper) returns (Sleeper) { option (sallyport.tool.v1.tool) = {name: "asleep"}; }
}
message Sleeper { string note = 1; }
`
