package mcp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc/codes"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// Keys in the _meta of results.
const (
	metaCorrectable = "dev.sallyport/correctable"
	metaExecuted    = "dev.sallyport/executed"
	metaType        = "dev.sallyport/type"
)

// unknownTool is the one answer for a tool that does not exist, that the caller may not see, that is denied, for a name
// that is not a string and for params that hold none (boundary.md, "What a refusal says").
var unknownTool = &problem{code: codeInvalidParams, message: "Unknown tool."}

var emptyObject = []byte("{}")

var badArguments = &problem{code: codeInvalidParams, message: `The member "arguments" must be an object.`}

// callTool takes a call through its doors: resolve, limit, judge, dispatch, render.
func (x *exchange) callTool() *answer {
	tool, found := x.snapshot.Resolve(x.participant, x.dialect, x.toolName())
	if !found {
		x.decided(hidden)
		return x.fail(unknownTool, lifecycle.Authorization)
	}
	x.tool = tool
	x.decided(shown)
	if refusal := x.enterCall(); refusal != nil {
		return refusal
	}
	if refusal := x.forward(); refusal != nil {
		return refusal
	}
	if headers := tool.Headers(); headers != nil && x.era.routed {
		if refusal := x.checkHeaders(headers, tool.AsksForHeaders()); refusal != nil {
			return refusal
		}
	}
	if needed := tool.Capabilities(); needed != nil {
		if refusal := x.checkCapabilities(needed); refusal != nil {
			return refusal
		}
	}

	arguments := x.message.params.arguments
	switch {
	case arguments == nil || arguments.Kind() == 'n':
		arguments = emptyObject
	case arguments.Kind() != '{':
		return x.fail(badArguments, lifecycle.Envelope)
	}
	if !tool.Online() {
		return x.toolError(offlineText, metaExecuted, executedNo, lifecycle.ServiceUnavailable)
	}
	request, refusal, err := tool.Judge(arguments)
	if err != nil {
		return x.fault("judge the arguments", lifecycle.InputProcessing, err)
	}
	if refusal != nil {
		return x.toolError(refusal.Text, metaCorrectable, boolean(refusal.Correctable), lifecycle.InputValidation)
	}
	return x.dispatch(request, arguments)
}

// dispatch sends the call and renders what came of it. The call ends with the request: when the caller leaves, or does
// not take its progress, and at the request's deadline, where there is one.
func (x *exchange) dispatch(request []byte, arguments jsontext.Value) *answer {
	ctx, report := x.r.Context(), (func(Sign))(nil)
	if limit := x.h.options.RequestTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, x.started.Add(limit))
		defer cancel()
	}
	if x.tool.Progress() && x.message.params.meta.progressToken != nil && acceptsEvents(x.r.Header["Accept"]) {
		var whole context.Context
		x.stream, whole = x.newStream(ctx)
		ctx, report = whole, x.stream.report
	}
	response, err := x.tool.Dispatch(ctx, &Call{
		Participant: x.participant, Request: request, Arguments: arguments, Forwarded: x.forwarded,
	}, report)
	if err != nil {
		return x.undone(arguments, err)
	}
	defer response.Free()
	if x.overdue() {
		return x.tooLate(nil)
	}
	return x.result(response.ReadOnlyData())
}

// undone answers a call that brought no response.
func (x *exchange) undone(arguments []byte, err error) *answer {
	var failure *Failure
	errors.As(err, &failure)
	switch {
	case x.overdue():
		return x.tooLate(failure)
	case failure == nil:
		return x.fault("dispatch the call", lifecycle.Internal, err)
	}
	return x.failure(arguments, failure)
}

// overdue says that the request's deadline has passed. What arrives later is dropped.
func (x *exchange) overdue() bool {
	limit := x.h.options.RequestTimeout
	return limit > 0 && time.Since(x.started) >= limit
}

// tooLate answers a request whose deadline has passed (lifecycle.md, "Cancellation and progress").
func (x *exchange) tooLate(f *Failure) *answer {
	text := overdueText + mayHaveRunText
	if f != nil && f.NotExecuted {
		text = overdueText + didNotRunText
	}
	return &answer{
		status:  http.StatusGatewayTimeout,
		body:    errorBody(x.message.id, &problem{code: codeOverdue, message: text}),
		outcome: lifecycle.Failed,
		class:   lifecycle.Deadline,
		ended:   true,
	}
}

// toolName is the name that the call asks for. Whatever is not a name resolves to nothing, on the same path as a name
// that nobody has.
func (x *exchange) toolName() string {
	p := &x.message.params
	if p.meta.shape != 0 && p.meta.shape != '{' {
		return ""
	}
	return string(unquoteString(p.name))
}

// result renders what the tool answered (tools.md, "Results").
func (x *exchange) result(response []byte) *answer {
	b, isError, err := x.tool.AppendResult(x.begin(), response)
	if err != nil {
		return x.fault("read the response", lifecycle.Serialization, err)
	}
	a := x.end(append(appendString(x.beginMeta(b, metaType), x.tool.ResultType()), '}'))
	if isError {
		a.outcome, a.class = lifecycle.ToolError, lifecycle.Service
	}
	return a
}

// toolError is a result that says no: one text of ours, and one fact under key for programs.
func (x *exchange) toolError(text, key string, fact []byte, class lifecycle.Class) *answer {
	b := append(x.begin(), `"content":[{"type":"text","text":`...)
	b = appendString(b, text)
	b = append(b, `}],"isError":true`...)
	if key != "" {
		b = append(append(x.beginMeta(b, key), fact...), '}')
	} else {
		b = x.metaAlone(b)
	}
	a := x.end(b)
	a.outcome, a.class = lifecycle.ToolError, class
	return a
}

// fault is an error of our own code, or a response that cannot be what the service meant: one text and a reference.
// The cause may hold what caller or service sent, so that it is logged at debug only.
func (x *exchange) fault(doing string, class lifecycle.Class, err error) *answer {
	ctx := x.r.Context()
	x.h.log.ErrorContext(ctx, "cannot "+doing, "reference", x.reference, "tool", x.tool.Resource())
	x.h.log.DebugContext(ctx, "cause", "reference", x.reference, "error", err)
	return x.toolError(internalText(x.reference), "", nil, class)
}

// failure says why a call brought no response.
func (x *exchange) failure(arguments []byte, f *Failure) *answer {
	ctx := x.r.Context()
	if f.Disagreement {
		x.h.log.ErrorContext(ctx, "the second door refused what the first let through", "reference", x.reference,
			"tool", x.tool.Resource())
		return x.fail(unknownTool, lifecycle.Authorization)
	}
	if x.left() {
		// The caller left: whatever is said reaches nobody, and no service is to blame.
		f = &Failure{Code: codes.Canceled, NotExecuted: f.NotExecuted}
	}
	if f.TooLarge {
		return x.toolError(tooLargeText, "", nil, lifecycle.Service)
	}
	say := statusOf(f.Code)
	if say.internal {
		log := x.h.log.With("reference", x.reference, "tool", x.tool.Resource(), "code", f.Code.String())
		if f.Fault != "" {
			log = log.With("fault", f.Fault)
		}
		log.ErrorContext(ctx, "a service failed")
		x.h.log.DebugContext(ctx, "cause", "reference", x.reference, "error", f.Err)
		return x.toolError(internalText(x.reference), "", nil, say.class)
	}
	if say.spoken {
		text, correctable := x.tool.Explain(arguments, f)
		return x.toolError(text, metaCorrectable, boolean(correctable), say.class)
	}
	if f.NotExecuted {
		return x.toolError(say.text+didNotRunText, metaExecuted, executedNo, say.class)
	}
	return x.toolError(say.text+mayHaveRunText, metaExecuted, executedUnknown, say.class)
}

var (
	executedNo      = []byte(`"no"`)
	executedUnknown = []byte(`"unknown"`)
	jsonTrue        = []byte("true")
	jsonFalse       = []byte("false")
)

func boolean(b bool) jsontext.Value {
	if b {
		return jsonTrue
	}
	return jsonFalse
}
