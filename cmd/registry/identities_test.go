package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// step is one command line with what it prints, or what its error says.
type step struct {
	line string
	in   string // standard input
	want []string
	not  string // what is not printed
	err  string
}

// play runs a line, in which words are separated by blanks, with flags behind it.
func (s step) play(t *testing.T, flags []string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out, log bytes.Buffer
	c := newRoot()
	c.SetIn(strings.NewReader(s.in))
	c.SetOut(&out)
	c.SetErr(&log)
	c.SetArgs(append(strings.Fields(s.line), flags...))
	err := c.ExecuteContext(ctx)
	if s.err == "" && err != nil || s.err != "" && (err == nil || !strings.Contains(err.Error(), s.err)) {
		t.Errorf("registry %s: err = %v, want %q; printed %q", s.line, err, s.err, out.String())
	}
	for _, part := range s.want {
		if !strings.Contains(out.String(), part) {
			t.Errorf("registry %s does not print %q:\n%s", s.line, part, out.String())
		}
	}
	if s.not != "" && strings.Contains(out.String(), s.not) {
		t.Errorf("registry %s prints %q:\n%s", s.line, s.not, out.String())
	}
	return out.String()
}

// platformSteps are the life of an organization ORG, as the platform administers it.
var platformSteps = []step{
	{line: "organization create {org} --title Acme", want: []string{"ORGANIZATION", "{org}", "Acme", "enabled"}},
	{line: "organization create {org}", err: `there is an organization "{org}" already`},
	{line: "organization create A.B", err: "organization: label"},
	{line: "application create orders --organization {org} --title Orders -o json", want: []string{`"organizationId": "{org}"`, `"applicationId": "orders"`, `"title": "Orders"`, `"disabled": false`}},
	{line: "application create orders", err: "--organization"},
	{line: "application list --organization {org}", want: []string{"APPLICATION", "orders", "Orders"}},

	{line: "role create refunder --organization {org} --action orders.refund --action orders.read --description Refunds", want: []string{"{org}/refunder", "orders.refund,orders.read", "no"}},
	{line: "role create refunder --organization {org}", err: "action"},
	{line: "role update refunder --organization {org} --description Others", want: []string{"orders.refund,orders.read", "Others"}},
	{line: "role update refunder --organization {org} --action orders.*", want: []string{"{org}/refunder", "orders.*", "Others"}, not: "orders.refund"},
	{line: "role update {org}/refunder --description Refunds", want: []string{"{org}/refunder", "orders.*", "Refunds"}},
	{line: "role update {org}/refunder --organization {org} --action a.b --action a.b --action a", want: []string{"a.b,a "}, not: "a.b,a.b"},
	{line: "role update {org}/refunder --organization other --description x", err: "{org}/refunder is not a role of other"},
	{line: "role update {org}/refunder --system --description x", err: "{org}/refunder is not a role of the platform"},
	{line: "role update A/refunder --description x", err: "--organization: label"},
	{line: "role update refunder --organization {org}", err: "description"},
	{line: "role update nothing --organization {org} --description x", err: "nothing is not found"},
	{line: "role list --organization {org}", want: []string{"{org}/refunder"}, not: "platform-admin"},
	{line: "role list --system -o yaml", want: []string{"name: platform-admin", "- '*'"}, not: "refunder"},

	{line: "user create ada@acme.example --organization {org} --name Ada --grant orders={org}/refunder --grant .=organization-admin --password-stdin", in: "a long sentence\n",
		want: []string{"ada@acme.example", "{org}", "Ada", "orders={org}/refunder", ".=organization-admin", "enabled"}, not: "sentence"},
	{line: "user create bob@acme.example --organization {org} --grant orders --generate-password", want: []string{"bob@acme.example", "PASSWORD"}},
	{line: "user create eve@acme.example --organization {org} --grant orders --no-password -o json", want: []string{`"passwordChangedAt": null`}, not: `"password"`},
	{line: "user create x@acme.example --organization {org} --grant orders --password-stdin", in: "short", err: "password"},
	{line: "user create x@acme.example --organization {org} --grant orders --password-stdin", err: "empty"},
	{line: "user create x@acme.example --organization {org} --grant orders", err: "--password-stdin"},
	{line: "user create x@acme.example --organization {org} --grant orders --no-password --generate-password", err: "generate-password"},
	{line: "user create x@acme.example --organization {org} --no-password", err: "grant"},
	{line: "user create x@acme.example --organization {org} --grant bills --no-password", err: `application "bills"`},
	{line: "user create x@acme.example --organization {org} --grant orders={org}/nothing --no-password", err: "{org}/nothing"},
	{line: "user create ada@acme.example --organization {org} --grant orders --no-password", err: "already"},
	{line: "user set-grants bob@acme.example --organization {org} --grant orders={org}/refunder", want: []string{"bob@acme.example", "orders={org}/refunder"}},
	{line: "user set-password bob@acme.example --organization {org} --password-stdin", in: "another long sentence\n", want: []string{"bob@acme.example"}, not: "sentence"},
	{line: "user set-password bob@acme.example --organization {org} --generate-password -o json", want: []string{`"password": "`}},
	{line: "user disable bob@acme.example --organization {org}", want: []string{"user bob@acme.example is disabled\n"}},
	{line: "user list --organization {org}", want: []string{"ada@acme.example", "bob@acme.example", "disabled", "eve@acme.example"}},
	{line: "user enable bob@acme.example --organization {org}", want: []string{"user bob@acme.example is enabled\n"}},
	{line: "user remove bob@acme.example --organization {org}", want: []string{"user bob@acme.example is removed\n"}},
	{line: "user remove bob@acme.example --organization {org}", err: `no user "bob@acme.example"`},
	{line: "user list --organization {org} -o json", want: []string{`"users": [`, `"email": "ada@acme.example"`}, not: "bob"},

	{line: "machine create {org}.desk --organization {org} --application orders --kind client --role {org}/refunder", want: []string{"{org}.desk", "client", "application {org}/orders", "{org}/refunder", "SECRET"}},
	{line: "machine create {org}.x --organization {org} --kind client --role {org}/nothing", err: "{org}/nothing"},
	{line: "machine create {org}.x --organization {org} --application O_o --kind client", err: "--application"},
	{line: "machine rotate {org}.desk --organization {org} -o json", want: []string{`"id": "{org}.desk"`, `"secret": "`}},
	{line: "machine set-roles {org}.desk --organization {org} --no-roles", want: []string{"{org}.desk"}, not: "refunder"},
	{line: "machine set-roles {org}.desk --organization {org} --role {org}/refunder -o json", want: []string{`"{org}/refunder"`}, not: "secret\""},
	{line: "machine set-roles {org}.desk --organization {org}", err: "no-roles"},
	{line: "machine disable {org}.desk --organization {org}", want: []string{"machine {org}.desk is disabled\n"}},
	{line: "machine list --all", want: []string{"{org}.desk", "disabled", "operator"}},
	{line: "machine list --organization {org}", want: []string{"{org}.desk"}, not: "operator"},
	{line: "machine enable {org}.desk --organization {org}", want: []string{"machine {org}.desk is enabled\n"}},

	{line: "delegate list --organization {org} -o json", want: []string{`"delegates": []`}},
	{line: "delegate disable delegate:x --organization {org}", err: `no delegate "delegate:x"`},
	{line: "delegate disable x --organization {org}", err: "delegate_id"},

	{line: "role remove refunder --organization {org}", want: []string{"role refunder is removed\n"}},
	{line: "machine list --organization {org}", want: []string{"{org}.desk"}, not: "refunder"},
	{line: "application disable orders --organization {org}", want: []string{"application orders is disabled\n"}},
	{line: "application enable orders --organization {org}", want: []string{"application orders is enabled\n"}},
	{line: "application remove orders --organization {org}", err: "orders"},
	{line: "machine remove {org}.desk --organization {org}", want: []string{"machine {org}.desk is removed\n"}},
	{line: "user remove ada@acme.example --organization {org}"},
	{line: "user remove eve@acme.example --organization {org}"},
	{line: "application remove orders --organization {org}", want: []string{"application orders is removed\n"}},
	{line: "organization disable {org}", want: []string{"organization {org} is disabled\n"}},
	{line: "organization list", want: []string{"{org}", "disabled"}},
	{line: "organization enable {org}", want: []string{"organization {org} is enabled\n"}},
	{line: "organization remove {org}", want: []string{"organization {org} is removed\n"}},
	{line: "organization list", not: "{org}"},
	{line: "organization disable {org}", err: `no organization "{org}"`},

	{line: "key list", want: []string{"KEY", "SIGNS", "CURRENT"}},
	{line: "key rotate token -o json", want: []string{`"use": "KEY_USE_TOKEN"`, `"current": `}},
	{line: "key list -o json", want: []string{`"signingKeys": [`, "KEY_USE_ASSERTION"}},
	{line: "key rotate everything", err: "token or assertion"},
	{line: "user list --system --organization {org}", err: "organization"},
	{line: "user list -o xml", err: "table, json or yaml"},
}

func TestIdentities_asThePlatform(t *testing.T) {
	i := install(t)
	i.serve()
	operator := i.machine("operator", "--kind", "client", "--system", "--role", "platform-admin")
	eventually(t, "the operator is known", func() bool { _, err := run(append([]string{"get", "zones"}, operator...)...); return err == nil })
	for way, flags := range map[string][]string{"store": {"--config", i.config}, "registry": operator} {
		t.Run(way, func(t *testing.T) {
			swap := strings.NewReplacer("{org}", "acme-"+way)
			for _, s := range platformSteps {
				s.line, s.err, s.not = swap.Replace(s.line), swap.Replace(s.err), swap.Replace(s.not)
				want := make([]string, len(s.want))
				for n, part := range s.want {
					want[n] = swap.Replace(part)
				}
				s.want = want
				s.play(t, flags)
			}
		})
	}
	// Without saying whose: on a store somebody must, through a registry it is the caller's own.
	for _, s := range []step{
		{line: "user create me@platform.example --grant . --no-password", err: "whose user is it?"},
		{line: "role create x --action a", err: "whose role is it?"},
		{line: "user list --addr 127.0.0.1:1", err: "config"},
	} {
		s.play(t, []string{"--config", i.config})
	}
	step{line: "user create me@platform.example --grant .=platform-admin --no-password", want: []string{"me@platform.example", ".=platform-admin"}}.play(t, operator)
	step{line: "user list", want: []string{"me@platform.example"}}.play(t, operator)
}

// What an organization's own administrator says names no organization, and reaches no other.
func TestIdentities_asAnOrganization(t *testing.T) {
	i := install(t)
	i.serve()
	admin := i.machine("acme.admin", "--kind", "client", "--organization", "acme", "--role", "organization-admin")
	viewer := i.machine("acme.viewer", "--kind", "client", "--organization", "acme", "--role", "organization-viewer")
	nobody := i.machine("other.machine", "--kind", "client", "--organization", "other")
	eventually(t, "the machines are known, of which the last is known last", func() bool {
		_, err := run(append([]string{"get", "zones"}, nobody...)...)
		return err == nil
	})
	for _, s := range []struct {
		who []string
		step
	}{
		{admin, step{line: "application create orders", want: []string{"acme", "orders"}}},
		{admin, step{line: "role create refunder --action orders.refund", want: []string{"acme/refunder"}}},
		{admin, step{line: "role update refunder --action orders.*", want: []string{"acme/refunder", "orders.*"}}},
		{admin, step{line: "role list", want: []string{"acme/refunder", "organization-admin", "organization-viewer"}, not: "platform-admin"}},
		{admin, step{line: "machine create acme.desk --kind client --application orders --role acme/refunder -o json", want: []string{`"id": "acme.desk"`, `"organization": "acme"`}}},
		{admin, step{line: "machine create desk --kind client", err: "acme.<name>"}},
		{admin, step{line: "machine create acme.root --kind client --role platform-admin", err: "platform-admin"}},
		{admin, step{line: "machine disable acme.desk", want: []string{"machine acme.desk is disabled"}}},
		{admin, step{line: "machine disable other.machine", err: `organization acme has no machine "other.machine"`}},
		{admin, step{line: "machine list --organization other", err: "other"}},
		{admin, step{line: "machine list --system", err: "which you are"}},
		{admin, step{line: "machine create acme.stray --kind client --system", err: "which you are"}},
		{admin, step{line: "organization create third", err: "the platform's own"}},
		{admin, step{line: "key rotate token", err: "the platform's own"}},
		{viewer, step{line: "machine list", want: []string{"acme.admin", "acme.desk", "acme.viewer"}, not: "other"}},
		{viewer, step{line: "machine disable acme.desk", err: "identity.machines.write"}},
		{nobody, step{line: "machine list", err: "identity.machines.read"}},
	} {
		s.play(t, s.who)
	}
}

func TestIdentities_helpSaysWhenAKeySigns(t *testing.T) {
	t.Parallel()
	out, err := run("key", "rotate", "--help")
	for _, want := range []string{"for tokens is published at once and signs after a minute", "for assertions signs as soon as"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("the help does not say %q: %v\n%s", want, err, out)
		}
	}
}

func TestIdentities_helpSaysWhatAGrantIs(t *testing.T) {
	t.Parallel()
	for _, line := range [][]string{{"user", "create", "--help"}, {"user", "set-grants", "--help"}, {"user", "--help"}} {
		if out, err := run(line...); err != nil || !strings.Contains(out, "--grant orders=acme/refunder") {
			t.Errorf("%v: %v\n%s", line, err, out)
		}
	}
	var words []string
	out, err := run("__complete", "machine", "create", "x", "--kind", "")
	for _, line := range strings.Split(out, "\n") {
		words = append(words, strings.TrimSpace(line))
	}
	if raw, _ := json.Marshal(words); err != nil || !strings.Contains(string(raw), `"host","client"`) {
		t.Errorf("kinds are completed as %s, %v", raw, err)
	}
	if out, err := run("__complete", "key", "rotate", ""); err != nil || !strings.Contains(out, "token\nassertion\n") {
		t.Errorf("keys are completed as %q, %v", out, err)
	}
}

// Some who change different things of one role at the same time: no change is lost.
func TestRoleUpdate_race(t *testing.T) {
	i := install(t)
	i.serve()
	operator := i.machine("operator", "--kind", "client", "--system", "--role", "platform-admin")
	eventually(t, "the operator is known", func() bool { _, err := run(append([]string{"get", "zones"}, operator...)...); return err == nil })
	play := func(line string, want ...string) string { return step{line: line, want: want}.play(t, operator) }
	play("role create refunder --system --action a")
	for round := range 10 {
		var all sync.WaitGroup
		for _, flag := range []string{
			fmt.Sprintf("--action a%d", round), fmt.Sprintf("--description d%d", round), fmt.Sprintf("--assignable=%t", round%2 == 0),
		} {
			all.Go(func() { play("role update refunder --system " + flag) })
		}
		all.Wait()
		got := play("role list --system -o json")
		for _, want := range []string{fmt.Sprintf(`"a%d"`, round), fmt.Sprintf(`"description": "d%d"`, round), fmt.Sprintf(`"assignable": %t`, round%2 == 0)} {
			if !strings.Contains(got[strings.Index(got, `"refunder"`):], want) {
				t.Fatalf("round %d lost %s:\n%s", round, want, got)
			}
		}
	}
}

// Who states the etag of a list replaces nothing that was changed since.
func TestEtag(t *testing.T) {
	i := install(t)
	config := []string{"--config", i.config}
	play := func(line, err string) string { return step{line: line, err: err}.play(t, config) }
	play("role create reader --system --action a", "")
	play("user create ada@x --system --grant . --no-password", "")
	play("machine create desk --system --kind client", "")
	for _, what := range []struct{ list, replace string }{
		{"role list --system", "role update reader --system --action %s"},
		{"user list --system", "user set-grants ada@x --system --grant .=%s"},
		{"machine list --system", "machine set-roles desk --system --role %s"},
	} {
		list := play(what.list+" -o json", "")
		found := regexp.MustCompile(`"etag": "([^"]+)"`).FindAllStringSubmatch(list, -1)
		if len(found) == 0 {
			t.Errorf("%s has no etag:\n%s", what.list, list)
			continue
		}
		etag := " --etag " + found[len(found)-1][1] // of the last in the list
		play(fmt.Sprintf(what.replace, "reader")+etag, "")
		play(fmt.Sprintf(what.replace, "platform-admin")+etag, "was changed since its etag was read")
	}
}
