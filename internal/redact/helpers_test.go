package redact_test

import (
	"testing"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// orderProto has a field of every kind that JSON spells in its own way.
const orderProto = `
enum State { STATE_UNSPECIFIED = 0; ACTIVE = 1; CLOSED_BY_CUSTOMER_REQUEST = 2; }
message Line {
  string sku_code = 1;
  int32 quantity = 2;
  map<string, Line> parts = 3;
}
message Card {
  string number = 1;
  int32 code = 2;
}
message M {
  string order_id = 1;
  repeated Line items = 2;
  map<string, string> labels = 3;
  int64 total_cents = 4;
  double amount = 5;
  float weight = 6;
  bytes token = 7;
  google.protobuf.Timestamp placed_at = 8;
  google.protobuf.Duration wait = 9;
  google.protobuf.FieldMask mask = 10;
  google.protobuf.Struct extra = 11;
  google.protobuf.Value any_value = 12;
  google.protobuf.ListValue list = 13;
  google.protobuf.Any detail = 14;
  State state = 15;
  bool urgent = 16;
  google.protobuf.StringValue note = 17;
  string secret = 18 [(sallyport.tool.v1.field).sensitive = true];
  Card card = 19 [(sallyport.tool.v1.field).sensitive = true];
  int32 pin = 20 [(sallyport.tool.v1.field).sensitive = true];
  map<int64, string> by_number = 21;
  repeated string tags = 22;
  string size = 23 [(buf.validate.field).string = {in: ["small", "large"]}];
  int32 grade = 24 [(buf.validate.field).int32 = {in: [4711, 4712]}];
  string renamed_field = 25 [(sallyport.tool.v1.field).name = "shown-as"];
  string internal_note = 26 [(sallyport.tool.v1.field).hidden = true];
  M parent = 27;
  oneof target { string email = 28; int32 user_id = 29; }
  map<bool, string> flags = 30;
  google.protobuf.Timestamp born_at = 31 [(sallyport.tool.v1.field).sensitive = true];
  uint32 count = 32;
  repeated google.protobuf.Timestamp moments = 33;
  repeated google.protobuf.Duration waits = 34;
}
`

// order is the input document of orderProto's message.
func order(t testing.TB) *schema.Document {
	t.Helper()
	return document(t, orderProto)
}

func document(t testing.TB, proto string) *schema.Document {
	t.Helper()
	p, _ := schema.Builtin("protojson")
	doc, _, err := schema.Input(schematest.Message(t, proto), p)
	if err != nil {
		t.Fatalf("derive: %v", err)
	}
	return doc
}
