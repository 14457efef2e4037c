package mcp

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// The JSON-RPC error codes that we answer with.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternalError  = -32603
	// codeHeaderMismatch and codeMissingCapability are reserved by the protocol; the data of the latter names what is
	// needed.
	codeHeaderMismatch    = -32020
	codeMissingCapability = -32021
	// codeUnsupportedVersion is reserved for this by the protocol; its data names the supported versions.
	codeUnsupportedVersion = -32022
	// codeUnauthenticated and codeUnavailable are ours, outside the range that JSON-RPC reserves, and mirror the status.
	codeUnauthenticated = http.StatusUnauthorized
	codeUnavailable     = http.StatusServiceUnavailable
	codeTimeout         = http.StatusRequestTimeout
	codeOverdue         = http.StatusGatewayTimeout
)

// answer is what one request gets: the bytes to write, and how that settles.
type answer struct {
	status int
	// headers are written beside the constant ones.
	headers []header
	// body is nil for an empty one.
	body []byte
	// shared stands within the body, at sharedAt. It is large, of many answers, and only read.
	shared   []byte
	sharedAt int
	outcome  lifecycle.Outcome
	class    lifecycle.Class
	// limit is the one that refuses the request; empty where none does.
	limit lifecycle.Limit
	// ended says that a deadline of ours ended the request. Whether the caller is still there then changes nothing, and
	// cannot be told: net/http takes it for gone when a read of its body is overdue.
	ended bool
}

type header struct{ name, value string }

func (a *answer) header(name, value string) { a.headers = append(a.headers, header{name, value}) }

// problem is a JSON-RPC error in words of ours.
type problem struct {
	code    int
	message string
	// data is a JSON value, or nil.
	data []byte
}

// accepted is the answer to a notification and to a posted response.
func accepted() *answer {
	return &answer{status: http.StatusAccepted, outcome: lifecycle.Success, class: lifecycle.None}
}

// errorBody writes a JSON-RPC error. Without an id the member is left out: `"id": null` violates the protocol.
func errorBody(id jsontext.Value, p *problem) []byte {
	b := make([]byte, 0, 96+len(id)+len(p.message)+len(p.data))
	b = appendHead(b, id)
	b = append(b, `,"error":{"code":`...)
	b = strconv.AppendInt(b, int64(p.code), 10)
	b = append(b, `,"message":`...)
	b = appendString(b, p.message)
	if p.data != nil {
		b = append(b, `,"data":`...)
		b = append(b, p.data...)
	}
	return append(b, "}}"...)
}

// begin gives the buffer of the answer with the start of a JSON-RPC response up to the brace that opens its result.
// What was written to the buffer before is lost.
func (x *exchange) begin() []byte {
	b := append(appendHead(x.out[:0], x.message.id), `,"result":{`...)
	return append(b, x.era.opening...)
}

// beginMeta appends the _meta of a result up to the value of a member of ours, which the caller appends with the
// closing brace.
func (x *exchange) beginMeta(b []byte, key string) []byte {
	b = append(b, `,"_meta":{`...)
	if x.era.meta != "" {
		b = append(append(b, x.era.meta...), ',')
	}
	return append(append(append(b, '"'), key...), `":`...)
}

// metaAlone appends the _meta of a result that has no member of ours.
func (x *exchange) metaAlone(b []byte) []byte {
	if x.era.meta == "" {
		return b
	}
	b = append(append(b, `,"_meta":{`...), x.era.meta...)
	return append(b, '}')
}

// end closes the result and the response, and takes the buffer back. The answer is good until the exchange ends.
func (x *exchange) end(b []byte) *answer {
	x.out = append(b, "}}"...)
	x.reply = answer{status: http.StatusOK, body: x.out, outcome: lifecycle.Success, class: lifecycle.None}
	return &x.reply
}

func appendHead(b []byte, id jsontext.Value) []byte {
	b = append(b, `{"jsonrpc":"2.0"`...)
	if id != nil {
		b = append(b, `,"id":`...)
		b = append(b, id...)
	}
	return b
}

// appendString appends text of ours as a JSON string.
func appendString(b []byte, text string) []byte {
	// The error says that invalid UTF-8 was replaced, which is what we want of it.
	b, _ = jsontext.AppendQuote(b, text)
	return b
}
