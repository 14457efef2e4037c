package dispatch

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// settling is for how long a call does not look whether its caller has left. Most calls are over before, and never have
// to be entered in the caller's context and taken out again.
const settling = 10 * time.Millisecond

// callContext is the context of a call: it ends at the call's deadline, and within [settling] of its parent's end. It
// does for a call what [context.WithDeadline] does, with half of the memory: its timer is used again, and what depends
// on it is entered in a slot of its own.
//
// Whoever makes one releases it, which ends it. It is safe for concurrent use.
type callContext struct {
	context.Context // the parent
	deadline        time.Time

	mu    sync.Mutex
	err   error         // nil until it ends
	done  chan struct{} // nil until somebody asks for it
	alarm *alarm        // nil once it is released
	// unwatch takes the call out of its parent's context; nil while it is not entered there.
	unwatch func() bool
	// dependent is told of the end. gRPC makes one context of this one for each attempt, so that more than one at once is
	// rare.
	dependent *dependent
}

// dependent is what somebody wants to be done when the call ends.
type dependent struct {
	tell func()
	next *dependent
}

// alarm is a timer that calls use one after the other.
type alarm struct {
	timer *time.Timer
	call  atomic.Pointer[callContext]
}

var alarms = sync.Pool{New: func() any {
	a := &alarm{}
	a.timer = time.AfterFunc(time.Hour, func() {
		if c := a.call.Load(); c != nil {
			c.ring(a)
		}
	})
	a.timer.Stop()
	return a
}}

func newCallContext(parent context.Context, timeout time.Duration) *callContext {
	now := time.Now()
	c := &callContext{Context: parent, deadline: now.Add(timeout)}
	if earlier, ok := parent.Deadline(); ok && earlier.Before(c.deadline) {
		c.deadline, timeout = earlier, earlier.Sub(now)
	}
	if c.err = parent.Err(); c.err != nil {
		return c
	}
	c.alarm = alarms.Get().(*alarm)
	c.alarm.call.Store(c)
	c.alarm.timer.Reset(min(settling, timeout))
	return c
}

// ring is called when the alarm goes off: first when the call has lasted a while, then at its deadline.
func (c *callContext) ring(a *alarm) {
	c.mu.Lock()
	if c.alarm != a || c.err != nil { // it is over, and the alarm may be another's
		c.mu.Unlock()
		return
	}
	left := time.Until(c.deadline)
	if left > 0 {
		if c.unwatch == nil {
			c.unwatch = context.AfterFunc(c.Context, func() { c.end(c.Context.Err()) })
		}
		a.timer.Reset(left)
	}
	c.mu.Unlock()
	if left <= 0 {
		c.end(context.DeadlineExceeded)
	}
}

// release ends the context where it has not ended, and gives back what it holds.
func (c *callContext) release() {
	c.mu.Lock()
	a, unwatch := c.alarm, c.unwatch
	c.alarm, c.unwatch = nil, nil
	c.mu.Unlock()
	if a != nil && a.timer.Stop() { // one that goes off at this moment is used by nobody any more
		a.call.Store(nil)
		alarms.Put(a)
	}
	if unwatch != nil {
		unwatch()
	}
	c.end(context.Canceled)
}

func (c *callContext) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	first := c.dependent
	c.dependent = nil
	c.mu.Unlock()
	for d := first; d != nil; d = d.next {
		d.tell()
	}
}

// Deadline is the call's, or the parent's if that is earlier.
func (c *callContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Err is nil until the context has ended.
func (c *callContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Done is closed when the context ends.
func (c *callContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// AfterFunc is how package context enters the contexts that are made of this one: tell is called once the context has
// ended, unless what is returned is called before, which then says true.
func (c *callContext) AfterFunc(tell func()) (stop func() bool) {
	d := &dependent{tell: tell}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go tell() // whoever enters something may hold a lock that tell takes
		return func() bool { return false }
	}
	d.next, c.dependent = c.dependent, d
	return func() bool { return c.remove(d) }
}

func (c *callContext) remove(d *dependent) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := &c.dependent; *at != nil; at = &(*at).next {
		if *at == d {
			*at = d.next
			return true
		}
	}
	return false
}

// attemptContext is the context of one attempt: it ends with the call's, and carries our metadata and no other.
type attemptContext struct {
	*callContext
	outgoing context.Context
}

func (c *attemptContext) Value(key any) any {
	if v := c.outgoing.Value(key); v != nil {
		return v
	}
	return c.callContext.Value(key)
}
