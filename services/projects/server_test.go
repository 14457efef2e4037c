package projects_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	projectsv1 "github.com/sallyport-dev/sallyport/gen/acme/projects/v1"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/service"
	"github.com/sallyport-dev/sallyport/services/projects"
)

const patience = 30 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type clients struct {
	projects     projectsv1.ProjectServiceClient
	environments projectsv1.EnvironmentServiceClient
}

// dial serves a new store over gRPC, with the service package's request rules and without its participant check: the
// test's metadata `who` is believed.
func dial(t testing.TB) clients {
	t.Helper()
	store, err := projects.Open(filepath.Join(t.TempDir(), "projects.db"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := service.New(service.Registry("127.0.0.1:1"), service.Credentials("test", "test"), service.TrustEveryCaller(),
		service.ServerOptions(grpc.ChainUnaryInterceptor(believe)))
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(s.ServerOptions()...)
	projects.New(store).Register(server)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	conn, err := grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		for _, err := range []error{s.Stop(context.Background(), server), <-served, store.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return clients{projectsv1.NewProjectServiceClient(conn), projectsv1.NewEnvironmentServiceClient(conn)}
}

// participants are the callers of these tests by the name that they say.
var participants = map[string]*participant.Participant{
	"acme-org":    participant.Organization("acme-org", "m"),
	"globex":      participant.Organization("globex", "m"),
	"system":      participant.System("m"),
	"application": participant.Application("acme-org", "orders-app", "m"),
	"anonymous":   participant.Anonymous(),
}

func believe(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if who := metadata.ValueFromIncomingContext(ctx, "who"); len(who) == 1 && participants[who[0]] != nil {
		ctx = participant.NewContext(ctx, participants[who[0]])
	}
	return next(ctx, request)
}

func as(t testing.TB, who string) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return metadata.AppendToOutgoingContext(ctx, "who", who)
}

func wantCode(t *testing.T, err error, code codes.Code) {
	t.Helper()
	if status.Code(err) != code {
		t.Fatalf("code %v (%v), want %v", status.Code(err), err, code)
	}
}

func wantViolation(t *testing.T, err error, field string) {
	t.Helper()
	wantCode(t, err, codes.InvalidArgument)
	for _, detail := range status.Convert(err).Details() {
		for _, v := range detail.(*errdetails.BadRequest).GetFieldViolations() {
			if v.GetField() == field {
				return
			}
		}
	}
	t.Errorf("no violation names %q: %v", field, status.Convert(err).Details())
}

func TestFindByRepoFullName(t *testing.T) {
	c := dial(t)
	for _, row := range []struct {
		name, who, repository string
		code                  codes.Code
	}{
		{"an organization's own", "acme-org", "acme-org/storefront", codes.OK},
		{"in any case", "acme-org", "Acme-Org/StoreFront", codes.OK},
		{"another organization's", "acme-org", "globex/reactor-console", codes.NotFound},
		{"another organization's, public", "acme-org", "globex/open-telemetry-kit", codes.OK},
		{"any, for the system", "system", "globex/reactor-console", codes.OK},
		{"private, for an application", "application", "acme-org/storefront", codes.NotFound},
		{"private, for nobody known", "anonymous", "acme-org/storefront", codes.NotFound},
		{"private, for a caller without participant", "", "acme-org/storefront", codes.NotFound},
		{"none", "system", "acme-org/none", codes.NotFound},
		{"no full name", "system", "storefront", codes.InvalidArgument},
	} {
		t.Run(row.name, func(t *testing.T) {
			response, err := c.projects.FindByRepoFullName(as(t, row.who), &projectsv1.FindByRepoFullNameRequest{RepoFullName: row.repository})
			wantCode(t, err, row.code)
			if err == nil && !strings.EqualFold(response.GetProject().GetRepoFullName(), row.repository) {
				t.Errorf("found %v", response.GetProject())
			}
		})
	}
}

func TestEnvironments_areReachedByTheirOrganization(t *testing.T) {
	c := dial(t)
	mask := &fieldmaskpb.FieldMask{Paths: []string{"replicas"}}
	for _, row := range []struct {
		who    string
		code   codes.Code
		listed int
	}{
		{"acme-org", codes.OK, 15},
		{"system", codes.OK, 30},
		{"globex", codes.NotFound, 9},
		{"application", codes.NotFound, 0},
		{"anonymous", codes.NotFound, 0},
		{"", codes.NotFound, 0},
	} {
		t.Run("who="+row.who, func(t *testing.T) {
			ctx := as(t, row.who)
			_, err := c.environments.Get(ctx, &projectsv1.GetRequest{Id: "env-storefront-staging"})
			wantCode(t, err, row.code)
			_, err = c.environments.Update(ctx, &projectsv1.UpdateRequest{Id: "env-storefront-staging", Change: &projectsv1.EnvironmentChange{Replicas: 2}, UpdateMask: mask})
			wantCode(t, err, row.code)
			list, err := c.environments.List(ctx, &projectsv1.ListRequest{})
			wantCode(t, err, codes.OK)
			if got := len(list.GetEnvironments()); got != row.listed {
				t.Errorf("lists %d, want %d", got, row.listed)
			}
			created, err := c.environments.Create(ctx, &projectsv1.CreateRequest{ProjectId: "prj-storefront", Name: "preview", Stage: projectsv1.Stage_STAGE_DEVELOPMENT})
			wantCode(t, err, row.code)
			id := created.GetEnvironment().GetId()
			if row.code != codes.OK {
				id = "env-storefront-staging"
			}
			_, err = c.environments.Delete(ctx, &projectsv1.DeleteRequest{Id: id})
			wantCode(t, err, row.code)
		})
	}
}

func TestEnvironments_lifecycle(t *testing.T) {
	c, ctx := dial(t), context.Background()
	ctx = metadata.AppendToOutgoingContext(ctx, "who", "acme-org")
	request := &projectsv1.CreateRequest{
		ProjectId: "prj-warehouse", Name: "preview-1", Stage: projectsv1.Stage_STAGE_STAGING, Replicas: proto.Int32(0),
		Variables: map[string]string{"A": "1"}, IdleTimeout: durationpb.New(time.Hour), Protected: true,
	}
	created, err := c.environments.Create(ctx, request)
	wantCode(t, err, codes.OK)
	e := created.GetEnvironment()
	if e.GetId() != "env-warehouse-preview-1" || e.GetReplicas() != 0 || e.GetCreatedAt() == nil {
		t.Fatalf("created %v", e)
	}
	_, err = c.environments.Create(ctx, request)
	wantCode(t, err, codes.AlreadyExists)
	_, err = c.environments.Delete(ctx, &projectsv1.DeleteRequest{Id: e.GetId()})
	wantCode(t, err, codes.FailedPrecondition)

	updated, err := c.environments.Update(ctx, &projectsv1.UpdateRequest{
		Id:         e.GetId(),
		Change:     &projectsv1.EnvironmentChange{Replicas: 7, Variables: map[string]string{"B": "2"}},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"variables", "protected", "idle_timeout"}},
	})
	wantCode(t, err, codes.OK)
	u := updated.GetEnvironment()
	if u.GetReplicas() != 0 || u.GetVariables()["B"] != "2" || len(u.GetVariables()) != 1 || u.GetProtected() || u.GetIdleTimeout() != nil {
		t.Errorf("updated %v", u)
	}
	got, err := c.environments.Get(ctx, &projectsv1.GetRequest{Id: e.GetId()})
	wantCode(t, err, codes.OK)
	if !proto.Equal(got.GetEnvironment(), u) {
		t.Errorf("got %v, want %v", got.GetEnvironment(), u)
	}
	_, err = c.environments.Delete(ctx, &projectsv1.DeleteRequest{Id: e.GetId()})
	wantCode(t, err, codes.OK)
	_, err = c.environments.Get(ctx, &projectsv1.GetRequest{Id: e.GetId()})
	wantCode(t, err, codes.NotFound)
	_, err = c.environments.Delete(ctx, &projectsv1.DeleteRequest{Id: e.GetId()})
	wantCode(t, err, codes.NotFound)
}

func TestEnvironments_refusals(t *testing.T) {
	c := dial(t)
	update := func(change *projectsv1.EnvironmentChange, paths ...string) *projectsv1.UpdateRequest {
		return &projectsv1.UpdateRequest{Id: "env-storefront-staging", Change: change, UpdateMask: &fieldmaskpb.FieldMask{Paths: paths}}
	}
	for _, row := range []struct {
		name, field string
		request     proto.Message
	}{
		{"a mask without fields", "update_mask", update(&projectsv1.EnvironmentChange{})},
		{"a mask with a field that never changes", "update_mask", update(&projectsv1.EnvironmentChange{}, "replicas", "project_id")},
		{"too many copies", "change.replicas", update(&projectsv1.EnvironmentChange{Replicas: 101}, "replicas")},
		{"no change", "change", update(nil, "replicas")},
		{"a name that is none", "name", &projectsv1.CreateRequest{ProjectId: "prj-storefront", Name: "A b", Stage: 1}},
		{"no stage", "stage", &projectsv1.CreateRequest{ProjectId: "prj-storefront", Name: "x"}},
		{"an idle time that is too short", "idle_timeout", &projectsv1.CreateRequest{ProjectId: "prj-storefront", Name: "x", Stage: 1, IdleTimeout: durationpb.New(time.Second)}},
		{"a page token that is none", "page_token", &projectsv1.ListRequest{PageToken: "next"}},
		{"an id that is none", "id", &projectsv1.GetRequest{Id: "storefront"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var err error
			switch r := row.request.(type) {
			case *projectsv1.UpdateRequest:
				_, err = c.environments.Update(as(t, "system"), r)
			case *projectsv1.CreateRequest:
				_, err = c.environments.Create(as(t, "system"), r)
			case *projectsv1.ListRequest:
				_, err = c.environments.List(as(t, "system"), r)
			case *projectsv1.GetRequest:
				_, err = c.environments.Get(as(t, "system"), r)
			}
			wantViolation(t, err, row.field)
		})
	}
}

func TestEnvironments_listPages(t *testing.T) {
	c := dial(t)
	for _, row := range []struct {
		name, who string
		request   *projectsv1.ListRequest
		want      int
	}{
		{"all", "system", &projectsv1.ListRequest{PageSize: 7}, 30},
		{"an organization's own", "globex", &projectsv1.ListRequest{PageSize: 2}, 9},
		{"of a project", "system", &projectsv1.ListRequest{ProjectId: "prj-reports", PageSize: 2}, 3},
		{"of a stage", "acme-org", &projectsv1.ListRequest{Stage: projectsv1.Stage_STAGE_PRODUCTION.Enum(), PageSize: 3}, 5},
		{"of a project and a stage", "system", &projectsv1.ListRequest{ProjectId: "prj-reports", Stage: projectsv1.Stage_STAGE_STAGING.Enum()}, 1},
		{"a page that is exactly full", "globex", &projectsv1.ListRequest{PageSize: 9}, 9},
	} {
		t.Run(row.name, func(t *testing.T) {
			last, got := "", 0
			for {
				page, err := c.environments.List(as(t, row.who), row.request)
				wantCode(t, err, codes.OK)
				for _, e := range page.GetEnvironments() {
					if e.GetId() <= last {
						t.Errorf("%s comes after %s", e.GetId(), last)
					}
					last = e.GetId()
					got++
				}
				if page.GetNextPageToken() == "" {
					break
				}
				if len(page.GetEnvironments()) == 0 {
					t.Fatal("an empty page has a next one")
				}
				row.request.PageToken = page.GetNextPageToken()
			}
			if got != row.want {
				t.Errorf("%d environments, want %d", got, row.want)
			}
		})
	}
}
