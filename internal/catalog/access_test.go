package catalog_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/sallyport-dev/sallyport/internal/catalog"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/participant"
)

// by is the application of most tests with roles.
func by(roles ...string) *participant.Participant {
	p := participant.Application("acme", "orders", "a")
	p.Roles = roles
	return p
}

// rpc is a line of orderService.
func rpc(name, access string) string {
	return name + " option (sallyport.tool.v1.tool) = {access: {" + access + "}};"
}

// doors are what is listed, what resolves and what the second door permits, which must be one answer.
func doors(t *testing.T, s *catalog.Snapshot, p *participant.Participant, method string, arguments string) bool {
	t.Helper()
	n := hash(zone, orders, method)
	isListed := slices.Contains(listed(t, s, p, 2), n)
	e, resolves := s.Resolve(p, dialect.Canonical, n)
	called := resolves
	if resolves && e.ReadsArguments() {
		called = e.JudgeArguments(p, []byte(arguments)).Permitted
	}
	second := s.Permits(p, registry.Key{Zone: zone, Service: orders}, "/"+orders+"/"+method, []byte(arguments)) == nil
	if isListed != resolves || second != called {
		t.Errorf("%s for %v: listed %t, resolves %t, called %t, the second door permits %t", method, p, isListed, resolves, called, second)
	}
	return called
}

// access.md, "Access rules on a tool": each row of the table, for list and call, at both doors.
func TestAccess(t *testing.T) {
	h := open(t, nil)
	buyer, other, system := by("buyer"), by("other"), participant.System("s")
	systemBuyer := participant.System("s")
	systemBuyer.Roles = []string{"buyer"}
	stranger := participant.Application("globex", "orders", "g")
	stranger.Roles = []string{"buyer"}
	everyone := []*participant.Participant{buyer, other, system, systemBuyer}
	for name, row := range map[string]struct {
		access  string
		permits []*participant.Participant
		denied  string
	}{
		"empty":                {"", everyone, ""},
		"PERMIT_ALL":           {"mode: ACCESS_MODE_PERMIT_ALL", everyone, ""},
		"DENY_ALL":             {"mode: ACCESS_MODE_DENY_ALL", nil, "denies everybody"},
		"DENY_ALL with roles":  {`mode: ACCESS_MODE_DENY_ALL roles: "buyer"`, nil, "denies everybody"},
		"roles":                {`roles: "buyer" roles: "seller"`, []*participant.Participant{buyer, systemBuyer}, ""},
		"action":               {`action: "orders.find"`, []*participant.Participant{buyer, systemBuyer}, ""},
		"action of nobody":     {`action: "orders.cancel"`, nil, ""},
		"policy":               {`policy: "participant.organization_id == 'acme'"`, []*participant.Participant{buyer, other}, ""},
		"policy of the tool":   {`policy: "tool.zone == 'app.acme.orders' && tool.function.endsWith('/Find')"`, everyone, ""},
		"policy with an error": {`policy: "participant.roles[7] == ''"`, nil, ""},
		"several":              {`mode: ACCESS_MODE_PERMIT_ALL roles: "buyer" action: "orders.find" policy: "participant.application_id != ''"`, []*participant.Participant{buyer}, ""},
		"arguments permit":     {`policy: "arguments.id == 'A-17'"`, everyone, ""},
		"roles and arguments":  {`roles: "buyer" policy: "arguments.id == 'A-17'"`, []*participant.Participant{buyer, systemBuyer}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldAfter(h).grants("buyer: orders.find", "other: orders.list")
			s := h.show(w.serves(zone, orders, h.contract(orderService(rpc("Find", row.access), "Cancel"))).view())
			for _, p := range everyone {
				if got := doors(t, s, p, "Find", `{"id":"A-17"}`); got != slices.Contains(row.permits, p) {
					t.Errorf("%v is permitted: %t", p, got)
				}
				if !doors(t, s, p, "Cancel", "{}") {
					t.Error("what says nothing is not permitted")
				}
			}
			for _, p := range []*participant.Participant{nil, participant.Anonymous(), {}, stranger} {
				if doors(t, s, p, "Find", `{"id":"A-17"}`) {
					t.Errorf("%v is permitted", p)
				}
			}
			if strings.Contains(row.access, "arguments") && doors(t, s, buyer, "Find", `{"id":"A-18"}`) {
				t.Error("other arguments are permitted")
			}
			got := reasons(s)["srv://app.acme.orders~com.acme.OrderService/Find"]
			if (got == "") != (row.denied == "") || !strings.Contains(got, row.denied) || !strings.Contains(h.log.String(), row.denied) {
				t.Errorf("hidden because %q", got)
			}
		})
	}
	t.Run("the service's access where the RPC says nothing", func(t *testing.T) {
		text := strings.Replace(orderService("Find", rpc("Cancel", "")), "service) = {}", `service) = {access: {roles: "buyer"}}`, 1)
		s := h.show(newWorldAfter(h).serves(zone, orders, h.contract(text)).view())
		for _, method := range []string{"Find", "Cancel"} {
			if !doors(t, s, buyer, method, "{}") || doors(t, s, other, method, "{}") != (method == "Cancel") {
				t.Errorf("%s is judged by another rule", method)
			}
		}
	})
	t.Run("an anonymous caller who reaches the zone", func(t *testing.T) {
		h := open(t, func(o *catalog.Options) { o.Rules.AnonymousZones = []string{zone} })
		anonymous := participant.Anonymous()
		anonymous.Roles = []string{"buyer"}
		s := h.show(newWorld().serves(zone, orders, h.contract(orderService("Find", rpc("Cancel", `roles: "buyer"`), rpc("Place", `policy: "true"`)))).view())
		for method, permitted := range map[string]bool{"Find": true, "Cancel": false, "Place": false} {
			if doors(t, s, anonymous, method, "{}") != permitted {
				t.Errorf("%s is permitted: %t", method, !permitted)
			}
		}
	})
	t.Run("offline", func(t *testing.T) {
		digest := h.contract(orderService(rpc("Find", `roles: "buyer"`)))
		s := h.show(newWorldAfter(h).knows(zone, orders, digest).view())
		if e, ok := s.Resolve(buyer, dialect.Canonical, hash(zone, orders, "Find")); !ok || e.Online {
			t.Error("who is permitted does not find it")
		}
		if _, ok := s.Resolve(other, dialect.Canonical, hash(zone, orders, "Find")); ok {
			t.Error("who is not permitted finds it")
		}
	})
}

// During a rolling upgrade a call may reach an instance of any online contract: all their rules must hold.
func TestAccess_isTheConjunctionOfOnlineContracts(t *testing.T) {
	h := open(t, nil)
	v1 := h.contract(orderService(rpc("Find", `roles: "buyer"`), "Cancel"))
	v2 := h.contract(orderService(rpc("Find", `roles: "seller"`), rpc("Cancel", `policy: "arguments.id != ''"`)))
	v3 := h.contract(orderService(rpc("Find", `roles: "buyer"`), rpc("Cancel", `mode: ACCESS_MODE_DENY_ALL`)))
	for name, row := range map[string]struct {
		running       []string
		buyer, seller bool // may find
		both          bool
		cancel        string // refused arguments, `*` for all
	}{
		"one":                       {[]string{v1}, true, false, true, ""},
		"a new role bites at once":  {[]string{v1, v2}, false, false, true, `{"id":""}`},
		"not of one that drains":    {[]string{v1, "-" + v2}, true, false, true, ""},
		"a denial bites at once":    {[]string{v1, v3}, true, false, true, "*"},
		"the new one alone":         {[]string{v2}, false, true, true, `{"id":""}`},
		"three, and each must hold": {[]string{v1, v2, v3}, false, false, true, "*"},
	} {
		t.Run(name, func(t *testing.T) {
			s := h.show(newWorldAfter(h).knows(zone, orders, v1, v2, v3).runs(zone, orders, row.running...).view())
			for p, want := range map[*participant.Participant]bool{by("buyer"): row.buyer, by("seller"): row.seller, by("seller", "buyer"): row.both, by(): false} {
				if got := doors(t, s, p, "Find", "{}"); got != want {
					t.Errorf("%v may find: %t", p.Roles, got)
				}
			}
			for _, arguments := range []string{`{"id":"x"}`, `{"id":""}`} {
				if got := doors(t, s, by(), "Cancel", arguments); got != (row.cancel == "" || row.cancel != "*" && row.cancel != arguments) {
					t.Errorf("may cancel %s: %t", arguments, got)
				}
			}
		})
	}
}

// What roles grant is the newest view's: for lists, for names and at the second door.
func TestAccess_followsTheRoles(t *testing.T) {
	h := open(t, nil)
	w := newWorld().serves(zone, orders, h.contract(orderService(rpc("Find", `action: "orders.find"`), "Cancel")))
	p := by("clerk")
	for i, grants := range []string{"clerk: orders.cancel", "clerk: orders.find", "other: orders.find", "clerk: orders.*", "clerk: *", "clerk: order.*"} {
		s := h.show(w.grants(grants).view())
		if got, want := doors(t, s, p, "Find", "{}"), i == 1 || i == 3 || i == 4; got != want {
			t.Errorf("%s: permitted %t", grants, got)
		}
	}
}

// An alias is judged among what the participant may see: what its rule hides makes nobody's name ambiguous.
func TestAccess_aliases(t *testing.T) {
	h := open(t, nil)
	named := func(access string) string {
		return h.contract(orderService(`Find option (sallyport.tool.v1.tool) = {name: "find_order", access: {` + access + `}};`))
	}
	a, b := zone, zone+".eu"
	s := h.show(newWorld().serves(a, orders, named(`roles: "a"`)).serves(b, orders, named(`roles: "b"`)).view())
	hashA, hashB := hash(a, orders, "Find"), hash(b, orders, "Find")
	for name, row := range map[string]struct {
		p      *participant.Participant
		listed []string
		zone   string // of what the alias finds
	}{
		"the one":   {by("a"), []string{"find_order"}, a},
		"the other": {by("b"), []string{"find_order"}, b},
		"both":      {by("a", "b"), sorted(hashA, hashB), ""},
		"neither":   {by(), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, limit := range []int64{1 << 20, 0} { // remembered, and page by page
				s.LimitListings(limit)
				if got := sorted(listed(t, s, row.p, 1)...); !slices.Equal(got, row.listed) {
					t.Errorf("is listed %q", got)
				}
			}
			e, ok := s.Resolve(row.p, dialect.Canonical, "find_order")
			if ok != (row.zone != "") || ok && e.Service.Zone != row.zone {
				t.Errorf("the alias finds %v", e)
			}
		})
	}
}

// Pages follow each other by hashes, whatever a participant may see meanwhile: each tool that it may see throughout is
// listed once.
func TestAccess_pagingWhileTheRolesChange(t *testing.T) {
	h := open(t, nil)
	var rpcs []string
	for i := range 12 {
		rpcs = append(rpcs, rpc(fmt.Sprintf("Find%d", i), []string{"", `action: "even"`, `action: "odd"`}[i%3]))
	}
	w := newWorld().serves(zone, orders, h.contract(orderService(rpcs...)))
	p := by("clerk")
	seen := map[string]int{}
	after, turn := "", 0
	for {
		s := h.show(w.grants([]string{"clerk: even", "clerk: odd", "clerk:"}[turn%3]).view())
		turn++
		page, next := s.Page(p, dialect.Canonical, after, 2)
		for _, d := range split(t, page) {
			seen[name(t, d)]++
		}
		if after = next; after == "" {
			break
		}
	}
	for i := range 12 {
		n := seen[hash(zone, orders, fmt.Sprintf("Find%d", i))]
		if n > 1 || i%3 == 0 && n != 1 {
			t.Errorf("Find%d is listed %d times", i, n)
		}
	}
}

// A name that finds nothing takes the same steps whatever the reason, in every dialect.
func TestAccess_missesTakeTheSameSteps(t *testing.T) {
	h := open(t, nil)
	contract := func(alias string) string {
		return h.contract(orderService(
			`Find option (sallyport.tool.v1.tool) = {name: "`+alias+`", access: {roles: "buyer"}};`, rpc("Cancel", `mode: ACCESS_MODE_DENY_ALL`),
			rpc("Place", `policy: "participant.id == 'somebody'"`), rpc("Return", `action: "orders.return"`), "Open"))
	}
	w := newWorld().serves(zone, orders, contract("find_mine")).serves("app.globex.orders", orders, contract("find_theirs")).
		serves("app.initech.orders", orders, contract("find_theirs")).serves("management-api", orders, contract("find_managed"))
	s := h.show(w.view())
	open := h.show(newWorldAfter(h).serves(zone, orders, h.contract(orderService("Find"))).serves("system-api", orders, h.contract(orderService("Find"))).view())
	for name, row := range map[string]struct {
		snapshot *catalog.Snapshot
		names    map[string]string // to the reason
	}{
		"with rules": {s, map[string]string{
			"abcdefghijklmnopqrstuvwxy": "no_tool", "find_nothing": "no_tool", "find_theirs": "zone", "find_managed": "zone", "find_mine": "roles",
			hash(zone, orders, "Find"): "roles", hash(zone, orders, "Place"): "policy", hash(zone, orders, "Return"): "action",
			hash(zone, orders, "Cancel"): "no_tool", hash("app.globex.orders", orders, "Open"): "zone",
			hash("app.globex.orders", orders, "Find"): "zone", hash("management-api", orders, "Place"): "zone",
		}},
		"without": {open, map[string]string{"find_nothing": "no_tool", hash("system-api", orders, "Find"): "zone"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, d := range dialect.All() {
				var first *catalog.Steps
				for n, reason := range row.names {
					found, why, steps := row.snapshot.Search(by("seller"), d, n)
					if found || why != reason {
						t.Errorf("%s in %s: found %t, because of %q", n, d, found, why)
					}
					if first == nil {
						first = &steps
					}
					if steps != *first {
						t.Errorf("%s in %s takes %+v, others %+v", n, d, steps, *first)
					}
				}
			}
		})
	}
	// Spellings that the dialect undoes are looked up twice, all of them.
	var first *catalog.Steps
	for _, n := range []string{"_1st", "_1st_order"} {
		if _, _, steps := s.Search(by(), dialect.Gemini, n); first != nil && steps != *first {
			t.Errorf("%s takes %+v, others %+v", n, steps, *first)
		} else {
			first = &steps
		}
	}
}

// Each rule is evaluated once for each participant's value, as long as neither the rules nor what roles grant change.
func TestAccess_decidesOnce(t *testing.T) {
	h := open(t, nil)
	digest := h.contract(orderService(rpc("Find", `roles: "buyer"`), rpc("Cancel", `roles: "buyer"`), rpc("Place", `policy: "participant.id == 'a'"`), "Return"))
	w := newWorld().grants("buyer: x").serves(zone, orders, digest).serves("app.acme.orders.eu", orders, digest)
	s := h.show(w.view())
	if s.Rules() != 2 {
		t.Fatalf("%d rules are told apart", s.Rules())
	}
	ask := func(s *catalog.Snapshot, p *participant.Participant) {
		for _, d := range []dialect.Dialect{dialect.Canonical, dialect.Nova} {
			s.Page(p, d, "", 2)
			s.Page(p, d, "", 100)
			for _, method := range []string{"Find", "Cancel", "Place", "Return", "Find"} {
				s.Resolve(p, d, hash(zone, orders, method))
			}
			_ = s.Permits(p, registry.Key{Zone: zone, Service: orders}, "/"+orders+"/Find", nil)
		}
	}
	ask(s, by("buyer"))
	if n := s.Evaluated(); n != 2 {
		t.Errorf("%d evaluations for one participant and two rules, which both permit", n)
	}
	for range 3 {
		ask(s, by("buyer")) // the same value
	}
	if n := s.Evaluated(); n != 2 {
		t.Errorf("%d evaluations after the same participant came in other memory", n)
	}
	ask(s, by("seller"))
	n := s.Evaluated()
	if n > 5 { // the decoy, too
		t.Errorf("%d evaluations for two participants", n)
	}
	h.show(w.runs(zone, orders, digest, digest).view())
	churned := h.show(w.runs(zone, orders).view())
	ask(churned, by("buyer"))
	ask(churned, by("seller"))
	if got := churned.Evaluated(); got != n {
		t.Errorf("%d evaluations after instances came and went, %d before", got, n)
	}
	changed := h.show(w.grants("buyer: y").view())
	ask(changed, by("buyer"))
	if got := changed.Evaluated(); got != 2 {
		t.Errorf("%d evaluations after the roles changed", got)
	}
}

// Callers with the same rights share one listing; many callers share what is decided and listed without a lock.
func TestAccess_concurrentCallers(t *testing.T) {
	h := open(t, nil)
	digest := h.contract(orderService(rpc("Find", `roles: "buyer"`), rpc("Cancel", `roles: "seller"`), rpc("Place", `policy: "participant.id != ''"`)))
	w := newWorld().serves(zone, orders, digest)
	s := h.show(w.view())
	first, _ := s.Page(by("buyer"), dialect.Canonical, "", 100)
	if second, _ := s.Page(by("buyer", "other"), dialect.Canonical, "", 100); &first[0] != &second[0] {
		t.Error("two listings for the same tools")
	}
	var callers sync.WaitGroup
	for i := range 8 {
		callers.Go(func() {
			for j := range 200 {
				s := h.catalog.Load()
				role := []string{"buyer", "seller"}[(i+j)%2]
				p := by(role)
				want := 2
				if got := len(listed(t, s, p, 10)); got != want {
					t.Errorf("%s is listed %d tools", role, got)
				}
				if _, ok := s.Resolve(p, dialect.Canonical, hash(zone, orders, "Find")); ok != (role == "buyer") {
					t.Errorf("%s finds it: %t", role, ok)
				}
			}
		})
	}
	for i := range 20 {
		h.show(w.grants(fmt.Sprintf("r%d: a", i)).view())
	}
	callers.Wait()
}

// Without authentication, what asks who calls is hidden, and said so.
func TestAccess_withoutAuthentication(t *testing.T) {
	h := open(t, func(o *catalog.Options) {
		o.NoAuthentication = true
		o.Rules.AnonymousZones = []string{zone}
	})
	s := h.show(newWorld().serves(zone, orders, h.contract(orderService("Find", rpc("Cancel", `roles: "buyer"`), rpc("Place", `mode: ACCESS_MODE_DENY_ALL`)))).view())
	if got := listed(t, s, participant.Anonymous(), 10); !slices.Equal(got, []string{hash(zone, orders, "Find")}) {
		t.Errorf("listed %q", got)
	}
	unauthenticated := map[string]bool{}
	for hidden := range s.Hidden() {
		unauthenticated[hidden.Resource] = hidden.Unauthenticated
	}
	const service = "srv://app.acme.orders~com.acme.OrderService/"
	if len(unauthenticated) != 2 || !unauthenticated[service+"Cancel"] || unauthenticated[service+"Place"] {
		t.Errorf("hidden are %v", unauthenticated)
	}
	if !strings.Contains(h.log.String(), "authenticates nobody") {
		t.Error("the log does not say why")
	}
}

// The bounds of the package doc: 10,000 participants, all different and of different rights, over 1,000 tools.
func TestAccess_memoryIsBounded(t *testing.T) {
	h := open(t, nil)
	w := newWorld()
	for i := range 100 {
		var rpcs []string
		for j := range 10 {
			rpcs = append(rpcs, rpc(fmt.Sprintf("Find%d", j), fmt.Sprintf(`roles: "r%d"`, (10*i+j)%200)))
		}
		w.serves(fmt.Sprintf("app.acme.orders.part-%03d", i), orders, h.contract(orderService(rpcs...)))
	}
	s := h.show(w.view())
	if s.Rules() != 200 {
		t.Fatalf("%d rules", s.Rules())
	}
	const limit = 8 << 20
	s.LimitListings(limit)
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	s.Page(by("r0"), dialect.Canonical, "", 10) // what is rendered once for all
	before := heap()
	for i := range 10_000 {
		p := participant.Application("acme", "orders", fmt.Sprintf("caller-%d", i))
		for bit := range 14 {
			if i>>bit&1 != 0 {
				p.Roles = append(p.Roles, fmt.Sprintf("r%d", 14*(i%10)+bit))
			}
		}
		s.Page(p, dialect.Canonical, "", 20)
		s.Resolve(p, dialect.Canonical, "find_nothing")
	}
	if s.Listed() > limit {
		t.Errorf("listings take %d bytes", s.Listed())
	}
	// The participants by value and by pointer, below 1.6 KiB each here, beside the listings.
	if grown := heap() - before; grown > limit+16<<20 {
		t.Errorf("the heap grew by %d KiB", grown>>10)
	} else {
		t.Logf("the heap grew by %d KiB, %d of them listings", grown>>10, s.Listed()>>10)
	}
	runtime.KeepAlive(s)
}

// A model of the catalog, as plain as can be: what is listed and found is what it says, whether listings are remembered
// or assembled page by page.
func TestAccess_agreesWithTheModel(t *testing.T) {
	h := open(t, nil)
	conditions := map[string]func(roles []string) bool{
		"":                           func([]string) bool { return true },
		`mode: ACCESS_MODE_DENY_ALL`: func([]string) bool { return false },
		`roles: "a"`:                 func(r []string) bool { return slices.Contains(r, "a") },
		`roles: "b" roles: "c"`:      func(r []string) bool { return slices.Contains(r, "b") || slices.Contains(r, "c") },
		`action: "x.y"`:              func(r []string) bool { return slices.Contains(r, "c") },
		`policy: "'a' in participant.roles || arguments.id == ''"`: func([]string) bool { return true }, // in lists and for names
		`roles: "a" policy: "size(participant.roles) > 1"`:         func(r []string) bool { return slices.Contains(r, "a") && len(r) > 1 },
	}
	type function struct{ method, alias, access string }
	contracts := map[string][]function{}
	var digests []string
	for i, accesses := range [][3]string{
		{"", `roles: "a"`, `action: "x.y"`}, {`roles: "b" roles: "c"`, `mode: ACCESS_MODE_DENY_ALL`, ""},
		{`policy: "'a' in participant.roles || arguments.id == ''"`, `roles: "a" policy: "size(participant.roles) > 1"`, `roles: "a"`},
		{`roles: "a"`, `roles: "a"`, `roles: "b" roles: "c"`}, {"", "", ""},
	} {
		var rpcs []string
		var functions []function
		for j, access := range accesses {
			f := function{fmt.Sprintf("Do%d", j), []string{"do_it", "", "do_that"}[(i+j)%3], access}
			functions = append(functions, f)
			rpcs = append(rpcs, f.method+` option (sallyport.tool.v1.tool) = {name: "`+f.alias+`", access: {`+access+`}};`)
		}
		d := h.contract(orderService(rpcs...))
		digests, contracts[d] = append(digests, d), functions
	}
	zones := []string{"app-api", "app.acme.orders", "app.acme.orders.eu", "app.acme.crm", "management-api", ""}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorldAfter(h).grants("c: x.*", "b: y")
		type tool struct {
			zone, name, alias, method string
			online                    bool
			permits                   []func([]string) bool
		}
		var tools []*tool
		for _, z := range zones {
			published := rapid.SampledFrom(append([]string{""}, digests...)).Draw(t, "published in "+z)
			if published == "" {
				continue
			}
			other := rapid.SampledFrom(append([]string{published, published}, digests...)).Draw(t, "also runs in "+z)
			online := rapid.Bool().Draw(t, "online in "+z)
			w.knows(z, orders, published, other)
			if online {
				w.runs(z, orders, published, other)
			} else {
				w.knows(z, orders, published)
				other = published
			}
			for i, f := range contracts[published] {
				tools = append(tools, &tool{z, hash(z, orders, f.method), f.alias, f.method, online,
					[]func([]string) bool{conditions[f.access], conditions[contracts[other][i].access]}})
			}
		}
		s := h.show(w.view())
		for range 4 {
			roles := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 3, rapid.ID).Draw(t, "roles")
			p := rapid.SampledFrom([]*participant.Participant{
				participant.System("s"), participant.Organization("acme", "o"), participant.Application("acme", "orders", "m"),
			}).Draw(t, "participant")
			p = &participant.Participant{Kind: p.Kind, Id: p.Id, OrganizationId: p.OrganizationId, ApplicationId: p.ApplicationId, Roles: roles}
			visible := func(x *tool) bool {
				reaches := p.Id == "s" || x.zone == "app-api" || p.Id == "o" && x.zone == "management-api" || p.Id == "m" && strings.HasPrefix(x.zone, "app.acme.orders")
				return reaches && x.permits[0](roles) && x.permits[1](roles)
			}
			holders := map[string][]*tool{}
			var want []string
			for _, x := range tools {
				if x.alias != "" && visible(x) {
					holders[x.alias] = append(holders[x.alias], x)
				}
			}
			for _, x := range tools {
				if e, found := s.Resolve(p, dialect.Canonical, x.name); found != visible(x) || found && (e.Online != x.online || e.Service.Zone != x.zone) {
					t.Fatalf("%v finds %+v: %t", p, x, found)
				}
				if visible(x) && x.online {
					published := x.name
					if len(holders[x.alias]) == 1 {
						published = x.alias
					}
					want = append(want, published)
				}
			}
			for _, alias := range []string{"do_it", "do_that"} {
				if _, found := s.Resolve(p, dialect.Canonical, alias); found != (len(holders[alias]) == 1) {
					t.Fatalf("%v finds %s: %t", p, alias, found)
				}
			}
			for _, limit := range []int64{0, 1 << 20} {
				s.LimitListings(limit)
				for _, size := range []int{1, 3, 100} {
					if got := listed(h.t, s, p, size); !slices.Equal(sorted(got...), sorted(slices.Clone(want)...)) {
						t.Fatalf("%v is listed %q, want %q", p, got, want)
					}
				}
			}
		}
	})
}

// That a policy could not be evaluated stands in the decision, found first or remembered, and in the log, which learns
// nothing of who called.
func TestAccess_saysThatAPolicyFailed(t *testing.T) {
	h := open(t, nil)
	s := h.show(newWorld().serves(zone, orders, h.contract(orderService(
		rpc("Find", `policy: "1 / participant.roles.size() > 0"`), rpc("Cancel", `policy: "participant.roles.size() > 0"`),
		rpc("Place", `policy: "1 / arguments.id.size() > 0"`)))).view())
	nobody := participant.Application("acme", "orders", "caller-17")
	for range 2 {
		for method, want := range map[string]string{"Find": "policy_error", "Cancel": "policy"} {
			if _, d := s.Find(nobody, dialect.Canonical, hash(zone, orders, method)); d.Permitted || d.Rule != want {
				t.Errorf("%s is decided %v, want %s", method, d, want)
			}
		}
		e, _ := s.Find(nobody, dialect.Canonical, hash(zone, orders, "Place"))
		if d := e.JudgeArguments(nobody, []byte(`{"id":""}`)); d.Permitted || d.Rule != "policy_error" {
			t.Errorf("the arguments are decided %v", d)
		}
	}
	if doors(t, s, nobody, "Find", "{}") {
		t.Error("a policy that fails permits")
	}
	got := h.log.String()
	if strings.Count(got, "could not be evaluated") != 2 || !strings.Contains(got, "/Find") || !strings.Contains(got, "/Place") ||
		strings.Contains(got, nobody.GetId()) {
		t.Errorf("the log has %s", got)
	}
}
