package boundary_test

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/sallyport-dev/sallyport/edge"
)

// An edge that stops says so on each connection, lets the running calls end, and takes no new ones.
func TestStop_letsTheRunningCallsOfHTTP2End(t *testing.T) {
	h := newConnectionHouse(t)
	calls := h.hold(waitMethod)
	for _, row := range secureOrNot {
		t.Run(row.name, func(t *testing.T) {
			f := h.in(t).serve(how{secure: row.secure})
			c := f.dialFrames(t, 1<<20)
			c.call(1, asked{version: version20260728, id: "1", tool: "wait"})
			call := receive(t, calls, "the call arrives")
			stopped := make(chan error, 1)
			go func() { stopped <- f.stop() }()
			for c.away == nil {
				if _, err := c.next(); err != nil {
					t.Fatalf("no farewell: %v", err)
				}
			}
			if c.away.ErrCode != http2.ErrCodeNo {
				t.Errorf("the farewell is %v", c.away.ErrCode)
			}
			call.answer <- word("in time")
			checkWord(t, c.answer(1), "1", "in time")
			if row.secure {
				_ = c.conn.Close() // one caller leaves, and the edge leaves the other
			} else {
				c.untilEnd()
			}
			if err := receive(t, stopped, "the edge stops"); err != nil {
				t.Errorf("stopped with %v", err)
			}
		})
	}
}

// An edge that stops closes the connections that nobody uses, and ends the others with the answer that is under way.
func TestStop_endsConnectionsOfHTTP1(t *testing.T) {
	h := newConnectionHouse(t)
	calls := h.hold(waitMethod)
	f := h.serve(how{})
	idle, busy := f.dial(t), f.dial(t)
	idle.write(f.onTheWire(say(version20251125, "1", "x"), h.caller))
	if a, last := idle.read(http.MethodPost); wordOf(t, a, "1") != "x" || last {
		t.Errorf("answered %s, last %v", a.body, last)
	}
	busy.write(f.onTheWire(asked{version: version20260728, id: "1", tool: "wait"}, h.caller) + f.onTheWire(say(version20251125, "2", "too late"), h.caller))
	call := receive(t, calls, "the call arrives")
	before := h.witness.count()
	stopped := make(chan error, 1)
	go func() { stopped <- f.stop() }()
	idle.end()
	call.answer <- word("in time")
	a, last := busy.read(http.MethodPost)
	checkWord(t, a, "1", "in time")
	if !last {
		t.Error("the answer does not say that the connection ends")
	}
	busy.end()
	if err := receive(t, stopped, "the edge stops"); err != nil {
		t.Errorf("stopped with %v", err)
	}
	if conn, err := net.Dial("tcp", f.host); err == nil {
		_ = conn.Close()
		t.Error("the edge takes connections still")
	}
	if got := h.witness.count(); got != before {
		t.Errorf("%d calls were made after the stop", got-before)
	}
}

// An edge does not wait for ever: what still runs when its time is over is cancelled, and whoever stops it is told.
func TestStop_cancelsWhatTakesTooLong(t *testing.T) {
	h := newConnectionHouse(t)
	for _, row := range []struct {
		name string
		dial func(t *testing.T, f *front) journey
	}{
		{"HTTP/1.1", func(t *testing.T, f *front) journey { return &lineJourney{line: f.dial(t), f: f} }},
		{"HTTP/2", func(t *testing.T, f *front) journey { return &streamJourney{frames: f.dialFrames(t, 1<<20)} }},
	} {
		t.Run(row.name, func(t *testing.T) {
			waits, climbs := h.hold(waitMethod), h.climb(1)
			f := h.in(t).serve(how{limits: edge.Limits{ShutdownTimeout: soon}})
			h.forgetLog()
			row.dial(t, f).whole(asked{version: version20251125, id: "1", tool: "wait"})
			call := receive(t, waits, "the call arrives")
			streamed := row.dial(t, f)
			streamed.whole(asked{version: version20260728, id: "1", tool: "climb", token: "1"})
			climbing := receive(t, climbs, "the call with progress arrives")
			streamed.until(`"progress":1`)
			if err := f.stop(); err == nil || !strings.Contains(err.Error(), "requests still ran after "+soon.String()) {
				t.Errorf("stopped with %v", err)
			}
			receive(t, call.ended, "the service's context ends")
			receive(t, climbing, "the context of the service with progress ends")
			f.visitors.waitGone(t, 2)
			for _, s := range h.in(t).settled() {
				if s.Outcome != "CANCELLED" || s.Class != "TRANSPORT" {
					t.Errorf("settled as %+v", s)
				}
			}
		})
	}
}
