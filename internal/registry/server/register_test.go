package server_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
)

func TestRegister_andLive(t *testing.T) {
	h := newHouse(t, nil)
	k := registry.Key{Zone: appZone, Service: "acme.orders.OrderService"}
	req := request(protos(t, "orders", orders), appZone, k.Service)
	req.Locality, req.BuildVersion, req.Weight, req.TlsServerName = "here", "v1", 7, "orders.example.com"
	first := h.register("acme-host", req)
	if first.GetTtl().AsDuration() != 15*time.Second || len(first.GetContractDigest()) != 64 || first.GetInstanceId() == "" || len(first.GetWarnings()) != 0 {
		t.Errorf("answer %v", first)
	}
	want := []*registryv1.ToolSummary{
		{Title: "Orders Find By Id", Description: "Finds an order by its id.", Resource: "srv://app.acme-org.orders-app~acme.orders.OrderService/FindById"},
		{Title: "Orders Place", Description: "Place", Alias: "place_order", Resource: "srv://app.acme-org.orders-app~acme.orders.OrderService/Place"},
	}
	for i, method := range []string{"FindById", "Place"} {
		want[i].Name = contract.ToolName(k.String(), method)
		if i >= len(first.GetTools()) || !proto.Equal(first.GetTools()[i], want[i]) {
			t.Errorf("tools %v, want %v", first.GetTools(), want)
		}
	}
	stored := h.until("the service is online", func(v *registry.View) bool { return v.Online(k) }).Instances[k][0]
	if stored.GetAddress() != address || stored.GetMachineId() != "acme-host" || stored.GetLocality() != "here" || stored.GetBuildVersion() != "v1" ||
		stored.GetWeight() != 7 || stored.GetTlsServerName() != "orders.example.com" || stored.GetContractDigest() != first.GetContractDigest() {
		t.Errorf("stored %v", stored)
	}
	// What is stored compiles to the same tools, comments included.
	set, err := h.store.Contract(h.ctx(), first.GetContractDigest())
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := contract.Compile(contract.Source{Files: set, Services: []string{k.Service}, Zone: appZone})
	if err != nil || compiled.Services[0].Tools[0].Description != "Finds an order by its id." {
		t.Errorf("the stored contract: %v, %v", compiled, err)
	}

	// A second instance knows the digest, and needs no descriptors.
	second := h.register("app-host", &registryv1.RegisterRequest{
		Zone: appZone, Services: req.Services, Address: "127.0.0.1:9002", Ttl: durationpb.New(40 * time.Second),
		Contract: &registryv1.RegisterRequest_ContractDigest{ContractDigest: first.GetContractDigest()},
	})
	if second.GetContractDigest() != first.GetContractDigest() || second.GetTtl().AsDuration() != 40*time.Second || second.GetInstanceId() == first.GetInstanceId() {
		t.Errorf("second answer %v", second)
	}
	h.until("both are online", func(v *registry.View) bool { return len(v.Instances[k]) == 2 })

	alive, err := h.client.KeepAlive(h.as("acme-host"), &registryv1.KeepAliveRequest{InstanceId: first.GetInstanceId()})
	if err != nil || alive.GetTtl().AsDuration() != 15*time.Second {
		t.Errorf("KeepAlive = %v, %v", alive, err)
	}
	_, err = h.client.KeepAlive(h.as("app-host"), &registryv1.KeepAliveRequest{InstanceId: first.GetInstanceId()})
	wantError(t, err, codes.PermissionDenied, "another machine")
	if _, err := h.client.Drain(h.as("acme-host"), &registryv1.DrainRequest{InstanceId: first.GetInstanceId()}); err != nil {
		t.Fatal(err)
	}
	h.until("one drains, the other serves", func(v *registry.View) bool {
		draining := 0
		for _, i := range v.Instances[k] {
			if i.GetDraining() {
				draining++
			}
		}
		return draining == 1 && v.Online(k)
	})
	for range 2 { // the second time there is nothing to do
		if _, err := h.client.Deregister(h.as("acme-host"), &registryv1.DeregisterRequest{InstanceId: first.GetInstanceId()}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = h.client.Deregister(h.as("acme-host"), &registryv1.DeregisterRequest{InstanceId: second.GetInstanceId()})
	wantError(t, err, codes.PermissionDenied, "another machine")
	h.until("one is left", func(v *registry.View) bool { return len(v.Instances[k]) == 1 })
	_, err = h.client.KeepAlive(h.as("acme-host"), &registryv1.KeepAliveRequest{InstanceId: first.GetInstanceId()})
	wantError(t, err, codes.NotFound, "register again with the same instance id")
	_, err = h.client.Drain(h.as("acme-host"), &registryv1.DrainRequest{InstanceId: first.GetInstanceId()})
	wantError(t, err, codes.NotFound, "register again")
}

func TestRegister_lostLeaseIsGrantedAgain(t *testing.T) {
	h := newHouse(t, nil)
	k := registry.Key{Zone: appZone, Service: "acme.orders.OrderService"}
	req := request(protos(t, "orders", orders), appZone, k.Service)
	first := h.register("acme-host", req)
	revokeAll(t, h)
	h.until("it is offline", func(v *registry.View) bool { return len(v.Instances) == 0 })
	_, err := h.client.KeepAlive(h.as("acme-host"), &registryv1.KeepAliveRequest{InstanceId: first.GetInstanceId()})
	wantError(t, err, codes.NotFound)
	again := proto.CloneOf(req)
	again.InstanceId = first.GetInstanceId()
	again.Contract = &registryv1.RegisterRequest_ContractDigest{ContractDigest: first.GetContractDigest()}
	if answer := h.register("acme-host", again); answer.GetInstanceId() != first.GetInstanceId() {
		t.Errorf("another instance: %v", answer)
	}
	h.until("it is online again", func(v *registry.View) bool { return v.Online(k) })

	// Nobody renews this one.
	short := proto.CloneOf(req)
	short.Ttl = durationpb.New(time.Second)
	h.register("acme-host", short)
	h.until("two are online", func(v *registry.View) bool { return len(v.Instances[k]) == 2 })
	h.until("one has lapsed", func(v *registry.View) bool { return len(v.Instances[k]) == 1 })
}

func revokeAll(t *testing.T, h *house) {
	t.Helper()
	leases, err := h.etcd.Client().Leases(h.ctx())
	if err != nil || len(leases.Leases) == 0 {
		t.Fatalf("leases %v, %v", leases, err)
	}
	for _, l := range leases.Leases {
		if _, err := h.etcd.Client().Revoke(h.ctx(), clientv3.LeaseID(l.ID)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRegister_exposureInCode(t *testing.T) {
	h := newHouse(t, nil)
	set := protos(t, "plain", `service A { rpc GetOne(Req) returns (Res); rpc GetTwo(Req) returns (Res); } service B { rpc GetOne(Req) returns (Res); }`)
	req := request(set, "", "acme.plain.A", "acme.plain.B")
	req.Overlays = []*registryv1.Overlay{{Function: "acme.plain.A/GetOne", Tool: &toolv1.Tool{Title: "First", Description: "In code."}}}
	answer := h.register("platform-host", req)
	if len(answer.GetTools()) != 1 || answer.GetTools()[0].GetTitle() != "A First" || answer.GetTools()[0].GetDescription() != "In code." {
		t.Errorf("tools %v", answer.GetTools())
	}
	if len(answer.GetWarnings()) != 1 || !strings.HasPrefix(answer.GetWarnings()[0], "acme.plain.B:") {
		t.Errorf("warnings %v, want that B publishes nothing", answer.GetWarnings())
	}
	v := h.until("both are online", func(v *registry.View) bool { return len(v.Instances) == 2 })
	if o := v.Instances[registry.Key{Service: "acme.plain.A"}][0].GetOverlays(); len(o) != 1 {
		t.Errorf("overlays of A: %v", o)
	}
	if o := v.Instances[registry.Key{Service: "acme.plain.B"}][0].GetOverlays(); len(o) != 0 {
		t.Errorf("overlays of B: %v", o)
	}
	eventually(t, "the tool is shown as it was described in code", func() bool {
		list, err := h.client.ListTools(h.as("system"), &registryv1.ListToolsRequest{Service: "acme.plain.A"})
		return err == nil && len(list.GetTools()) == 1 && list.GetTools()[0].GetTitle() == "A First"
	})
}

func TestRegister_refuses(t *testing.T) {
	h := newHouse(t, nil)
	h.register("acme-host", request(protos(t, "orders", orders), appZone, "acme.orders.OrderService"))
	good := protos(t, "x", `service S { option (sallyport.tool.v1.service) = {}; rpc Find(Req) returns (Res); }`)
	const s = "acme.x.S"
	with := func(change func(*registryv1.RegisterRequest)) *registryv1.RegisterRequest {
		req := request(good, appZone, s)
		change(req)
		return req
	}
	system := protos(t, "sys", `option (sallyport.tool.v1.file) = {zone: "system-api"}; service S { option (sallyport.tool.v1.service) = {}; rpc Find(Req) returns (Res); }`)
	tests := []struct {
		name    string
		machine string
		req     *registryv1.RegisterRequest
		code    codes.Code
		want    []string
	}{
		{"every conflict at once", "acme-host", request(protos(t, "bad", `
			service S { option (sallyport.tool.v1.service) = {};
			  rpc Watch(Req) returns (stream Res);
			  rpc Odd(Req) returns (Res) { option (sallyport.tool.v1.tool) = {name: "has.dots" json_profile: "nonsense"}; } }`), appZone, "acme.bad.S"),
			codes.InvalidArgument, []string{"acme.bad.S/Watch: ", "acme.bad.S/Odd: ", "declared name", "nonsense"}},
		{"alias of another function", "acme-host", request(protos(t, "y", `
			service S { rpc Place(Req) returns (Res) { option (sallyport.tool.v1.tool) = {name: "place_order"}; } }`), appZone+".sub", "acme.y.S"),
			codes.InvalidArgument, []string{"acme.y.S/Place", "acme.orders.OrderService/Place", "place_order"}},
		{"inherits nothing known", "acme-host", request(protos(t, "inh", `
			service S { option (sallyport.tool.v1.service) = {inherits: "nowhere.Base"}; rpc Find(Req) returns (Res); }`), appZone, "acme.inh.S"),
			codes.InvalidArgument, []string{"acme.inh.S", "nowhere.Base"}},
		{"service that is not in the descriptors", "acme-host", with(func(r *registryv1.RegisterRequest) { r.Services = []string{"acme.x.T"} }),
			codes.InvalidArgument, []string{"acme.x.T"}},
		{"descriptors that do not link", "acme-host", with(func(r *registryv1.RegisterRequest) {
			set := proto.CloneOf(good)
			last := set.File[len(set.File)-1]
			last.MessageType = last.MessageType[1:]
			r.Contract = &registryv1.RegisterRequest_Descriptors{Descriptors: set}
		}), codes.InvalidArgument, []string{"do not link", "acme.x.Req"}},
		{"overlay of nothing", "acme-host", with(func(r *registryv1.RegisterRequest) {
			r.Overlays = []*registryv1.Overlay{{Function: s + "/Nothing"}}
		}), codes.InvalidArgument, []string{"Nothing"}},
		{"unknown digest", "acme-host", with(func(r *registryv1.RegisterRequest) {
			r.Contract = &registryv1.RegisterRequest_ContractDigest{ContractDigest: strings.Repeat("0", 64)}
		}), codes.NotFound, []string{"send the descriptors"}},
		{"digest that is a path", "acme-host", with(func(r *registryv1.RegisterRequest) {
			r.Contract = &registryv1.RegisterRequest_ContractDigest{ContractDigest: "../services/x"}
		}), codes.NotFound, nil},

		{"zone of another organization", "acme-host", with(func(r *registryv1.RegisterRequest) { r.Zone = "app.other-org.orders-app" }),
			codes.PermissionDenied, []string{s, "acme-host", "organization acme-org", "app.other-org.orders-app"}},
		{"zone of another application", "app-host", with(func(r *registryv1.RegisterRequest) { r.Zone = "app.acme-org.other" }),
			codes.PermissionDenied, []string{"application acme-org/orders-app", "app.acme-org.other"}},
		{"look-alike of its zone", "app-host", with(func(r *registryv1.RegisterRequest) { r.Zone = appZone + "-2" }), codes.PermissionDenied, nil},
		{"the platform's zone", "acme-host", with(func(r *registryv1.RegisterRequest) { r.Zone = "system-api" }), codes.PermissionDenied, []string{"system-api"}},
		{"un-zoned", "acme-host", with(func(r *registryv1.RegisterRequest) { r.Zone = "" }), codes.PermissionDenied, []string{"un-zoned"}},
		{"the proto's zone wins over the request's", "acme-host", request(system, appZone, "acme.sys.S"), codes.PermissionDenied, []string{"system-api"}},
		{"address", "acme-host", with(func(r *registryv1.RegisterRequest) { r.Address = "127.0.0.1:9003" }), codes.PermissionDenied, []string{"127.0.0.1:9003", "9003"}},
		{"address of etcd", "platform-host", with(func(r *registryv1.RegisterRequest) {
			r.Zone, r.Address = "system-api", strings.TrimPrefix(h.where.Etcd[0], "http://")
		}), codes.PermissionDenied, []string{"etcd"}},
		{"metadata address", "acme-host", with(func(r *registryv1.RegisterRequest) { r.Address = "169.254.169.254:80" }), codes.PermissionDenied, nil},

		{"client machine", "system", with(func(*registryv1.RegisterRequest) {}), codes.PermissionDenied, []string{"of kind CLIENT"}},
		{"disabled machine", "gone", with(func(*registryv1.RegisterRequest) {}), codes.Unauthenticated, nil},
		{"unknown machine", "nobody", with(func(*registryv1.RegisterRequest) {}), codes.Unauthenticated, nil},

		{"ill-formed zone", "platform-host", with(func(r *registryv1.RegisterRequest) { r.Zone = "App" }), codes.InvalidArgument, []string{"zone"}},
		{"ill-formed service", "platform-host", with(func(r *registryv1.RegisterRequest) { r.Services = []string{"a/b"} }), codes.InvalidArgument, []string{"services[0]"}},
		{"no service", "platform-host", with(func(r *registryv1.RegisterRequest) { r.Services = nil }), codes.InvalidArgument, []string{"services"}},
		{"no contract", "platform-host", with(func(r *registryv1.RegisterRequest) { r.Contract = nil }), codes.InvalidArgument, []string{"contract"}},
		{"no address", "platform-host", with(func(r *registryv1.RegisterRequest) { r.Address = "" }), codes.InvalidArgument, []string{"address"}},
		{"instance id that is a path", "platform-host", with(func(r *registryv1.RegisterRequest) { r.InstanceId = "a/b" }), codes.InvalidArgument, []string{"instance_id"}},
		{"short lease", "platform-host", with(func(r *registryv1.RegisterRequest) { r.Ttl = durationpb.New(time.Millisecond) }), codes.InvalidArgument, []string{"ttl"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := h.client.Register(h.as(test.machine), test.req)
			wantError(t, err, test.code, test.want...)
		})
	}
	t.Run("nothing is left of refused ones", func(t *testing.T) {
		v := h.until("there is one", func(*registry.View) bool { return true })
		if len(v.Services) != 1 || len(v.Instances) != 1 {
			t.Errorf("services %v, instances %v", v.Services, v.Instances)
		}
		if n := key(h.etcd.Client(), h.ctx(), registry.DefaultPrefix+"functions/"); n != 2 {
			t.Errorf("%d names are claimed, want 2", n)
		}
	})
	t.Run("conflicts are in the details", func(t *testing.T) {
		_, err := h.client.Register(h.as("acme-host"), tests[0].req)
		var fields []string
		for _, d := range status.Convert(err).Details() {
			for _, v := range d.(*errdetails.BadRequest).GetFieldViolations() {
				fields = append(fields, v.GetField())
			}
		}
		if got := fmt.Sprint(fields); !strings.Contains(got, "acme.bad.S/Watch") || !strings.Contains(got, "acme.bad.S/Odd") {
			t.Errorf("details name %v", fields)
		}
	})
}

func TestAuthentication(t *testing.T) {
	h := newHouse(t, nil)
	tests := []struct {
		name       string
		id, secret []string
	}{
		{"nothing", nil, nil},
		{"no secret", []string{"system"}, nil},
		{"no id", nil, []string{h.secrets["system"]}},
		{"wrong secret", []string{"system"}, []string{"wrong"}},
		{"empty secret", []string{"system"}, []string{""}},
		{"another's secret", []string{"system"}, []string{h.secrets["app"]}},
		{"unknown id", []string{"nobody"}, []string{h.secrets["system"]}},
		{"disabled", []string{"gone"}, []string{h.secrets["gone"]}},
		{"an email", []string{"system@example.com"}, []string{h.secrets["system"]}},
		{"two ids", []string{"system", "app"}, []string{h.secrets["system"]}},
	}
	var text string
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx := withPairs(h.ctx(), "clientid", test.id, "clientsecret", test.secret)
			_, err := h.client.ListZones(ctx, &registryv1.ListZonesRequest{})
			wantError(t, err, codes.Unauthenticated)
			if text == "" {
				text = err.Error()
			}
			if err.Error() != text {
				t.Errorf("%q differs from %q: failures are uniform", err, text)
			}
		})
	}
	if _, err := h.client.GetAssertionKeys(h.ctx(), &registryv1.GetAssertionKeysRequest{}); err != nil {
		t.Errorf("assertion keys without credentials: %v", err)
	}
	secret, err := h.store.RotateMachine(h.ctx(), "system")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the old secret is worthless", func() bool {
		_, err := h.client.ListZones(h.as("system"), &registryv1.ListZonesRequest{})
		return status.Code(err) == codes.Unauthenticated
	})
	h.secrets["system"] = secret
	if _, err := h.client.ListZones(h.as("system"), &registryv1.ListZonesRequest{}); err != nil {
		t.Errorf("the new secret: %v", err)
	}
}
