package redact

import "google.golang.org/grpc/codes"

// code is what a gRPC code that is meant for callers says to them.
type code struct {
	// text stands where the service wrote nothing, or nothing that may be shown.
	text string
	// correctable says that other arguments may succeed.
	correctable bool
}

// spoken has the codes whose message is the service's word to its caller (boundary.md, "What a refusal says").
//
// Correctable are the codes that speak of the arguments themselves: they are invalid, out of range, name what is not
// there, or what is there already. The others speak of the state of the service, of a race, of a quota, of rights or of
// a missing implementation: the same arguments may succeed later, or none ever will, and a model that is told to correct
// them would guess.
var spoken = map[codes.Code]code{
	codes.InvalidArgument:    {text: "The service refused the arguments as invalid.", correctable: true},
	codes.OutOfRange:         {text: "The arguments are outside the range that the service has.", correctable: true},
	codes.NotFound:           {text: "The service did not find what the arguments name.", correctable: true},
	codes.AlreadyExists:      {text: "What the call would create exists already.", correctable: true},
	codes.PermissionDenied:   {text: "The service does not permit this call."},
	codes.ResourceExhausted:  {text: "The service has no capacity or quota left for this call."},
	codes.FailedPrecondition: {text: "The service is not in a state in which this call can succeed."},
	codes.Aborted:            {text: "The service aborted the call because of a conflict with another one."},
	codes.Unimplemented:      {text: "The service does not implement this tool."},
}

// Speaks reports a code whose message is meant for callers. Of any other code nothing that the service wrote is shown.
func Speaks(c codes.Code) bool {
	_, ok := spoken[c]
	return ok
}

// Text is the constant text of a code that speaks, for a service that wrote no message of its own; blank for any other
// code.
func Text(c codes.Code) string { return spoken[c].text }

// Correctable reports that corrected arguments may succeed after this code.
func Correctable(c codes.Code) bool { return spoken[c].correctable }
