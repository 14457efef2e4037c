package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// recorder is a writer that notes what is written when, in the time of a test's bubble.
type recorder struct {
	header  http.Header
	start   time.Time
	status  int
	said    []string // "0s frame"
	unsent  bytes.Buffer
	fail    bool // at writes
	explode bool // at writes
	// deadline is that of writes.
	deadline time.Time
}

func (r *recorder) Header() http.Header    { return r.header }
func (r *recorder) WriteHeader(status int) { r.status = status }

func (r *recorder) Write(b []byte) (int, error) {
	if r.explode {
		panic("canary")
	}
	if r.fail || !r.deadline.After(time.Now()) {
		return 0, errors.New("broken")
	}
	return r.unsent.Write(b)
}

func (r *recorder) FlushError() error {
	r.said = append(r.said, fmt.Sprintf("%v %s", time.Since(r.start), shorten(r.unsent.String())))
	r.unsent.Reset()
	return nil
}

func (r *recorder) SetWriteDeadline(t time.Time) error { r.deadline = t; return nil }

// shorten takes away what all frames have.
func shorten(frame string) string {
	frame = strings.TrimSuffix(frame, "\n\n")
	frame = strings.TrimPrefix(frame, "event: message\ndata: ")
	frame = strings.TrimPrefix(frame, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":`)
	return strings.TrimSuffix(frame, "}}")
}

// inStream runs f with a stream in a bubble, settles it, and gives what was written.
func inStream(t *testing.T, options Options, w *recorder, f func(s *stream, sleep func(time.Duration), ctx context.Context)) {
	t.Helper()
	if options.ProgressInterval == 0 {
		options.ProgressInterval = DefaultProgressInterval
	}
	options.WriteTimeout = DefaultWriteTimeout
	synctest.Test(t, func(t *testing.T) {
		w.header, w.start = http.Header{}, time.Now()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		x := &exchange{h: &Handler{options: options, log: slog.New(slog.DiscardHandler)}, w: w, r: r}
		x.message.params.meta.progressToken = jsontext.Value(`"t"`)
		s, ctx := x.newStream(r.Context())
		f(s, func(d time.Duration) { time.Sleep(d); synctest.Wait() }, ctx)
		s.settle()
		if ctx.Err() == nil {
			t.Error("the call's context goes on")
		}
		if s.started {
			s.finish([]byte("result"))
		}
	})
}

func TestStream_pacesSigns(t *testing.T) {
	const ms = time.Millisecond
	// An event is a sign at a time, in milliseconds since the start.
	type event struct {
		at       int
		progress float64
	}
	for _, row := range []struct {
		name   string
		events []event
		ends   int
		want   []string
	}{
		{"none", nil, 1000, nil},
		{"the first at once", []event{{0, 1}}, 50, []string{"0s 1", "50ms result"}},
		{"the first at once, whenever it comes", []event{{70, 1}}, 80, []string{"70ms 1", "80ms result"}},
		{"slow ones at once", []event{{0, 1}, {100, 2}, {250, 3}}, 300, []string{"0s 1", "100ms 2", "250ms 3", "300ms result"}},
		{"the newest of fast ones, though the service is silent then", []event{{0, 1}, {10, 2}, {20, 3}, {30, 4}}, 5000, []string{"0s 1", "100ms 4", "5s result"}},
		{"the last one always", []event{{0, 1}, {10, 2}, {20, 3}}, 30, []string{"0s 1", "30ms 3", "30ms result"}},
		{"turn by turn", []event{{0, 1}, {10, 2}, {90, 3}, {110, 4}, {190, 5}, {205, 6}}, 210, []string{"0s 1", "100ms 3", "200ms 5", "210ms 6", "210ms result"}},
		{"all at one moment", []event{{0, 1}, {0, 2}, {0, 3}}, 0, []string{"0s 1", "0s 3", "0s result"}},
		{"a comment after silence", []event{{0, 1}}, 31_000, []string{"0s 1", "15s :", "30s :", "31s result"}},
		{"a comment that is counted from the last sign", []event{{0, 1}, {10, 2}, {14_000, 3}}, 30_000, []string{"0s 1", "100ms 2", "14s 3", "29s :", "30s result"}},
		{"no comment before the first sign", []event{{40_000, 1}}, 40_001, []string{"40s 1", "40.001s result"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var w recorder
			inStream(t, Options{}, &w, func(s *stream, sleep func(time.Duration), _ context.Context) {
				begin := time.Now()
				for _, e := range row.events {
					sleep(time.Until(begin.Add(time.Duration(e.at) * ms)))
					s.report(Sign{Progress: e.progress})
				}
				sleep(time.Until(begin.Add(time.Duration(row.ends) * ms)))
			})
			if got, want := strings.Join(w.said, "\n"), strings.Join(row.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if (w.status != 0) != (len(row.want) > 0) {
				t.Errorf("status %d", w.status)
			}
		})
	}
}

func TestStream_sendsWhatGrows(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, row := range []struct {
		name  string
		signs []Sign
		want  string
	}{
		{"growing", []Sign{{Progress: 1}, {Progress: 1.5}}, "1 1.5"},
		{"standing still, and falling back", []Sign{{Progress: 2}, {Progress: 2}, {Progress: 1}, {Progress: 3}}, "2 3"},
		{"from below zero", []Sign{{Progress: -2.5}, {Progress: -1}, {Progress: 0}}, "-2.5 -1 0"},
		{"zeros are one number", []Sign{{Progress: 0}, {Progress: math.Copysign(0, -1)}, {Progress: 0}}, "0"},
		{"no numbers", []Sign{{Progress: nan}, {Progress: inf}, {Progress: -inf}, {Progress: 1}, {Progress: nan}, {Progress: inf}, {Progress: 2}}, "1 2"},
		{"totals", []Sign{{Progress: 1, Total: 10, HasTotal: true}, {Progress: 2, Total: 11}, {Progress: 3, HasTotal: true}}, `1,"total":10 2 3,"total":0`},
		{"totals that are no numbers", []Sign{{Progress: 1, Total: inf, HasTotal: true}, {Progress: 2, Total: nan, HasTotal: true}}, "1 2"},
		{"messages", []Sign{{Progress: 1, Message: "half \"done\"\n\r\u2028"}, {Progress: 2, Total: 2, HasTotal: true, Message: "é"}},
			`1,"message":"half \"done\"\n\r` + "\u2028" + `" 2,"total":2,"message":"é"`},
		{"numbers of all sizes", []Sign{{Progress: 0.1}, {Progress: 1 << 53}, {Progress: 1e21}, {Progress: math.MaxFloat64}}, "0.1 9007199254740992 1e+21 1.7976931348623157e+308"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var w recorder
			inStream(t, Options{}, &w, func(s *stream, sleep func(time.Duration), _ context.Context) {
				for _, sign := range row.signs {
					s.report(sign)
					sleep(time.Second)
				}
			})
			var got []string
			for _, said := range w.said[:len(w.said)-1] {
				_, frame, _ := strings.Cut(said, " ")
				got = append(got, frame)
			}
			if all := strings.Join(got, " "); all != row.want {
				t.Errorf("got  %s\nwant %s", all, row.want)
			}
		})
	}
}

// What does not fit is dropped, so that a last frame of finalRoom bytes always fits.
func TestStream_keepsToItsBudget(t *testing.T) {
	var w recorder
	const limit = LeastAnswer
	inStream(t, Options{MaxAnswerBytes: limit}, &w, func(s *stream, sleep func(time.Duration), _ context.Context) {
		s.report(Sign{Progress: 1, Message: strings.Repeat("x", limit-finalRoom)})
		if s.started {
			t.Error("a sign that does not fit starts the stream")
		}
		for i := range 100 {
			s.report(Sign{Progress: float64(2 + i), Message: strings.Repeat("x", 100)})
			sleep(time.Second)
		}
		sleep(time.Hour) // of comments
		if s.used > limit-finalRoom || s.used < limit-finalRoom-3 {
			t.Errorf("used %d bytes", s.used)
		}
	})
	if signs := strings.Count(strings.Join(w.said, "\n"), `"message"`); signs < 5 || signs > 10 {
		t.Errorf("%d signs", signs)
	}
}

func TestStream_endsTheCallWhenNobodyReads(t *testing.T) {
	for _, row := range []struct {
		name string
		fail func(w *recorder)
	}{
		{"a write fails", func(w *recorder) { w.fail = true }},
		{"a write panics in the stream's own goroutine", func(w *recorder) { w.explode = true }},
	} {
		t.Run(row.name, func(t *testing.T) {
			var w recorder
			inStream(t, Options{}, &w, func(s *stream, sleep func(time.Duration), ctx context.Context) {
				s.report(Sign{Progress: 1})
				row.fail(&w)
				s.report(Sign{Progress: 2})
				if ctx.Err() != nil {
					t.Error("the call ended before anything failed")
				}
				sleep(time.Second)
				if ctx.Err() == nil || !s.isBroken() {
					t.Error("the call goes on")
				}
				w.fail, w.explode = false, false
				s.report(Sign{Progress: 3})
				sleep(time.Hour)
			})
			if strings.Join(w.said, "\n") != "0s 1" {
				t.Errorf("said %q", w.said)
			}
		})
	}
}

// Nothing is written for a caller who has left, and no deadline holds while nothing is written.
func TestStream_isSilentAfterTheCallerLeft(t *testing.T) {
	var w recorder
	inStream(t, Options{}, &w, func(s *stream, sleep func(time.Duration), _ context.Context) {
		s.report(Sign{Progress: 1})
		if !w.deadline.IsZero() {
			t.Errorf("a deadline at %v", w.deadline)
		}
		left, leave := context.WithCancel(s.ctx)
		s.mu.Lock()
		s.ctx = left
		s.mu.Unlock()
		leave()
		s.report(Sign{Progress: 2})
		sleep(time.Minute)
	})
	if strings.Join(w.said, "\n") != "0s 1" {
		t.Errorf("said %q", w.said)
	}
}

// Every text of ours fits into what is reserved, with the longest id.
func TestStream_reservesEnough(t *testing.T) {
	h := &Handler{options: Options{Version: "v0.0.0-20261130110924-0123456789ab+dirty"}}
	id := jsontext.Value(`"` + strings.Repeat("x", maxID-2) + `"`)
	for _, e := range h.eras() {
		x := &exchange{h: h, era: e, message: message{id: id}, reference: NewReference()}
		for name, a := range map[string]*answer{
			"too large": x.toolError(tooLargeText, metaExecuted, executedUnknown, ""), "internal": x.toolError(internalText(x.reference), metaExecuted, executedUnknown, ""),
			"overdue": x.tooLate(nil), "panic": x.internalError(), "unknown": x.fail(unknownTool, ""),
			"deadline": x.toolError(statusOf(4).text+mayHaveRunText, metaExecuted, executedUnknown, ""),
		} {
			if n := len(a.body) + len(frameOpening+frameClosing); n > finalRoom {
				t.Errorf("%s: %d bytes", name, n)
			}
		}
	}
}
