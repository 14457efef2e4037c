package projects

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/timestamppb"

	projectsv1 "github.com/sallyport-dev/sallyport/gen/acme/projects/v1"
	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

const defaultPageSize = 50

// Server implements both services of acme.projects.v1. It is safe for concurrent use.
type Server struct {
	projects     projectServer
	environments environmentServer
}

// New makes the services on a store, which stays the caller's to close.
func New(store *Store) *Server {
	return &Server{
		projects:     projectServer{store: store},
		environments: environmentServer{store: store, now: time.Now},
	}
}

// Register puts both services on a gRPC server.
func (s *Server) Register(registrar grpc.ServiceRegistrar) {
	projectsv1.RegisterProjectServiceServer(registrar, &s.projects)
	projectsv1.RegisterEnvironmentServiceServer(registrar, &s.environments)
}

// reaches says whether the caller may touch what an organization owns. Without a participant nothing is reached.
func reaches(ctx context.Context, organization string) bool {
	who, ok := participant.FromContext(ctx)
	if !ok {
		return false
	}
	switch who.GetKind() {
	case participantv1.Kind_KIND_SYSTEM:
		return true
	case participantv1.Kind_KIND_ORGANIZATION:
		return who.GetOrganizationId() == organization
	}
	return false
}

type projectServer struct {
	projectsv1.UnimplementedProjectServiceServer
	store *Store
}

func (s *projectServer) FindByRepoFullName(ctx context.Context, request *projectsv1.FindByRepoFullNameRequest) (*projectsv1.FindByRepoFullNameResponse, error) {
	p, err := s.store.ByRepository(request.GetRepoFullName())
	if err == nil && p.GetVisibility() != public && !reaches(ctx, p.GetOrganizationId()) {
		err = ErrNotFound
	}
	if err != nil {
		return nil, answer(ctx, "project", err)
	}
	return &projectsv1.FindByRepoFullNameResponse{Project: p}, nil
}

type environmentServer struct {
	projectsv1.UnimplementedEnvironmentServiceServer
	store *Store
	now   func() time.Time
}

// permit says ErrNotFound of an environment whose project the caller does not reach.
func (s *environmentServer) permit(ctx context.Context, projectID string) error {
	p, err := s.store.Project(projectID)
	if err == nil && !reaches(ctx, p.GetOrganizationId()) {
		return ErrNotFound
	}
	return err
}

func (s *environmentServer) find(ctx context.Context, id string) (*projectsv1.Environment, error) {
	e, err := s.store.Environment(id)
	if err != nil {
		return nil, err
	}
	// An environment never changes its project, and a project never its owner.
	return e, s.permit(ctx, e.GetProjectId())
}

func (s *environmentServer) Get(ctx context.Context, request *projectsv1.GetRequest) (*projectsv1.GetResponse, error) {
	e, err := s.find(ctx, request.GetId())
	if err != nil {
		return nil, answer(ctx, "environment", err)
	}
	return &projectsv1.GetResponse{Environment: e}, nil
}

func (s *environmentServer) List(ctx context.Context, request *projectsv1.ListRequest) (*projectsv1.ListResponse, error) {
	after, err := base64.RawURLEncoding.Strict().DecodeString(request.GetPageToken())
	if err != nil || len(after) > 0 && !strings.HasPrefix(string(after), "env-") {
		return nil, invalid("page_token", "it is not the token of a page: leave it out for the first page")
	}
	var matching []*projectsv1.Environment
	if err := s.store.Environments(string(after), func(e *projectsv1.Environment) bool {
		if (request.GetProjectId() == "" || e.GetProjectId() == request.GetProjectId()) &&
			(request.Stage == nil || e.GetStage() == request.GetStage()) {
			matching = append(matching, e)
		}
		return true
	}); err != nil {
		return nil, answer(ctx, "environment", err)
	}
	// Whose they are is asked after the transaction: bbolt's transactions do not nest.
	response := &projectsv1.ListResponse{}
	permitted := make(map[string]bool)
	size := cmp.Or(int(request.GetPageSize()), defaultPageSize)
	for _, e := range matching {
		mine, known := permitted[e.GetProjectId()]
		if !known {
			err := s.permit(ctx, e.GetProjectId())
			if err != nil && !errors.Is(err, ErrNotFound) {
				return nil, answer(ctx, "environment", err)
			}
			mine = err == nil
			permitted[e.GetProjectId()] = mine
		}
		if !mine {
			continue
		}
		if len(response.GetEnvironments()) == size {
			last := response.GetEnvironments()[size-1].GetId()
			response.NextPageToken = base64.RawURLEncoding.EncodeToString([]byte(last))
			break
		}
		response.Environments = append(response.Environments, e)
	}
	return response, nil
}

func (s *environmentServer) Create(ctx context.Context, request *projectsv1.CreateRequest) (*projectsv1.CreateResponse, error) {
	if err := s.permit(ctx, request.GetProjectId()); err != nil {
		return nil, answer(ctx, "project", err)
	}
	now := timestamppb.New(s.now())
	e := &projectsv1.Environment{
		Id: environmentID(request.GetProjectId(), request.GetName()), ProjectId: request.GetProjectId(), Name: request.GetName(),
		Stage: request.GetStage(), Replicas: 1, Variables: request.GetVariables(), IdleTimeout: request.GetIdleTimeout(),
		Protected: request.GetProtected(), CreatedAt: now, UpdatedAt: now,
	}
	if request.Replicas != nil {
		e.Replicas = request.GetReplicas()
	}
	if err := s.store.CreateEnvironment(e); err != nil {
		return nil, answer(ctx, "environment", err)
	}
	return &projectsv1.CreateResponse{Environment: e}, nil
}

func (s *environmentServer) Update(ctx context.Context, request *projectsv1.UpdateRequest) (*projectsv1.UpdateResponse, error) {
	if len(request.GetUpdateMask().GetPaths()) == 0 {
		return nil, invalid("update_mask", "it names no field")
	}
	if _, err := s.find(ctx, request.GetId()); err != nil {
		return nil, answer(ctx, "environment", err)
	}
	e, err := s.store.UpdateEnvironment(request.GetId(), func(e *projectsv1.Environment) error {
		for _, path := range request.GetUpdateMask().GetPaths() {
			if !apply(e, request.GetChange(), path) {
				return errMask
			}
		}
		e.UpdatedAt = timestamppb.New(s.now())
		return nil
	})
	if err != nil {
		return nil, answer(ctx, "environment", err)
	}
	return &projectsv1.UpdateResponse{Environment: e}, nil
}

// apply takes one named field over, and says whether there is such a field.
func apply(e *projectsv1.Environment, change *projectsv1.EnvironmentChange, path string) bool {
	switch path {
	case "replicas":
		e.Replicas = change.GetReplicas()
	case "variables":
		e.Variables = change.GetVariables()
	case "idle_timeout":
		e.IdleTimeout = change.GetIdleTimeout()
	case "protected":
		e.Protected = change.GetProtected()
	default:
		return false
	}
	return true
}

func (s *environmentServer) Delete(ctx context.Context, request *projectsv1.DeleteRequest) (*projectsv1.DeleteResponse, error) {
	if _, err := s.find(ctx, request.GetId()); err != nil {
		return nil, answer(ctx, "environment", err)
	}
	if err := s.store.DeleteEnvironment(request.GetId(), func(e *projectsv1.Environment) error {
		if e.GetProtected() {
			return errProtected
		}
		return nil
	}); err != nil {
		return nil, answer(ctx, "environment", err)
	}
	return &projectsv1.DeleteResponse{}, nil
}

var (
	errProtected = errors.New("the environment is protected")
	errMask      = errors.New("the mask names a field that cannot be changed")
)

// answer turns an error into what the caller is told; what is what was looked for. An unforeseen error is logged and
// not shown.
func answer(ctx context.Context, what string, err error) error {
	switch {
	case errors.Is(err, ErrNotFound):
		return status.Errorf(codes.NotFound, "the %s does not exist", what)
	case errors.Is(err, ErrExists):
		return status.Errorf(codes.AlreadyExists, "the project has an %s of that name", what)
	case errors.Is(err, errMask):
		return invalid("update_mask", "it names a field that cannot be changed: replicas, variables, idle_timeout and protected can")
	case errors.Is(err, errProtected):
		return detailed(codes.FailedPrecondition, "a protected environment cannot be deleted",
			&errdetails.PreconditionFailure{Violations: []*errdetails.PreconditionFailure_Violation{{
				Type: "PROTECTED", Subject: "environment", Description: "Update it with protected = false before.",
			}}})
	}
	slog.ErrorContext(ctx, "project store failed", "error", err)
	return status.Error(codes.Internal, "the project store failed")
}

// invalid says what is wrong with one field of the request, without repeating what the caller sent.
func invalid(field, description string) error {
	return detailed(codes.InvalidArgument, "the request cannot be served as it stands",
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field, Description: description}}})
}

func detailed(code codes.Code, message string, detail protoadapt.MessageV1) error {
	st, err := status.New(code, message).WithDetails(detail)
	if err != nil {
		return status.Error(code, message)
	}
	return st.Err()
}
