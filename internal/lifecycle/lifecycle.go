// Package lifecycle says how a request ended.
//
// In comes the one [Settlement] that internal/mcp makes of every request, out goes one log line, and what the audit log
// says of it. The room knows no HTTP and no JSON-RPC, and it never sees a body, a header, an argument or a result: a
// Settlement holds bounded facts of ours only (lifecycle.md, "Settlement"). Interceptors and observers will live here.
package lifecycle

import (
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
	None           Class = "NONE"
	Decode         Class = "DECODE"
	Envelope       Class = "ENVELOPE"
	Negotiation    Class = "NEGOTIATION"
	Authentication Class = "AUTHENTICATION"
	Authorization  Class = "AUTHORIZATION"
	// Interceptor is also where the limits of a participant refuse: a quota is what interceptors are for, and no service
	// is to blame.
	Interceptor        Class = "INTERCEPTOR"
	Capability         Class = "CAPABILITY"
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
	// Credential is what a request brought that was not authenticated, and Address where it came from, an IP address;
	// both are empty for every other request.
	Credential Credential
	Address    string
	// Limit is the limit that refused the request; empty where none did.
	Limit Limit
	// Decision is what the access rule decided about a call; nil where none was evaluated.
	Decision *Decision
	// Status is the HTTP status.
	Status int
	// At is when the last byte was handed to the transport, and Duration how long that was after the acceptance.
	At       time.Time
	Duration time.Duration
}

// Decision is one access decision. It is immutable; decisions are shared between settlements.
type Decision struct {
	Permitted bool
	// Rule names what decided, in words of package access: `none`, `roles`, `policy` and the like.
	Rule string
}
