package service_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	projectsv1 "github.com/sallyport-dev/sallyport/gen/acme/projects/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/service"
	"github.com/sallyport-dev/sallyport/services/orders"
	"github.com/sallyport-dev/sallyport/services/projects"
)

func TestRun_registersServesAndLeaves(t *testing.T) {
	r := startRegistry(t)
	store, err := orders.Open(ordersFile(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p := run(t, orders.New(store).Register, service.Registry(r.address), r.acmeHost(t),
		service.Build("v1.2.3"), service.Locality("here"), service.Weight(3))
	registration := p.registered(t)
	r.wait(t, "an instance", online)
	stored := instance(r.watcher.View())
	if stored.GetInstanceId() != registration.InstanceID || stored.GetAddress() != registration.Address ||
		stored.GetBuildVersion() != "v1.2.3" || stored.GetLocality() != "here" || stored.GetWeight() != 3 || stored.GetTtlSeconds() != 15 {
		t.Errorf("stored %v, registered %+v", stored, registration)
	}

	tools := make(map[string]*registryv1.ToolSummary)
	for _, tool := range registration.Tools {
		tools[tool.GetTitle()] = tool
	}
	for title, description := range map[string]string{
		"Orders Find Order":    "Finds one order by its id",                // declared
		"Orders Cancel Order":  "Cancels an order that has not been shipp", // from its comment
		"Orders List Products": "Lists the products that can be ordered",   // from its comment, swept
	} {
		if got := tools[title].GetDescription(); !strings.HasPrefix(got, description) {
			t.Errorf("%s is described %q, want %q…", title, got, description)
		}
	}
	if len(tools) != 5 {
		t.Errorf("%d tools, want 5: the excluded stream is none", len(tools))
	}

	conn := dial(t, registration.Address)
	found, err := find(t, conn, r.edgeSigner(t))
	if err != nil || found.GetOrder().GetOrderId() != "ORD-1042" {
		t.Errorf("found %v, %v", found, err)
	}
	for _, name := range []string{"", ordersName} {
		health, err := healthv1.NewHealthClient(conn).Check(testContext(t), &healthv1.HealthCheckRequest{Service: name})
		if err != nil || health.GetStatus() != healthv1.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", name, health, err)
		}
	}

	p.stop()
	if err := p.wait(t); err != nil {
		t.Errorf("Run: %v", err)
	}
	// The time to live is 15 s, and the farewell is written before Run returns: it did not lapse.
	list, err := r.etcd.Get(testContext(t), r.store.Prefix()+"instances/"+ordersZone+"/"+ordersName+"/"+registration.InstanceID)
	if err != nil || len(list.Kvs) != 0 {
		t.Errorf("the instance is still there: %v, %v", list, err)
	}
}

func TestRun_serviceThatInheritsTheConventionalBase(t *testing.T) {
	r := startRegistry(t)
	platform, err := r.host(testContext(t), "platform-host", participant.System("platform-host"))
	if err != nil {
		t.Fatal(err)
	}
	store, err := projects.Open(ordersFile(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p := run(t, projects.New(store).Register, service.Registry(r.address), platform)
	got := make(map[string]string)
	for _, tool := range p.registered(t).Tools {
		got[tool.GetTitle()] = tool.GetDescription()
	}
	for title, want := range map[string]string{
		"Project Service Find By Repo Full Name": "Finds the project that is built from a source repository, by the repository's full name as its host shows it.",
		"Environments Get":                       "Gets one environment by its id.",
		"Environments List":                      "Lists environments in the order of their ids, page by page.",
		"Environments Create":                    "Creates an environment in a project. The name must be free within the project.",
		"Environments Update":                    "Replaces the stated fields of one resource.", // the base's comment
		"Environments Delete":                    "Deletes one resource by its id.",             // the base's comment
	} {
		if got[title] != want {
			t.Errorf("%s is described %q, want %q", title, got[title], want)
		}
	}
	if len(got) != 6 {
		t.Errorf("tools %v", got)
	}
}

func TestRun_gracefulStopLosesNoRunningCall(t *testing.T) {
	r := startRegistry(t)
	g := newGatedOrders()
	p := run(t, g.register, service.Registry(r.address), r.acmeHost(t), service.DrainTimeout(patience))
	conn, signer := dial(t, p.registered(t).Address), r.edgeSigner(t)

	const running = 8
	answers := make(chan error, 2*running)
	call := func() {
		_, err := find(t, conn, signer)
		answers <- err
	}
	stream := func() {
		ctx := vouch(t, testContext(t), signer, ordersv1.OrderService_Watch_FullMethodName)
		s, err := ordersv1.NewOrderServiceClient(conn).Watch(ctx, &ordersv1.WatchRequest{OrderId: "ORD-1042"})
		if err == nil {
			_, err = s.Recv()
		}
		answers <- err
	}
	enter := func() {
		select {
		case who := <-g.entered:
			if who != "tester" {
				t.Errorf("the handler knows %q, want tester", who)
			}
		case err := <-answers:
			t.Fatalf("a call ended before it was let go: %v", err)
		case <-time.After(patience):
			t.Fatal("a call never arrived")
		}
	}
	for range running {
		go call()
		go stream()
		enter()
		enter()
	}
	p.stop()
	r.wait(t, "draining", draining)
	// Who has not heard of it yet is still served.
	go call()
	enter()
	select {
	case err := <-p.ended:
		t.Fatalf("Run ended while calls were running: %v", err)
	default:
	}
	if gone(r.watcher.View()) {
		t.Error("deregistered while calls were running")
	}
	close(g.release)
	for range 2*running + 1 {
		if err := <-answers; err != nil {
			t.Errorf("a running call was lost: %v", err)
		}
	}
	if err := p.wait(t); err != nil {
		t.Errorf("Run: %v", err)
	}
	r.wait(t, "gone", gone)
}

func TestRun_drainTimeoutCancelsWhatStillRuns(t *testing.T) {
	r := startRegistry(t)
	g := newGatedOrders()
	p := run(t, g.register, service.Registry(r.address), r.acmeHost(t), service.DrainTimeout(time.Second))
	conn, signer := dial(t, p.registered(t).Address), r.edgeSigner(t)
	answer := make(chan error, 1)
	go func() {
		_, err := find(t, conn, signer)
		answer <- err
	}()
	<-g.entered
	p.stop()
	if err := p.wait(t); err == nil || !strings.Contains(err.Error(), "calls still ran after 1s") {
		t.Errorf("Run: %v", err)
	}
	if err := <-answer; err == nil {
		t.Error("the call succeeded, though nobody let it go")
	}
	r.wait(t, "gone", gone)
}

func TestRun_streamsEndWhenTheProcessLeaves(t *testing.T) {
	r := startRegistry(t)
	p := run(t, registerPlain, service.Registry(r.address), r.acmeHost(t), service.DrainTimeout(patience))
	ctx := vouch(t, testContext(t), r.edgeSigner(t), ordersv1.OrderService_Watch_FullMethodName)
	stream, err := ordersv1.NewOrderServiceClient(dial(t, p.registered(t).Address)).Watch(ctx, &ordersv1.WatchRequest{OrderId: "ORD-1042"})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := stream.Recv(); err != nil || first.GetOrder().GetPlacedBy() != "tester" {
		t.Fatalf("first: %v, %v", first, err)
	}
	p.stop()
	if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v, want its own end", err)
	}
	if err := p.wait(t); err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestRun_refusals(t *testing.T) {
	r := startRegistry(t)
	ctx := testContext(t)
	acme := r.acmeHost(t)
	globex, err := r.host(ctx, "globex-host", participant.Organization("globex", "globex-host"))
	if err != nil {
		t.Fatal(err)
	}
	secret, err := r.store.CreateMachine(ctx, registryv1.MachineKind_MACHINE_KIND_CLIENT, participant.Organization("acme-org", "c"), "acme-client")
	if err != nil {
		t.Fatal(err)
	}
	r.wait(t, "the machines", func(v *registry.View) bool { _, ok := v.Machine("acme-client"); return ok })
	for _, row := range []struct {
		name     string
		register func(grpc.ServiceRegistrar)
		options  []service.Option
		code     codes.Code
		says     []string
	}{
		{"a wrong secret", registerPlain, []service.Option{service.Credentials("acme-host", "wrong")}, codes.Unauthenticated, []string{"register"}},
		{"a machine that hosts nothing", registerPlain, []service.Option{service.Credentials("acme-client", secret)}, codes.PermissionDenied, []string{"kind HOST"}},
		{"another organization's zone", registerPlain, []service.Option{globex}, codes.PermissionDenied, []string{ordersName, ordersZone}},
		{"an address that is not allowed", registerPlain, []service.Option{acme, service.Advertise("169.254.169.254:80")}, codes.PermissionDenied, []string{"169.254.169.254"}},
		{"a contract that cannot be published", registerPlain, []service.Option{acme, service.Expose("Watch")}, codes.InvalidArgument, []string{ordersName + "/Watch"}},
		{"exposing what is not served", registerPlain, []service.Option{acme, service.Expose("Refund"), service.Expose("other.Service/Get")}, codes.Unknown,
			[]string{`"Refund"`, "FindById", `"other.Service/Get"`, ordersName}},
		{"a bare name among two services", func(s grpc.ServiceRegistrar) {
			registerPlain(s)
			projectsv1.RegisterProjectServiceServer(s, projectsv1.UnimplementedProjectServiceServer{})
		}, []service.Option{acme, service.Expose("FindById")}, codes.Unknown, []string{"serves 2 services", "pkg.Service/Method"}},
		{"nothing to register", func(grpc.ServiceRegistrar) {}, []service.Option{acme}, codes.Unknown, []string{"nothing to register"}},
		{"an address that cannot be listened on", registerPlain, []service.Option{acme, service.Listen("203.0.113.1:1")}, codes.Unknown, []string{"203.0.113.1:1"}},
		{"an advertised address that is none", registerPlain, []service.Option{acme, service.Advertise("host:port")}, codes.Unknown, []string{`"port"`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := run(t, row.register, append([]service.Option{service.Registry(r.address)}, row.options...)...)
			err := p.wait(t)
			if err == nil || status.Code(unwrapStatus(err)) != row.code {
				t.Fatalf("Run: %v, want code %v", err, row.code)
			}
			for _, text := range row.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the error does not say %q: %v", text, err)
				}
			}
		})
	}
	if !gone(r.watcher.View()) {
		t.Error("a refused process left an instance")
	}
}

// unwrapStatus finds the status within wrapped and joined errors.
func unwrapStatus(err error) error {
	var s interface{ GRPCStatus() *status.Status }
	if errors.As(err, &s) {
		return s.GRPCStatus().Err()
	}
	return err
}

func TestRun_exposesInCode(t *testing.T) {
	r := startRegistry(t)
	p := run(t, registerPlain, service.Registry(r.address), r.acmeHost(t),
		service.Expose("FindById", service.Title("Get It"), service.Description("In code."), service.Name("get_it"), service.ReadOnly()),
		service.Expose(ordersName, service.Title("Shop")))
	for _, tool := range p.registered(t).Tools {
		if !strings.HasPrefix(tool.GetTitle(), "Shop ") {
			t.Errorf("title %q, want the service half Shop", tool.GetTitle())
		}
		if tool.GetAlias() != "get_it" {
			continue
		}
		if want := service.ToolName(ordersZone+"~"+ordersName, "FindById"); tool.GetName() != want || tool.GetTitle() != "Shop Get It" || tool.GetDescription() != "In code." {
			t.Errorf("tool %v, want the name %s and what code says", tool, want)
		}
		return
	}
	t.Error("no tool has the alias that code gives")
}

func TestRun_aServerThatFailsEndsIt(t *testing.T) {
	r := newRegistry(t) // never served: Run waits for it
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan struct{}, 64)
	p := run(t, registerPlain, service.Registry("127.0.0.1:1"), r.acmeHost(t), service.Listener(listener),
		service.Logger(slog.New(notifyHandler{"not registered yet, trying again", waiting})))
	<-waiting
	listener.Close()
	if err := p.wait(t); err == nil || !strings.Contains(err.Error(), "serve "+listener.Addr().String()) {
		t.Errorf("Run: %v", err)
	}
}

// notifyHandler tells of each log line with one message.
type notifyHandler struct {
	message string
	to      chan struct{}
}

func (h notifyHandler) Enabled(context.Context, slog.Level) bool { return true }
func (h notifyHandler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h notifyHandler) WithGroup(string) slog.Handler            { return h }
func (h notifyHandler) Handle(_ context.Context, r slog.Record) error {
	if r.Message == h.message {
		select {
		case h.to <- struct{}{}:
		default:
		}
	}
	return nil
}
