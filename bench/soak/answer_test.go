package soak

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// nowhere is a transport that has sent its request.
type nowhere struct {
	transport
	dropped, ended bool
}

func (n *nowhere) drop()              { n.dropped = true }
func (n *nowhere) end(*http.Response) { n.ended = true }

const (
	firstSign = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"," +
		"\"params\":{\"progressToken\":\"t\",\"progress\":1,\"total\":2,\"message\":\"counting\"}}\n\n"
	secondSign = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"," +
		"\"params\":{\"progressToken\":\"t\",\"progress\":2,\"total\":2,\"message\":\"counting\"}}\n\n"
	final = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[]}}\n\n"
)

func TestRead(t *testing.T) {
	for _, row := range []struct {
		name, kind, body string
		leaving          leaving
		left             bool
		signs            int
		wrong            string
	}{
		{"JSON", jsonType, `{"jsonrpc":"2.0","id":7,"result":{}}`, leaving{}, false, 0, ""},
		{"JSON of another type", "text/html", `{"jsonrpc":"2.0","id":7,"result":{}}`, leaving{}, false, 0, "text/html"},
		{"no JSON", jsonType, `{"jsonrpc":"2.0"`, leaving{}, false, 0, "not JSON"},
		{"nothing", "", "", leaving{}, false, 0, ""},
		{"left in the result", jsonType, `{"jsonrpc":"2.0","id":7,"result":{}}`, leaving{when: inResult, count: 5}, true, 0, ""},
		{"a result that ends before it is left", jsonType, `{"jsonrpc":"2.0","id":7,"result":{}}`, leaving{when: inResult, count: 500}, false, 0, ""},
		{"a stream", eventsType, firstSign + secondSign + final, leaving{}, false, 2, ""},
		{"left in progress", eventsType, firstSign + secondSign + final, leaving{when: inProgress, count: 1}, true, 1, ""},
		{"a stream without a response", eventsType, firstSign, leaving{}, false, 1, "without a response"},
		{"a stream that breaks off", eventsType, firstSign + "event: mess", leaving{}, false, 1, "unexpected EOF"},
		{"one that breaks off before the blank line", eventsType, strings.TrimSuffix(firstSign, "\n"), leaving{}, false, 0, "unexpected EOF"},
		{"an event after the response", eventsType, final + firstSign, leaving{}, false, 0, "after the response"},
		{"an event of another name", eventsType, "event: ping\ndata: {}\n\n", leaving{}, false, 0, "ping"},
		{"an event id, which the edge has none of", eventsType, "event: message\nid: 1\ndata: {}\n\n", leaving{}, false, 0, "id: 1"},
		{"another notification", eventsType, strings.Replace(firstSign, "progress", "message", 1) + final, leaving{}, false, 0, "not as it should be"},
		{"data that is no JSON", eventsType, "event: message\ndata: {\n\n", leaving{}, false, 0, "not as it should be"},
	} {
		t.Run(row.name, func(t *testing.T) {
			n := new(nowhere)
			a, left, err := read(n, &http.Response{
				StatusCode: 200, Header: http.Header{"Content-Type": {row.kind}}, Body: io.NopCloser(strings.NewReader(row.body)),
			}, row.leaving)
			if (err != nil) != (row.wrong != "") || err != nil && !strings.Contains(err.Error(), row.wrong) {
				t.Fatalf("error %v, want one with %q", err, row.wrong)
			}
			if left != row.left || n.dropped && n.ended || err == nil && (n.dropped != left || n.ended == left) {
				t.Errorf("left: %t, dropped: %t, ended: %t", left, n.dropped, n.ended)
			}
			if len(a.signs) != row.signs {
				t.Errorf("%d signs, want %d", len(a.signs), row.signs)
			}
			if err == nil && !left && row.body != "" {
				if err := a.shape("7"); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestAnswer_shape(t *testing.T) {
	for _, row := range []struct{ name, body, id, wrong string }{
		{"a result", `{"jsonrpc":"2.0","id":"\u00e9","result":{}}`, `"\u00e9"`, ""},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"No."}}`, "1", ""},
		{"an error without an id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"No."}}`, "", ""},
		{"another spelling of the id", `{"jsonrpc":"2.0","id":"é","result":{}}`, `"\u00e9"`, "id"},
		{"another id", `{"jsonrpc":"2.0","id":2,"result":{}}`, "1", "id"},
		{"null where there is no id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"No."}}`, "", "id"},
		{"both", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"No."}}`, "1", "both"},
		{"neither", `{"jsonrpc":"2.0","id":1}`, "1", "neither"},
		{"an error without a code", `{"jsonrpc":"2.0","id":1,"error":{"message":"No."}}`, "1", "code"},
		{"another version", `{"jsonrpc":"1.0","id":1,"result":{}}`, "1", "JSON-RPC"},
		{"a request", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "1", "JSON-RPC"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, _, err := read(new(nowhere), &http.Response{
				Header: http.Header{"Content-Type": {jsonType}}, Body: io.NopCloser(strings.NewReader(row.body)),
			}, leaving{})
			if err != nil {
				t.Fatal(err)
			}
			if err := a.shape(row.id); (err != nil) != (row.wrong != "") || err != nil && !strings.Contains(err.Error(), row.wrong) {
				t.Errorf("error %v, want one with %q", err, row.wrong)
			}
		})
	}
}

func TestAnswer_outcomeAndDisturbance(t *testing.T) {
	const (
		unavailable = "The service is not available. The call may have run: check before you repeat it."
		offline     = "The tool is offline: no instance of its service is running. The call did not run."
	)
	toolSays := func(text, executed string) string {
		return `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"` + text + `"}],"isError":true,` +
			`"_meta":{"dev.sallyport/executed":"` + executed + `"}}}`
	}
	for _, row := range []struct {
		name, body, outcome, disturbance string
		ok                               bool
	}{
		{"a result", `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, succeeded, "", false},
		{"a list", `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`, succeeded, "", false},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"No."}}`, rejected, "", false},
		{"an internal error", `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"No."}}`, failed, "", false},
		{"an error of the tool", toolSays("No.", "no"), toolError, "", false},
		{"a service that went", toolSays(unavailable, "unknown"), toolError, "unavailable, may have run", true},
		{"a service that is gone", toolSays(offline, "no"), toolError, "offline", true},
		{"text and fact that disagree", toolSays(unavailable, "no"), toolError, "unavailable, may have run", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, _, err := read(new(nowhere), &http.Response{
				StatusCode: 200, Header: http.Header{"Content-Type": {jsonType}}, Body: io.NopCloser(strings.NewReader(row.body)),
			}, leaving{})
			if err != nil {
				t.Fatal(err)
			}
			if got := a.outcome(); got != row.outcome {
				t.Errorf("outcome %s, want %s", got, row.outcome)
			}
			r, err := a.tool()
			if err != nil {
				return
			}
			if name, ok := r.disturbance(); name != row.disturbance || ok != row.ok {
				t.Errorf("disturbance %q, %t", name, ok)
			}
		})
	}
}

func TestAnswer_grew(t *testing.T) {
	of := func(token string, progress float64) sign {
		return sign{ProgressToken: []byte(token), Progress: progress, Total: 3, Message: "counting"}
	}
	for _, row := range []struct {
		name  string
		signs []sign
		ok    bool
	}{
		{"every step", []sign{of(`"t"`, 1), of(`"t"`, 2), of(`"t"`, 3)}, true},
		{"some steps, and the last", []sign{of(`"t"`, 1), of(`"t"`, 3)}, true},
		{"not the last", []sign{of(`"t"`, 1), of(`"t"`, 2)}, false},
		{"the same twice", []sign{of(`"t"`, 3), of(`"t"`, 3)}, false},
		{"backwards", []sign{of(`"t"`, 2), of(`"t"`, 1), of(`"t"`, 3)}, false},
		{"a token of another type", []sign{of(`t`, 3)}, false},
		{"none", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := &answer{stream: true, signs: row.signs}
			if err := a.grew(`"t"`, 3); (err == nil) != row.ok {
				t.Errorf("error %v", err)
			}
		})
	}
	if err := (&answer{}).grew("1", 3); err != nil {
		t.Errorf("an answer that is no stream: %v", err)
	}
}
