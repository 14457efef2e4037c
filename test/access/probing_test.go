package access_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/participant"
)

// Probing: who asks for names learns which tools are its own, and of every other name the same: nothing (boundary.md,
// "What a refusal says"). One answer in each version and dialect, to the byte, headers too; and a log from which nothing
// else than a tool that there is can be read.

// probed are the tools of the probing yard: one for each reason for which a tool may not be seen.
func probed(t testing.TB) *blueprint {
	unreadable := &rule{unreadable: true}
	return &blueprint{t: t, services: []*serviceDraft{
		{name: "OpenService", methods: []methodDraft{
			{name: "Plain", alias: "plain"},
			{name: "Hashed"},
			{name: "Argued", alias: "argued", own: &rule{policy: 4}},
		}},
		{name: "GuardedService", methods: []methodDraft{
			{name: "Denied", alias: "denied", own: &rule{mode: "DENY_ALL"}},
			{name: "Roles", alias: "roles", own: &rule{roles: []string{"refunder"}}},
			{name: "Action", alias: "action", own: &rule{action: "orders.refund"}},
			{name: "Policy", alias: "policy", own: &rule{policy: 8}},
			{name: "Broken", alias: "broken", own: &rule{policy: 6}},
			{name: "RolesAndArguments", alias: "both", own: &rule{roles: []string{"refunder"}, policy: 4}},
			{name: "Unreadable", alias: "unreadable", own: unreadable, strange: func(o *toolOption) { setUnknown(o.GetAccess(), 99) }},
			{name: "Strange", alias: "strange", own: unreadable, strange: func(o *toolOption) { setUnknown(o, 1001) }},
		}},
		{name: "OfflineService", methods: []methodDraft{
			{name: "Sleep", alias: "asleep"},
			{name: "Guarded", alias: "asleep-guarded", own: &rule{roles: []string{"refunder"}}},
			{name: "Denied", alias: "asleep-denied", own: &rule{mode: "DENY_ALL"}},
		}},
	}}
}

// probe is one name as JSON, and why it means nothing.
type probe struct{ why, name string }

// probes are all names that mean nothing to somebody who sees the given tools only.
func probes(tools []*tool, sees func(*tool) bool) (all []probe) {
	add := func(why, name string) { all = append(all, probe{why, quote(name)}) }
	for _, t := range tools {
		if sees(t) {
			// Other spellings of what is seen are no names of it.
			add("seen, in capitals", strings.ToUpper(t.hash))
			add("seen, with a blank", t.hash+" ")
			add("seen, as gemini spells no such name", "__"+t.hash)
			add("seen, by its function", t.zone+"~"+t.service+"/"+t.method)
			add("seen, by its identifier", "srv://"+t.zone+"~"+t.service+"/"+t.method)
			continue
		}
		why := fmt.Sprintf("%s~%s/%s", t.zone, t.service, t.method)
		add(why+" by hash", t.hash)
		add(why+" as gemini spells its hash", "_"+t.hash)
		if t.alias != "" && !slices.ContainsFunc(tools, func(o *tool) bool { return o.alias == t.alias && sees(o) }) {
			add(why+" by alias", t.alias)
			add(why+" as gemini would spell its alias", "_"+t.alias)
		}
	}
	for _, name := range []string{
		"", " ", "no-such-tool", "5nwldv2gqljeygvmd1ywjl2z7", "_5nwldv2gqljeygvmd1ywjl2z7", "zzzzzzzzzzzzzzzzzzzzzzzzz", "Plain", "plain\u200b", "pl\u0430in", "*",
	} {
		add("unknown", name)
	}
	for _, name := range []string{`null`, `7`, `true`, `["plain"]`, `{"name":"plain"}`} {
		all = append(all, probe{"not a string", name})
	}
	if thin == 1 {
		return all
	}
	var some []probe
	for i := 0; i < len(all); i += thin {
		some = append(some, all[i])
	}
	return some
}

func TestProbing(t *testing.T) {
	y := newYard(t)
	b := probed(t)
	var tools []*tool
	for i, zone := range []string{"app-api", "app.acme.orders", "app.acme.orders-2", "app.globex.orders", "management-api", "system-api", ""} {
		suffix := fmt.Sprintf("-%d", i)
		tools = append(tools, y.register(b, place{zone: zone, suffix: suffix, services: []string{"matrix.v1.OpenService", "matrix.v1.GuardedService"}})...)
		tools = append(tools, y.register(b, place{zone: zone, suffix: suffix, services: []string{"matrix.v1.OfflineService"}, gone: true})...)
	}
	y.put(organization("acme"), application("acme", "orders"), role("", "refunder", "orders.refund"), role("acme", "auditor", "orders.read"))
	prober := participant.Application("acme", "orders", "prober")
	prober.Roles = []string{"acme/auditor"}
	y.put(machine("prober", prober))
	setting := setting{anonymous: []string{"app-api"}}
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	d := y.open(func(cfg *configv1.EdgeConfig) {
		cfg.AnonymousZones, cfg.AuditLog = setting.anonymous, &configv1.AuditLog{Path: path}
	})

	application := identity{kind: applicational, organization: "acme", application: "orders", roles: prober.Roles}
	calls := 0
	for _, who := range []struct {
		name  string
		lines []string
		identity
		// everyDialect asks in every dialect, else in the one as it stands and in the one that spells names otherwise.
		everyDialect bool
	}{
		{"an application by its secret", bySecret("prober", theSecret), application, true},
		{"an application by its token", byToken(y.signer.token(claims("prober", "prober", "tools"))), application, false},
		{"nobody known", nil, identity{kind: anonymous}, false},
	} {
		t.Run(who.name, func(t *testing.T) {
			sees := func(t *tool) bool { return reaches(who.identity, t.zone, setting) && permits(who.identity, t) }
			names := probes(tools, sees)
			asked := 0
			for _, version := range append([]string{""}, served...) {
				for _, dialectName := range dialect.Names() {
					if !who.everyDialect && dialectName != "canonical" && dialectName != "gemini" {
						continue
					}
					asked += probeAll(t, d, sender{version: version, lines: who.lines}, dialectName, names)
				}
				probeSeen(t, d, sender{version: version, lines: who.lines}, tools, sees)
			}
			t.Logf("%d names, %d requests", len(names), asked)
			calls += asked
			const least = 300 / thin
			if len(names) < least || asked < least*5*2 || who.everyDialect && asked < least*5*len(dialect.Names()) {
				t.Errorf("only %d names in %d requests", len(names), asked)
			}
		})
	}
	probeAudit(t, d, path, tools, calls)
}

// probeAudit holds the audit log of all of it to what an operator may know: the tools that there are, and nothing of what
// callers made up.
func probeAudit(t *testing.T, d *door, path string, tools []*tool, calls int) {
	t.Helper()
	var log string
	d.until(fmt.Sprintf("%d calls are in the audit log", calls), func() bool {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		log = string(b)
		return strings.Count(log, `"event":"call"`) >= calls
	})
	known := map[string]bool{"UNKNOWN": true}
	for _, t := range tools {
		known["srv://"+strings.TrimPrefix(t.zone+"~"+t.service+"/"+t.method, "~")] = true
	}
	wrong := 0
	for line := range strings.Lines(log) {
		var said struct{ Event, Tool string }
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			t.Fatalf("a line of the audit log is no JSON: %q", line)
		}
		if (said.Event == "call" || said.Event == "decision") && !known[said.Tool] {
			if wrong++; wrong < 5 {
				t.Errorf("the audit log names a tool that there is not: %s", line)
			}
		}
	}
	lower := strings.ToLower(log)
	for _, t2 := range tools {
		if strings.Contains(lower, t2.hash) {
			t.Errorf("the audit log repeats the name %s", t2.hash)
		}
	}
	for _, name := range []string{"no-such-tool", "5nwldv2gqljeygvmd1ywjl2z7", "zzzzzzzzzzzzzzzzzzzzzzzzz", "\u200b", "pl\u0430in"} {
		if strings.Contains(lower, name) {
			t.Errorf("the audit log repeats %q", name)
		}
	}
}

// probeAll asks for every name in one version and dialect, and demands one answer. Arguments that would do, arguments
// that would not, and none, take turns.
func probeAll(t *testing.T, d *door, s sender, dialectName string, names []probe) (asked int) {
	arguments := []string{`{"note":"please"}`, `{"undeclared":7}`, `{}`, `[]`, `null`}
	var one reply
	var shape string
	d.lines.reset()
	for i, p := range names {
		body, lines := toolCall(s.version, p.name, arguments[i%len(arguments)], `"dev.sallyport/dialect":`+quote(dialectName))
		got := d.post(t, s, body, lines)
		got.header.Del("Date")
		asked++
		switch {
		case i == 0:
			one = got
		case got.status != one.status || !bytes.Equal(got.body, one.body):
			t.Errorf("%q in %s: %s (%s) is answered\n%d %s, and others\n%d %s", s.version, dialectName, p.name, p.why, got.status, got.body, one.status, one.body)
		case fmt.Sprint(got.header) != fmt.Sprint(one.header):
			t.Errorf("%q in %s: %s (%s) is answered with the headers\n%v, and others\n%v", s.version, dialectName, p.name, p.why, got.header, one.header)
		}
	}
	if want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool."}}`; string(one.body) != want {
		t.Errorf("%q in %s: the one answer is %d %s", s.version, dialectName, one.status, one.body)
	}
	for line := range strings.Lines(d.settledLog(asked)) {
		if strings.Contains(line, `"msg":"a policy could not be evaluated`) {
			continue // for the operator, at the first evaluation of a rule and not for a name
		}
		got := shapeOf(t, line)
		if shape == "" {
			shape = got
		}
		if got != shape {
			t.Errorf("%q in %s: a log line has the members %s, and others %s", s.version, dialectName, got, shape)
			break
		}
	}
	return asked
}

// probeSeen asks for what may be seen: tools answer, and those without an instance say so as a tool error.
func probeSeen(t *testing.T, d *door, s sender, tools []*tool, sees func(*tool) bool) {
	for _, tool := range tools {
		if !sees(tool) {
			continue
		}
		for _, name := range []string{tool.hash, tool.alias} {
			if name == "" {
				continue
			}
			got := d.call(t, s, name, `{"note":"please"}`)
			if tool.online && !got.reached() || !tool.online && !got.isToolError() {
				t.Errorf("%q: %s as %q: %d %s", s.version, tool, name, got.status, got.body)
			}
		}
	}
}

// settledLog is what the edge logged of n requests; a caller has its answer before the edge has logged it.
func (d *door) settledLog(n int) string {
	d.t.Helper()
	var log string
	d.until(fmt.Sprintf("%d requests are logged", n), func() bool {
		log = d.lines.String()
		return strings.Count(log, "\n") >= n
	})
	return log
}

// shapeOf is the members of a log line, and the values of those that may not tell one name from another. What the edge's
// operator may know and the caller may not, which tool it was and which rule decided, is the tool's own identifier.
func shapeOf(t *testing.T, line string) string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(line), &members); err != nil {
		t.Fatalf("a log line is no JSON: %q", line)
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		switch name {
		case "time", "duration", "duration_ms", "reference", "rule", "resource", "access":
		default:
			parts = append(parts, name+"="+string(members[name]))
		}
	}
	return strings.Join(parts, " ")
}

// Two callers who may not see a tool get the same answer for other reasons: one is not of its zone, one has no role, and
// one may do nothing with it at all.
func TestProbing_whoeverAsks(t *testing.T) {
	y := newYard(t)
	tools := y.register(&blueprint{t: t, services: []*serviceDraft{{name: "RefundService", methods: []methodDraft{
		{name: "Refund", alias: "refund", own: &rule{roles: []string{"refunder"}, action: "orders.refund", policy: 1}},
	}}}}, place{zone: "app.acme.orders"})
	y.put(organization("acme"), organization("globex"), application("acme", "orders"), application("globex", "orders"), application("acme", "orders-2"),
		role("", "refunder", "orders.refund"), role("", "other", "orders.other"))
	with := func(p *participant.Participant, roles ...string) *participant.Participant {
		p = proto.CloneOf(p)
		p.Roles = roles
		return p
	}
	acme, globex := participant.Application("acme", "orders", ""), participant.Application("globex", "orders", "")
	y.put(machine("permitted", with(acme, "refunder")), machine("no-role", with(acme)), machine("other-role", with(acme, "other")),
		machine("other-zone", with(globex, "refunder")), machine("sibling", with(participant.Application("acme", "orders-2", ""), "refunder")),
		machine("organization", with(participant.Organization("acme", ""), "refunder")), machine("system", with(participant.System(""), "refunder")))
	d := y.open(func(cfg *configv1.EdgeConfig) { cfg.AnonymousZones = []string{"app.acme.orders"} })
	ask := func(id, name string) reply {
		s := sender{version: version20251125}
		if id != "" {
			s.lines = bySecret(id, theSecret)
		}
		return d.call(t, s, name, `{"note":"please"}`)
	}
	for _, name := range []string{tools[0].hash, "refund"} {
		if got := ask("permitted", name); !got.reached() {
			t.Errorf("who may, may not: %d %s", got.status, got.body)
		}
		one := ask("no-role", "no-such-tool")
		for _, id := range []string{"no-role", "other-role", "other-zone", "sibling", "organization", "system", ""} {
			if got := ask(id, name); got.status != http.StatusOK || !bytes.Equal(got.body, one.body) {
				t.Errorf("%q asks for %q: %d %s", id, name, got.status, got.body)
			}
		}
	}
}
