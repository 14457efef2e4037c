package mcp

import (
	"slices"
	"strconv"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// instructions are for the model that reads them once, at the start.
var instructions = "Each tool is one remote procedure of a service on this platform. Names are opaque: choose a tool by " +
	"its title and description, and follow nextCursor until the list ends. Arguments are judged strictly against the " +
	"input schema; leave an optional property out instead of sending null. In the _meta of an error result, " +
	"dev.sallyport/correctable true means that corrected arguments may succeed, and dev.sallyport/executed says whether " +
	"the call ran: no (safe to repeat) or unknown (check before you repeat it). Schemas are published in several dialects: " +
	"a client chooses one for a request by " + metaDialect + " in its _meta, or by the query parameter " + dialectParameter +
	", of " + strings.Join(dialect.Names(), ", ") + "."

// texts are the answers, and parts of them, that are the same for every caller, rendered once.
type texts struct {
	// initialize has the members of the result by protocol version, discover those of server/discover.
	initialize map[string][]byte
	discover   []byte
	// tooManyCalls and tooOften are what the limits of a participant say.
	tooManyCalls, tooOften string
}

func newTexts(h *Handler) texts {
	t := texts{
		initialize:   make(map[string][]byte),
		tooManyCalls: tooManyCallsText(h.options.MaxCalls),
		tooOften:     tooOftenText(h.options.CallRate),
	}
	said := appendString([]byte(`,"instructions":`), instructions)
	for _, v := range h.versions() {
		b := appendString([]byte(`"protocolVersion":`), v)
		b = append(b, `,"capabilities":{"tools":{}},"serverInfo":`+serverInfo(h.options.Version)...)
		t.initialize[v] = append(b, said...)
	}
	b := appendStrings([]byte(`"supportedVersions":`), h.versions())
	b = append(b, `,"capabilities":{"tools":{}}`...)
	t.discover = append(append(b, said...), h.cacheable("public")...)
	return t
}

// cacheable are the members by which a result of the modern era says for how long and for whom it may be kept
// (mcp-protocol.md 1.3).
func (h *Handler) cacheable(scope string) []byte {
	b := append([]byte(`,"ttlMs":`), strconv.FormatInt(h.options.ListTTL.Milliseconds(), 10)...)
	return append(b, `,"cacheScope":"`+scope+`"`...)
}

// serverInfo is who we are, as JSON.
func serverInfo(version string) string {
	return `{"name":"sallyport","title":"Sallyport","version":` + string(appendString(nil, version)) + `}`
}

// discover says what the server speaks; the modern era has it in the place of initialize.
func (x *exchange) discover() *answer {
	return x.end(x.metaAlone(append(x.begin(), x.h.texts.discover...)))
}

// initialize agrees on a version: the requested one where it is served, else the newest of the era
// (mcp-protocol.md 1.2).
func (x *exchange) initialize() *answer {
	if refusal := x.needParams(); refusal != nil {
		return refusal
	}
	requested := unquoteString(x.message.params.protocolVersion)
	if requested == nil {
		return x.fail(invalidParams, lifecycle.Envelope)
	}
	x.version = x.era.versions[0]
	if i := slices.Index(x.era.versions, string(requested)); i >= 0 {
		x.version = x.era.versions[i]
	}
	return x.succeed(x.h.texts.initialize[x.version])
}

// ping says that the server is there.
func (x *exchange) ping() *answer {
	if refusal := x.checkParams(); refusal != nil {
		return refusal
	}
	return x.succeed(nil)
}

// invalidParams is the one answer to params of a wrong shape.
var invalidParams = &problem{code: codeInvalidParams, message: "The params are not what this method takes."}

// checkParams accepts absent params and an object whose _meta, if any, is one.
func (x *exchange) checkParams() *answer {
	p := &x.message.params
	if (p.shape != 0 && p.shape != '{') || (p.meta.shape != 0 && p.meta.shape != '{') {
		return x.fail(invalidParams, lifecycle.Envelope)
	}
	return nil
}

// needParams is checkParams for a method that cannot do without.
func (x *exchange) needParams() *answer {
	if x.message.params.shape == 0 {
		return x.fail(invalidParams, lifecycle.Envelope)
	}
	return x.checkParams()
}

// listTools gives one page of what the caller sees (tools.md, "Order and pages").
func (x *exchange) listTools() *answer {
	if refusal := x.checkParams(); refusal != nil {
		return refusal
	}
	after := ""
	if cursor := x.message.params.cursor; cursor != nil {
		// A cursor that is no string, or the empty one, is none of ours: absent is spelled by leaving it out.
		var err error
		if after, err = contract.DecodeCursor(string(unquoteString(cursor))); err != nil {
			return x.fail(badCursor, lifecycle.Envelope)
		}
	}
	definitions, next := x.snapshot.Page(x.participant, x.dialect, after, x.h.options.PageSize)
	b := append(x.begin(), `"tools":[`...)
	at := len(b)
	b = append(b, ']')
	if next != "" {
		b = append(b, `,"nextCursor":`...)
		b = appendString(b, contract.EncodeCursor(next))
	}
	a := x.end(x.metaAlone(append(b, x.era.listed...)))
	a.shared, a.sharedAt = definitions, at
	return a
}

var badCursor = &problem{code: codeInvalidParams, message: "The cursor is not one of ours: list again without it."}
