package service

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"
)

// calls counts the calls that are running, so that a farewell can wait for them. No lock is taken per call.
type calls struct {
	running atomic.Int64
	waiting atomic.Bool
	idle    chan struct{}
	leaving chan struct{}
}

func newCalls() *calls { return &calls{idle: make(chan struct{}, 1), leaving: make(chan struct{})} }

type leavingKey struct{}

// Leaving gives the handler of a stream a channel that is closed when the process begins its farewell, so that a
// stream without an end of its own can end then instead of being cancelled at the drain timeout. Elsewhere it is nil,
// which never receives.
func Leaving(ctx context.Context) <-chan struct{} {
	leaving, _ := ctx.Value(leavingKey{}).(chan struct{})
	return leaving
}

func (c *calls) begin() { c.running.Add(1) }

func (c *calls) end() {
	if c.running.Add(-1) == 0 && c.waiting.Load() {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
}

// leave tells the handlers of streams to end.
func (c *calls) leave() { close(c.leaving) }

// wait returns when no call runs, or with the context's cause.
func (c *calls) wait(ctx context.Context) error {
	// First the flag, then the count: a call that ends in between sees the flag.
	c.waiting.Store(true)
	for c.running.Load() > 0 {
		select {
		case <-c.idle:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (c *calls) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if open(info.FullMethod) {
		return next(ctx, request)
	}
	c.begin()
	defer c.end()
	return next(ctx, request)
}

func (c *calls) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	// A health watch lasts as long as its watcher likes: nobody waits for it.
	if open(info.FullMethod) {
		return next(server, stream)
	}
	c.begin()
	defer c.end()
	return next(server, &contextStream{ServerStream: stream, ctx: context.WithValue(stream.Context(), leavingKey{}, c.leaving)})
}

// contextStream is a stream with a context of its own.
type contextStream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *contextStream) Context() context.Context { return s.ctx }
