// Package lifecycle says how a request ended.
//
// In comes the one [Settlement] that internal/mcp makes of every request, out goes one log line. The room knows no
// HTTP and no JSON-RPC, and it never sees a body, a header, an argument or a result: a Settlement holds bounded facts
// of ours only (lifecycle.md, "Settlement"). Interceptors and observers will live here.
package lifecycle

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"time"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
)

// Outcome is what was decided about a request.
type Outcome string

// The outcomes of lifecycle.md, "Settlement".
const (
	// Success: the caller got what it asked for.
	Success Outcome = "SUCCESS"
	// ToolError: the tool was reached or at least found, and answered isError.
	ToolError Outcome = "TOOL_ERROR"
	// Rejected: the request was refused before a tool was found.
	Rejected Outcome = "REJECTED"
	// Failed: a fault of ours.
	Failed Outcome = "FAILED"
	// Cancelled: the caller left.
	Cancelled Outcome = "CANCELLED"
)

// Class says where a request that did not succeed ended.
type Class string

// The error classes of lifecycle.md, "Settlement", as far as requests reach them.
const (
	None               Class = "NONE"
	Decode             Class = "DECODE"
	Envelope           Class = "ENVELOPE"
	Negotiation        Class = "NEGOTIATION"
	Authentication     Class = "AUTHENTICATION"
	Authorization      Class = "AUTHORIZATION"
	InputValidation    Class = "INPUT_VALIDATION"
	InputProcessing    Class = "INPUT_PROCESSING"
	Service            Class = "SERVICE"
	ServiceUnavailable Class = "SERVICE_UNAVAILABLE"
	Deadline           Class = "DEADLINE"
	Serialization      Class = "SERIALIZATION"
	Transport          Class = "TRANSPORT"
	Internal           Class = "INTERNAL"
)

// Settlement is the immutable account of one request. Every field is ours: a method or a tool name that the caller
// made up never gets here.
type Settlement struct {
	// Reference is the request's correlation id, the one that an internal error shows to the caller.
	Reference string
	Outcome   Outcome
	Class     Class
	// Method is one of ours, `OTHER`, or empty where the request ended before its method was known.
	Method string
	// Tool is the resource identifier of the resolved tool; empty where nothing was resolved.
	Tool string
	// ProtocolVersion is the negotiated one; empty before negotiation.
	ProtocolVersion string
	// Participant is nil before authentication.
	Participant *participantv1.Participant
	// Status is the HTTP status.
	Status int
	// At is when the last byte was handed to the transport, and Duration how long that was after the acceptance.
	At       time.Time
	Duration time.Duration
}

// Log writes the one line of a settled request, at info.
func Log(ctx context.Context, logger *slog.Logger, s *Settlement) {
	handler := logger.Handler()
	if !handler.Enabled(ctx, slog.LevelInfo) {
		return
	}
	// What Logger.LogAttrs does, but for finding out each time who calls it.
	record := slog.NewRecord(s.At, slog.LevelInfo, "request settled", here())
	var room [9]slog.Attr
	attrs := append(room[:0],
		slog.String("reference", s.Reference),
		slog.String("outcome", string(s.Outcome)),
		slog.String("class", string(s.Class)),
		slog.Int("status", s.Status),
		slog.Duration("duration", s.Duration))
	if s.Method != "" {
		attrs = append(attrs, slog.String("method", s.Method))
	}
	if s.Tool != "" {
		attrs = append(attrs, slog.String("tool", s.Tool))
	}
	if s.ProtocolVersion != "" {
		attrs = append(attrs, slog.String("protocol", s.ProtocolVersion))
	}
	if p := s.Participant; p != nil {
		attrs = append(attrs, slog.GroupAttrs("participant",
			slog.String("kind", kindName(p.GetKind())),
			slog.String("organization", p.GetOrganizationId()),
			slog.String("application", p.GetApplicationId()),
			slog.String("id", p.GetId())))
	}
	record.AddAttrs(attrs...)
	// A log that cannot be written is nothing that a request could mend.
	_ = handler.Handle(ctx, record)
}

// here is the place in the source that a logger which names it shows for a settled request.
var here = sync.OnceValue(func() uintptr {
	pc, _, _, _ := runtime.Caller(0)
	return pc
})

// kindName is the name of a kind of participant. The enum's own String asks its descriptor each time.
func kindName(k participantv1.Kind) string {
	if int(k) < len(kindNames) && k >= 0 {
		return kindNames[k]
	}
	return k.String()
}

var kindNames = func() (names [participantv1.Kind_KIND_ANONYMOUS + 1]string) {
	for k := range names {
		names[k] = participantv1.Kind(k).String()
	}
	return names
}()
