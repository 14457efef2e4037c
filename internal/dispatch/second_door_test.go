package dispatch_test

import (
	"errors"
	"testing"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/dispatch"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

// access.md, "Zones" and "Two doors": whatever resolution said, a call reaches an instance only if its caller reaches
// the zone that is stored with the instance. Each row is a caller, and the zones that it reaches; every other call is
// a wrong resolution.
func TestSecondDoor_judgesEachCallFromTheInstance(t *testing.T) {
	zones := []string{
		"", "app-api", "app-api.eu", "app-api-2", "management-api", "management-api.users", "management-apis", "system-api",
		"system-api.keys", "app.acme.orders", "app.acme.orders.billing", "app.acme.orders-2", "app.acme.ordersx",
		"app.acme.crm", "app.acme-2.orders", "app.globex.orders", "lab", "App.acme.orders", "app.acme.orders.",
	}
	s := serve(t, answer("reached"))
	var instances []*registryv1.StoredInstance
	for _, z := range zones {
		i := s.instance()
		i.Zone = z
		instances = append(instances, i)
	}
	closed, open := participant.Rules{}, participant.Rules{
		OrganizationsReachTheirApplications: true, AnonymousZones: []string{"app-api"},
	}
	for name, row := range map[string]struct {
		rules   participant.Rules
		p       *participant.Participant
		reaches []string
	}{
		"system": {closed, participant.System("s"), zones[:len(zones)-2]},
		"organization": {closed, participant.Organization("acme", "o"),
			[]string{"app-api", "app-api.eu", "management-api", "management-api.users"}},
		"organization that reaches its applications": {open, participant.Organization("acme", "o"),
			[]string{"app-api", "app-api.eu", "management-api", "management-api.users", "app.acme.orders",
				"app.acme.orders.billing", "app.acme.orders-2", "app.acme.ordersx", "app.acme.crm"}},
		"application": {open, participant.Application("acme", "orders", "a"),
			[]string{"app-api", "app-api.eu", "app.acme.orders", "app.acme.orders.billing"}},
		"application of a look-alike": {closed, participant.Application("acme", "orders-2", "a"),
			[]string{"app-api", "app-api.eu", "app.acme.orders-2"}},
		"anonymous":                              {closed, participant.Anonymous(), nil},
		"anonymous where admitted":               {open, participant.Anonymous(), []string{"app-api", "app-api.eu"}},
		"nobody":                                 {open, nil, nil},
		"unspecified":                            {open, &participant.Participant{OrganizationId: "acme"}, nil},
		"system with an organization":            {open, &participant.Participant{Kind: participantv1.Kind_KIND_SYSTEM, OrganizationId: "acme"}, nil},
		"organization with an application":       {open, &participant.Participant{Kind: participantv1.Kind_KIND_ORGANIZATION, OrganizationId: "acme", ApplicationId: "orders"}, nil},
		"application without organization":       {open, participant.Application("", "orders", "a"), nil},
		"application with a dotted organization": {open, participant.Application("acme.orders", "billing", "a"), nil},
		"application named system-api":           {open, participant.Application("acme", "system-api", "a"), nil},
		"organization named system-api":          {open, participant.Organization("system-api", "o"), nil},
		"anonymous with an organization":         {open, &participant.Participant{Kind: participantv1.Kind_KIND_ANONYMOUS, OrganizationId: "acme"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, func(o *dispatch.Options) { o.Rules = row.rules }, instances...)
			reaches := map[string]bool{}
			for _, z := range row.reaches {
				reaches[z] = true
			}
			for _, z := range zones {
				before := s.calls.Load()
				r := repeatable("")
				r.Participant, r.Service.Zone = row.p, z
				body, failure := call(d, r)
				if reaches[z] {
					if failure != nil || body != "reached" {
						t.Errorf("zone %q: %q, %v", z, body, failure)
					}
					continue
				}
				if failure == nil || !failure.Disagreement || failure.Executed != dispatch.ExecutedNo || failure.Status != nil {
					t.Errorf("zone %q: %q, %+v", z, body, failure)
				}
				if s.calls.Load() != before {
					t.Errorf("zone %q: the call left", z)
				}
			}
		})
	}
}

func TestSecondDoor_refusesAMethodThatIsNotTheServices(t *testing.T) {
	s := serve(t, answer("reached"))
	d := start(t, func(o *dispatch.Options) { o.Rules.OrganizationsReachTheirApplications = true }, s.instance())
	for _, method := range []string{
		"/com.acme.AdminService/Drop", "com.acme.OrderService/FindById", "//FindById", "/com.acme.OrderService", "",
		"/com.acme.OrderService/", "/com.acme.OrderServiceX/FindById", "/FindById",
	} {
		r := request("")
		r.FullMethod = method
		if _, failure := call(d, r); failure == nil || !failure.Disagreement {
			t.Errorf("method %q: %+v", method, failure)
		}
	}
	if n := s.calls.Load(); n != 0 {
		t.Errorf("%d calls left", n)
	}
}

// An instance that stands in a list where it does not belong is not called, whatever the list's name.
func TestSecondDoor_believesTheInstanceAndNotTheList(t *testing.T) {
	s := serve(t, answer("reached"))
	d := start(t, nil)
	foreign := s.instance()
	foreign.Zone = "app.globex.orders"
	v := view()
	v.Instances[key] = []*registryv1.StoredInstance{foreign}
	d.Update(v)
	if _, failure := call(d, request("")); failure == nil || failure.Executed != dispatch.ExecutedNo || s.calls.Load() != 0 {
		t.Errorf("got %+v", failure)
	}
}

type accessFunc func(p *participant.Participant, k registry.Key, method string, arguments []byte) error

func (f accessFunc) Permits(p *participant.Participant, k registry.Key, method string, arguments []byte) error {
	return f(p, k, method, arguments)
}

func (accessFunc) Knows(*registryv1.StoredInstance) bool { return true }

func TestSecondDoor_asksTheAccessRuleAgain(t *testing.T) {
	s := serve(t, answer("reached"))
	denied := errors.New("its access rule denies everybody")
	d := start(t, func(o *dispatch.Options) {
		o.Access = accessFunc(func(p *participant.Participant, k registry.Key, m string, arguments []byte) error {
			if p != caller || k != key || string(arguments) != `{"id":"1"}` {
				t.Errorf("asked about %v, %v, %s", p, k, arguments)
			}
			if m == method {
				return nil
			}
			return denied
		})
	}, s.instance())
	r := request("")
	r.Arguments = []byte(`{"id":"1"}`)
	if body, failure := call(d, r); failure != nil || body != "reached" {
		t.Errorf("permitted: %q, %v", body, failure)
	}
	r.FullMethod = "/com.acme.OrderService/Cancel"
	if _, failure := call(d, r); failure == nil || !failure.Disagreement || !errors.Is(failure, denied) || s.calls.Load() != 1 {
		t.Errorf("denied: %+v", failure)
	}
}
