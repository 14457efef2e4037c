package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/auth/token"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// Defaults of [Options].
const (
	DefaultMaxBodyBytes  = 4 << 20
	DefaultMaxJSONDepth  = 100
	DefaultMaxJSONNumber = 1000
	DefaultPageSize      = 500
	DefaultBodyTimeout   = 30 * time.Second
	DefaultWriteTimeout  = 30 * time.Second
	DefaultListTTL       = time.Minute
	// DefaultProgressInterval makes at most ten progress notifications a second.
	DefaultProgressInterval = 100 * time.Millisecond
)

// LeastAnswer is the smallest bound of [Options.MaxAnswerBytes]: every text of ours fits.
const LeastAnswer = 4 << 10

// Bounds of [Options]: what judges and rewrites a document recurses by its levels, and reads a number as a whole.
const (
	MostJSONDepth  = 1000
	MostJSONNumber = 10_000
)

// Options configure a [Handler]. Catalog and Authenticator are required.
type Options struct {
	Catalog       Catalog
	Authenticator Authenticator
	// Logger gets faults of ours. Nil is slog's default.
	Logger *slog.Logger
	// Settled is told of every request once, after its answer was written. It must not block, and the settlement is its
	// own only until it returns. Nil tells nobody.
	Settled func(ctx context.Context, s *lifecycle.Settlement)
	// Decided is told of every access decision on a call, as soon as it was made, with what is known of the request by
	// then: reference, method, tool, participant, decision and time. Otherwise it is like Settled.
	Decided func(ctx context.Context, s *lifecycle.Settlement)
	// MaxBodyBytes is the largest request body; 0 means [DefaultMaxBodyBytes].
	MaxBodyBytes int64
	// MaxJSONDepth is how many levels of objects and arrays `arguments` may have below itself, at most
	// [MostJSONDepth]; 0 means [DefaultMaxJSONDepth].
	MaxJSONDepth int
	// MaxJSONNumber is how many characters a number may have, at most [MostJSONNumber]; 0 means
	// [DefaultMaxJSONNumber].
	MaxJSONNumber int
	// BodyTimeout is how long a body may take to arrive; 0 means [DefaultBodyTimeout].
	BodyTimeout time.Duration
	// WriteTimeout is how long a caller may take to accept one piece of an answer; 0 means [DefaultWriteTimeout].
	WriteTimeout time.Duration
	// RequestTimeout is the deadline of a whole request; 0 means none. A call has its own deadline anyway.
	RequestTimeout time.Duration
	// MaxAnswerBytes is the largest answer, progress included, at least [LeastAnswer]; 0 means no limit. A larger result
	// is refused, and never cut.
	MaxAnswerBytes int64
	// ProgressInterval is the shortest time between two progress notifications of a call; 0 means
	// [DefaultProgressInterval].
	ProgressInterval time.Duration
	// ListTTL is for how long clients may reuse the list of tools; 0 means [DefaultListTTL], and a negative one that they
	// may not.
	ListTTL time.Duration
	// Dialects are the dialects of clients that name none themselves, by the name that a client gives itself.
	Dialects map[string]dialect.Dialect
	// CORS answers browsers of the allowed origins with what lets their pages read the answers.
	CORS bool
	// MaxRequests is how many requests may be in flight at once; more are answered with 429, before anything is looked
	// at but their heads. 0 means [DefaultMaxRequests].
	MaxRequests int
	// MaxCalls is how many calls of one participant may run at once; more are refused. 0 means [DefaultMaxCalls].
	MaxCalls int
	// CallRate is how often one participant may call. The zero value is no limit.
	CallRate CallRate
	// Now is the clock of CallRate, and of how long a body took; nil means time.Now.
	Now func() time.Time
	// Forward says which headers of a request go along with its call. Nil forwards none.
	Forward Forwarder
	// PageSize is the most tools on a page of tools/list; 0 means [DefaultPageSize].
	PageSize int
	// BaseURL is the edge's absolute URL as its callers know it. Empty: made from the address that a connection came in
	// on.
	BaseURL string
	// AllowedOrigins are origins of browsers beside the edge's own, as https://host[:port].
	AllowedOrigins []string
	// AccessTokens says that the Authenticator accepts tokens, so that challenges tell callers to get one.
	AccessTokens bool
	// Proxies are believed where they say whom a request came from. Nil believes nobody.
	Proxies *auth.Proxies
	// Version is the edge's own version, told to clients.
	Version string
}

// Handler is the MCP endpoint. Between requests it keeps nothing but how much each participant calls, and is safe for
// concurrent use.
type Handler struct {
	options Options
	door    *doorman
	limits  *limits
	served  []*era
	log     *slog.Logger
	texts   texts

	requests inFlight
	callers  *callers
}

// New returns a handler. The error names the option that is wrong.
func New(o Options) (*Handler, error) {
	if o.Catalog == nil || o.Authenticator == nil {
		return nil, errors.New("mcp: Catalog and Authenticator are required")
	}
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = DefaultMaxBodyBytes
	}
	if o.MaxJSONDepth == 0 {
		o.MaxJSONDepth = DefaultMaxJSONDepth
	}
	if o.MaxJSONNumber == 0 {
		o.MaxJSONNumber = DefaultMaxJSONNumber
	}
	if o.MaxJSONDepth < 0 || o.MaxJSONDepth > MostJSONDepth {
		return nil, fmt.Errorf("mcp: MaxJSONDepth is %d: want 1 to %d", o.MaxJSONDepth, MostJSONDepth)
	}
	if o.MaxJSONNumber < 0 || o.MaxJSONNumber > MostJSONNumber {
		return nil, fmt.Errorf("mcp: MaxJSONNumber is %d: want 1 to %d", o.MaxJSONNumber, MostJSONNumber)
	}
	if o.BodyTimeout == 0 {
		o.BodyTimeout = DefaultBodyTimeout
	}
	if o.WriteTimeout == 0 {
		o.WriteTimeout = DefaultWriteTimeout
	}
	if o.ProgressInterval == 0 {
		o.ProgressInterval = DefaultProgressInterval
	}
	switch {
	case o.ListTTL == 0:
		o.ListTTL = DefaultListTTL
	case o.ListTTL < 0:
		o.ListTTL = 0
	}
	if o.MaxAnswerBytes != 0 && o.MaxAnswerBytes < LeastAnswer {
		return nil, fmt.Errorf("max_answer_bytes is %d: want 0, or at least %d, so that a refusal fits", o.MaxAnswerBytes,
			LeastAnswer)
	}
	if o.PageSize == 0 {
		o.PageSize = DefaultPageSize
	}
	if o.MaxRequests == 0 {
		o.MaxRequests = DefaultMaxRequests
	}
	if o.MaxCalls == 0 {
		o.MaxCalls = DefaultMaxCalls
	}
	if o.MaxRequests < 0 || o.MaxCalls < 0 {
		return nil, fmt.Errorf("mcp: MaxRequests is %d and MaxCalls %d: want at least 1", o.MaxRequests, o.MaxCalls)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	var err error
	if o.CallRate, err = o.CallRate.check(); err != nil {
		return nil, err
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	door, err := newDoorman(o.BaseURL, o.AllowedOrigins, o.MaxBodyBytes, o.CORS)
	if err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	h := &Handler{
		options: o, door: door, limits: newLimits(o.MaxJSONDepth, o.MaxJSONNumber), log: o.Logger,
		callers: newCallers(o.MaxCalls, o.CallRate, o.Now),
	}
	h.requests.most = int64(o.MaxRequests)
	h.served = h.eras()
	h.texts = newTexts(h)
	return h, nil
}

// exchange is one request on its way through: each step establishes its facts here once. Exchanges are reused.
type exchange struct {
	h       *Handler
	w       http.ResponseWriter
	r       *http.Request
	started time.Time

	snapshot    Snapshot
	credentials auth.Credentials
	participant *participantv1.Participant
	// scoped says that the caller may do no more than its scopes permit.
	scoped  bool
	scopes  token.Scopes
	message message
	era     *era
	method  method
	version string
	dialect dialect.Dialect
	tool    Tool
	// decision is what the tool's access rule said last; nil where it was not asked.
	decision  *lifecycle.Decision
	reference string
	// crowded says that there was no room for the request, and caller is whose calls it is one of, once it is one.
	crowded bool
	caller  *caller
	// strange says that the request was refused for its credentials, or for the lack of some.
	strange bool
	// forwarded is what of its headers goes along with the call.
	forwarded []string
	// stream is the progress of the call; nil where nobody listens to it.
	stream *stream

	// in is the request's body, out the buffer of the answer's. Both keep their memory from one request to the next.
	in, out []byte
	// reply is the answer of a request that brings a result, and settlement what is said of any.
	reply      answer
	settlement lifecycle.Settlement
}

// exchanges is the one place where the buffers of requests are pooled.
var exchanges = sync.Pool{New: func() any { return new(exchange) }}

// maxPooled keeps one large request or answer from pinning its memory for good.
const maxPooled = 1 << 20

// release forgets the request and keeps the buffers. Nothing of the exchange may be used afterwards.
func (x *exchange) release() {
	in, out := x.in[:0], x.out[:0]
	if cap(in) > maxPooled {
		in = nil
	}
	if cap(out) > maxPooled {
		out = nil
	}
	*x = exchange{in: in, out: out}
	exchanges.Put(x)
}

// ServeHTTP answers one request: one answer, one delivery, one settlement.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := exchanges.Get().(*exchange)
	x.h, x.w, x.r, x.started, x.reference = h, w, r, time.Now(), NewReference()
	if h.door.cors {
		h.door.share(w.Header(), r)
	}
	x.crowded = !h.requests.enter()
	x.settle(x.finish())
	x.release()
}

// finish answers the request and delivers the answer. The places that the request took are free afterwards, whatever
// becomes of it.
func (x *exchange) finish() *answer {
	defer x.leave()
	a := x.answerSafely()
	x.strange = a.class == lifecycle.Authentication // also where its caller does not wait to hear so
	return x.deliver(a)
}

// answerSafely turns a panic of our own code into the bounded internal error.
func (x *exchange) answerSafely() (a *answer) {
	defer func() {
		if fault := recover(); fault != nil {
			x.h.log.ErrorContext(x.r.Context(), "panic in a request", "reference", x.reference, "method", x.method.name,
				"stack", string(debug.Stack()))
			x.h.log.DebugContext(x.r.Context(), "panic value", "reference", x.reference, "panic", fault)
			a = x.internalError()
		}
	}()
	return x.answer()
}

// answer takes the request through its steps until one of them answers.
func (x *exchange) answer() *answer {
	if refusal := x.h.door.admit(x.r); refusal != nil {
		return refusal
	}
	if x.crowded {
		return crowded()
	}
	if x.snapshot = x.h.options.Catalog.Load(); x.snapshot == nil {
		return unready()
	}
	if refusal := x.authenticate(); refusal != nil {
		return refusal
	}
	if refusal := x.readBody(); refusal != nil {
		return refusal
	}
	if x.h.options.Now().Sub(x.started) >= slowBody {
		if refusal := x.authenticateAnew(); refusal != nil {
			return refusal
		}
	}
	var refusal *answer
	if x.message, refusal = x.h.limits.decode(x.in); refusal != nil {
		return refusal
	}
	for _, e := range x.h.served {
		if e.claims(x) {
			x.era = e
			break
		}
	}
	if x.message.kind == response {
		return x.takeResponse()
	}
	known := false
	if x.method, known = x.era.methods[string(x.message.method)]; !known {
		x.method = method{name: methodOther}
	}
	if refusal := x.era.negotiate(x); refusal != nil {
		return refusal
	}
	if x.message.kind == notification {
		return accepted()
	}
	if !known {
		return x.fail(&problem{code: codeMethodNotFound, message: "Method not found."}, lifecycle.Envelope)
	}
	// The modern era's negotiation has looked at the token, among what else a request must state.
	if problem := x.message.params.meta.badToken(); problem != nil {
		return x.fail(problem, lifecycle.Envelope)
	}
	if refusal := x.chooseDialect(); refusal != nil {
		return refusal
	}
	if refusal := x.permit(); refusal != nil {
		return refusal
	}
	return x.method.serve(x)
}

// readBody reads the whole body, so that net/http notices a caller who leaves while the call runs.
func (x *exchange) readBody() *answer {
	control := http.NewResponseController(x.w)
	// A writer that knows no deadlines is not a network connection, and has no slow body either.
	limit := x.h.options.BodyTimeout
	if whole := x.h.options.RequestTimeout; whole > 0 {
		limit = min(limit, whole)
	}
	deadlines := control.SetReadDeadline(x.started.Add(limit)) == nil
	err := x.fill()
	if err == nil {
		if deadlines {
			_ = control.SetReadDeadline(time.Time{})
		}
		return nil
	}
	// The deadline stands, and so bounds how long net/http looks for the end of what was not read.
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		a := headRefusal(http.StatusRequestTimeout, "The body took too long to arrive.")
		a.ended = true
		if x.overdue() {
			a = x.tooLate(&Failure{NotExecuted: true})
		}
		if x.r.ProtoMajor == 1 { // of HTTP/2, only the stream is at its end
			a.header("Connection", "close")
		}
		return a
	case errors.Is(err, io.ErrUnexpectedEOF):
		return headRefusal(http.StatusBadRequest, "The body is shorter than its Content-Length.")
	default:
		return headRefusal(http.StatusBadRequest, "The body could not be read.")
	}
}

// fill reads the body into x.in. net/http itself holds a body to its declared length, which is within the limit.
func (x *exchange) fill() error {
	source, expected := x.r.Body, int(x.r.ContentLength)
	if expected < 0 {
		source, expected = http.MaxBytesReader(x.w, source, x.h.options.MaxBodyBytes), bytes.MinRead
	}
	x.in = slices.Grow(x.in[:0], expected+1) // and room to see the end in
	for {
		n, err := source.Read(x.in[len(x.in):cap(x.in)])
		x.in = x.in[:len(x.in)+n]
		if err == io.EOF {
			// net/http looks for more of a body that is not closed when the answer begins.
			return source.Close()
		}
		if err != nil {
			return err
		}
		if len(x.in) == cap(x.in) {
			x.in = slices.Grow(x.in, bytes.MinRead)
		}
	}
}

// takeResponse drops a posted response: this server sends no requests that it could answer.
func (x *exchange) takeResponse() *answer {
	x.method = method{name: methodOther}
	if !x.era.acceptsResponses {
		return envelopeRefusal(nil, "Responses are not accepted: send requests and notifications.")
	}
	return accepted()
}

// unready answers while the edge has not seen the registry's data yet.
func unready() *answer {
	a := &answer{
		status: http.StatusServiceUnavailable,
		body: errorBody(nil, &problem{
			code:    codeUnavailable,
			message: "This edge has not loaded its tools yet: try again shortly.",
		}),
		outcome: lifecycle.Failed,
		class:   lifecycle.ServiceUnavailable,
	}
	a.header("Retry-After", "1")
	return a
}

// fail is a JSON-RPC error for a well-formed request; its HTTP status is the era's.
func (x *exchange) fail(p *problem, class lifecycle.Class) *answer {
	status := http.StatusOK
	if s, ok := x.era.statuses[p.code]; ok {
		status = s
	}
	return &answer{
		status:  status,
		body:    errorBody(x.message.id, p),
		outcome: lifecycle.Rejected,
		class:   class,
	}
}

// succeed is a result whose members are these.
func (x *exchange) succeed(members []byte) *answer { return x.end(append(x.begin(), members...)) }

// internalError is the one text for whatever our own code gets wrong; the reference is in the log.
func (x *exchange) internalError() *answer {
	status := http.StatusOK
	if x.era == nil {
		status = http.StatusInternalServerError
	}
	return &answer{
		status: status,
		body: errorBody(x.message.id, &problem{
			code:    codeInternalError,
			message: internalText(x.reference),
		}),
		outcome: lifecycle.Failed,
		class:   lifecycle.Internal,
	}
}
