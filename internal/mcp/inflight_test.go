package mcp_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

const (
	crowdedBody = `{"jsonrpc":"2.0","error":{"code":429,"message":"This edge has as many requests in hand as it takes at ` +
		`once: try again shortly."}}`
	refusedCall = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"%s The call did not run."}],` +
		`"isError":true,"_meta":{"dev.sallyport/executed":"no"}}}`
)

// held is a tool whose calls run until the test lets them go.
type held struct {
	tool
	running chan struct{}
	release chan struct{}
}

func newHeld(name string) *held {
	h := &held{running: make(chan struct{}, 256), release: make(chan struct{})}
	h.tool = tool{name: name, call: func(ctx context.Context, request []byte) ([]byte, error) {
		h.running <- struct{}{}
		select {
		case <-h.release:
			return request, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
	return h
}

// With room for two requests, two run and every other is refused before anything but its head is looked at.
func TestHandler_limitsRequestsInFlight(t *testing.T) {
	t.Parallel()
	waiting := newHeld("a")
	s := start(t, catalog{&waiting.tool}, func(o *mcp.Options) { o.MaxRequests = 2 })
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			if got := s.do(t, call{body: callA}); got.status != http.StatusOK {
				t.Errorf("a call that runs: %d %s", got.status, got.body)
			}
		})
		receive(t, waiting.running)
	}
	for _, test := range []struct {
		name string
		call call
		want int
	}{
		{"a call", call{body: callA}, http.StatusTooManyRequests},
		{"without a method of ours", call{body: `{"jsonrpc":"2.0","id":7,"method":"x"}`}, http.StatusTooManyRequests},
		{"before it is authenticated", call{body: callA, headers: map[string]string{"clientSecret": "wrong"}}, http.StatusTooManyRequests},
		{"before its body is read", call{body: "{"}, http.StatusTooManyRequests},
		{"but not before its head is admitted", call{method: http.MethodGet}, http.StatusMethodNotAllowed},
	} {
		got := s.do(t, test.call)
		settled := receive(t, s.settlements.tell)
		if got.status != test.want {
			t.Errorf("%s: %d %s", test.name, got.status, got.body)
		}
		if test.want != http.StatusTooManyRequests {
			continue
		}
		if got.body != crowdedBody || got.header.Get("Retry-After") != "1" {
			t.Errorf("%s: %s, Retry-After %q", test.name, got.body, got.header.Get("Retry-After"))
		}
		if settled.Outcome != lifecycle.Rejected || settled.Class != lifecycle.Transport || settled.Limit != lifecycle.LimitRequests {
			t.Errorf("%s: settled as %+v", test.name, settled)
		}
	}
	close(waiting.release)
	calls.Wait()
	if got := s.do(t, call{body: callA}); got.status != http.StatusOK {
		t.Errorf("after the others: %d %s", got.status, got.body)
	}
}

// Of 65 calls that come at once 64 run.
func TestHandler_limitsCallsOfAParticipant(t *testing.T) {
	t.Parallel()
	waiting := newHeld("a")
	s := start(t, catalog{&waiting.tool, {name: "b"}})
	var (
		calls sync.WaitGroup
		ran   atomic.Int64
	)
	refused := make(chan reply, 65)
	for range 65 {
		calls.Go(func() {
			got := s.do(t, call{body: callA})
			if strings.Contains(got.body, `"isError"`) {
				refused <- got
			} else {
				ran.Add(1)
			}
		})
	}
	for range 64 {
		receive(t, waiting.running)
	}
	want := fmt.Sprintf(refusedCall, "The caller has 64 calls running, which is as many as it may have at once: wait until one has "+
		"ended, then repeat this one.")
	if got := receive(t, refused); got.status != http.StatusOK || got.body != want {
		t.Errorf("got  %d %s\nwant %s", got.status, got.body, want)
	}
	if settled := receive(t, s.settlements.tell); settled.Outcome != lifecycle.ToolError ||
		settled.Class != lifecycle.Interceptor || settled.Limit != lifecycle.LimitCalls || settled.Tool != waiting.Resource() {
		t.Errorf("settled as %+v", settled)
	}
	// Whatever else the participant does is no call, and no name that it may not call is told by the limit.
	callB := strings.Replace(callA, `"a"`, `"b"`, 1)
	for body, part := range map[string]string{
		callB: "as many as it may have at once",
		strings.Replace(callA, `"a"`, `"nobody"`, 1):       "Unknown tool.",
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`:   `"name":"b"`,
		strings.Replace(callB, `{"x":"canary"}`, `[1]`, 1): "as many as it may have at once",
	} {
		if got := s.do(t, call{body: body}); !strings.Contains(got.body, part) {
			t.Errorf("%s: %s", body, got.body)
		}
	}
	close(waiting.release)
	calls.Wait()
	if n := ran.Load(); n != 64 {
		t.Errorf("%d calls ran", n)
	}
	if got := s.do(t, call{body: callB}); strings.Contains(got.body, "isError") {
		t.Errorf("after the others: %s", got.body)
	}
}

// However a call ends, its place is free afterwards.
func TestHandler_freesThePlaceOfEveryCall(t *testing.T) {
	t.Parallel()
	waiting := newHeld("left")
	stream := tool{name: "stream", progress: func(_ context.Context, report func(mcp.Sign)) ([]byte, error) {
		report(mcp.Sign{Progress: 1})
		return []byte(`{}`), nil
	}}
	broken := tool{name: "panics", call: func(context.Context, []byte) ([]byte, error) { panic("canary") }}
	refusing := tool{name: "refuses", refusal: &mcp.Refusal{Text: "no"}}
	all := catalog{
		{name: "answers"}, &waiting.tool, {name: "needs", capabilities: []string{"sampling"}}, {name: "offline", offline: true},
		&broken, &refusing, &stream,
	}
	s := start(t, all, func(o *mcp.Options) { o.MaxCalls, o.MaxRequests = 1, 1 })
	of := func(name string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","_meta":{"progressToken":1}}}`
	}
	for range 3 {
		for _, tool := range append(all, &tool{name: "unknown"}) {
			if tool == &waiting.tool {
				ctx, leave := context.WithCancel(t.Context())
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(of(tool.name)))
				if err != nil {
					t.Fatal(err)
				}
				for name, value := range map[string]string{"Content-Type": "application/json", "clientId": "m-1", "clientSecret": "secret"} {
					r.Header.Set(name, value)
				}
				go func() {
					receive(t, waiting.running)
					leave()
				}()
				if response, err := s.Client().Do(r); err == nil {
					response.Body.Close()
					t.Error("the call was answered")
				}
			} else {
				got := s.do(t, call{body: of(tool.name), headers: map[string]string{"Accept": "application/json, text/event-stream"}})
				if got.status != http.StatusOK || strings.Contains(got.body, "at once") {
					t.Errorf("%s: %d %s", tool.name, got.status, got.body)
				}
			}
			// The place is free before the settlement is told of, and so after it.
			if settled := receive(t, s.settlements.tell); settled.Limit != "" {
				t.Errorf("%s: %+v", tool.name, settled)
			}
		}
	}
}

func TestHandler_limitsTheRateOfAParticipant(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	now.Store(1_800_000_000)
	s := start(t, catalog{{name: "a"}}, func(o *mcp.Options) {
		o.CallRate = mcp.CallRate{PerSecond: 0.25, Burst: 2}
		o.Now = func() time.Time { return time.Unix(now.Load(), 0) }
	})
	ok := func() bool { return !strings.Contains(s.do(t, call{body: callA}).body, "isError") }
	if !ok() || !ok() {
		t.Fatal("the burst is refused")
	}
	// Neither what is no call nor an unknown name is counted, and neither is refused.
	for _, body := range []string{strings.Replace(callA, `"a"`, `"nobody"`, 1), ping} {
		for range 5 {
			if got := s.do(t, call{body: body}); strings.Contains(got.body, "isError") {
				t.Errorf("%s: %s", body, got.body)
			}
		}
	}
	want := fmt.Sprintf(refusedCall, "The caller calls more often than it may, which is 0.25 times a second and at most 2 calls at "+
		"once: wait 4 seconds, then repeat this call.")
	for range 3 {
		if got := s.do(t, call{body: callA}); got.body != want {
			t.Errorf("got  %s\nwant %s", got.body, want)
		}
	}
	now.Add(4)
	if !ok() || ok() {
		t.Error("four seconds later it is not one call that may be made")
	}
}

func TestNew_saysWhichLimitIsWrong(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]mcp.Options{
		"MaxRequests": {MaxRequests: -1}, "MaxCalls": {MaxCalls: -1}, "CallRate": {CallRate: mcp.CallRate{PerSecond: -1}},
	} {
		o.Catalog, o.Authenticator = catalog{}, machine{}
		if _, err := mcp.New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// echoing forwards what the headers X-One hold, and refuses `bad` in them.
type echoing struct{}

func (echoing) Forward(header map[string][]string) (forwarded []string, bad string) {
	for _, value := range header["X-One"] {
		if value == "bad" {
			return nil, "x-one"
		}
		forwarded = append(forwarded, "x-one", value)
	}
	return forwarded, ""
}

func TestHandler_handsOverForwardedHeaders(t *testing.T) {
	t.Parallel()
	got := make(chan []string, 1)
	seen := tool{name: "a", forwarded: got}
	s := start(t, catalog{&seen}, func(o *mcp.Options) { o.Forward = echoing{} })
	s.do(t, call{body: callA, headers: map[string]string{"X-One": "1", "X-Two": "2"}})
	if pairs := receive(t, got); fmt.Sprint(pairs) != "[x-one 1]" {
		t.Errorf("forwarded %q", pairs)
	}
	s.do(t, call{body: callA})
	if pairs := receive(t, got); pairs != nil {
		t.Errorf("forwarded %q", pairs)
	}
	receive(t, s.settlements.tell)
	receive(t, s.settlements.tell)
	bad := map[string]string{"X-One": "bad"}
	want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"The header x-one cannot be passed on to the service: send ` +
		`printable ASCII, and less than this edge passes on in all."}}`
	if r := s.do(t, call{body: callA, headers: bad}); r.status != http.StatusBadRequest || r.body != want {
		t.Errorf("got  %d %s\nwant %s", r.status, r.body, want)
	}
	if settled := receive(t, s.settlements.tell); settled.Outcome != lifecycle.Rejected || settled.Class != lifecycle.Envelope {
		t.Errorf("settled as %+v", settled)
	}
	// Whether a name is a tool's is not told by a header.
	if r := s.do(t, call{body: strings.Replace(callA, `"a"`, `"b"`, 1), headers: bad}); !strings.Contains(r.body, "Unknown tool.") {
		t.Errorf("an unknown tool: %s", r.body)
	}
}

func TestHandler_tellsOfDecisions(t *testing.T) {
	t.Parallel()
	told := make(chan lifecycle.Settlement, 8)
	waiting := newHeld("a")
	s := start(t, catalog{&waiting.tool, {name: "b", hidden: true}}, func(o *mcp.Options) {
		o.Decided = func(_ context.Context, s *lifecycle.Settlement) { told <- *s }
	})
	var calling sync.WaitGroup
	calling.Go(func() { s.do(t, call{body: callA}) })
	decided := receive(t, told) // before the call has ended
	if !decided.Decision.Permitted || decided.Tool != waiting.Resource() || decided.Participant.GetId() != "m-1" ||
		decided.Method != "tools/call" || decided.At.IsZero() {
		t.Errorf("told of %+v", decided)
	}
	close(waiting.release)
	calling.Wait()
	if settled := receive(t, s.settlements.tell); settled.Reference != decided.Reference {
		t.Errorf("settled as %+v", settled)
	}
	for _, name := range []string{"b", "canary"} {
		s.do(t, call{body: strings.Replace(callA, `"a"`, `"`+name+`"`, 1)})
		decided := receive(t, told)
		if settled := receive(t, s.settlements.tell); settled.Reference != decided.Reference || decided.Decision.Permitted || decided.Tool != "" {
			t.Errorf("told of %+v", decided)
		}
	}
	s.do(t, call{body: ping})
	s.do(t, call{body: callA, headers: map[string]string{"clientSecret": "x"}})
	if len(told) != 0 {
		t.Errorf("told of %+v", <-told)
	}
}

// A request that is not authenticated says what it brought, and where it came from.
func TestHandler_saysWhoIsNotAuthenticated(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{{name: "a"}})
	for _, row := range []struct {
		headers map[string]string
		want    lifecycle.Credential
	}{
		{map[string]string{"clientSecret": "wrong"}, lifecycle.CredentialSecret},
		{map[string]string{"clientId": "", "clientSecret": "only"}, lifecycle.CredentialSecret},
		{map[string]string{"clientId": "", "clientSecret": ""}, lifecycle.CredentialNone},
		{map[string]string{"clientId": "", "clientSecret": "", "Authorization": "Basic eA=="}, lifecycle.CredentialNone},
		{map[string]string{"Authorization": "bearer canary"}, lifecycle.CredentialBearer},
	} {
		s.do(t, call{body: ping, headers: row.headers})
		if got := receive(t, s.settlements.tell); got.Credential != row.want || got.Address != "127.0.0.1" {
			t.Errorf("%v: %+v", row.headers, got)
		}
	}
	s.do(t, call{body: ping})
	if got := receive(t, s.settlements.tell); got.Credential != "" || got.Address != "" {
		t.Errorf("authenticated: %+v", got)
	}
}
