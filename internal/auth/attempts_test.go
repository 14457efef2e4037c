package auth_test

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/auth/password"
	"github.com/sallyport-dev/sallyport/internal/auth/token"
	"github.com/sallyport-dev/sallyport/internal/registry"
)

// from asks from an address.
func (h *house) from(address string, c *auth.Credentials) error {
	c.Origin.Peer = netip.AddrPortFrom(netip.MustParseAddr(address), 1).String()
	_, err := h.Authenticate(h.t.Context(), c)
	return err
}

// exhaust fails until the next attempt is too many, and gives how many it took.
func (h *house) exhaust(next func(i int) error) int {
	h.t.Helper()
	for i := range 1000 {
		switch err := next(i); {
		case errors.Is(err, auth.ErrTooManyAttempts):
			return i
		case !errors.Is(err, auth.ErrUnauthenticated):
			h.t.Fatalf("attempt %d: %v", i, err)
		}
	}
	h.t.Fatal("a thousand attempts were free")
	return 0
}

func address(i int) string { return fmt.Sprintf("10.%d.%d.1", i/250, i%250) }

func TestAttempts_ofOneID(t *testing.T) {
	for name, row := range map[string]struct{ wrong, right *auth.Credentials }{
		"a machine": {secret("system", "wrong"), secret("system", "s1")},
		"a user":    {login("acme", "", "ada@acme.example", "wrong"), login("acme", "", "ada@acme.example", "p1")},
		"nobody":    {secret("nothing", "wrong"), nil},
		"no user":   {login("acme", "", "zoe@acme.example", "wrong"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			skipRaced(t, row.wrong)
			h := newHouse(t)
			if n := h.exhaust(func(i int) error { return h.from(address(i), row.wrong) }); n != 10 {
				t.Errorf("%d attempts were free", n)
			}
			before := password.Computed()
			err := h.from(address(99), row.wrong)
			if wait := auth.RetryAfter(err); !errors.Is(err, auth.ErrTooManyAttempts) || wait != 10*time.Second {
				t.Errorf("%v, retry after %v", err, wait)
			}
			if password.Computed() != before {
				t.Error("what is one too many was hashed")
			}
			if name == "a machine" {
				if err := h.from(address(99), row.right); err != nil {
					t.Errorf("the right secret: %v", err)
				}
			}
			if name == "a user" {
				if err := h.from(address(99), row.right); !errors.Is(err, auth.ErrTooManyAttempts) {
					t.Errorf("the right password, which could be guessed: %v", err)
				}
				// The same email elsewhere is somebody else.
				if err := h.from(address(99), login("globex", "", "ada@acme.example", "p2")); err != nil {
					t.Errorf("another organization's user: %v", err)
				}
			}
			h.now = h.now.Add(10 * time.Second)
			if err := h.from(address(98), row.wrong); !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("ten seconds later: %v", err)
			}
			if err := h.from(address(98), row.wrong); !errors.Is(err, auth.ErrTooManyAttempts) {
				t.Errorf("ten seconds later, twice: %v", err)
			}
		})
	}
}

// Another spelling of an email is the same one.
func TestAttempts_ofOneEmailInTwoSpellings(t *testing.T) {
	skipRaced(t, login("acme", "", "ada@acme.example", "wrong"))
	h := newHouse(t)
	spelled := []string{"ada@acme.example", "ADA@acme.example", "Ada@Acme.Example"}
	if n := h.exhaust(func(i int) error { return h.from(address(i), login("acme", "", spelled[i%3], "wrong")) }); n != 10 {
		t.Errorf("%d attempts were free", n)
	}
}

func TestAttempts_fromOneAddress(t *testing.T) {
	for name, row := range map[string]struct {
		from     func(i int) string
		attempts int
	}{
		"one of IPv4":         {func(int) string { return "192.0.2.1" }, 50},
		"one, mapped to IPv6": {func(i int) string { return []string{"192.0.2.1", "::ffff:192.0.2.1"}[i%2] }, 50},
		"a /64 of IPv6":       {func(i int) string { return fmt.Sprintf("2001:db8:0:1::%x", i+1) }, 50},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			n := h.exhaust(func(i int) error { return h.from(row.from(i), secret(fmt.Sprintf("machine-%d", i), "wrong")) })
			if n != row.attempts {
				t.Errorf("%d attempts were free", n)
			}
			if err := h.from(row.from(0), bearer("canary")); !errors.Is(err, auth.ErrTooManyAttempts) || auth.RetryAfter(err) != time.Second {
				t.Errorf("a token: %v", err)
			}
			if err := h.from("198.51.100.7", secret("system", "wrong")); !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("from elsewhere: %v", err)
			}
			h.now = h.now.Add(time.Second)
			if err := h.from(row.from(0), bearer("canary")); !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("a second later: %v", err)
			}
		})
	}
}

// Only failures count, and what cannot be guessed passes always.
func TestAttempts_whatPasses(t *testing.T) {
	h := newHouse(t)
	user, machine := login("acme", "", "ada@acme.example", "p1"), secret("system", "s1")
	skipRaced(t, user)
	good := bearer(issue(t, key1, "system", "system", token.Tools, start))
	expired := bearer(issue(t, key1, "system", "system", token.Tools, start.Add(-2*time.Hour)))
	ask := func() {
		t.Helper()
		for name, c := range map[string]*auth.Credentials{"user": user, "machine": machine, "token": good} {
			if err := h.from("192.0.2.1", c); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		// A token that we signed is no guess: its owner must learn that it is over.
		if err := h.from("192.0.2.1", expired); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Fatalf("an expired token: %v", err)
		}
	}
	for range 200 {
		ask()
	}
	// Logins that succeed give back what they took, however many there are at once.
	for i := range 12 {
		h.change(func(v *registry.View) {
			replace(v.Users, acmeAda, func(u *identityv1.StoredUser) { u.Name = fmt.Sprint(i) })
		})
		before := password.Computed()
		if err := h.from("192.0.2.1", user); err != nil || password.Computed() == before {
			t.Fatalf("login %d: %v", i, err)
		}
	}
	h.exhaust(func(i int) error { return h.from("192.0.2.1", secret(fmt.Sprintf("machine-%d", i), "wrong")) })
	ask()
	if err := h.from("192.0.2.1", login("globex", "", "ada@acme.example", "p2")); !errors.Is(err, auth.ErrTooManyAttempts) {
		t.Errorf("a password that is not remembered: %v", err)
	}
}

// What one caller asks at once with one password is one attempt, and all of it passes.
func TestAttempts_ofOnePasswordAtOnce(t *testing.T) {
	user := login("acme", "", "ada@acme.example", "p1")
	skipRaced(t, user)
	h := newHouse(t)
	begin := make(chan struct{})
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			c := *user
			<-begin
			if err := h.from("192.0.2.1", &c); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	all.Wait()
}

func TestProxies_Address(t *testing.T) {
	proxies, err := auth.NewProxies([]string{"10.0.0.0/8", "fd00::/8"})
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		peer      string
		forwarded []string
		want      string
	}{
		"no proxy":                        {"192.0.2.1:1234", nil, "192.0.2.1"},
		"not a trusted one":               {"192.0.2.1:1234", []string{"198.51.100.1"}, "192.0.2.1"},
		"a trusted one":                   {"10.0.0.1:1234", []string{"198.51.100.1"}, "198.51.100.1"},
		"a trusted one that is silent":    {"10.0.0.1:1234", nil, "10.0.0.1"},
		"what the caller made up":         {"10.0.0.1:1234", []string{"203.0.113.9, 198.51.100.1"}, "198.51.100.1"},
		"two proxies":                     {"10.0.0.1:1234", []string{"203.0.113.9, 198.51.100.1, 10.0.0.2"}, "198.51.100.1"},
		"two headers":                     {"10.0.0.1:1234", []string{"203.0.113.9", "198.51.100.1,10.0.0.2"}, "198.51.100.1"},
		"two headers, the right one ours": {"10.0.0.1:1234", []string{"203.0.113.9, 198.51.100.1", "10.0.0.2"}, "198.51.100.1"},
		"proxies only":                    {"10.0.0.1:1234", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"no address":                      {"10.0.0.1:1234", []string{"198.51.100.1, unknown"}, "10.0.0.1"},
		"no address behind a proxy":       {"10.0.0.1:1234", []string{"unknown, 10.0.0.2"}, "10.0.0.2"},
		"empty":                           {"10.0.0.1:1234", []string{""}, "10.0.0.1"},
		"an empty entry":                  {"10.0.0.1:1234", []string{"198.51.100.1,"}, "10.0.0.1"},
		"with a port":                     {"10.0.0.1:1234", []string{"198.51.100.1:80"}, "198.51.100.1"},
		"IPv6":                            {"[fd00::1]:1234", []string{"2001:db8::1"}, "2001:db8::1"},
		"IPv6 in brackets":                {"[fd00::1]:1234", []string{"[2001:db8::1]"}, "2001:db8::1"},
		"IPv6 in brackets with a port":    {"[fd00::1]:1234", []string{"[2001:db8::1]:80"}, "2001:db8::1"},
		"a mapped proxy":                  {"[::ffff:10.0.0.1]:1234", []string{"198.51.100.1"}, "198.51.100.1"},
		"a zone":                          {"[fe80::1%eth0]:1234", nil, "fe80::1"},
		"no peer":                         {"@", []string{"198.51.100.1"}, "invalid IP"},
	} {
		if got := proxies.Address(row.peer, row.forwarded); got.String() != row.want {
			t.Errorf("%s: %v, want %s", name, got, row.want)
		}
	}
	var nobody *auth.Proxies
	if got := nobody.Address("10.0.0.1:1", []string{"198.51.100.1"}); got.String() != "10.0.0.1" {
		t.Errorf("nobody is trusted: %v", got)
	}
	for _, bad := range []string{"", "10.0.0.1", "10.0.0.0/33", "::ffff:10.0.0.0/104", "x"} {
		if _, err := auth.NewProxies([]string{"10.0.0.0/8", bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func BenchmarkAuthenticate(b *testing.B) {
	h := newHouse(b)
	for name, c := range map[string]*auth.Credentials{
		"machine": secret("application", "aVeryLongSecretOfFortyThreeCharactersInAll0"),
		"user":    login("acme", "orders", "ada@acme.example", "p1"),
		"token":   bearer(issue(b, key1, "delegate:1", "https://c.example/x", token.Tools, start)),
	} {
		b.Run(name, func(b *testing.B) {
			c.ClientSecret = append([]string(nil), c.ClientSecret...)
			if name == "machine" {
				c.ClientSecret = []string{"s3"}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := h.Authenticate(b.Context(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
