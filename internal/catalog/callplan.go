package catalog

import (
	"fmt"

	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/gate"
	"github.com/sallyport-dev/sallyport/internal/rules"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/internal/strict"
	"github.com/sallyport-dev/sallyport/internal/transcode"
)

// CallPlan takes the calls of one function over the boundary: arguments become a request on the wire or a refusal, and
// a response on the wire becomes the members of a result. It is compiled once, at the first call, and is immutable and
// safe for concurrent use.
type CallPlan struct {
	// input is the document by which arguments are judged.
	input *schema.Document
	gate  *gate.Gate
	// rules judge what the gate leaves to protovalidate; nil where it leaves nothing.
	rules   *rules.Rules
	results *transcode.Results
	// progress reads the messages of a stream; nil where the function has one response.
	progress *transcode.Progress
}

// compileCalls compiles the plan of a function. An error is a defect of the contract or of ours: what is published
// cannot be called.
func compileCalls(t *contract.Tool) (p *CallPlan, err error) {
	defer recovered(&err)
	p = &CallPlan{input: t.Input}
	if p.gate, err = gate.Compile(t.Input); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Resource(), err)
	}
	if p.rules, err = rules.Compile(t.Input); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Resource(), err)
	}
	if p.results, err = transcode.CompileResults(t.Result, t.Profile, t.Descriptor.Input()); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Resource(), err)
	}
	if t.Progress {
		if p.progress, err = transcode.CompileProgress(t.Descriptor.Output()); err != nil {
			return nil, fmt.Errorf("%s: %w", t.Resource(), err)
		}
	}
	return p, nil
}

// spell gives the plan for calls in a dialect. One pass of the gate judges what was published in the dialect and what is
// canonical, and undoes what the dialect changed; rules and results are the same.
func (p *CallPlan) spell(d dialect.Dialect, t *contract.Tool, texts strict.Limits) (spelled *CallPlan, err error) {
	defer recovered(&err)
	other := *p
	other.input = d.Input(t.Input)
	if !d.ChangesArguments() && !other.input.OpenAtRoot() {
		return &other, nil // whatever is accepted canonically fits the dialect's document
	}
	if texts == (strict.Limits{}) {
		other.gate, err = gate.Compile(other.input)
	} else {
		other.gate, err = gate.Compile(other.input, gate.WithTextLimits(texts))
	}
	if err != nil {
		return nil, fmt.Errorf("%s in the dialect %s: %w", t.Resource(), d, err)
	}
	return &other, nil
}

// Input is the document by which arguments are judged: the published one.
func (p *CallPlan) Input() *schema.Document { return p.input }

// Judge turns arguments, one JSON value that the strict decoder accepted, into the request on the wire, which is the
// caller's, or refuses them. The gate judges first, and protovalidate then what the gate could not, where there is any
// in these arguments.
func (p *CallPlan) Judge(arguments []byte) (request []byte, refusal *gate.Refusal) {
	accepted, refusal := p.gate.Judge(arguments)
	if refusal == nil && accepted.RulesRemain && p.rules != nil {
		refusal = p.rules.Judge(accepted.Wire)
	}
	if refusal != nil {
		return nil, refusal
	}
	return accepted.Wire, nil
}

// ReadStep reads one message of the stream of a function that has progress. An error is the service's fault; its text may
// quote the message and is for the log alone.
func (p *CallPlan) ReadStep(message []byte) (transcode.Step, error) { return p.progress.Read(message) }

// AppendResult appends the members of the result object that the response is, without braces: the structured content
// first, where there is any, then the content blocks, then isError where the service authored an error, which isError
// reports as well. The response of a function that has progress is the message of its stream that holds the result. On an
// error dst is returned as it was; the service sent what its contract does not allow, and the error's text may quote it
// and is for the log alone.
func (p *CallPlan) AppendResult(dst, response []byte) (result []byte, isError bool, err error) {
	if p.progress != nil {
		step, err := p.progress.Read(response)
		if err != nil {
			return dst, false, err
		}
		response = step.Result
	}
	return p.results.AppendResult(dst, response)
}
