package mcp

import (
	"bytes"
	"net/http"
	"slices"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// methodHeader repeats a request's method, nameHeader the name of the called tool; in net/http's spelling.
const (
	methodHeader = "Mcp-Method"
	nameHeader   = "Mcp-Name"
)

// negotiateModern judges what every message of the modern era says of itself, in the order of mcp-protocol.md 1.5,
// rung 13: `_meta`, its agreement with the version's header, the version, and the method's header.
func (x *exchange) negotiateModern() *answer {
	if x.message.kind == notification {
		return x.negotiateNotification()
	}
	p := &x.message.params
	if problem := p.incomplete(); problem != nil {
		return x.badEnvelope(problem, lifecycle.Envelope)
	}
	if !x.repeats(protocolHeader, unquote(p.meta.protocolVersion)) {
		return x.badEnvelope(versionMismatch, lifecycle.Negotiation)
	}
	if refusal := x.agree(x.era.versions); refusal != nil {
		return refusal
	}
	if !x.repeats(methodHeader, x.message.method) {
		return x.badEnvelope(methodMismatch, lifecycle.Envelope)
	}
	return nil
}

// negotiateNotification asks less of a message that gets no answer: which headers it needs is not defined, so that only
// a version that is not served is refused (mcp-protocol.md 1.3; 1.5, rung 10).
func (x *exchange) negotiateNotification() *answer {
	if _, present := x.versionHeader(); !present {
		return nil
	}
	return x.agree(x.h.versions())
}

// agree takes the version that the header names, where it is one of these.
func (x *exchange) agree(versions []string) *answer {
	header, _ := x.versionHeader()
	i := slices.Index(versions, header)
	if i < 0 {
		return x.refuseVersion()
	}
	x.version = versions[i]
	return nil
}

// repeats says whether a header stands once in the head and repeats a value of the body.
func (x *exchange) repeats(header string, value []byte) bool {
	values := x.r.Header[header]
	return len(values) == 1 && values[0] == string(value)
}

// badEnvelope is an error of the modern era's envelope, before any method is looked at.
func (x *exchange) badEnvelope(p *problem, class lifecycle.Class) *answer {
	a := x.fail(p, class)
	a.status = http.StatusBadRequest
	return a
}

var (
	versionMismatch = &problem{code: codeHeaderMismatch, message: `The header MCP-Protocol-Version must stand once and ` +
		`repeat the member "` + metaProtocolVersion + `" of _meta.`}
	methodMismatch = &problem{code: codeHeaderMismatch, message: `The header Mcp-Method must stand once and repeat the ` +
		`member "method".`}
	nameMismatch = &problem{code: codeHeaderMismatch, message: `The header Mcp-Name must stand once and repeat the ` +
		`member "name" of params, as it is or as =?base64?...?= of its UTF-8.`}
)

// The answers to what is missing in a request of the modern era, or has the wrong type.
var (
	missingMeta = &problem{code: codeInvalidParams, message: `The params must be an object whose member "_meta" is an ` +
		`object with "` + metaProtocolVersion + `", a string, and "` + metaClientCapabilities + `", an object.`}
	badClientInfo = &problem{code: codeInvalidParams, message: `The member "` + metaClientInfo + `" of _meta, where it ` +
		`is given, must be an object.`}
	badLogLevel = &problem{code: codeInvalidParams, message: `The member "` + metaLogLevel + `" of _meta must be one of ` +
		`debug, info, notice, warning, error, critical, alert, emergency.`}
	badProgressToken = &problem{code: codeInvalidParams, message: `The member "` + metaProgressToken + `" of _meta must ` +
		`be a string or an integer of at most 256 bytes.`}
)

// incomplete says what params lack of what the modern era demands, or nil.
func (p *params) incomplete() *problem {
	m := &p.meta
	switch {
	case p.shape != '{' || m.shape != '{' || unquoteString(m.protocolVersion) == nil ||
		m.clientCapabilities == nil || m.clientCapabilities.Kind() != '{':
		return missingMeta
	case m.clientInfo != nil && m.clientInfo.Kind() != '{':
		return badClientInfo
	case m.logLevel != nil && !isLogLevel(unquoteString(m.logLevel)):
		return badLogLevel
	}
	return m.badToken()
}

// badToken refuses a progress token that could not be echoed; one that is absent is fine.
func (m *meta) badToken() *problem {
	if m.progressToken != nil && !validID(m.progressToken) {
		return badProgressToken
	}
	return nil
}

// logLevels are the levels of RFC 5424 that the protocol knows. We send no log messages: one is accepted and has no
// effect (mcp-protocol.md 3.3).
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func isLogLevel(text []byte) bool {
	return slices.ContainsFunc(logLevels, func(level string) bool { return level == string(text) })
}

// callNamedTool is tools/call of a caller that repeats the tool's name in a header.
func (x *exchange) callNamedTool() *answer {
	// A name that is no string is an unknown tool's, whatever the header says.
	if name := unquoteString(x.message.params.name); name != nil {
		if said, ok := headerText(x.r.Header[nameHeader]); !ok || !bytes.Equal(said, name) {
			return x.badEnvelope(nameMismatch, lifecycle.Envelope)
		}
	}
	return x.callTool()
}
