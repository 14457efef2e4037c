package gate_test

import (
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

// fields is a message with a field of every construct, and without rules.
const fields = `
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

func TestGate_writesTheRequest(t *testing.T) {
	md := schematest.Message(t, fields)
	for _, row := range []struct{ name, profile, arguments, protojson string }{
		{"nothing", "protojson", ``, `{}`},
		{"null", "protojson", `null`, `{}`},
		{"empty", "protojson", ` {} `, `{}`},
		{"scalars", "protojson", `{"str":"x","flag":true,"raw":"YQ==","num":1.5,"small":0.1,"i32":-1,"u32":1,"i64":"-5","u64":"18446744073709551615"}`,
			`{"str":"x","flag":true,"raw":"YQ==","num":1.5,"small":0.1,"i32":-1,"u32":1,"i64":"-5","u64":"18446744073709551615"}`},
		{"1.0 and 1e2 are integers", "protojson", `{"i32":1.0,"u32":1e2}`, `{"i32":1,"u32":100}`},
		{"0.0 and 100e-2 are integers", "protojson", `{"i32":100e-2,"u32":0.0e5}`, `{"i32":1}`},
		{"escapes", "protojson", `{"str":"\u0041\ud83d\ude00\n"}`, `{"str":"A😀\n"}`},
		{"well-known types", "protojson", `{"at":"2024-01-01T00:00:00Z","took":"1.5s","mask":"aB.c","boxed":"7","nothing":{},"null":null}`,
			`{"at":"2024-01-01T00:00:00Z","took":"1.5s","mask":"aB.c","boxed":"7","nothing":{},"null":null}`},
		{"open values", "protojson", `{"object":{"a":[1,null]},"list":["x",{}],"anyJson":{"str":"42"}}`, `{"object":{"a":[1,null]},"list":["x",{}],"anyJson":{"str":"42"}}`},
		{"a value that is null", "protojson", `{"anyJson":null}`, `{"anyJson":null}`},
		{"nested, repeated, maps", "protojson", `{"items":[{"skuCode":"x","parts":[{"skuCode":"y"}]}],"byName":{"k":{"quantity":"3"}},"byNumber":{"-5":"x"},"byFlag":{"true":"y"}}`,
			`{"items":[{"skuCode":"x","parts":[{"skuCode":"y"}]}],"byName":{"k":{"quantity":"3"}},"byNumber":{"-5":"x"},"byFlag":{"true":"y"}}`},
		{"enum", "protojson", `{"state":"OPEN"}`, `{"state":"OPEN"}`},
		{"oneof", "protojson", `{"b":""}`, `{"b":""}`},
		{"presence", "protojson", `{"maybe":""}`, `{"maybe":""}`},
		{"published names", "protojson", `{"called":"x","items":[{"the.name":"y"}]}`, `{"renamedField":"x","items":[{"named":"y"}]}`},
		{"published names of a proto profile", "proto", `{"called":"x","any_json":1,"items":[{"the.name":"y","sku_code":"z"}]}`, `{"renamedField":"x","anyJson":1,"items":[{"named":"y","skuCode":"z"}]}`},
		{"numeric", "numeric", `{"i64":-9223372036854775808,"u64":18446744073709551615,"boxed":9007199254740993,"items":[{"quantity":1e2}],"longs":{"k":5},"many":[1.0]}`,
			`{"i64":"-9223372036854775808","u64":"18446744073709551615","boxed":"9007199254740993","items":[{"quantity":"100"}],"longs":{"k":"5"},"many":["1"]}`},
		{"an exact number above 2^53", "protojson", `{"i64":"9007199254740993"}`, `{"i64":"9007199254740993"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := newPair(t, derive(t, md, row.profile))
			got, refusal := p.gate.Judge([]byte(row.arguments))
			if refusal != nil {
				t.Fatal(refusal.Text())
			}
			want, written := dynamicpb.NewMessage(md), dynamicpb.NewMessage(md)
			if err := protojson.Unmarshal([]byte(row.protojson), want); err != nil {
				t.Fatal(err)
			}
			if err := proto.Unmarshal(got.Wire, written); err != nil || !p.equal(written, want) {
				t.Errorf("wrote %v, want %v: %v", written, want, err)
			}
		})
	}
}

// TestGate_writesAnAny: what an Any holds is written by the type that it names, wherever the name stands.
func TestGate_writesAnAny(t *testing.T) {
	md := schematest.Message(t, fields)
	p := newPair(t, derive(t, md, "protojson"))
	item := md.ParentFile().Messages().ByName("Item")
	for _, arguments := range []string{
		`{"detail":{"@type":"type.googleapis.com/t.v1.Item","skuCode":"x","the.name":"y"}}`,
		`{"detail":{"skuCode":"x","the.name":"y","@type":"type.googleapis.com/t.v1.Item"}}`,
		`{"detail":{"the.name":"y","@type":"type.googleapis.com\/t.v1.Item","skuCode":"x"}}`,
	} {
		got, refusal := p.gate.Judge([]byte(arguments))
		if refusal != nil {
			t.Fatal(refusal.Text())
		}
		m, held, want := dynamicpb.NewMessage(md), dynamicpb.NewMessage(item), dynamicpb.NewMessage(item)
		if err := proto.Unmarshal(got.Wire, m); err != nil {
			t.Fatal(err)
		}
		detail := m.Get(md.Fields().ByName("detail")).Message()
		if err := proto.Unmarshal(detail.Get(detail.Descriptor().Fields().ByName("value")).Bytes(), held); err != nil {
			t.Fatal(err)
		}
		if err := protojson.Unmarshal([]byte(`{"skuCode":"x","named":"y"}`), want); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(held, want) {
			t.Errorf("%s: holds %v", arguments, held)
		}
	}
}
