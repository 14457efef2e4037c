package boundary_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	// growthRequests is how many hostile requests are made, and growthRound after how many of them the heap is looked
	// at and the log read and forgotten.
	growthRequests = 100_000
	growthRound    = 5_000
	// growthCallers are the connections that are kept alive.
	growthCallers = 6
	// growthHeap is how much larger than after the first round the heap in use may be after the last: what pools, timers
	// and connection tables may differ by. Eleven bytes leaked by each request would be more.
	growthHeap = 1 << 20
)

// A hundred thousand hostile requests leave nothing behind: no goroutine, and no memory.
func TestHostile_nothingGrows(t *testing.T) {
	y := newYard(t)
	type shot struct {
		p       *payload
		version string
	}
	var shots []shot
	for i := range corpus() {
		p := &corpus()[i]
		runs := p.runs()
		if len(p.render(y.sender(""))) > 64<<10 {
			runs = runs[:1] // most of the time would go into copying these
		}
		for _, version := range runs {
			shots = append(shots, shot{p, version})
		}
	}
	leakFinder()

	callers := make([]*caller, growthCallers)
	for i := range callers {
		callers[i] = &caller{host: y.host}
	}
	hangUp := func() {
		for _, c := range callers {
			c.close()
		}
	}
	defer hangUp()

	// Plans are compiled at the first call, connections to the service made: that is no growth.
	for i := range shots {
		if p := shots[i].p; p.Want.Call != noCall {
			if _, err := callers[0].send(p, p.render(y.sender(shots[i].version))); err != nil {
				t.Fatalf("%s: %v", p.title(), err)
			}
		}
	}
	hangUp()
	sound := payload{Body: text(toolCall("judge", `{"note":"x"}`)), Want: reached()}
	goroutines := settledGoroutines(t, y, 0)

	var next, unexpected atomic.Int64
	fire := func(c *caller, n int64) {
		s := shots[n%int64(len(shots))]
		got, err := c.send(s.p, s.p.render(y.sender(s.version)))
		w := s.p.wanted(s.version)
		switch {
		case err != nil:
			t.Errorf("request %d, %s: %v", n, s.p.title(), err)
		case got.status != w.Status && !(w.Status == http.StatusUnauthorized && got.status == http.StatusTooManyRequests): // of one id, there are many here
			t.Errorf("request %d, %s: status %d, want %d", n, s.p.title(), got.status, w.Status)
		default:
			if piece, whose := leakFinder().find(s.p.withoutTheEchoed(w, got)); piece != "" {
				t.Errorf("request %d, %s: the answer has %q of %s", n, s.p.title(), piece, whose)
				break
			}
			return
		}
		unexpected.Add(1)
	}
	round := func(until int64) {
		var crew sync.WaitGroup
		for _, c := range callers {
			crew.Go(func() {
				for unexpected.Load() < 20 {
					n := next.Add(1) - 1
					if n >= until {
						return
					}
					fire(c, n)
				}
			})
		}
		crew.Wait()
		next.Store(until)
		// The last large request is still in some hand: a small one takes its place.
		for _, c := range callers {
			if _, err := c.send(&sound, sound.render(y.sender(""))); err != nil {
				t.Errorf("a sound request: %v", err)
			}
		}
		log := y.log()
		if piece, whose := leakFinder().find([]byte(log)); piece != "" {
			t.Errorf("the log has %q of %s: %s", piece, whose, lineWith(log, piece))
		}
		if lines := strings.Count(log, "\n"); lines < growthRound/2 {
			t.Errorf("%d log lines for %d requests: whatever the log is checked for, it is not there", lines, growthRound)
		}
		y.forgetLog()
	}
	var first, last uint64
	var heaps []string
	for done := int64(growthRound); done <= growthRequests && !t.Failed(); done += growthRound {
		round(done)
		last = heapInUse()
		if first == 0 {
			first = last
		}
		heaps = append(heaps, fmt.Sprintf("%.1f", float64(last)/(1<<20)))
	}
	hangUp()
	after := settledGoroutines(t, y, goroutines)
	t.Logf("%d requests of %d kinds; goroutines %d before, %d after; heap in MiB after each %d: %s", next.Load(), len(shots), goroutines, after,
		growthRound, strings.Join(heaps, " "))
	if after > goroutines {
		stacks := make([]byte, 1<<20)
		t.Errorf("%d goroutines, %d before:\n%s", after, goroutines, stacks[:runtime.Stack(stacks, true)])
	}
	if last > first+growthHeap {
		t.Errorf("the heap grew from %d to %d bytes", first, last)
	}
}

// heapInUse is the size of what is reachable.
func heapInUse() uint64 {
	var m runtime.MemStats
	// What a pool dropped in the first collection goes in the second.
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// settledGoroutines is how many goroutines there are once the edge has noticed that every caller hung up; with a bound it
// waits until there are no more than that. The server lingers half a second over connections that it closed itself.
func settledGoroutines(t *testing.T, y *yard, bound int) int {
	t.Helper()
	y.inFlight.wait()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	least, same := runtime.NumGoroutine(), 0
	for {
		select {
		case <-tick.C:
		case <-limit.C:
			return least
		}
		now := runtime.NumGoroutine()
		switch {
		case bound > 0 && now <= bound:
			return now
		case now < least:
			least, same = now, 0
		case bound == 0:
			// Twelve looks without one less: longer than the server lingers.
			if same++; same == 12 {
				return least
			}
		}
	}
}
