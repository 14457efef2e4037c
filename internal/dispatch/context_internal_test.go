package dispatch

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

type key struct{}

// ended waits for the end of a context, which must come, and gives its error.
func ended(t *testing.T, ctx context.Context) error {
	t.Helper()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Minute):
		t.Fatal("the context does not end")
		return nil
	}
}

func TestCallContext_ends(t *testing.T) {
	t.Parallel()
	cause := errors.New("the caller left")
	tests := []struct {
		name string
		// timeout is the call's, and end what happens to it.
		timeout time.Duration
		end     func(c *callContext, leave context.CancelCauseFunc)
		want    error
		cause   error
	}{
		{"at a deadline before it has settled", settling / 5, func(*callContext, context.CancelCauseFunc) {}, context.DeadlineExceeded, context.DeadlineExceeded},
		{"at a deadline after it has settled", 3 * settling, func(*callContext, context.CancelCauseFunc) {}, context.DeadlineExceeded, context.DeadlineExceeded},
		{"at a deadline that has passed", -time.Second, func(*callContext, context.CancelCauseFunc) {}, context.DeadlineExceeded, context.DeadlineExceeded},
		{"when its caller leaves at once", time.Hour, func(_ *callContext, leave context.CancelCauseFunc) { leave(cause) }, context.Canceled, cause},
		{"when its caller leaves later", time.Hour, func(c *callContext, leave context.CancelCauseFunc) {
			settled(c)
			leave(cause)
		}, context.Canceled, cause},
		{"when it is released", time.Hour, func(c *callContext, _ context.CancelCauseFunc) { c.release() }, context.Canceled, context.Canceled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			parent, leave := context.WithCancelCause(context.WithValue(context.Background(), key{}, "value"))
			defer leave(nil)
			c := newCallContext(parent, test.timeout)
			defer c.release()
			child, cancel := context.WithCancel(c)
			defer cancel()
			grandchild := context.WithValue(child, key{}, c.Value(key{}))
			test.end(c, leave)
			for name, ctx := range map[string]context.Context{"the call": c, "what depends on it": child, "what depends on that": grandchild} {
				if err := ended(t, ctx); err != test.want {
					t.Errorf("%s ended with %v, want %v", name, err, test.want)
				}
				if got := context.Cause(ctx); got != test.cause {
					t.Errorf("%s ended because of %v, want %v", name, got, test.cause)
				}
			}
			late, cancel := context.WithCancel(c)
			defer cancel()
			if err := ended(t, late); err != test.want {
				t.Errorf("what was made of it after its end ended with %v, want %v", err, test.want)
			}
			if grandchild.Value(key{}) != "value" {
				t.Error("the parent's values are not its own")
			}
		})
	}
}

// settled waits until the call's alarm has rung for the first time.
func settled(c *callContext) {
	for c.watched() == nil {
		time.Sleep(time.Millisecond)
	}
}

// watched is how the call is entered in its parent's context.
func (c *callContext) watched() func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unwatch
}

func TestCallContext_ofACallerWhoHasLeft(t *testing.T) {
	t.Parallel()
	parent, leave := context.WithCancel(context.Background())
	leave()
	c := newCallContext(parent, time.Hour)
	if err := ended(t, c); err != context.Canceled {
		t.Errorf("ended with %v", err)
	}
	c.release()
}

func TestCallContext_deadline(t *testing.T) {
	t.Parallel()
	parent, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sooner, _ := parent.Deadline()
	c := newCallContext(parent, time.Hour)
	defer c.release()
	if at, ok := c.Deadline(); !ok || !at.Equal(sooner) {
		t.Errorf("the deadline is %v, want the parent's, %v", at, sooner)
	}
	before := time.Now().Add(time.Second)
	own := newCallContext(parent, time.Second)
	defer own.release()
	if at, ok := own.Deadline(); !ok || at.Before(before) || !at.Before(sooner) {
		t.Errorf("the deadline is %v, want a second from now", at)
	}
}

func TestCallContext_tellsWhoDependsOnIt(t *testing.T) {
	t.Parallel()
	c := newCallContext(context.Background(), time.Hour)
	var told []string
	stop := map[string]func() bool{}
	for _, name := range []string{"a", "b", "c"} {
		stop[name] = c.AfterFunc(func() { told = append(told, name) })
	}
	if !stop["b"]() || stop["b"]() {
		t.Error("what is taken out once is not taken out just once")
	}
	c.release()
	if stop["a"]() || stop["c"]() {
		t.Error("what was told is taken out afterwards")
	}
	if len(told) != 2 || told[0] == told[1] || told[0] == "b" || told[1] == "b" {
		t.Errorf("told %v, want a and c", told)
	}
	late := make(chan struct{})
	if c.AfterFunc(func() { close(late) })() {
		t.Error("what comes after the end is taken out")
	}
	<-late
}

// Alarms go from call to call. A call that is over must never end by one, and none may end by another's.
func TestCallContext_hasItsAlarmForItself(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 300 {
				short := i%3 == 0
				timeout := time.Hour
				if short {
					timeout = time.Duration(i%7) * settling / 8
				}
				c := newCallContext(context.Background(), timeout)
				child, cancel := context.WithCancel(c)
				switch {
				case short:
					if err := ended(t, child); err != context.DeadlineExceeded {
						t.Errorf("a short call ended with %v", err)
					}
				case i%50 == 1:
					settled(c)
					fallthrough
				default:
					if err := errors.Join(c.Err(), child.Err()); err != nil {
						t.Errorf("a long call ended with %v", err)
					}
				}
				c.release()
				if err := child.Err(); err == nil {
					t.Error("what depends on a call outlives it")
				}
				cancel()
			}
		})
	}
	all.Wait()
}
