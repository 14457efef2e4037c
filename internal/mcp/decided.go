package mcp

import (
	"time"

	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// hidden and shown are what resolution alone decides: what no rule of a tool permits is not told apart from what is not
// there.
var (
	hidden = &lifecycle.Decision{Permitted: false}
	shown  = &lifecycle.Decision{Permitted: true}
)

// decided tells of an access decision on a call.
func (x *exchange) decided(d *lifecycle.Decision) {
	if x.h.options.Decided == nil {
		return
	}
	s := &x.settlement
	*s = lifecycle.Settlement{
		Reference:       x.reference,
		Method:          x.method.name,
		ProtocolVersion: x.version,
		Participant:     x.participant,
		Decision:        d,
		At:              time.Now(),
	}
	if x.tool != nil {
		s.Tool = x.tool.Resource()
	}
	x.h.options.Decided(x.r.Context(), s)
}

// credentialOf is the kind of credentials that a request brings: the first in the order of access.md, "Credentials".
func credentialOf(c *auth.Credentials) lifecycle.Credential {
	switch {
	case c.HasToken():
		return lifecycle.CredentialBearer
	case len(c.ClientID)+len(c.ClientSecret) > 0:
		return lifecycle.CredentialSecret
	}
	return lifecycle.CredentialNone
}

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
