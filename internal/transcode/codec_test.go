package transcode_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/gate/gatetest"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
	"github.com/sallyport-dev/sallyport/internal/transcode"
)

func compile(t testing.TB, in, out protoreflect.MessageDescriptor, id string) *transcode.Codec {
	t.Helper()
	c, err := transcode.Compile(in, out, profile(t, id))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCodec_encode(t *testing.T) {
	md := schematest.Message(t, everything)
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
			wire, err := compile(t, md, md, row.profile).Encode([]byte(row.arguments))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wireOf(t, md, row.protojson), wire); diff != "" {
				t.Errorf("wire (-want +got):\n%s", diff)
			}
		})
	}
	for _, row := range []struct{ name, arguments, want string }{
		{"Any of the contract's own message", `{"detail":{"@type":"type.googleapis.com/t.v1.Item","skuCode":"x","the.name":"y"}}`, `{"skuCode":"x","named":"y"}`},
		{"Any with its type last", `{"detail":{"the.name":"y","@type":"type.googleapis.com/t.v1.Item"}}`, `{"named":"y"}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			wire, err := compile(t, md, md, "protojson").Encode([]byte(row.arguments))
			if err != nil {
				t.Fatal(err)
			}
			m := dynamicpb.NewMessage(md)
			if err := proto.Unmarshal(wire, m); err != nil {
				t.Fatal(err)
			}
			detail := m.Get(md.Fields().ByName("detail")).Message()
			item := md.ParentFile().Messages().ByName("Item")
			if got := detail.Get(detail.Descriptor().Fields().ByName("value")).Bytes(); string(got) != string(wireOf(t, item, row.want)) {
				t.Errorf("got %x", got)
			}
		})
	}
	for _, row := range []struct{ name, arguments string }{
		{"undeclared", `{"canary":1}`}, {"hidden", `{"secret":"x"}`}, {"hidden at depth", `{"items":[{"innerSecret":"x"}]}`},
		{"foreign Any", `{"detail":{"@type":"type.googleapis.com/google.rpc.Status"}}`}, {"no object", `[]`}, {"bytes after it", `{} {}`},
	} {
		t.Run("refuses "+row.name, func(t *testing.T) {
			if wire, err := compile(t, md, md, "protojson").Encode([]byte(row.arguments)); err == nil {
				t.Errorf("encoded %x", wire)
			}
		})
	}
}

func TestCodec_decode(t *testing.T) {
	md := schematest.Message(t, everything)
	// Fields without presence are written in every profile but compact.
	const defaults = `"str":"","flag":false,"raw":"","num":0,"small":0,"i32":0,"u32":0,"i64":"0","u64":"0","state":"E_UNSPECIFIED","null":null,"items":[],"byName":{},"byNumber":{},"byFlag":{},"called":"","longs":{},"many":[]`
	for _, row := range []struct{ name, profile, protojson, want string }{
		{"nothing", "protojson", `{}`, `{` + defaults + `}`},
		{"nothing, compact", "compact", `{}`, `{}`},
		{"scalars", "compact", `{"str":"<&>\u2028","num":1.5,"i64":"-9223372036854775808","u64":"18446744073709551615"}`, "{\"str\":\"<&>\u2028\",\"num\":1.5,\"i64\":\"-9223372036854775808\",\"u64\":\"18446744073709551615\"}"},
		{"not finite", "compact", `{"num":"NaN","small":"-Infinity"}`, `{"num":"NaN","small":"-Infinity"}`},
		{"unknown enum number", "compact", `{"state":99}`, `{"state":99}`},
		{"presence", "compact", `{"maybe":"","a":""}`, `{"a":"","maybe":""}`},
		{"well-known types", "compact", `{"at":"2024-01-01T01:00:00.5+01:00","took":"1.5s","mask":"aB.c","boxed":"7","nothing":{},"object":{"b":1,"a":null},"list":[1],"anyJson":"42"}`,
			`{"at":"2024-01-01T00:00:00.500Z","took":"1.500s","mask":"aB.c","object":{"a":null,"b":1},"list":[1],"anyJson":"42","nothing":{},"boxed":"7"}`},
		{"maps sorted", "compact", `{"byNumber":{"10":"x","-1":"y","9":"z"},"byFlag":{"true":"x","false":"y"}}`, `{"byNumber":{"-1":"y","9":"z","10":"x"},"byFlag":{"false":"y","true":"x"}}`},
		{"hidden and input-only fields are left out", "compact", `{"str":"x","secret":"s","password":"p","items":[{"innerSecret":"s","skuCode":"x"}],"byName":{"k":{"innerSecret":"s"}}}`,
			`{"str":"x","items":[{"skuCode":"x"}],"byName":{"k":{}}}`},
		{"published names", "compact", `{"renamedField":"x","items":[{"named":"y"}]}`, `{"items":[{"the.name":"y"}],"called":"x"}`},
		{"numeric", "numeric", `{"i64":"-5","u64":"18446744073709551615","boxed":"7","items":[{"quantity":"3"}],"byNumber":{"5":"x"},"longs":{"k":"9007199254740993"},"many":["1"]}`,
			`{"str":"","flag":false,"raw":"","num":0,"small":0,"i32":0,"u32":0,"i64":-5,"u64":18446744073709551615,"state":"E_UNSPECIFIED","null":null,"boxed":7,"items":[{"skuCode":"","quantity":3,"parts":[],"the.name":""}],"byName":{},"byNumber":{"5":"x"},"byFlag":{},"called":"","longs":{"k":9007199254740993},"many":[1]}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := compile(t, md, md, row.profile)
			result, err := c.Decode(wireOf(t, md, row.protojson))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(row.want, string(result.Structured)); diff != "" {
				t.Errorf("structured (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(textBlock(row.want), string(result.Content)); diff != "" {
				t.Errorf("content (-want +got):\n%s", diff)
			}
			if result.IsError {
				t.Error("an error")
			}
			doc, _, err := schema.Output(md, profile(t, row.profile))
			if err != nil {
				t.Fatal(err)
			}
			if !schematest.Accepts(t, schematest.Validator(t, doc.JSON()), result.Structured) {
				t.Error("the output schema refuses it")
			}
		})
	}
	t.Run("proto profile", func(t *testing.T) {
		result, err := compile(t, md, md, "proto").Decode(wireOf(t, md, `{"anyJson":1,"items":[{"skuCode":"x"}]}`))
		if err != nil || !strings.Contains(string(result.Structured), `"any_json":1`) || !strings.Contains(string(result.Structured), `"sku_code":"x"`) {
			t.Errorf("got %s, %v", result.Structured, err)
		}
	})
	t.Run("Any of the contract's own message", func(t *testing.T) {
		c := compile(t, md, md, "compact")
		wire, err := c.Encode([]byte(`{"detail":{"@type":"type.googleapis.com/t.v1.Item","skuCode":"x","the.name":"y"}}`))
		if err != nil {
			t.Fatal(err)
		}
		result, err := c.Decode(wire)
		if want := `{"detail":{"@type":"type.googleapis.com/t.v1.Item","skuCode":"x","the.name":"y"}}`; err != nil || string(result.Structured) != want {
			t.Errorf("got %s, %v", result.Structured, err)
		}
	})
	t.Run("bytes that are no message", func(t *testing.T) {
		if _, err := compile(t, md, md, "compact").Decode([]byte{0xFF}); err == nil {
			t.Error("no error")
		}
	})
	t.Run("unknown fields are dropped", func(t *testing.T) {
		result, err := compile(t, md, md, "compact").Decode([]byte{0xFA, 0x3F, 0x01, 'x'})
		if err != nil || string(result.Structured) != `{}` {
			t.Errorf("got %s, %v", result.Structured, err)
		}
	})
}

// TestCodec_responseTypes holds the rows of tools.md, "Results", for responses that are no plain messages.
func TestCodec_responseTypes(t *testing.T) {
	files := schematest.Files(t, map[string]string{"t.proto": schematest.Head})
	for _, row := range []struct{ message, protojson, text, structured string }{
		{"google.protobuf.StringValue", `"a \"b\""`, `a \"b\"`, ""},
		{"google.protobuf.Int64Value", `"42"`, `42`, ""},
		{"google.protobuf.Int32Value", `42`, `42`, ""},
		{"google.protobuf.DoubleValue", `"NaN"`, `NaN`, ""},
		{"google.protobuf.BoolValue", `true`, `true`, ""},
		{"google.protobuf.BytesValue", `"YQ=="`, `YQ==`, ""},
		{"google.protobuf.Timestamp", `"2024-01-01T00:00:00Z"`, `2024-01-01T00:00:00Z`, ""},
		{"google.protobuf.Duration", `"1.500s"`, `1.500s`, ""},
		{"google.protobuf.FieldMask", `"a,bC"`, `a,bC`, ""},
		{"google.protobuf.ListValue", `[1, "x"]`, `[1,\"x\"]`, ""},
		{"google.protobuf.Value", `{"a": 1}`, `{\"a\":1}`, ""},
		{"google.protobuf.Value", `"42"`, `\"42\"`, ""},
		{"google.protobuf.Value", `42`, `42`, ""},
		{"google.protobuf.Empty", `{}`, `{}`, `{}`},
		{"google.protobuf.Struct", `{"b": 1, "a": 2}`, `{\"a\":2,\"b\":1}`, `{"a":2,"b":1}`},
	} {
		t.Run(row.message+" "+row.protojson, func(t *testing.T) {
			md := schematest.Find(t, files, row.message)
			result, err := compile(t, md, md, "protojson").Decode(wireOf(t, md, row.protojson))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := string(result.Content), `[{"type":"text","text":"`+row.text+`"}]`; got != want {
				t.Errorf("content %s, want %s", got, want)
			}
			if string(result.Structured) != row.structured || (result.Structured == nil) != (row.structured == "") {
				t.Errorf("structured %q, want %q", result.Structured, row.structured)
			}
		})
	}
	for _, row := range []struct{ message, arguments, protojson string }{
		{"google.protobuf.StringValue", `{"value":"x"}`, `"x"`},
		{"google.protobuf.Int32Value", `{"value":1e1}`, `10`},
		{"google.protobuf.Timestamp", `{"value":"2024-01-01T00:00:00Z"}`, `"2024-01-01T00:00:00Z"`},
		{"google.protobuf.Value", `{"value":null}`, `null`},
		{"google.protobuf.ListValue", `{"value":[1]}`, `[1]`},
		{"google.protobuf.Struct", `{"a":1}`, `{"a":1}`},
		{"google.protobuf.Empty", `{}`, `{}`},
	} {
		t.Run("request of "+row.message, func(t *testing.T) {
			md := schematest.Find(t, files, row.message)
			wire, err := compile(t, md, md, "protojson").Encode([]byte(row.arguments))
			if err != nil || string(wire) != string(wireOf(t, md, row.protojson)) {
				t.Errorf("got %x, %v", wire, err)
			}
		})
	}
	t.Run("request of StringValue without value", func(t *testing.T) {
		md := schematest.Find(t, files, "google.protobuf.StringValue")
		if wire, err := compile(t, md, md, "protojson").Encode([]byte(`{}`)); err != nil || len(wire) != 0 {
			t.Errorf("got %x, %v", wire, err)
		}
	})
}

func TestCodec_content(t *testing.T) {
	size := int64(5)
	for _, row := range []struct {
		name  string
		block *toolv1.Content
		want  string // "" is the service's fault
	}{
		{"text", &toolv1.Content{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{Text: "hi"}}}, `{"type":"text","text":"hi"}`},
		{"image", &toolv1.Content{Block: &toolv1.Content_Image{Image: &toolv1.ImageContent{Data: []byte("a"), MimeType: "image/png"}}}, `{"type":"image","data":"YQ==","mimeType":"image/png"}`},
		{"audio", &toolv1.Content{Block: &toolv1.Content_Audio{Audio: &toolv1.AudioContent{Data: []byte("a"), MimeType: "audio/wav"}}}, `{"type":"audio","data":"YQ==","mimeType":"audio/wav"}`},
		{"link", &toolv1.Content{Block: &toolv1.Content_ResourceLink{ResourceLink: &toolv1.ResourceLink{Uri: "https://example.com/a", Name: "a", Title: "A", Description: "The a.", MimeType: "text/plain; charset=utf-8", Size: &size}}},
			`{"type":"resource_link","uri":"https://example.com/a","name":"a","title":"A","description":"The a.","mimeType":"text/plain; charset=utf-8","size":5}`},
		{"link without a name", &toolv1.Content{Block: &toolv1.Content_ResourceLink{ResourceLink: &toolv1.ResourceLink{Uri: "file:///a"}}}, `{"type":"resource_link","uri":"file:///a","name":"file:///a"}`},
		{"embedded text", &toolv1.Content{Block: &toolv1.Content_Resource{Resource: &toolv1.EmbeddedResource{Uri: "file:///a", MimeType: "text/plain", Contents: &toolv1.EmbeddedResource_Text{Text: "x"}}}}, `{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"x"}}`},
		{"embedded bytes", &toolv1.Content{Block: &toolv1.Content_Resource{Resource: &toolv1.EmbeddedResource{Uri: "file:///a", Contents: &toolv1.EmbeddedResource_Blob{Blob: []byte("a")}}}}, `{"type":"resource","resource":{"uri":"file:///a","blob":"YQ=="}}`},
		{"annotations", &toolv1.Content{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{}}, Annotations: &toolv1.ContentAnnotations{
			Audience: []toolv1.Audience{toolv1.Audience_AUDIENCE_USER, toolv1.Audience_AUDIENCE_ASSISTANT}, Priority: proto.Float64(0.5), LastModified: &timestamppb.Timestamp{Seconds: 1}}},
			`{"type":"text","text":"","annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"1970-01-01T00:00:01Z"}}`},
		{"unset", &toolv1.Content{}, ""},
		{"image without media type", &toolv1.Content{Block: &toolv1.Content_Image{Image: &toolv1.ImageContent{}}}, ""},
		{"media type that does not parse", &toolv1.Content{Block: &toolv1.Content_Audio{Audio: &toolv1.AudioContent{MimeType: "wav"}}}, ""},
		{"relative URI", &toolv1.Content{Block: &toolv1.Content_ResourceLink{ResourceLink: &toolv1.ResourceLink{Uri: "/a"}}}, ""},
		{"embedded without contents", &toolv1.Content{Block: &toolv1.Content_Resource{Resource: &toolv1.EmbeddedResource{Uri: "file:///a"}}}, ""},
		{"audience unset", &toolv1.Content{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{}}, Annotations: &toolv1.ContentAnnotations{Audience: []toolv1.Audience{0}}}, ""},
		{"priority beyond 1", &toolv1.Content{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{}}, Annotations: &toolv1.ContentAnnotations{Priority: proto.Float64(math.NaN())}}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			check := func(t *testing.T, result transcode.Result, err error) {
				t.Helper()
				if row.want == "" {
					if err == nil {
						t.Errorf("served %s", result.Content)
					}
					return
				}
				if err != nil || string(result.Content) != "["+row.want+"]" {
					t.Errorf("got %s, %v, want %s", result.Content, err, row.want)
				}
			}
			t.Run("of a ToolResult", func(t *testing.T) {
				wire, _ := proto.Marshal(&toolv1.ToolResult{Content: []*toolv1.Content{row.block}, IsError: true})
				md := (&toolv1.ToolResult{}).ProtoReflect().Descriptor()
				result, err := compile(t, md, md, "protojson").Decode(wire)
				check(t, result, err)
				if err == nil && (!result.IsError || result.Structured != nil) {
					t.Errorf("got %+v", result)
				}
			})
			t.Run("of a content field", func(t *testing.T) {
				md := schematest.Message(t, `message M { string note = 1; repeated sallyport.tool.v1.Content blocks = 3 [(sallyport.tool.v1.field).content = true]; }`)
				wire, _ := proto.Marshal(&toolv1.ToolResult{IsError: false})
				inner, _ := proto.Marshal(row.block)
				wire = append(wire, 0x0A, 1, 'x', 0x1A, byte(len(inner)))
				wire = append(wire, inner...)
				result, err := compile(t, md, md, "protojson").Decode(wire)
				check(t, result, err)
				if err == nil && string(result.Structured) != `{"note":"x"}` {
					t.Errorf("structured %s", result.Structured)
				}
			})
		})
	}
	t.Run("structured value of a ToolResult", func(t *testing.T) {
		value, _ := structpb.NewStruct(map[string]any{"b": 1, "a": "x"})
		wire, _ := proto.Marshal(&toolv1.ToolResult{StructuredContent: value})
		md := value.ProtoReflect().Descriptor()
		result, err := compile(t, md, (&toolv1.ToolResult{}).ProtoReflect().Descriptor(), "protojson").Decode(wire)
		if err != nil || string(result.Structured) != `{"a":"x","b":1}` || string(result.Content) != `[]` || result.IsError {
			t.Errorf("got %+v, %v", result, err)
		}
	})
	t.Run("a content field that is wrong does not compile", func(t *testing.T) {
		md := schematest.Message(t, `message M { string a = 1 [(sallyport.tool.v1.field).content = true]; }`)
		if _, err := transcode.Compile(md, md, profile(t, "protojson")); err == nil || !strings.Contains(err.Error(), "t.v1.M.a") {
			t.Error(err)
		}
	})
}

// FuzzEncode looks for arguments that the gate accepts and the codec does not, or that lose their meaning on the way.
func FuzzEncode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"str":"x","i32":1e2,"u32":0.0,"i64":"-5","boxed":"7"}`,
		`{"items":[{"skuCode":"x","the.name":"y","parts":[{"quantity":"3"}]}],"byName":{"k":{}},"byNumber":{"-5":"x"},"byFlag":{"true":"y"}}`,
		`{"detail":{"skuCode":"x","@type":"type.googleapis.com/t.v1.Item"}}`,
		`{"detail":{"@type":"type.googleapis.com/google.protobuf.Any","value":{"@type":"type.googleapis.com/google.protobuf.Empty","value":{}}}}`,
		`{"at":"2024-01-01T00:00:00.5+01:00","took":"-0.5s","mask":"aB.c","anyJson":[1,null],"object":{"a":1},"list":[1],"null":null,"nothing":{}}`,
		`{"num":1e-400,"small":3.4028234663852886e38,"raw":"YQ==","state":"OPEN","a":"","maybe":""}`,
	} {
		f.Add([]byte(seed))
	}
	md := schematest.Message(f, everything)
	in, _, err := schema.Input(md, profile(f, "protojson"))
	if err != nil {
		f.Fatal(err)
	}
	g, err := gatetest.Compile(in)
	if err != nil {
		f.Fatal(err)
	}
	c := compile(f, md, md, "protojson")
	f.Fuzz(func(t *testing.T, arguments []byte) {
		wire, err := c.Encode(arguments)
		if g.Judge(arguments) != nil {
			return // an ill-judged document may fail in any orderly way
		}
		if err != nil {
			t.Fatalf("the gate accepts %s, the codec does not: %v", arguments, err)
		}
		again, err := c.Encode(arguments)
		if err != nil || !bytes.Equal(again, wire) {
			t.Fatalf("a second encoding differs: %v", err)
		}
	})
}
