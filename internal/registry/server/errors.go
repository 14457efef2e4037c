package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
)

// maxProblems bounds an error: a status travels in HTTP trailers, which clients limit.
const maxProblems = 200

// problem is one thing that is wrong with a request: where, and what.
type problem struct{ where, what string }

func (p problem) String() string {
	if p.where == "" {
		return p.what
	}
	return p.where + ": " + p.what
}

// refusal is an error that lists every problem, in its text and as google.rpc.BadRequest.
func refusal(code codes.Code, summary string, problems []problem) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s:", summary)
	details := &errdetails.BadRequest{}
	for i, p := range problems {
		if i == maxProblems {
			fmt.Fprintf(&text, "\n  and %d more", len(problems)-i)
			break
		}
		fmt.Fprintf(&text, "\n  %s", p)
		details.FieldViolations = append(details.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: p.where, Description: p.what})
	}
	st := status.New(code, strings.ToValidUTF8(text.String(), "?"))
	if detailed, err := st.WithDetails(details); err == nil {
		st = detailed
	}
	return st.Err()
}

// statusOf turns an error of the store or the compiler into one for the caller.
func statusOf(err error) error {
	var conflicts *contract.ConflictError
	var names *registry.NameError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflicts):
		var problems []problem
		for _, c := range conflicts.Conflicts {
			problems = append(problems, problem{c.Function, c.Problem})
		}
		return refusal(codes.InvalidArgument, "the contract cannot be published", problems)
	case errors.As(err, &names):
		var problems []problem
		for _, c := range names.Conflicts {
			problems = append(problems, problem{c.Function, strings.TrimPrefix(c.String(), c.Function+": ")})
		}
		return refusal(codes.InvalidArgument, "the contract cannot be published", problems)
	case errors.Is(err, registry.ErrLeaseLost):
		return status.Errorf(codes.NotFound, "%v: register again with the same instance id", err)
	case errors.Is(err, registry.ErrForeignInstance):
		return status.Errorf(codes.PermissionDenied, "%v: register without an instance id", err)
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
	if st, ok := status.FromError(err); ok {
		if st.Code() == codes.Unavailable { // from etcd's client
			return status.Errorf(codes.Unavailable, "the registry's store: %s", st.Message())
		}
		return st.Err()
	}
	return status.Error(codes.Internal, err.Error())
}
