package ingress_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/test/stack"
)

// waiting is a call at the depot that goes on until the test lets it end, or its caller is gone.
type waiting struct {
	arrived chan struct{}
	proceed chan struct{}
	ended   chan error
}

// hold makes calls of Wait stay, and returns the next one.
func (h *house) hold() *waiting {
	w := &waiting{arrived: make(chan struct{}, 8), proceed: make(chan struct{}), ended: make(chan error, 8)}
	h.depot.on("Wait", func(c *call) error {
		w.arrived <- struct{}{}
		select {
		case <-w.proceed:
			return c.answer("done")
		case <-c.ctx.Done():
			w.ended <- c.ctx.Err()
			return c.ctx.Err()
		}
	})
	return w
}

// await fails the test unless something comes.
func await[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case v := <-from:
		return v
	case <-limit.C:
		t.Fatalf("%s: not within %v", what, patience)
		panic("unreachable")
	}
}

// give fails the test unless somebody takes.
func give(t testing.TB, what string, to chan<- struct{}) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case to <- struct{}{}:
	case <-limit.C:
		t.Fatalf("%s: not within %v", what, patience)
	}
}

// awaitCancellation fails the test unless a call's context ends at the service, and not by a deadline.
func awaitCancellation(t testing.TB, ended <-chan error) {
	t.Helper()
	if err := await(t, "the end of the call at the service", ended); !errors.Is(err, context.Canceled) {
		t.Errorf("the call's context ended with %v", err)
	}
}

// outcome is what became of a request that another goroutine sends.
type outcome struct {
	reply reply
	err   error
}

// send posts in another goroutine.
func (c *client) send(body string, edits ...func(*http.Request)) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		got, err := c.try(body, edits...)
		done <- outcome{got, err}
	}()
	return done
}

func TestIngress_passesOnThatAClientLeft(t *testing.T) {
	h := newHouse(t)
	n := startNginx(t, []*edge{h.startEdge()})
	for _, version := range versions {
		t.Run(version.name, func(t *testing.T) {
			t.Run("while a call runs", func(t *testing.T) {
				w := h.hold()
				c := h.client(t, n, version.http2)
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				done := c.send(h.callBody("1", "Wait", "{}"), func(r *http.Request) { *r = *r.WithContext(ctx) })
				await(t, "the call at the service", w.arrived)
				leave()
				awaitCancellation(t, w.ended)
				if got := await(t, "the end of the request", done); got.err == nil {
					t.Errorf("a request that was given up was answered: %d %s", got.reply.status, got.reply.body)
				}
				// Others on the same connection are not touched.
				h.depot.on("Echo", echo)
				if got := c.post(h.callBody("2", "Echo", `{"text":"on"}`)).text(t); got != "on" {
					t.Errorf("the next call gave %q", got)
				}
			})
			t.Run("in the middle of progress", func(t *testing.T) {
				ended := make(chan error, 1)
				h.depot.on("Watch", func(c *call) error {
					if err := c.progress(&toolv1.Progress{Progress: 1}); err != nil {
						return err
					}
					<-c.ctx.Done()
					ended <- c.ctx.Err()
					return c.ctx.Err()
				})
				f := h.client(t, n, version.http2).watch(h.watchBody("1", `"t"`))
				if frame := f.next(); !strings.Contains(frame, `"progress":1`) {
					t.Errorf("the first frame is %s", frame)
				}
				f.cancel()
				awaitCancellation(t, ended)
			})
		})
	}
}

// Calls that are silent for longer than nginx waits end with an error that says so, and those that show progress do
// not: the one ends while the other runs.
func TestIngress_endsCallsThatAreSilentForTooLong(t *testing.T) {
	h := newHouse(t)
	n := startNginx(t, []*edge{h.startEdge(), h.startEdge()}, change{"proxy_read_timeout 315s", "proxy_read_timeout 5s"})
	w := h.hold()
	finish := make(chan struct{})
	h.depot.on("Watch", func(c *call) error {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for n := 1.0; ; n++ {
			if err := c.progress(&toolv1.Progress{Progress: n}); err != nil {
				return err
			}
			select {
			case <-tick.C:
			case <-finish:
				return c.result("done")
			case <-c.ctx.Done():
				return c.ctx.Err()
			}
		}
	})
	c := h.client(t, n, true)
	f := c.watch(h.watchBody("1", "7"))
	f.next()
	// From here on the stream runs for longer than nginx waits.
	silent := c.post(h.callBody("2", "Wait", "{}"))
	silent.refused(t, http.StatusGatewayTimeout, refusalTimeout)
	awaitCancellation(t, w.ended)
	close(finish)
	last := f.next()
	for strings.Contains(last, "notifications/progress") {
		last = f.next()
	}
	if !strings.HasPrefix(last, `{"jsonrpc":"2.0","id":1,"result":{`) || !strings.Contains(last, "done") {
		t.Errorf("the stream ended with %s", last)
	}
	f.end()
	if calls := h.depot.count("Wait"); calls != 1 {
		t.Errorf("the call that took too long was sent %d times", calls)
	}
}

func TestIngress_goesOnWhenAnEdgeIsStartedAgain(t *testing.T) {
	h := newHouse(t)
	e := h.startEdge()
	n := startNginx(t, []*edge{e})
	h.depot.on("Echo", echo)
	body := h.callBody("1", "Echo", `{"text":"here"}`)
	clients := make([]*client, len(versions))
	for i, version := range versions {
		clients[i] = h.client(t, n, version.http2)
	}
	for _, row := range []struct {
		name string
		stop func()
	}{
		{"after SIGTERM", func() {
			if err := e.process.Interrupt(); err != nil {
				t.Errorf("the edge stopped with %v", err)
			}
		}},
		{"after SIGKILL", func() { e.process.Kill() }},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, c := range clients {
				if got := c.in(t).post(body).text(t); got != "here" {
					t.Errorf("before: %q", got)
				}
			}
			row.stop()
			for _, c := range clients {
				c.in(t).post(body).refused(t, http.StatusBadGateway, refusalUnreachable)
			}
			e.start()
			for _, c := range clients {
				if got := c.in(t).post(body).text(t); got != "here" {
					t.Errorf("after: %q", got)
				}
			}
		})
	}
}

// A request that never left goes to another edge; one that left is never sent again.
func TestIngress_sendsNoCallTwice(t *testing.T) {
	h := newHouse(t)
	first, second := h.startEdge(), h.startEdge()
	n := startNginx(t, []*edge{first, second})
	c := h.client(t, n, false)
	h.depot.on("Echo", echo)

	t.Run("an edge dies under a call", func(t *testing.T) {
		w := h.hold()
		body := h.callBody("1", "Wait", "{}")
		// Both edges have a call, since nginx takes them in turn; which has which does not matter.
		one, two := h.client(t, n, false).send(body), h.client(t, n, true).send(body)
		await(t, "the first call at the service", w.arrived)
		await(t, "the second call at the service", w.arrived)
		first.process.Kill()
		second.process.Kill()
		for _, done := range []<-chan outcome{one, two} {
			got := await(t, "the answer", done)
			if got.err != nil {
				t.Fatal(got.err)
			}
			got.reply.refused(t, http.StatusBadGateway, refusalBroken)
		}
		awaitCancellation(t, w.ended)
		awaitCancellation(t, w.ended)
		if calls := h.depot.count("Wait"); calls != 2 {
			t.Errorf("two calls were sent %d times", calls)
		}
	})
	t.Run("an edge is away", func(t *testing.T) {
		second.start()
		stack.Eventually(t, "nginx finds the second edge", func() bool {
			return c.in(t).post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`).status == http.StatusOK
		})
		before := h.depot.count("Echo")
		const calls = 6 // in turn, so that half of them would go to the edge that is away
		for range calls {
			if got := c.in(t).post(h.callBody("1", "Echo", `{"text":"here"}`)).text(t); got != "here" {
				t.Errorf("got %q", got)
			}
		}
		if got := h.depot.count("Echo") - before; got != calls {
			t.Errorf("%d calls were sent %d times", calls, got)
		}
	})
}
