package boundary_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
)

// What real clients of the older legacy versions sent is sent again, byte for byte, and answered as the version demands.
func TestProtocol_conversations(t *testing.T) {
	for _, version := range []string{version20250618, version20250326} {
		t.Run(version, func(t *testing.T) {
			c := newCounter(t, configured(func(cfg *configv1.EdgeConfig) { cfg.PageSize = 3 }))
			if *record {
				c.recordConversation(t, version)
			}
			c.replay(t, version, c.recorded(t, version))
		})
	}
}

// recordedRequest is one request of a conversation.
type recordedRequest struct {
	// raw are the bytes to send, head and body.
	raw  []byte
	verb string
	// what names the request: the verb of one without a body, else the method, with the tool and its arguments.
	what string
	id   string
	// params is nil where there are none.
	params json.RawMessage
}

// recorded reads a conversation, and puts the address and the credentials of this run into it.
func (c *counter) recorded(t *testing.T, version string) []recordedRequest {
	t.Helper()
	text, err := os.ReadFile(conversationFile(version))
	if err != nil {
		t.Fatal(err)
	}
	for mark, value := range map[string]string{"$HOST": c.address, "$CLIENT": c.caller.id, "$SECRET": c.caller.secret} {
		text = bytes.ReplaceAll(text, []byte(mark), []byte(value))
	}
	var out []recordedRequest
	source := bytes.NewReader(text)
	in := bufio.NewReader(source)
	for {
		start := len(text) - source.Len() - in.Buffered()
		request, err := http.ReadRequest(in)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		body := readAll(t, request.Body)
		r := recordedRequest{raw: text[start : len(text)-source.Len()-in.Buffered()], verb: request.Method, what: request.Method}
		if len(body) > 0 {
			var message struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
				Params json.RawMessage `json:"params"`
			}
			if err := json.Unmarshal(body, &message); err != nil {
				t.Fatal(err)
			}
			r.id, r.what, r.params = string(message.ID), message.Method, message.Params
			if message.Method == "tools/call" {
				r.what += " " + string(memberOf(t, message.Params, "name")) + string(memberOf(t, message.Params, "arguments"))
			}
		}
		out = append(out, r)
	}
}

// replay sends the requests in their order. The one call that its client gave up is in flight until the end: a notice
// that it is cancelled reaches an edge that cannot know whose it is, and changes nothing (mcp-protocol.md 3.2).
func (c *counter) replay(t *testing.T, version string, requests []recordedRequest) {
	t.Helper()
	arrived, release := make(chan struct{}), make(chan struct{})
	c.witness.answer(protocolService+"Author", func(ctx context.Context, _ *seen) ([]byte, error) {
		close(arrived)
		select {
		case <-release:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	givenUp := make(chan answer, 1)
	var givenUpID string
	seen := map[string]int{}
	tools := 0
	for i, r := range requests {
		seen[r.what]++
		if r.what == `tools/call "author"{}` {
			givenUpID = r.id
			go func() {
				line := &caller{host: c.address}
				defer line.close()
				got, err := line.attempt(&payload{}, r.raw)
				if err != nil {
					t.Errorf("request %d: %v", i, err)
				}
				givenUp <- got
			}()
			select {
			case <-arrived:
			case <-time.After(patience):
				t.Fatal("the call does not arrive")
			}
			continue
		}
		got, err := c.line.attempt(&payload{Method: r.verb}, r.raw)
		if err != nil {
			t.Fatalf("request %d, %s: %v", i, r.what, err)
		}
		t.Run(r.what, func(t *testing.T) { tools += checkRecorded(t, version, r, givenUpID, got) })
	}
	close(release)
	if givenUpID == "" {
		t.Fatal("no call was given up")
	}
	p := post{id: givenUpID}
	result := good.check(t, &p, <-givenUp)
	if want := resultOf(version, `"content":[]`, `"dev.sallyport/type":"sallyport.tool.v1.ToolResult"`); !sameJSON(t, result, []byte(want)) {
		t.Errorf("the call that was given up is answered %s", result)
	}
	for what, times := range recordedKinds {
		if seen[what] != times {
			t.Errorf("the conversation has %q %d times, want %d", what, seen[what], times)
		}
		delete(seen, what)
	}
	if len(seen) != 0 {
		t.Errorf("the conversation also has %v", seen)
	}
	if tools != 9 {
		t.Errorf("%d tools were listed, want 9", tools)
	}
}

// recordedKinds is what a conversation holds, and how often.
var recordedKinds = map[string]int{
	"initialize": 1, "notifications/initialized": 1, "GET": 1, "ping": 1, "tools/list": 3,
	`tools/call "greet"{"name":"Ada"}`: 1, `tools/call "greet"{"name":7}`: 1, `tools/call "nosuch"{}`: 1, `tools/call "count"{}`: 1, `tools/call "nothing"{}`: 1,
	`tools/call "blocks"{}`: 1, `tools/call "author"{}`: 1, "notifications/cancelled": 1, "resources/list": 1,
}

// checkRecorded judges the answer to a recorded request, and counts the tools that it lists.
func checkRecorded(t *testing.T, version string, r recordedRequest, givenUp string, got answer) (tools int) {
	t.Helper()
	p := post{version: version, id: or(r.id, absent)}
	want := map[string]reply{
		"GET": notPost, "notifications/initialized": taken, "notifications/cancelled": taken, "resources/list": legacyOnes, `tools/call "nosuch"{}`: badParams,
	}[r.what]
	if want == (reply{}) {
		want = good
	}
	result := want.check(t, &p, got)
	called := map[string][2]string{
		`tools/call "greet"{"name":"Ada"}`: {`"content":[{"type":"text","text":"{\"text\":\"\"}"}],"structuredContent":{"text":""}`, `"dev.sallyport/type":"protocol.v1.GreetResponse"`},
		`tools/call "greet"{"name":7}`:     {`"content":[{"type":"text","text":"The arguments do not fit the tool's input schema:\n- name: must be a string"}],"isError":true`, `"dev.sallyport/correctable":true`},
		`tools/call "count"{}`:             {`"content":[{"type":"text","text":"0"}]`, `"dev.sallyport/type":"google.protobuf.Int64Value"`},
		`tools/call "nothing"{}`:           {`"content":[{"type":"text","text":"{}"}],"structuredContent":{}`, `"dev.sallyport/type":"google.protobuf.Empty"`},
		`tools/call "blocks"{}`:            {`"content":[],"structuredContent":{"note":""}`, `"dev.sallyport/type":"protocol.v1.BlocksResponse"`},
	}
	switch {
	case result == nil:
	case r.what == "initialize":
		// The client asked for the version that it is pinned to, and reads it in the answer.
		if asked := string(memberOf(t, r.params, "protocolVersion")); agreed(t, result) != version || asked != quote(version) {
			t.Errorf("asked for %s, agreed on %s", asked, result)
		}
	case r.what == "ping":
		if string(result) != `{}` {
			t.Errorf("ping is answered %s", result)
		}
	case r.what == "tools/list":
		checkPage(t, version, result, memberOf(t, result, "nextCursor") != nil)
		var list []listed
		if err := json.Unmarshal(memberOf(t, result, "tools"), &list); err != nil {
			t.Fatal(err)
		}
		return len(list)
	case called[r.what][0] != "":
		if want := resultOf(version, called[r.what][0], called[r.what][1]); !sameJSON(t, result, []byte(want)) {
			t.Errorf("the result is %s, want %s", result, want)
		}
	default:
		t.Errorf("nobody says what the result of %q must be", r.what)
	}
	if r.what == "notifications/cancelled" && string(memberOf(t, r.params, "requestId")) != givenUp {
		t.Errorf("another call than %s is cancelled: %s", givenUp, r.params)
	}
	// No answer of a legacy version says what the modern era says.
	for _, word := range []string{"resultType", "cacheScope", "ttlMs", keyServerInfo} {
		if strings.Contains(string(got.body), word) {
			t.Errorf("the answer says %s: %s", word, got.body)
		}
	}
	if got.header.Get("Mcp-Session-Id") != "" {
		t.Error("a session was given")
	}
	return 0
}
