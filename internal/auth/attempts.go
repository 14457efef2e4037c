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

	// budgets is how many budgets there are for ids, and for addresses.
	budgets = 8192
)

// attempts counts failed attempts in two tables of fixed size. Ids and addresses find their budget by a hash with a
// random seed, and some share one: someone may have to wait for another's failures, by chance and until one more attempt
// is free, but nobody can aim, and no number of ids or addresses costs memory. To make all of the ids wait takes some
// 80,000 failures at once, which no few addresses are granted.
type attempts struct {
	seed maphash.Seed
	// start is when the counting began. The clocks of the budgets begin there.
	start          time.Time
	ids, addresses [budgets]budget
}

func newAttempts(now time.Time) *attempts { return &attempts{seed: maphash.MakeSeed(), start: now} }

// budget says how many attempts are free. However many are made at once, one that is refused takes nothing, and one that
// succeeds gives back all that it took. A clock that is set back costs nobody anything.
type budget struct {
	mu sync.Mutex
	// owed is how long it takes until all attempts are free, from at on.
	owed, at time.Duration
}

// take takes one attempt of a burst, or says after how long one will be free, where there is none.
func (b *budget) take(now, every time.Duration, burst int) (wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.owed = max(0, b.owed-max(0, now-b.at))
	b.at = now
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
	address *budget
	id      *budget // nil where there is no id
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

// begin takes an attempt from both budgets. It fails, and takes nothing, where one of them is exhausted. An id may be
// empty: then only the address counts.
func (a *attempts) begin(now time.Time, id string, address netip.Addr) (*attempt, error) {
	since := now.Sub(a.start)
	t := &attempt{address: a.of(&a.addresses, network(address))}
	if wait := t.address.take(since, addressEvery, addressBurst); wait > 0 {
		return nil, &attemptsError{wait}
	}
	if id == "" {
		return t, nil
	}
	of := a.of(&a.ids, id)
	if wait := of.take(since, idEvery, idBurst); wait > 0 {
		t.succeed()
		return nil, &attemptsError{wait}
	}
	t.id = of
	return t, nil
}

// fail counts an attempt that was free to make, and says what it is answered with.
func (a *attempts) fail(now time.Time, id string, address netip.Addr) error {
	if _, err := a.begin(now, id, address); err != nil {
		return err
	}
	return ErrUnauthenticated
}

// succeed gives back what the attempt took.
func (t *attempt) succeed() {
	t.address.give(addressEvery)
	if t.id != nil {
		t.id.give(idEvery)
	}
}

// of gives the budget of an id or an address.
func (a *attempts) of(table *[budgets]budget, key string) *budget {
	return &table[maphash.String(a.seed, key)%budgets]
}

// network is what counts as one address: all of IPv4, and of IPv6 what one household or machine usually has.
func network(address netip.Addr) string {
	address = address.Unmap().WithZone("")
	if address.Is6() {
		if prefix, err := address.Prefix(64); err == nil {
			address = prefix.Addr()
		}
	}
	return address.String()
}
