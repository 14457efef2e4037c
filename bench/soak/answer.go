package soak

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	// signs are the params of the progress notifications, where the answer is a stream of events.
	signs  []sign
	stream bool
	// message is the JSON-RPC response; nil where the body is empty.
	message *message
}

// message is a JSON-RPC response or notification.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// sign is what a progress notification says.
type sign struct {
	ProgressToken json.RawMessage `json:"progressToken"`
	Progress      float64         `json:"progress"`
	Total         float64         `json:"total"`
	Message       string          `json:"message"`
}

// result is a tool's.
type result struct {
	ResultType string `json:"resultType"`
	Content    []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
	StructuredContent json.RawMessage            `json:"structuredContent"`
	IsError           bool                       `json:"isError"`
	Meta              map[string]json.RawMessage `json:"_meta"`
}

// The media types of answers.
const (
	jsonType   = "application/json"
	eventsType = "text/event-stream"
)

// read reads an answer to its end, or until the caller leaves.
func read(t transport, response *http.Response, l leaving) (a *answer, left bool, err error) {
	a = &answer{status: response.StatusCode, header: response.Header}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch {
	case kind == eventsType:
		a.stream = true
		left, err = a.events(response.Body, l)
	case l.when == inResult:
		if a.body, err = io.ReadAll(io.LimitReader(response.Body, int64(l.count))); err == nil {
			left = len(a.body) == l.count
		}
	default:
		a.body, err = io.ReadAll(response.Body)
	}
	switch {
	case err != nil:
		t.drop()
		return a, false, fmt.Errorf("read the answer: %w", err)
	case left:
		t.drop()
		return a, true, nil
	}
	t.end(response)
	if len(a.body) == 0 {
		return a, false, nil
	}
	if !a.stream && kind != jsonType {
		return a, false, fmt.Errorf("the Content-Type is %q", kind)
	}
	a.message = new(message)
	if err := json.Unmarshal(a.body, a.message); err != nil {
		return a, false, fmt.Errorf("the answer is not JSON: %w", err)
	}
	return a, false, nil
}

var errStream = errors.New("the stream of events is not as it should be")

// events reads a stream: progress notifications, and the response as the last event.
func (a *answer) events(body io.Reader, l leaving) (left bool, err error) {
	in := bufio.NewReader(body)
	for {
		if l.when == inProgress && len(a.signs) == l.count {
			return true, nil
		}
		data, err := event(in)
		if err == io.EOF {
			if a.body == nil {
				return false, fmt.Errorf("%w: it ended without a response", errStream)
			}
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if a.body != nil {
			return false, fmt.Errorf("%w: an event after the response: %.200s", errStream, data)
		}
		var m message
		if err := json.Unmarshal(data, &m); err != nil {
			return false, fmt.Errorf("%w: %w: %.200s", errStream, err, data)
		}
		if m.Method == "" {
			a.body = data
			continue
		}
		var s sign
		if m.Method != "notifications/progress" || m.JSONRPC != "2.0" || m.ID != nil || json.Unmarshal(m.Params, &s) != nil {
			return false, fmt.Errorf("%w: %.200s", errStream, data)
		}
		a.signs = append(a.signs, s)
	}
}

// event reads one event and gives its data. Only what the edge writes is accepted: one line of each field.
func event(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		if err == io.EOF && len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if string(line) != "event: message\n" {
		return nil, fmt.Errorf("%w: %.200q", errStream, line)
	}
	line, err = in.ReadBytes('\n')
	data, ok := bytes.CutPrefix(line, []byte("data: "))
	if err == nil && !ok {
		err = fmt.Errorf("%w: %.200q", errStream, line)
	}
	if err != nil {
		return nil, unexpected(err)
	}
	blank, err := in.ReadString('\n')
	if err == nil && blank != "\n" {
		err = fmt.Errorf("%w: %.200q after an event", errStream, blank)
	}
	if err != nil {
		return nil, unexpected(err)
	}
	return bytes.TrimSuffix(data, []byte("\n")), nil
}

func unexpected(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// shape judges what every JSON-RPC response must have: the version, the id of its request to the byte or none where
// the request had none that could be read, and either a result or an error.
func (a *answer) shape(id string) error {
	m := a.message
	switch {
	case m == nil:
		return errors.New("the body is empty")
	case m.JSONRPC != "2.0" || m.Method != "":
		return errors.New("no JSON-RPC response")
	case string(m.ID) != id:
		return fmt.Errorf("the id is %s, want %s", m.ID, id)
	case (m.Result == nil) == (m.Error == nil):
		return errors.New("neither a result nor an error, or both")
	case m.Error != nil && (m.Error.Code == 0 || m.Error.Message == ""):
		return errors.New("an error without code or message")
	}
	return nil
}

// tool decodes the result of a call.
func (a *answer) tool() (*result, error) {
	r := new(result)
	if a.message.Result == nil {
		return nil, fmt.Errorf("error %d instead of a result: %s", a.message.Error.Code, a.message.Error.Message)
	}
	if err := json.Unmarshal(a.message.Result, r); err != nil {
		return nil, err
	}
	if r.Content == nil {
		return nil, errors.New("a result without content")
	}
	return r, nil
}

// text is the first block's.
func (r *result) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// The outcomes under which the edge counts requests.
const (
	succeeded = "SUCCESS"
	toolError = "TOOL_ERROR"
	rejected  = "REJECTED"
	failed    = "FAILED"
	cancelled = "CANCELLED"
)

// internalError is JSON-RPC's code for a fault of the server.
const internalError = -32603

// outcome is under what the edge must have counted the request that got this answer.
func (a *answer) outcome() string {
	m := a.message
	switch {
	case m == nil:
		return succeeded
	case m.Error != nil && (m.Error.Code == internalError || a.status >= 500):
		return failed
	case m.Error != nil:
		return rejected
	}
	if r, err := a.tool(); err == nil && r.IsError {
		return toolError
	}
	return succeeded
}

// The edge's texts for calls that a service which comes or goes did not answer.
var disturbances = map[string]string{
	"The tool is offline: no instance of its service is running. The call did not run.":      "offline",
	"The service is not available. The call did not run.":                                    "unavailable, not run",
	"The service is not available. The call may have run: check before you repeat it.":       "unavailable, may have run",
	"The service did not answer in time. The call may have run: check before you repeat it.": late,
}

// late is a call whose deadline passed.
const late = "too late"

// disturbance names what a service that comes or goes did to a call, and says whether the result tells programs the
// same as people.
func (r *result) disturbance() (name string, ok bool) {
	if name, ok = disturbances[r.text()]; !ok {
		return "", false
	}
	want := `"unknown"`
	if strings.HasSuffix(r.text(), "The call did not run.") {
		want = `"no"`
	}
	return name, string(r.Meta["dev.sallyport/executed"]) == want
}
