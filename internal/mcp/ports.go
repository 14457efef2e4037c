package mcp

import (
	"context"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"

	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/schema"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// Authenticator turns the credentials in a request's headers into a caller (access.md, "Credentials"). An
// auth.Authenticator is one.
type Authenticator interface {
	// Authenticate returns who calls, or one of package auth's errors; any other counts as auth.ErrUnauthenticated. It
	// must be safe for concurrent use, and keeps nothing of the credentials.
	Authenticate(ctx context.Context, c *auth.Credentials) (auth.Caller, error)
}

// Catalog gives the current snapshot of the tools.
type Catalog interface {
	// Load returns the current snapshot, nil before there is one. It is called once per request, and once more where its
	// body is slow, and must not block.
	Load() Snapshot
}

// Snapshot is one immutable state of the tools. Its methods are safe for concurrent use.
type Snapshot interface {
	// Page returns the definitions in a dialect, in order and with commas between them, of at most size tools that p sees
	// after the tool with the hash after, and the hash that the page ended on when another page follows. The bytes are
	// shared and must not be changed.
	Page(p *participantv1.Participant, d dialect.Dialect, after string, size int) (definitions []byte, next string)
	// Resolve finds a tool, to be called in a dialect, by its published or hashed name among those that p may call.
	// Hidden, denied and missing are one answer: nil. The decision says which, for the audit alone; it may be nil.
	Resolve(p *participantv1.Participant, d dialect.Dialect, name string) (Tool, *lifecycle.Decision)
}

// Tool is one resolved tool, good for one call.
type Tool interface {
	// Resource is the tool's resource identifier, for logs.
	Resource() string
	// ResultType is the full name of the response message.
	ResultType() string
	// Online says whether an instance serves the tool now.
	Online() bool
	// Progress says that the tool streams its progress before its result.
	Progress() bool
	// Capabilities are the client capabilities that the tool needs, as dotted names; nil for none.
	Capabilities() []string
	// Headers are the properties that callers of the modern era repeat in headers, for whoever routes requests by them;
	// nil for none.
	Headers() []schema.Header
	// AsksForHeaders says that the document that the caller reads asks for them. Where it does not, callers send none; what
	// they send is compared all the same.
	AsksForHeaders() bool
	// Judge turns arguments, which are one JSON object that the strict decoder read, into the request on the wire, or
	// refuses them. An error is a fault of ours.
	Judge(arguments []byte) (request []byte, refusal *Refusal, err error)
	// Permits decides about a call by its arguments, which Judge has accepted; nil where the access rule does not read them.
	Permits(p *participantv1.Participant, arguments []byte) *lifecycle.Decision
	// Dispatch sends a call to an instance and returns its response, which is to be freed after use. An error is a
	// *[Failure], or a fault of ours. It returns when ctx ends. The call's bytes must not be modified, even after a
	// failure.
	//
	// report is told of the signs of life of a tool with progress, in their order, by the calling goroutine and before
	// Dispatch returns. It is nil where nobody listens.
	Dispatch(ctx context.Context, c *Call, report func(Sign)) (mem.Buffer, error)
	// AppendResult appends the members of the result object that the response is, without its braces and with at least
	// one member; isError says that the service itself calls its answer an error, which the members say too. An error
	// is a response that cannot be what the service meant; what was appended then does not count. Nothing of the response
	// is kept.
	AppendResult(dst, response []byte) (result []byte, isError bool, err error)
	// Explain gives what the service said about a call that failed with a code that is meant for callers, in words that
	// may be shown to the caller, who sent the arguments; and whether corrected arguments may succeed.
	Explain(arguments []byte, f *Failure) (text string, correctable bool)
}

// Call is one call that was judged and is to be sent.
type Call struct {
	// Participant is who calls.
	Participant *participantv1.Participant
	// Request is what the gate made of the arguments.
	Request []byte
	// Arguments are what the caller sent, as the dialect spells them.
	Arguments []byte
	// Forwarded are the names and values of headers that go along, as a [Forwarder] gave them.
	Forwarded []string
}

// Forwarder says which headers of a request go along with its call.
type Forwarder interface {
	// Forward gives the names and values of the headers that go along, one after the other; nil for none. Where one of
	// them cannot, bad is its name, which is one of configuration, and nothing may go. It must be safe for concurrent use.
	Forward(header map[string][]string) (forwarded []string, bad string)
}

// Sign is one sign of life of a running call.
type Sign struct {
	// Progress is how far the work is, and Total what it grows towards, where HasTotal says that this is known.
	Progress, Total float64
	HasTotal        bool
	// Message is for a person, in the service's words; may be empty.
	Message string
}

// Refusal is the gate's no, in words of ours only.
type Refusal struct {
	Text string
	// Correctable says whether corrected arguments may succeed.
	Correctable bool
}

// Failure is a call that brought no response.
type Failure struct {
	// Code is the gRPC code.
	Code codes.Code
	// NotExecuted says that the request certainly never left the edge.
	NotExecuted bool
	// TooLarge says that the service answered, with more than the edge accepts.
	TooLarge bool
	// Disagreement says that the second door refused what the first let through: the caller learns nothing of the tool.
	Disagreement bool
	// Fault says in constant words of ours how a service that answered broke its contract; empty otherwise. It may be
	// logged, and the code is Internal then.
	Fault string
	// Err is the cause, for operators only; it may hold data of caller and service.
	Err error
}

// Error names the code. The cause stays behind Unwrap, since it may hold what the caller sent.
func (f *Failure) Error() string { return "call failed: " + f.Code.String() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }
