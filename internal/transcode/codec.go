package transcode

import (
	"bytes"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/sallyport-dev/sallyport/internal/schema"
)

// Codec transcodes the calls of one tool. It is immutable and safe for concurrent use.
type Codec struct {
	in, out protoreflect.MessageDescriptor
	content protoreflect.FieldDescriptor // the response's content field, or nil
	profile schema.Profile
	types   *contractTypes // what an Any may carry
	toWire  *reshaper
	toJSON  *reshaper
}

// Result is a response as MCP serves it.
type Result struct {
	// Content is a JSON array of content blocks.
	Content []byte
	// Structured is a JSON object, or nil where the result has no structured content.
	Structured []byte
	// IsError says that the service authored an error result.
	IsError bool
}

// Compile makes the codec of a request and a response. An error names the field that cannot be transcoded.
func Compile(in, out protoreflect.MessageDescriptor, p schema.Profile) (*Codec, error) {
	content, err := schema.ContentField(out)
	if err != nil {
		return nil, fmt.Errorf("compile the codec of %s and %s: %w", in.FullName(), out.FullName(), err)
	}
	types := newContractTypes(in, out)
	c := &Codec{in: in, out: out, content: content, profile: p, types: types}
	c.toWire = &reshaper{input: true, profile: p, types: types}
	c.toJSON = &reshaper{profile: p, types: types}
	return c, nil
}

// Encode turns arguments that the gate accepted into the wire bytes of the request. Absent arguments and null are the
// empty object. The same arguments give the same bytes. An error means that gate and codec disagree, which is a defect
// of ours; its text may quote the arguments and is for the log alone.
func (c *Codec) Encode(arguments []byte) (wire []byte, err error) {
	if trimmed := bytes.TrimSpace(arguments); len(trimmed) == 0 || string(trimmed) == "null" {
		arguments = []byte(`{}`)
	}
	m := dynamicpb.NewMessage(c.in)
	text, err := c.toWire.request(arguments, c.in)
	if err != nil {
		return nil, fmt.Errorf("read arguments as %s: %w", c.in.FullName(), err)
	}
	if text != nil {
		options := protojson.UnmarshalOptions{AllowPartial: true, Resolver: c.types}
		if err := options.Unmarshal(text, m); err != nil {
			return nil, fmt.Errorf("read arguments as %s: %w", c.in.FullName(), err)
		}
	}
	wire, err = proto.MarshalOptions{AllowPartial: true, Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", c.in.FullName(), err)
	}
	return wire, nil
}

// Decode turns the wire bytes of a response into a result. The same bytes give the same result. An error means that
// the service sent what its contract does not allow; its text may quote the response and is for the log alone.
func (c *Codec) Decode(wire []byte) (Result, error) {
	result, err := c.decode(wire)
	if err != nil {
		return Result{}, fmt.Errorf("read the response %s: %w", c.out.FullName(), err)
	}
	return result, nil
}

func (c *Codec) decode(wire []byte) (Result, error) {
	if schema.IsToolResult(c.out) {
		return authoredResult(wire)
	}
	m := dynamicpb.NewMessage(c.out)
	// Unknown fields are a newer instance's and extensions are not published: both are dropped.
	options := proto.UnmarshalOptions{AllowPartial: true, DiscardUnknown: true, Resolver: new(protoregistry.Types)}
	if err := options.Unmarshal(wire, m); err != nil {
		return Result{}, err
	}
	if schema.IsBare(c.out) {
		text, err := c.json(m)
		if err != nil {
			return Result{}, err
		}
		return Result{Content: oneText(bare(c.out, text))}, nil
	}
	if c.content != nil {
		blocks, err := contentOf(m.Get(c.content).List())
		if err != nil {
			return Result{}, err
		}
		m.Clear(c.content)
		text, err := c.json(m)
		if err != nil {
			return Result{}, err
		}
		return Result{Content: blocks, Structured: text}, nil
	}
	text, err := c.json(m)
	if err != nil {
		return Result{}, err
	}
	return Result{Content: oneText(string(text)), Structured: text}, nil
}

// json writes a response in its profile, compactly.
func (c *Codec) json(m proto.Message) ([]byte, error) {
	options := protojson.MarshalOptions{AllowPartial: true, EmitDefaultValues: !c.profile.OmitImplicit, Resolver: c.types}
	text, err := options.Marshal(m)
	if err != nil {
		return nil, err
	}
	return c.toJSON.response(text, c.out, c.content)
}
