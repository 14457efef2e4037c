package participant_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// zones are the columns of the matrix: each zone of access.md, its sub-zones, and what looks like one and is not.
var zones = []string{
	"", "app-api", "app-api.eu", "app-api-2", "management-api", "management-api.users", "management-apis",
	"system-api", "system-api.keys", "system-api-2",
	"app", "app.acme", "app.acme.orders", "app.acme.orders.billing", "app.acme.orders-2", "app.acme.ordersx",
	"app.acme.crm", "app.acme-2.orders", "app.globex.orders", "lab",
	"app.acme.orders.", "App.acme.orders", "app..orders", "app.system-api.orders",
}

func ill(kind participantv1.Kind, organization, application string) *participant.Participant {
	return &participant.Participant{Kind: kind, Id: "x", OrganizationId: organization, ApplicationId: application}
}

var illFormed = map[string]*participant.Participant{
	"nil":                                   nil,
	"empty":                                 {},
	"unspecified with nothing":              ill(0, "", ""),
	"unspecified with both ids":             ill(0, "acme", "orders"),
	"unknown kind":                          ill(99, "acme", "orders"),
	"system with organization":              ill(1, "acme", ""),
	"system with both":                      ill(1, "acme", "orders"),
	"system with application":               ill(1, "", "orders"),
	"organization without id":               ill(2, "", ""),
	"organization with application":         ill(2, "acme", "orders"),
	"organization with application alone":   ill(2, "", "orders"),
	"application without organization":      ill(3, "", "orders"),
	"application without application":       ill(3, "acme", ""),
	"application without either":            ill(3, "", ""),
	"anonymous with organization":           ill(4, "acme", ""),
	"anonymous with both":                   ill(4, "acme", "orders"),
	"organization with a dotted id":         ill(2, "acme.orders", ""),
	"application with a dotted id":          ill(3, "acme", "orders.billing"),
	"application of a dotted organization":  ill(3, "acme.orders", "billing"),
	"organization named system-api":         ill(2, "system-api", ""),
	"application of organization system":    ill(3, "system-api", "orders"),
	"application named system-api":          ill(3, "acme", "system-api"),
	"organization in upper case":            ill(2, "Acme", ""),
	"organization that is a space":          ill(2, " ", ""),
	"application that ends in a dash":       ill(3, "acme", "orders-"),
	"organization that is a path":           ill(2, "acme/orders", ""),
	"organization that is not UTF-8":        ill(2, "acme\xff", ""),
	"application that carries a tilde":      ill(3, "acme", "orders~x"),
	"organization with a trailing dot":      ill(2, "acme.", ""),
	"application that is a dot":             ill(3, "acme", "."),
	"organization with an empty first part": ill(2, ".acme", ""),
}

// access.md, "Zones", second table, row by row.
func TestRules_Reaches(t *testing.T) {
	open := participant.Rules{OrganizationsReachTheirApplications: true}
	anonymous := participant.Rules{AnonymousZones: []string{"app-api", "app.acme.orders", ""}}
	rows := []struct {
		name    string
		rules   participant.Rules
		p       *participant.Participant
		reaches []string
	}{
		{"application reaches app-api and its own zone", participant.Rules{}, participant.Application("acme", "orders", "a"),
			[]string{"app-api", "app-api.eu", "app.acme.orders", "app.acme.orders.billing"}},
		{"application with the organizations' setting reaches no more", open, participant.Application("acme", "orders", "a"),
			[]string{"app-api", "app-api.eu", "app.acme.orders", "app.acme.orders.billing"}},
		{"the look-alike application reaches its own zone", participant.Rules{}, participant.Application("acme", "orders-2", "a"),
			[]string{"app-api", "app-api.eu", "app.acme.orders-2"}},
		{"organization reaches management-api and app-api", participant.Rules{}, participant.Organization("acme", "o"),
			[]string{"app-api", "app-api.eu", "management-api", "management-api.users"}},
		{"organization with the setting reaches its applications", open, participant.Organization("acme", "o"),
			[]string{"app-api", "app-api.eu", "management-api", "management-api.users", "app.acme.orders",
				"app.acme.orders.billing", "app.acme.orders-2", "app.acme.ordersx", "app.acme.crm"}},
		{"the look-alike organization reaches its own applications", open, participant.Organization("acme-2", "o"),
			[]string{"app-api", "app-api.eu", "management-api", "management-api.users", "app.acme-2.orders"}},
		{"system reaches every zone and the un-zoned", participant.Rules{}, participant.System("s"),
			[]string{"", "app-api", "app-api.eu", "app-api-2", "management-api", "management-api.users", "management-apis",
				"system-api", "system-api.keys", "system-api-2", "app", "app.acme", "app.acme.orders",
				"app.acme.orders.billing", "app.acme.orders-2", "app.acme.ordersx", "app.acme.crm", "app.acme-2.orders",
				"app.globex.orders", "lab"}},
		{"anonymous reaches nothing by default", open, participant.Anonymous(), nil},
		{"anonymous reaches the configured zones", anonymous, participant.Anonymous(),
			[]string{"app-api", "app-api.eu", "app.acme.orders", "app.acme.orders.billing"}},
	}
	for name, p := range illFormed {
		rows = append(rows, struct {
			name    string
			rules   participant.Rules
			p       *participant.Participant
			reaches []string
		}{"ill-formed reaches nothing: " + name, participant.Rules{OrganizationsReachTheirApplications: true, AnonymousZones: []string{"app-api", "app.acme.orders"}}, p, nil})
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			want := map[string]bool{}
			for _, zone := range row.reaches {
				want[zone] = true
			}
			for _, zone := range zones {
				if got := row.rules.Reaches(row.p, zone); got != want[zone] {
					t.Errorf("Reaches(%q) = %t, want %t", zone, got, want[zone])
				}
			}
		})
	}
}

// access.md, "Zones", first table: who may host.
func TestMayHost(t *testing.T) {
	for name, row := range map[string]struct {
		p    *participant.Participant
		want []string
	}{
		"the platform hosts everywhere": {participant.System("h"), []string{"", "app-api", "app-api.eu", "app-api-2",
			"management-api", "management-api.users", "management-apis", "system-api", "system-api.keys", "system-api-2",
			"app", "app.acme", "app.acme.orders", "app.acme.orders.billing", "app.acme.orders-2", "app.acme.ordersx",
			"app.acme.crm", "app.acme-2.orders", "app.globex.orders", "lab"}},
		"an organization hosts in its applications' zones": {participant.Organization("acme", "h"), []string{
			"app.acme.orders", "app.acme.orders.billing", "app.acme.orders-2", "app.acme.ordersx", "app.acme.crm"}},
		"an application hosts in its own zone": {participant.Application("acme", "orders", "h"), []string{
			"app.acme.orders", "app.acme.orders.billing"}},
		"nobody known hosts nowhere": {participant.Anonymous(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[string]bool{}
			for _, zone := range row.want {
				want[zone] = true
			}
			for _, zone := range zones {
				if got := participant.MayHost(row.p, zone); got != want[zone] {
					t.Errorf("MayHost(%q) = %t, want %t", zone, got, want[zone])
				}
			}
		})
	}
	for name, p := range illFormed {
		for _, zone := range zones {
			if participant.MayHost(p, zone) {
				t.Errorf("ill-formed %s may host in %q", name, zone)
			}
		}
	}
}

func TestCheck(t *testing.T) {
	for name, p := range map[string]*participant.Participant{
		"system":       participant.System("s"),
		"organization": participant.Organization("acme", "o"),
		"application":  participant.Application("acme", "orders", "a"),
		"anonymous":    participant.Anonymous(),
	} {
		t.Run("accepts "+name, func(t *testing.T) {
			if err := participant.Check(p); err != nil {
				t.Error(err)
			}
		})
	}
	for name, p := range illFormed {
		t.Run("refuses "+name, func(t *testing.T) {
			if participant.Check(p) == nil {
				t.Errorf("%v was accepted", p)
			}
		})
	}
	t.Run("accepts 4 KiB and no more", func(t *testing.T) {
		p := participant.System("")
		p.Id = strings.Repeat("x", participant.MaxBytes-proto.Size(p)-3)
		if err := participant.Check(p); err != nil || proto.Size(p) != participant.MaxBytes {
			t.Errorf("%d bytes: %v", proto.Size(p), err)
		}
		p.Id += "x"
		if participant.Check(p) == nil {
			t.Error("one byte more was accepted")
		}
	})
	for name, change := range map[string]func(*participant.Participant){
		"id":     func(p *participant.Participant) { p.Id = "\xff" },
		"role":   func(p *participant.Participant) { p.Roles = []string{"ok", "\xff"} },
		"group":  func(p *participant.Participant) { p.Groups = []string{"\xff"} },
		"scope":  func(p *participant.Participant) { p.Scopes = []string{"\xff"} },
		"client": func(p *participant.Participant) { p.OnBehalfOf = &participantv1.OnBehalfOf{ClientName: "\xff"} },
	} {
		t.Run("refuses text that is not UTF-8: "+name, func(t *testing.T) {
			p := participant.System("s")
			change(p)
			if participant.Check(p) == nil {
				t.Error("was accepted")
			}
		})
	}
}

func TestRules_Check(t *testing.T) {
	if err := (participant.Rules{AnonymousZones: []string{"app-api", "app.acme.orders"}}).Check(); err != nil {
		t.Error(err)
	}
	for _, zone := range []string{"", "App-api", "app-api."} {
		if (participant.Rules{AnonymousZones: []string{"app-api", zone}}).Check() == nil {
			t.Errorf("anonymous zone %q was accepted", zone)
		}
	}
}

func TestContext(t *testing.T) {
	if p, ok := participant.FromContext(context.Background()); ok || p != nil {
		t.Errorf("an empty context carries %v", p)
	}
	if _, ok := participant.FromContext(participant.NewContext(context.Background(), nil)); ok {
		t.Error("nil counts as a participant")
	}
	want := participant.System("s")
	if got, ok := participant.FromContext(participant.NewContext(context.Background(), want)); !ok || got != want {
		t.Errorf("got %v, %t", got, ok)
	}
}

func ExampleRules_Reaches() {
	caller := participant.Application("acme", "orders", "orders-client")
	var rules participant.Rules
	fmt.Println(rules.Reaches(caller, "app.acme.orders"))
	fmt.Println(rules.Reaches(caller, "app.acme.orders.billing"))
	fmt.Println(rules.Reaches(caller, "app.acme.orders-2"))
	// Output:
	// true
	// true
	// false
}

func ExampleFromContext() {
	// The SDK's interceptor puts the verified participant into the context; a handler reads it.
	ctx := participant.NewContext(context.Background(), participant.Organization("acme", "console"))
	if p, ok := participant.FromContext(ctx); ok {
		fmt.Println(p.GetOrganizationId())
	}
	// Output: acme
}

func ExampleCheck() {
	fmt.Println(participant.Check(participant.Organization("acme.orders", "console")))
	// Output: participant: organization id: label "acme.orders" has a character other than a lower-case letter, a digit and a dash
}

func ExampleWithin() {
	fmt.Println(participant.Within("app.acme.orders.billing", "app.acme.orders"))
	fmt.Println(participant.Within("app.acme.orders-2", "app.acme.orders"))
	// Output:
	// true
	// false
}

func BenchmarkRules_Reaches(b *testing.B) {
	caller := participant.Application("acme-org", "orders-app", "a")
	b.ReportAllocs()
	for b.Loop() {
		if !(participant.Rules{}).Reaches(caller, "app.acme-org.orders-app.billing") {
			b.Fatal("unreached")
		}
	}
}
