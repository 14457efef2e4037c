package mcp

import "github.com/sallyport-dev/sallyport/internal/lifecycle"

// forward gathers the headers that go along with the call, or refuses a call with one that cannot: a service may be
// meant to do something else because of it, so that the call does not run without.
func (x *exchange) forward() *answer {
	if x.h.options.Forward == nil {
		return nil
	}
	forwarded, bad := x.h.options.Forward.Forward(x.r.Header)
	if bad != "" {
		return x.badEnvelope(&problem{code: codeInvalidRequest, message: "The header " + bad + " cannot be passed on to the " +
			"service: send printable ASCII, and less than this edge passes on in all."}, lifecycle.Envelope)
	}
	x.forwarded = forwarded
	return nil
}
