package mcp

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/auth/token"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// metadataPath is where a resource server's metadata is (RFC 9728, 3.1).
const metadataPath = "/.well-known/oauth-protected-resource/mcp"

// The texts of refusals. Who tries learns what this edge accepts, and nothing of what was sent.
const (
	secretsText = "Valid credentials are needed: send the headers clientId and clientSecret. " + usersText
	tokensText  = "Valid credentials are needed: send an access token of this edge's authorization server as " +
		"Authorization: Bearer, or the headers clientId and clientSecret. " + usersText
	badTokenText = "The access token is not valid here, or no longer: get a new one from the authorization server that " +
		"the protected resource metadata names."
	noTokensText = "This edge accepts no access tokens: send the headers clientId and clientSecret, and no Authorization. " +
		usersText
	// usersText is part of what everybody is told, since one who sends too little looks like one whose secret is wrong.
	usersText = "Users of an organization also send organizationId, and applicationId where they act as an application."

	malformedText = "The credentials are malformed: each of the headers Authorization, clientId, clientSecret, " +
		"organizationId and applicationId may stand once, and Bearer has a token behind it."
	attemptsText = "Too many attempts to authenticate failed: wait as long as Retry-After says."
	cutOffText   = "This edge has not heard from the registry for so long that it can no longer tell who is calling: try " +
		"again later."
	scopeText = "The access token lacks the scope that this method needs: the header WWW-Authenticate names it."
)

// retryCutOff is after how many seconds a caller may ask an edge again that was cut off.
const retryCutOff = "10"

// authenticate finds out who calls, or answers why nobody known does (access.md, "Credentials").
func (x *exchange) authenticate() *answer {
	h, o := x.r.Header, &x.h.options
	// Of the exchange, and hence not made anew for each request.
	x.credentials = auth.Credentials{
		Authorization: h["Authorization"],
		ClientID:      h["Clientid"], ClientSecret: h["Clientsecret"],
		Organization: h["Organizationid"], Application: h["Applicationid"],
	}
	if x.credentials.Origin = (auth.Origin{Proxies: o.Proxies, Peer: x.r.RemoteAddr}); o.Proxies != nil {
		x.credentials.Origin.Forwarded = h["X-Forwarded-For"]
	}
	caller, err := o.Authenticator.Authenticate(x.r.Context(), &x.credentials)
	switch {
	case err == nil:
		x.participant, x.scoped, x.scopes = caller.Participant, caller.Scoped, caller.Scopes
		return nil
	case errors.Is(err, auth.ErrMalformed):
		return x.challenge(http.StatusBadRequest, codeInvalidRequest, malformedText, `error="invalid_request"`, x.metadata())
	case errors.Is(err, auth.ErrTooManyAttempts):
		a := x.unknown(http.StatusTooManyRequests, codeTooMany, attemptsText)
		a.header("Retry-After", strconv.Itoa(int(auth.RetryAfter(err)/time.Second)))
		return a
	case errors.Is(err, auth.ErrCutOff):
		a := x.unknown(http.StatusServiceUnavailable, codeUnavailable, cutOffText)
		a.outcome, a.class = lifecycle.Failed, lifecycle.ServiceUnavailable
		a.header("Retry-After", retryCutOff)
		return a
	}
	return x.unknownCaller()
}

// slowBody is after how long a request whose body has come is authenticated once more.
const slowBody = time.Second

// authenticateAnew finds out again who calls, and what there is to call: who was known when the request began can be
// disabled by the time that its body is there.
func (x *exchange) authenticateAnew() *answer {
	x.participant, x.scoped, x.scopes = nil, false, 0
	if refusal := x.authenticate(); refusal != nil {
		return refusal
	}
	if x.snapshot = x.h.options.Catalog.Load(); x.snapshot == nil {
		return unready()
	}
	return nil
}

// unknownCaller is the one answer to credentials that are not good and to none where some are needed. Which of them
// were sent the caller knows.
func (x *exchange) unknownCaller() *answer {
	parts := []string{x.metadata()}
	if x.h.options.AccessTokens {
		// The body was not read, so that no method is known: what every method asks for.
		parts = append(parts, `scope="`+token.Tools.String()+`"`)
	}
	text := secretsText
	switch sent := x.credentials.HasToken(); {
	case sent && x.h.options.AccessTokens:
		text = badTokenText
	case sent:
		text = noTokensText
	case x.h.options.AccessTokens:
		text = tokensText
	}
	if x.credentials.HasToken() {
		parts = append(parts, `error="invalid_token"`)
	}
	return x.challenge(http.StatusUnauthorized, codeUnauthenticated, text, parts...)
}

// permit refuses a method that the caller's token has no scope for (mcp-protocol.md 4.1, rows 8 to 10). Callers without
// a token are not limited by scopes.
func (x *exchange) permit() *answer {
	if !x.scoped || x.scopes.Permits(x.method.scope) {
		return nil
	}
	a := x.challenge(http.StatusForbidden, codeForbidden, scopeText, `error="insufficient_scope"`,
		`scope="`+x.method.scope.String()+`"`, x.metadata(), `error_description="`+scopeText+`"`)
	a.body = errorBody(x.message.id, &problem{code: codeForbidden, message: scopeText})
	a.class = lifecycle.Authorization
	return a
}

// challenge is a refusal that says how to authenticate (RFC 6750, 3).
func (x *exchange) challenge(status, code int, text string, parts ...string) *answer {
	a := x.unknown(status, code, text)
	a.header("WWW-Authenticate", "Bearer "+strings.Join(parts, ", "))
	return a
}

// unknown is a refusal of a caller before the body was read, so that no id can be echoed.
func (x *exchange) unknown(status, code int, text string) *answer {
	return &answer{
		status:  status,
		body:    errorBody(nil, &problem{code: code, message: text}),
		outcome: lifecycle.Rejected,
		class:   lifecycle.Authentication,
	}
}

func (x *exchange) metadata() string {
	return `resource_metadata="` + BaseURL(x.h.options.BaseURL, x.r) + metadataPath + `"`
}

// BaseURL is the configured base URL of an edge, else the address that the request's connection came in on. The Host
// header is the caller's word and never repeated.
func BaseURL(configured string, r *http.Request) string {
	if configured != "" {
		return configured
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return scheme + addr.String()
	}
	return scheme + "localhost"
}
