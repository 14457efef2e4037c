package access_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
)

// Guessing: failures are counted by id, whatever the address, and by address, whatever the id. Whoever has the right
// secret of a machine, or a token, is not kept out by others' failures.
func TestAttack_guessing(t *testing.T) {
	a := newTarget(t)
	try := func(from string, lines ...string) int {
		body, head := request(version20251125, "ping", "", "")
		got := a.raw(t, "/mcp", body, append(append(head, "X-Forwarded-For: "+from), lines...))
		if wait, err := strconv.Atoi(got.header.Get("Retry-After")); (got.status == http.StatusTooManyRequests) != (err == nil && wait > 0) {
			t.Errorf("%q from %s: %d with Retry-After %q", lines, from, got.status, got.header.Get("Retry-After"))
		}
		return got.status
	}
	// until says how many guesses are judged before the next is not, and fails where there is no end of it.
	until := func(most int, guess func(n int) int) int {
		for n := range most {
			switch status := guess(n); status {
			case http.StatusUnauthorized:
			case http.StatusTooManyRequests:
				return n
			default:
				t.Fatalf("guess %d: %d", n, status)
			}
		}
		t.Fatalf("%d guesses are judged", most)
		return 0
	}
	t.Run("of a user", func(t *testing.T) {
		judged := until(40, func(n int) int {
			return try(addressOf(n), bySecret(alice, fmt.Sprintf("guess %d", n), scopeLines("acme", "orders")...)...)
		})
		if judged < 5 {
			t.Errorf("only %d guesses are judged", judged)
		}
		// Another spelling, and another grant, are the same user.
		for _, lines := range [][]string{bySecret("ALICE@example.com", "x", scopeLines("acme", "orders")...), bySecret(alice, "x", scopeLines("acme", "")...)} {
			if got := try("192.0.2.1", lines...); got != http.StatusTooManyRequests {
				t.Errorf("%q: %d", lines, got)
			}
		}
		if got := try("192.0.2.2", bySecret(bob, thePassword, "organizationId: acme")...); got != http.StatusOK {
			t.Errorf("another user: %d", got)
		}
	})
	t.Run("of a machine", func(t *testing.T) {
		until(40, func(n int) int { return try(addressOf(1000+n), bySecret("Machine", fmt.Sprintf("guess %d", n))...) })
		if got := try("192.0.2.3", bySecret("Machine", theSecret)...); got != http.StatusOK {
			t.Errorf("the right secret: %d", got)
		}
		if got := try("192.0.2.3", byToken(a.signer.token(claims("Machine", "Machine", "tools")))...); got != http.StatusOK {
			t.Errorf("a token: %d", got)
		}
	})
	t.Run("from an address", func(t *testing.T) {
		// What stands to the left in the header is the caller's own word.
		guess := func(n int) int {
			return try(fmt.Sprintf("10.9.8.%d, 198.51.100.7", n), bySecret(fmt.Sprintf("machine-%d", n), "x")...)
		}
		if judged := until(200, guess); judged < 20 {
			t.Errorf("only %d guesses are judged", judged)
		}
		if got := try("198.51.100.7", bySecret("Machine", theSecret)...); got != http.StatusOK {
			t.Errorf("the right secret from there: %d", got)
		}
		if got := try("198.51.100.8", bySecret("no-such", "x")...); got != http.StatusUnauthorized {
			t.Errorf("from next door: %d", got)
		}
	})
	t.Run("from an IPv6 network", func(t *testing.T) {
		until(200, func(n int) int {
			return try(fmt.Sprintf("2001:db8:1:2::%x", n+1), byToken(fmt.Sprintf("a.b.c%d", n))...)
		})
		if got := try("2001:db8:1:3::1", byToken("a.b.c")...); got != http.StatusUnauthorized {
			t.Errorf("from the next network: %d", got)
		}
	})
}
