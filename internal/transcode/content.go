package transcode

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strings"

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
func authored(wire []byte) (Result, error) {
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

// blocks renders content blocks as MCP writes them. What no client could use is the service's fault.
func blocks(contents []*toolv1.Content) ([]byte, error) {
	out := []byte{'['}
	for i, c := range contents {
		if i > 0 {
			out = append(out, ',')
		}
		w := &objectWriter{}
		if err := block(w, c); err != nil {
			return nil, fmt.Errorf("content block %d: %w", i, err)
		}
		out = append(out, w.object()...)
	}
	return append(out, ']'), nil
}

func block(w *objectWriter, c *toolv1.Content) error {
	switch b := c.GetBlock().(type) {
	case *toolv1.Content_Text:
		w.text("type", "text")
		w.text("text", b.Text.GetText())
	case *toolv1.Content_Image:
		if err := mediaType(b.Image.GetMimeType()); err != nil {
			return err
		}
		w.text("type", "image")
		w.text("data", base64.StdEncoding.EncodeToString(b.Image.GetData()))
		w.text("mimeType", b.Image.GetMimeType())
	case *toolv1.Content_Audio:
		if err := mediaType(b.Audio.GetMimeType()); err != nil {
			return err
		}
		w.text("type", "audio")
		w.text("data", base64.StdEncoding.EncodeToString(b.Audio.GetData()))
		w.text("mimeType", b.Audio.GetMimeType())
	case *toolv1.Content_ResourceLink:
		if err := link(w, b.ResourceLink); err != nil {
			return err
		}
	case *toolv1.Content_Resource:
		resource, err := embedded(b.Resource)
		if err != nil {
			return err
		}
		w.text("type", "resource")
		w.raw("resource", resource)
	default:
		return errors.New("the block is unset, or of a kind that this edge does not know")
	}
	return annotate(w, c.GetAnnotations())
}

func link(w *objectWriter, l *toolv1.ResourceLink) error {
	if err := absolute(l.GetUri()); err != nil {
		return err
	}
	w.text("type", "resource_link")
	w.text("uri", l.GetUri())
	// The protocol demands a name; a link without one is named by what it links to.
	if l.GetName() != "" {
		w.text("name", l.GetName())
	} else {
		w.text("name", l.GetUri())
	}
	w.optional("title", l.GetTitle())
	w.optional("description", l.GetDescription())
	if l.GetMimeType() != "" {
		if err := mediaType(l.GetMimeType()); err != nil {
			return err
		}
		w.text("mimeType", l.GetMimeType())
	}
	if l.Size != nil {
		if l.GetSize() < 0 {
			return errors.New("the size is negative")
		}
		w.raw("size", fmt.Appendf(nil, "%d", l.GetSize()))
	}
	return nil
}

func embedded(r *toolv1.EmbeddedResource) ([]byte, error) {
	if err := absolute(r.GetUri()); err != nil {
		return nil, err
	}
	w := &objectWriter{}
	w.text("uri", r.GetUri())
	if r.GetMimeType() != "" {
		if err := mediaType(r.GetMimeType()); err != nil {
			return nil, err
		}
		w.text("mimeType", r.GetMimeType())
	}
	switch contents := r.GetContents().(type) {
	case *toolv1.EmbeddedResource_Text:
		w.text("text", contents.Text)
	case *toolv1.EmbeddedResource_Blob:
		w.text("blob", base64.StdEncoding.EncodeToString(contents.Blob))
	default:
		return nil, errors.New("the embedded resource has no contents")
	}
	return w.object(), nil
}

func annotate(w *objectWriter, a *toolv1.ContentAnnotations) error {
	if a == nil {
		return nil
	}
	inner := &objectWriter{}
	if len(a.GetAudience()) > 0 {
		list := []byte{'['}
		for i, audience := range a.GetAudience() {
			if i > 0 {
				list = append(list, ',')
			}
			switch audience {
			case toolv1.Audience_AUDIENCE_USER:
				list = append(list, `"user"`...)
			case toolv1.Audience_AUDIENCE_ASSISTANT:
				list = append(list, `"assistant"`...)
			default:
				return errors.New("an audience is unset, or of a kind that this edge does not know")
			}
		}
		inner.raw("audience", append(list, ']'))
	}
	if a.Priority != nil {
		p := a.GetPriority()
		if !(p >= 0 && p <= 1) {
			return errors.New("the priority is not between 0 and 1")
		}
		var number bytes.Buffer
		if err := jsontext.NewEncoder(&number).WriteToken(jsontext.Float(p)); err != nil {
			return err
		}
		inner.raw("priority", bytes.TrimSpace(number.Bytes()))
	}
	if a.GetLastModified() != nil {
		text, err := protojson.Marshal(a.GetLastModified())
		if err != nil {
			return err
		}
		inner.raw("lastModified", text)
	}
	w.raw("annotations", inner.object())
	return nil
}

func absolute(uri string) error {
	if u, err := url.Parse(uri); err != nil || !u.IsAbs() {
		return errors.New("a URI is not absolute")
	}
	return nil
}

func mediaType(text string) error {
	if kind, _, err := mime.ParseMediaType(text); err != nil || !strings.Contains(kind, "/") {
		return errors.New("a media type does not parse")
	}
	return nil
}

// objectWriter writes the members of one JSON object in the order of its calls.
type objectWriter struct{ members []byte }

func (w *objectWriter) raw(name string, value []byte) {
	if len(w.members) > 0 {
		w.members = append(w.members, ',')
	}
	w.members = append(w.members, quote(name)...)
	w.members = append(w.members, ':')
	w.members = append(w.members, value...)
}

func (w *objectWriter) text(name, value string) { w.raw(name, quote(value)) }

func (w *objectWriter) optional(name, value string) {
	if value != "" {
		w.text(name, value)
	}
}

func (w *objectWriter) object() []byte {
	out := append([]byte{'{'}, w.members...)
	return append(out, '}')
}
