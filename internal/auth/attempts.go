package auth

import (
	"errors"
	"fmt"
	"hash/maphash"
	"net/netip"
	"sync"
	"time"
)

// How many attempts may fail. Only failures count: a verified password that is remembered, a machine's right secret and
// a token that we signed always pass.
const (
	// Of one id: ten at once, and then one every ten seconds.
	idBurst = 10
	idEvery = 10 * time.Second
	// From one address, or one /64 of IPv6, behind which there may be many callers: fifty at once, and then one a second.
	addressBurst = 50
	addressEvery = time.Second
	// From one /48 of IPv6, which a single customer may have been given, and has 65,536 of those: ten times as many.
	siteBurst = 10 * addressBurst
	siteEvery = addressEvery / 10

	// budgets is how many budgets there are for ids, for addresses and for sites.
	budgets = 8192
)

// attempts counts failed attempts in three tables of fixed size. Ids and addresses find their budgets by a hash with a
// random seed, and some share one: someone may have to wait for another's failures, by chance and until one more attempt
// is free, but nobody can aim, and no number of ids or addresses costs memory. To make all of the ids wait takes some
// 80,000 failures at once, which no few addresses are granted, and no few sites.
type attempts struct {
	seed maphash.Seed
	// start is when the counting began. The clocks of the budgets begin there.
	start                 time.Time
	ids, addresses, sites [budgets]budget
}

func newAttempts(now time.Time) *attempts { return &attempts{seed: maphash.MakeSeed(), start: now} }

// budget says how many attempts are free. However many are made at once, one that is refused takes nothing, and one that
// succeeds gives back all that it took. A clock that is set back takes nothing.
type budget struct {
	mu sync.Mutex
	// owed is how long it takes until all attempts are free, from at on.
	owed, at time.Duration
}

// take takes one attempt of a burst, or says after how long one will be free, where there is none.
func (b *budget) take(now, every time.Duration, burst int) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now > b.at { // of those who ask at once, one may have looked at the clock before another
		b.owed, b.at = max(0, b.owed-(now-b.at)), now
	}
	if wait = b.owed + every - time.Duration(burst)*every; wait > 0 {
		return wait
	}
	b.owed += every
	return 0
}

func (b *budget) give(every time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owed = max(0, b.owed-every)
}

// attempt is one that has begun, and counts as failed until it succeeds.
type attempt struct {
	// taken are the budgets that it took from, each with how long one of its attempts takes to be free again.
	taken [3]struct {
		budget *budget
		every  time.Duration
	}
	count int
}

// take takes from one more budget, or gives back what the attempt took from others.
func (t *attempt) take(b *budget, now, every time.Duration, burst int) error {
	if wait := b.take(now, every, burst); wait > 0 {
		t.succeed()
		return &attemptsError{wait}
	}
	t.taken[t.count].budget, t.taken[t.count].every = b, every
	t.count++
	return nil
}

// succeed gives back what the attempt took.
func (t *attempt) succeed() {
	for _, of := range t.taken[:t.count] {
		of.budget.give(of.every)
	}
}

// attemptsError is ErrTooManyAttempts and for how long to wait.
type attemptsError struct{ wait time.Duration }

func (e *attemptsError) Error() string        { return fmt.Sprintf("%v: wait %v", ErrTooManyAttempts, e.wait) }
func (e *attemptsError) Is(target error) bool { return target == ErrTooManyAttempts }

// RetryAfter says for how long to wait before the next attempt, in whole seconds and at least one, where an error is
// ErrTooManyAttempts.
func RetryAfter(err error) time.Duration {
	var e *attemptsError
	if !errors.As(err, &e) {
		return time.Second
	}
	return max(time.Second, (e.wait + time.Second - 1).Truncate(time.Second))
}

// begin takes an attempt from all budgets. It fails, and takes nothing, where one of them is exhausted. An id may be
// empty: then only the address counts.
func (a *attempts) begin(now time.Time, id string, address netip.Addr) (*attempt, error) {
	since, t := now.Sub(a.start), new(attempt)
	address = normal(address)
	if err := t.take(a.of(&a.addresses, network(address, 64)), since, addressEvery, addressBurst); err != nil {
		return nil, err
	}
	if address.Is6() {
		if err := t.take(a.of(&a.sites, network(address, 48)), since, siteEvery, siteBurst); err != nil {
			return nil, err
		}
	}
	if id != "" {
		if err := t.take(a.of(&a.ids, id), since, idEvery, idBurst); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// fail counts an attempt that was free to make, and says what it is answered with.
func (a *attempts) fail(now time.Time, id string, address netip.Addr) error {
	if _, err := a.begin(now, id, address); err != nil {
		return err
	}
	return ErrUnauthenticated
}

// of gives the budget of an id or an address.
func (a *attempts) of(table *[budgets]budget, key string) *budget {
	return &table[maphash.String(a.seed, key)%budgets]
}

// network is what counts as one address: all of IPv4, and of IPv6 as many bits as what one household or machine, or one
// site, usually has.
func network(address netip.Addr, bits int) string {
	if address.Is6() {
		if prefix, err := address.Prefix(bits); err == nil {
			address = prefix.Addr()
		}
	}
	return address.String()
}
