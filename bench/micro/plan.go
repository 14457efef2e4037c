package micro

import (
	"errors"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/rules"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/transcode"
)

// plan is what the edge compiles of a tool (internal/catalog): the gate that turns arguments into a request, the rules
// that it leaves to protovalidate, and what turns a response into JSON.
type plan struct {
	gate    *gate.Gate
	rules   *rules.Rules
	results *transcode.Results
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
	left, err := rules.Compile(doc)
	if err != nil {
		return nil, err
	}
	r, err := transcode.CompileResults(out, schema.Profile{}, in)
	if err != nil {
		return nil, err
	}
	return &plan{g, left, r}, nil
}

// request judges arguments and writes them as a request.
func (p *plan) request(arguments []byte) ([]byte, error) {
	accepted, refusal := p.gate.Judge(arguments)
	if refusal == nil && accepted.RulesRemain && p.rules != nil {
		refusal = p.rules.Judge(accepted.Wire)
	}
	if refusal != nil {
		return nil, errRefused
	}
	return accepted.Wire, nil
}

// appendJSON appends a response as JSON.
func (p *plan) appendJSON(dst, response []byte) ([]byte, error) {
	return p.results.AppendJSON(dst, response)
}
