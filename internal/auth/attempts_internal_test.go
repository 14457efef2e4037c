package auth

import (
	"errors"
	"net/netip"
	"strconv"
	"sync"
	"testing"
	"time"
)

var anAddress = netip.MustParseAddr("192.0.2.1")

// Who goes on asking at once when no attempt is free takes none of those to come: nobody makes another wait for longer
// than until the next one is free.
func TestAttempts_thatAreRefusedTakeNothing(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	a := newAttempts(now)
	for range idBurst {
		if _, err := a.begin(now, "id", anAddress); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100_000 {
				if _, err := a.begin(now, "id", anAddress); !errors.Is(err, ErrTooManyAttempts) {
					t.Errorf("one too many: %v", err)
					return
				}
			}
		})
	}
	all.Wait()
	if _, err := a.begin(now, "id", anAddress); RetryAfter(err) != idEvery {
		t.Errorf("afterwards: retry after %v, want %v", RetryAfter(err), idEvery)
	}
	if _, err := a.begin(now.Add(idEvery), "id", anAddress); err != nil {
		t.Errorf("when the next one is free: %v", err)
	}
	if _, err := a.begin(now, "other", anAddress); err != nil {
		t.Errorf("another id from the same address: %v", err)
	}
}

// Only failures count, also where checking a password takes so long that others begin meanwhile.
func TestAttempts_thatSucceedCountForNothing(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	a := newAttempts(now)
	var running []*attempt
	for i := range 1000 {
		now = now.Add(100 * time.Millisecond)
		if len(running) == 30 {
			running[0].succeed()
			running = running[1:]
		}
		begun, err := a.begin(now, "user-"+strconv.Itoa(i), anAddress)
		if err != nil {
			t.Fatalf("login %d, while %d are checked and none has failed: %v", i, len(running), err)
		}
		running = append(running, begun)
	}
}

// Who asks at once has looked at the clock in another order, and is given no more for it.
func TestAttempts_thatOvertakeEachOther(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	a := newAttempts(now)
	free := 0
	for i := range 100_000 {
		at := now.Add(time.Duration(i%2) * time.Second)
		if _, err := a.begin(at, "id", anAddress); err == nil {
			free++
		}
	}
	if free != idBurst {
		t.Errorf("%d attempts were free within a second", free)
	}
}

func TestAttempts_whenTheClockIsSetBack(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	a := newAttempts(now)
	for _, at := range []time.Duration{0, time.Hour, 0, -time.Hour} {
		for range 3 {
			if _, err := a.begin(now.Add(at), "id", anAddress); err != nil {
				t.Fatalf("at %v: %v", at, err)
			}
		}
	}
}

// Whoever has a /48 of IPv6 has 65,536 networks to ask from, and still makes nobody else wait.
func TestAttempts_fromOneSite(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	a := newAttempts(now)
	free := 0
	for i := range 200_000 {
		from := netip.AddrFrom16([16]byte{0x20, 0x01, 0x0d, 0xb8, 6: byte(i >> 8), 7: byte(i), 15: 1})
		if _, err := a.begin(now, "guess-"+strconv.Itoa(i), from); err == nil {
			free++
		}
	}
	if free != siteBurst {
		t.Errorf("%d attempts were free", free)
	}
	for i := range 100 {
		from := netip.AddrFrom4([4]byte{198, 51, 100, byte(i)})
		if _, err := a.begin(now, "user-"+strconv.Itoa(i), from); err != nil {
			t.Fatalf("somebody from elsewhere: %v", err)
		}
	}
}
