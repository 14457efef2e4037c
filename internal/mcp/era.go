package mcp

import (
	"net/http"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/auth/token"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// The protocol versions by name. Which of them are served is what the eras below say.
const (
	version20250326 = "2025-03-26"
	version20250618 = "2025-06-18"
	version20251125 = "2025-11-25"
	version20260728 = "2026-07-28"
)

// era is one way of speaking MCP: the versions that share it, what it demands before a method is looked at, which
// methods it serves, and how its errors show in HTTP. Everything that differs between eras is a field here, so that
// the steps of a request read the same for all of them.
type era struct {
	// versions are the served ones, newest first.
	versions []string
	// claims says whether a message is spoken in this era (mcp-protocol.md 1.5, rung 11).
	claims func(x *exchange) bool
	// negotiate sets the exchange's protocol version, or answers why there is none.
	negotiate func(x *exchange) *answer
	// methods are the served ones by name.
	methods map[string]method
	// statuses gives the HTTP status of a JSON-RPC error of a well-formed request; a code that is not in it has 200.
	statuses map[int]int
	// acceptsResponses says whether a client may post a JSON-RPC response.
	acceptsResponses bool
	// opening stands at the start of every result, and meta among the members of every result's _meta; with commas.
	opening, meta string
	// listed ends the members of a page of tools/list.
	listed []byte
	// routed says that callers repeat arguments in headers where a tool asks for it, and that they state their
	// capabilities with each request.
	routed bool
}

// resultType says what a result is (mcp-protocol.md 1.1). Results that ask the caller for more input will be another.
type resultType string

const resultComplete resultType = "complete"

// method is one method of ours.
type method struct {
	// name is the constant that logs show.
	name string
	// serve answers a request.
	serve func(x *exchange) *answer
	// anyVersion lets the method through whatever legacy version the header names: initialize is what negotiates it.
	anyVersion bool
	// scope is what a caller's token must permit; 0 for what every caller may do.
	scope token.Scopes
}

// methodOther stands in logs for a method that is not ours.
const methodOther = "OTHER"

// eras returns the eras in the order in which they are asked for a message. The last one claims everything.
func (h *Handler) eras() []*era {
	legacy := &era{
		versions:         []string{version20251125, version20250618, version20250326},
		claims:           func(*exchange) bool { return true },
		negotiate:        (*exchange).negotiateLegacy,
		acceptsResponses: true,
		methods: map[string]method{
			"initialize": {name: "initialize", serve: (*exchange).initialize, anyVersion: true},
			"ping":       {name: "ping", serve: (*exchange).ping},
			"tools/list": {name: "tools/list", serve: (*exchange).listTools, scope: token.ToolsList},
			"tools/call": {name: "tools/call", serve: (*exchange).callTool, scope: token.ToolsCall},
		},
	}
	modern := &era{
		versions:  []string{version20260728},
		claims:    (*exchange).speaksModern,
		negotiate: (*exchange).negotiateModern,
		statuses:  map[int]int{codeMethodNotFound: http.StatusNotFound},
		opening:   `"resultType":"` + string(resultComplete) + `",`,
		meta:      `"io.modelcontextprotocol/serverInfo":` + serverInfo(h.options.Version),
		// What a caller is listed depends on who it is.
		listed: h.cacheable("private"),
		routed: true,
		methods: map[string]method{
			"server/discover": {name: "server/discover", serve: (*exchange).discover},
			"tools/list":      {name: "tools/list", serve: (*exchange).listTools, scope: token.ToolsList},
			"tools/call":      {name: "tools/call", serve: (*exchange).callNamedTool, scope: token.ToolsCall},
		},
	}
	return []*era{modern, legacy}
}

// protocolHeader is the header that names the protocol version, in net/http's spelling.
const protocolHeader = "Mcp-Protocol-Version"

// versionHeader returns the named protocol version. Two values are as good as a wrong one.
func (x *exchange) versionHeader() (version string, present bool) {
	switch values := x.r.Header[protocolHeader]; len(values) {
	case 0:
		return "", false
	case 1:
		return values[0], true
	default:
		return "", true
	}
}

// speaksModern: the body names a version in _meta, or the header names one of the modern era.
func (x *exchange) speaksModern() bool {
	if x.message.params.meta.protocolVersion != nil {
		return true
	}
	header, _ := x.versionHeader()
	return isVersion(header) && header >= version20260728
}

// isVersion says whether text has the form of a protocol version, a date.
func isVersion(text string) bool {
	if len(text) != len(version20260728) {
		return false
	}
	for i := range len(text) {
		if i == 4 || i == 7 {
			if text[i] != '-' {
				return false
			}
		} else if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// negotiateLegacy takes the version from the header; without one it is 2025-03-26 (mcp-protocol.md 1.2).
func (x *exchange) negotiateLegacy() *answer {
	header, present := x.versionHeader()
	if !present {
		x.version = version20250326
		return nil
	}
	if i := slices.Index(x.era.versions, header); i >= 0 {
		x.version = x.era.versions[i]
		return nil
	}
	if x.method.anyVersion {
		return nil
	}
	return x.refuseVersion()
}

// looksLikeVersion says whether text is up to four numbers of up to four digits with dots or dashes between them, as in
// 2026-07-28, with or without a v before them.
func looksLikeVersion(text string) bool {
	text, _ = strings.CutPrefix(text, "v")
	numbers, digits := 1, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9':
			digits++
		case (c == '.' || c == '-') && digits > 0:
			numbers++
			digits = 0
		default:
			return false
		}
		if numbers > 4 || digits > 4 {
			return false
		}
	}
	return digits > 0
}

// refuseVersion names the served versions and, as the protocol demands of this one error, the version that the header
// asks for: where it has the form of a version, which leaves no room for anything else. A body that asked for something
// else was refused before.
func (x *exchange) refuseVersion() *answer {
	requested, _ := x.versionHeader()
	if !looksLikeVersion(requested) {
		requested = "unrecognised"
	}
	data := appendStrings([]byte(`{"supported":`), x.h.versions())
	data = append(data, `,"requested":`...)
	data = append(appendString(data, requested), '}')
	return &answer{
		status: http.StatusBadRequest,
		body: errorBody(x.message.id, &problem{
			code:    codeUnsupportedVersion,
			message: "Unsupported protocol version.",
			data:    data,
		}),
		outcome: lifecycle.Rejected,
		class:   lifecycle.Negotiation,
	}
}

// versions are all served versions, newest first.
func (h *Handler) versions() []string {
	var all []string
	for _, e := range h.served {
		all = append(all, e.versions...)
	}
	return all
}

// appendStrings appends a JSON array of strings.
func appendStrings(b []byte, texts []string) []byte {
	b = append(b, '[')
	for i, text := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, text)
	}
	return append(b, ']')
}
