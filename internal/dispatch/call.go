package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
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
	// Forwarded are names and values of metadata that goes along, one after the other, as [Forwarding.Forward] gives them.
	Forwarded []string
	// Arguments are what the request was made of, as canonical JSON, for an access rule that reads them.
	Arguments []byte
}

// Call sends one call and gives the serialised response, which the caller frees when it is done with it. Every error is
// an [*Error]. It returns when the context ends, and cancels the call then.
//
// What goes along is the participant and the assertion, a deadline, what the request forwards, and nothing of the
// context's outgoing metadata.
func (d *Dispatcher) Call(ctx context.Context, r *Request) (mem.Buffer, error) {
	return d.send(ctx, r, nil)
}

// send sends one call, of a server-streaming function where somebody receives.
func (d *Dispatcher) send(ctx context.Context, r *Request, receive Receive) (mem.Buffer, error) {
	if d.state.Load().closed {
		return nil, notSent(codes.Unavailable, errors.New("the dispatcher is closed"))
	}
	timeout := r.Timeout
	if timeout <= 0 {
		timeout = d.options.DefaultTimeout
	}
	call := newCallContext(ctx, min(timeout, d.options.MaxTimeout))
	defer call.release()
	response, failure := d.call(call, r, receive)
	if failure != nil {
		return nil, failure
	}
	return response, nil
}

func (d *Dispatcher) call(ctx *callContext, r *Request, receive Receive) (mem.Buffer, *Error) {
	var (
		room     [4]*connection // for those tried, on the stack
		tried    = room[:0]
		last     *Error
		mayRun   bool // an attempt left and its outcome is not known
		repeated bool
	)
	fail := func(e *Error) (mem.Buffer, *Error) {
		if mayRun && e.Executed == ExecutedNo {
			e.Executed = ExecutedUnknown
		}
		return nil, e
	}
	for {
		// The state is read for each attempt: an instance that has come meanwhile is as good as any.
		state, now := d.state.Load(), d.options.Now()
		m := state.pick(r.Service, now, tried)
		if m == nil {
			if last == nil {
				last = notSent(codes.Unavailable, errors.New("no instance takes calls"))
			}
			return fail(last)
		}
		// Asked first: a contract that becomes known in between was not judged by.
		known := d.options.Access.Knows(m.stored)
		if err := d.secondDoor(r, m); err != nil {
			return fail(refusedBySecondDoor(err))
		}
		tried = append(tried, m.connection)
		if !known {
			// Another instance takes the call: whom this one permits nobody can tell yet.
			if last == nil {
				last = notSent(codes.Unavailable, errors.New("the contract of the instance was not read yet"))
			}
			continue
		}
		if !m.acquire() {
			continue // the instance left between the pick and now
		}
		response, failure := d.attempt(ctx, r, receive, state.signer, m, now)
		if failure == nil {
			return response, nil
		}
		last = failure
		mayRun = mayRun || failure.Executed == ExecutedUnknown
		switch {
		case ctx.Err() != nil || failure.Code != codes.Unavailable || failure.received:
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

func (s *state) pick(service registry.Key, now time.Time, tried []*connection) *member {
	p := s.pools[service]
	if p == nil {
		return nil
	}
	return p.pick(now, tried)
}

// secondDoor judges the call again, from what is stored of the instance that it is about to reach.
func (d *Dispatcher) secondDoor(r *Request, m *member) error {
	stored := registry.Key{Zone: m.stored.GetZone(), Service: m.stored.GetService()}
	if !d.options.Rules.Reaches(r.Participant, stored.Zone) {
		return fmt.Errorf("%v participant %q does not reach the zone of %s, instance %s", r.Participant.GetKind(),
			r.Participant.GetId(), stored, m.stored.GetInstanceId())
	}
	if service, method, ok := strings.Cut(strings.TrimPrefix(r.FullMethod, "/"), "/"); !ok || method == "" ||
		service != stored.Service || !strings.HasPrefix(r.FullMethod, "/") {
		return fmt.Errorf("the method is not one of %s, instance %s", stored, m.stored.GetInstanceId())
	}
	if err := d.options.Access.Permits(r.Participant, stored, r.FullMethod, r.Arguments); err != nil {
		return fmt.Errorf("%v participant %q may not call %s: %w", r.Participant.GetKind(), r.Participant.GetId(), stored, err)
	}
	return nil
}

// attempt sends the call to one instance, which was acquired, and releases it.
func (d *Dispatcher) attempt(ctx *callContext, r *Request, receive Receive, signer *assertion.Signer, m *member, now time.Time) (mem.Buffer, *Error) {
	defer m.release() // whatever a receiver does
	if signer == nil {
		return nil, notSent(codes.Internal, errors.New("there is no assertion key to sign with yet"))
	}
	outgoing, err := signer.Outgoing(r.Participant, r.FullMethod, m.audience, now)
	if err != nil {
		return nil, notSent(codes.Internal, err)
	}
	if len(r.Forwarded) > 0 {
		outgoing = metadata.AppendToOutgoingContext(outgoing, r.Forwarded...)
	}
	client, err := m.dial()
	if err != nil {
		m.eject(d.options.Now(), err)
		return nil, notSent(codes.Unavailable, err)
	}
	e := &exchange{request: r.Body}
	e.options = [...]grpc.CallOption{d.codec, d.largest, grpc.Trailer(&e.trailer)}
	if receive != nil {
		return d.stream(&attemptContext{ctx, outgoing}, r, receive, m, client, e)
	}
	err = client.Invoke(&attemptContext{ctx, outgoing}, r.FullMethod, e, e, e.options[:]...)
	switch {
	case err == nil:
		m.succeeded()
		return e.response, nil
	case e.response != nil:
		e.response.Free()
	case !e.left:
		return nil, d.neverLeft(ctx, m, err)
	}
	return nil, d.left(ctx, m, e, err)
}

// neverLeft judges a call for which no stream could be opened.
func (d *Dispatcher) neverLeft(ctx context.Context, m *member, err error) *Error {
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
func (d *Dispatcher) left(ctx context.Context, m *member, sent *exchange, err error) *Error {
	s, _ := status.FromError(err)
	e := &Error{Code: s.Code(), Err: err}
	switch {
	case s.Code() == codes.ResourceExhausted && len(sent.trailer) == 0 && isTooLarge(s.Message()):
		e.TooLarge = true
	case sent.answered(s):
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
