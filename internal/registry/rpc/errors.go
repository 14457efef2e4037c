package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sallyport-dev/sallyport/internal/registry"
)

// maxProblems bounds an error: a status travels in HTTP trailers, which clients limit.
const maxProblems = 200

// Problem is one thing that is wrong with a request: where, and what.
type Problem struct{ Where, What string }

func (p Problem) String() string {
	if p.Where == "" {
		return p.What
	}
	return p.Where + ": " + p.What
}

// Refusal is an error that lists every problem, in its text and as google.rpc.BadRequest.
func Refusal(code codes.Code, summary string, problems []Problem) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s:", summary)
	details := &errdetails.BadRequest{}
	for i, p := range problems {
		if i == maxProblems {
			fmt.Fprintf(&text, "\n  and %d more", len(problems)-i)
			break
		}
		fmt.Fprintf(&text, "\n  %s", p)
		details.FieldViolations = append(details.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: p.Where, Description: p.What})
	}
	st := status.New(code, strings.ToValidUTF8(text.String(), "?"))
	if detailed, err := st.WithDetails(details); err == nil {
		st = detailed
	}
	return st.Err()
}

// StatusOf turns an error of the store into one for the caller. One that is a gRPC status already, under whatever it was
// wrapped in, stays as it was made.
func StatusOf(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, registry.ErrNotFound):
		return status.Error(codes.NotFound, err.Error())
	case errors.Is(err, registry.ErrContended):
		return status.Error(codes.Aborted, err.Error())
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	}
	var etcd rpctypes.EtcdError
	if errors.As(err, &etcd) {
		return status.Errorf(codes.Unavailable, "the registry's store: %v", err)
	}
	var made interface{ GRPCStatus() *status.Status }
	if errors.As(err, &made) {
		if made.GRPCStatus().Code() == codes.Unavailable { // from etcd's client
			return status.Errorf(codes.Unavailable, "the registry's store: %s", made.GRPCStatus().Message())
		}
		return made.GRPCStatus().Err()
	}
	return status.Error(codes.Internal, err.Error())
}
