package access_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// What the matrix has at least; where it has shrunk, so has what it shows.
const (
	leastAdmitted = 900
	leastRefused  = 300
	leastCells    = 800_000
	leastCalls    = 30_000
	leastReached  = 5_000
)

// The matrix: everybody who may ask, at every edge, for every tool, as the model says (access.md whole).
//
// A row is a caller at an edge in a world; a cell is a row and a tool. In each row the whole list is compared, so that
// each cell is compared once in a list. Calls are made of every name in the rows of the covering array, and of drawn
// names in the rows that are there for depth.

// places are where every rule is registered. Aliases are one's own within a root, so a sub-zone has others than the
// zone; the three applications share theirs, so that who sees two of them sees hashes.
var places = []place{
	{zone: "system-api", suffix: "-s"},
	{zone: "management-api", suffix: "-m"},
	{zone: "app-api", suffix: "-p"},
	{zone: "app.acme.orders", suffix: "-o"},
	{zone: "app.acme.orders.billing", suffix: "-b"},
	{zone: "app.acme.orders-2", suffix: "-o"},
	{zone: "app.globex.orders", suffix: "-o"},
	{zone: "", suffix: "-u"},
}

// The values of a rule's dimensions.
var (
	ruleModes   = []string{"", "PERMIT_ALL", "DENY_ALL"}
	ruleRoles   = [][]string{nil, {"refunder"}, {"auditor", "clerk"}}
	ruleActions = []string{"", "orders.refund", "orders.refund.partial"}
	// ruleDefaults are what a service says for its methods, which a method's own rule replaces.
	ruleDefaults = []rule{{}, {roles: []string{"refunder"}}, {mode: "DENY_ALL"}, {policy: 1}}
)

// everyRule is a contract with the covering array of the rules' dimensions, drawn ones, what a method inherits, and what
// this build cannot read.
func everyRule(t testing.TB) *blueprint {
	b := &blueprint{t: t}
	for i, inherited := range ruleDefaults {
		b.services = append(b.services, &serviceDraft{
			name: fmt.Sprintf("Default%dService", i), inherited: inherited, methods: []methodDraft{{name: "Inherits"}},
		})
	}
	n := 0
	add := func(to int, m methodDraft) {
		m.name = fmt.Sprintf("Rule%d", n)
		m.destructive = n%3 == 0
		if n%2 == 0 {
			m.alias = fmt.Sprintf("rule-%d", n)
		}
		b.services[to].methods = append(b.services[to].methods, m)
		n++
	}
	sizes := []int{len(ruleModes), len(ruleRoles), len(ruleActions), len(policies), len(ruleDefaults)}
	// DENY_ALL and errors hide what stands beside them: pairs without them again, and triples by chance.
	open := []int{2, len(ruleRoles), len(ruleActions), len(policies) - 3, len(ruleDefaults)}
	for _, row := range slices.Concat(covering(sizes), covering(open), drawn(open, 6)) {
		add(row[4], methodDraft{own: &rule{
			mode: ruleModes[row[0]], roles: ruleRoles[row[1]], action: ruleActions[row[2]], policy: row[3],
		}})
	}
	unreadable := func() *rule { return &rule{unreadable: true} }
	add(0, methodDraft{own: unreadable(), strange: func(o *toolOption) { setUnknown(o.GetAccess(), 99) }})
	add(0, methodDraft{own: unreadable(), strange: func(o *toolOption) { o.Access.Mode = 7 }})
	add(0, methodDraft{own: unreadable(), strange: func(o *toolOption) { setUnknown(o, 1000) }})
	add(0, methodDraft{own: &rule{}, strange: func(o *toolOption) { setUnknown(o, 500) }}) // cosmetic
	b.services = append(b.services,
		&serviceDraft{
			name: "DeafService", deaf: true, inherited: rule{unreadable: true},
			methods: []methodDraft{{name: "Inherits"}, {name: "Permits", own: unreadable(), strange: func(o *toolOption) { o.Access.Mode = 1 }}},
		},
		&serviceDraft{name: "OfflineService", methods: []methodDraft{
			{name: "Sleep", alias: "sleep"},
			{name: "Guarded", own: &rule{roles: []string{"refunder"}}},
			{name: "Denied", own: &rule{mode: "DENY_ALL"}},
			{name: "Argued", own: &rule{policy: 4}},
		}},
	)
	return b
}

// participant is what a service is told of who calls.
func (w identity) participant() *participant.Participant {
	p := &participant.Participant{
		Kind: participantv1.Kind(w.kind), Id: w.id, OrganizationId: w.organization, ApplicationId: w.application,
		Roles: w.roles, Scopes: w.scopes,
	}
	if w.owner != "" {
		p.OnBehalfOf = &participantv1.OnBehalfOf{OwnerId: w.owner, ClientId: w.client, ClientName: "A client"}
	}
	return p
}

// matrix is the yard with everything in it.
type matrix struct {
	*yard
	tools []*tool
	// names are every name that there is, hashes and aliases, each once.
	names []string
	doors []*door
	// unknown is the one answer to a name that means nothing, by version.
	unknown map[string]reply

	cells, calls, reached atomic.Int64
	admitted, refused     atomic.Int64
}

// compare holds one row to the model.
func (m *matrix) compare(t *testing.T, r row, s stored) {
	set := settings[r.edge]
	d := m.doors[r.edge]
	who, admitted := admit(s.caller, worlds[r.world], set)
	if admitted && who.kind != anonymous {
		who.id = s.name
		if s.holder == aDelegate {
			who.owner = strings.TrimPrefix(s.name, "delegate:") + "@example.com"
			who.client = clientOf(s.name)
		}
	}
	from := s.sender(m.yard, r)
	complain := func(format string, args ...any) {
		t.Errorf("row %d: %+v as %q in %s, world %+v, edge %+v:\n%s", r.n, s.caller, s.name, r.version, worlds[r.world], set, fmt.Sprintf(format, args...))
	}
	m.cells.Add(int64(len(m.tools)))
	names, refusal := d.list(t, from)
	if !admitted {
		m.refused.Add(1)
		if refusal == nil || refusal.status != http.StatusUnauthorized {
			complain("is let in, and listed %q", names)
		}
		if got := d.call(t, from, m.names[r.n%len(m.names)], `{}`); got.status != http.StatusUnauthorized {
			complain("is let in to call: %d %s", got.status, got.body)
		}
		return
	}
	m.admitted.Add(1)
	v := look(who, m.tools, set)
	if s.credential == callingToken {
		if refusal == nil || refusal.status != http.StatusForbidden {
			complain("a token for calling lists")
		}
	} else if refusal != nil {
		complain("is not let in: %d %s", refusal.status, refusal.body)
		return
	} else if !slices.Equal(names, v.listed) {
		complain("is listed %d tools, the model says %d: %s", len(names), len(v.listed), m.difference(names, v.listed))
		return
	}
	called := m.names
	if !r.whole {
		called = nil
		dice := rand.New(rand.NewPCG(7, uint64(r.n)))
		for range 12 {
			called = append(called, m.names[dice.IntN(len(m.names))])
		}
		for range min(6, len(v.listed)) {
			called = append(called, v.listed[dice.IntN(len(v.listed))])
		}
	}
	for _, name := range called {
		notes := []string{"please"}
		want := v.resolve(name)
		if want != nil && policies[want.rule().policy].reads {
			notes = append(notes, "now")
		}
		for _, note := range notes {
			m.calls.Add(1)
			got := d.call(t, from, name, `{"note":`+quote(note)+`}`)
			if complaint := m.judge(s, v, r.version, want, note, got); complaint != "" {
				complain("calls %q (%s) with note %q: %s\n%d %s", name, want, note, complaint, got.status, got.body)
			}
		}
	}
}

// judge says what is wrong with the answer to a call, blank for nothing.
func (m *matrix) judge(s stored, v *sight, version string, want *tool, note string, got reply) string {
	switch {
	case s.credential == listingToken:
		if got.status != http.StatusForbidden {
			return "a token for listing calls"
		}
	case want == nil:
		one := m.unknown[version]
		if got.status != one.status || !bytes.Equal(got.body, one.body) {
			return fmt.Sprintf("is no tool of the caller's, and the one answer is %d %s", one.status, one.body)
		}
	case !want.online, !permitsCall(v.who, want, note):
		if !got.isToolError() {
			return "should be a tool error"
		}
	default:
		m.reached.Add(1)
		if !got.reached() {
			return "should reach the service"
		}
		return m.judgeTold(v.who, want, got)
	}
	return ""
}

// judgeTold says what is wrong with what a service was told.
func (m *matrix) judgeTold(who identity, want *tool, got reply) string {
	said := got.parse(m.t).Result.Structured
	qualified := want.service
	if want.zone != "" {
		qualified = want.zone + "~" + want.service
	}
	if said.Audience != qualified || said.Method != "/"+want.service+"/"+want.method {
		return "the assertion is for another"
	}
	raw, err := base64.RawURLEncoding.DecodeString(said.Participant)
	p := new(participant.Participant)
	if err != nil || proto.Unmarshal(raw, p) != nil {
		return "the assertion has no participant"
	}
	if w := who.participant(); !proto.Equal(p, w) {
		return fmt.Sprintf("the service was told of {%v}, the model says {%v}", p, w)
	}
	return ""
}

// difference says which tools only one of two lists has.
func (m *matrix) difference(got, want []string) string {
	var b strings.Builder
	describe := func(what, name string) {
		for _, t := range m.tools {
			if t.hash == name || t.alias == name {
				fmt.Fprintf(&b, "\n%s: %s", what, t)
			}
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			describe("listed and should not be: "+name, name)
		}
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			describe("should be listed: "+name, name)
		}
	}
	if b.Len() == 0 {
		return "the order is another"
	}
	return b.String()
}

func (t *tool) String() string {
	if t == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s~%s/%s %s, inherited %t, destructive %t, online %t", t.zone, t.service, t.method, t.rule().option(), t.own == nil, t.destructive, t.online)
}

func TestMatrix(t *testing.T) {
	y := newYard(t)
	m := &matrix{yard: y, unknown: make(map[string]reply)}
	b := everyRule(t)
	for _, p := range places {
		var there, gone []string
		for _, s := range b.services {
			if s.name == "OfflineService" {
				gone = append(gone, "matrix.v1."+s.name)
			} else {
				there = append(there, "matrix.v1."+s.name)
			}
		}
		m.tools = append(m.tools, y.register(b, place{zone: p.zone, suffix: p.suffix, services: there})...)
		m.tools = append(m.tools, y.register(b, place{zone: p.zone, suffix: p.suffix, services: gone, gone: true})...)
	}
	m.tools = append(m.tools, y.mark())
	for _, t := range m.tools {
		m.names = append(m.names, t.hash)
		if t.alias != "" && !slices.Contains(m.names, t.alias) {
			m.names = append(m.names, t.alias)
		}
	}

	all := rows()
	// One identity stands in as many rows as ask by it.
	callers := make([]stored, len(all))
	known := make(map[string]stored)
	organizations := map[string]*identityv1.StoredOrganization{"acme": organization("acme"), "globex": organization("globex")}
	applications := make(map[[2]string]*identityv1.StoredApplication)
	var messages []proto.Message
	for i, r := range all {
		like := r.caller
		like.credential = ""
		key := fmt.Sprint(like)
		s, found := known[key]
		if !found {
			var written []proto.Message
			s, written = like.store(i)
			messages = append(messages, written...)
			known[key] = s
		}
		s.credential = r.caller.credential
		callers[i] = s
		o, a := r.caller.ids()
		if o != "" {
			organizations[o] = organization(o)
		}
		if a != "" {
			applications[[2]string{o, a}] = application(o, a)
		}
	}
	for name, actions := range storedRoles {
		whose, short, ok := strings.Cut(name, "/")
		if !ok {
			whose, short = "", name
		}
		messages = append(messages, role(whose, short, actions...))
	}
	messages = append(messages, machine("bystander", participant.System("bystander")))
	y.put(messages...)
	for o := range organizations {
		y.put(organizations[o])
	}
	for a := range applications {
		y.put(applications[a])
	}

	for _, s := range settings {
		m.doors = append(m.doors, y.open(func(cfg *configv1.EdgeConfig) {
			cfg.OrganizationsReachTheirApplications, cfg.AnonymousZones, cfg.ServesZones = s.reach, s.anonymous, s.serves
			cfg.PageSize = 37
		}))
	}
	for _, version := range served {
		m.unknown[version] = m.doors[0].call(t, sender{version: version, lines: bySecret("bystander", theSecret)}, "no-such-tool", `{}`)
	}
	if body := string(m.unknown[version20251125].body); body != `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool."}}` {
		t.Fatalf("the one answer is %s", body)
	}

	began := time.Now()
	for n := range worlds {
		m.enter(n, organizations, applications)
		work := make(chan int)
		var workers sync.WaitGroup
		for range 4 {
			workers.Go(func() {
				for i := range work {
					m.compare(t, all[i], callers[i])
				}
			})
		}
		for i, r := range all {
			if r.world == n && i%thin == 0 && !t.Failed() {
				work <- i
			}
		}
		close(work)
		workers.Wait()
	}
	t.Logf("%d rows (%d let in, %d turned away) at %d edges: %d cells listed, %d calls, %d of which reached a service; %d tools of %d names; %s",
		len(all), m.admitted.Load(), m.refused.Load(), len(m.doors), m.cells.Load(), m.calls.Load(), m.reached.Load(), len(m.tools), len(m.names),
		time.Since(began).Round(time.Millisecond))
	if got := m.witness.calls.Load(); got != m.reached.Load() {
		t.Errorf("%d calls reached the witness, %d were to", got, m.reached.Load())
	}
	m.countsEnough(t)
	for i, d := range m.doors {
		if strings.Contains(d.lines.String(), `"level":"`+slog.LevelError.String()+`"`) {
			t.Errorf("edge %d logged a fault:\n%s", i, faults(d.lines.String()))
		}
	}
}

// countsEnough fails where the matrix has shrunk.
func (m *matrix) countsEnough(t *testing.T) {
	t.Helper()
	for what, row := range map[string]struct{ got, least int64 }{
		"rows let in":                      {m.admitted.Load(), leastAdmitted},
		"rows turned away":                 {m.refused.Load(), leastRefused},
		"cells":                            {m.cells.Load(), leastCells},
		"calls":                            {m.calls.Load(), leastCalls},
		"calls of which reached a service": {m.reached.Load(), leastReached},
	} {
		if least := row.least / (2*thin - 1); row.got < least {
			t.Errorf("%s: %d, which is fewer than %d", what, row.got, least)
		}
	}
}

// enter makes the world what it is to be, and waits until every edge knows.
func (m *matrix) enter(n int, organizations map[string]*identityv1.StoredOrganization, applications map[[2]string]*identityv1.StoredApplication) {
	m.t.Helper()
	for _, o := range organizations {
		if o.Disabled = worlds[n].organizations == offline; worlds[n].organizations == missing {
			m.remove(o)
		} else {
			m.put(o)
		}
	}
	for _, a := range applications {
		if a.Disabled = worlds[n].applications == offline; worlds[n].applications == missing {
			m.remove(a)
		} else {
			m.put(a)
		}
	}
	m.settle(m.doors...)
}

// faults are the lines of a log that report faults.
func faults(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"level":"`+slog.LevelError.String()+`"`) && b.Len() < 4000 {
			b.WriteString(line)
		}
	}
	return b.String()
}
