package mcp

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/participant"
)

// clock is a clock that a test turns.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(1_800_000_000, c.at.Load()) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

func completed(t *testing.T, r CallRate) CallRate {
	t.Helper()
	r, err := r.check()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestInFlight_letsInAsManyAsThereIsRoomFor(t *testing.T) {
	t.Parallel()
	f := &inFlight{most: 3}
	for round := range 3 {
		for i := range 5 {
			if got := f.enter(); got != (i < 3) {
				t.Fatalf("round %d, entry %d: %v", round, i, got)
			}
		}
		for range 3 {
			f.leave()
		}
	}
	if n := f.count.Load(); n != 0 {
		t.Errorf("%d are left", n)
	}
}

// Counting first and looking later would refuse some of those that come at once though there is room.
func TestInFlight_refusesNobodyWhileThereIsRoom(t *testing.T) {
	t.Parallel()
	const workers = 8
	f := &inFlight{most: workers}
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for range 5000 {
				if !f.enter() {
					t.Error("refused though there is room for all")
					return
				}
				f.leave()
			}
		})
	}
	working.Wait()
}

func TestCallers_countsEachParticipantByItself(t *testing.T) {
	t.Parallel()
	system := participant.System("a")
	scoped := participant.Organization("acme", "a")
	scoped.Roles = []string{"x"}
	rows := []struct {
		name string
		p    *participantv1.Participant
		// shares is who counts with it, of those before.
		shares int
	}{
		{"the system", system, -1},
		{"the same message", system, 0},
		{"another message that says the same", participant.System("a"), 0},
		{"another id", participant.System("b"), -1},
		{"an organization's of the same id", scoped, -1},
		{"the same with other roles", participant.Organization("acme", "a"), 4},
		{"another organization's", participant.Organization("acme-2", "a"), -1},
		{"an application's", participant.Application("acme", "a", "a"), -1},
		{"another application's", participant.Application("acme", "b", "a"), -1},
		{"where the ids run together", participant.Application("acm", "ea", "a"), -1},
		{"nobody known", participant.Anonymous(), -1},
		{"somebody else unknown", participant.Anonymous(), 10},
		{"a delegate", &participantv1.Participant{Kind: participantv1.Kind_KIND_SYSTEM, Id: "delegate:1",
			OnBehalfOf: &participantv1.OnBehalfOf{OwnerId: "a"}}, -1},
	}
	c := newCallers(1<<20, CallRate{}, time.Now)
	entered := make([]*caller, len(rows))
	for i, row := range rows {
		got, limit := c.enter(row.p)
		if limit != "" {
			t.Fatalf("%s: %s", row.name, limit)
		}
		entered[i] = got
		for j := range i {
			shared := got == entered[j]
			if want := row.shares >= 0 && (j == row.shares || entered[j] == entered[row.shares]); shared != want {
				t.Errorf("%s shares with %s: %v, want %v", row.name, rows[j].name, shared, want)
			}
		}
	}
}

func TestCallers_limitsRunningCalls(t *testing.T) {
	t.Parallel()
	c := newCallers(2, CallRate{}, time.Now)
	a, b := participant.System("a"), participant.System("b")
	first, _ := c.enter(a)
	_, _ = c.enter(a)
	for range 2 {
		if _, limit := c.enter(a); limit != lifecycle.LimitCalls {
			t.Fatalf("the third call: %q", limit)
		}
	}
	if _, limit := c.enter(b); limit != "" {
		t.Errorf("another's call: %q", limit)
	}
	first.leave()
	if _, limit := c.enter(a); limit != "" {
		t.Errorf("after one has ended: %q", limit)
	}
}

func TestCallers_limitsTheRate(t *testing.T) {
	t.Parallel()
	time := new(clock)
	c := newCallers(2, completed(t, CallRate{PerSecond: 2, Burst: 3}), time.now)
	a, b := participant.System("a"), participant.System("b")
	call := func(p *participantv1.Participant) lifecycle.Limit {
		entered, limit := c.enter(p)
		if limit == "" {
			entered.leave()
		}
		return limit
	}
	for i := range 3 {
		if limit := call(a); limit != "" {
			t.Fatalf("call %d of the burst: %s", i, limit)
		}
	}
	if limit := call(a); limit != lifecycle.LimitRate {
		t.Errorf("after the burst: %q", limit)
	}
	if limit := call(b); limit != "" {
		t.Errorf("another's call: %q", limit)
	}
	time.advance(499e6)
	if limit := call(a); limit != lifecycle.LimitRate {
		t.Errorf("a little too early: %q", limit)
	}
	time.advance(1e6)
	if limit := call(a); limit != "" {
		t.Errorf("after half a second: %q", limit)
	}
	if limit := call(a); limit != lifecycle.LimitRate {
		t.Errorf("one call was due: %q", limit)
	}
	// A call that the rate refuses does not run, and one that cannot run takes nothing of the rate.
	time.advance(1e9)
	first, _ := c.enter(a)
	second, _ := c.enter(a)
	if first == nil || second == nil {
		t.Fatal("the places of refused calls are not free")
	}
	time.advance(1e9)
	for range 10 {
		if _, limit := c.enter(a); limit != lifecycle.LimitCalls {
			t.Fatalf("%q", limit)
		}
	}
	first.leave()
	second.leave()
	for i := range 2 {
		if limit := call(a); limit != "" {
			t.Errorf("call %d: %s", i, limit)
		}
	}
}

func TestCallers_forgetsWhoDoesNothing(t *testing.T) {
	t.Parallel()
	time := new(clock)
	c := newCallers(4, completed(t, CallRate{PerSecond: 0.01, Burst: 2}), time.now)
	busy, _ := c.enter(participant.System("busy"))
	for i := range 1000 {
		entered, _ := c.enter(participant.System(strconv.Itoa(i)))
		entered.leave()
	}
	if n := c.len(); n != 1001 {
		t.Fatalf("%d are known", n)
	}
	time.advance(sweepInterval)
	_, _ = c.enter(participant.System("new"))
	if n := c.len(); n != 1002 {
		t.Errorf("%d are known, want all: their buckets are not full again", n)
	}
	time.advance(100e9) // which fills a bucket
	_, _ = c.enter(participant.System("newer"))
	if n := c.len(); n != 3 {
		t.Errorf("%d are known, want those that have calls running", n)
	}
	again, limit := c.enter(participant.System("busy"))
	if again != busy || limit != "" {
		t.Errorf("whose call runs is another now, %q", limit)
	}
	// Within the interval nobody is looked for.
	for i := range 10 {
		entered, _ := c.enter(participant.System(strconv.Itoa(i)))
		entered.leave()
	}
	if n := c.len(); n != 13 {
		t.Errorf("%d are known", n)
	}
}

// While callers are forgotten all the time, none runs more calls than it may, and all are counted to the end.
func TestCallers_countsExactlyWhileOthersAreForgotten(t *testing.T) {
	t.Parallel()
	const most = 3
	time := new(clock)
	c := newCallers(most, CallRate{}, time.now)
	var (
		working sync.WaitGroup
		running [4]atomic.Int64
	)
	for range 8 {
		working.Go(func() {
			for i := range 3000 {
				who := i % len(running)
				time.advance(sweepInterval)
				entered, limit := c.enter(participant.System(strconv.Itoa(who)))
				if limit != "" {
					continue
				}
				if n := running[who].Add(1); n > most {
					t.Errorf("%d calls run", n)
				}
				running[who].Add(-1)
				entered.leave()
			}
		})
	}
	working.Wait()
	for i := range c.buckets {
		if list := c.buckets[i].Load(); list != nil {
			for _, known := range *list {
				if n := known.running.Load(); n != 0 {
					t.Errorf("%v has %d calls running", known.is, n)
				}
			}
		}
	}
}

func TestCallers_allocatesNothingForWhoIsKnown(t *testing.T) {
	for name, r := range map[string]CallRate{"without a rate": {}, "with a rate": {PerSecond: 1e9, Burst: 1e9}} {
		c := newCallers(4, r, time.Now)
		p := participant.Application("acme", "orders", "client")
		if n := testing.AllocsPerRun(100, func() {
			entered, _ := c.enter(p)
			entered.leave()
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestCallRate_saysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, r := range []CallRate{{PerSecond: -1}, {Burst: -1}} {
		if _, err := r.check(); err == nil {
			t.Errorf("%+v is fine", r)
		}
	}
	for r, want := range map[CallRate]CallRate{
		{}:                           {Burst: 1},
		{PerSecond: 0.1}:             {PerSecond: 0.1, Burst: 1},
		{PerSecond: 2.5}:             {PerSecond: 2.5, Burst: 2},
		{PerSecond: 2.5, Burst: 100}: {PerSecond: 2.5, Burst: 100},
		{PerSecond: 1e300}:           {PerSecond: 1e300, Burst: 1<<31 - 1},
	} {
		if got, err := r.check(); err != nil || got != want {
			t.Errorf("%+v is %+v, %v, want %+v", r, got, err, want)
		}
	}
}

func BenchmarkCallers(b *testing.B) {
	for name, r := range map[string]CallRate{"calls": {}, "calls and rate": {PerSecond: 1e9, Burst: 1e9}} {
		b.Run(name, func(b *testing.B) {
			c := newCallers(1<<20, r, time.Now)
			all := make([]*participantv1.Participant, 10_000)
			for i := range all {
				all[i] = participant.Application("acme-org", "orders-app", "client-"+strconv.Itoa(i))
				entered, _ := c.enter(all[i])
				entered.leave()
			}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				entered, _ := c.enter(all[i%len(all)])
				entered.leave()
				i += 7
			}
		})
	}
}

func BenchmarkInFlight(b *testing.B) {
	f := &inFlight{most: 4096}
	for b.Loop() {
		f.enter()
		f.leave()
	}
}
