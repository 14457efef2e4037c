package dispatch

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
)

// Receive takes one message of a stream and says whether it is the response, after which nothing may come. It must not
// keep the message. An error says that the message is not what the service may send, and ends the call.
type Receive func(message []byte) (response bool, err error)

// What is wrong with the messages of a stream.
const (
	faultMessage  = "a message of the stream cannot be read"
	faultAfter    = "the stream goes on after its result"
	faultNoResult = "the stream ended without a result"
)

var (
	errAfter    = errors.New("dispatch: " + faultAfter)
	errNoResult = errors.New("dispatch: " + faultNoResult)
)

// Stream sends one call of a server-streaming function. Each message is handed to receive when it arrives, one after the
// other and by the goroutine that called Stream; the service waits while receive does. The message that is the response
// is given once the service has ended the stream, and the caller frees it when it is done with it. Exactly one message
// must be the response, and the last one: any other stream fails with [Error.Fault].
//
// Otherwise it is like Call, doors, deadline and limits included: the limit of a response holds for each message. It is
// repeated by the same rules, but never after a message has arrived.
func (d *Dispatcher) Stream(ctx context.Context, r *Request, receive Receive) (mem.Buffer, error) {
	return d.send(ctx, r, receive)
}

var serverStream = &grpc.StreamDesc{ServerStreams: true}

// stream sends the call to one instance and receives its messages.
func (d *Dispatcher) stream(call *attemptContext, r *Request, receive Receive, m *member, client *grpc.ClientConn, e *exchange) (mem.Buffer, *Error) {
	// gRPC keeps a stream until its context ends, unless it was read to its end.
	ctx, cancel := context.WithCancel(call)
	defer cancel()
	stream, err := client.NewStream(ctx, serverStream, r.FullMethod, e.options[:]...)
	if err == nil {
		err = stream.SendMsg(e)
	}
	if err == nil {
		err = stream.CloseSend()
	}
	if !e.left {
		return nil, d.neverLeft(call.callContext, m, err)
	}
	var (
		response mem.Buffer
		received bool
	)
	fail := func(failure *Error) (mem.Buffer, *Error) {
		if response != nil {
			response.Free()
		}
		failure.received = received
		return nil, failure
	}
	for {
		if err == nil {
			err = stream.RecvMsg(e)
		}
		switch {
		case err == io.EOF && response != nil:
			m.succeeded()
			return response, nil
		case err == io.EOF:
			m.succeeded()
			return fail(faulty(faultNoResult, errNoResult))
		case err != nil:
			return fail(d.left(call.callContext, m, e, err))
		}
		message := e.response
		e.response, received = nil, true
		if response != nil {
			message.Free()
			return fail(faulty(faultAfter, errAfter))
		}
		last, problem := receive(message.ReadOnlyData())
		if last && problem == nil {
			response = message
			continue
		}
		message.Free()
		if problem != nil {
			return fail(faulty(faultMessage, fmt.Errorf("dispatch: %s: %w", faultMessage, problem)))
		}
	}
}

// faulty is the failure of a stream whose messages are wrong. The service did run the call, but how far nobody knows.
func faulty(fault string, err error) *Error {
	return &Error{Code: codes.Internal, Executed: ExecutedUnknown, Fault: fault, Err: err}
}
