package rpc

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

// Metadata under which a machine proves who it is. Over REST they are the headers `clientId` and `clientSecret`.
const (
	ClientIDKey     = "clientid"
	ClientSecretKey = "clientsecret"
)

// Need is what an RPC asks of its caller.
type Need int

const (
	Readers  Need = iota // a machine, or whoever the edge vouches for
	Hosts                // a machine of kind HOST
	Everyone             // nobody in particular
)

// Caller is who calls.
type Caller struct {
	Participant *participant.Participant
	// Machine is the machine's id; empty for one that the edge vouches for.
	Machine string
	// Everything says that the caller may do everything, whatever its roles: it works on the store itself.
	Everything bool
}

type callerKey struct{}

// CallerOf gives who calls; nobody where the context is not that of a call.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// As is an interceptor that makes everybody one caller, for a server that one process has for itself.
func As(c Caller) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		return next(context.WithValue(ctx, callerKey{}, c), req)
	}
}

// Options say who may call. Watcher is required.
type Options struct {
	// Watcher has the machines, the keys of assertions and the roles.
	Watcher *registry.Watcher
	// Needs tells of full methods what they ask for; what is not there is for Readers.
	Needs map[string]Need
	// Logger hears of refused assertions and of panics. Nil discards.
	Logger *slog.Logger
}

// Door is what a call passes before it is served. It is safe for concurrent use.
type Door struct {
	o        Options
	machines *auth.Authenticator
	verifier *assertion.Verifier
}

// NewDoor makes a door.
func NewDoor(o Options) *Door {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Door{
		o:        o,
		machines: auth.New(auth.Options{Machines: o.Watcher}),
		verifier: assertion.NewVerifier(keys{o.Watcher}, nil),
	}
}

// Interceptors are what each call passes first: a fence for panics, a bound on time, the caller's identity, what the RPC
// declares of who may call it, the message's own rules.
func (d *Door) Interceptors() grpc.ServerOption {
	return grpc.ChainUnaryInterceptor(Recover(d.o.Logger), Bound, d.authenticate, d.authorize, Validate)
}

// errUnauthenticated is one text for every failure: who tries learns nothing.
var errUnauthenticated = status.Error(codes.Unauthenticated,
	"credentials are missing or wrong: send a machine's id and secret as clientid and clientsecret")

func (d *Door) authenticate(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	need := d.o.Needs[info.FullMethod]
	if need == Everyone {
		return next(ctx, req)
	}
	md, _ := metadata.FromIncomingContext(ctx)
	var who Caller
	var err error
	if tokens := md.Get(assertion.AssertionKey); len(tokens) > 0 && need == Readers {
		who.Participant, err = d.vouchedFor(ctx, tokens, info.FullMethod)
	} else {
		who, err = d.machine(md, need)
	}
	if err != nil {
		return nil, err
	}
	return next(context.WithValue(ctx, callerKey{}, who), req)
}

// vouchedFor takes the participant from the edge's assertion, and from nothing else beside it.
func (d *Door) vouchedFor(ctx context.Context, tokens []string, method string) (*participant.Participant, error) {
	if len(tokens) != 1 {
		return nil, errUnauthenticated
	}
	declared := declarationOf(method)
	p, err := d.verifier.Verify(ctx, tokens[0], method, assertion.Audience(declared.zone, declared.service))
	if err != nil {
		d.o.Logger.Info("an assertion was refused", "method", method, "error", err)
		return nil, errUnauthenticated
	}
	return p, nil
}

// machine takes the caller from a machine's credentials.
func (d *Door) machine(md metadata.MD, need Need) (Caller, error) {
	ids, secrets := md.Get(ClientIDKey), md.Get(ClientSecretKey)
	if len(ids) != 1 || len(secrets) != 1 {
		return Caller{}, errUnauthenticated
	}
	p, err := d.machines.Authenticate(ids[0], secrets[0], true)
	if err != nil {
		return Caller{}, errUnauthenticated
	}
	m, ok := d.o.Watcher.Machine(ids[0])
	if !ok {
		return Caller{}, errUnauthenticated
	}
	if need == Hosts && m.GetKind() != registryv1.MachineKind_MACHINE_KIND_HOST {
		return Caller{}, status.Errorf(codes.PermissionDenied,
			"machine %s is of kind %s: only a machine of kind HOST may register services and keep them alive", m.GetId(),
			strings.TrimPrefix(m.GetKind().String(), "MACHINE_KIND_"))
	}
	return Caller{Participant: p, Machine: m.GetId()}, nil
}

// keys gives the assertion keys of the newest view.
type keys struct{ w *registry.Watcher }

// Key implements assertion.KeySource.
func (k keys) Key(_ context.Context, kid string) (ed25519.PublicKey, error) {
	for _, stored := range k.w.View().AssertionKeys {
		if stored.GetKid() == kid {
			public, err := assertion.EncodeKey(kid, stored.GetSeed())
			if err != nil {
				return nil, err
			}
			return assertion.DecodeKey(public)
		}
	}
	return nil, assertion.ErrUnknownKey
}

// Validate applies the rules in the request's proto.
func Validate(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	m, ok := req.(proto.Message)
	if !ok {
		return next(ctx, req)
	}
	err := protovalidate.Validate(m)
	var invalid *protovalidate.ValidationError
	switch {
	case errors.As(err, &invalid):
		var problems []Problem
		for _, v := range invalid.Violations {
			problems = append(problems, Problem{protovalidate.FieldPathString(v.Proto.GetField()), v.Proto.GetMessage()})
		}
		return nil, Refusal(codes.InvalidArgument, "the request breaks the rules of its message", problems)
	case err != nil:
		return nil, status.Errorf(codes.Internal, "check the request: %v", err)
	}
	return next(ctx, req)
}

// Recover turns a panic into an error of its call. Descriptors come from anywhere, and what one of them does to a
// compiler must not end the registry of all others.
func Recover(logger *slog.Logger) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
		defer func() {
			if p := recover(); p != nil {
				logger.Error("a call panicked", "method", info.FullMethod, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				err = status.Error(codes.Internal, "an internal fault; it is in the registry's log")
			}
		}()
		return next(ctx, req)
	}
}

// longest is how long a call may take: a store that is away must not hold callers for ever.
const longest = 30 * time.Second

// Bound bounds the time of a call.
func Bound(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	return next(ctx, req)
}
