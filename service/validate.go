package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"buf.build/go/protovalidate"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// requests holds every request to the rules of its proto (buf.validate).
type requests struct {
	validator protovalidate.Validator
	logger    *slog.Logger
}

func (r *requests) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := r.validate(ctx, info.FullMethod, request); err != nil {
		return nil, err
	}
	return next(ctx, request)
}

func (r *requests) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	return next(server, &validStream{ServerStream: stream, requests: r, fullMethod: info.FullMethod})
}

// validStream validates each message that its handler receives.
type validStream struct {
	grpc.ServerStream
	requests   *requests
	fullMethod string
}

func (s *validStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return s.requests.validate(s.Context(), s.fullMethod, m)
}

// validate answers INVALID_ARGUMENT with google.rpc.BadRequest for a request that breaks its rules, and INTERNAL for
// rules that cannot be judged: that is the service's fault and not the caller's.
func (r *requests) validate(ctx context.Context, fullMethod string, request any) error {
	m, ok := request.(proto.Message)
	if !ok {
		return nil
	}
	err := r.validator.Validate(m)
	if err == nil {
		return nil
	}
	var invalid *protovalidate.ValidationError
	if !errors.As(err, &invalid) {
		r.logger.ErrorContext(ctx, "the rules of a request cannot be judged", "method", fullMethod, "error", err)
		return status.Error(codes.Internal, "the rules of the request cannot be judged")
	}
	violations := make([]*errdetails.BadRequest_FieldViolation, 0, len(invalid.Violations))
	for _, v := range invalid.Violations {
		violations = append(violations, &errdetails.BadRequest_FieldViolation{
			Field:       protovalidate.FieldPathString(v.Proto.GetField()),
			Description: v.Proto.GetMessage(),
			Reason:      reason(v.Proto.GetRuleId()),
		})
	}
	// The text names no field: a map's key is the caller's data, and texts end up in logs.
	st, err := status.New(codes.InvalidArgument, fmt.Sprintf("the request breaks %d of its rules", len(violations))).
		WithDetails(&errdetails.BadRequest{FieldViolations: violations})
	if err != nil {
		return status.Error(codes.Internal, "the request's violations cannot be encoded")
	}
	return st.Err()
}

// reason turns a rule's id into the form that google.rpc.BadRequest wants: `string.min_len` is STRING_MIN_LEN.
func reason(ruleID string) string {
	const limit = 63
	id := strings.Map(func(c rune) rune {
		switch {
		case 'A' <= c && c <= 'Z' || '0' <= c && c <= '9':
			return c
		case 'a' <= c && c <= 'z':
			return c - 'a' + 'A'
		}
		return '_'
	}, ruleID)
	return strings.Trim(id[:min(len(id), limit)], "_")
}
