package gate

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/strict"
)

// Gate judges the arguments of one tool and writes its requests. It is immutable and safe for concurrent use; it takes
// no lock, but for the first time that a call names a type within a google.protobuf.Any.
type Gate struct {
	root body
	// names are the steps of paths; they grow when a type within an Any is compiled.
	names atomic.Pointer[[]string]
	// nullable says that the document wants every property, and null for one that is not given.
	nullable bool
}

// Request is what accepted arguments have become.
type Request struct {
	// Wire is the serialised request message, in memory that belongs to the caller.
	Wire []byte
	// RulesRemain says that the arguments touch a place with rules that the document cannot say, so that
	// protovalidate has to judge the message before it is sent.
	RulesRemain bool
}

// Option sets something about a gate.
type Option func(*compiler)

// WithTextLimits sets the limits of JSON texts within arguments, which documents of some dialects have in the place of
// open values. Without it they are 100 levels, and 1,000 characters for a number.
func WithTextLimits(l strict.Limits) Option { return func(c *compiler) { c.limits = l } }

var textLimits = strict.Limits{Depth: 100, Number: 1000}

// Compile makes the gate of a document that was derived for an input, or of its spelling in a dialect. An error is a
// defect of the document, and so of ours.
func Compile(doc *schema.Document, options ...Option) (*Gate, error) {
	g := new(Gate)
	c := &compiler{gate: g, names: slices.Clone(stepNames), bodies: map[*schema.Node]*object{}, limits: textLimits}
	for _, o := range options {
		o(c)
	}
	root, err := c.root(doc)
	if err != nil {
		return nil, fmt.Errorf("compile the gate of %s: %w", doc.Message().FullName(), err)
	}
	g.root = root
	c.publish()
	return g, nil
}

// Judge takes arguments that the document accepts, or says why it does not accept them. Absent arguments and null are
// the empty object.
//
// The arguments must be one JSON value as the strict decoder passed it: without duplicate names, in valid UTF-8. They
// are read once and kept nowhere. Of other bytes, what can be read of them is judged, and nothing worse happens.
func (g *Gate) Judge(arguments []byte) (Request, *Refusal) {
	j := judges.Get().(*judge)
	defer j.release()
	j.gate, j.text = g, arguments
	if b := j.peek(); b == 0 || b == 'n' {
		j.text, j.at = emptyObject, 0
	}
	g.root.body(j)
	if !j.broken && j.peek() != 0 {
		j.fail()
	}
	if j.broken || len(j.found) > 0 {
		return Request{}, j.refusal()
	}
	return Request{Wire: j.message(), RulesRemain: j.remain}, nil
}

var emptyObject = []byte("{}")

// value judges the JSON value under the cursor and writes it as a field, or as an item of a packed list, where the tag
// is empty.
type value interface {
	value(j *judge, tag string)
}

// body judges the JSON value under the cursor and writes it as the fields of a message, without a length.
type body interface {
	body(j *judge)
}

// framed is a message as the value of a field.
type framed struct{ body }

func (f framed) value(j *judge, tag string) {
	j.tag(tag)
	m := j.open()
	f.body.body(j)
	j.close(m)
}

// grouped is a message between two tags: a group of proto2, and a field with DELIMITED encoding.
type grouped struct {
	body
	end string
}

func (g grouped) value(j *judge, tag string) {
	j.tag(tag)
	g.body.body(j)
	j.tag(g.end)
}

// unframed is a message whose fields stand where its value is asked for: under WrappedName of a request that has a
// JSON form of its own.
type unframed struct{ body }

func (u unframed) value(j *judge, _ string) { u.body.body(j) }
