package main

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

const (
	// checkTimeout bounds one health check, callTimeout one call of the registry.
	checkTimeout = 3 * time.Second
	callTimeout  = 30 * time.Second
)

// alive reports whether the process may go on being registered. One that answers that it has no health service, or
// that it does not tell us, is alive: it accepts connections.
func (k *keeper) alive(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	r, err := healthv1.NewHealthClient(k.target).Check(ctx, &healthv1.HealthCheckRequest{})
	switch status.Code(err) {
	case codes.OK:
		return r.GetStatus() == healthv1.HealthCheckResponse_SERVING
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return false
	}
	return true
}

// renew keeps the registration alive, or makes it where there is none. An error is final.
func (k *keeper) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if k.ttl > 0 {
		_, err := k.client.KeepAlive(ctx, &registryv1.KeepAliveRequest{InstanceId: k.req.GetInstanceId()})
		switch {
		case err == nil:
			return nil
		case status.Code(err) != codes.NotFound:
			return k.endure(ctx, err)
		}
		k.say("the registration was lost; registering again")
	}
	k.ttl = 0
	r, err := k.client.Register(ctx, k.req)
	if err != nil {
		return k.endure(ctx, err)
	}
	k.ttl, k.req.InstanceId = r.GetTtl().AsDuration(), r.GetInstanceId()
	k.say("registered %s at %s as instance %s", k.req.GetServices(), k.req.GetAddress(), r.GetInstanceId())
	for _, t := range r.GetTools() {
		k.say("  %s  %s  %s", t.GetName(), oneLine(t.GetTitle()), t.GetResource())
	}
	for _, w := range r.GetWarnings() {
		k.say("  warning: %s", oneLine(w))
	}
	return nil
}

// endure passes over what may pass.
func (k *keeper) endure(ctx context.Context, err error) error {
	if ctx.Err() == context.Canceled {
		return nil
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.ResourceExhausted, codes.Internal, codes.Canceled:
		k.say("%v; trying again", plain(err))
		return nil
	}
	return plain(err)
}

// farewell deregisters, also when the context has ended.
func (k *keeper) farewell(ctx context.Context) {
	if k.ttl == 0 {
		return
	}
	k.ttl = 0
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if _, err := k.client.Deregister(ctx, &registryv1.DeregisterRequest{InstanceId: k.req.GetInstanceId()}, grpc.WaitForReady(true)); err != nil {
		k.say("%v; the registration lapses by itself", plain(err))
		return
	}
	k.say("deregistered %s", k.req.GetInstanceId())
}
