package transcode_test

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

var contentRows = []struct {
	name  string
	block *toolv1.Content
	want  string // "" is the service's fault
}{
	{"text", &toolv1.Content{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{Text: "say \"hi\"\n"}}}, `{"type":"text","text":"say \"hi\"\n"}`},
	{"image", &toolv1.Content{Block: &toolv1.Content_Image{Image: &toolv1.ImageContent{Data: []byte("a"), MimeType: "image/png"}}}, `{"type":"image","data":"YQ==","mimeType":"image/png"}`},
	{"audio", &toolv1.Content{Block: &toolv1.Content_Audio{Audio: &toolv1.AudioContent{Data: []byte("a"), MimeType: "audio/wav"}}}, `{"type":"audio","data":"YQ==","mimeType":"audio/wav"}`},
	{"link", &toolv1.Content{Block: &toolv1.Content_ResourceLink{ResourceLink: &toolv1.ResourceLink{Uri: "https://example.com/a", Name: "a", Title: "A", Description: "The a.", MimeType: "text/plain; charset=utf-8", Size: proto.Int64(5)}}},
		`{"type":"resource_link","uri":"https://example.com/a","name":"a","title":"A","description":"The a.","mimeType":"text/plain; charset=utf-8","size":5}`},
	{"link without a name", &toolv1.Content{Block: &toolv1.Content_ResourceLink{ResourceLink: &toolv1.ResourceLink{Uri: "file:///a"}}}, `{"type":"resource_link","uri":"file:///a","name":"file:///a"}`},
	{"embedded text", &toolv1.Content{Block: &toolv1.Content_Resource{Resource: &toolv1.EmbeddedResource{Uri: "file:///a", MimeType: "text/plain", Contents: &toolv1.EmbeddedResource_Text{Text: "x"}}}}, `{"type":"resource","resource":{"uri":"file:///a","mimeType":"text/plain","text":"x"}}`},
	{"embedded bytes", &toolv1.Content{Block: &toolv1.Content_Resource{Resource: &toolv1.EmbeddedResource{Uri: "file:///a", Contents: &toolv1.EmbeddedResource_Blob{Blob: []byte("a")}}}}, `{"type":"resource","resource":{"uri":"file:///a","blob":"YQ=="}}`},
	{"annotations", &toolv1.Content{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{}}, Annotations: &toolv1.ContentAnnotations{
		Audience: []toolv1.Audience{toolv1.Audience_AUDIENCE_USER, toolv1.Audience_AUDIENCE_ASSISTANT}, Priority: proto.Float64(0.5), LastModified: &timestamppb.Timestamp{Seconds: 1}}},
		`{"type":"text","text":"","annotations":{"audience":["user","assistant"],"priority":0.5,"lastModified":"1970-01-01T00:00:01Z"}}`},
	{"annotations that say nothing", &toolv1.Content{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{}}, Annotations: &toolv1.ContentAnnotations{}}, `{"type":"text","text":"","annotations":{}}`},
	{"unset", &toolv1.Content{}, ""},
	{"image without media type", &toolv1.Content{Block: &toolv1.Content_Image{Image: &toolv1.ImageContent{}}}, ""},
	{"media type that does not parse", &toolv1.Content{Block: &toolv1.Content_Audio{Audio: &toolv1.AudioContent{MimeType: "wav"}}}, ""},
	{"link with such a media type", &toolv1.Content{Block: &toolv1.Content_ResourceLink{ResourceLink: &toolv1.ResourceLink{Uri: "file:///a", MimeType: "plain"}}}, ""},
	{"embedded with such a media type", &toolv1.Content{Block: &toolv1.Content_Resource{Resource: &toolv1.EmbeddedResource{Uri: "file:///a", MimeType: "plain", Contents: &toolv1.EmbeddedResource_Text{}}}}, ""},
	{"relative URI", &toolv1.Content{Block: &toolv1.Content_ResourceLink{ResourceLink: &toolv1.ResourceLink{Uri: "/a"}}}, ""},
	{"embedded under a relative URI", &toolv1.Content{Block: &toolv1.Content_Resource{Resource: &toolv1.EmbeddedResource{Uri: "a", Contents: &toolv1.EmbeddedResource_Text{}}}}, ""},
	{"negative size", &toolv1.Content{Block: &toolv1.Content_ResourceLink{ResourceLink: &toolv1.ResourceLink{Uri: "file:///a", Size: proto.Int64(-1)}}}, ""},
	{"embedded without contents", &toolv1.Content{Block: &toolv1.Content_Resource{Resource: &toolv1.EmbeddedResource{Uri: "file:///a"}}}, ""},
	{"audience unset", &toolv1.Content{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{}}, Annotations: &toolv1.ContentAnnotations{Audience: []toolv1.Audience{0}}}, ""},
	{"priority that is no number", &toolv1.Content{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{}}, Annotations: &toolv1.ContentAnnotations{Priority: proto.Float64(math.NaN())}}, ""},
	{"priority beyond 1", &toolv1.Content{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{}}, Annotations: &toolv1.ContentAnnotations{Priority: proto.Float64(1.5)}}, ""},
	{"an instant beyond the calendar", &toolv1.Content{Block: &toolv1.Content_Text{Text: &toolv1.TextContent{}}, Annotations: &toolv1.ContentAnnotations{LastModified: &timestamppb.Timestamp{Nanos: -1}}}, ""},
}

// TestResults_content holds the blocks of MCP, authored whole and beside structured content.
func TestResults_content(t *testing.T) {
	toolResult := (&toolv1.ToolResult{}).ProtoReflect().Descriptor()
	withField := schematest.Message(t, `message M { string note = 1; repeated sallyport.tool.v1.Content blocks = 3 [(sallyport.tool.v1.field).content = true]; M inner = 4; }`)
	for _, row := range contentRows {
		check := func(t *testing.T, got []byte, err error, want string) {
			t.Helper()
			switch {
			case row.want == "" && err == nil:
				t.Errorf("served %s", got)
			case row.want == "" && string(got) != "before ":
				t.Errorf("left %s", got)
			case row.want != "" && (err != nil || string(got) != "before "+want):
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		}
		inner, err := proto.Marshal(row.block)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(row.name+", authored", func(t *testing.T) {
			wire, err := proto.Marshal(&toolv1.ToolResult{Content: []*toolv1.Content{row.block}, IsError: true})
			if err != nil {
				t.Fatal(err)
			}
			got, isError, err := compileResults(t, toolResult, "protojson").AppendResult([]byte("before "), wire)
			check(t, got, err, `"content":[`+row.want+`],"isError":true`)
			if isError != (row.want != "") {
				t.Errorf("isError is %v", isError)
			}
		})
		t.Run(row.name+", in a content field", func(t *testing.T) {
			r := compileResults(t, withField, "compact")
			// The blocks are in two runs.
			wire := join(nested(3, inner), text(1, "x"), nested(3, inner), nested(3, inner))
			got, isError, err := r.AppendResult([]byte("before "), wire)
			check(t, got, err, `"structuredContent":{"note":"x"},"content":[`+strings.Repeat(row.want+",", 2)+row.want+`]`)
			if isError {
				t.Error("isError")
			}
			// The JSON has no blocks, and what is wrong with them is no matter of its.
			if got, err := r.AppendJSON(nil, wire); err != nil || string(got) != `{"note":"x"}` {
				t.Errorf("JSON %s, %v", got, err)
			}
		})
	}
	t.Run("no blocks", func(t *testing.T) {
		got, _, err := compileResults(t, withField, "protojson").AppendResult(nil, nil)
		if want := `"structuredContent":{"note":""},"content":[]`; err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	})
	t.Run("blocks that are no messages", func(t *testing.T) {
		r := compileResults(t, withField, "protojson")
		for _, wire := range [][]byte{text(3, "\xff"), nested(3, nested(1, text(1, "\xff")))} {
			if got, err := r.AppendJSON(nil, wire); err == nil {
				t.Errorf("%x became %s", wire, got)
			}
		}
	})
	t.Run("a content field below the root is a field", func(t *testing.T) {
		wire := nested(4, nested(3, nested(1, text(1, "hi"))))
		got, _, err := compileResults(t, withField, "compact").AppendResult(nil, wire)
		if want := `"structuredContent":{"inner":{"blocks":[{"text":{"text":"hi"}}]}},"content":[]`; err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	})
}

func TestResults_authored(t *testing.T) {
	r := compileResults(t, (&toolv1.ToolResult{}).ProtoReflect().Descriptor(), "protojson")
	value, err := structpb.NewStruct(map[string]any{"b": 1, "a": "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name    string
		result  *toolv1.ToolResult
		want    string
		isError bool
	}{
		{"nothing", &toolv1.ToolResult{}, `"content":[]`, false},
		{"a structured value", &toolv1.ToolResult{StructuredContent: value}, `"structuredContent":{"a":"x","b":1},"content":[]`, false},
		{"an error", &toolv1.ToolResult{IsError: true}, `"content":[],"isError":true`, true},
		{"an error has no structured value", &toolv1.ToolResult{IsError: true, StructuredContent: value}, `"content":[],"isError":true`, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			wire, err := proto.Marshal(row.result)
			if err != nil {
				t.Fatal(err)
			}
			got, isError, err := r.AppendResult(nil, wire)
			if err != nil || isError != row.isError || string(got) != row.want {
				t.Errorf("got %s, %v, %v, want %s", got, isError, err, row.want)
			}
		})
	}
	t.Run("a structured value in pieces", func(t *testing.T) {
		piece := func(key string) []byte { return nested(2, nested(1, text(1, key), nested(2, varint(4, 1)))) }
		got, _, err := r.AppendResult(nil, join(piece("b"), piece("a")))
		if want := `"structuredContent":{"a":true,"b":true},"content":[]`; err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
	})
	for _, row := range []struct {
		name string
		wire []byte
	}{
		{"a structured value that JSON cannot say", nested(2, nested(1, nested(2, fixed64(2, math.Float64bits(math.NaN())))))},
		{"the same in an error", join(nested(2, nested(1, nested(2))), varint(3, 1))},
		{"bytes that are no message", bytes.Repeat([]byte{0xff}, 3)},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got, _, err := r.AppendResult([]byte("before "), row.wire); err == nil || string(got) != "before " {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}
