package access_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// Revocation: what is taken away is gone at every edge, with the next request after its watch brought the news, and
// what is given back works again (access.md, "Identities"). Two edges follow one etcd.

// people are the identities of one revocation, all of them named after it and all in an organization of its own, so
// that no revocation meets another.
type people struct {
	y            *yard
	organization *identityv1.StoredOrganization
	application  *identityv1.StoredApplication
	role         *identityv1.StoredRole
	machine      *registryv1.StoredMachine
	user         *identityv1.StoredUser
	delegate     *identityv1.StoredDelegate
	key          tokenKey
}

func newPeople(y *yard, org string) *people {
	p := &people{y: y, organization: organization(org), application: application(org, "orders"), key: newTokenKey(org)}
	p.role = role(org, "refunder", "orders.refund")
	who := participant.Application(org, "orders", "")
	who.Roles = []string{org + "/refunder"}
	p.machine = machine(org+".machine", who)
	p.user = &identityv1.StoredUser{
		OrganizationId: org, Email: "alice@" + org + ".example.com", PasswordHash: thePasswordHash(),
		Grants: []*identityv1.StoredGrant{{ApplicationId: "orders", Roles: who.Roles}},
	}
	p.delegate = &identityv1.StoredDelegate{
		Id: "delegate:" + org, OrganizationId: org, OwnerEmail: p.user.Email, ApplicationId: "orders", ClientId: clientOf(org), ClientName: "A client",
	}
	y.put(p.organization, p.application, p.role, p.machine, p.user, p.delegate, p.key.stored(time.Now().Add(-time.Minute)))
	return p
}

// The five ways in which the people of a revocation ask.
type way string

const (
	machineBySecret way = "machine by secret"
	machineByToken  way = "machine by token"
	userByPassword  way = "user by password"
	delegateByToken way = "delegate by token"
)

var ways = []way{machineBySecret, machineByToken, userByPassword, delegateByToken}

// senders are made once: a token that was good stays the same token.
func (p *people) senders() map[way]sender {
	// Failures are counted by address, and those of one revocation are not another's.
	hash := sum(p.organization.GetId())
	from := fmt.Sprintf("10.%d.%d.%d", hash[0], hash[1], hash[2])
	by := func(lines []string) sender { return sender{version: version20251125, lines: lines, from: from} }
	return map[way]sender{
		machineBySecret: by(bySecret(p.machine.GetId(), theSecret)),
		machineByToken:  by(byToken(p.key.token(claims(p.machine.GetId(), p.machine.GetId(), "tools")))),
		userByPassword:  by(bySecret(p.user.GetEmail(), thePassword, scopeLines(p.organization.GetId(), "orders")...)),
		delegateByToken: by(byToken(p.key.token(claims(p.delegate.GetId(), p.delegate.GetClientId(), "tools")))),
	}
}

// revocation is one thing that is taken away, and from whom.
type revocation struct {
	name string
	// take takes it away, give gives it back; both say what is to be written.
	take, give func(p *people) (put, remove []proto.Message)
	// out lose everything, and less those lose the tool that the role opens. Everybody else keeps both.
	out, less []way
}

// change writes one changed copy of a message.
func change[M proto.Message](m M, how func(M)) (put, remove []proto.Message) {
	m = proto.CloneOf(m)
	how(m)
	return []proto.Message{m}, nil
}

func removed(m proto.Message) (put, remove []proto.Message)  { return nil, []proto.Message{m} }
func restored(m proto.Message) (put, remove []proto.Message) { return []proto.Message{m}, nil }

var (
	byMachine = []way{machineBySecret, machineByToken}
	byOwner   = []way{userByPassword, delegateByToken}
)

var revocations = []revocation{
	{"a machine is disabled", func(p *people) (put, remove []proto.Message) {
		return change(p.machine, func(m *registryv1.StoredMachine) { m.Disabled = true })
	}, func(p *people) (put, remove []proto.Message) { return restored(p.machine) }, byMachine, nil},
	{"a machine is removed", func(p *people) (put, remove []proto.Message) { return removed(p.machine) },
		func(p *people) (put, remove []proto.Message) { return restored(p.machine) }, byMachine, nil},
	{"a machine's secret is rotated", func(p *people) (put, remove []proto.Message) {
		return change(p.machine, func(m *registryv1.StoredMachine) { m.SecretSha256 = sum("another") })
	}, func(p *people) (put, remove []proto.Message) { return restored(p.machine) }, []way{machineBySecret}, nil},
	{"a machine loses its role", func(p *people) (put, remove []proto.Message) {
		return change(p.machine, func(m *registryv1.StoredMachine) { m.Participant.Roles = nil })
	}, func(p *people) (put, remove []proto.Message) { return restored(p.machine) }, nil, byMachine},
	{"a machine becomes another application's", func(p *people) (put, remove []proto.Message) {
		return change(p.machine, func(m *registryv1.StoredMachine) { m.Participant.ApplicationId = "gone" })
	}, func(p *people) (put, remove []proto.Message) { return restored(p.machine) }, byMachine, nil},
	{"a user is disabled, and so are the delegates", func(p *people) (put, remove []proto.Message) {
		return change(p.user, func(m *identityv1.StoredUser) { m.Disabled = true })
	}, func(p *people) (put, remove []proto.Message) { return restored(p.user) }, byOwner, nil},
	{"a user is removed", func(p *people) (put, remove []proto.Message) { return removed(p.user) },
		func(p *people) (put, remove []proto.Message) { return restored(p.user) }, byOwner, nil},
	{"a password is changed", func(p *people) (put, remove []proto.Message) {
		return change(p.user, func(m *identityv1.StoredUser) { m.PasswordHash = hashOfPassword("another") })
	}, func(p *people) (put, remove []proto.Message) { return restored(p.user) }, []way{userByPassword}, nil},
	{"a user loses the grant", func(p *people) (put, remove []proto.Message) {
		return change(p.user, func(m *identityv1.StoredUser) { m.Grants[0].ApplicationId = "" })
	}, func(p *people) (put, remove []proto.Message) { return restored(p.user) }, byOwner, nil},
	{"a user loses the grant's role", func(p *people) (put, remove []proto.Message) {
		return change(p.user, func(m *identityv1.StoredUser) { m.Grants[0].Roles = nil })
	}, func(p *people) (put, remove []proto.Message) { return restored(p.user) }, nil, byOwner},
	{"a delegate is disabled", func(p *people) (put, remove []proto.Message) {
		return change(p.delegate, func(m *identityv1.StoredDelegate) { m.Disabled = true })
	}, func(p *people) (put, remove []proto.Message) { return restored(p.delegate) }, []way{delegateByToken}, nil},
	{"a delegate is removed", func(p *people) (put, remove []proto.Message) { return removed(p.delegate) },
		func(p *people) (put, remove []proto.Message) { return restored(p.delegate) }, []way{delegateByToken}, nil},
	{"an application is disabled", func(p *people) (put, remove []proto.Message) {
		return change(p.application, func(m *identityv1.StoredApplication) { m.Disabled = true })
	}, func(p *people) (put, remove []proto.Message) { return restored(p.application) }, ways, nil},
	{"an application is removed", func(p *people) (put, remove []proto.Message) { return removed(p.application) },
		func(p *people) (put, remove []proto.Message) { return restored(p.application) }, ways, nil},
	{"an organization is disabled", func(p *people) (put, remove []proto.Message) {
		return change(p.organization, func(m *identityv1.StoredOrganization) { m.Disabled = true })
	}, func(p *people) (put, remove []proto.Message) { return restored(p.organization) }, ways, nil},
	{"an organization is removed", func(p *people) (put, remove []proto.Message) { return removed(p.organization) },
		func(p *people) (put, remove []proto.Message) { return restored(p.organization) }, ways, nil},
	{"a role grants something else", func(p *people) (put, remove []proto.Message) {
		return change(p.role, func(m *identityv1.StoredRole) { m.Actions = []string{"orders.read"} })
	}, func(p *people) (put, remove []proto.Message) { return restored(p.role) }, nil, ways},
	{"a role is removed", func(p *people) (put, remove []proto.Message) { return removed(p.role) },
		func(p *people) (put, remove []proto.Message) { return restored(p.role) }, nil, ways},
	{"a token key is revoked", func(p *people) (put, remove []proto.Message) { return removed(p.key.stored(time.Time{})) },
		func(p *people) (put, remove []proto.Message) {
			return restored(p.key.stored(time.Now().Add(-time.Minute)))
		},
		[]way{machineByToken, delegateByToken}, nil},
	{"a token key becomes another of the same name", func(p *people) (put, remove []proto.Message) {
		return restored(newTokenKey(p.key.kid).stored(time.Now().Add(-time.Minute)))
	}, func(p *people) (put, remove []proto.Message) {
		return restored(p.key.stored(time.Now().Add(-time.Minute)))
	},
		[]way{machineByToken, delegateByToken}, nil},
}

func sum(secret string) []byte {
	hash := sha256.Sum256([]byte(secret))
	return hash[:]
}

// How much somebody may do: nothing, list and call what is open, or use the tool of the role as well.
const (
	nothing = "nothing"
	little  = "the open tool"
	all     = "both tools"
)

// may asks an edge what a sender may do, by list and calls, which must agree.
func may(t testing.TB, d *door, s sender) string {
	t.Helper()
	names, refusal := d.list(t, s)
	if refusal != nil {
		if got := d.call(t, s, "open", `{"note":"please"}`); got.status != http.StatusUnauthorized || refusal.status != http.StatusUnauthorized {
			return fmt.Sprintf("list %d, call %d: %s", refusal.status, got.status, got.body)
		}
		return nothing
	}
	open, refund := d.call(t, s, "open", `{"note":"please"}`), d.call(t, s, "refund", `{"note":"please"}`)
	if open.reached() != slices.Contains(names, "open") || refund.reached() != slices.Contains(names, "refund") {
		return fmt.Sprintf("list %q, call %s %s", names, open.body, refund.body)
	}
	switch {
	case open.reached() && refund.reached():
		return all
	case open.reached():
		return little
	default:
		return fmt.Sprintf("list %q", names)
	}
}

func TestRevocation(t *testing.T) {
	y := newYard(t)
	y.mark()
	y.register(&blueprint{t: t, services: []*serviceDraft{{name: "OpenService", methods: []methodDraft{{name: "Open", alias: "open"}}}}},
		place{zone: "app-api"})
	// The tool of the role is in each organization's own zone: its roles count nowhere else.
	refund := &blueprint{t: t, services: []*serviceDraft{{name: "RefundService", methods: []methodDraft{
		{name: "Refund", alias: "refund", own: &rule{action: "orders.refund"}},
	}}}}
	everybody := make([]*people, len(revocations))
	for i := range revocations {
		org := fmt.Sprintf("org-%d", i)
		y.register(refund, place{zone: "app." + org + ".orders"})
		everybody[i] = newPeople(y, org)
	}
	doors := []*door{y.open(nil), y.open(nil)}
	var mu sync.Mutex
	var delays []time.Duration
	for i, r := range revocations {
		t.Run(r.name, func(t *testing.T) {
			p := everybody[i]
			senders := p.senders()
			// Everybody has been here before: what is remembered of them must not outlive the news.
			for n, d := range doors {
				for _, w := range ways {
					if got := may(t, d, senders[w]); got != all {
						t.Fatalf("edge %d: %s may do %s from the start", n, w, got)
					}
				}
			}
			want := make(map[way]string)
			for _, w := range ways {
				want[w] = all
				if slices.Contains(r.out, w) {
					want[w] = nothing
				} else if slices.Contains(r.less, w) {
					want[w] = little
				}
			}
			watch := slices.Concat(r.out, r.less)[0]
			began := time.Now()
			write(y, r.take, p)
			var asking sync.WaitGroup
			for n, d := range doors {
				asking.Go(func() {
					for may(t, d, senders[watch]) != want[watch] {
						if time.Since(began) > patience {
							t.Errorf("edge %d: after %s, %s may still do more than %s", n, patience, watch, want[watch])
							return
						}
					}
					mu.Lock()
					defer mu.Unlock()
					delays = append(delays, time.Since(began))
				})
			}
			asking.Wait()
			// The news is there: from now on every answer is the new one, however often one asks. Not so often that failures
			// become too many.
			for range 2 {
				for n, d := range doors {
					for _, w := range ways {
						if got := may(t, d, senders[w]); got != want[w] {
							t.Errorf("edge %d: %s may do %s, want %s", n, w, got, want[w])
						}
					}
				}
			}
			write(y, r.give, p)
			y.settle(doors...)
			for n, d := range doors {
				for _, w := range ways {
					if got := may(t, d, senders[w]); got != all {
						t.Errorf("edge %d: given back, %s may do %s", n, w, got)
					}
				}
			}
		})
	}
	slices.Sort(delays)
	if len(delays) == 2*len(revocations) {
		t.Logf("%d revocations at 2 edges: median delay %s, longest %s, from before the write to the first refusal", len(revocations),
			delays[len(delays)/2].Round(time.Microsecond), delays[len(delays)-1].Round(time.Microsecond))
	}
}

func write(y *yard, what func(*people) (put, remove []proto.Message), p *people) {
	put, remove := what(p)
	if len(put) > 0 {
		y.put(put...)
	}
	if len(remove) > 0 {
		y.remove(remove...)
	}
}

// A new instance whose contract denies takes the tool away at once, from whoever saw it (DESIGN, decision 6).
func TestRevocation_byContract(t *testing.T) {
	y := newYard(t)
	y.mark()
	draft := func(own *rule) *blueprint {
		return &blueprint{t: t, services: []*serviceDraft{
			{name: "OpenService", methods: []methodDraft{{name: "Open", alias: "open"}}},
			{name: "RefundService", methods: []methodDraft{{name: "Refund", alias: "refund", own: own}}},
		}}
	}
	y.register(draft(nil), place{zone: "app-api"})
	y.put(organization("acme"), application("acme", "orders"), machine("caller", participant.Application("acme", "orders", "")))
	doors := []*door{y.open(nil), y.open(nil)}
	s := sender{version: version20251125, lines: bySecret("caller", theSecret)}
	for n, d := range doors {
		if got := may(t, d, s); got != all {
			t.Fatalf("edge %d: %s from the start", n, got)
		}
	}
	y.register(draft(&rule{mode: "DENY_ALL"}), place{zone: "app-api"})
	for n, d := range doors {
		y.until(fmt.Sprintf("edge %d hides the tool", n), func() bool { return may(t, d, s) == little })
	}
}

// An edge that is cut off from etcd goes on with what it last knew, says that it is stale, and learns what it missed as
// soon as it is back (DESIGN, decision 5; access.md, "Identities").
func TestRevocation_cutOff(t *testing.T) {
	y := newYard(t)
	y.mark()
	y.register(&blueprint{t: t, services: []*serviceDraft{
		{name: "OpenService", methods: []methodDraft{{name: "Open", alias: "open"}, {name: "Refund", alias: "refund", own: &rule{action: "orders.refund"}}}},
	}}, place{zone: "app.org-0.orders"})
	p := newPeople(y, "org-0")
	line := startLine(t, y.etcd.Endpoint())
	cut, whole := y.openAt(line.client(t), nil), y.open(func(*configv1.EdgeConfig) {})
	senders := p.senders()
	for _, w := range ways {
		// The user has not been at the edge before it is cut off: the password is checked against what is known.
		if w != userByPassword {
			if got := may(t, cut, senders[w]); got != all {
				t.Fatalf("%s may do %s from the start", w, got)
			}
		}
	}
	line.cut()
	y.until("the edge notices", cut.edge.Stale)
	if got := cut.get(t, "/readyz"); got.status != http.StatusOK || string(got.body) != "stale\n" {
		t.Errorf("/readyz of an edge that is cut off: %d %q", got.status, got.body)
	}
	write(y, revocations[0].take, p)
	y.until("the other edge refuses the machine", func() bool { return may(t, whole, senders[machineBySecret]) == nothing })
	for _, w := range ways {
		if got := may(t, cut, senders[w]); got != all {
			t.Errorf("cut off, %s may do %s", w, got)
		}
	}
	line.mend()
	y.until("the edge is back", func() bool { return !cut.edge.Stale() })
	y.until("the edge refuses the machine", func() bool { return may(t, cut, senders[machineBySecret]) == nothing })
	if got := may(t, cut, senders[userByPassword]); got != all {
		t.Errorf("back again, the user may do %s", got)
	}
}
