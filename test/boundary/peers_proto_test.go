package boundary_test

import (
	"strconv"
	"strings"

	_ "google.golang.org/genproto/googleapis/api/expr/v1alpha1" // a real type that recurses, for the contract below
)

// peersTexts is the contract of the table of peers: whatever other bridges stumbled over, in several files, packages
// and syntaxes.
func peersTexts() map[string]string {
	return map[string]string{
		"peers/v1/peers.proto":           peersProto + diamond(18),
		"peers/numeric/v1/numeric.proto": numericProto,
		"peers/shared/v1/shared.proto":   sharedProto,
		"peers/answer/v1/answer.proto":   answerProto,
		"peers/old/v1/old.proto":         oldProto,
		"peers/next/v1/next.proto":       nextProto,
		"peers/lower/v1/lower.proto":     lowerProto,
		"com/a/v1/foo.proto":             strings.ReplaceAll(twinProto, "LETTER", "a"),
		"com/b/v1/foo.proto":             strings.ReplaceAll(twinProto, "LETTER", "b"),
	}
}

const peersProto = `
syntax = "proto3";
package peers.v1;
import "buf/validate/validate.proto";
import "google/api/expr/v1alpha1/syntax.proto";
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/empty.proto";
import "google/protobuf/field_mask.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "peers/shared/v1/shared.proto";
import "peers/answer/v1/answer.proto";
import "sallyport/tool/v1/options.proto";

// What other bridges stumbled over.
service PeersService {
  option (sallyport.tool.v1.service) = {title: "Peers"};

  rpc Walk(Node) returns (Node);
  rpc Parse(google.api.expr.v1alpha1.ParsedExpr) returns (google.protobuf.Empty);
  rpc Mix(A) returns (google.protobuf.Empty);
  rpc Descend(D0) returns (google.protobuf.Empty);
  rpc Find(FindRequest) returns (FindRequest);
  rpc Choose(Choice) returns (Choice);
  rpc Which(WhichRequest) returns (WhichRequest);
  rpc Wrap(Envelope) returns (Envelope);
  rpc Nothing(google.protobuf.Empty) returns (google.protobuf.Empty);
  rpc Share(peers.shared.v1.SharedRequest) returns (peers.answer.v1.SharedResponse);
  rpc Carry(Parcel) returns (Parcel);
  rpc SayText(google.protobuf.Empty) returns (google.protobuf.StringValue);
  rpc SayTime(google.protobuf.Empty) returns (google.protobuf.Timestamp);
  rpc SayList(google.protobuf.Empty) returns (google.protobuf.ListValue);
  rpc TakeStruct(google.protobuf.Struct) returns (google.protobuf.Struct);
  rpc TakeText(google.protobuf.StringValue) returns (google.protobuf.Empty);
  rpc GetReport(google.protobuf.Empty) returns (Report);
  rpc Judge(Rules) returns (google.protobuf.Empty);
  rpc Paint(PaintRequest) returns (PaintRequest);
  rpc Arrange(Shapes) returns (Shapes);
  rpc GetAPIKeyByID(google.protobuf.Empty) returns (google.protobuf.Empty);
  // Says "quoted" things, and ` + "`raw`" + ` ones.
  rpc Quote(google.protobuf.Empty) returns (google.protobuf.Empty) {
    option (sallyport.tool.v1.tool) = {description: "He said \"so\" and left a \\ behind. ${x}", confirm: true};
  }
  // Removes something, after the host has asked its user.
  rpc Confirm(google.protobuf.Empty) returns (google.protobuf.Empty) {
    option (sallyport.tool.v1.tool) = {description: "Removes it.", confirm: true, destructive_hint: true};
  }
}

// Its name ends like that of another service.
service OtherPeersService {
  option (sallyport.tool.v1.service) = {};
  rpc Walk(Node) returns (Node);
}

message Node {
  string name = 1;
  repeated Node children = 2;
}

// Four messages, each with one field of each.
message A { A a = 1; B b = 2; C c = 3; D d = 4; }
message B { A a = 1; B b = 2; C c = 3; D d = 4; }
message C { A a = 1; B b = 2; C c = 3; D d = 4; }
message D { A a = 1; B b = 2; C c = 3; D d = 4; string leaf = 5; }

message FindRequest {
  message Filter {
    int64 min_version = 1;
    uint64 max_version = 2;
    repeated sfixed64 ids = 3;
    map<int64, uint64> counts = 4;
  }
  Filter filter = 1;
}

message Choice {
  oneof target {
    string email = 1;
    int64 user_id = 2;
  }
  oneof moment {
    google.protobuf.Timestamp at = 3;
    google.protobuf.Duration after = 4;
  }
}

message WhichRequest {
  oneof it {
    string which = 1;
    int32 other = 2;
  }
}

message Envelope { google.protobuf.Any payload = 1; }
message Nested { string name = 1; int64 number = 2; }

message Parcel { google.protobuf.Value any = 1; string note = 2; }

enum Mood {
  MOOD_UNSPECIFIED = 0;
  MOOD_GOOD = 1;
  MOOD_BAD = 2;
}

enum Color {
  RED = 0;
  GREEN = 1;
}

message Report {
  Mood mood = 1;
  repeated Mood moods = 2;
  double ratio = 3;
  float small = 4;
  google.protobuf.NullValue nothing = 5;
  int64 count = 6;
  google.protobuf.Timestamp at = 7;
  google.protobuf.Duration took = 8;
  google.protobuf.FieldMask mask = 9;
  google.protobuf.Int64Value maybe = 10;
  bytes raw = 11;
  map<string, Nested> parts = 12;
  optional string remark = 13;
}

message Rules {
  string id = 1 [(buf.validate.field).required = true];
  optional int64 positive = 2 [(buf.validate.field).int64.gt = 0];
  optional uint64 wide = 3 [(buf.validate.field).uint64.lte = 18446744073709551615];
  optional string kind = 4 [(buf.validate.field).string = {in: ["near", "far"]}];
  optional string link = 5 [(buf.validate.field).string.uri = true];
  repeated string tags = 6 [(buf.validate.field).repeated = {max_items: 2, unique: true, items: {string: {min_len: 2}}}];
  map<string, int32> scores = 7 [(buf.validate.field).map = {max_pairs: 2, keys: {string: {min_len: 2}}, values: {int32: {gte: 0}}}];
  optional Mood mood = 8 [(buf.validate.field).enum = {not_in: [2]}];
  optional string mail = 9 [(buf.validate.field).string.email = true];
  optional string code = 10 [(buf.validate.field).string.pattern = "^[a-z]+$"];
  optional uint32 part = 11 [(buf.validate.field).uint32 = {gte: 1, lte: 10}];
}

// Everything in it is sent as callers like; nothing is required.
message PaintRequest {
  Color color = 1;
  google.protobuf.FieldMask mask = 2;
  google.protobuf.Any extra = 3;
  google.protobuf.Duration wait = 4;
  google.protobuf.Int32Value size = 5;
  string name = 6;
  int32 layers = 7;
  bool glossy = 8;
}

message Shapes {
  message Shape {
    // What it is called.
    string name = 1;
    Color color = 2;
  }
  repeated Shape items = 1;
  map<string, Shape> by_name = 2;
  Shape main = 3;
}
`

// diamond is depth+1 messages, each of which has the next one twice.
func diamond(depth int) string {
	var b strings.Builder
	for i := range depth {
		next := "D" + strconv.Itoa(i+1)
		b.WriteString("message D" + strconv.Itoa(i) + " { " + next + " left = 1; " + next + " right = 2; }\n")
	}
	b.WriteString("message D" + strconv.Itoa(depth) + " { string leaf = 1; }\n")
	return b.String()
}

const numericProto = `
syntax = "proto3";
package peers.numeric.v1;
import "google/protobuf/empty.proto";
import "peers/v1/peers.proto";
import "sallyport/tool/v1/options.proto";

service NumericService {
  option (sallyport.tool.v1.service) = {json_profile: "numeric"};
  rpc Find(peers.v1.FindRequest) returns (peers.v1.FindRequest);
  rpc Judge(peers.v1.Rules) returns (google.protobuf.Empty);
}
`

const sharedProto = `
syntax = "proto3";
package peers.shared.v1;
message SharedRequest { string word = 1; }
`

const answerProto = `
syntax = "proto3";
package peers.answer.v1;
message SharedResponse { string word = 1; }
`

const oldProto = `
syntax = "proto2";
package peers.old.v1;
import "sallyport/tool/v1/options.proto";

service OldService {
  option (sallyport.tool.v1.service) = {};
  rpc Old(OldRequest) returns (OldRequest);
}
message OldRequest {
  required string id = 1;
  optional group Inner = 2 { optional string text = 1; }
  repeated group Many = 3 { optional int32 number = 1; }
}
`

const nextProto = `
edition = "2023";
package peers.next.v1;
import "sallyport/tool/v1/options.proto";

service NextService {
  option (sallyport.tool.v1.service) = {};
  // Does it in an edition.
  rpc Next(NextRequest) returns (NextRequest);
}
message NextRequest {
  string id = 1 [features.field_presence = LEGACY_REQUIRED];
  Inner inner = 2 [features.message_encoding = DELIMITED];
  repeated int32 numbers = 3 [features.repeated_field_encoding = EXPANDED];
  string plain = 4 [features.field_presence = IMPLICIT];
  message Inner { string text = 1; }
}
`

const lowerProto = `
syntax = "proto3";
package peers.lower.v1;
import "sallyport/tool/v1/options.proto";

service lower_svc {
  option (sallyport.tool.v1.service) = {};
  rpc do_it(lower_request) returns (lower_request);
}
message lower_request { string Some_field = 1; }
`

const twinProto = `
syntax = "proto3";
package com.LETTER.v1;
import "sallyport/tool/v1/options.proto";

service Foo {
  option (sallyport.tool.v1.service) = {};
  // Gets it from LETTER.
  rpc Get(GetRequest) returns (GetRequest);
}
message GetRequest { string LETTER = 1; }
`

// silentProto is a service that asks to be exposed and has no RPC.
const silentProto = `
syntax = "proto3";
package silent.v1;
import "sallyport/tool/v1/options.proto";

service Silent {
  option (sallyport.tool.v1.service) = {};
}
`
