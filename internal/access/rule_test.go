package access_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/participant"
)

const zone = "app.acme.orders"

// grants are what the roles of these tests grant.
var grants = access.NewGrants(slices.Values([]*identityv1.StoredRole{
	{Name: "admin", Actions: []string{"*"}},
	{Name: "clerk", Actions: []string{"orders.refund", "orders.read.*"}},
	{OrganizationId: "acme", Name: "refunder", Actions: []string{"orders.refund"}},
	{OrganizationId: "globex", Name: "refunder", Actions: []string{"orders.refund"}},
}))

func with(p *participant.Participant, roles ...string) *participant.Participant {
	p.Roles = roles
	return p
}

func app(roles ...string) *participant.Participant {
	return with(participant.Application("acme", "orders", "m"), roles...)
}

func facts(zone string) access.Facts {
	return access.Facts{
		Name: "abc", Function: "com.acme.OrderService/Refund", Zone: zone, Destructive: true,
		Weight: &toolv1.Weight{Level: 3, MaxDuration: durationpb.New(5e9)},
	}
}

func compile(t testing.TB, a *toolv1.Access, zone string) *access.Rule {
	t.Helper()
	r, err := access.Compile(a, facts(zone))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The table of access.md, "Access rules on a tool", each row with who is permitted and who is not.
func TestRule(t *testing.T) {
	policy := func(text string) *toolv1.Access { return &toolv1.Access{Policy: text} }
	anonymous, nobody := participant.Anonymous(), (*participant.Participant)(nil)
	delegate := app()
	delegate.OnBehalfOf = &participantv1.OnBehalfOf{OwnerId: "jo@acme.example", ClientId: "https://c.example/m"}
	for name, row := range map[string]struct {
		access  *toolv1.Access
		zone    string // empty for app.acme.orders, "-" for un-zoned
		reason  string
		permits []*participant.Participant
		refuses []*participant.Participant
	}{
		"nothing declared": {nil, "", "none", []*participant.Participant{app(), anonymous}, nil},
		"empty":            {&toolv1.Access{}, "", "none", []*participant.Participant{app(), anonymous}, nil},
		"PERMIT_ALL": {&toolv1.Access{Mode: toolv1.AccessMode_ACCESS_MODE_PERMIT_ALL}, "", "permit_all",
			[]*participant.Participant{app(), anonymous}, nil},
		"DENY_ALL": {&toolv1.Access{Mode: toolv1.AccessMode_ACCESS_MODE_DENY_ALL}, "", "deny_all", nil,
			[]*participant.Participant{app("admin"), with(participant.System("s"), "admin"), anonymous}},
		"DENY_ALL with roles": {&toolv1.Access{Mode: toolv1.AccessMode_ACCESS_MODE_DENY_ALL, Roles: []string{"admin"}}, "", "deny_all",
			nil, []*participant.Participant{app("admin")}},
		"a mode that is not known": {&toolv1.Access{Mode: 9}, "", "unknown", nil, []*participant.Participant{app("admin"), anonymous}},
		"a field that is not known": {unknownField(&toolv1.Access{}), "", "unknown", nil,
			[]*participant.Participant{app("admin"), anonymous}},
		"roles": {&toolv1.Access{Roles: []string{"refunder", "admin"}}, "", "roles",
			[]*participant.Participant{app("admin"), app("x", "refunder"), app("acme/refunder"), with(participant.System("s"), "admin"),
				with(participant.Organization("acme", "o"), "acme/refunder")},
			[]*participant.Participant{app(), app("Admin"), app("admin2"), app("admi"), app(""), app("globex/refunder"), app("/refunder"),
				app("refunder/x"), participant.System("s"), nobody, anonymous, with(participant.Anonymous(), "admin"),
				with(&participant.Participant{Id: "x"}, "admin"), with(participant.Application("acme", "", "x"), "admin"),
				with(participant.Application("system-api", "orders", "x"), "admin"), app("admin", "\xff")}},
		"roles of an organization do not count for the platform": {&toolv1.Access{Roles: []string{"refunder", "acme/refunder"}}, "app-api", "roles",
			[]*participant.Participant{app("refunder")}, []*participant.Participant{app("acme/refunder"), app("globex/refunder")}},
		"nor without a zone": {&toolv1.Access{Roles: []string{"refunder"}}, "-", "roles",
			[]*participant.Participant{app("refunder")}, []*participant.Participant{app("acme/refunder")}},
		"nor for another organization": {&toolv1.Access{Roles: []string{"refunder"}}, "app.globex.orders", "roles",
			[]*participant.Participant{app("globex/refunder")}, []*participant.Participant{app("acme/refunder")}},
		"nor for a look-alike": {&toolv1.Access{Roles: []string{"refunder"}}, "app.acme-2.orders", "roles",
			[]*participant.Participant{app("acme-2/refunder")}, []*participant.Participant{app("acme/refunder")}},
		"a role of the organization by its whole name": {&toolv1.Access{Roles: []string{"acme/refunder"}}, "", "roles",
			[]*participant.Participant{app("acme/refunder")}, []*participant.Participant{app("refunder"), app("globex/refunder")}},
		"action": {&toolv1.Access{Action: "orders.refund"}, "", "action",
			[]*participant.Participant{app("clerk"), app("admin"), app("acme/refunder")},
			[]*participant.Participant{app(), app("orders.refund"), app("globex/refunder"), app("nobody"), anonymous,
				with(participant.Anonymous(), "admin")}},
		"action by a pattern": {&toolv1.Access{Action: "orders.read.all"}, "", "action",
			[]*participant.Participant{app("clerk")}, []*participant.Participant{app("acme/refunder")}},
		"action that a pattern ends before": {&toolv1.Access{Action: "orders.read"}, "", "action",
			[]*participant.Participant{app("admin")}, []*participant.Participant{app("clerk")}},
		"policy": {policy("'admin' in participant.roles"), "", "policy",
			[]*participant.Participant{app("admin")}, []*participant.Participant{app(), anonymous, with(participant.Anonymous(), "admin")}},
		"policy that is always true": {policy("true"), "", "policy", []*participant.Participant{app()}, []*participant.Participant{anonymous, nobody}},
		"policy of ids": {policy("participant.organization_id == 'acme' && participant.application_id == 'orders' && participant.kind == 3"),
			"", "policy", []*participant.Participant{app()}, []*participant.Participant{participant.Application("acme", "crm", "m"), participant.System("s")}},
		"policy of a delegate": {policy("has(participant.on_behalf_of) && participant.on_behalf_of.owner_id.endsWith('@acme.example')"),
			"", "policy", []*participant.Participant{delegate}, []*participant.Participant{app()}},
		"policy of the tool": {policy(`tool.name == 'abc' && tool.function == 'com.acme.OrderService/Refund' && tool.zone == 'app.acme.orders' &&
			tool.hints.destructive && !tool.hints.read_only && !tool.hints.idempotent && !tool.hints.open_world && tool.weight.level == 3 &&
			tool.weight.max_duration == duration('5s')`), "", "policy", []*participant.Participant{app()}, nil},
		"policy that finds roles which do not count": {policy("participant.roles.exists(r, r.endsWith('refunder'))"), "app-api", "policy",
			[]*participant.Participant{app("refunder")}, []*participant.Participant{app("acme/refunder")}},
		"policy with an error":       {policy("participant.roles[3] == 'x'"), "", access.PolicyError, nil, []*participant.Participant{app()}},
		"policy that is not boolean": {policy("dyn(participant.id)"), "", access.PolicyError, nil, []*participant.Participant{app()}},
		"policy that divides": {policy("1 / size(participant.roles) == 1"), "", "policy",
			[]*participant.Participant{app("x")}, nil},
		"several": {&toolv1.Access{Mode: toolv1.AccessMode_ACCESS_MODE_PERMIT_ALL, Roles: []string{"clerk"}, Action: "orders.refund",
			Policy: "participant.id == 'm'"}, "", "roles+action+policy",
			[]*participant.Participant{app("clerk")},
			[]*participant.Participant{app("admin"), app(), with(participant.Application("acme", "orders", "n"), "clerk"), anonymous}},
		"several that contradict": {&toolv1.Access{Roles: []string{"admin"}, Policy: "!('admin' in participant.roles)"}, "", "roles+policy",
			nil, []*participant.Participant{app("admin"), app()}},
	} {
		t.Run(name, func(t *testing.T) {
			at := row.zone
			switch at {
			case "":
				at = zone
			case "-":
				at = ""
			}
			rule := compile(t, row.access, at)
			for _, p := range row.permits {
				if d := rule.Judge(p, grants); !d.Permitted || d.Rule != row.reason {
					t.Errorf("%v: %+v", p, *d)
				}
			}
			for _, p := range row.refuses {
				if d := rule.Judge(p, grants); d.Permitted || d.Rule != row.reason {
					t.Errorf("%v: %+v", p, *d)
				}
			}
			if rule.ReadsArguments() || !rule.JudgeArguments(app(), nil).Permitted {
				t.Error("it asks for arguments")
			}
		})
	}
}

func unknownField(a *toolv1.Access) *toolv1.Access {
	a.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 77, protowire.VarintType), 1))
	return a
}

// A participant larger than 4 KiB satisfies no rule that asks who calls.
func TestRule_boundsTheParticipant(t *testing.T) {
	large := app("admin", strings.Repeat("x", participant.MaxBytes))
	for _, a := range []*toolv1.Access{{Roles: []string{"admin"}}, {Action: "a"}, {Policy: "true"}} {
		if compile(t, a, zone).Judge(large, grants).Permitted {
			t.Errorf("%v permits it", a)
		}
	}
}

func TestRule_arguments(t *testing.T) {
	for name, row := range map[string]struct {
		policy           string
		permits, refuses []string
	}{
		"a number": {"arguments.amount < 100",
			[]string{`{"amount":99}`, `{"amount":99.5}`, `{"amount":-1e3}`, `{"amount":-9223372036854775808}`, `{"amount":1.0}`},
			[]string{`{"amount":100}`, `{"amount":1e2}`, `{"amount":18446744073709551615}`, `{"amount":1e300}`, `{"amount":"1"}`,
				`{"amount":null}`, `{"amount":[1]}`, `{"amount":{}}`, `{"amount":true}`, `{}`, `{"Amount":1}`}},
		"equal numbers":      {"arguments.amount == 3", []string{`{"amount":3}`, `{"amount":3.0}`, `{"amount":30e-1}`}, []string{`{"amount":"3"}`, `{"amount":3.1}`}},
		"an unsigned number": {"arguments.n == 18446744073709551615u", []string{`{"n":18446744073709551615}`}, []string{`{"n":18446744073709551614}`}},
		"text":               {"arguments.owner == participant.id", []string{`{"owner":"m"}`, `{"owner":"\u006d"}`}, []string{`{"owner":"n"}`, `{"owner":null}`, `{}`}},
		"presence":           {"!has(arguments.all)", []string{`{}`, `{"x":1}`}, []string{`{"all":false}`, `{"all":null}`}},
		"nested": {"arguments.order.lines.all(l, l.price <= 10 && l.tags['a b'] == true)",
			[]string{`{"order":{"lines":[]}}`, `{"order":{"lines":[{"price":10,"tags":{"a b":true}}]}}`},
			[]string{`{"order":{"lines":[{"price":11,"tags":{"a b":true}}]}}`, `{"order":{"lines":[{"price":1,"tags":{}}]}}`, `{"order":{}}`}},
		"null":               {"arguments.x == null", []string{`{"x":null}`}, []string{`{"x":0}`, `{}`}},
		"a boolean itself":   {"arguments.yes", []string{`{"yes":true}`}, []string{`{"yes":false}`, `{"yes":"true"}`, `{"yes":1}`, `{}`}},
		"what is no object":  {"size(arguments) >= 0", []string{`{}`}, []string{`[]`, `1`, `null`, ``, `{`, `{"a":1}x`}},
		"too many arguments": {"arguments.list.all(a, arguments.list.size() > 0 || a < 0)", []string{`{"list":[1]}`}, []string{`{"list":[` + strings.Repeat("1,", 50_000) + `1]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			rule := compile(t, &toolv1.Access{Policy: row.policy, Roles: []string{"clerk"}}, zone)
			if !rule.ReadsArguments() {
				t.Fatal("it does not read arguments")
			}
			if !rule.Judge(app("clerk"), grants).Permitted || rule.Judge(app(), grants).Permitted {
				t.Error("without arguments, the rest does not decide alone")
			}
			for _, a := range row.permits {
				if d := rule.JudgeArguments(app("clerk"), []byte(a)); !d.Permitted || d.Rule != "roles+policy" {
					t.Errorf("%s: %+v", a, *d)
				}
			}
			for _, a := range row.refuses {
				if rule.JudgeArguments(app("clerk"), []byte(a)).Permitted {
					t.Errorf("%.80s is permitted", a)
				}
			}
			for _, p := range []*participant.Participant{nil, participant.Anonymous()} {
				if rule.JudgeArguments(p, []byte(row.permits[0])).Permitted {
					t.Error("somebody unauthenticated is permitted")
				}
			}
		})
	}
}

// A policy whose worst case costs too much, or that is otherwise no condition, is refused when it is compiled.
func TestCheckPolicy(t *testing.T) {
	for name, row := range map[string]struct{ policy, problem string }{
		"cheap":                          {"participant.id == 'x'", ""},
		"a loop over roles":              {"participant.roles.exists(r, r.startsWith('acme/'))", ""},
		"a pattern for each role":        {"participant.roles.exists(r, r.matches('^acme/.*$'))", ""},
		"a loop over arguments":          {"arguments.items.all(i, i.price < 100)", ""},
		"loops within loops":             {"participant.roles.all(a, participant.groups.all(b, participant.scopes.all(c, a == b || b == c)))", "may cost too much"},
		"two loops":                      {"participant.roles.exists(r, participant.groups.exists(g, g == r))", "may cost too much"},
		"two loops over arguments":       {"arguments.items.all(i, i.lines.all(l, l.price < 100))", "may cost too much"},
		"texts that double in a loop":    {"[participant.id]" + strings.Repeat(".map(a, a + a)", 40) + "[0] != ''", "may cost too much"},
		"lists that double in a loop":    {"[[1]]" + strings.Repeat(".map(a, a + a)", 40) + ".exists(a, 7 in a)", "may cost too much"},
		"the numbers in the text":        {"participant.roles.exists(r, participant.groups.exists(g, g == r))", "100000 is the limit"},
		"a pattern of the caller's":      {"'x'.matches(participant.id)", "the pattern of matches"},
		"a pattern from the arguments":   {"matches('x', arguments.pattern)", "the pattern of matches"},
		"a pattern that is put together": {"'x'.matches('a' + participant.id)", "the pattern of matches"},
		"a pattern that is none":         {"participant.id.matches('(')", "missing closing )"},
		"a pattern that is too large":    {"participant.id.matches('((a{1000}){1000}){1000}')", "invalid"},
		"too long":                       {"participant.id != '" + strings.Repeat("x", 4096) + "'", "size exceeds limit"},
		"too deep":                       {strings.Repeat("(", 1000) + "true" + strings.Repeat(")", 1000), "recursion"},
		"no condition":                   {"participant.id", "it gives string"},
		"a number":                       {"1", "it gives int"},
		"no expression":                  {"participant.roles ===", "Syntax error"},
		"something unknown":              {"tool.nmae == 'x'", "undeclared reference to 'tool.nmae'"},
		"no field":                       {"participant.rolse == []", "undefined field 'rolse'"},
		"the clock":                      {"now() > timestamp('2020-01-01T00:00:00Z')", "undeclared reference to 'now'"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // remembered or not
				err := access.CheckPolicy(row.policy)
				if (err == nil) != (row.problem == "") || err != nil && !strings.Contains(err.Error(), row.problem) {
					t.Errorf("got %v, want %q", err, row.problem)
				}
			}
			if _, err := access.Compile(&toolv1.Access{Policy: row.policy}, facts(zone)); (err == nil) != (row.problem == "") {
				t.Errorf("compiled with %v", err)
			}
		})
	}
}

// CEL reckons the comparison of lists within lists as if they were short. What is in them is bounded all the same.
func TestRule_boundsWhatAnEvaluationHolds(t *testing.T) {
	for _, tail := range []string{".exists(x, [x] == [x + []])", ".exists(x, {1: x} == {1: x + []})", ".exists(x, x == x)"} {
		for doubled, permitted := range map[int]bool{5: true, 30: false, 200: false} {
			text := "[[1]]" + strings.Repeat(".map(a, a + a)", doubled) + tail
			rule, err := access.Compile(&toolv1.Access{Policy: text}, facts(zone))
			if err == nil && rule.Judge(app(), grants).Permitted != permitted {
				t.Errorf("doubled %d times%s: permitted: %t", doubled, tail, !permitted)
			}
		}
	}
	// What a policy does not read costs it nothing.
	rule := compile(t, &toolv1.Access{Policy: "arguments.amount < 100"}, zone)
	if !rule.JudgeArguments(app(), []byte(`{"amount":1,"list":[`+strings.Repeat("1,", 50_000)+`1]}`)).Permitted {
		t.Error("a long list beside what is read is refused")
	}
}

// What decides alike has one key, so that its decision is found once; what may decide differently has not.
func TestRule_key(t *testing.T) {
	key := func(a *toolv1.Access, zone, name string) string {
		f := facts(zone)
		f.Name = name
		r, err := access.Compile(a, f)
		if err != nil {
			t.Fatal(err)
		}
		return r.Key()
	}
	roles := &toolv1.Access{Roles: []string{"a", "b"}}
	if key(roles, zone, "x") != key(&toolv1.Access{Roles: []string{"b", "a", "b"}}, "app.acme.crm.eu", "y") {
		t.Error("roles of one organization's tools differ")
	}
	differ := map[string]bool{}
	for _, k := range []string{
		key(nil, zone, "x"), key(roles, zone, "x"), key(roles, "app-api", "x"), key(roles, "app.globex.orders", "x"),
		key(&toolv1.Access{Roles: []string{"a"}}, zone, "x"), key(&toolv1.Access{Roles: []string{`a""b`}}, zone, "x"),
		key(&toolv1.Access{Action: "a"}, zone, "x"), key(&toolv1.Access{Policy: "true"}, zone, "x"),
		key(&toolv1.Access{Policy: "tool.name == 'x'"}, zone, "x"), key(&toolv1.Access{Policy: "tool.name == 'x'"}, zone, "y"),
		key(&toolv1.Access{Roles: []string{"a"}, Action: "a"}, zone, "x"),
	} {
		if differ[k] {
			t.Errorf("two rules have the key %q", k)
		}
		differ[k] = true
	}
	if key(&toolv1.Access{Policy: "true"}, zone, "x") != key(&toolv1.Access{Policy: "true"}, zone, "y") {
		t.Error("a policy that does not read the tool differs by it")
	}
}

// All permits what each of the rules permits, and counts a part that is in several once.
func TestAll(t *testing.T) {
	a := compile(t, &toolv1.Access{Roles: []string{"clerk"}}, zone)
	b := compile(t, &toolv1.Access{Roles: []string{"clerk"}, Policy: "arguments.x == 1"}, zone)
	c := compile(t, &toolv1.Access{Action: "orders.refund"}, zone)
	none, explicit := compile(t, nil, zone), compile(t, &toolv1.Access{Mode: 1}, zone)
	if access.All(a, a).Key() != a.Key() || access.All(a, none).Key() != a.Key() || access.All(a, b).Key() != b.Key() {
		t.Error("a part counts twice")
	}
	if access.All(a, c).Key() != access.All(c, a).Key() {
		t.Error("the order counts")
	}
	if all := access.All(b, c); !all.ReadsArguments() || !all.Judge(app("clerk"), grants).Permitted || all.Judge(app("acme/refunder"), grants).Permitted ||
		all.JudgeArguments(app("clerk"), []byte(`{"x":2}`)).Permitted {
		t.Error("it is not the conjunction")
	}
	if access.All(a, access.Nobody()).Judge(app("clerk"), grants).Permitted {
		t.Error("a denial does not deny")
	}
	if access.All(none, none).Restricted() || access.All(none, explicit).Judge(nil, nil).Rule != "permit_all" || !access.All(none).Judge(nil, nil).Permitted {
		t.Error("nothing declared twice is something")
	}
}

// A small model of the rules, written anew: who is permitted is the same.
func TestRule_agreesWithTheModel(t *testing.T) {
	names := []string{"a", "b", "c"}
	organizations := []string{"", "acme", "globex", "acme-2"}
	stored := []*identityv1.StoredRole{
		{Name: "a", Actions: []string{"x.y"}}, {Name: "b", Actions: []string{"x.*"}}, {OrganizationId: "acme", Name: "a", Actions: []string{"*"}},
		{OrganizationId: "globex", Name: "c", Actions: []string{"x.y", "z"}},
	}
	g := access.NewGrants(slices.Values(stored))
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"", "app-api", "app.acme.o", "app.acme.o.p", "app.globex.o", "app.acme-2.o", "app.acme", "acme.o"}).Draw(t, "zone")
		var held []string
		for range rapid.IntRange(0, 3).Draw(t, "held") {
			name := rapid.SampledFrom(names).Draw(t, "name")
			if o := rapid.SampledFrom(organizations).Draw(t, "organization"); o != "" {
				name = o + "/" + name
			}
			held = append(held, name)
		}
		p := rapid.SampledFrom([]*participant.Participant{
			participant.System("s"), participant.Organization("acme", "o"), participant.Application("acme", "o", "m"), participant.Anonymous(), {},
		}).Draw(t, "participant")
		p = with(&participant.Participant{Kind: p.Kind, Id: p.Id, OrganizationId: p.OrganizationId, ApplicationId: p.ApplicationId}, held...)
		a := &toolv1.Access{
			Roles:  rapid.SliceOfN(rapid.SampledFrom(names), 0, 2).Draw(t, "roles"),
			Action: rapid.SampledFrom([]string{"", "", "x", "x.y", "x.y.z", "z"}).Draw(t, "action"),
			Policy: rapid.SampledFrom([]string{"", "", "'a' in participant.roles", "size(participant.roles) == 1", "participant.roles[1] == 'b'"}).Draw(t, "policy"),
		}
		// The model: which of the held roles count, and what each condition says of them.
		var count []string
		for _, role := range held {
			organization, _, of := strings.Cut(role, "/")
			if !of || strings.HasPrefix(zone, "app."+organization+".") {
				count = append(count, role)
			}
		}
		want := true
		if len(a.Roles) > 0 {
			want = want && slices.ContainsFunc(count, func(role string) bool { return slices.Contains(a.Roles, role[strings.Index(role, "/")+1:]) })
		}
		if a.Action != "" {
			granting := map[string][]string{"x": nil, "x.y": {"a", "b", "acme/a", "globex/c"}, "x.y.z": {"b"}, "z": {"globex/c"}}
			want = want && slices.ContainsFunc(count, func(role string) bool { return role == "acme/a" || slices.Contains(granting[a.Action], role) })
		}
		switch a.Policy {
		case "'a' in participant.roles":
			want = want && slices.Contains(count, "a")
		case "size(participant.roles) == 1":
			want = want && len(count) == 1
		case "participant.roles[1] == 'b'":
			want = want && len(count) > 1 && count[1] == "b"
		}
		if len(a.Roles) > 0 || a.Action != "" || a.Policy != "" {
			want = want && p.Id != ""
		}
		rule, err := access.Compile(a, facts(zone))
		if err != nil {
			t.Fatal(err)
		}
		if got := rule.Judge(p, g).Permitted; got != want {
			t.Fatalf("%v for %v in %q: %t", a, p, zone, got)
		}
	})
}

// A rule that names tools by their zones shares the key of its organization: no zone decides otherwise than its key says.
func TestRule_keyCountsRolesAsCountsDoes(t *testing.T) {
	zones := []string{"", "app-api", "app", "app.", "app.acme", "app.acme.", "app.acme.o", "app.acme.o.p", "app..o", "app.ACME.o", "app.system-api.o",
		"app.acme-2.o", "xapp.acme.o", "app.acme.o."}
	keys := map[string][]string{}
	for _, z := range zones {
		k := compile(t, &toolv1.Access{Roles: []string{"r"}}, z).Key()
		keys[k] = append(keys[k], z)
	}
	for k := range maps.Keys(keys) {
		for _, o := range []string{"acme", "acme-2", "ACME", "system-api", "app", ""} {
			first := access.Counts(fmt.Sprintf("%s/r", o), keys[k][0])
			for _, z := range keys[k] {
				if access.Counts(o+"/r", z) != first {
					t.Errorf("roles of %q count in %q or %q, which have one key", o, z, keys[k][0])
				}
			}
		}
	}
}

// What CheckAction takes is what a role may name and what is no pattern.
func TestCheckAction_isTheGrammarOfRoles(t *testing.T) {
	for _, action := range []string{"orders.refund", "a", "a-b_c.9", "Orders Refund", "orders.*", "*", ".a", "a.", "a..b", "é", "a\n",
		strings.Repeat("x", 200), strings.Repeat("x", 201)} {
		role := &identityv1.CreateRoleRequest{Name: "clerk", Actions: []string{action}}
		want := protovalidate.Validate(role) == nil && !strings.HasSuffix(action, access.Everything)
		if problem := access.CheckAction(action); (problem == "") != want {
			t.Errorf("%q: %q", action, problem)
		}
	}
	if access.CheckAction("") != "" {
		t.Error("a rule without an action is refused")
	}
}

// A policy that cannot be evaluated is told apart from one that does not hold.
func TestRule_saysThatAPolicyFailed(t *testing.T) {
	for name, row := range map[string]struct {
		policy, arguments, rule string
	}{
		"division by zero":          {"1 / participant.roles.size() > 0", "", access.PolicyError},
		"false":                     {"participant.roles.size() > 0", "", access.Policy},
		"division by an argument":   {"1 / arguments.n > 0", `{"n":0}`, access.PolicyError},
		"an argument that is false": {"arguments.n > 0", `{"n":0}`, access.Policy},
		"an argument that is none":  {"arguments.n > 0", `{}`, access.PolicyError},
		"no condition":              {"arguments.n", `{"n":"x"}`, access.PolicyError},
	} {
		t.Run(name, func(t *testing.T) {
			rule := compile(t, &toolv1.Access{Policy: row.policy}, zone)
			d := rule.Judge(app(), grants)
			if row.arguments != "" {
				if !d.Permitted {
					t.Fatalf("refused before the arguments: %v", d)
				}
				d = rule.JudgeArguments(app(), []byte(row.arguments))
			}
			if d.Permitted || d.Rule != row.rule {
				t.Errorf("decided %v, want %s", d, row.rule)
			}
		})
	}
}
