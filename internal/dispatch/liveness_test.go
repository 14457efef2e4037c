package dispatch_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/dispatch"
	"github.com/sallyport-dev/sallyport/internal/registry/address"
)

func TestCall_thatNeverLeftGoesToAnotherInstanceAlways(t *testing.T) {
	s := serve(t, answer("alive"))
	d := start(t, nil, stored("dead-1", unused(t)), stored("dead-2", unused(t)), s.instance())
	for i := range 6 {
		if body, failure := call(d, request("")); failure != nil || body != "alive" {
			t.Errorf("call %d: %q, %v", i, body, failure)
		}
	}
}

func TestCall_whenNobodyListens(t *testing.T) {
	d := start(t, nil, stored("dead-1", unused(t)), stored("dead-2", unused(t)))
	for range 2 { // the second time all are ejected, and tried all the same
		_, failure := call(d, request(""))
		if failure == nil || failure.Code != codes.Unavailable || failure.Executed != dispatch.ExecutedNo {
			t.Errorf("got %+v", failure)
		}
	}
}

// dying is a server that dies with the first call that reaches it.
func dying(t *testing.T) *server {
	t.Helper()
	var s *server
	var once sync.Once
	var stopping sync.WaitGroup
	ready := make(chan struct{})
	s = serve(t, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		<-ready
		once.Do(func() { stopping.Go(s.Stop) })
		<-ctx.Done()
		return nil, ctx.Err()
	})
	close(ready)
	t.Cleanup(stopping.Wait)
	return s
}

// registry.md, "Liveness": a call in flight when its instance dies.
func TestCall_inFlightWhenItsInstanceDies(t *testing.T) {
	t.Run("fails at once, and may have run", func(t *testing.T) {
		dead, alive := dying(t), serve(t, answer("alive"))
		d := start(t, nil, dead.instance())
		_, failure := call(d, request(""))
		if failure == nil || failure.Code != codes.Unavailable || failure.Executed != dispatch.ExecutedUnknown || failure.Status != nil {
			t.Errorf("got %+v", failure)
		}
		d.Update(view(dead.instance(), alive.instance()))
		for range 4 { // the dead one is ejected at once
			if body, failure := call(d, request("")); failure != nil || body != "alive" {
				t.Errorf("afterwards: %q, %v", body, failure)
			}
		}
		if n := dead.calls.Load(); n != 1 {
			t.Errorf("%d calls met the instance that died", n)
		}
	})
	t.Run("is sent once more to another instance if that is safe", func(t *testing.T) {
		dead, alive := dying(t), serve(t, answer("alive"))
		d := start(t, nil, dead.instance(), alive.instance())
		for range 4 {
			if body, failure := call(d, repeatable("")); failure != nil || body != "alive" {
				t.Errorf("%q, %v", body, failure)
			}
		}
		if n := dead.calls.Load(); n != 1 {
			t.Errorf("%d calls met the instance that died, want 1", n)
		}
	})
	t.Run("is not sent a third time", func(t *testing.T) {
		one, two, three := dying(t), dying(t), dying(t)
		d := start(t, nil, one.instance(), two.instance(), three.instance())
		_, failure := call(d, repeatable(""))
		if failure == nil || failure.Executed != dispatch.ExecutedUnknown {
			t.Errorf("got %+v", failure)
		}
		if n := one.calls.Load() + two.calls.Load() + three.calls.Load(); n != 2 {
			t.Errorf("it was sent %d times", n)
		}
	})
	t.Run("may have run even if the second attempt never left", func(t *testing.T) {
		d := start(t, nil, dying(t).instance())
		// The only other instance is dead: whichever is met first, the call ends as unknown once it met the dying one.
		d2 := start(t, nil, dying(t).instance(), stored("dead", unused(t)))
		for _, d := range []*dispatch.Dispatcher{d, d2} {
			if _, failure := call(d, repeatable("")); failure == nil || failure.Executed != dispatch.ExecutedUnknown {
				t.Errorf("got %+v", failure)
			}
		}
	})
}

func TestCall_repeatsWhatAServiceCallsUnavailableOnlyIfSafe(t *testing.T) {
	away, alive := serve(t, refuse(codes.Unavailable, "warming up")), serve(t, answer("alive"))
	d := start(t, nil, away.instance(), alive.instance())
	for range 4 {
		if body, failure := call(d, repeatable("")); failure != nil || body != "alive" {
			t.Errorf("repeatable: %q, %v", body, failure)
		}
	}
	failed := 0
	for range 4 {
		if _, failure := call(d, request("")); failure != nil {
			failed++
		}
	}
	if failed != 2 { // it answers, so that it is not ejected
		t.Errorf("%d of 4 calls failed, want 2", failed)
	}
}

func TestEjection_backsOffAndForgets(t *testing.T) {
	var clock atomic.Int64
	clock.Store(time.Now().UnixNano())
	pass := func(d time.Duration) { clock.Add(int64(d)) }
	away := true
	var mu sync.Mutex
	s := serve(t, answer("alive"))
	refused := serve(t, answer("back"))
	d := start(t, func(o *dispatch.Options) {
		o.Now = func() time.Time { return time.Unix(0, clock.Load()) }
		// A dialer of the test's own, which loses the way to one instance for a while.
		o.Addresses = policyFunc(func(host string, port uint16) error {
			mu.Lock()
			defer mu.Unlock()
			if away && net.JoinHostPort(host, strconv.Itoa(int(port))) == refused.address {
				return errors.New("away")
			}
			return nil
		})
	}, s.instance(), refused.instance())
	answers := func(n int) map[string]int {
		t.Helper()
		got := map[string]int{}
		for range n {
			body, failure := call(d, request(""))
			if failure != nil {
				t.Fatal(failure)
			}
			got[body]++
		}
		return got
	}
	if got := answers(4); got["alive"] != 4 {
		t.Errorf("while it is away: %v", got)
	}
	mu.Lock()
	away = false
	mu.Unlock()
	if got := answers(4); got["alive"] != 4 {
		t.Errorf("while it is ejected: %v", got)
	}
	// gRPC reconnects in its own time; from then on, the ejection alone decides.
	deadline := time.Now().Add(patience)
	for back := 0; back == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the instance did not come back")
		}
		pass(time.Minute)
		back = answers(4)["back"]
	}
	if got := answers(4); got["alive"] != 2 || got["back"] != 2 {
		t.Errorf("when it is back: %v", got)
	}
}

func TestDraining_takesNoNewCallsAndFinishesRunningOnes(t *testing.T) {
	for name, leave := range map[string]func(*dispatch.Dispatcher, *server, *server){
		"draining": func(d *dispatch.Dispatcher, leaving, staying *server) {
			draining := leaving.instance()
			draining.Draining = true
			d.Update(view(draining, staying.instance()))
		},
		"gone": func(d *dispatch.Dispatcher, _, staying *server) { d.Update(view(staying.instance())) },
	} {
		t.Run(name, func(t *testing.T) {
			began, finish, closed := make(chan struct{}), make(chan struct{}), make(chan struct{})
			leaving := serve(t, func(context.Context, string, []byte) ([]byte, error) {
				close(began)
				<-finish
				return []byte("finished"), nil
			})
			staying := serve(t, answer("staying"))
			d := start(t, nil, leaving.instance())
			result := make(chan string, 1)
			var calling sync.WaitGroup
			defer calling.Wait()
			calling.Go(func() { body, _ := call(d, request("")); result <- body })
			wait(t, began, "the running call")
			leave(d, leaving, staying)
			for range 4 {
				if body, failure := call(d, request("")); failure != nil || body != "staying" {
					t.Errorf("a new call: %q, %v", body, failure)
				}
			}
			close(finish)
			if body := wait(t, result, "the running call's end"); body != "finished" {
				t.Errorf("the running call got %q", body)
			}
			// The connection is closed behind the last call, so that the server can stop gracefully.
			calling.Go(func() { leaving.GracefulStop(); close(closed) })
			wait(t, closed, "the server's graceful stop")
		})
	}
}

func TestClose_waitsForRunningCallsAndTakesNoNewOnes(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	d := start(t, nil, serve(t, func(context.Context, string, []byte) ([]byte, error) {
		close(began)
		<-finish
		return []byte("finished"), nil
	}).instance())
	var running sync.WaitGroup
	defer running.Wait()
	result, closed := make(chan string, 1), make(chan struct{})
	running.Go(func() { body, _ := call(d, request("")); result <- body })
	wait(t, began, "the running call")
	running.Go(func() { d.Close(); close(closed) })
	for {
		_, failure := call(d, func() *dispatch.Request { r := request(""); r.Service.Service = "none"; return r }())
		if failure == nil {
			t.Fatal("a call to nothing succeeded")
		}
		if failure.Err.Error() == "the dispatcher is closed" {
			break
		}
	}
	d.Update(view(stored("late", unused(t))))
	if _, failure := call(d, request("")); failure == nil || failure.Executed != dispatch.ExecutedNo {
		t.Errorf("a new call: %+v", failure)
	}
	select {
	case <-closed:
		t.Error("Close did not wait for the running call")
	default:
	}
	close(finish)
	if body := wait(t, result, "the running call's end"); body != "finished" {
		t.Errorf("the running call got %q", body)
	}
	wait(t, closed, "Close")
	d.Close() // once more is no error
}

// policyFunc is an address policy of the test's own.
type policyFunc func(host string, port uint16) error

func (f policyFunc) CheckDial(_ string, _ netip.Addr, host string, port uint16) error {
	return f(host, port)
}

func TestAddresses_areJudgedAfterTheNameWasResolved(t *testing.T) {
	s := serve(t, answer("reached"))
	number := uint32(0)
	for _, digit := range port(s.address) {
		number = number*10 + uint32(digit-'0')
	}
	policy, err := address.New([]*configv1.ZoneAddresses{
		{Zone: zone, Ranges: []string{"127.0.0.1/32", "10.0.0.0/8"}, Names: []string{"orders.acme.example"}, Ports: []uint32{number}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		host string
		ips  []string
		ok   bool
	}{
		"to an allowed address":                        {"orders.acme.example", []string{"127.0.0.1"}, true},
		"to an address mapped into IPv6":               {"orders.acme.example", []string{"::ffff:127.0.0.1"}, true},
		"to another loopback address":                  {"orders.acme.example", []string{"127.0.0.2"}, false},
		"to a metadata address":                        {"orders.acme.example", []string{"169.254.169.254"}, false},
		"to the unspecified address":                   {"orders.acme.example", []string{"0.0.0.0"}, false},
		"to IPv6 loopback":                             {"orders.acme.example", []string{"::1"}, false},
		"to a forbidden address and an allowed one":    {"orders.acme.example", []string{"169.254.169.254", "127.0.0.1"}, true},
		"to nothing":                                   {"orders.acme.example", nil, false},
		"a name that is not listed, to an allowed one": {"evil.acme.example", []string{"127.0.0.1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			before := s.connections.accepted.Load()
			d := start(t, func(o *dispatch.Options) { o.Addresses, o.Resolve = policy, resolveTo(row.ips...) },
				stored("named", row.host+":"+port(s.address)))
			body, failure := call(d, request(""))
			if row.ok {
				if failure != nil || body != "reached" {
					t.Errorf("got %q, %v", body, failure)
				}
				return
			}
			if failure == nil || failure.Code != codes.Unavailable || failure.Executed != dispatch.ExecutedNo {
				t.Errorf("got %q, %+v", body, failure)
			}
			if s.connections.accepted.Load() != before {
				t.Error("it was dialled")
			}
		})
	}
	t.Run("a name that does not resolve", func(t *testing.T) {
		d := start(t, nil, stored("named", "nowhere.invalid:1"))
		if _, failure := call(d, request("")); failure == nil || failure.Executed != dispatch.ExecutedNo {
			t.Errorf("got %+v", failure)
		}
	})
	t.Run("an address that is not spelled as one", func(t *testing.T) {
		d := start(t, nil, stored("named", "nonsense"))
		if _, failure := call(d, request("")); failure == nil || failure.Executed != dispatch.ExecutedNo {
			t.Errorf("got %+v", failure)
		}
	})
}

func TestTLS_expectsTheRegisteredServerName(t *testing.T) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{"orders.acme.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	s := serve(t, answer("secret"), grpc.Creds(credentials.NewServerTLSFromCert(
		&tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private})))
	for name, row := range map[string]struct {
		server string
		roots  *x509.CertPool
		ok     bool
	}{
		"the name of the certificate": {"orders.acme.example", roots, true},
		"another name":                {"orders.globex.example", roots, false},
		"no name, so no TLS":          {"", roots, false},
		"an authority not trusted":    {"orders.acme.example", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			i := s.instance()
			i.TlsServerName = row.server
			d := start(t, func(o *dispatch.Options) {
				if row.roots != nil {
					o.TLS = &tls.Config{RootCAs: row.roots, MinVersion: tls.VersionTLS12}
				}
			}, i)
			body, failure := call(d, request(""))
			if row.ok && (failure != nil || body != "secret") || !row.ok && (failure == nil || failure.Executed != dispatch.ExecutedNo) {
				t.Errorf("got %q, %v", body, failure)
			}
		})
	}
}
