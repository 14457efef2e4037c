package mcp

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/strict"
)

// envelopeDepth is how many containers a level of nesting in `arguments` is within: the envelope, `params` and
// `arguments`.
const envelopeDepth = 3

// maxID is the length of the longest accepted JSON-RPC id in bytes, as it was sent.
const maxID = 256

// limits are what the decoder accepts beyond JSON's own rules (boundary.md, "The decoder"). They are fixed when a
// handler is made.
type limits struct {
	// document are the limits of the whole message; the envelope is its outermost container.
	document strict.Limits
	// rules say what a strict document is, and name the limits.
	rules string
}

// newLimits takes the configured depth below `arguments` and the configured length of a number.
func newLimits(depth, number int) *limits {
	return &limits{
		document: strict.Limits{Depth: envelopeDepth + depth, Number: number},
		rules: "The body is not one strict JSON document: UTF-8 without a byte order mark, no name twice in an " +
			"object, nothing after the document, at most " + strconv.Itoa(depth) + " levels below arguments, no number " +
			"longer than " + strconv.Itoa(number) + " characters.",
	}
}

// kind is what a message is.
type kind int

const (
	request kind = iota
	notification
	response
)

// message is one decoded JSON-RPC message. Its values are slices of the body, valid as long as that.
type message struct {
	kind kind
	// id is the request's id exactly as it was sent.
	id jsontext.Value
	// method is unquoted. It is the caller's: compare it, never repeat it.
	method []byte
	params params
}

// params holds the members of `params` that some method of ours reads; all others are read strictly and dropped.
// A value is nil where its member is absent.
type params struct {
	// shape is 0 without params, else the JSON kind of the value.
	shape jsontext.Kind

	name            jsontext.Value
	arguments       jsontext.Value
	cursor          jsontext.Value
	protocolVersion jsontext.Value
	meta            meta
}

// meta holds the members of `params._meta` that we read.
type meta struct {
	// shape is 0 without _meta, else the JSON kind of the value.
	shape jsontext.Kind

	protocolVersion    jsontext.Value
	clientCapabilities jsontext.Value
	clientInfo         jsontext.Value
	logLevel           jsontext.Value
	progressToken      jsontext.Value
	dialect            jsontext.Value
}

// The members of `_meta` that we read (mcp-protocol.md 1.3).
const (
	metaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	metaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClientInfo         = "io.modelcontextprotocol/clientInfo"
	metaLogLevel           = "io.modelcontextprotocol/logLevel"
	metaProgressToken      = "progressToken"
	metaDialect            = "dev.sallyport/dialect"
)

// decoder reads one message from one body.
type decoder struct {
	json   jsontext.Decoder
	source bytes.Buffer
	body   []byte
	limits *limits
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// decode reads body as one strict JSON document and takes out the JSON-RPC message. The answer is nil on success.
//
// jsontext refuses duplicate names at every depth, invalid UTF-8, unpaired surrogates, a byte order mark and
// everything that is not JSON; the limits and the end of the document are checked here.
func (l *limits) decode(body []byte) (message, *answer) {
	d := decoders.Get().(*decoder)
	defer d.release()
	// A bytes.Buffer is read in place: values alias the body, nothing is copied.
	d.source = *bytes.NewBuffer(body)
	d.body, d.limits = body, l
	d.json.Reset(&d.source)

	switch d.json.PeekKind() {
	case '{':
	case '[':
		// A batch. The platform refuses it in every version, whatever it holds.
		return message{}, envelopeRefusal(nil, "Batches are not accepted: send one message per request.")
	default:
		_, err := d.read()
		if err == nil {
			err = strict.End(&d.json)
		}
		if err != nil {
			return message{}, d.parseRefusal(err)
		}
		return message{}, envelopeRefusal(nil, "A message is a JSON object.")
	}
	e, err := d.envelope()
	if err == nil {
		err = strict.End(&d.json)
	}
	if err != nil {
		return message{}, d.parseRefusal(err)
	}
	return e.message()
}

// release forgets the body and returns the decoder to the pool.
func (d *decoder) release() {
	d.body, d.limits = nil, nil
	d.source = bytes.Buffer{}
	d.json.Reset(&d.source)
	decoders.Put(d)
}

// envelope is the top level of a message before it is judged.
type envelope struct {
	jsonrpc, id, method jsontext.Value
	params              params
	hasResult, hasError bool
}

func (d *decoder) envelope() (e envelope, err error) {
	for name, more := d.open(&err); more; name, more = d.member(&err) {
		switch string(name) {
		case "jsonrpc":
			e.jsonrpc = d.value(&err)
		case "id":
			e.id = d.value(&err)
		case "method":
			e.method = d.value(&err)
		case "params":
			e.params = d.params(&err)
		case "result":
			e.hasResult = true
			d.value(&err)
		case "error":
			e.hasError = true
			d.value(&err)
		default:
			d.value(&err)
		}
	}
	return e, err
}

func (d *decoder) params(err *error) params {
	p := params{shape: d.json.PeekKind()}
	if p.shape != '{' {
		d.value(err)
		return p
	}
	for name, more := d.open(err); more; name, more = d.member(err) {
		switch string(name) {
		case "name":
			p.name = d.value(err)
		case "arguments":
			p.arguments = d.value(err)
		case "cursor":
			p.cursor = d.value(err)
		case "protocolVersion":
			p.protocolVersion = d.value(err)
		case "_meta":
			p.meta = d.meta(err)
		default:
			d.value(err)
		}
	}
	return p
}

func (d *decoder) meta(err *error) meta {
	m := meta{shape: d.json.PeekKind()}
	if m.shape != '{' {
		d.value(err)
		return m
	}
	for name, more := d.open(err); more; name, more = d.member(err) {
		switch string(name) {
		case metaProtocolVersion:
			m.protocolVersion = d.value(err)
		case metaClientCapabilities:
			m.clientCapabilities = d.value(err)
		case metaClientInfo:
			m.clientInfo = d.value(err)
		case metaLogLevel:
			m.logLevel = d.value(err)
		case metaProgressToken:
			m.progressToken = d.value(err)
		case metaDialect:
			m.dialect = d.value(err)
		default:
			d.value(err)
		}
	}
	return m
}

// open reads the brace that opens an object, and the name of its first member.
func (d *decoder) open(err *error) (name []byte, more bool) {
	_, *err = d.json.ReadToken()
	return d.member(err)
}

// member reads the next member's name, unquoted, or the brace that closes the object. After an error there is none.
func (d *decoder) member(err *error) (name []byte, more bool) {
	if *err != nil {
		return nil, false
	}
	if d.json.PeekKind() != '"' {
		_, *err = d.json.ReadToken() // the closing brace, or the error that stands in its place
		return nil, false
	}
	quoted, failed := d.json.ReadValue()
	if failed != nil {
		*err = failed
		return nil, false
	}
	return unquote(quoted), true
}

// value reads one value of any kind within the limits and returns it as a slice of the body.
func (d *decoder) value(err *error) (v jsontext.Value) {
	v, *err = d.read()
	return v
}

func (d *decoder) read() (jsontext.Value, error) {
	switch d.json.PeekKind() {
	case '{', '[':
	default:
		return d.limits.document.Scalar(&d.json)
	}
	if _, err := d.json.ReadToken(); err != nil {
		return nil, err
	}
	start := d.json.InputOffset() - 1
	if err := d.limits.document.Close(&d.json); err != nil {
		return nil, err
	}
	return d.body[start:d.json.InputOffset():d.json.InputOffset()], nil
}

// message judges the envelope: JSON-RPC 2.0 with an id that can be echoed (mcp-protocol.md 1.4).
func (e *envelope) message() (message, *answer) {
	var id jsontext.Value
	if e.id != nil {
		if !validID(e.id) {
			return message{}, envelopeRefusal(nil, "The id must be a string or an integer of at most 256 bytes.")
		}
		id = e.id
	}
	if string(unquoteString(e.jsonrpc)) != "2.0" {
		return message{}, envelopeRefusal(id, `The member "jsonrpc" must be "2.0".`)
	}
	if e.method == nil {
		if id == nil || e.hasResult == e.hasError {
			return message{}, envelopeRefusal(id, `The member "method" is missing.`)
		}
		return message{kind: response}, nil
	}
	if e.method.Kind() != '"' || e.hasResult || e.hasError {
		return message{}, envelopeRefusal(id, "A request has a method, which is a string, and neither result nor error.")
	}
	m := message{kind: request, id: id, method: unquote(e.method), params: e.params}
	if id == nil {
		m.kind = notification
		if m.params.shape != 0 && m.params.shape != '{' {
			return message{}, envelopeRefusal(nil, `The member "params" must be an object.`)
		}
	}
	return m, nil
}

// validID accepts a string or an integer, so that the answer can carry the same bytes.
func validID(id jsontext.Value) bool {
	if len(id) > maxID {
		return false
	}
	switch id.Kind() {
	case '"':
		return true
	case '0':
		return !bytes.ContainsAny(id, ".eE")
	default:
		return false
	}
}

// unquoteString returns the text of a JSON string, and nil for any other value or none.
func unquoteString(v jsontext.Value) []byte {
	if v == nil || v.Kind() != '"' {
		return nil
	}
	return unquote(v)
}

// unquote returns the text of a valid JSON string: a slice of it where nothing is escaped.
func unquote(v jsontext.Value) []byte {
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, v) // the decoder accepted it
	return text
}

// parseRefusal answers bytes that are not one strict JSON document: where that shows, and how, in words of ours. No id
// is echoed: none was read reliably.
func (d *decoder) parseRefusal(err error) *answer {
	at := d.json.InputOffset()
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		at = syntax.ByteOffset
	}
	return &answer{
		status: http.StatusBadRequest,
		body: errorBody(nil, &problem{
			code:    codeParseError,
			message: d.limits.rules + " At byte " + strconv.FormatInt(at, 10) + ": " + d.reason(err, int(at)) + ".",
		}),
		outcome: lifecycle.Rejected,
		class:   lifecycle.Decode,
	}
}

// reason words an error of jsontext, whose own text quotes the document.
func (d *decoder) reason(err error, at int) string {
	switch {
	case errors.Is(err, strict.ErrDepth), errors.Is(err, strict.ErrNumber), errors.Is(err, strict.ErrTrailing):
		return err.Error()
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "a name stands twice in one object"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the document ends too early"
	case !utf8.Valid(d.body[min(at, len(d.body)):]):
		return "this is not JSON, or not UTF-8"
	default:
		return "this is not JSON"
	}
}

// envelopeRefusal answers JSON that is not a JSON-RPC message.
func envelopeRefusal(id jsontext.Value, message string) *answer {
	return &answer{
		status:  http.StatusBadRequest,
		body:    errorBody(id, &problem{code: codeInvalidRequest, message: message}),
		outcome: lifecycle.Rejected,
		class:   lifecycle.Envelope,
	}
}
