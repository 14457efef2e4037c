package boundary_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// response is what a caller got.
type response struct {
	t       testing.TB
	status  int
	headers http.Header
	body    []byte
	// raw is the whole answer as it came over the wire; only of requests made with send.
	raw []byte
	// seen is what reached the witness during a call, nil where nothing did; only of requests made with call.
	seen *seen
}

// headers are those of a well-behaved request with these credentials in this protocol version; an empty version sends
// no header for it.
func (c credentials) headers(version string) http.Header {
	headers := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"application/json, text/event-stream"},
	}
	if version != "" {
		headers.Set("MCP-Protocol-Version", version)
	}
	if c.id != "" {
		headers.Set("clientId", c.id)
		headers.Set("clientSecret", c.secret)
	}
	return headers
}

// callBody is the body of a tools/call. Arguments are embedded as they are; empty ones leave the member out.
func callBody(id, tool, arguments string) []byte {
	body := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":` + quote(tool)
	if arguments != "" {
		body += `,"arguments":` + arguments
	}
	return []byte(body + `}}`)
}

func quote(text string) string {
	b, _ := json.Marshal(text) // a string always marshals
	return string(b)
}

// call calls a tool as the house's caller in a protocol version. Calls are made one after another, so that what the
// witness saw meanwhile belongs to this one.
func (h *house) call(version, tool, arguments string) response {
	h.t.Helper()
	return h.callAs(h.caller, version, tool, arguments)
}

// callAs is call with other credentials.
func (h *house) callAs(c credentials, version, tool, arguments string) response {
	h.t.Helper()
	id := strconv.FormatInt(h.nextID.Add(1), 10)
	before := h.witness.count()
	body := string(callBody(id, tool, arguments))
	headers := c.headers(version)
	if version == version20260728 {
		body = modernized(body)
		headers.Set("Mcp-Method", "tools/call")
		headers.Set("Mcp-Name", headerValue(tool))
	}
	r := h.post([]byte(body), headers)
	if h.witness.count() != before {
		r.seen = h.witness.last()
	}
	return r
}

// post sends a body to /mcp with exactly these headers, beside those of HTTP itself.
func (h *house) post(body []byte, headers http.Header) response {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+"/mcp", bytes.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header = headers.Clone()
	return h.do(r)
}

// do makes any request of the edge.
func (h *house) do(r *http.Request) response {
	h.t.Helper()
	answer, err := h.client.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	return response{t: h.t, status: answer.StatusCode, headers: answer.Header, body: readAll(h.t, answer.Body)}
}

// send writes a request as raw bytes over a connection of its own and reads one answer: for what no client library
// would send. The bytes are a whole HTTP/1.1 request, head and body. A connection that the edge closes without an
// answer gives status 0.
func (h *house) send(request []byte) response {
	h.t.Helper()
	conn, err := net.Dial("tcp", h.address)
	if err != nil {
		h.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		h.t.Fatal(err)
	}
	// An edge that refuses by the head may close before it has read all; what it answered still arrives.
	_, writeErr := conn.Write(request)
	var raw bytes.Buffer
	answer, err := http.ReadResponse(bufio.NewReader(io.TeeReader(conn, &raw)), nil)
	switch {
	case err == nil:
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || writeErr != nil:
		return response{t: h.t, raw: raw.Bytes()}
	default:
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	body := readAll(h.t, answer.Body)
	return response{t: h.t, status: answer.StatusCode, headers: answer.Header, body: body, raw: raw.Bytes()}
}

// rawRequest builds what send takes: a POST of /mcp with header lines as given, each without its line end, and a
// Content-Length of the body's size.
func (h *house) rawRequest(lines []string, body []byte) []byte {
	b := []byte("POST /mcp HTTP/1.1\r\nHost: " + h.address + "\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n")
	for _, line := range lines {
		b = append(append(b, line...), "\r\n"...)
	}
	return append(append(b, "\r\n"...), body...)
}

// outcome is the JSON-RPC side of an answer.
type outcome struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
	Result *struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
		Meta       map[string]any  `json:"_meta"`
		Tools      []listed        `json:"tools"`
	} `json:"result"`
}

// listed is a tool as tools/list shows it.
type listed struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  map[string]any  `json:"annotations"`
}

// parse reads the body, which must be one JSON-RPC message.
func (r response) parse() outcome {
	r.t.Helper()
	var o outcome
	if err := json.Unmarshal(r.body, &o); err != nil || o.JSONRPC != "2.0" {
		r.t.Fatalf("status %d, no JSON-RPC message: %q", r.status, r.body)
	}
	return o
}

// code is the JSON-RPC error's code, 0 where the answer is no error.
func (r response) code() int {
	r.t.Helper()
	if o := r.parse(); o.Error != nil {
		return o.Error.Code
	}
	return 0
}

// result is the result of a call that the service answered; anything else fails the test.
func (r response) result() (structured json.RawMessage, text string) {
	r.t.Helper()
	o := r.parse()
	if r.status != http.StatusOK || o.Result == nil || o.Result.IsError {
		r.t.Fatalf("status %d, no successful result: %s", r.status, r.body)
	}
	if len(o.Result.Content) > 0 {
		text = o.Result.Content[0].Text
	}
	return o.Result.Structured, text
}

// toolError is the text of a tool error; anything else fails the test.
func (r response) toolError() string {
	r.t.Helper()
	o := r.parse()
	if r.status != http.StatusOK || o.Result == nil || !o.Result.IsError || len(o.Result.Content) != 1 {
		r.t.Fatalf("status %d, no tool error: %s", r.status, r.body)
	}
	return o.Result.Content[0].Text
}

// list is tools/list of the house's caller, all of it, by published name.
func (h *house) list() map[string]listed {
	h.t.Helper()
	o := h.post([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`), h.caller.headers(version20251125)).parse()
	if o.Result == nil {
		h.t.Fatalf("tools/list: %+v", o.Error)
	}
	tools := make(map[string]listed)
	for _, tool := range o.Result.Tools {
		tools[tool.Name] = tool
	}
	return tools
}
