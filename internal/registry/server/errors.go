package server

import (
	"errors"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/rpc"
)

// statusOf turns an error of the store or the compiler into one for the caller.
func statusOf(err error) error {
	var conflicts *contract.ConflictError
	var names *registry.NameError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflicts):
		var problems []rpc.Problem
		for _, c := range conflicts.Conflicts {
			problems = append(problems, rpc.Problem{Where: c.Function, What: c.Problem})
		}
		return rpc.Refusal(codes.InvalidArgument, "the contract cannot be published", problems)
	case errors.As(err, &names):
		var problems []rpc.Problem
		for _, c := range names.Conflicts {
			problems = append(problems, rpc.Problem{Where: c.Function, What: strings.TrimPrefix(c.String(), c.Function+": ")})
		}
		return rpc.Refusal(codes.InvalidArgument, "the contract cannot be published", problems)
	case errors.Is(err, registry.ErrLeaseLost):
		return status.Errorf(codes.NotFound, "%v: register again with the same instance id", err)
	case errors.Is(err, registry.ErrForeignInstance):
		return status.Errorf(codes.PermissionDenied, "%v: register without an instance id", err)
	}
	return rpc.StatusOf(err)
}
