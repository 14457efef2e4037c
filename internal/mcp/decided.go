package mcp

import (
	"net/http"
	"net/netip"
	"strings"
	"time"

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
func credentialOf(h http.Header) lifecycle.Credential {
	for _, value := range h["Authorization"] {
		if scheme, _, _ := strings.Cut(value, " "); strings.EqualFold(scheme, "Bearer") {
			return lifecycle.CredentialBearer
		}
	}
	if len(h["Clientid"])+len(h["Clientsecret"]) > 0 {
		return lifecycle.CredentialSecret
	}
	return lifecycle.CredentialNone
}

// addressOf is the IP address of who is connected; empty where the connection has none.
func addressOf(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	return at.Addr().Unmap().WithZone("").String()
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
