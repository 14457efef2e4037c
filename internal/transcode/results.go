package transcode

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Results writes the responses of one tool as JSON. It compiles a message type when the first message of it arrives,
// and keeps what it compiled. Safe for concurrent use.
type Results struct {
	root  *message
	serve func(s *scratch, r *Results, dst []byte) ([]byte, bool, error)
}

// CompileResults prepares for responses of type out under a profile. A google.protobuf.Any in a response may carry the
// messages of out's file and of what it imports, and likewise those of also: the request belongs there. An error names
// the field or message that cannot be served.
func CompileResults(out protoreflect.MessageDescriptor, p schema.Profile, also ...protoreflect.MessageDescriptor) (*Results, error) {
	r, err := compileResults(out, p, also)
	if err != nil {
		return nil, fmt.Errorf("compile the results of %s: %w", out.FullName(), err)
	}
	return r, nil
}

func compileResults(out protoreflect.MessageDescriptor, p schema.Profile, also []protoreflect.MessageDescriptor) (*Results, error) {
	blocks, err := schema.ContentField(out)
	if err != nil {
		return nil, err
	}
	r := &Results{serve: serveStructured}
	switch {
	case schema.IsToolResult(out):
		// The message is ours: the linked one is read, whatever edition of it the contract brought.
		out = authored()
		blocks = out.Fields().Get(authoredContent)
		r.serve = serveAuthored
	case out.FullName() == "google.protobuf.Value":
		r.serve = serveBareValue
	case schema.IsBare(out):
		r.serve = serveBare
	case blocks != nil:
		r.serve = serveBlocks
	}
	r.root = &message{desc: out, types: newTypes(p, append([]protoreflect.MessageDescriptor{out}, also...)), content: blocks}
	if _, err := r.root.compiled(); err != nil {
		return nil, err
	}
	return r, nil
}

// AppendResult appends to dst the members of an MCP result object, without its braces: structuredContent and content,
// only content where the result has no structured content, and isError where the service authored an error. The same
// wire gives the same bytes. It keeps neither slice; dst must not overlap wire. On an error dst is returned as it was:
// the service sent what its contract does not allow, and the text, which may quote the response, is for the log alone.
func (r *Results) AppendResult(dst, wire []byte) (result []byte, isError bool, err error) {
	return r.transcode(dst, wire, r.serve)
}

// AppendJSON appends to dst the structured content alone, or the bare value of a response that is no object. A content
// field is left out. Otherwise it is like AppendResult.
func (r *Results) AppendJSON(dst, wire []byte) ([]byte, error) {
	dst, _, err := r.transcode(dst, wire, func(s *scratch, r *Results, dst []byte) ([]byte, bool, error) {
		dst, err := r.root.append(s, dst, s.whole(), alone, maxDepth)
		return dst, false, err
	})
	return dst, err
}

func (r *Results) transcode(dst, wire []byte, serve func(*scratch, *Results, []byte) ([]byte, bool, error)) ([]byte, bool, error) {
	if uint64(len(wire)) > maxWire {
		return dst, false, fmt.Errorf("read the response %s: %d bytes are more than a message can have", r.root.desc.FullName(), len(wire))
	}
	s := borrow(wire, len(dst))
	defer s.giveBack()
	result, isError, err := serve(s, r, dst)
	if err != nil {
		return dst, false, fmt.Errorf("read the response %s: %w", r.root.desc.FullName(), err)
	}
	return result, isError, nil
}

const (
	structured = `"structuredContent":`
	blocksName = `"content":`
	textOpen   = `"content":[{"type":"text","text":`
	textClose  = `}]`
)

// serveStructured serves a message as structured content and as one text block with the same JSON.
func serveStructured(s *scratch, r *Results, dst []byte) ([]byte, bool, error) {
	dst = append(dst, structured...)
	start := len(dst)
	dst, err := r.root.append(s, dst, s.whole(), alone, maxDepth)
	if err != nil {
		return dst, false, err
	}
	end := len(dst)
	dst = append(dst, ","+textOpen+`"`...)
	dst = appendQuoted(dst, start, end)
	return append(dst, `"`+textClose...), false, nil
}

// serveBare serves a value that is no object as one text block: what JSON writes as a string without its quotes.
func serveBare(s *scratch, r *Results, dst []byte) ([]byte, bool, error) {
	dst = append(dst, textOpen...)
	start := len(dst)
	dst, err := r.root.append(s, dst, s.whole(), alone, maxDepth)
	if err != nil {
		return dst, false, err
	}
	if dst[start] != '"' {
		dst = quoteFrom(dst, start)
	}
	return append(dst, textClose...), false, nil
}

// serveBareValue serves a google.protobuf.Value, whose quotes stay: they tell the string "42" from the number.
func serveBareValue(s *scratch, r *Results, dst []byte) ([]byte, bool, error) {
	dst = append(dst, textOpen...)
	start := len(dst)
	dst, err := r.root.append(s, dst, s.whole(), alone, maxDepth)
	if err != nil {
		return dst, false, err
	}
	return append(quoteFrom(dst, start), textClose...), false, nil
}

// serveBlocks serves the blocks of a content field, and the other fields as structured content.
func serveBlocks(s *scratch, r *Results, dst []byte) ([]byte, bool, error) {
	t, slots, err := r.indexRoot(s)
	if err != nil {
		return dst, false, err
	}
	if dst, err = t.append(s, append(dst, structured...), slots, maxDepth-1); err != nil {
		return dst, false, err
	}
	dst, err = s.appendBlocks(append(dst, ","+blocksName...), &slots[r.root.content.Index()])
	return dst, false, err
}

// indexRoot finds the fields of a response some of which become blocks.
func (r *Results) indexRoot(s *scratch) (*table, []slot, error) {
	t, err := r.root.compiled()
	if err != nil {
		return nil, nil, err
	}
	slots, err := s.indexAll(t, s.whole(), alone, maxDepth-1)
	return t, slots, err
}

// The fields of a sallyport.tool.v1.ToolResult, by their index.
var authoredContent, authoredStructured, authoredError = authoredField("content"), authoredField("structured_content"), authoredField("is_error")

func authoredField(name protoreflect.Name) int { return authored().Fields().ByName(name).Index() }

func authored() protoreflect.MessageDescriptor {
	return (*toolv1.ToolResult)(nil).ProtoReflect().Descriptor()
}

// serveAuthored passes a sallyport.tool.v1.ToolResult through. An authored error has no structured content.
func serveAuthored(s *scratch, r *Results, dst []byte) ([]byte, bool, error) {
	t, slots, err := r.indexRoot(s)
	if err != nil {
		return dst, false, err
	}
	f, value, isError := &t.fields[authoredStructured], &slots[authoredStructured], slots[authoredError].v != 0
	if value.first != absent {
		mark := len(dst)
		if dst, err = s.appendValue(append(dst, structured...), f, value.v, value.first, maxDepth-1); err != nil {
			return dst, false, err
		}
		dst = append(dst, ',')
		if isError {
			dst = dst[:mark]
		}
	}
	if dst, err = s.appendBlocks(append(dst, blocksName...), &slots[authoredContent]); err != nil {
		return dst, false, err
	}
	if isError {
		dst = append(dst, `,"isError":true`...)
	}
	return dst, isError, nil
}
