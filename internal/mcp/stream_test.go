package mcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/internal/mcp"
)

// patience bounds every wait. Whoever reaches it has failed.
const patience = 60 * time.Second

// receive waits for a value.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("waited in vain")
		panic("unreachable")
	}
}

// stepping is a tool that reports these signs and brings the response.
func stepping(response string, signs ...mcp.Sign) *tool {
	return &tool{name: "a", progress: func(_ context.Context, report func(mcp.Sign)) ([]byte, error) {
		for _, sign := range signs {
			report(sign)
		}
		return []byte(response), nil
	}}
}

// eager sends each sign at once.
func eager(o *mcp.Options) { o.ProgressInterval = time.Nanosecond }

// listening is a call of the tool with a token by a client that takes a stream.
func listening(token string) call {
	return call{
		body:    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{},"_meta":{"progressToken":` + token + `}}}`,
		headers: map[string]string{"Accept": "application/json, text/event-stream"},
	}
}

// frames splits a stream into its messages, and fails unless each is a whole server-sent event. On a machine that is very
// slow there may be comments between them.
func frames(t *testing.T, stream string) []string {
	t.Helper()
	var all []string
	for stream != "" {
		frame, rest, whole := strings.Cut(stream, "\n\n")
		if frame == ":" {
			stream = rest
			continue
		}
		data, event := strings.CutPrefix(frame, "event: message\ndata: ")
		if !whole || !event || strings.ContainsAny(data, "\r\n") {
			t.Fatalf("not an event: %q", stream)
		}
		all, stream = append(all, data), rest
	}
	return all
}

func notification(token, rest string) string {
	return `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,` + rest + `}}`
}

const refusedLarge = `…"text":"The service's response is larger than this edge accepts: ask for less at once."}],"isError":true}}`

const plainResult = `{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{},"content":[{"type":"text","text":"{}"}],"_meta":{"dev.sallyport/type":"test.v1.Response"}}}`

func TestProgress_isStreamedOnlyToWhoListens(t *testing.T) {
	t.Parallel()
	signs := []mcp.Sign{{Progress: 1}, {Progress: 2, Total: 4, HasTotal: true, Message: "half"}}
	for _, row := range []struct {
		name   string
		tool   *tool
		change func(c *call)
		stream bool
	}{
		{"token, Accept and signs", stepping("{}", signs...), func(*call) {}, true},
		{"no signs", stepping("{}"), func(*call) {}, false},
		{"no sign that can be sent", stepping("{}", mcp.Sign{Progress: nan()}), func(*call) {}, false},
		{"no progress", &tool{name: "a"}, func(*call) {}, false},
		{"no token", stepping("{}", signs...), func(c *call) { c.body = strings.Replace(c.body, `"progressToken":"t"`, "", 1) }, false},
		{"no Accept", stepping("{}", signs...), func(c *call) { c.headers["Accept"] = "" }, false},
		{"only JSON", stepping("{}", signs...), func(c *call) { c.headers["Accept"] = "application/json" }, false},
		{"anything", stepping("{}", signs...), func(c *call) { c.headers["Accept"] = "*/*" }, false},
		{"events excluded", stepping("{}", signs...), func(c *call) { c.headers["Accept"] = "application/json, text/event-stream;q=0" }, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, catalog{row.tool}, eager)
			c := listening(`"t"`)
			row.change(&c)
			got := s.do(t, c)
			if got.status != 200 {
				t.Fatalf("got %d %s", got.status, got.body)
			}
			if settled := <-s.settlements.tell; settled.Outcome != lifecycle.Success || settled.Status != 200 {
				t.Errorf("settled as %+v", settled)
			}
			if !row.stream {
				if got.body != plainResult || got.header.Get("Content-Type") != "application/json" {
					t.Errorf("got %v %s", got.header, got.body)
				}
				return
			}
			for name, want := range map[string]string{
				"Content-Type": "text/event-stream", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
				"X-Content-Type-Options": "nosniff",
			} {
				if values := got.header.Values(name); len(values) != 1 || values[0] != want {
					t.Errorf("%s: %q", name, values)
				}
			}
			want := []string{
				notification(`"t"`, `"progress":1`),
				notification(`"t"`, `"progress":2,"total":4,"message":"half"`),
				plainResult,
			}
			if all := frames(t, got.body); strings.Join(all, "\n") != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

func nan() float64 { zero := 0.0; return zero / zero }

func TestProgress_echoesTheTokenToTheByte(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{stepping("{}", mcp.Sign{Progress: 1})}, eager)
	for _, token := range []string{
		`"t"`, `""`, `"1"`, `1`, `0`, `-7`, `9007199254740993`, `123456789012345678901234567890`, `"\u0041\n\"é😀"`,
		`"` + strings.Repeat("x", 254) + `"`,
	} {
		t.Run(token[:min(len(token), 30)], func(t *testing.T) {
			all := frames(t, s.do(t, listening(token)).body)
			if len(all) != 2 || all[0] != notification(token, `"progress":1`) {
				t.Errorf("got %q", all)
			}
		})
	}
}

func TestProgress_inTheModernEra(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{stepping("{}", mcp.Sign{Progress: 1})}, eager)
	got := s.do(t, call{
		body: `{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"a","_meta":{"progressToken":7,` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		headers: map[string]string{
			"Accept": "text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "a",
		},
	})
	all := frames(t, got.body)
	if len(all) != 2 || all[0] != notification("7", `"progress":1`) ||
		!strings.HasPrefix(all[1], `{"jsonrpc":"2.0","id":"x","result":{"resultType":"complete","structuredContent":{}`) ||
		!strings.Contains(all[1], `"_meta":{"io.modelcontextprotocol/serverInfo":`) {
		t.Errorf("got %q", all)
	}
}

// A page of an allowed origin may read a stream like any answer.
func TestProgress_isSharedWithPages(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{stepping("{}", mcp.Sign{Progress: 1})}, func(o *mcp.Options) {
		o.CORS, o.AllowedOrigins = true, []string{"https://pages.example.com"}
	})
	c := listening("1")
	c.headers["Origin"] = "https://pages.example.com"
	got := s.do(t, c)
	if got.header.Get("Content-Type") != "text/event-stream" || got.header.Get("Vary") != "Origin" ||
		got.header.Get("Access-Control-Allow-Origin") != "https://pages.example.com" {
		t.Errorf("got %v", got.header)
	}
}

// What ends a call before its first sign keeps status and form; what ends it later is the last frame.
func TestProgress_carriesFailures(t *testing.T) {
	t.Parallel()
	internal := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"An internal error occurred. Whoever runs this platform finds it in the log by the reference …`
	for _, row := range []struct {
		name    string
		end     func() ([]byte, error)
		change  func(*tool)
		want    string
		outcome lifecycle.Outcome
		class   lifecycle.Class
	}{
		{"unavailable", func() ([]byte, error) { return nil, &mcp.Failure{Code: codes.Unavailable} }, nil,
			`…The service is not available. The call may have run: check before you repeat it."}],"isError":true,"_meta":{"dev.sallyport/executed":"unknown"}}}`,
			lifecycle.ToolError, lifecycle.ServiceUnavailable},
		{"the call's deadline", func() ([]byte, error) { return nil, &mcp.Failure{Code: codes.DeadlineExceeded} }, nil,
			`…The service did not answer in time. The call may have run: check before you repeat it."}],"isError":true,"_meta":{"dev.sallyport/executed":"unknown"}}}`, lifecycle.ToolError, lifecycle.Deadline},
		{"said by the service", func() ([]byte, error) { return nil, &mcp.Failure{Code: codes.NotFound} }, nil,
			`…said with NotFound"}],"isError":true,"_meta":{"dev.sallyport/correctable":false}}}`, lifecycle.ToolError, lifecycle.Service},
		{"too large", func() ([]byte, error) { return nil, &mcp.Failure{Code: codes.ResourceExhausted, TooLarge: true} }, nil,
			refusedLarge, lifecycle.ToolError, lifecycle.Service},
		{"a broken stream", func() ([]byte, error) {
			return nil, &mcp.Failure{Code: codes.Internal, Fault: "the stream ended without a result", Err: errors.New("canary")}
		}, nil, internal, lifecycle.ToolError, lifecycle.Service},
		{"a fault of ours", func() ([]byte, error) { return nil, errors.New("canary") }, nil, internal, lifecycle.ToolError, lifecycle.Internal},
		{"a panic", func() ([]byte, error) { panic("canary") }, nil, `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"…`, lifecycle.Failed, lifecycle.Internal},
		{"the doors disagree", func() ([]byte, error) { return nil, &mcp.Failure{Disagreement: true} }, nil,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool."}}`, lifecycle.Rejected, lifecycle.Authorization},
		{"a result that cannot be", func() ([]byte, error) { return nil, nil }, func(t *tool) {
			t.result = func([]byte) ([]byte, bool, error) { return nil, false, errors.New("canary") }
		}, internal, lifecycle.ToolError, lifecycle.Serialization},
		{"an error of the service's own", func() ([]byte, error) { return nil, nil }, func(t *tool) {
			t.result = func(dst []byte) ([]byte, bool, error) {
				return append(dst, `"content":[],"isError":true`...), true, nil
			}
		}, `…"content":[],"isError":true,"_meta":{"dev.sallyport/type":"test.v1.Response"}}}`, lifecycle.ToolError, lifecycle.Service},
	} {
		for _, signs := range []int{0, 1, 3} {
			t.Run(fmt.Sprintf("%s after %d signs", row.name, signs), func(t *testing.T) {
				t.Parallel()
				one := &tool{name: "a", progress: func(_ context.Context, report func(mcp.Sign)) ([]byte, error) {
					for i := range signs {
						report(mcp.Sign{Progress: float64(i)})
					}
					return row.end()
				}}
				if row.change != nil {
					row.change(one)
				}
				s := start(t, catalog{one}, func(o *mcp.Options) { o.ProgressInterval = time.Hour })
				got := s.do(t, listening("1"))
				last := got.body
				if signs > 0 {
					all := frames(t, got.body)
					// Of three the second is too early for its turn, and the third comes with the result.
					if len(all) != min(signs, 2)+1 {
						t.Fatalf("got %q", all)
					}
					last = all[len(all)-1]
				}
				expectBody(t, last, row.want)
				if settled := <-s.settlements.tell; settled.Outcome != row.outcome || settled.Class != row.class || settled.Status != 200 {
					t.Errorf("settled as %+v", settled)
				}
				if log := s.log.String(); strings.Contains(got.body+log, "canary") ||
					strings.Contains(log, "the stream ended without a result") != (row.name == "a broken stream") {
					t.Errorf("log: %s", log)
				}
			})
		}
	}
}

// A tool with progress is refused like any other before it is called.
func TestProgress_isRefusedLikeAnyCall(t *testing.T) {
	t.Parallel()
	one := stepping("{}", mcp.Sign{Progress: 1})
	one.refusal = &mcp.Refusal{Text: "no"}
	hidden := stepping("{}")
	hidden.name, hidden.hidden = "b", true
	s := start(t, catalog{one, hidden})
	for name, row := range map[string]struct {
		change func(*call)
		status int
		want   string
	}{
		"by the gate":    {func(*call) {}, 200, `…"text":"no"}],"isError":true,"_meta":{"dev.sallyport/correctable":false}}}`},
		"unknown":        {func(c *call) { c.body = strings.Replace(c.body, `"a"`, `"b"`, 1) }, 200, `…"message":"Unknown tool."}}`},
		"no credentials": {func(c *call) { c.headers["clientSecret"] = "" }, 401, `{"jsonrpc":"2.0","error":{"code":401,…`},
		"a bad token": {func(c *call) {
			c.body = strings.Replace(c.body, `"progressToken":1`, `"progressToken":1.5`, 1)
		}, 200, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"The member \"progressToken\"…`},
	} {
		c := listening("1")
		row.change(&c)
		got := s.do(t, c)
		if got.status != row.status || got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v", name, got.status, got.header)
		}
		expectBody(t, got.body, row.want)
	}
}

// Progress and result share one budget, in which the last frame has its place.
func TestAnswer_keepsToItsBudget(t *testing.T) {
	t.Parallel()
	const limit = 8 << 10
	text := func(n int) string { return `"` + strings.Repeat("x", n-2) + `"` }
	for _, row := range []struct {
		name   string
		signs  int // each of somewhat more than 1 KiB
		result int // about twice of which the answer has
		want   string
		frames int // 0 for JSON
	}{
		{"a result that fits", 0, 3500, "", 0},
		{"one that does not", 0, 4500, refusedLarge, 0},
		{"that would fit without progress", 4, 3500, refusedLarge, 5},
		{"that fits beside progress", 1, 3000, "", 2},
		{"a small one after more progress than fits", 20, 100, "", 6},
		{"a large one after more progress than fits", 20, 3500, refusedLarge, 6},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			signs := make([]mcp.Sign, row.signs)
			for i := range signs {
				signs[i] = mcp.Sign{Progress: float64(i), Message: strings.Repeat("m", 1<<10)}
			}
			s := start(t, catalog{stepping(text(row.result), signs...)}, eager, func(o *mcp.Options) { o.MaxAnswerBytes = limit })
			got := s.do(t, listening("1"))
			if len(got.body) > limit {
				t.Errorf("%d bytes", len(got.body))
			}
			last := got.body
			if row.frames > 0 {
				all := frames(t, got.body)
				if len(all) != row.frames {
					t.Fatalf("%d frames", len(all))
				}
				last = all[len(all)-1]
			}
			settled := <-s.settlements.tell
			if row.want != "" {
				expectBody(t, last, row.want)
				if settled.Outcome != lifecycle.ToolError || settled.Class != lifecycle.Service {
					t.Errorf("settled as %+v", settled)
				}
				return
			}
			if !strings.Contains(last, text(row.result)) || settled.Outcome != lifecycle.Success {
				t.Errorf("got %s, settled as %+v", last, settled)
			}
		})
	}
}

// The limit holds to the byte, and for what a service says in words as well.
func TestAnswer_isRefusedAboveTheLimit(t *testing.T) {
	t.Parallel()
	body := func(change ...func(*mcp.Options)) string {
		s := start(t, catalog{{name: "a", call: func(context.Context, []byte) ([]byte, error) {
			return []byte(`"` + strings.Repeat("x", 3000) + `"`), nil
		}}}, change...)
		return s.do(t, call{body: callA}).body
	}
	whole := body()
	for _, row := range []struct {
		limit int
		fits  bool
	}{{len(whole), true}, {len(whole) + 1, true}, {len(whole) - 1, false}} {
		got := body(func(o *mcp.Options) { o.MaxAnswerBytes = int64(row.limit) })
		if (got == whole) != row.fits {
			t.Errorf("limit %d of %d: %s", row.limit, len(whole), got)
		}
		if !row.fits {
			expectBody(t, got, refusedLarge)
		}
	}
	tools := failing(&mcp.Failure{Code: codes.NotFound})
	tools[0].explain = func([]byte, *mcp.Failure) (string, bool) { return strings.Repeat("x", 5000), true }
	s := start(t, tools, func(o *mcp.Options) { o.MaxAnswerBytes = mcp.LeastAnswer })
	expectBody(t, s.do(t, call{body: callA}).body, refusedLarge)
}

func TestRequestTimeout(t *testing.T) {
	t.Parallel()
	const text = `{"jsonrpc":"2.0","id":1,"error":{"code":504,"message":"The request took longer than this edge allows. The call`
	waiting := func(signs int, end func(ctx context.Context) ([]byte, error)) *tool {
		return &tool{name: "a", progress: func(ctx context.Context, report func(mcp.Sign)) ([]byte, error) {
			for i := range signs {
				report(mcp.Sign{Progress: float64(i)})
			}
			<-ctx.Done()
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, errors.New("ended by something else")
			}
			return end(ctx)
		}}
	}
	failure := func(f *mcp.Failure) func(context.Context) ([]byte, error) {
		return func(context.Context) ([]byte, error) { return nil, f }
	}
	for _, row := range []struct {
		name   string
		signs  int
		end    func(context.Context) ([]byte, error)
		status int
		want   string
	}{
		{"while the call runs", 0, failure(&mcp.Failure{Code: codes.DeadlineExceeded}), 504, text + ` may have run: check before you repeat it."}}`},
		{"before the call left", 0, failure(&mcp.Failure{Code: codes.DeadlineExceeded, NotExecuted: true}), 504, text + ` did not run."}}`},
		{"in the middle of progress", 1, failure(&mcp.Failure{Code: codes.DeadlineExceeded}), 200, text + ` may have run: check before you repeat it."}}`},
		{"a late result is dropped", 0, func(context.Context) ([]byte, error) { return []byte("{}"), nil }, 504, text + ` may have run: check before you repeat it."}}`},
		{"a late result after progress", 2, func(context.Context) ([]byte, error) { return []byte("{}"), nil }, 200, text + ` may have run: check before you repeat it."}}`},
		{"a fault of ours", 0, func(context.Context) ([]byte, error) { return nil, errors.New("canary") }, 504, text + ` may have run: check before you repeat it."}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := start(t, catalog{waiting(row.signs, row.end)}, func(o *mcp.Options) { o.RequestTimeout = 50 * time.Millisecond })
			got := s.do(t, listening("1"))
			last := got.body
			if row.signs > 0 {
				all := frames(t, got.body)
				last = all[len(all)-1]
			}
			if got.status != row.status || last != row.want {
				t.Errorf("got %d %s", got.status, last)
			}
			if settled := <-s.settlements.tell; settled.Outcome != lifecycle.Failed || settled.Class != lifecycle.Deadline || settled.Status != row.status {
				t.Errorf("settled as %+v", settled)
			}
		})
	}
	s := start(t, catalog{{name: "a"}}, func(o *mcp.Options) { o.RequestTimeout = patience })
	if got := s.do(t, call{body: callA}); got.status != 200 {
		t.Errorf("in time: %d %s", got.status, got.body)
	}
}

func TestRequestTimeout_holdsForTheBodyToo(t *testing.T) {
	t.Parallel()
	s := start(t, catalog{}, func(o *mcp.Options) { o.RequestTimeout = 50 * time.Millisecond })
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nclientId: m-1\r\n"+
		"clientSecret: secret\r\nContent-Length: 100\r\n\r\n{")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if want := `{"jsonrpc":"2.0","error":{"code":504,"message":"The request took longer than this edge allows. The call did not run."}}`; response.StatusCode != 504 || string(body) != want || err != nil || !response.Close {
		t.Errorf("got %d %s, %v", response.StatusCode, body, err)
	}
	if settled := receive(t, s.settlements.tell); settled.Outcome != lifecycle.Failed || settled.Class != lifecycle.Deadline {
		t.Errorf("settled as %+v", settled)
	}
}
