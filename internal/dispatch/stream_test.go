package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/dispatch"
	"github.com/sallyport-dev/sallyport/participant"
)

// streamer answers any server-streaming method: what it sends are the messages.
type streamer func(ctx context.Context, request []byte, send func(message string)) error

// serveStream is serve for streams. A message that could not be sent ends the stream.
func serveStream(t *testing.T, h streamer, options ...grpc.ServerOption) *server {
	t.Helper()
	var s *server
	s = serve(t, nil, append(options, grpc.StreamInterceptor(
		func(_ any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
			s.calls.Add(1)
			var request []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			return h(stream.Context(), request, func(message string) { _ = stream.SendMsg([]byte(message)) })
		}))...)
	return s
}

// script sends these messages, one after the other, and ends with err.
func script(err error, messages ...string) streamer {
	return func(_ context.Context, _ []byte, send func(string)) error {
		for _, m := range messages {
			send(m)
		}
		return err
	}
}

var errUnreadable = errors.New("unreadable")

// receiver collects messages. Those that begin with = are the response, and ? is unreadable.
type receiver struct{ got []string }

func (r *receiver) receive(message []byte) (bool, error) {
	r.got = append(r.got, string(message))
	if string(message) == "?" {
		return false, errUnreadable
	}
	return strings.HasPrefix(string(message), "="), nil
}

// stream makes a call and gives the response, what was received on the way, and the error.
func stream(ctx context.Context, d *dispatch.Dispatcher, r *dispatch.Request) (string, []string, *dispatch.Error) {
	var all receiver
	response, err := d.Stream(ctx, r, all.receive)
	if err != nil {
		return "", all.got, err.(*dispatch.Error) //nolint:errorlint // every error is one, which this asserts
	}
	defer response.Free()
	return string(response.ReadOnlyData()), all.got, nil
}

func TestStream_handsOverEachMessage(t *testing.T) {
	long := "=" + strings.Repeat("x", 6<<20)
	many := make([]string, 1000)
	for i := range many {
		many[i] = strings.Repeat("m", i)
	}
	for _, row := range []struct {
		name     string
		messages []string
	}{
		{"only the result", []string{"=a"}},
		{"signs and the result", []string{"1", "2", "", "=a"}},
		{"many", append(many, "=")},
		{"large ones", []string{long[1:], long}},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := start(t, nil, serveStream(t, script(nil, row.messages...)).instance())
			response, got, failure := stream(t.Context(), d, request("x"))
			if failure != nil {
				t.Fatal(failure)
			}
			if last := row.messages[len(row.messages)-1]; response != last || !slices.Equal(got, row.messages) {
				t.Errorf("%d messages, a response of %d bytes", len(got), len(response))
			}
		})
	}
}

// A message is handed over when it arrives, and not when the next one does.
func TestStream_holdsNoMessageBack(t *testing.T) {
	next := make(chan struct{})
	d := start(t, nil, serveStream(t, func(ctx context.Context, _ []byte, send func(string)) error {
		for _, m := range []string{"1", "2", "=3"} {
			send(m)
			select {
			case <-next:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	}).instance())
	count := 0
	response, err := d.Stream(t.Context(), request(""), func(message []byte) (bool, error) {
		count++
		next <- struct{}{}
		return message[0] == '=', nil
	})
	if err != nil || count != 3 {
		t.Fatalf("%d messages, %v", count, err)
	}
	response.Free()
}

func TestStream_wantsOneResultAtTheEnd(t *testing.T) {
	for _, row := range []struct {
		name     string
		messages []string
		fault    string
		received int
	}{
		{"no message", nil, "the stream ended without a result", 0},
		{"only signs", []string{"1", "2"}, "the stream ended without a result", 2},
		{"two results", []string{"1", "=2", "=3"}, "the stream goes on after its result", 2},
		{"a sign after the result", []string{"=2", "3", "4"}, "the stream goes on after its result", 1},
		{"an unreadable message", []string{"1", "?", "=2"}, "a message of the stream cannot be read", 2},
		{"an unreadable message after the result", []string{"=1", "?"}, "the stream goes on after its result", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := serveStream(t, script(nil, row.messages...))
			d := start(t, nil, s.instance())
			response, got, failure := stream(t.Context(), d, repeatable(""))
			if failure == nil {
				t.Fatalf("got %q", response)
			}
			if failure.Fault != row.fault || failure.Code != codes.Internal || failure.Status != nil ||
				failure.Executed != dispatch.ExecutedUnknown || !strings.Contains(failure.Error(), row.fault) {
				t.Errorf("got %+v", failure)
			}
			if errors.Is(failure, errUnreadable) != strings.Contains(row.fault, "cannot be read") {
				t.Errorf("the cause is %v", failure.Err)
			}
			if len(got) != row.received || s.calls.Load() != 1 {
				t.Errorf("received %q in %d calls", got, s.calls.Load())
			}
		})
	}
}

func TestStream_givesTheServicesStatus(t *testing.T) {
	for _, row := range []struct {
		name     string
		messages []string
		code     codes.Code
		executed string
	}{
		{"at once", nil, codes.NotFound, ""},
		{"after a sign", []string{"1"}, codes.FailedPrecondition, ""},
		{"after the result", []string{"1", "=2"}, codes.Aborted, ""},
		{"unavailable after a sign", []string{"1"}, codes.Unavailable, dispatch.ExecutedUnknown},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := serveStream(t, script(status.Error(row.code, "the service says so"), row.messages...))
			_, got, failure := stream(t.Context(), start(t, nil, s.instance()), repeatable(""))
			if failure == nil || failure.Code != row.code || failure.Executed != row.executed || failure.Fault != "" ||
				failure.Status.Message() != "the service says so" {
				t.Fatalf("got %+v", failure)
			}
			if !slices.Equal(got, row.messages) || s.calls.Load() != 1 {
				t.Errorf("received %q in %d calls", got, s.calls.Load())
			}
		})
	}
}

func TestStream_carriesTheParticipantAndADeadline(t *testing.T) {
	type seen struct {
		md       metadata.MD
		deadline time.Time
		request  string
	}
	calls := make(chan seen, 1)
	d := start(t, nil, serveStream(t, func(ctx context.Context, request []byte, send func(string)) error {
		md, _ := metadata.FromIncomingContext(ctx)
		deadline, _ := ctx.Deadline()
		calls <- seen{md, deadline, string(request)}
		send("=")
		return nil
	}).instance())
	r := request("\x0a\x01a")
	r.Timeout = time.Hour // more than the longest
	if _, _, failure := stream(metadata.AppendToOutgoingContext(t.Context(), "x-secret", "1"), d, r); failure != nil {
		t.Fatal(failure)
	}
	got := wait(t, calls, "the call")
	if got.request != "\x0a\x01a" || len(got.md.Get("x-secret")) != 0 || time.Until(got.deadline) > 5*time.Minute {
		t.Errorf("got %+v", got)
	}
	token := got.md.Get(assertion.AssertionKey)
	if len(token) != 1 {
		t.Fatalf("assertions %q", token)
	}
	if _, err := verifier().Verify(t.Context(), token[0], method, "app.acme.orders~com.acme.OrderService"); err != nil {
		t.Error(err)
	}
}

func TestStream_asksTheSecondDoor(t *testing.T) {
	s := serveStream(t, script(nil, "="))
	r := request("")
	r.Participant = participant.Application("other", "shop", "x")
	_, _, failure := stream(t.Context(), start(t, nil, s.instance()), r)
	if failure == nil || !failure.Disagreement || s.calls.Load() != 0 {
		t.Errorf("got %v after %d calls", failure, s.calls.Load())
	}
}

func TestStream_refusesAMessageThatIsTooLarge(t *testing.T) {
	for name, messages := range map[string][]string{"a sign": {"1", strings.Repeat("x", 1001), "="}, "the result": {"1", "=" + strings.Repeat("x", 1000)}} {
		d := start(t, func(o *dispatch.Options) { o.MaxResponseBytes = 1000 }, serveStream(t, script(nil, messages...)).instance())
		_, got, failure := stream(t.Context(), d, request(""))
		if failure == nil || !failure.TooLarge || failure.Executed != "" || !slices.Equal(got, []string{"1"}) {
			t.Errorf("%s: got %v after %q", name, failure, got)
		}
	}
	// Together they may be larger.
	d := start(t, func(o *dispatch.Options) { o.MaxResponseBytes = 1000 }, serveStream(t, script(nil, strings.Repeat("x", 999), strings.Repeat("y", 999), "=")).instance())
	if _, _, failure := stream(t.Context(), d, request("")); failure != nil {
		t.Error(failure)
	}
}

// A call that was lost before its first message is repeated once if that is safe; one that was lost later never is.
func TestStream_repeatsByTheRulesOfCalls(t *testing.T) {
	for _, row := range []struct {
		name     string
		messages int // before the connection is lost
		safe     bool
		calls    int64 // of the instance that works
	}{
		{"lost at once, not safe", 0, false, 0},
		{"lost at once, safe", 0, true, 1},
		{"lost after a message, not safe", 1, false, 0},
		{"lost after a message, safe", 1, true, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			received, lost := make(chan struct{}), make(chan struct{}, 1)
			broken := serveHTTP2(t, func(w http.ResponseWriter, r *http.Request) {
				head(w)
				if row.messages > 0 {
					_, _ = w.Write([]byte("\x00\x00\x00\x00\x011"))
					w.(http.Flusher).Flush()
					<-received
				}
				lost <- struct{}{}
				r.Context().Value(connKey{}).(net.Conn).Close()
			})
			working := serveStream(t, script(nil, "=working"))
			var log bytes.Buffer
			d := start(t, func(o *dispatch.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) }, stored("broken", broken), working.instance())
			r := request("")
			r.RepeatSafe = row.safe
			for len(lost) == 0 { // until it is the broken one's turn
				working.calls.Store(0)
				response, err := d.Stream(t.Context(), r, func(message []byte) (bool, error) {
					if string(message) == "1" {
						close(received)
					}
					return message[0] == '=', nil
				})
				if len(lost) == 0 {
					response.Free()
					continue
				}
				if working.calls.Load() != row.calls || (err == nil) != (row.calls == 1) {
					t.Fatalf("got %v after %d calls of the other", err, working.calls.Load())
				}
				if !strings.Contains(log.String(), "does not answer") {
					t.Error("the instance was not ejected")
				}
				if err == nil {
					response.Free()
					continue
				}
				failure := new(dispatch.Error)
				if !errors.As(err, &failure) || failure.Code != codes.Unavailable || failure.Executed != dispatch.ExecutedUnknown || failure.Fault != "" {
					t.Errorf("got %+v", failure)
				}
			}
		})
	}
}

func TestStream_endsWithTheService(t *testing.T) {
	var s *server
	stop := make(chan struct{})
	s = serveStream(t, func(ctx context.Context, _ []byte, send func(string)) error {
		send("1")
		<-ctx.Done()
		return nil
	})
	go func() { <-stop; s.Stop() }()
	response, err := start(t, nil, s.instance()).Stream(t.Context(), repeatable(""), func([]byte) (bool, error) {
		close(stop)
		return false, nil
	})
	failure := new(dispatch.Error)
	if !errors.As(err, &failure) || failure.Code != codes.Unavailable || failure.Executed != dispatch.ExecutedUnknown || failure.Status != nil {
		t.Errorf("got %v, %+v", response, failure)
	}
}

func TestStream_goesToAnotherInstanceWhenItNeverLeft(t *testing.T) {
	working := serveStream(t, script(nil, "1", "=2"))
	d := start(t, nil, stored("gone", unused(t)), working.instance())
	for range 4 {
		response, got, failure := stream(t.Context(), d, request(""))
		if failure != nil || response != "=2" || !slices.Equal(got, []string{"1", "=2"}) {
			t.Fatalf("got %q, %v", got, failure)
		}
	}
}

func TestStream_endsWithItsContext(t *testing.T) {
	running, ended := make(chan struct{}, 1), make(chan error, 1)
	s := serveStream(t, func(ctx context.Context, _ []byte, send func(string)) error {
		send("1")
		running <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return status.FromContextError(ctx.Err()).Err()
	})
	d := start(t, nil, s.instance())
	for _, row := range []struct {
		name string
		call func() *dispatch.Error
		code codes.Code
	}{
		{"the caller left", func() *dispatch.Error {
			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-running; cancel() }()
			_, _, failure := stream(ctx, d, repeatable(""))
			return failure
		}, codes.Canceled},
		{"the deadline passed", func() *dispatch.Error {
			r := repeatable("")
			r.Timeout = 50 * time.Millisecond
			_, _, failure := stream(t.Context(), d, r)
			<-running
			return failure
		}, codes.DeadlineExceeded},
		{"the receiver wants no more", func() *dispatch.Error {
			_, err := d.Stream(t.Context(), repeatable(""), func([]byte) (bool, error) { return false, io.ErrClosedPipe })
			<-running
			failure := new(dispatch.Error)
			if !errors.As(err, &failure) || !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("got %v", err)
			}
			return failure
		}, codes.Internal},
	} {
		t.Run(row.name, func(t *testing.T) {
			failure := row.call()
			if failure == nil || failure.Code != row.code || failure.Executed != dispatch.ExecutedUnknown {
				t.Errorf("got %+v", failure)
			}
			if err := wait(t, ended, "the end of the service's context"); err == nil {
				t.Error("the service's context did not end")
			}
		})
	}
	if n := s.calls.Load(); n != 3 {
		t.Errorf("%d calls", n)
	}
}

// A stream in which the service has sent its result and does not end runs into its deadline.
func TestStream_waitsForTheEnd(t *testing.T) {
	// Not the end of its context: the service may see the deadline first, and would end the stream in time.
	release := make(chan struct{})
	defer close(release)
	d := start(t, nil, serveStream(t, func(_ context.Context, _ []byte, send func(string)) error {
		send("=1")
		<-release
		return nil
	}).instance())
	r := request("")
	r.Timeout = 50 * time.Millisecond
	if _, _, failure := stream(t.Context(), d, r); failure == nil || failure.Code != codes.DeadlineExceeded {
		t.Errorf("got %v", failure)
	}
}

// A receiver that panics leaves nothing behind: the dispatcher can be closed, and the service is told.
func TestStream_survivesAPanicOfTheReceiver(t *testing.T) {
	ended := make(chan struct{})
	d := start(t, nil, serveStream(t, func(ctx context.Context, _ []byte, send func(string)) error {
		send("1")
		<-ctx.Done()
		close(ended)
		return nil
	}).instance())
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = d.Stream(t.Context(), request(""), func([]byte) (bool, error) { panic("receiver") })
	}()
	wait(t, ended, "the end of the service's context")
	d.Close()
}

// The service waits while the receiver does: what the edge holds of a stream is bounded by the windows of its connection.
func TestStream_slowsTheServiceDown(t *testing.T) {
	const message = 1 << 20
	var sent atomic.Int64
	d := start(t, nil, serveStream(t, func(ctx context.Context, _ []byte, send func(string)) error {
		for range 64 {
			send(strings.Repeat("x", message))
			sent.Add(1)
		}
		send("=")
		return ctx.Err()
	}).instance())
	most, received := int64(0), int64(0)
	response, err := d.Stream(t.Context(), request(""), func(m []byte) (bool, error) {
		received++
		most = max(most, sent.Load()-received)
		return len(m) == 1, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	response.Free()
	if most > 32 {
		t.Errorf("the service was %d messages ahead", most)
	}
}
