package boundary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
)

// Every call has a deadline, which the service is told: the tool's own, else the edge's default, and the edge's maximum
// at most. Who calls gets a tool error when it has passed, in both eras, and with or without progress on the way.
func TestDeadline_ofACall(t *testing.T) {
	const long = time.Hour
	type call struct {
		version string
		answer  chan answer
	}
	rows := []struct {
		name, tool, method string
		configure          func(*configv1.EdgeConfig)
		limit              time.Duration
		h                  *house
		arrived            <-chan *held
		calls              []*call
	}{
		{name: "tool.timeout", tool: "hurry", method: hurryMethod, limit: soon, configure: func(cfg *configv1.EdgeConfig) {
			cfg.DefaultTimeout, cfg.MaxTimeout = durationpb.New(long), durationpb.New(long)
		}},
		{name: "default_timeout", tool: "wait", method: waitMethod, limit: soon, configure: func(cfg *configv1.EdgeConfig) {
			cfg.DefaultTimeout, cfg.MaxTimeout = durationpb.New(soon), durationpb.New(long)
		}},
		{name: "max_timeout", tool: "dawdle", method: dawdleMethod, limit: soon, configure: func(cfg *configv1.EdgeConfig) {
			cfg.DefaultTimeout, cfg.MaxTimeout = durationpb.New(long), durationpb.New(soon)
		}},
		{name: "max_timeout below the default", tool: "wait", method: waitMethod, limit: soon, configure: func(cfg *configv1.EdgeConfig) {
			cfg.DefaultTimeout, cfg.MaxTimeout = durationpb.New(long), durationpb.New(soon)
		}},
	}
	for i := range rows {
		row := &rows[i]
		row.h = newConnectionHouse(t, configured(row.configure))
		row.arrived = row.h.hold(row.method)
	}
	// All of them wait at the same time.
	for i := range rows {
		row := &rows[i]
		f := row.h.serve(how{})
		client := f.http1Client(t)
		for _, version := range []string{version20250326, version20251125, version20260728} {
			c := &call{version: version, answer: make(chan answer, 1)}
			row.calls = append(row.calls, c)
			go func() {
				a, err := f.ask(context.Background(), client, asked{version: c.version, id: `"x"`, tool: row.tool}, f.caller)
				if err != nil {
					a.body = []byte(err.Error())
				}
				c.answer <- a
			}()
		}
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			for range row.calls {
				one := receive(t, row.arrived, "the call arrives")
				if one.left <= 0 || one.left > row.limit {
					t.Errorf("the service was given %s, want at most %s", one.left, row.limit)
				}
				receive(t, one.ended, "the service's context ends")
			}
			for _, c := range row.calls {
				checkLate(t, receive(t, c.answer, "the answer"), c.version)
			}
			for _, s := range row.h.in(t).settled() {
				if s.Outcome != "TOOL_ERROR" || s.Class != "DEADLINE" {
					t.Errorf("settled as %+v", s)
				}
			}
		})
	}
}

// checkLate wants the tool error of a call whose deadline has passed.
func checkLate(t *testing.T, a answer, version string) {
	t.Helper()
	var message struct {
		ID     json.RawMessage `json:"id"`
		Result struct {
			ResultType string           `json:"resultType"`
			Content    []map[string]any `json:"content"`
			IsError    bool             `json:"isError"`
			Meta       map[string]any   `json:"_meta"`
		} `json:"result"`
	}
	if err := json.Unmarshal(a.body, &message); err != nil || a.status != http.StatusOK || string(message.ID) != `"x"` {
		t.Fatalf("%s: answered %d %s", version, a.status, a.body)
	}
	r := message.Result
	if !r.IsError || len(r.Content) != 1 || !strings.Contains(fmt.Sprint(r.Content[0]["text"]), "did not answer in time") ||
		r.Meta["dev.sallyport/executed"] != "unknown" {
		t.Errorf("%s: answered %s", version, a.body)
	}
	if got := r.ResultType == "complete"; got != (version == version20260728) {
		t.Errorf("%s: the result's type is %q", version, r.ResultType)
	}
}

// A stream that has begun ends with the tool error, too.
func TestDeadline_ofACallWithProgress(t *testing.T) {
	h := newConnectionHouse(t, configured(func(cfg *configv1.EdgeConfig) { cfg.DefaultTimeout = durationpb.New(soon) }))
	ends := h.climb(1)
	f := h.serve(how{})
	for _, version := range []string{version20251125, version20260728} {
		a, err := f.ask(t.Context(), f.http2Client(t), asked{version: version, id: `"x"`, tool: "climb", token: `"t"`}, h.caller)
		if err != nil {
			t.Fatal(err)
		}
		receive(t, receive(t, ends, "the call arrives"), "the service's context ends")
		frames := events(t, a)
		if len(frames) != 2 || !strings.Contains(frames[0], `"progressToken":"t","progress":1`) {
			t.Fatalf("%s: the stream is %q", version, frames)
		}
		checkLate(t, answer{status: a.status, body: []byte(frames[1])}, version)
	}
}

// events are the messages of a stream of server-sent events.
func events(t testing.TB, a answer) []string {
	t.Helper()
	if got := a.header.Get("Content-Type"); a.status != http.StatusOK || got != "text/event-stream" {
		t.Fatalf("answered %d of the type %q: %s", a.status, got, a.body)
	}
	var out []string
	for _, frame := range strings.Split(strings.TrimSuffix(string(a.body), "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(frame, "event: message\ndata: ")
		if !ok || strings.Contains(data, "\n") {
			t.Fatalf("the stream has the frame %q", frame)
		}
		out = append(out, data)
	}
	return out
}

// A request may have a deadline of its own, whatever the call's is: it is answered with 504.
func TestDeadline_ofARequest(t *testing.T) {
	h := newConnectionHouse(t, configured(func(cfg *configv1.EdgeConfig) { cfg.RequestTimeout = durationpb.New(soon) }))
	calls := h.hold(waitMethod)
	f := h.serve(how{})
	l := f.dial(t)
	for _, version := range []string{version20251125, version20260728} {
		h.forgetLog()
		l.write(f.onTheWire(asked{version: version, id: `"x"`, tool: "wait"}, h.caller))
		call := receive(t, calls, "the call arrives")
		if call.left <= 0 || call.left > soon {
			t.Errorf("%s: the service was given %s, want at most %s", version, call.left, soon)
		}
		receive(t, call.ended, "the service's context ends")
		a, last := l.read(http.MethodPost)
		checkCode(t, a, http.StatusGatewayTimeout, http.StatusGatewayTimeout)
		if !strings.Contains(string(a.body), `"id":"x"`) || last {
			t.Errorf("%s: answered %s, last %v", version, a.body, last)
		}
		if got := h.settled(); len(got) != 1 || got[0].Outcome != "FAILED" || got[0].Class != "DEADLINE" || got[0].Status != http.StatusGatewayTimeout {
			t.Errorf("%s: settled as %+v", version, got)
		}
	}
}
