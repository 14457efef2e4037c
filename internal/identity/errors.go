package identity

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/registry/rpc"
)

var (
	errNobody  = status.Error(codes.PermissionDenied, "only the platform and organizations manage identities")
	errUnnamed = status.Error(codes.InvalidArgument, "organization_id: name the organization: the platform itself has no applications")
)

// unknown is the one answer to what does not exist and to what is not the caller's.
func unknown(what, name string) error {
	return status.Errorf(codes.NotFound, "no %s %q is known to you", what, name)
}

// unknownOf is unknown for what belongs to an organization, or to the platform. Whose is looked at is said, since the
// platform may have looked at the wrong one's.
func unknownOf(organization, what, name string) error {
	if organization == "" {
		return status.Errorf(codes.NotFound, "the platform itself has no %s %q: for one of an organization, say its organization_id", what, name)
	}
	return status.Errorf(codes.NotFound, "organization %s has no %s %q", organization, what, name)
}

// taken says that a name cannot be given again.
func taken(what, name string) error {
	article := "a"
	if what == "organization" || what == "application" {
		article = "an"
	}
	return status.Errorf(codes.AlreadyExists, "there is %s %s %q already: choose another name", article, what, name)
}

// statusOf turns an error of the store into one for the caller; missing is for what the request is about.
func statusOf(err, missing error) error {
	var reference *registry.MissingError
	var invalid *registry.InvalidError
	var made interface{ GRPCStatus() *status.Status }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &made):
		return rpc.StatusOf(err)
	case errors.As(err, &reference):
		return unknown(reference.What, reference.Name)
	case errors.As(err, &invalid):
		return status.Error(codes.InvalidArgument, invalid.Problem)
	case errors.Is(err, registry.ErrNotFound) && missing != nil:
		return missing
	case errors.Is(err, registry.ErrNotEmpty):
		return status.Error(codes.FailedPrecondition, err.Error())
	}
	return rpc.StatusOf(err)
}

// createdOf is statusOf for what was to be created.
func createdOf(err error, what, name string) error {
	if errors.Is(err, registry.ErrExists) {
		return taken(what, name)
	}
	return statusOf(err, nil)
}
