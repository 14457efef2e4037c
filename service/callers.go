package service

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/participant"
)

// callers demands of every call an assertion for this process's own audience, and puts the participant that it asserts
// into the handler's context (access.md, Participant).
type callers struct {
	verifier *assertion.Verifier
	zone     string
	logger   *slog.Logger
	// audiences holds the audience of each service by its name, derived at its first call.
	audiences sync.Map
}

// errUnverified is one answer to everything that can be wrong with an assertion. Which of it was, is in the log.
var errUnverified = status.Error(codes.Unauthenticated,
	"the call carries no valid participant assertion for this service: call it through an edge")

func (c *callers) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	ctx, err := c.verify(ctx, info.FullMethod)
	if err != nil {
		return nil, err
	}
	return next(ctx, request)
}

func (c *callers) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	ctx, err := c.verify(stream.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	return next(server, &contextStream{ServerStream: stream, ctx: ctx})
}

func (c *callers) verify(ctx context.Context, fullMethod string) (context.Context, error) {
	if open(fullMethod) {
		return ctx, nil
	}
	p, err := c.asserted(ctx, serviceOf(fullMethod), fullMethod)
	if err != nil {
		level := slog.LevelInfo
		if !errors.Is(err, assertion.ErrInvalid) {
			level = slog.LevelError
		}
		c.logger.Log(ctx, level, "call refused: participant not verified", "method", fullMethod, "error", err)
		return nil, errUnverified
	}
	return participant.NewContext(ctx, p), nil
}

func (c *callers) asserted(ctx context.Context, service, fullMethod string) (*participant.Participant, error) {
	tokens := metadata.ValueFromIncomingContext(ctx, assertion.AssertionKey)
	if len(tokens) != 1 {
		// Two tokens are as good as none: which one would be meant?
		return nil, errNotOneToken
	}
	audience, err := c.audience(service)
	if err != nil {
		return nil, err
	}
	return c.verifier.Verify(ctx, tokens[0], fullMethod, audience)
}

var errNotOneToken = errors.Join(assertion.ErrInvalid, errors.New("there is not exactly one"))

func (c *callers) audience(service string) (string, error) {
	if known, ok := c.audiences.Load(service); ok {
		return known.(string), nil
	}
	sd, err := findService(service)
	if err != nil {
		return "", err
	}
	audience := assertion.Audience(zoneOf(sd, c.zone), service)
	c.audiences.Store(service, audience)
	return audience, nil
}

// serviceOf takes the service out of `/package.Service/Method`, at the last slash, as gRPC does.
func serviceOf(fullMethod string) string {
	fullMethod = strings.TrimPrefix(fullMethod, "/")
	return fullMethod[:max(0, strings.LastIndexByte(fullMethod, '/'))]
}
