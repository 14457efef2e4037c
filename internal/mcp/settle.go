package mcp

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// hidden and shown are told where resolution gives no decision: what nobody may call is not told apart from what is not
// there.
var (
	hidden = &lifecycle.Decision{Permitted: false}
	shown  = &lifecycle.Decision{Permitted: true}
)

// decide takes over an access decision on a call and tells of it.
func (x *exchange) decide(d *lifecycle.Decision) {
	x.decision = d
	if x.h.options.Decided == nil {
		return
	}
	switch {
	case d != nil:
	case x.tool == nil:
		d = hidden
	default:
		d = shown
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

// settle tells how the request ended.
func (x *exchange) settle(a *answer) {
	if x.h.options.Settled == nil {
		return
	}
	s, now := &x.settlement, time.Now()
	*s = lifecycle.Settlement{
		Reference:       x.reference,
		Outcome:         a.outcome,
		Class:           a.class,
		Method:          x.method.name,
		ProtocolVersion: x.version,
		Participant:     x.participant,
		Decision:        x.decision,
		Limit:           a.limit,
		Status:          a.status,
		At:              now,
		Duration:        now.Sub(x.started),
	}
	if x.tool != nil {
		s.Tool = x.tool.Resource()
	}
	if x.strange {
		s.Credential = credentialOf(&x.credentials)
		s.Address = x.credentials.Origin.String()
	}
	x.h.options.Settled(x.r.Context(), s)
}

// NewReference makes a request's correlation id. It need not be secret, only rare.
func NewReference() string { return strconv.FormatUint(rand.Uint64()|1<<63, 36) }

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
