package service

import (
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
	projectsv1 "github.com/sallyport-dev/sallyport/gen/acme/projects/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
)

func TestSettings_advertised(t *testing.T) {
	on := func(address string) net.Addr {
		a, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, row := range []struct {
		name, advertise string
		local           net.Addr
		want, says      string
	}{
		{"the listener's own", "", on("127.0.0.1:4711"), "127.0.0.1:4711", ""},
		{"the listener's own, IPv6", "", on("[::1]:4711"), "[::1]:4711", ""},
		{"all addresses: the one towards the registry", "", on("0.0.0.0:4711"), "127.0.0.1:4711", ""},
		{"all addresses, IPv6", "", on("[::]:4711"), "127.0.0.1:4711", ""},
		{"host and port as given", "orders.internal:443", on("0.0.0.0:4711"), "orders.internal:443", ""},
		{"host alone", "orders.internal", on("0.0.0.0:4711"), "orders.internal:4711", ""},
		{"port 0", "orders.internal:0", on("0.0.0.0:4711"), "orders.internal:4711", ""},
		{"IPv4 alone", "10.0.0.7", on("0.0.0.0:4711"), "10.0.0.7:4711", ""},
		{"IPv6 alone", "fd00::7", on("0.0.0.0:4711"), "[fd00::7]:4711", ""},
		{"IPv6 in brackets", "[fd00::7]", on("0.0.0.0:4711"), "[fd00::7]:4711", ""},
		{"IPv6 with a port", "[fd00::7]:99", on("0.0.0.0:4711"), "[fd00::7]:99", ""},
		{"a port without host", ":99", on("0.0.0.0:4711"), "", "the host is missing"},
		{"a port that is none", "host:http", on("0.0.0.0:4711"), "", `port "http"`},
		{"too many colons", "a:b:c", on("0.0.0.0:4711"), "", "too many colons"},
		{"a listener without a port", "", &net.UnixAddr{Name: "/run/orders", Net: "unix"}, "", "give service.Advertise"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &settings{registry: "dns:///127.0.0.1:7071", advertise: row.advertise}
			got, err := s.advertised(row.local)
			if got != row.want || (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) {
				t.Errorf("got %q, %v; want %q, error %q", got, err, row.want, row.says)
			}
		})
	}
}

func TestOnLoopback(t *testing.T) {
	for target, want := range map[string]bool{
		"127.0.0.1:7071": true, "[::1]:7071": true, "localhost:7071": true, "dns:///localhost:7071": true, "unix:/run/registry": true,
		"10.0.0.1:7071": false, "registry.example.com:7071": false, "dns:///registry:7071": false, "localhost.example.com:1": false,
	} {
		if got := onLoopback(target); got != want {
			t.Errorf("%s: %v, want %v", target, got, want)
		}
	}
}

func descriptors(list ...string) (out []protoreflect.ServiceDescriptor) {
	for _, name := range list {
		sd, err := findService(name)
		if err != nil {
			panic(err)
		}
		out = append(out, sd)
	}
	return out
}

func TestOverlays(t *testing.T) {
	const order, project = "acme.orders.v1.OrderService", "acme.projects.v1.ProjectService"
	one, two := descriptors(order), descriptors(order, project)
	for _, row := range []struct {
		name     string
		services []protoreflect.ServiceDescriptor
		expose   []Option
		want     []*registryv1.Overlay
		says     []string
	}{
		{"nothing", one, nil, nil, nil},
		{"a bare name among one service", one, []Option{Expose("FindById")}, []*registryv1.Overlay{{Function: order + "/FindById"}}, nil},
		{"a full name among two", two, []Option{Expose(project + "/FindByRepoFullName")}, []*registryv1.Overlay{{Function: project + "/FindByRepoFullName"}}, nil},
		{"a method as gRPC spells it", two, []Option{Expose("/" + project + "/FindByRepoFullName")}, []*registryv1.Overlay{{Function: project + "/FindByRepoFullName"}}, nil},
		{"a service", two, []Option{Expose(project)}, []*registryv1.Overlay{{Function: project}}, nil},
		{"a service with its title", two, []Option{Expose(project, Title("Projects"))}, []*registryv1.Overlay{{Function: project, ServiceTitle: "Projects"}}, nil},
		{"everything that can be said", one, []Option{Expose("FindById", Title("t"), Description("d"), Name("n"), ReadOnly(), Destructive(), Idempotent(),
			OpenWorld(), Confirm(), Timeout(time.Second), Tool(&toolv1.Tool{Access: &toolv1.Access{Roles: []string{"r"}}}))},
			[]*registryv1.Overlay{{Function: order + "/FindById", Tool: &toolv1.Tool{
				Title: "t", Description: "d", Name: "n", ReadOnlyHint: true, DestructiveHint: true, IdempotentHint: true, OpenWorldHint: true, Confirm: true,
				Timeout: durationpb.New(time.Second), Access: &toolv1.Access{Roles: []string{"r"}},
			}}}, nil},
		{"a declaration that says nothing still declares", one, []Option{Expose("FindById", Title(""))}, []*registryv1.Overlay{{Function: order + "/FindById", Tool: &toolv1.Tool{}}}, nil},
		{"a bare name among two services", two, []Option{Expose("FindById")}, nil, []string{"serves 2 services", order, project}},
		{"an unknown RPC", one, []Option{Expose("findById")}, nil, []string{"has no RPC", "FindById, Search"}},
		{"an unknown service", one, []Option{Expose(project + "/FindByRepoFullName")}, nil, []string{"does not serve", order}},
		{"twice, spelled differently", one, []Option{Expose("FindById"), Expose(order + "/FindById")}, nil, []string{"exposed twice"}},
		{"a description of a service", one, []Option{Expose(order, Description("d"))}, nil, []string{"only the title"}},
		{"all problems at once", one, []Option{Expose("A"), Expose("B")}, nil, []string{`"A"`, `"B"`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &settings{}
			for _, o := range row.expose {
				o(s)
			}
			got, err := overlays(s.exposures, row.services)
			if (err == nil) != (row.says == nil) {
				t.Fatalf("error %v", err)
			}
			for _, text := range row.says {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("the error does not say %q: %v", text, err)
				}
			}
			if err != nil {
				return
			}
			if len(got) != len(row.want) {
				t.Fatalf("got %v, want %v", got, row.want)
			}
			for i := range got {
				if !proto.Equal(got[i], row.want[i]) {
					t.Errorf("got %v, want %v", got[i], row.want[i])
				}
			}
		})
	}
}

// The audience of an assertion names the zone that the registry derives. Both derive it alike.
func TestZoneOf_agreesWithTheContract(t *testing.T) {
	for _, row := range []struct{ name, service, supplied, want string }{
		{"the service's own", "acme.orders.v1.OrderService", "app.other.app", "app.acme-org.orders-app"},
		{"its file's", "acme.projects.v1.EnvironmentService", "app.other.app", "management-api"},
		{"the supplied one", "grpc.health.v1.Health", "app.other.app", "app.other.app"},
		{"none", "grpc.health.v1.Health", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			sd := descriptors(row.service)[0]
			if got := zoneOf(sd, row.supplied); got != row.want {
				t.Errorf("zone %q, want %q", got, row.want)
			}
			compiled, err := contract.Compile(contract.Source{
				Files: descriptorSet([]protoreflect.ServiceDescriptor{sd}), Services: []string{row.service}, Zone: row.supplied,
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := compiled.Services[0].Zone; got != row.want {
				t.Errorf("the contract's zone is %q, want %q", got, row.want)
			}
		})
	}
}

func TestServedBy(t *testing.T) {
	server := grpc.NewServer()
	projectsv1.RegisterProjectServiceServer(server, projectsv1.UnimplementedProjectServiceServer{})
	ordersv1.RegisterOrderServiceServer(server, ordersv1.UnimplementedOrderServiceServer{})
	services, err := servedBy(server)
	if err != nil || names(services) != "acme.orders.v1.OrderService, acme.projects.v1.ProjectService" {
		t.Errorf("serves %s, %v", names(services), err)
	}
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "not.Linked"}, nil)
	if _, err := servedBy(server); err == nil || !strings.Contains(err.Error(), "not.Linked") {
		t.Errorf("a service without descriptor: %v", err)
	}
}

func TestReason(t *testing.T) {
	for id, want := range map[string]string{
		"string.min_len": "STRING_MIN_LEN", "required": "REQUIRED", "my rule-1": "MY_RULE_1", "": "",
		strings.Repeat("a", 100): strings.Repeat("A", 63), "ä": "",
	} {
		if got := reason(id); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}

func TestPauses(t *testing.T) {
	for failures := range 100 {
		if p := pauseAfter(failures); p < firstPause/2 || p > lastPause {
			t.Errorf("after %d failures: %s", failures, p)
		}
	}
	for _, ttl := range []time.Duration{0, time.Second, 15 * time.Second, 300 * time.Second} {
		l := &lease{ttl: ttl}
		for range 100 {
			if next := l.nextRenewal(); next <= 0 || next > max(ttl/3, shortestRenewal) {
				t.Fatalf("time to live %s is renewed after %s", ttl, next)
			}
		}
	}
}
