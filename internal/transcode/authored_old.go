package transcode

import (
	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// bare is the text of a response that is no object. What JSON writes as a string is served without its quotes, but for
// a Value, whose quotes tell the string "42" from the number.
func bare(md protoreflect.MessageDescriptor, text []byte) string {
	if md.FullName() != "google.protobuf.Value" && len(text) > 0 && text[0] == '"' {
		if s, err := unquote(text); err == nil {
			return s
		}
	}
	return string(text)
}

// oneText is the content of one text block.
func oneText(text string) []byte {
	out := append([]byte(`[{"type":"text","text":`), quote(text)...)
	return append(out, `}]`...)
}

// authored passes a sallyport.tool.v1.ToolResult through.
func authoredResult(wire []byte) (Result, error) {
	var authored toolv1.ToolResult
	if err := proto.Unmarshal(wire, &authored); err != nil {
		return Result{}, err
	}
	content, err := blocks(authored.GetContent())
	if err != nil {
		return Result{}, err
	}
	result := Result{Content: content, IsError: authored.GetIsError()}
	if authored.StructuredContent != nil {
		text, err := protojson.Marshal(authored.GetStructuredContent())
		if err != nil {
			return Result{}, err
		}
		value := jsontext.Value(text)
		if err := value.Compact(); err != nil {
			return Result{}, err
		}
		result.Structured = value
	}
	return result, nil
}

// contentOf renders the blocks of a response's content field.
func contentOf(list protoreflect.List) ([]byte, error) {
	contents := make([]*toolv1.Content, list.Len())
	for i := range contents {
		wire, err := proto.Marshal(list.Get(i).Message().Interface())
		if err != nil {
			return nil, err
		}
		contents[i] = &toolv1.Content{}
		if err := proto.Unmarshal(wire, contents[i]); err != nil {
			return nil, err
		}
	}
	return blocks(contents)
}

// blocks renders content blocks as MCP writes them.
func blocks(contents []*toolv1.Content) ([]byte, error) {
	out := []byte{'['}
	for i, c := range contents {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = appendBlock(out, c); err != nil {
			return nil, err
		}
	}
	return append(out, ']'), nil
}
