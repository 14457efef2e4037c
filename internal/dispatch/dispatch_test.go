package dispatch_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/dispatch"
	"github.com/sallyport-dev/sallyport/participant"
)

func TestCall_sendsBytesAndGivesBytes(t *testing.T) {
	d := start(t, nil, serve(t, echo, grpc.MaxRecvMsgSize(16<<20)).instance())
	for name, body := range map[string]string{"some": "\x0a\x03abc", "none": "", "many": strings.Repeat("x", 6<<20)} {
		t.Run(name, func(t *testing.T) {
			got, failure := call(d, request(body))
			if failure != nil || got != method+" "+body {
				t.Errorf("got %d bytes, %v", len(got), failure)
			}
		})
	}
}

func TestCall_carriesTheParticipantAndNothingElse(t *testing.T) {
	type seen struct {
		md       metadata.MD
		deadline bool
	}
	heard := make(chan seen, 1)
	s := serve(t, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		_, deadline := ctx.Deadline()
		heard <- seen{md, deadline}
		return nil, nil
	})
	d := start(t, nil, s.instance())
	// What an HTTP handler may have left in the context does not go along.
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer x", "sallyport-assertion", "forged")
	r := request("")
	r.Timeout = 0 // the default is a deadline too
	if _, err := d.Call(ctx, r); err != nil {
		t.Fatal(err)
	}
	got := wait(t, heard, "the call")
	if !got.deadline {
		t.Error("the call has no deadline")
	}
	for name := range got.md {
		switch name {
		case ":authority", "content-type", "user-agent", "grpc-accept-encoding", assertion.ParticipantKey, assertion.AssertionKey:
		default:
			t.Errorf("metadata %s: %q goes along", name, got.md[name])
		}
	}
	if authority := got.md.Get(":authority"); len(authority) != 1 || authority[0] != s.address {
		t.Errorf("authority %q", authority)
	}
	carried := new(participant.Participant)
	if values := got.md.Get(assertion.ParticipantKey); len(values) != 1 || proto.Unmarshal([]byte(values[0]), carried) != nil ||
		!proto.Equal(carried, caller) {
		t.Errorf("participant %q", values)
	}
	tokens := got.md.Get(assertion.AssertionKey)
	if len(tokens) != 1 {
		t.Fatalf("assertions %q", tokens)
	}
	p, err := verifier().Verify(context.Background(), tokens[0], method, "app.acme.orders~com.acme.OrderService")
	if err != nil || !proto.Equal(p, caller) {
		t.Errorf("the assertion says %v, %v", p, err)
	}
}

func TestCall_signsWithTheNewestKeyThatCanSign(t *testing.T) {
	tokens := make(chan string, 1)
	s := serve(t, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		tokens <- strings.Join(md.Get(assertion.AssertionKey), ",")
		return nil, nil
	})
	d := start(t, nil)
	one := &registryv1.StoredAssertionKey{Kid: "k1", Seed: seed}
	two := &registryv1.StoredAssertionKey{Kid: "k2", Seed: bytes.Repeat([]byte{8}, ed25519.SeedSize)}
	broken := &registryv1.StoredAssertionKey{Kid: "k3", Seed: seed[1:]}
	for name, row := range map[string]struct {
		keys []*registryv1.StoredAssertionKey
		kid  string
	}{
		"one key":           {[]*registryv1.StoredAssertionKey{one}, "k1"},
		"a newer one":       {[]*registryv1.StoredAssertionKey{two, one}, "k2"},
		"a broken one":      {[]*registryv1.StoredAssertionKey{broken, one}, "k1"},
		"no key":            {nil, ""},
		"only a broken one": {[]*registryv1.StoredAssertionKey{broken}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := view(s.instance())
			v.AssertionKeys = row.keys
			d.Update(v)
			_, failure := call(d, request(""))
			if row.kid == "" {
				if failure == nil || failure.Code != codes.Internal || failure.Executed != dispatch.ExecutedNo {
					t.Errorf("got %v", failure)
				}
				return
			}
			if failure != nil {
				t.Fatal(failure)
			}
			only := verifier()
			if _, err := only.Verify(context.Background(), wait(t, tokens, "the call"), method, "app.acme.orders~com.acme.OrderService"); err != nil {
				t.Error(err)
			}
		})
	}
}

// boundary.md, "What a refusal says": which codes leave it open whether the call ran.
func TestCall_givesTheServicesStatus(t *testing.T) {
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		t.Run(code.String(), func(t *testing.T) {
			d := start(t, nil, serve(t, refuse(code, "the service says so")).instance())
			_, failure := call(d, request(""))
			want := ""
			if code == codes.Unavailable || code == codes.DeadlineExceeded || code == codes.Canceled {
				want = dispatch.ExecutedUnknown
			}
			if failure == nil || failure.Code != code || failure.Status.Message() != "the service says so" ||
				failure.Executed != want || failure.Disagreement {
				t.Errorf("got %+v", failure)
			}
		})
	}
	t.Run("with its details", func(t *testing.T) {
		withDetails, err := status.New(codes.InvalidArgument, "bad").WithDetails(
			&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "id"}}})
		if err != nil {
			t.Fatal(err)
		}
		d := start(t, nil, serve(t, func(context.Context, string, []byte) ([]byte, error) { return nil, withDetails.Err() }).instance())
		_, failure := call(d, request(""))
		if failure == nil || len(failure.Status.Details()) != 1 || !errors.Is(failure, failure.Err) || failure.Error() == "" {
			t.Errorf("got %+v", failure)
		}
	})
}

func TestCall_refusesAResponseThatIsTooLarge(t *testing.T) {
	s := serve(t, func(_ context.Context, _ string, r []byte) ([]byte, error) {
		return bytes.Repeat([]byte("x"), len(r)), nil
	})
	d := start(t, func(o *dispatch.Options) { o.MaxResponseBytes = 1000 }, s.instance())
	if body, failure := call(d, request(strings.Repeat("r", 1000))); failure != nil || len(body) != 1000 {
		t.Errorf("as large as allowed: %d bytes, %v", len(body), failure)
	}
	body, failure := call(d, repeatable(strings.Repeat("r", 1001)))
	if failure == nil || !failure.TooLarge || failure.Code != codes.ResourceExhausted || failure.Status != nil || body != "" {
		t.Errorf("one byte more: %d bytes, %+v", len(body), failure)
	}
	if n := s.calls.Load(); n != 2 {
		t.Errorf("%d calls: it was repeated", n)
	}
	t.Run("while a request that is too large for the service is not that", func(t *testing.T) {
		d := start(t, nil, serve(t, echo, grpc.MaxRecvMsgSize(1000)).instance())
		_, failure := call(d, request(strings.Repeat("r", 1001)))
		if failure == nil || failure.TooLarge || failure.Code != codes.ResourceExhausted || failure.Status == nil {
			t.Errorf("got %+v", failure)
		}
	})
	t.Run("while the service's own refusal is its own", func(t *testing.T) {
		d := start(t, nil, serve(t, refuse(codes.ResourceExhausted, "quota is used up")).instance())
		if _, failure := call(d, request("")); failure == nil || failure.TooLarge || failure.Status == nil {
			t.Errorf("got %+v", failure)
		}
	})
}

func TestCall_withoutInstance(t *testing.T) {
	for name, instances := range map[string][]*registryv1.StoredInstance{
		"none":                        nil,
		"one that drains":             {{Zone: zone, Service: service, InstanceId: "a", Address: "127.0.0.1:1", Draining: true}},
		"one of another service":      {{Zone: zone, Service: "com.acme.Other", InstanceId: "a", Address: "127.0.0.1:1"}},
		"one of a look-alike of zone": {{Zone: zone + "-2", Service: service, InstanceId: "a", Address: "127.0.0.1:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, failure := call(start(t, nil, instances...), request(""))
			if failure == nil || failure.Code != codes.Unavailable || failure.Executed != dispatch.ExecutedNo || failure.Disagreement {
				t.Errorf("got %+v", failure)
			}
		})
	}
	t.Run("before the first view", func(t *testing.T) {
		d := dispatch.New(dispatch.Options{Access: permitsAll{}, Addresses: loopback(t)})
		defer d.Close()
		d.Update(nil)
		if _, failure := call(d, request("")); failure == nil || failure.Executed != dispatch.ExecutedNo {
			t.Errorf("got %+v", failure)
		}
	})
}

func TestCall_spreadsCallsByWeight(t *testing.T) {
	a, b := serve(t, answer("a")), serve(t, answer("b"))
	heavy := a.instance()
	heavy.Weight = 3
	d := start(t, nil, heavy, b.instance())
	for range 40 {
		if _, failure := call(d, request("")); failure != nil {
			t.Fatal(failure)
		}
	}
	if a.calls.Load() != 30 || b.calls.Load() != 10 {
		t.Errorf("%d and %d calls, want 30 and 10", a.calls.Load(), b.calls.Load())
	}
}

func TestCall_sharesOneConnectionAmongServicesAndViews(t *testing.T) {
	s := serve(t, echo)
	other := s.instance()
	other.Service = "com.acme.InvoiceService"
	d := start(t, nil, s.instance(), other)
	r := request("")
	r.Service.Service, r.FullMethod = other.Service, "/com.acme.InvoiceService/Get"
	for range 3 {
		if _, failure := call(d, request("")); failure != nil {
			t.Fatal(failure)
		}
		if _, failure := call(d, r); failure != nil {
			t.Fatal(failure)
		}
		d.Update(view(s.instance(), other, stored("another", unused(t)), s.instance()))
	}
	if n := s.connections.accepted.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestCall_deadlines(t *testing.T) {
	left := make(chan time.Duration, 1)
	d := start(t, func(o *dispatch.Options) { o.DefaultTimeout, o.MaxTimeout = 20*time.Minute, time.Hour },
		serve(t, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
			deadline, _ := ctx.Deadline()
			left <- time.Until(deadline)
			return nil, nil
		}).instance())
	for name, row := range map[string]struct{ stated, atLeast, atMost time.Duration }{
		"none stated":    {0, 10 * time.Minute, 20 * time.Minute},
		"one stated":     {40 * time.Minute, 30 * time.Minute, 40 * time.Minute},
		"more than most": {5 * time.Hour, 50 * time.Minute, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			r := request("")
			r.Timeout = row.stated
			if _, failure := call(d, r); failure != nil {
				t.Fatal(failure)
			}
			if got := wait(t, left, "the call"); got < row.atLeast || got > row.atMost {
				t.Errorf("%v left", got)
			}
		})
	}
}

func TestCall_endsWithItsDeadline(t *testing.T) {
	s := serve(t, func(ctx context.Context, _ string, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() })
	d := start(t, nil, s.instance(), serve(t, echo).instance())
	for _, repeat := range []bool{false, true} {
		for range 2 { // one of them meets the instance that hangs
			r := request("")
			r.RepeatSafe, r.Timeout = repeat, 100*time.Millisecond
			_, failure := call(d, r)
			if failure != nil && (failure.Code != codes.DeadlineExceeded || failure.Executed != dispatch.ExecutedUnknown) {
				t.Errorf("repeatable %t: %+v", repeat, failure)
			}
		}
	}
	if n := s.calls.Load(); n != 2 {
		t.Errorf("%d calls met the instance that hangs, want 2", n)
	}
}

func TestCall_cancelsTheServiceWhenTheCallerLeaves(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 1)
	d := start(t, nil, serve(t, func(ctx context.Context, _ string, _ []byte) ([]byte, error) {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}).instance())
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	var calling sync.WaitGroup
	defer calling.Wait()
	calling.Go(func() { _, err := d.Call(ctx, repeatable("")); result <- err })
	wait(t, began, "the call")
	cancel()
	var failure *dispatch.Error
	if err := wait(t, result, "the caller's end"); !errors.As(err, &failure) || failure.Code != codes.Canceled ||
		failure.Executed != dispatch.ExecutedUnknown {
		t.Errorf("the caller got %v", err)
	}
	if err := wait(t, ended, "the service's end"); !errors.Is(err, context.Canceled) {
		t.Errorf("the service saw %v", err)
	}
}

func TestCall_ofACallerWhoLeftAlready(t *testing.T) {
	d := start(t, nil, serve(t, echo).instance())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var failure *dispatch.Error
	if _, err := d.Call(ctx, request("")); !errors.As(err, &failure) || failure.Code != codes.Canceled ||
		failure.Executed != dispatch.ExecutedNo {
		t.Errorf("got %v", err)
	}
}

// Many callers, while instances come and go: no call is lost to a change of the view.
func TestCall_whileViewsChange(t *testing.T) {
	a, b := serve(t, answer("a")), serve(t, answer("b"))
	d := start(t, nil, a.instance(), b.instance())
	stop := make(chan struct{})
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, failure := call(d, request("")); failure != nil {
					t.Error(failure)
					return
				}
			}
		})
	}
	for i := range 100 {
		switch i % 4 {
		case 0:
			d.Update(view(a.instance()))
		case 1:
			d.Update(view(a.instance(), b.instance()))
		case 2:
			draining := a.instance()
			draining.Draining = true
			d.Update(view(draining, b.instance()))
		case 3:
			d.Update(view(stored(fmt.Sprintf("again-%d", i), a.address), b.instance()))
		}
		if _, failure := call(d, request("")); failure != nil {
			t.Error(failure)
		}
	}
	close(stop)
	callers.Wait()
}
