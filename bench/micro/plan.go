package micro

import (
	"errors"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/transcode"
)

// plan is what the edge compiles of a tool: the gate that turns arguments into a request, and the codec that turns a
// response into JSON.
type plan struct {
	gate  *gate.Gate
	codec *transcode.Codec
}

var errRefused = errors.New("the gate refused the arguments")

// derive makes the document that is published for a request.
func derive(in protoreflect.MessageDescriptor) (*schema.Document, error) {
	doc, _, err := schema.Input(in, schema.Profile{})
	return doc, err
}

func compile(doc *schema.Document, in, out protoreflect.MessageDescriptor) (*plan, error) {
	g, err := gate.Compile(doc)
	if err != nil {
		return nil, err
	}
	c, err := transcode.Compile(in, out, schema.Profile{})
	if err != nil {
		return nil, err
	}
	return &plan{g, c}, nil
}

// request judges arguments and writes them as a request.
func (p *plan) request(arguments []byte) ([]byte, error) {
	accepted, refusal := p.gate.Judge(arguments)
	if refusal != nil {
		return nil, errRefused
	}
	return accepted.Wire, nil
}

// appendJSON appends a response as JSON.
func (p *plan) appendJSON(dst, response []byte) ([]byte, error) {
	result, err := p.codec.Decode(response)
	return append(dst, result.Structured...), err
}
