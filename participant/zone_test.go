package participant_test

import (
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/participant"
)

func TestCheckLabel(t *testing.T) {
	for name, row := range map[string]struct {
		label string
		ok    bool
	}{
		"letters":             {"acme", true},
		"digits":              {"42", true},
		"interior dash":       {"acme-org", true},
		"interior dashes":     {"a--b", true},
		"longest":             {strings.Repeat("a", 63), true},
		"empty":               {"", false},
		"too long":            {strings.Repeat("a", 64), false},
		"leading dash":        {"-acme", false},
		"trailing dash":       {"acme-", false},
		"dot":                 {"acme.orders", false},
		"upper case":          {"Acme", false},
		"underscore":          {"acme_org", false},
		"space":               {"acme org", false},
		"letter beyond ASCII": {"ácme", false},
		"tilde":               {"acme~org", false},
		"zero byte":           {"acme\x00", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := participant.CheckLabel(row.label); (err == nil) != row.ok {
				t.Errorf("CheckLabel(%q) = %v, want ok: %t", row.label, err, row.ok)
			}
		})
	}
}

func TestCheckZone(t *testing.T) {
	for name, row := range map[string]struct {
		zone string
		ok   bool
	}{
		"application":               {"app.acme.orders", true},
		"sub-zone of application":   {"app.acme.orders.billing.eu", true},
		"platform":                  {"app-api", true},
		"sub-zone of platform":      {"system-api.keys", true},
		"another root":              {"lab", true},
		"prefix of an organization": {"app.acme", true},
		"reserved word further in":  {"app.acme.orders.system-api", true},
		"longest":                   {"a." + strings.Repeat(strings.Repeat("b", 62)+".", 3) + strings.Repeat("c", 62), true},
		"empty":                     {"", false},
		"too long":                  {strings.Repeat("a.", 127), false},
		"leading dot":               {".app", false},
		"trailing dot":              {"app.acme.orders.", false},
		"empty label":               {"app..orders", false},
		"upper case":                {"App.acme.orders", false},
		"star":                      {"app.acme.*", false},
		"tilde":                     {"app.acme~orders", false},
		"slash":                     {"app/acme", false},
		"label with leading dash":   {"app.-acme.orders", false},
		"reserved organization":     {"app.system-api.orders", false},
		"reserved application":      {"app.acme.system-api", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := participant.CheckZone(row.zone); (err == nil) != row.ok {
				t.Errorf("CheckZone(%q) = %v, want ok: %t", row.zone, err, row.ok)
			}
		})
	}
}

func TestWithin(t *testing.T) {
	for name, row := range map[string]struct {
		zone, outer string
		want        bool
	}{
		"itself":                   {"app.acme.orders", "app.acme.orders", true},
		"sub-zone":                 {"app.acme.orders.billing", "app.acme.orders", true},
		"sub-sub-zone":             {"app.acme.orders.billing.eu", "app.acme.orders", true},
		"dash look-alike":          {"app.acme.orders-2", "app.acme.orders", false},
		"letter look-alike":        {"app.acme.ordersx", "app.acme.orders", false},
		"outer is the longer":      {"app.acme.orders", "app.acme.orders.billing", false},
		"other organization":       {"app.acme-2.orders", "app.acme", false},
		"app-api is not in app":    {"app-api", "app", false},
		"shared ending":            {"x.app-api", "app-api", false},
		"nothing in the un-zoned":  {"app-api", "", false},
		"un-zoned in nothing":      {"", "app-api", false},
		"un-zoned in the un-zoned": {"", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := participant.Within(row.zone, row.outer); got != row.want {
				t.Errorf("Within(%q, %q) = %t", row.zone, row.outer, got)
			}
		})
	}
}

func TestRoot(t *testing.T) {
	for zone, want := range map[string]string{
		"":                           "",
		"app.acme.orders":            "app.acme.orders",
		"app.acme.orders.billing":    "app.acme.orders",
		"app.acme.orders.billing.eu": "app.acme.orders",
		"app.acme.orders-2.billing":  "app.acme.orders-2",
		"app.acme":                   "app.acme",
		"app":                        "app",
		"app-api":                    "app-api",
		"app-api.eu.west":            "app-api",
		"management-api.x":           "management-api",
		"system-api":                 "system-api",
		"lab.one.two":                "lab",
	} {
		if got := participant.Root(zone); got != want {
			t.Errorf("Root(%q) = %q, want %q", zone, got, want)
		}
	}
}

// The invariants that every enforcement point relies on, for any spelling of a zone.
func FuzzZone(f *testing.F) {
	for _, seed := range []string{
		"", "app.acme.orders", "app.acme.orders.billing", "app.acme.orders-2", "app.acme", "app", "app-api",
		"app-api.x", "management-api", "system-api", "app.system-api.x", "..", "app..x", "APP.acme.orders",
		"app.acme.orders.", "app.acme.orders\x00", "app.acme.órders", "*", "app.*",
	} {
		f.Add(seed)
	}
	rules := participant.Rules{OrganizationsReachTheirApplications: true, AnonymousZones: []string{"app-api", ""}}
	system := participant.System("s")
	others := []*participant.Participant{
		participant.Organization("acme", "o"), participant.Application("acme", "orders", "a"), participant.Anonymous(),
	}
	f.Fuzz(func(t *testing.T, zone string) {
		valid := participant.CheckZone(zone) == nil
		if got := rules.Reaches(system, zone); got != (valid || zone == "") {
			t.Fatalf("system reaches %q: %t", zone, got)
		}
		if participant.MayHost(system, zone) != (valid || zone == "") {
			t.Fatalf("system may host in %q: %t", zone, !valid)
		}
		if valid {
			root := participant.Root(zone)
			if !participant.Within(zone, root) || participant.Root(root) != root {
				t.Fatalf("root of %q is %q", zone, root)
			}
		}
		for _, p := range others {
			reaches := rules.Reaches(p, zone)
			if reaches && !valid {
				t.Fatalf("%v reaches %q, which is no zone", p, zone)
			}
			if valid && reaches && !rules.Reaches(p, zone+".sub") && participant.CheckZone(zone+".sub") == nil {
				t.Fatalf("%v reaches %q but not its sub-zone", p, zone)
			}
			if participant.MayHost(p, zone) && !participant.Within(zone, "app.acme") {
				t.Fatalf("%v may host in %q", p, zone)
			}
			if outer, all := rules.Outer(p); reaches {
				within := all
				for _, o := range outer {
					within = within || participant.Within(zone, o)
				}
				if !within {
					t.Fatalf("%v reaches %q outside of %q", p, zone, outer)
				}
			}
		}
	})
}
