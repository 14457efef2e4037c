package registry

import (
	"log/slog"
	"sync"
	"testing"
	"time"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
)

const (
	forTokens     = identityv1.KeyUse_KEY_USE_TOKEN
	forAssertions = identityv1.KeyUse_KEY_USE_ASSERTION
)

// clockwork is a store whose clock the test moves.
type clockwork struct {
	*Store
	t *testing.T

	mu   sync.Mutex
	time time.Time
}

func newClockwork(t *testing.T) *clockwork {
	c := &clockwork{Store: NewStore(etcdtest.Start(t), ""), t: t, time: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	c.now = func() time.Time {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.time
	}
	return c
}

func (c *clockwork) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = c.time.Add(d)
}

// keys gives the keys of a use, newest first.
func (c *clockwork) keys(use identityv1.KeyUse) []SigningKey {
	c.t.Helper()
	all, err := c.SigningKeys(testContext(c.t))
	must(c.t, err)
	var of []SigningKey
	for _, k := range all {
		if k.Use == use {
			of = append(of, k)
		}
	}
	return of
}

func (c *clockwork) tend() {
	c.t.Helper()
	must(c.t, c.tendKeys(testContext(c.t), 30*24*time.Hour, slog.New(slog.DiscardHandler)))
}

func TestEnsureSigningKeys(t *testing.T) {
	c := newClockwork(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := c.EnsureSigningKeys(testContext(t)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, use := range keyUses {
		if k := c.keys(use); len(k) != 1 || !k[0].Current || !k[0].SignsFrom.Equal(c.now()) {
			t.Errorf("%v: %v", use, k)
		}
	}
	_, v := watch(t, c.Store, WatchOptions{})
	view := v.until("the keys are there", func(v *View) bool { return len(v.TokenKeys) == 1 && len(v.AssertionKeys) == 1 })
	if k := view.TokenKeys[0]; len(k.GetSeed()) != 32 || k.GetKid() != c.keys(forTokens)[0].Kid {
		t.Errorf("%v", k)
	}
}

func TestRotateSigningKey(t *testing.T) {
	c, ctx := newClockwork(t), testContext(t)
	must(t, c.EnsureSigningKeys(ctx))
	old := c.keys(forTokens)[0]
	made, err := c.RotateSigningKey(ctx, forTokens, false)
	must(t, err)
	if made.Current || !made.SignsFrom.Equal(made.CreatedAt.Add(time.Minute)) || !made.CreatedAt.After(old.CreatedAt) {
		t.Errorf("%+v", made)
	}
	current := func(use identityv1.KeyUse) string {
		t.Helper()
		found := ""
		for _, k := range c.keys(use) {
			if k.Current {
				if found != "" {
					t.Error("two keys sign")
				}
				found = k.Kid
			}
		}
		return found
	}
	if current(forTokens) != old.Kid {
		t.Error("the new key signs before everybody knows it")
	}
	c.pass(time.Minute + time.Second)
	if current(forTokens) != made.Kid {
		t.Error("the new key does not sign")
	}

	first := current(forAssertions)
	made, err = c.RotateSigningKey(ctx, forAssertions, false)
	must(t, err)
	if !made.Current || current(forAssertions) != made.Kid || made.Kid == first {
		t.Errorf("%+v", made)
	}
	c.pass(-time.Hour) // another registry's clock
	made, err = c.RotateSigningKey(ctx, forAssertions, false)
	must(t, err)
	if k := c.keys(forAssertions); k[0].Kid != made.Kid || !k[0].Current || len(k) != 3 {
		t.Errorf("the newest is not the last that was made: %+v, %+v", k, made)
	}
	c.pass(time.Hour)

	for _, use := range keyUses {
		made, err = c.RotateSigningKey(ctx, use, true)
		must(t, err)
		if k := c.keys(use); len(k) != 1 || k[0].Kid != made.Kid || !k[0].Current || !made.Current {
			t.Errorf("%v: others are left, or the new key does not sign at once: %+v", use, k)
		}
	}
	_, err = c.RotateSigningKey(ctx, identityv1.KeyUse_KEY_USE_UNSPECIFIED, false)
	wantInvalid(t, err, "not a use")
	for range maxSigningKeys - 1 {
		_, err = c.RotateSigningKey(ctx, forTokens, false)
		must(t, err)
	}
	_, err = c.RotateSigningKey(ctx, forTokens, false)
	wantInvalid(t, err, "32 keys")
	_, err = c.RotateSigningKey(ctx, forTokens, true)
	must(t, err)
	if k := c.keys(forTokens); len(k) != 1 {
		t.Errorf("%d keys", len(k))
	}
}

func TestTendKeys(t *testing.T) {
	const day = 24 * time.Hour
	c := newClockwork(t)
	for _, row := range []struct {
		what               string
		pass               time.Duration
		tokens, assertions int
	}{
		{"none is there yet", 0, 1, 1},
		{"soon after", time.Minute, 1, 1},
		{"a moment before they are due", 30*day - time.Minute - time.Second, 1, 1},
		{"they are due", time.Second, 2, 2},
		{"the assertions of the old key may still be good", time.Hour - time.Second, 2, 2},
		{"they are not", time.Second, 2, 1},
		{"the tokens of the old key may still be good", day + time.Minute - time.Second, 2, 1},
		{"they are not", time.Second, 1, 1},
		{"the next time", 29 * day, 2, 2},
		{"an age without a registry", 100 * day, 2, 2}, // the newest was due, and the old ones are gone
	} {
		c.pass(row.pass)
		before := c.keys(forTokens)
		// Any number of registries do so at once.
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(c.tend)
		}
		wg.Wait()
		if n, m := len(c.keys(forTokens)), len(c.keys(forAssertions)); n != row.tokens || m != row.assertions {
			t.Fatalf("%s: %d token keys and %d assertion keys, want %d and %d", row.what, n, m, row.tokens, row.assertions)
		}
		if len(before) > 0 {
			signing := false
			for _, k := range c.keys(forTokens) {
				signing = signing || k.Current
			}
			if !signing {
				t.Errorf("%s: no key signs", row.what)
			}
		}
	}
}
