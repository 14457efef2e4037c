package boundary_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/protobuf/types/known/durationpb"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// ask makes a call by library.
func (f *front) ask(ctx context.Context, client *http.Client, s asked, c credentials) (answer, error) {
	scheme := "http://"
	if f.trust != nil {
		scheme = "https://"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, scheme+f.host+"/mcp", strings.NewReader(s.body()))
	if err != nil {
		return answer{}, err
	}
	r.Header = s.headers(c)
	response, err := client.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, header: response.Header, body: body}, err
}

// secureOrNot are the two ways to serve HTTP/2.
var secureOrNot = []struct {
	name   string
	secure bool
}{{"prior knowledge", false}, {"TLS", true}}

// One connection carries many calls at once, of different callers in all versions, and each is answered as if it were
// alone.
func TestHTTP2_carriesManyCallersAtOnce(t *testing.T) {
	callers := make(map[string]credentials)
	h := newConnectionHouse(t, prepared(func(h *house) {
		for _, id := range []string{"ada", "grace", "hedy"} {
			callers[id] = h.newMachine(participant.System(id))
		}
	}))
	const streams = 120
	for _, row := range secureOrNot {
		t.Run(row.name, func(t *testing.T) {
			f := h.in(t).serve(how{secure: row.secure})
			calls := h.hold(waitMethod)
			client := f.http2Client(t)
			if _, err := f.ask(t.Context(), client, say(version20251125, "0", "first"), h.caller); err != nil {
				t.Fatal(err) // and from here there is a connection to share
			}
			ids, versions := []string{"ada", "grace", "hedy", "nobody"}, append([]string{version20260728}, served...)
			var all sync.WaitGroup
			defer all.Wait()
			for i := range streams {
				id, version := ids[i%len(ids)], versions[i/len(ids)%len(versions)]
				all.Go(func() {
					c, known := callers[id]
					s := asked{version: version, id: quote(fmt.Sprint("call ", i)), tool: "wait", arguments: `{"word":` + quote(fmt.Sprint(id, i)) + `}`}
					a, err := f.ask(t.Context(), client, s, c)
					switch {
					case err != nil:
						t.Errorf("call %d: %v", i, err)
					case !known:
						if a.status != http.StatusUnauthorized {
							t.Errorf("call %d of nobody: %d %s", i, a.status, a.body)
						}
					default:
						checkWord(t, a, s.id, fmt.Sprint("for ", id, i))
					}
				})
			}
			// No call is answered before all have come: they are all on their way at once.
			var waiting []*held
			for range streams / len(ids) * len(callers) {
				waiting = append(waiting, receive(t, calls, "the calls arrive"))
			}
			slices.Reverse(waiting)
			for _, call := range waiting {
				if id := call.participant(t).GetId(); !strings.HasPrefix(call.word(), id) {
					t.Errorf("a call of %q came as one of %q", call.word(), id)
				}
				call.answer <- word("for " + call.word())
			}
			all.Wait()
			if got := f.visitors.count(); got != 1 {
				t.Errorf("%d connections were needed", got)
			}
		})
	}
}

// checkWord is wordOf for goroutines: it complains and goes on.
func checkWord(t testing.TB, a answer, id, want string) {
	t.Helper()
	if a.status != http.StatusOK || !bytes.Contains(a.body, []byte(`"id":`+id+`,`)) ||
		!bytes.Contains(a.body, []byte(`"structuredContent":{"word":`+quote(want)+`}`)) {
		t.Errorf("answered %d %.500s, want %s for %s", a.status, a.body, want, id)
	}
}

// Three calls at a time have their own answers, in whatever order those come.
func TestConnection_parallelCallsKeepTheirAnswers(t *testing.T) {
	h := newConnectionHouse(t)
	calls := h.hold(waitMethod)
	for _, row := range []struct {
		name                string
		http2, secure       bool
		version             string
		wantedOfConnections int
	}{
		{"HTTP/2, legacy", true, false, version20251125, 1},
		{"HTTP/2, modern", true, false, version20260728, 1},
		{"HTTP/2 over TLS, modern", true, true, version20260728, 1},
		{"HTTP/1.1, legacy", false, false, version20250326, 3},
		{"HTTP/1.1, modern", false, false, version20260728, 3},
		{"HTTP/1.1 over TLS, legacy", false, true, version20250618, 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := h.in(t).serve(how{secure: row.secure})
			client := f.http1Client(t)
			if row.http2 {
				client = f.http2Client(t)
			}
			if _, err := f.ask(t.Context(), client, say(row.version, "0", "first"), h.caller); err != nil {
				t.Fatal(err)
			}
			for _, order := range [][]int{{0, 1, 2}, {2, 1, 0}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}} {
				f.threeAtOnce(t, client, row.version, calls, order)
			}
			if got := f.visitors.count(); got != row.wantedOfConnections {
				t.Errorf("%d connections were used, want %d", got, row.wantedOfConnections)
			}
		})
	}
}

// threeAtOnce makes three calls and has them answered in an order. Their ids are alike but are not the same.
func (f *front) threeAtOnce(t *testing.T, client *http.Client, version string, calls <-chan *held, order []int) {
	t.Helper()
	ids := []string{`1`, `"1"`, `"01"`}
	var all sync.WaitGroup
	defer all.Wait()
	for i, id := range ids {
		all.Go(func() {
			a, err := f.ask(t.Context(), client, asked{version: version, id: id, tool: "wait", arguments: fmt.Sprintf(`{"word":"%d"}`, i)}, f.caller)
			if err != nil {
				t.Errorf("call %s: %v", id, err)
				return
			}
			checkWord(t, a, id, fmt.Sprint("answer ", i))
		})
	}
	waiting := make(map[string]*held)
	for range ids {
		call := receive(t, calls, "the calls arrive")
		waiting[call.word()] = call
	}
	for _, i := range order {
		waiting[fmt.Sprint(i)].answer <- word(fmt.Sprint("answer ", i))
	}
}

// Streams of progress that run side by side over one connection, or one after another, keep apart: each has its own
// signs and its own result, and a connection goes on after one.
func TestConnection_streamsOfProgressKeepApart(t *testing.T) {
	h := newConnectionHouse(t, configured(func(cfg *configv1.EdgeConfig) {
		cfg.ProgressInterval = durationpb.New(time.Nanosecond)
	}))
	const streams, steps = 24, 20
	gate := make(chan struct{}, streams)
	open := make(chan struct{})
	h.witness.stream(climbMethod, func(ctx context.Context, call *seen, send func([]byte) error) error {
		gate <- struct{}{}
		select {
		case <-open:
		case <-ctx.Done():
			return ctx.Err()
		}
		for i := range steps {
			if err := send(step(float64(i+1), call.word())); err != nil {
				return err
			}
		}
		return send(summit(call.word()))
	})
	check := func(t *testing.T, s asked, a answer) {
		t.Helper()
		frames := events(t, a)
		for i, frame := range frames[:len(frames)-1] {
			if !strings.Contains(frame, `"progressToken":`+s.token+`,`) || !strings.Contains(frame, `"message":`+s.id) {
				t.Errorf("frame %d of the call %s is %s", i, s.id, frame)
			}
		}
		checkWord(t, answer{status: a.status, body: []byte(frames[len(frames)-1])}, s.id, strings.Trim(s.id, `"`))
	}
	ofCall := func(i int) asked {
		id := fmt.Sprintf(`"call %d"`, i)
		return asked{version: []string{version20251125, version20260728}[i%2], id: id, tool: "climb", arguments: `{"word":` + id + `}`, token: fmt.Sprint(i)}
	}
	t.Run("side by side", func(t *testing.T) {
		f := h.in(t).serve(how{})
		client := f.http2Client(t)
		var all sync.WaitGroup
		for i := range streams {
			all.Go(func() {
				a, err := f.ask(t.Context(), client, ofCall(i), h.caller)
				if err != nil {
					t.Errorf("call %d: %v", i, err)
					return
				}
				check(t, ofCall(i), a)
			})
		}
		for range streams {
			receive(t, gate, "the calls arrive")
		}
		close(open)
		all.Wait()
	})
	t.Run("one after another", func(t *testing.T) {
		f := h.in(t).serve(how{})
		l := f.dial(t)
		for i := range 4 {
			s := ofCall(i)
			l.write(f.onTheWire(s, h.caller) + f.onTheWire(say(s.version, "1", "between"), h.caller))
			a, last := l.read(http.MethodPost)
			check(t, s, a)
			if between, _ := l.read(http.MethodPost); wordOf(t, between, "1") != "between" || last {
				t.Errorf("after a stream came %s, last %v", between.body, last)
			}
		}
	})
}

// A stream that its caller resets takes its own call along, and no other.
func TestHTTP2_aResetCancelsItsCallAlone(t *testing.T) {
	h := newConnectionHouse(t)
	calls := h.hold(waitMethod)
	for _, row := range secureOrNot {
		t.Run(row.name, func(t *testing.T) {
			f := h.in(t).serve(how{secure: row.secure})
			h.forgetLog()
			c := f.dialFrames(t, 1<<20)
			waiting := make(map[string]*held)
			for i, version := range []string{version20251125, version20260728, version20260728} {
				c.call(uint32(2*i+1), asked{version: version, id: fmt.Sprint(i), tool: "wait", arguments: fmt.Sprintf(`{"word":"%d"}`, i)})
				call := receive(t, calls, "the call arrives")
				waiting[call.word()] = call
			}
			c.check(c.framer.WriteRSTStream(3, http2.ErrCodeCancel))
			receive(t, waiting["1"].ended, "the call of the stream that was reset ends")
			for _, i := range []int{0, 2} {
				waiting[fmt.Sprint(i)].answer <- word(fmt.Sprint("answer ", i))
				checkWord(t, c.answer(uint32(2*i+1)), fmt.Sprint(i), fmt.Sprint("answer ", i))
			}
			var outcomes []string
			for _, s := range h.settled() {
				outcomes = append(outcomes, s.Outcome)
			}
			slices.Sort(outcomes)
			if got := strings.Join(outcomes, " "); got != "CANCELLED SUCCESS SUCCESS" {
				t.Errorf("settled as %s", got)
			}
		})
	}
}

// Streams that are opened and reset at once, hundreds of them, all end, and the connection goes on or is closed with
// the reason that it is too much.
func TestHTTP2_outlivesRapidResets(t *testing.T) {
	h := newConnectionHouse(t)
	h.hold(waitMethod)
	f := h.serve(how{})
	c := f.dialFrames(t, 1<<20)
	const streams = 400
	for i := range uint32(streams) {
		c.call(2*i+1, asked{version: version20260728, id: "1", tool: "wait"})
		c.check(c.framer.WriteRSTStream(2*i+1, http2.ErrCodeCancel))
	}
	sound := say(version20260728, `"after"`, "still here")
	c.call(2*streams+1, sound)
	checkWord(t, c.answer(2*streams+1), sound.id, "still here")
	for _, s := range h.settled() {
		if s.Outcome != "CANCELLED" && s.Outcome != "SUCCESS" {
			t.Errorf("a request was settled as %+v", s)
		}
	}
}

// A refusal is a stream's affair: the connection and its other calls go on.
func TestHTTP2_aRefusalLeavesTheConnection(t *testing.T) {
	h := newConnectionHouse(t, configured(func(cfg *configv1.EdgeConfig) {
		cfg.MaxRequestBytes = smallBody
		cfg.BodyTimeout = durationpb.New(later)
	}))
	calls := h.hold(waitMethod)
	f := h.serve(how{})
	sound := say(version20260728, `"after"`, "still here")
	for _, row := range []struct {
		name   string
		change func(http.Header)
		// body is sent piece by piece, and its end only where there is one.
		body         []string
		unended      bool
		status, code int
	}{
		{"a foreign origin", with("Origin", "https://evil.example"), []string{"x"}, false, 403, -32600},
		{"a body of text", with("Content-Type", "text/plain"), []string{"x"}, false, 415, -32600},
		{"a body of text that does not end", with("Content-Type", "text/plain"), []string{"x"}, true, 415, -32600},
		{"no credentials", without("Clientid"), []string{"x"}, false, 401, 401},
		{"no credentials and a body that does not end", without("Clientid"), nil, true, 401, 401},
		{"a length over the limit", with("Content-Length", "99999999"), []string{"x"}, true, 413, -32600},
		{"a body over the limit", func(http.Header) {}, slices.Repeat([]string{strings.Repeat("x", smallBody/4)}, 5), true, 413, -32600},
		{"a body that stops", func(http.Header) {}, []string{`{"jsonrpc"`}, true, 408, -32600},
		{"no JSON", func(http.Header) {}, []string{"x"}, false, 400, -32700},
		{"a large head", many(5, strings.Repeat("x", 14_000)), []string{"x"}, false, 431, 0},
		{"a head of many headers", many(1800, "x"), []string{"x"}, false, 431, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := f.dialFrames(t, 1<<20)
			c.call(1, asked{version: version20251125, id: "1", tool: "wait"})
			other := receive(t, calls, "the other call arrives")
			headers := sound.headers(f.caller)
			row.change(headers)
			c.open(3, headers, false)
			for i, piece := range row.body {
				c.send(3, piece, !row.unended && i == len(row.body)-1)
			}
			a := c.answer(3)
			if row.code == 0 {
				if a.status != row.status {
					t.Errorf("status %d, want %d", a.status, row.status)
				}
			} else {
				checkCode(t, a, row.status, row.code)
			}
			c.call(5, sound)
			checkWord(t, c.answer(5), sound.id, "still here")
			other.answer <- word("other")
			checkWord(t, c.answer(1), "1", "other")
			if c.away != nil {
				t.Errorf("the edge said farewell: %v", c.away)
			}
		})
	}
}

// many adds headers of one value.
func many(n int, value string) func(http.Header) {
	return func(headers http.Header) {
		for i := range n {
			headers.Set(fmt.Sprint("X-", i), value)
		}
	}
}
