package service

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

// How the registry is asked. A pause doubles from the first to the last one; jitter keeps a thousand processes that
// lost the same registry from coming back in one wave.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 10 * time.Second
	// rpcPatience bounds one RPC, and farewellPatience one of the farewell, so that a silent registry does not eat the
	// time of the running calls.
	rpcPatience      = 5 * time.Second
	farewellPatience = 2 * time.Second
	// unknownMachine is how many refusals of the credentials the first registration survives: a machine that was made
	// a moment ago may not be known to every replica yet.
	unknownMachine = 4
	// shortestRenewal keeps a registry that answers no time to live from being asked without end.
	shortestRenewal = 100 * time.Millisecond
)

// lease keeps one process registered. After grant, its goroutine run owns all fields; stop ends it.
type lease struct {
	client      registryv1.RegistryServiceClient
	request     *registryv1.RegisterRequest
	descriptors *descriptorpb.FileDescriptorSet
	digest      string
	ttl         time.Duration
	keys        *keys
	onRegister  func(Registration)
	logger      *slog.Logger
	// uncertain says that an answer to a registration was never heard: it may have been granted.
	uncertain bool

	// cancelRenewal ends what run is doing; farewell then makes it drain.
	cancelRenewal context.CancelFunc
	farewell      chan context.Context
	drained       chan error
	done          chan struct{}
	end           context.CancelFunc
}

// grant registers the process for the first time. It tries again while the registry is away and gives up on a refusal.
func (l *lease) grant(ctx context.Context) error {
	refused := 0
	for attempt := 0; ; attempt++ {
		err := l.register(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return l.giveUp(ctx)
		}
		if status.Code(err) == codes.Unauthenticated {
			refused++
		}
		if refusal(err) && (status.Code(err) != codes.Unauthenticated || refused >= unknownMachine) {
			return err
		}
		pause := pauseAfter(attempt)
		l.logger.Warn("not registered yet, trying again", "pause", pause, "error", err)
		if err := sleep(ctx, pause); err != nil {
			return l.giveUp(ctx)
		}
	}
}

// giveUp takes back a registration that may have been granted unheard, so that nobody is sent to a process that is gone.
func (l *lease) giveUp(ctx context.Context) error {
	if l.uncertain {
		if err := l.deregister(context.WithoutCancel(ctx)); err != nil {
			l.logger.Warn("a registration without an answer may have been granted: it runs out by itself", "error", err)
		}
	}
	return context.Cause(ctx)
}

// register sends one registration: by the contract's digest once it is known, with the descriptors where the registry
// does not know it (any more).
func (l *lease) register(ctx context.Context) error {
	byDigest := l.digest != ""
	response, err := l.send(ctx, byDigest)
	if byDigest && refusal(err) {
		response, err = l.send(ctx, false)
	}
	if err != nil {
		switch status.Code(err) {
		case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable:
			l.uncertain = true
		}
		return fmt.Errorf("register at the registry: %w", err)
	}
	l.request.InstanceId = response.GetInstanceId()
	l.digest = response.GetContractDigest()
	l.ttl = response.GetTtl().AsDuration()
	if err := l.keys.refresh(ctx); err != nil {
		// They are asked for again when the first call needs one.
		l.logger.Warn("assertion keys not loaded yet", "error", err)
	}
	l.logger.Info("registered", "instance", response.GetInstanceId(), "address", l.request.GetAddress(),
		"tools", len(response.GetTools()), "ttl", l.ttl)
	for _, warning := range response.GetWarnings() {
		l.logger.Warn("the registry warns of the contract", "warning", warning)
	}
	if l.onRegister != nil {
		l.onRegister(Registration{
			InstanceID: response.GetInstanceId(), Address: l.request.GetAddress(), TTL: l.ttl,
			Tools: response.GetTools(), Warnings: response.GetWarnings(),
		})
	}
	return nil
}

func (l *lease) send(ctx context.Context, byDigest bool) (*registryv1.RegisterResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, rpcPatience)
	defer cancel()
	request := proto.CloneOf(l.request)
	if byDigest {
		request.Contract = &registryv1.RegisterRequest_ContractDigest{ContractDigest: l.digest}
	} else {
		request.Contract = &registryv1.RegisterRequest_Descriptors{Descriptors: l.descriptors}
	}
	return l.client.Register(ctx, request)
}

// start begins to keep the granted lease alive.
func (l *lease) start() {
	ctx, end := context.WithCancel(context.Background())
	renewal, cancelRenewal := context.WithCancel(ctx)
	l.end, l.cancelRenewal = end, cancelRenewal
	l.farewell, l.drained, l.done = make(chan context.Context), make(chan error), make(chan struct{})
	go l.run(ctx, renewal)
}

// run renews the lease until ctx ends. While renewal lasts, a lost lease is granted anew; from the farewell on it is
// not, since the process is leaving.
func (l *lease) run(ctx, renewal context.Context) {
	defer close(l.done)
	timer := time.NewTimer(l.nextRenewal())
	defer timer.Stop()
	keysLoaded, failures, leaving := time.Now(), 0, false
	for {
		select {
		case <-ctx.Done():
			return
		case farewell := <-l.farewell:
			leaving = true
			l.drained <- l.drain(farewell)
			timer.Reset(l.nextRenewal())
		case <-timer.C:
			err := l.renew(ctx, renewal, leaving)
			if err == nil {
				failures = 0
				keysLoaded = l.refreshKeys(renewal, keysLoaded)
				timer.Reset(l.nextRenewal())
				continue
			}
			if renewal.Err() == nil {
				l.logger.Warn("lease not renewed, trying again", "instance", l.request.GetInstanceId(), "error", err)
			}
			timer.Reset(min(pauseAfter(failures), l.nextRenewal()))
			failures++
		}
	}
}

func (l *lease) renew(ctx, renewal context.Context, leaving bool) error {
	if !leaving {
		ctx = renewal
	}
	patience, cancel := context.WithTimeout(ctx, min(rpcPatience, max(l.ttl/3, time.Second)))
	response, err := l.client.KeepAlive(patience, &registryv1.KeepAliveRequest{InstanceId: l.request.GetInstanceId()})
	cancel()
	switch {
	case err == nil:
		if ttl := response.GetTtl().AsDuration(); ttl > 0 {
			l.ttl = ttl
		}
		return nil
	case status.Code(err) != codes.NotFound:
		return fmt.Errorf("keep the lease alive: %w", err)
	case leaving:
		return nil
	}
	l.logger.Warn("the lease is lost: registering again", "instance", l.request.GetInstanceId())
	return l.register(renewal)
}

func (l *lease) refreshKeys(ctx context.Context, last time.Time) time.Time {
	if time.Since(last) < keysAge {
		return last
	}
	if err := l.keys.refresh(ctx); err != nil {
		l.logger.Warn("assertion keys not refreshed", "error", err)
	}
	return time.Now()
}

// leave drains: from here on the registry sends no new calls, and a lost lease stays lost. The lease is kept alive
// until stop.
func (l *lease) leave(ctx context.Context) error {
	l.cancelRenewal()
	l.farewell <- ctx
	return <-l.drained
}

func (l *lease) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, farewellPatience)
	defer cancel()
	if _, err := l.client.Drain(ctx, &registryv1.DrainRequest{InstanceId: l.request.GetInstanceId()}); err != nil {
		return fmt.Errorf("drain at the registry: %w", err)
	}
	return nil
}

// stop ends the goroutine and takes the instance off the registry. Where that fails, the lease runs out by itself.
func (l *lease) stop(ctx context.Context) error {
	l.end()
	<-l.done
	return l.deregister(ctx)
}

func (l *lease) deregister(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, farewellPatience)
	defer cancel()
	if _, err := l.client.Deregister(ctx, &registryv1.DeregisterRequest{InstanceId: l.request.GetInstanceId()}); err != nil {
		return fmt.Errorf("deregister at the registry: %w", err)
	}
	return nil
}

// nextRenewal is a third of the time to live, less up to a fifth of it as jitter (registry.md, Liveness).
func (l *lease) nextRenewal() time.Duration {
	third := max(l.ttl/3, shortestRenewal)
	return third - mathrand.N(third/5)
}

// newInstanceID makes the id that a process keeps for its life. It is made here and not by the registry, so that a
// registration whose answer got lost can be repeated without leaving a second instance behind.
func newInstanceID() string {
	id := make([]byte, 16)
	rand.Read(id)
	return hex.EncodeToString(id)
}

// pauseAfter doubles with each failure up to the last pause, and takes away up to half as jitter.
func pauseAfter(failures int) time.Duration {
	pause := lastPause
	if failures < 16 {
		pause = min(firstPause<<failures, lastPause)
	}
	return pause - mathrand.N(pause/2)
}

// refusal says whether an error is the registry's judgement, which the same request would meet again, and not a
// trouble that passes.
func refusal(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied, codes.FailedPrecondition,
		codes.OutOfRange, codes.Unimplemented, codes.Unauthenticated:
		return true
	}
	return false
}

// sleep waits for d, or for the end of ctx, whose cause it returns.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
