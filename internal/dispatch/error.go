package dispatch

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Whether a failed call was executed, as far as the edge can know (boundary.md, "What a refusal says").
const (
	// ExecutedNo says that the call never left the edge.
	ExecutedNo = "no"
	// ExecutedUnknown says that the call may have run: check before repeating it.
	ExecutedUnknown = "unknown"
)

// Error says what became of a call that brought no response. Every error of [Dispatcher.Call] and [Dispatcher.Stream] is
// one.
type Error struct {
	// Code is the gRPC code: the service's, where it answered, else the dispatcher's own.
	Code codes.Code
	// Executed is ExecutedNo, ExecutedUnknown, or empty where the service's answer leaves no doubt.
	Executed string
	// Disagreement says that the second door refused what the first one let through: a fault of ours, to be logged,
	// while the caller sees the unknown-tool answer. The call never left.
	Disagreement bool
	// TooLarge says that the response was larger than the edge accepts.
	TooLarge bool
	// Fault says, in constant words, what is wrong with the messages of a stream; empty where that is not why it failed.
	// The code is Internal then.
	Fault string
	// Status is the service's own status; nil where the service did not answer.
	Status *status.Status
	// Err is the cause, for the log alone: it can hold addresses, and what the service said.
	Err error

	// received says that a message of the stream had arrived, so that the call must not be repeated.
	received bool
}

// Error describes the failure for the log.
func (e *Error) Error() string {
	what := "call failed"
	if e.Disagreement {
		what = "the second door refused the call"
	}
	if e.Executed != "" {
		what += " (executed: " + e.Executed + ")"
	}
	return fmt.Sprintf("%s: %v: %v", what, e.Code, e.Err)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

func refusedBySecondDoor(err error) *Error {
	return &Error{Code: codes.NotFound, Executed: ExecutedNo, Disagreement: true, Err: err}
}

func notSent(code codes.Code, err error) *Error {
	return &Error{Code: code, Executed: ExecutedNo, Err: err}
}
