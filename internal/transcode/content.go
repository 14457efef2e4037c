package transcode

import (
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/proto"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
)

// appendBlocks writes the content blocks of a repeated sallyport.tool.v1.Content as MCP writes them, each after a comma.
// What no client could use is the service's fault.
func (s *scratch) appendBlocks(dst []byte, sl *slot) ([]byte, error) {
	if sl.first == absent {
		return append(dst, `[]`...), nil
	}
	start, nth := len(dst), 0
	blocks := func(run span) error {
		return s.items(run, func(v span) error {
			var c toolv1.Content
			err := proto.Unmarshal(s.bytes(v), &c)
			if err == nil {
				dst, err = appendBlock(append(dst, ','), &c)
			}
			if err != nil {
				return fmt.Errorf("content block %d: %w", nth, err)
			}
			nth++
			return nil
		})
	}
	for r := sl.first; r >= firstRun; r = s.runs[r].next {
		if err := blocks(s.runs[r].v); err != nil {
			return dst, err
		}
	}
	if err := blocks(sl.v); err != nil {
		return dst, err
	}
	return closed(dst, start, '[', ']'), nil
}

func appendBlock(dst []byte, c *toolv1.Content) ([]byte, error) {
	var err error
	switch b := c.GetBlock().(type) {
	case *toolv1.Content_Text:
		dst = appendText(append(dst, `{"type":"text"`...), "text", b.Text.GetText())
	case *toolv1.Content_Image:
		dst, err = appendMedia(append(dst, `{"type":"image"`...), b.Image.GetData(), b.Image.GetMimeType())
	case *toolv1.Content_Audio:
		dst, err = appendMedia(append(dst, `{"type":"audio"`...), b.Audio.GetData(), b.Audio.GetMimeType())
	case *toolv1.Content_ResourceLink:
		dst, err = appendLink(append(dst, `{"type":"resource_link"`...), b.ResourceLink)
	case *toolv1.Content_Resource:
		dst, err = appendEmbedded(append(dst, `{"type":"resource","resource":`...), b.Resource)
	default:
		err = errors.New("the block is unset, or of a kind that this edge does not know")
	}
	if err == nil {
		dst, err = appendAnnotations(dst, c.GetAnnotations())
	}
	return append(dst, '}'), err
}

// appendText writes a string member after a comma.
func appendText(dst []byte, name, value string) []byte {
	dst = append(append(append(dst, ',', '"'), name...), '"', ':')
	dst, _ = jsontext.AppendQuote(dst, value) // the value came out of a protobuf message of ours: it is UTF-8
	return dst
}

func appendOptional(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return appendText(dst, name, value)
}

func appendData(dst []byte, name string, data []byte) []byte {
	dst = append(append(append(dst, ',', '"'), name...), `":"`...)
	return append(base64.StdEncoding.AppendEncode(dst, data), '"')
}

func appendMedia(dst, data []byte, mimeType string) ([]byte, error) {
	return appendText(appendData(dst, "data", data), "mimeType", mimeType), mediaType(mimeType)
}

func appendLink(dst []byte, l *toolv1.ResourceLink) ([]byte, error) {
	if err := absolute(l.GetUri()); err != nil {
		return dst, err
	}
	dst = appendText(dst, "uri", l.GetUri())
	// The protocol demands a name; a link without one is named by what it links to.
	if l.GetName() != "" {
		dst = appendText(dst, "name", l.GetName())
	} else {
		dst = appendText(dst, "name", l.GetUri())
	}
	dst = appendOptional(dst, "title", l.GetTitle())
	dst = appendOptional(dst, "description", l.GetDescription())
	if l.GetMimeType() != "" {
		if err := mediaType(l.GetMimeType()); err != nil {
			return dst, err
		}
		dst = appendText(dst, "mimeType", l.GetMimeType())
	}
	if l.Size != nil {
		if l.GetSize() < 0 {
			return dst, errors.New("the size is negative")
		}
		dst = strconv.AppendInt(append(dst, `,"size":`...), l.GetSize(), 10)
	}
	return dst, nil
}

func appendEmbedded(dst []byte, r *toolv1.EmbeddedResource) ([]byte, error) {
	if err := absolute(r.GetUri()); err != nil {
		return dst, err
	}
	start := len(dst)
	dst = appendText(dst, "uri", r.GetUri())
	if r.GetMimeType() != "" {
		if err := mediaType(r.GetMimeType()); err != nil {
			return dst, err
		}
		dst = appendText(dst, "mimeType", r.GetMimeType())
	}
	switch contents := r.GetContents().(type) {
	case *toolv1.EmbeddedResource_Text:
		dst = appendText(dst, "text", contents.Text)
	case *toolv1.EmbeddedResource_Blob:
		dst = appendData(dst, "blob", contents.Blob)
	default:
		return dst, errors.New("the embedded resource has no contents")
	}
	return closed(dst, start, '{', '}'), nil
}

func appendAnnotations(dst []byte, a *toolv1.ContentAnnotations) ([]byte, error) {
	if a == nil {
		return dst, nil
	}
	dst = append(dst, `,"annotations":`...)
	start := len(dst)
	if len(a.GetAudience()) > 0 {
		dst = append(dst, `,"audience":`...)
		list := len(dst)
		for _, audience := range a.GetAudience() {
			switch audience {
			case toolv1.Audience_AUDIENCE_USER:
				dst = append(dst, `,"user"`...)
			case toolv1.Audience_AUDIENCE_ASSISTANT:
				dst = append(dst, `,"assistant"`...)
			default:
				return dst, errors.New("an audience is unset, or of a kind that this edge does not know")
			}
		}
		dst = closed(dst, list, '[', ']')
	}
	if a.Priority != nil {
		p := a.GetPriority()
		if !(p >= 0 && p <= 1) {
			return dst, errors.New("the priority is not between 0 and 1")
		}
		dst = appendFloat(append(dst, `,"priority":`...), p, 64)
	}
	if at := a.GetLastModified(); at != nil {
		var err error
		if dst, err = appendTimestamp(append(dst, `,"lastModified":`...), at.GetSeconds(), at.GetNanos()); err != nil {
			return dst, err
		}
	}
	return closed(dst, start, '{', '}'), nil
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
