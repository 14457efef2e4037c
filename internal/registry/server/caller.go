package server

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

// Metadata under which a machine proves who it is. Over REST they are the headers `clientId` and `clientSecret`.
const (
	ClientIDKey     = "clientid"
	ClientSecretKey = "clientsecret"
)

// zone is the zone of RegistryService itself, for the audience of assertions.
const zone = participant.SystemZone

// access is what an RPC asks of its caller.
type access int

const (
	readers  access = iota // a machine, or whoever the edge vouches for
	hosts                  // a machine of kind HOST
	everyone               // nobody in particular
)

// accessOf lists what is not for readers.
var accessOf = map[string]access{
	registryv1.RegistryService_Register_FullMethodName:         hosts,
	registryv1.RegistryService_KeepAlive_FullMethodName:        hosts,
	registryv1.RegistryService_Drain_FullMethodName:            hosts,
	registryv1.RegistryService_Deregister_FullMethodName:       hosts,
	registryv1.RegistryService_GetAssertionKeys_FullMethodName: everyone,
	healthv1.Health_Check_FullMethodName:                       everyone,
	healthv1.Health_List_FullMethodName:                        everyone,
}

// caller is who calls. machine is empty for one that the edge vouches for.
type caller struct {
	participant *participant.Participant
	machine     string
}

type callerKey struct{}

func callerOf(ctx context.Context) caller {
	c, _ := ctx.Value(callerKey{}).(caller)
	return c
}

// errUnauthenticated is one text for every failure: who tries learns nothing.
var errUnauthenticated = status.Error(codes.Unauthenticated,
	"credentials are missing or wrong: send a machine's id and secret as clientid and clientsecret")

func (s *Server) authenticate(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	need := accessOf[info.FullMethod]
	if need == everyone {
		return next(ctx, req)
	}
	md, _ := metadata.FromIncomingContext(ctx)
	var who caller
	var err error
	if tokens := md.Get(assertion.AssertionKey); len(tokens) > 0 && need == readers {
		who.participant, err = s.vouchedFor(ctx, tokens, info.FullMethod)
	} else {
		who, err = s.machine(md, need)
	}
	if err != nil {
		return nil, err
	}
	return next(context.WithValue(ctx, callerKey{}, who), req)
}

// vouchedFor takes the participant from the edge's assertion, and from nothing else beside it.
func (s *Server) vouchedFor(ctx context.Context, tokens []string, method string) (*participant.Participant, error) {
	if len(tokens) != 1 {
		return nil, errUnauthenticated
	}
	p, err := s.verifier.Verify(ctx, tokens[0], method, assertion.Audience(zone, registryv1.RegistryService_ServiceDesc.ServiceName))
	if err != nil {
		s.o.Logger.Info("an assertion was refused", "method", method, "error", err)
		return nil, errUnauthenticated
	}
	return p, nil
}

// machine takes the caller from a machine's credentials.
func (s *Server) machine(md metadata.MD, need access) (caller, error) {
	ids, secrets := md.Get(ClientIDKey), md.Get(ClientSecretKey)
	if len(ids) != 1 || len(secrets) != 1 {
		return caller{}, errUnauthenticated
	}
	p, err := s.machines.Machine(ids[0], secrets[0])
	if err != nil {
		return caller{}, errUnauthenticated
	}
	m, ok := s.o.Watcher.Machine(ids[0])
	if !ok {
		return caller{}, errUnauthenticated
	}
	if need == hosts && m.GetKind() != registryv1.MachineKind_MACHINE_KIND_HOST {
		return caller{}, status.Errorf(codes.PermissionDenied,
			"machine %s is of kind %s: only a machine of kind HOST may register services and keep them alive", m.GetId(), kindName(m.GetKind()))
	}
	return caller{participant: p, machine: m.GetId()}, nil
}

func kindName(k registryv1.MachineKind) string {
	return strings.TrimPrefix(k.String(), "MACHINE_KIND_")
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

// validate applies the rules in the request's proto.
func validate(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	m, ok := req.(proto.Message)
	if !ok {
		return next(ctx, req)
	}
	err := protovalidate.Validate(m)
	var invalid *protovalidate.ValidationError
	switch {
	case errors.As(err, &invalid):
		var problems []problem
		for _, v := range invalid.Violations {
			problems = append(problems, problem{protovalidate.FieldPathString(v.Proto.GetField()), v.Proto.GetMessage()})
		}
		return nil, refusal(codes.InvalidArgument, "the request breaks the rules of its message", problems)
	case err != nil:
		return nil, status.Errorf(codes.Internal, "check the request: %v", err)
	}
	return next(ctx, req)
}

// recoverPanic turns a panic into an error of its call. Descriptors come from anywhere, and what one of them does to
// a compiler must not end the registry of all others.
func (s *Server) recoverPanic(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (_ any, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.o.Logger.Error("a call panicked", "method", info.FullMethod, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = status.Error(codes.Internal, "an internal fault; it is in the registry's log")
		}
	}()
	return next(ctx, req)
}

// longest is how long a call may take: a store that is away must not hold callers for ever.
const longest = 30 * time.Second

func bound(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	return next(ctx, req)
}
