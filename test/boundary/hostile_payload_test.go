package boundary_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"io"
	"math/big"
	"strconv"
	"strings"
)

// The hostile corpus is data: every payload is one HTTP request with the answer that the references demand. Whoever
// adds a spelling of the documents or a protocol version runs the same payloads through it.

// payload is one hostile request. Its texts are templates: $V, $K and $N stand for the payload's canary.
type payload struct {
	// Family and Name identify it.
	Family, Name string
	// Method is POST where it is blank, Target /mcp.
	Method, Target string
	// Lines are header lines in the order in which they are sent. A line replaces the harness's own of the same name;
	// one without a colon only takes that away.
	Lines []string
	// Body writes the body; nil is none.
	Body func(c canary) string
	// Chunked sends the body in chunks instead of with its length.
	Chunked bool
	// Wire is the whole request, head and body, for what is no well-formed HTTP; nil builds it from the above. $CREDENTIALS
	// and $HOST stand for the header lines of the caller and for the edge's host and port.
	Wire func(c canary) string
	// Anonymous leaves the caller's credentials out.
	Anonymous bool
	// HalfClose closes the caller's side of the connection after the request.
	HalfClose bool
	// Closes says that the edge must close the connection after its answer.
	Closes bool
	// Pinned says that the payload names its protocol version itself, or none: it is not repeated in every one.
	Pinned bool
	// Once says that the payload is sent once, in no version and no dialect.
	Once bool
	// Want is the answer.
	Want want

	// canary is made once, by the corpus.
	canary canary
}

// want is the specified answer to a payload.
type want struct {
	// Status is HTTP's.
	Status int
	// Code is the JSON-RPC error's; 0 is none.
	Code int
	// ID is the id in the answer, byte for byte; blank is none.
	ID string
	// Call says how far a tools/call went.
	Call call
	// Text is the whole text of a tool error; blank is not compared.
	Text string
	// Meta is the `_meta` of a tool error.
	Meta string
	// Plain marks an answer without a JSON-RPC message: of net/http itself, of another path, of a notification.
	Plain bool
	// quiet says that the text may add what the document cannot say.
	quiet bool
	// Modern is the answer in the modern era, where it is neither the same nor what the era's statuses make of it.
	Modern *want
}

// call is what became of a tools/call.
type call int

const (
	// noCall: the request is none, or ended before a tool was found.
	noCall call = iota
	// turnedAway: a tool error of ours, and nothing reached the service.
	turnedAway
	// carried: the service was called, with the canary, and its answer is the result.
	carried
	// failed: the service was called, and the answer is a tool error.
	failed
)

// modern is the answer in the modern era (mcp-protocol.md 1.4).
func (w want) modern() want {
	if w.Modern != nil {
		return *w.Modern
	}
	if w.Code == -32601 {
		w.Status = 404
	}
	return w
}

// but gives the answer another one in the modern era.
func (w want) but(modern want) want {
	w.Modern = &modern
	return w
}

// canary is what marks one payload's data: two words and a number that nothing else contains.
type canary struct{ Value, Key, Digits string }

// newCanary derives a canary from a payload's identity, so that a run can be repeated.
func newCanary(family, name string) canary {
	word := func(salt string, base, length int) string {
		sum := sha256.Sum256([]byte(salt + "\x00" + family + "\x00" + name))
		return new(big.Int).SetBytes(sum[:]).Text(base)[:length]
	}
	digits := []byte(word("digits", 10, 14))
	if digits[len(digits)-1] == '0' {
		digits[len(digits)-1] = '7' // a number keeps all its digits, whoever writes it
	}
	return canary{Value: "v" + word("value", 36, 21), Key: "k" + word("key", 36, 21), Digits: string(digits)}
}

// fill writes the canary into a template.
func (c canary) fill(template string) string {
	for _, mark := range [...][2]string{{"$V", c.Value}, {"$K", c.Key}, {"$N", c.Digits}} {
		template = strings.ReplaceAll(template, mark[0], mark[1])
	}
	return template
}

// text is a body from a template.
func text(template string) func(canary) string {
	return func(c canary) string { return c.fill(template) }
}

// sender is what a request needs to know of who sends it and where to.
type sender struct {
	host        string
	credentials credentials
	// version is the header's; blank sends none.
	version string
	// dialect is named in the URL of a payload that has none of its own; blank names none.
	dialect string
}

// address is where a payload seems to come from in this version and dialect.
func (s sender) address(c canary) string {
	h := fnv.New32a()
	_, _ = io.WriteString(h, c.Value+" "+s.version+" "+s.dialect)
	sum := h.Sum32()
	return fmt.Sprintf("10.%d.%d.%d", byte(sum>>16), byte(sum>>8), byte(sum))
}

// render writes the request's bytes.
func (p *payload) render(s sender) []byte {
	c := p.canary
	credentials := "clientId: " + s.credentials.id + "\r\nclientSecret: " + s.credentials.secret + "\r\n"
	if p.Wire != nil {
		return []byte(strings.NewReplacer("$CREDENTIALS", credentials, "$HOST", s.host).Replace(p.Wire(c)))
	}
	body := ""
	if p.Body != nil {
		body = p.Body(c)
	}
	isModern := s.version == version20260728 && !p.Pinned
	if isModern {
		body = modernized(body)
	}
	lines := []string{"Host: " + s.host, "Content-Type: application/json", "Accept: application/json, text/event-stream"}
	if !p.Anonymous {
		lines = append(lines, "clientId: "+s.credentials.id, "clientSecret: "+s.credentials.secret)
	}
	// Every request has a canary, also one whose hostile part has no room for it, and comes from an address of its own:
	// failed attempts to authenticate are counted by address.
	lines = append(lines, "X-Canary: "+c.Value, "X-Forwarded-For: "+s.address(c))
	if s.version != "" && !p.Pinned {
		lines = append(lines, "MCP-Protocol-Version: "+s.version)
	}
	if isModern {
		lines = append(lines, routingLines(body)...)
	}
	if p.Chunked {
		lines = append(lines, "Transfer-Encoding: chunked")
		body = chunked(body)
	} else {
		lines = append(lines, "Content-Length: "+strconv.Itoa(len(body)))
	}
	target := c.fill(or(p.Target, "/mcp"))
	if s.dialect != "" && p.Target == "" {
		target += "?dialect=" + s.dialect
	}
	var out bytes.Buffer
	out.Grow(len(body) + 1024)
	out.WriteString(or(p.Method, "POST") + " " + target + " HTTP/1.1\r\n")
	for _, line := range lines {
		if !overridden(line, p.Lines) {
			out.WriteString(line + "\r\n")
		}
	}
	for _, line := range p.Lines {
		if strings.Contains(line, ":") {
			line = strings.ReplaceAll(strings.ReplaceAll(c.fill(line), "$CLIENT", s.credentials.id), "$SECRET", s.credentials.secret)
			out.WriteString(line + "\r\n")
		}
	}
	out.WriteString("\r\n")
	out.WriteString(body)
	return out.Bytes()
}

func or(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func overridden(line string, by []string) bool {
	name, _, _ := strings.Cut(line, ":")
	for _, other := range by {
		otherName, _, _ := strings.Cut(other, ":")
		if strings.EqualFold(name, strings.TrimSpace(otherName)) {
			return true
		}
	}
	return false
}

// chunked writes a body as two chunks and the last one.
func chunked(body string) string {
	half := len(body) / 2
	out := ""
	for _, part := range []string{body[:half], body[half:]} {
		if part != "" {
			out += fmt.Sprintf("%x\r\n%s\r\n", len(part), part)
		}
	}
	return out + "0\r\n\r\n"
}

// The wants that most payloads have.

// reached is a call that the service answered.
func reached() want { return want{Status: 200, ID: "1", Call: carried} }

// refused is the gate's answer with exactly these problems, each `path: text`, in this order.
func refused(problems ...string) want {
	return want{
		Status: 200, ID: "1", Call: turnedAway, Meta: `{"dev.sallyport/correctable":true}`,
		Text: "The arguments do not fit the tool's input schema:\n- " + strings.Join(problems, "\n- "),
	}
}

// answered is a result of a method other than tools/call.
func answered() want { return want{Status: 200, ID: "1"} }

// inBand is a JSON-RPC error of a well-formed request: HTTP 200, but 404 for an unknown method in the modern era.
func inBand(code int) want { return want{Status: 200, Code: code, ID: "1"} }

// ofTheEnvelope is a JSON-RPC error of a request that is not what the modern era demands of every one.
func ofTheEnvelope(code int) want { return want{Status: 400, Code: code, ID: "1"} }

// wrongParams are params of a wrong shape: the method's error in the legacy era, the envelope's in the modern one.
func wrongParams() want { return inBand(-32602).but(ofTheEnvelope(-32602)) }

// noDocument is the answer to bytes that are not one strict JSON document.
func noDocument() want { return want{Status: 400, Code: -32700} }

// noMessage is the answer to JSON that is no JSON-RPC message; id is echoed where one could be read.
func noMessage(id string) want { return want{Status: 400, Code: -32600, ID: id} }

// atTheHead is the answer to a head that is not let in.
func atTheHead(status int) want { return want{Status: status, Code: -32600} }

// accepted is the answer to a notification or a posted response.
func accepted() want { return want{Status: 202, Plain: true} }

// unsupported is the negotiation's refusal, whatever the version that the harness would have named.
func unsupported() want { return want{Status: 400, Code: -32022, ID: "1"} }

// byHTTP is an answer that net/http gives, or another path than the endpoint's.
func byHTTP(status int) want { return want{Status: status, Plain: true} }

// Builders of the usual bodies.

// rpc is a request with the id 1. Params are embedded as they are; blank ones leave the member out.
func rpc(method, params string) string {
	if params != "" {
		params = `,"params":` + params
	}
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `"` + params + `}`
}

// toolCall is a tools/call.
func toolCall(tool, arguments string) string {
	return rpc("tools/call", `{"name":"`+tool+`","arguments":`+arguments+`}`)
}

// row is one payload that calls a tool, as its arguments.
type row struct {
	name, arguments string
	want            want
}

// rows makes the payloads of a family whose hostile part is in a tool's arguments.
func rows(family, tool string, list ...row) []payload {
	out := make([]payload, len(list))
	for i, r := range list {
		out[i] = payload{Family: family, Name: r.name, Body: text(toolCall(tool, r.arguments)), Want: r.want}
	}
	return out
}

// body is one payload that is a body as it stands.
type body struct {
	name, text string
	want       want
}

// bodies makes the payloads of a family whose hostile part is anywhere in the body.
func bodies(family string, list ...body) []payload {
	out := make([]payload, len(list))
	for i, b := range list {
		out[i] = payload{Family: family, Name: b.name, Body: text(b.text), Want: b.want}
	}
	return out
}

// nested is depth levels of open, what is inside, and as many of shut.
func nested(open, inside, shut string, depth int) string {
	return strings.Repeat(open, depth) + inside + strings.Repeat(shut, depth)
}
