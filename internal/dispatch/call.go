package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

// Request is one call.
type Request struct {
	// Participant is who calls.
	Participant *participant.Participant
	// Service is whom resolution found.
	Service registry.Key
	// FullMethod is `/package.Service/Method`.
	FullMethod string
	// RepeatSafe says that the tool declares that repeating the call is safe.
	RepeatSafe bool
	// Timeout is what the tool states; 0 means the default.
	Timeout time.Duration
	// Body is the serialised request. It must not be modified, even after the call has failed.
	Body []byte
}

// Call sends one call and gives the serialised response, which is the caller's. Every error is an [*Error]. It returns
// when the context ends, and cancels the call then.
//
// What goes along is the participant and the assertion, a deadline, and nothing of the context's outgoing metadata.
func (d *Dispatcher) Call(ctx context.Context, r Request) ([]byte, error) {
	state := d.state.Load()
	if state.closed {
		return nil, notSent(codes.Unavailable, errors.New("the dispatcher is closed"))
	}
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = d.options.DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, min(timeout, d.options.MaxTimeout))
	defer cancel()
	body, failure := d.call(ctx, r)
	if failure != nil {
		return nil, failure
	}
	return body, nil
}

func (d *Dispatcher) call(ctx context.Context, r Request) ([]byte, *Error) {
	var (
		tried    []*connection
		last     *Error
		mayRun   bool // an attempt left and its outcome is not known
		repeated bool
	)
	fail := func(e *Error) ([]byte, *Error) {
		if mayRun && e.Executed == ExecutedNo {
			e.Executed = ExecutedUnknown
		}
		return nil, e
	}
	for {
		// The state is read for each attempt: an instance that has come meanwhile is as good as any.
		state := d.state.Load()
		m, ok := state.pick(r.Service, d.options.Now(), tried)
		if !ok {
			if last == nil {
				last = notSent(codes.Unavailable, errors.New("no instance takes calls"))
			}
			return fail(last)
		}
		if err := d.secondDoor(r, m); err != nil {
			return fail(refusedBySecondDoor(err))
		}
		tried = append(tried, m.connection)
		if !m.acquire() {
			continue // the instance left between the pick and now
		}
		body, failure := d.attempt(ctx, r, state.signer, m)
		m.release()
		if failure == nil {
			return body, nil
		}
		last = failure
		mayRun = mayRun || failure.Executed == ExecutedUnknown
		switch {
		case ctx.Err() != nil || failure.Code != codes.Unavailable:
			return fail(failure)
		case failure.Executed == ExecutedNo:
			// It never left: another instance, whatever the call does.
		case r.RepeatSafe && !repeated:
			repeated = true
		default:
			return fail(failure)
		}
	}
}

func (s *state) pick(service registry.Key, now time.Time, tried []*connection) (member, bool) {
	p := s.pools[service]
	if p == nil {
		return member{}, false
	}
	return p.pick(now, tried)
}

// secondDoor judges the call again, from what is stored of the instance that it is about to reach.
func (d *Dispatcher) secondDoor(r Request, m member) error {
	stored := registry.Key{Zone: m.stored.GetZone(), Service: m.stored.GetService()}
	if !d.options.Rules.Reaches(r.Participant, stored.Zone) {
		return fmt.Errorf("%v participant %q does not reach the zone of %s, instance %s", r.Participant.GetKind(),
			r.Participant.GetId(), stored, m.stored.GetInstanceId())
	}
	if service, method, ok := strings.Cut(strings.TrimPrefix(r.FullMethod, "/"), "/"); !ok || method == "" ||
		service != stored.Service || !strings.HasPrefix(r.FullMethod, "/") {
		return fmt.Errorf("the method is not one of %s, instance %s", stored, m.stored.GetInstanceId())
	}
	if err := d.options.Access.Permits(r.Participant, stored, r.FullMethod); err != nil {
		return fmt.Errorf("%v participant %q may not call %s: %w", r.Participant.GetKind(), r.Participant.GetId(), stored, err)
	}
	return nil
}

var unary = grpc.StreamDesc{}

// attempt sends the call to one instance.
func (d *Dispatcher) attempt(ctx context.Context, r Request, signer *assertion.Signer, m member) ([]byte, *Error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sent := new(outcome)
	ctx, failure := d.head(context.WithValue(ctx, outcomeKey{}, sent), r, signer, m)
	if failure != nil {
		return nil, failure
	}
	client, err := m.dial()
	if err != nil {
		m.eject(d.options.Now(), err)
		return nil, notSent(codes.Unavailable, err)
	}
	stream, err := client.NewStream(ctx, &unary, r.FullMethod,
		grpc.ForceCodecV2(passThrough{}), grpc.MaxCallRecvMsgSize(d.options.MaxResponseBytes))
	if err != nil {
		return nil, d.neverLeft(ctx, m, err)
	}
	var body []byte
	if err = stream.SendMsg(r.Body); err == nil {
		err = stream.RecvMsg(&body)
	}
	if err == nil {
		m.succeeded()
		return body, nil
	}
	return nil, d.left(ctx, m, sent, err)
}

// head gives the context of one attempt: our metadata and no other.
func (d *Dispatcher) head(ctx context.Context, r Request, signer *assertion.Signer, m member) (context.Context, *Error) {
	if signer == nil {
		return nil, notSent(codes.Internal, errors.New("there is no assertion key to sign with yet"))
	}
	raw, err := assertion.Serialize(r.Participant)
	if err != nil {
		return nil, notSent(codes.Internal, err)
	}
	audience := assertion.Audience(m.stored.GetZone(), m.stored.GetService())
	token, err := signer.SignSerialized(raw, r.FullMethod, audience, d.options.Now())
	if err != nil {
		return nil, notSent(codes.Internal, err)
	}
	return metadata.NewOutgoingContext(ctx, metadata.MD{
		assertion.ParticipantKey: {string(raw)},
		assertion.AssertionKey:   {token},
	}), nil
}

// neverLeft judges a call for which no stream could be opened.
func (d *Dispatcher) neverLeft(ctx context.Context, m member, err error) *Error {
	code := status.Code(err)
	switch {
	case ctx.Err() != nil:
		code = status.FromContextError(ctx.Err()).Code()
	case code == codes.Unavailable:
		m.eject(d.options.Now(), err)
	}
	return notSent(code, err)
}

// left judges a call that was sent and failed.
func (d *Dispatcher) left(ctx context.Context, m member, sent *outcome, err error) *Error {
	s, _ := status.FromError(err)
	e := &Error{Code: s.Code(), Err: err}
	switch {
	case s.Code() == codes.ResourceExhausted && sent.responding.Load() && isTooLarge(s.Message()):
		e.TooLarge = true
	case sent.answered.Load():
		e.Status = s
		m.succeeded()
	case ctx.Err() != nil:
		e.Code = status.FromContextError(ctx.Err()).Code()
	case s.Code() == codes.Unavailable:
		m.eject(d.options.Now(), err)
	}
	switch {
	case e.TooLarge:
	case e.Code == codes.Unavailable || e.Code == codes.DeadlineExceeded || e.Code == codes.Canceled || e.Status == nil:
		e.Executed = ExecutedUnknown
	}
	return e
}

// isTooLarge reports whether gRPC refused a message for its size, here a response that had begun to arrive: a service
// whose gRPC refused the request says the same without beginning one. gRPC gives no other sign of it than its text.
func isTooLarge(message string) bool {
	return strings.HasPrefix(message, "grpc: received message") && strings.Contains(message, "larger than max") ||
		strings.HasPrefix(message, "grpc: message after decompression larger than max")
}
