package service

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/signal"
	"syscall"

	"google.golang.org/grpc"
)

// Run serves what register puts on the server, keeps it registered, and returns after the farewell: when ctx ends, or
// on SIGTERM or SIGINT (a second signal kills). It returns nil after a farewell in which no call was cancelled.
//
// Anything that cannot come right by waiting is an error: options that say too little, an address that cannot be
// listened on, an [Expose] that names nothing, a contract that the registry refuses. A registry that is away is waited
// for.
func Run(ctx context.Context, register func(grpc.ServiceRegistrar), options ...Option) error {
	s, err := New(options...)
	if err != nil {
		return err
	}
	server := grpc.NewServer(s.ServerOptions()...)
	register(server)
	s.RegisterHealth(server)

	listener := s.settings.listener
	if listener == nil {
		if listener, err = net.Listen("tcp", s.settings.listen); err != nil {
			return errors.Join(fmt.Errorf("run service: %w", err), s.Stop(ctx, server))
		}
	}
	if !s.settings.noSignals {
		var restore context.CancelFunc
		ctx, restore = signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
		// From the first signal on, the next one has its usual effect.
		defer restore()
		defer context.AfterFunc(ctx, restore)()
	}
	// A server that fails ends the waiting for the registry, too.
	running, failed := context.WithCancelCause(ctx)
	defer failed(nil)
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := server.Serve(listener); err != nil {
			failed(fmt.Errorf("run service: serve %s: %w", listener.Addr(), err))
		}
	}()
	err = s.Register(running, server, listener.Addr())
	if err == nil {
		<-running.Done()
	}
	// Before the farewell, after which the server is stopped for a reason of ours.
	err = failure(ctx, running, err)
	// The context that ended the service cannot bound its farewell.
	stopped := s.Stop(context.WithoutCancel(ctx), server)
	<-served
	return errors.Join(err, stopped)
}

// failure is why a service ended, if it was not asked to.
func failure(asked, running context.Context, registration error) error {
	switch {
	case asked.Err() != nil:
		return nil
	case running.Err() != nil:
		return context.Cause(running)
	}
	return registration
}
