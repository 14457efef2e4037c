package mcp

import (
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

// CallRate is how often one participant may call: a bucket of tokens that fills at a rate.
type CallRate struct {
	// PerSecond is how many calls a second on average; 0 means as many as one likes.
	PerSecond float64
	// Burst is how many calls may come at once; 0 means as many as come in a second, at least one.
	Burst int
}

// check completes the rate, or says what is wrong with it.
func (r CallRate) check() (CallRate, error) {
	if r.PerSecond < 0 || math.IsNaN(r.PerSecond) || math.IsInf(r.PerSecond, 0) || r.Burst < 0 {
		return r, fmt.Errorf("mcp: CallRate is %v: want 0 or a positive number of calls a second, and a burst of at least 0", r)
	}
	if r.Burst == 0 {
		r.Burst = max(1, int(min(r.PerSecond, math.MaxInt32)))
	}
	return r, nil
}

// wait is after how many seconds one more call is sure to be allowed to who has made none since.
func (r CallRate) wait() int { return int(min(math.Ceil(1/r.PerSecond), math.MaxInt32)) }

// callers counts the running calls of each participant, and how often it calls. A participant is its kind and ids, not
// the message that says so; all callers without credentials are one.
//
// For a participant that is known it takes no lock, but the one within a rate limiter where there is a rate, and
// allocates nothing. What it knows is bounded by the identities that have called: one that has nothing running and
// nothing to wait for is forgotten when others come, a minute later at the earliest.
type callers struct {
	most int64
	rate CallRate
	now  func() time.Time

	seed maphash.Seed
	// buckets are lists of callers by a hash of what they are. A list is never changed: another takes its place.
	buckets [callerBuckets]atomic.Pointer[[]*caller]

	mu    sync.Mutex // held by who changes lists
	swept time.Time
}

const (
	// callerBuckets is enough that 10,000 participants stand in lists of two or three.
	callerBuckets = 1 << 12
	// sweepInterval is the shortest time between two looks for callers that can be forgotten.
	sweepInterval = time.Minute
)

// caller is one participant.
type caller struct {
	is identity
	// running is how many calls run, or forgotten.
	running atomic.Int64
	// rate is nil where there is none.
	rate *rate.Limiter
}

// identity is what makes a participant this one and no other.
type identity struct {
	kind                          participantv1.Kind
	organization, application, id string
}

// forgotten takes the place of a number of calls once a caller is taken out of its list, so that nobody counts there.
const forgotten = -1

func newCallers(most int, r CallRate, now func() time.Time) *callers {
	return &callers{most: int64(most), rate: r, now: now, seed: maphash.MakeSeed()}
}

// enter counts one more call of a participant, which leaves when it has ended; or gives the limit that refuses it.
func (c *callers) enter(p *participantv1.Participant) (*caller, lifecycle.Limit) {
	who := identity{p.GetKind(), p.GetOrganizationId(), p.GetApplicationId(), p.GetId()}
	bucket := c.bucket(who)
	known := lookUp(bucket, who)
	for {
		if known == nil {
			known = c.meet(bucket, who)
		}
		n := known.running.Load()
		if n == forgotten {
			known = nil
			continue
		}
		if n >= c.most {
			return nil, lifecycle.LimitCalls
		}
		if known.running.CompareAndSwap(n, n+1) {
			break
		}
	}
	if known.rate != nil && !known.rate.AllowN(c.now(), 1) {
		known.leave()
		return nil, lifecycle.LimitRate
	}
	return known, ""
}

func (c *caller) leave() { c.running.Add(-1) }

func (c *callers) bucket(who identity) *atomic.Pointer[[]*caller] {
	hash := maphash.String(c.seed, who.id)
	hash = hash*31 + maphash.String(c.seed, who.organization)
	hash = hash*31 + maphash.String(c.seed, who.application)
	return &c.buckets[hash%callerBuckets]
}

// lookUp finds a caller in a list, forgotten or not, or gives nil.
func lookUp(bucket *atomic.Pointer[[]*caller], who identity) *caller {
	if list := bucket.Load(); list != nil {
		for _, c := range *list {
			if c.is == who {
				return c
			}
		}
	}
	return nil
}

// meet gives a caller that was not in its list a moment ago. Whoever was forgotten meanwhile is not there any more.
func (c *callers) meet(bucket *atomic.Pointer[[]*caller], who identity) *caller {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); now.Sub(c.swept) >= sweepInterval {
		c.swept = now
		c.sweep(now)
	}
	if known := lookUp(bucket, who); known != nil {
		return known
	}
	met := &caller{is: who}
	if c.rate.PerSecond > 0 {
		met.rate = rate.NewLimiter(rate.Limit(c.rate.PerSecond), c.rate.Burst)
	}
	var list []*caller
	if old := bucket.Load(); old != nil {
		list = *old
	}
	list = append(slices.Clip(slices.Clone(list)), met)
	bucket.Store(&list)
	return met
}

// sweep forgets who has nothing running, and of whose calls nothing is to be remembered. Who sweeps holds mu.
func (c *callers) sweep(now time.Time) {
	for i := range c.buckets {
		bucket := &c.buckets[i]
		list := bucket.Load()
		if list == nil || !slices.ContainsFunc(*list, func(c *caller) bool { return c.running.Load() == 0 }) {
			continue
		}
		rest := make([]*caller, 0, len(*list))
		for _, known := range *list {
			if !known.forget(now) {
				rest = append(rest, known)
			}
		}
		if len(rest) == 0 {
			bucket.Store(nil)
		} else {
			bucket.Store(&rest)
		}
	}
}

// forget takes a caller out of use where nothing would be lost with it. Nobody counts with it while it is looked at:
// who would waits in meet.
func (c *caller) forget(now time.Time) bool {
	if !c.running.CompareAndSwap(0, forgotten) {
		return false
	}
	if c.rate == nil || c.rate.TokensAt(now) >= float64(c.rate.Burst()) {
		return true
	}
	c.running.Store(0)
	return false
}

// len is how many callers are known.
func (c *callers) len() (n int) {
	for i := range c.buckets {
		if list := c.buckets[i].Load(); list != nil {
			n += len(*list)
		}
	}
	return n
}
