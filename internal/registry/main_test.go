package registry

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds what a test waits for; nothing here takes long, but machines may be slow.
const patience = time.Minute

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// views collects what a watcher publishes.
type views struct {
	t  *testing.T
	ch chan *View
}

// watch starts a watcher whose every view lands in the result.
func watch(t *testing.T, s *Store, o WatchOptions) (*Watcher, *views) {
	t.Helper()
	v := &views{t: t, ch: make(chan *View, 1000)}
	o.OnChange = func(view *View) { v.ch <- view }
	w := s.Watch(context.Background(), o)
	t.Cleanup(w.Close)
	return w, v
}

// until waits for a view that satisfies, and checks every view on the way.
func (v *views) until(what string, satisfies func(*View) bool) *View {
	v.t.Helper()
	give := time.After(patience)
	for {
		select {
		case view := <-v.ch:
			if satisfies(view) {
				return view
			}
		case <-give:
			v.t.Fatalf("no view in which %s", what)
		}
	}
}
