package server_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/participant"
)

func withPairs(ctx context.Context, pairs ...any) context.Context {
	for i := 0; i < len(pairs); i += 2 {
		for _, v := range pairs[i+1].([]string) {
			ctx = metadata.AppendToOutgoingContext(ctx, pairs[i].(string), v)
		}
	}
	return ctx
}

// plain is a service with two tools that declare no names.
const plain = `service OrderService { option (sallyport.tool.v1.service) = {}; rpc FindById(Req) returns (Res); rpc Place(Req) returns (Res); }`

// furnish registers one service in each of several zones, and gives its name by zone.
func (h *house) furnish() map[string]string {
	h.t.Helper()
	names := map[string]string{}
	for i, zone := range []string{"", "system-api", "management-api", "app-api", appZone, appZone + ".billing", appZone + "-2", "app.acme-org.other", "app.else-org.orders-app"} {
		pkg := fmt.Sprint("z", i)
		names[zone] = "acme." + pkg + ".OrderService"
		h.register("platform-host", request(protos(h.t, pkg, plain), zone, names[zone]))
	}
	h.until("all are online", func(v *registry.View) bool { return len(v.Instances) >= 9 })
	return names
}

func TestLists_showWhatTheCallerReaches(t *testing.T) {
	for _, reaching := range []bool{false, true} {
		t.Run(fmt.Sprint("organizations reach their applications: ", reaching), func(t *testing.T) {
			h := newHouse(t, func(c *configv1.RegistryConfig) { c.OrganizationsReachTheirApplications = reaching })
			names := h.furnish()
			org := []string{"app-api", "management-api"}
			if reaching {
				org = []string{"app-api", "app.acme-org.orders-app", "app.acme-org.orders-app-2", "app.acme-org.orders-app.billing", "app.acme-org.other", "management-api"}
			}
			rows := map[string][]string{
				"system": {"", "app-api", "app.acme-org.orders-app", "app.acme-org.orders-app-2", "app.acme-org.orders-app.billing", "app.acme-org.other",
					"app.else-org.orders-app", "management-api", "system-api"},
				"acme":      org,
				"acme-host": org,
				"app":       {"app-api", "app.acme-org.orders-app", "app.acme-org.orders-app.billing"},
				"other-app": {"app-api", "app.acme-org.other"},
			}
			for machine, want := range rows {
				eventually(t, machine+" sees its zones and the instances in them", func() bool {
					r, err := h.client.ListZones(h.as(machine), &registryv1.ListZonesRequest{})
					if err != nil || len(r.GetZones()) != len(want) {
						return false
					}
					i, err := h.client.ListInstances(h.as(machine), &registryv1.ListInstancesRequest{})
					return err == nil && len(i.GetInstances()) == len(want)
				})
				zones, err := h.client.ListZones(h.as(machine), &registryv1.ListZonesRequest{})
				got := pick(zones.GetZones(), (*registryv1.ZoneSummary).GetZone)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: zones %q, %v; want %q", machine, got, err, want)
				}
				services, err := h.client.ListServices(h.as(machine), &registryv1.ListServicesRequest{})
				if got := pick(services.GetServices(), (*registryv1.ServiceSummary).GetZone); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: services in %q, %v", machine, got, err)
				}
				instances, err := h.client.ListInstances(h.as(machine), &registryv1.ListInstancesRequest{})
				if got := pick(instances.GetInstances(), (*registryv1.InstanceSummary).GetZone); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: instances in %q, %v", machine, got, err)
				}
				tools, err := h.client.ListTools(h.as(machine), &registryv1.ListToolsRequest{})
				if err != nil || len(tools.GetTools()) != 2*len(want) {
					t.Errorf("%s: %d tools, %v", machine, len(tools.GetTools()), err)
				}
				for _, zone := range rows["system"] {
					name := contract.ToolName(registry.Key{Zone: zone, Service: names[zone]}.String(), "FindById")
					_, err := h.client.GetTool(h.as(machine), &registryv1.GetToolRequest{Name: name})
					if slices.Contains(want, zone) {
						if err != nil {
							t.Errorf("%s: tool in %q: %v", machine, zone, err)
						}
						continue
					}
					wantError(t, err, codes.NotFound, "no tool")
				}
			}
		})
	}
}

func pick[T any](list []T, get func(T) string) []string {
	out := []string{}
	for _, t := range list {
		out = append(out, get(t))
	}
	return out
}

func TestLists_filterAndPage(t *testing.T) {
	h := newHouse(t, nil)
	h.furnish()
	ctx := h.as("system")
	eventually(t, "all is shown", func() bool {
		// Instances are the last thing that a registration writes.
		r, err := h.client.ListInstances(ctx, &registryv1.ListInstancesRequest{})
		return err == nil && len(r.GetInstances()) == 9
	})
	within, err := h.client.ListServices(ctx, &registryv1.ListServicesRequest{Zone: appZone})
	if got := pick(within.GetServices(), (*registryv1.ServiceSummary).GetZone); err != nil || !slices.Equal(got, []string{appZone, appZone + ".billing"}) {
		t.Errorf("within %s: %v, %v", appZone, got, err)
	}
	one, err := h.client.ListTools(ctx, &registryv1.ListToolsRequest{Service: "acme.z3.OrderService"})
	if err != nil || len(one.GetTools()) != 2 {
		t.Errorf("of one service: %v, %v", one, err)
	}

	all, err := h.client.ListTools(ctx, &registryv1.ListToolsRequest{PageSize: 1000})
	if err != nil || len(all.GetTools()) != 18 || all.GetNextPageToken() != "" {
		t.Fatalf("all: %d tools, %v", len(all.GetTools()), err)
	}
	for _, size := range []int32{1, 4, 5, 9, 17, 18} {
		var names []string
		var zones, services, instances []string
		collect(t, func(token string) (string, error) {
			r, err := h.client.ListTools(ctx, &registryv1.ListToolsRequest{PageSize: size, PageToken: token})
			names = append(names, pick(r.GetTools(), (*registryv1.ToolSummary).GetName)...)
			if len(r.GetTools()) == 0 {
				t.Error("an empty page")
			}
			return r.GetNextPageToken(), err
		})
		if want := pick(all.GetTools(), (*registryv1.ToolSummary).GetName); !slices.Equal(names, want) {
			t.Errorf("in pages of %d: %v, want %v", size, names, want)
		}
		collect(t, func(token string) (string, error) {
			r, err := h.client.ListZones(ctx, &registryv1.ListZonesRequest{PageSize: size, PageToken: token})
			zones = append(zones, pick(r.GetZones(), (*registryv1.ZoneSummary).GetZone)...)
			return r.GetNextPageToken(), err
		})
		collect(t, func(token string) (string, error) {
			r, err := h.client.ListServices(ctx, &registryv1.ListServicesRequest{PageSize: size, PageToken: token})
			services = append(services, pick(r.GetServices(), (*registryv1.ServiceSummary).GetZone)...)
			return r.GetNextPageToken(), err
		})
		collect(t, func(token string) (string, error) {
			r, err := h.client.ListInstances(ctx, &registryv1.ListInstancesRequest{PageSize: size, PageToken: token})
			instances = append(instances, pick(r.GetInstances(), (*registryv1.InstanceSummary).GetZone)...)
			return r.GetNextPageToken(), err
		})
		if len(zones) != 9 || zones[0] != "" || !slices.Equal(zones, services) || !slices.Equal(zones, instances) {
			t.Errorf("in pages of %d: zones %q, services in %q, instances in %q", size, zones, services, instances)
		}
	}
	for _, token := range []string{"x", "!", "MA", "MA=="} {
		_, err := h.client.ListTools(ctx, &registryv1.ListToolsRequest{PageToken: token})
		wantError(t, err, codes.InvalidArgument, "page_token")
	}
	_, err = h.client.ListTools(ctx, &registryv1.ListToolsRequest{PageSize: 1001})
	wantError(t, err, codes.InvalidArgument, "page_size")
}

func collect(t *testing.T, next func(token string) (string, error)) {
	t.Helper()
	token := ""
	for range 100 {
		var err error
		if token, err = next(token); err != nil {
			t.Fatal(err)
		} else if token == "" {
			return
		}
	}
	t.Fatal("the pages do not end")
}

func TestListTools_saysWhyAToolIsHidden(t *testing.T) {
	h := newHouse(t, nil)
	denied := protos(t, "denied", `service S { option (sallyport.tool.v1.service) = {access: {mode: ACCESS_MODE_DENY_ALL}}; rpc Find(Req) returns (Res); }`)
	h.register("platform-host", request(denied, "app-api", "acme.denied.S"))
	ruled := protos(t, "ruled", `service S { option (sallyport.tool.v1.service) = {access: {roles: "buyer"}}; rpc Find(Req) returns (Res); }`)
	h.register("platform-host", request(ruled, "app-api", "acme.ruled.S"))
	offline := h.register("platform-host", request(protos(t, "offline", orders), "app-api", "acme.offline.OrderService"))
	if _, err := h.client.Deregister(h.as("platform-host"), &registryv1.DeregisterRequest{InstanceId: offline.GetInstanceId()}); err != nil {
		t.Fatal(err)
	}
	draining := h.register("platform-host", request(protos(t, "draining", orders), "management-api", "acme.draining.OrderService"))
	if _, err := h.client.Drain(h.as("platform-host"), &registryv1.DrainRequest{InstanceId: draining.GetInstanceId()}); err != nil {
		t.Fatal(err)
	}
	// What a registry of another version let in.
	broken := protos(t, "broken", `service S { option (sallyport.tool.v1.service) = {}; rpc Watch(Req) returns (stream Res); }`)
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(broken)
	if err != nil {
		t.Fatal(err)
	}
	digest, err := h.store.PutContract(h.ctx(), raw)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.store.Register(h.ctx(), &registry.Registration{MachineID: "platform-host", TTL: time.Minute, Contract: digest, Address: address,
		Services: []registry.ServiceRegistration{{Key: registry.Key{Zone: "app-api", Service: "acme.broken.S"}, AliasRoot: "app-api"}}}); err != nil {
		t.Fatal(err)
	}
	h.register("platform-host", request(protos(t, "fine", orders), "app.x.y", "acme.fine.OrderService"))

	want := map[string]string{
		"srv://app-api~acme.broken.S":                              "the contract does not compile: acme.broken.S/Watch",
		"srv://app-api~acme.denied.S/Find":                         "denies everybody",
		"srv://app-api~acme.ruled.S/Find":                          "", // some see it
		"srv://app-api~acme.offline.OrderService/FindById":         "no instance is online",
		"srv://app-api~acme.offline.OrderService/Place":            "no instance is online",
		"srv://management-api~acme.draining.OrderService/FindById": "no instance is online",
		"srv://management-api~acme.draining.OrderService/Place":    "no instance is online",
		"srv://app.x.y~acme.fine.OrderService/FindById":            "",
		"srv://app.x.y~acme.fine.OrderService/Place":               "",
	}
	right := func(tool *registryv1.ToolSummary) bool {
		reason, known := want[tool.GetResource()]
		return known && (reason != "" || tool.GetHiddenBecause() == "") && strings.Contains(tool.GetHiddenBecause(), reason)
	}
	eventually(t, "each is shown or hidden for its own reason", func() bool {
		r, err := h.client.ListTools(h.as("system"), &registryv1.ListToolsRequest{})
		return err == nil && len(r.GetTools()) == len(want) && !slices.ContainsFunc(r.GetTools(), func(t *registryv1.ToolSummary) bool { return !right(t) })
	})
	services, err := h.client.ListServices(h.as("system"), &registryv1.ListServicesRequest{})
	if err != nil || len(services.GetServices()) != 6 {
		t.Errorf("services %v, %v", services, err)
	}
}

func TestGetTool(t *testing.T) {
	h := newHouse(t, nil)
	h.register("platform-host", request(protos(t, "one", orders), appZone, "acme.one.OrderService"))
	h.register("platform-host", request(protos(t, "two", orders), "app.acme-org.other", "acme.two.OrderService"))
	name := contract.ToolName(appZone+"~acme.one.OrderService", "Place")
	eventually(t, "both are shown", func() bool {
		r, err := h.client.ListTools(h.as("system"), &registryv1.ListToolsRequest{})
		return err == nil && len(r.GetTools()) == 4
	})
	byHash, err := h.client.GetTool(h.as("system"), &registryv1.GetToolRequest{Name: name})
	if err != nil || byHash.GetTool().GetName() != name || byHash.GetJsonProfile() != "protojson" ||
		!strings.Contains(byHash.GetDefinitionJson(), `"name":"place_order"`) || !strings.Contains(byHash.GetDefinitionJson(), `"inputSchema"`) {
		t.Errorf("by hash: %v, %v", byHash, err)
	}
	for _, d := range dialect.All() {
		spelled, err := h.client.GetTool(h.as("system"), &registryv1.GetToolRequest{Name: name, Dialect: d.String()})
		if err != nil || spelled.GetTool().GetName() != name {
			t.Errorf("in %s: %v, %v", d, spelled, err)
		}
		// There is nothing in this tool that the others would spell otherwise.
		same := d != dialect.OpenAIStrict && d != dialect.Nova && d != dialect.Gemini
		if got := spelled.GetDefinitionJson(); (got == byHash.GetDefinitionJson()) != same {
			t.Errorf("in %s: %s", d, got)
		}
	}
	gemini := dialect.Gemini.ToolName(name)
	if spelled, err := h.client.GetTool(h.as("system"), &registryv1.GetToolRequest{Name: gemini, Dialect: "gemini"}); err != nil || spelled.GetTool().GetName() != name {
		t.Errorf("by %q, as gemini spells it: %v, %v", gemini, spelled, err)
	}
	_, err = h.client.GetTool(h.as("system"), &registryv1.GetToolRequest{Name: "_" + name, Dialect: "flat"})
	wantError(t, err, codes.NotFound, "_"+name)
	_, err = h.client.GetTool(h.as("system"), &registryv1.GetToolRequest{Name: name, Dialect: "Flat"})
	wantError(t, err, codes.InvalidArgument, append(dialect.Names(), "no dialect")...)
	byAlias, err := h.client.GetTool(h.as("app"), &registryv1.GetToolRequest{Name: "place_order"})
	if err != nil || !proto.Equal(byAlias, byHash) {
		t.Errorf("by alias: %v, %v", byAlias, err)
	}
	_, err = h.client.GetTool(h.as("system"), &registryv1.GetToolRequest{Name: "place_order"})
	wantError(t, err, codes.FailedPrecondition, "acme.one.OrderService/Place", "acme.two.OrderService/Place")
	for _, missing := range []string{"nothing", "0123456789012345678901234", "a/b"} {
		_, err = h.client.GetTool(h.as("system"), &registryv1.GetToolRequest{Name: missing})
		wantError(t, err, codes.NotFound, missing)
	}
}

// A contract describes every service of its process: who does not reach all of them is not shown it.
func TestGetContract(t *testing.T) {
	h := newHouse(t, nil)
	set := protos(t, "both", `
		service A { option (sallyport.tool.v1.service) = {zone: "app-api"}; rpc Find(Req) returns (Res); }
		service B { option (sallyport.tool.v1.service) = {zone: "system-api"}; rpc Find(Req) returns (Res); }`)
	digest := h.register("platform-host", request(set, "", "acme.both.A", "acme.both.B")).GetContractDigest()
	alone := h.register("platform-host", request(protos(t, "alone", orders), "app-api", "acme.alone.OrderService")).GetContractDigest()
	eventually(t, "they are known", func() bool {
		r, err := h.client.ListServices(h.as("system"), &registryv1.ListServicesRequest{})
		return err == nil && len(r.GetServices()) == 3
	})
	for _, test := range []struct {
		name, machine, digest string
		code                  codes.Code
	}{
		{"all of it", "system", digest, codes.OK},
		{"a part of it", "app", digest, codes.NotFound},
		{"within its zones", "app", alone, codes.OK},
		{"unknown", "system", strings.Repeat("0", 64), codes.NotFound},
		{"ill-formed", "system", "x", codes.InvalidArgument},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := h.client.GetContract(h.as(test.machine), &registryv1.GetContractRequest{Digest: test.digest})
			wantError(t, err, test.code)
			if test.code == codes.OK {
				if registry.Digest(r.GetFileDescriptorSet()) != test.digest || proto.Unmarshal(r.GetFileDescriptorSet(), new(descriptorpb.FileDescriptorSet)) != nil {
					t.Error("the bytes are not the contract's")
				}
			}
		})
	}
}

// The edge calls the read RPCs for a participant, with its assertion and no machine's credentials.
func TestAssertion(t *testing.T) {
	h := newHouse(t, nil)
	h.furnish()
	published, err := h.client.GetAssertionKeys(h.ctx(), &registryv1.GetAssertionKeysRequest{})
	if err != nil || len(published.GetKeys()) != 1 {
		t.Fatalf("keys %v, %v", published, err)
	}
	stored := h.until("there is a key", func(v *registry.View) bool { return len(v.AssertionKeys) == 1 }).AssertionKeys[0]
	public, err := assertion.DecodeKey(published.GetKeys()[0])
	if err != nil || published.GetKeys()[0].GetKid() != stored.GetKid() || len(public) != 32 {
		t.Fatalf("published %v, %v", published, err)
	}
	signer, err := assertion.NewSigner(stored.GetKid(), stored.GetSeed())
	if err != nil {
		t.Fatal(err)
	}
	forged, err := assertion.NewSigner(stored.GetKid(), make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	app := participant.Application("acme-org", "orders-app", "somebody")
	audience := assertion.Audience("system-api", selfName)
	sign := func(s *assertion.Signer, method, audience string, at time.Time) string {
		token, err := s.Sign(app, method, audience, at)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	list, register, now := registryv1.RegistryService_ListZones_FullMethodName, registryv1.RegistryService_Register_FullMethodName, time.Now()
	for _, test := range []struct {
		name, token string
		ok          bool
	}{
		{"right", sign(signer, list, audience, now), true},
		{"another key", sign(forged, list, audience, now), false},
		{"another method", sign(signer, register, audience, now), false},
		{"another audience", sign(signer, list, selfName, now), false},
		{"too old", sign(signer, list, audience, now.Add(-time.Hour)), false},
		{"nonsense", "x.y.z", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx := metadata.AppendToOutgoingContext(h.ctx(), assertion.AssertionKey, test.token)
			var got *registryv1.ListZonesResponse
			eventually(t, "the answer is there", func() bool {
				got, err = h.client.ListZones(ctx, &registryv1.ListZonesRequest{})
				return err != nil || len(got.GetZones()) == 3
			})
			if !test.ok {
				wantError(t, err, codes.Unauthenticated)
				// An assertion that is wrong is not made up for by credentials that are right.
				both := metadata.AppendToOutgoingContext(h.as("system"), assertion.AssertionKey, test.token)
				_, err := h.client.ListZones(both, &registryv1.ListZonesRequest{})
				wantError(t, err, codes.Unauthenticated)
				return
			}
			if zones := pick(got.GetZones(), (*registryv1.ZoneSummary).GetZone); !slices.Equal(zones, []string{"app-api", appZone, appZone + ".billing"}) {
				t.Errorf("zones %q", zones)
			}
		})
	}
	t.Run("no assertion registers", func(t *testing.T) {
		token, err := signer.Sign(participant.System("edge"), register, audience, now)
		if err != nil {
			t.Fatal(err)
		}
		ctx := metadata.AppendToOutgoingContext(h.ctx(), assertion.AssertionKey, token)
		_, err = h.client.Register(ctx, request(protos(t, "x", orders), "", "acme.x.OrderService"))
		wantError(t, err, codes.Unauthenticated)
	})
}
