package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
)

// soon is a limit that a test runs into on purpose, long enough for whoever does what is asked at once, later one that
// is as good as soon for whoever waits beside others, and amply a limit that no test comes near. Nothing here asks how
// long anything takes.
const (
	soon  = 500 * time.Millisecond
	later = 3 * soon
	amply = 10 * patience
)

// slowHouse is a house whose edge has little patience with bodies and with callers who do not read.
func slowHouse(t *testing.T) *house {
	return newConnectionHouse(t, configured(func(cfg *configv1.EdgeConfig) {
		cfg.MaxRequestBytes = smallBody
		cfg.BodyTimeout = durationpb.New(soon)
		cfg.WriteTimeout = durationpb.New(soon)
		cfg.ProgressInterval = durationpb.New(time.Microsecond)
	}))
}

// A head that does not come to its end ends the connection. Nobody has asked for anything yet: what net/http says to a
// line that it could not finish is all that is said.
func TestSlow_head(t *testing.T) {
	h := newConnectionHouse(t)
	whole := func(f *front) string { return f.onTheWire(say(version20251125, "1", "x"), f.caller) }
	rows := []struct {
		name   string
		secure bool
		sent   func(f *front) string
		want   string
		f      *front
		line   *line
	}{
		{name: "nothing", sent: func(*front) string { return "" }},
		{name: "half a line", sent: func(*front) string { return "POST /m" }, want: "HTTP/1.1 400 Bad Request\r\n"},
		{name: "half a head", sent: func(f *front) string { return strings.Split(whole(f), "\r\n\r\n")[0] }},
		{name: "half a preface of HTTP/2", sent: func(*front) string { return http2.ClientPreface[:12] }, want: "HTTP/1.1 400 Bad Request\r\n"},
		{name: "no handshake", secure: true, sent: func(*front) string { return "" }},
	}
	for i := range rows {
		row := &rows[i]
		row.f = h.serve(how{secure: row.secure, limits: edge.Limits{HeadTimeout: soon, IdleTimeout: amply}})
		row.line = row.f.dialPlain(t)
		row.line.write(row.sent(row.f))
	}
	f := h.serve(how{limits: edge.Limits{HeadTimeout: later, IdleTimeout: amply}})
	second := f.dial(t)
	second.write(whole(f) + whole(f)[:50])
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			row.f.visitors.waitGone(t, 1)
			if rest, _ := io.ReadAll(row.line.in); !strings.HasPrefix(string(rest), row.want) || row.want == "" && len(rest) > 0 {
				t.Errorf("the edge said %q, want %q", rest, row.want)
			}
		})
	}
	t.Run("the second of a connection", func(t *testing.T) {
		if a, _ := second.read(http.MethodPost); wordOf(t, a, "1") != "x" {
			t.Errorf("answered %s", a.body)
		}
		second.end()
	})
}

// A body that does not come to its end is answered, and ends the connection, whoever waits for it.
func TestSlow_body(t *testing.T) {
	h := slowHouse(t)
	call := asked{version: version20260728, id: "1", tool: "say", arguments: `{"word":"x"}`}
	const long = "99"
	rows := []struct {
		name, begin string
		change      func(http.Header)
		body        string
		// trickle sends the rest byte by byte, endlessly.
		trickle      bool
		status, code int
		f            *front
		line         *line
	}{
		{name: "a piece", change: with("Content-Length", long), body: `{"jsonrpc":`, status: 408, code: -32600},
		{name: "nothing", change: with("Content-Length", long), status: 408, code: -32600},
		{name: "a piece in chunks", change: with("Transfer-Encoding", "chunked"), body: "5\r\n{\"jso", status: 408, code: -32600},
		{name: "all chunks but the last", change: with("Transfer-Encoding", "chunked"), body: fmt.Sprintf("%x\r\n%s\r\n", len(call.body()), call.body()), status: 408, code: -32600},
		{name: "byte by byte", change: with("Content-Length", "30000"), trickle: true, status: 408, code: -32600},
		{name: "more than is taken", change: with("Transfer-Encoding", "chunked"), body: "fffff\r\n" + strings.Repeat("x", smallBody+1), status: 413, code: -32600},
		{name: "of a request without credentials", change: func(headers http.Header) {
			headers.Del("Clientid")
			headers.Set("Content-Length", long)
		}, body: "x", status: 401, code: 401},
		{name: "of a request by a wrong method", begin: "DELETE /mcp", change: with("Content-Length", long), body: "x", status: 405, code: -32600},
		{name: "of a text", change: func(headers http.Header) {
			headers.Set("Content-Type", "text/plain")
			headers.Set("Content-Length", long)
		}, body: "x", status: 415, code: -32600},
		{name: "byte by byte, from a foreign origin", change: func(headers http.Header) {
			headers.Set("Origin", "https://evil.example")
			headers.Set("Content-Length", "30000")
		}, trickle: true, status: 403, code: -32600},
		{name: "to a path that there is not", begin: "POST /", change: with("Content-Length", long), body: "x", status: 404},
		{name: "to a probe", begin: "GET /readyz", change: with("Content-Length", long), body: "x", status: 200},
	}
	for i := range rows {
		row := &rows[i]
		row.f = h.serve(how{limits: edge.Limits{HeadTimeout: later, BodyTimeout: soon, IdleTimeout: amply}})
		headers := call.headers(h.caller)
		row.change(headers)
		row.line = row.f.dial(t)
		row.line.write(row.f.head(or(row.begin, "POST /mcp"), headers, -1) + row.body)
		if row.trickle {
			defer row.line.trickle()()
		}
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			a, last := row.line.read(http.MethodPost)
			if row.code != 0 {
				checkHeadRefusal(t, a, row.status, row.code)
			} else if a.status != row.status {
				t.Errorf("status %d, want %d", a.status, row.status)
			}
			if !last {
				t.Error("the answer does not say that the connection ends")
			}
			row.f.visitors.waitGone(t, 1)
		})
	}
}

// trickle sends blanks until the connection ends, or until it is told to stop.
func (l *line) trickle() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(soon / 20)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
			case <-quit:
				return
			}
			if _, err := io.WriteString(l.conn, " "); err != nil {
				return
			}
		}
	}()
	return func() {
		close(quit)
		<-done
	}
}

// A connection that nobody uses is closed.
func TestSlow_idleConnection(t *testing.T) {
	h := newConnectionHouse(t)
	limits := edge.ConfiguredLimits(&configv1.EdgeConfig{IdleTimeout: durationpb.New(later)})
	f1 := h.serve(how{limits: limits})
	l := f1.dial(t)
	l.write(f1.onTheWire(say(version20251125, "1", "x"), h.caller))
	two := make(map[bool]*frames)
	for _, row := range secureOrNot {
		two[row.secure] = h.serve(how{limits: limits, secure: row.secure}).dialFrames(t, 1<<20)
		two[row.secure].call(1, say(version20260728, "1", "x"))
	}
	t.Run("HTTP/1.1", func(t *testing.T) {
		if a, last := l.read(http.MethodPost); wordOf(t, a, "1") != "x" || last {
			t.Errorf("answered %s, last %v", a.body, last)
		}
		l.end()
		f1.visitors.waitGone(t, 1)
	})
	for _, row := range secureOrNot {
		t.Run("HTTP/2, "+row.name, func(t *testing.T) {
			c := two[row.secure]
			checkWord(t, c.answer(1), "1", "x")
			if frame, err := c.next(); err != nil || c.away == nil || c.away.ErrCode != http2.ErrCodeNo {
				t.Errorf("the connection brings %v, %v", frame, err)
			}
			_ = c.conn.Close()
			c.f.visitors.waitGone(t, 1)
		})
	}
}

// unread are requests whose answers nobody reads beyond their beginning, one for each way to make one.
type unread struct {
	name, version string
	f             *front
	journey       journey
}

// beginUnread makes calls of a tool and reads of each answer as far as the text.
func (h *house) beginUnread(tool, text string) []unread {
	var all []unread
	for _, version := range []string{version20251125, version20260728} {
		s := asked{version: version, id: "1", tool: tool, token: "1"}
		f := h.serve(how{smallBuffers: true})
		all = append(all, unread{"HTTP/1.1, " + version, version, f, &lineJourney{line: f.dial(h.t), f: f}})
		f = h.serve(how{smallBuffers: true})
		all = append(all, unread{"HTTP/2, " + version, version, f, &streamJourney{frames: f.dialFrames(h.t, 1000)}})
		for _, one := range all[len(all)-2:] {
			one.journey.whole(s)
			one.journey.until(text)
		}
	}
	return all
}

// checkEnd wants the edge to have left the caller: HTTP/1.1 has nothing to leave but the connection, and of HTTP/2 it is
// the stream alone.
func (one *unread) checkEnd(t *testing.T) {
	t.Helper()
	j, ok := one.journey.(*streamJourney)
	if !ok {
		one.f.visitors.waitGone(t, 1)
		return
	}
	for {
		frame, err := j.next()
		if err != nil {
			t.Fatalf("the connection ended with %v", err)
		}
		if reset, ok := frame.(*http2.RSTStreamFrame); ok && reset.StreamID == 1 {
			break
		}
	}
	j.frames.call(3, say(one.version, "3", "still here"))
	checkWord(t, j.answer(3), "3", "still here")
}

// checkLeft wants as many settlements, all of them of callers who left.
func (h *house) checkLeft(n int) {
	h.t.Helper()
	left := 0
	for _, s := range h.settled() {
		if s.Outcome == "CANCELLED" && s.Class == "TRANSPORT" {
			left++
		} else if s.Outcome != "SUCCESS" || !strings.HasSuffix(s.Tool, "/Say") {
			h.t.Errorf("settled as %+v", s)
		}
	}
	if left != n {
		h.t.Errorf("%d callers left, want %d", left, n)
	}
}

// A caller who does not read the answer is left, and does not hold the edge.
func TestSlow_unreadResult(t *testing.T) {
	h := slowHouse(t)
	h.witness.answer(waitMethod, func(context.Context, *seen) ([]byte, error) { return word(strings.Repeat("long ", 200_000)), nil })
	all := h.beginUnread("wait", "long long")
	for _, one := range all {
		t.Run(one.name, func(t *testing.T) { one.checkEnd(t) })
	}
	h.checkLeft(len(all))
}

// A service that tells of its progress to a caller who does not read it is cancelled.
func TestSlow_unreadProgress(t *testing.T) {
	h := slowHouse(t)
	ended := make(chan error, 16)
	h.witness.stream(climbMethod, func(ctx context.Context, _ *seen, send func([]byte) error) error {
		for i := 1; ; i++ {
			if err := send(step(float64(i), strings.Repeat("on and on ", 1000))); err != nil {
				ended <- ctx.Err()
				return err
			}
		}
	})
	all := h.beginUnread("climb", `"progress":1,`)
	for _, one := range all {
		if err := receive(t, ended, "the service's call ends"); err == nil {
			t.Error("a service's context goes on")
		}
		t.Run(one.name, func(t *testing.T) { one.checkEnd(t) })
	}
	h.checkLeft(len(all))
}

// A caller who sends one small request after another and reads no answer is left as well.
func TestSlow_unreadSmallAnswers(t *testing.T) {
	h := newConnectionHouse(t)
	type flood struct {
		name string
		f    *front
		err  chan error
	}
	var floods []flood
	for _, row := range []struct {
		name    string
		request func(f *front) string
	}{
		{"calls", func(f *front) string { return f.onTheWire(say(version20251125, "1", "x"), h.caller) }},
		{"refusals", func(f *front) string { return f.onTheWire(say(version20251125, "1", "x"), credentials{}) }},
		{"paths that there are not", func(f *front) string { return f.head("GET /", http.Header{}, 0) }},
		{"pages of metrics", func(f *front) string { return f.head("GET /metrics", http.Header{}, 0) }},
	} {
		// Not over TLS, where closing a connection takes another 5 s, for a last word that nobody reads either.
		f := h.serve(how{smallBuffers: true, limits: edge.Limits{WriteTimeout: soon}})
		one := flood{row.name, f, make(chan error, 1)}
		floods = append(floods, one)
		l, text := f.dial(t), strings.Repeat(row.request(f), 100)
		go func() {
			for {
				if _, err := io.WriteString(l.conn, text); err != nil {
					one.err <- err
					return
				}
			}
		}()
	}
	for _, one := range floods {
		t.Run(one.name, func(t *testing.T) {
			if err := receive(t, one.err, "the connection ends"); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the edge holds the connection")
			}
			one.f.visitors.waitGone(t, 1)
		})
	}
}

// A head may have so many bytes and no more.
func TestHead_isLimited(t *testing.T) {
	h := newConnectionHouse(t)
	f := h.serve(how{})
	small := h.serve(how{limits: edge.Limits{MaxHeadBytes: 4 << 10}})
	for _, row := range []struct {
		name   string
		f      *front
		change func(http.Header)
		fits   bool
	}{
		{"60 KiB in a header", f, with("X-Large", strings.Repeat("x", 60<<10)), true},
		{"100 KiB in a header", f, with("X-Large", strings.Repeat("x", 100<<10)), false},
		{"1,000 headers", f, many(1_000, "x"), true},
		{"10,000 headers", f, many(10_000, "x"), false},
		{"10,000 values of a header", f, func(headers http.Header) { headers["X-Many"] = slices.Repeat([]string{""}, 10_000) }, false},
		{"3 KiB where 4 are allowed", small, with("X-Large", strings.Repeat("x", 3<<10)), true},
		{"16 KiB where 4 are allowed", small, with("X-Large", strings.Repeat("x", 16<<10)), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := say(version20260728, "1", "x")
			headers := s.headers(h.caller)
			row.change(headers)
			l := row.f.dial(t)
			l.feed(row.f.head("POST /mcp", headers, len(s.body())) + s.body())
			a, last := l.read(http.MethodPost)
			if row.fits {
				if wordOf(t, a, "1") != "x" || last {
					t.Errorf("answered %s, last %v", a.body, last)
				}
				return
			}
			if a.status != http.StatusRequestHeaderFieldsTooLarge || !last || json.Valid(a.body) || strings.Contains(string(a.body), "xx") {
				t.Errorf("answered %d %.300s, last %v", a.status, a.body, last)
			}
			l.end()
		})
	}
}
