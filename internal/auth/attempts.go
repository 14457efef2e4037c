package auth

import (
	"errors"
	"fmt"
	"hash/maphash"
	"net/netip"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
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

	// limiters is how many limiters there are for ids, and for addresses.
	limiters = 8192
)

// attempts counts failed attempts in two tables of fixed size. Ids and addresses find their limiter by a hash with a
// random seed, and whoever shares one shares its budget: someone may have to wait for another's failures, by chance and
// until one more attempt is free, but nobody can aim, and no number of ids or addresses costs memory. To make all of the
// ids wait takes some 80,000 failures at once, which no few addresses are granted.
type attempts struct {
	seed      maphash.Seed
	ids       [limiters]atomic.Pointer[rate.Limiter]
	addresses [limiters]atomic.Pointer[rate.Limiter]
}

func newAttempts() *attempts { return &attempts{seed: maphash.MakeSeed()} }

// attempt is one that has begun, and counts as failed until it succeeds.
type attempt struct {
	at      time.Time
	address *rate.Reservation
	id      *rate.Reservation // nil where there is no id
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
	t := &attempt{at: now}
	var err error
	if t.address, err = take(a.of(&a.addresses, network(address), addressEvery, addressBurst), now); err != nil {
		return nil, err
	}
	if id == "" {
		return t, nil
	}
	if t.id, err = take(a.of(&a.ids, id, idEvery, idBurst), now); err != nil {
		t.succeed()
		return nil, err
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

// succeed gives back what the attempt took.
func (t *attempt) succeed() {
	// At the time at which it was taken: later there is nothing to give back.
	t.address.CancelAt(t.at)
	if t.id != nil {
		t.id.CancelAt(t.at)
	}
}

func take(l *rate.Limiter, now time.Time) (*rate.Reservation, error) {
	r := l.ReserveN(now, 1)
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return nil, &attemptsError{wait}
	}
	return r, nil
}

// of gives the limiter of an id or an address, which is made when it is first asked for.
func (a *attempts) of(table *[limiters]atomic.Pointer[rate.Limiter], key string, every time.Duration, burst int) *rate.Limiter {
	slot := &table[maphash.String(a.seed, key)%limiters]
	if l := slot.Load(); l != nil {
		return l
	}
	slot.CompareAndSwap(nil, rate.NewLimiter(rate.Every(every), burst))
	return slot.Load()
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
