package mcp

import (
	"google.golang.org/grpc/codes"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// status is what a gRPC code says to a caller.
type status struct {
	// text is constant: a service's own message may repeat the caller's arguments.
	text string
	// internal codes have one text for all and a reference that is in the log.
	internal bool
	// spoken codes are meant for callers: [Tool.Explain] says what the service said.
	spoken bool
	// executed adds whether the call may have run, in text and for programs.
	executed bool
	class    lifecycle.Class
}

// statuses has a line for every gRPC code (boundary.md, "What a refusal says").
var statuses = [...]status{
	codes.OK:                 {internal: true, class: lifecycle.Internal},
	codes.Canceled:           {text: "The call was cancelled before it was answered.", executed: true, class: lifecycle.Transport},
	codes.Unknown:            {internal: true, class: lifecycle.Service},
	codes.InvalidArgument:    {spoken: true, class: lifecycle.Service},
	codes.DeadlineExceeded:   {text: "The service did not answer in time.", executed: true, class: lifecycle.Deadline},
	codes.NotFound:           {spoken: true, class: lifecycle.Service},
	codes.AlreadyExists:      {spoken: true, class: lifecycle.Service},
	codes.PermissionDenied:   {spoken: true, class: lifecycle.Service},
	codes.ResourceExhausted:  {spoken: true, class: lifecycle.Service},
	codes.FailedPrecondition: {spoken: true, class: lifecycle.Service},
	codes.Aborted:            {spoken: true, class: lifecycle.Service},
	codes.OutOfRange:         {spoken: true, class: lifecycle.Service},
	codes.Unimplemented:      {spoken: true, class: lifecycle.Service},
	codes.Internal:           {internal: true, class: lifecycle.Service},
	codes.Unavailable:        {text: "The service is not available.", executed: true, class: lifecycle.ServiceUnavailable},
	codes.DataLoss:           {internal: true, class: lifecycle.Service},
	// A service answers this to an assertion of ours that it does not accept: nothing that a caller could mend.
	codes.Unauthenticated: {internal: true, class: lifecycle.Service},
}

// statusOf never fails: a code outside gRPC's own is like UNKNOWN.
func statusOf(code codes.Code) *status {
	if int(code) < len(statuses) {
		return &statuses[code]
	}
	return &statuses[codes.Unknown]
}

// What is said about whether a call ran, after the text of its code.
const (
	didNotRunText  = " The call did not run."
	mayHaveRunText = " The call may have run: check before you repeat it."
)

const offlineText = "The tool is offline: no instance of its service is running." + didNotRunText

const overdueText = "The request took longer than this edge allows."

const tooLargeText = "The service's response is larger than this edge accepts: ask for less at once."

// internalText is the one text of every internal error.
func internalText(reference string) string {
	return "An internal error occurred. Whoever runs this platform finds it in the log by the reference " + reference + "."
}
