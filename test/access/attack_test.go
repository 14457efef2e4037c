package access_test

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"testing"

	"google.golang.org/protobuf/proto"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// Attacks on POST /mcp, each over a connection of its own and as bytes: what pretends to be somebody is nobody, and
// learns nothing from the answer.

// target is a yard with people to be taken for, and one edge.
type target struct {
	*door
	// attacks counts them, so that each comes from an address of its own.
	attacks int
	// fresh counts the users of the application nobody has tried before: of one user few attempts may fail.
	fresh int
}

// freshUsers is how many there are.
const freshUsers = 64

// user is one that nobody has tried before.
func (a *target) user() string {
	a.fresh++
	return freshUser(a.fresh)
}

func freshUser(n int) string { return fmt.Sprintf("user-%d@example.com", n%freshUsers) }

// The grown-ups of the target: alice acts for the application, bob for the organization, and the platform has a root.
const (
	alice = "alice@example.com"
	bob   = "bob@example.com"
	root  = "root@example.com"
)

func newTarget(t *testing.T) *target {
	y := newYard(t)
	y.mark()
	b := &blueprint{t: t, services: []*serviceDraft{{name: "OpenService", methods: []methodDraft{{name: "Open", alias: "open"}}}}}
	for i, zone := range []string{"app-api", "app.acme.orders", "app.acme.orders-2", "app.globex.orders", "management-api", "system-api", ""} {
		y.register(b, place{zone: zone, suffix: []string{"", "-orders", "-orders-2", "-globex", "-management", "-system", "-unzoned"}[i]})
	}
	user := func(organization, email, application string) *identityv1.StoredUser {
		return &identityv1.StoredUser{OrganizationId: organization, Email: email, PasswordHash: thePasswordHash(), Grants: []*identityv1.StoredGrant{{ApplicationId: application}}}
	}
	y.put(organization("acme"), organization("globex"), application("acme", "orders"), application("acme", "orders-2"), application("globex", "orders"),
		user("acme", alice, "orders"), user("acme", bob, ""), user("", root, ""),
		machine("acme.machine", participant.Application("acme", "orders", "")), machine("Machine", participant.System("")),
		&identityv1.StoredDelegate{Id: "delegate:alice", OrganizationId: "acme", OwnerEmail: alice, ApplicationId: "orders", ClientId: clientOf("alice"), ClientName: "A client"})
	for n := range freshUsers {
		y.put(user("acme", freshUser(n), "orders"))
	}
	return &target{door: y.open(func(cfg *configv1.EdgeConfig) { cfg.OrganizationsReachTheirApplications = true })}
}

// attack lists tools with these header lines over a socket, and gives the answer and what was listed.
func (a *target) attack(t *testing.T, path string, lines ...string) (reply, []string) {
	t.Helper()
	a.attacks++
	body, head := request(version20251125, "tools/list", "", "")
	got := a.raw(t, path, body, append(append(head, "X-Forwarded-For: "+addressOf(a.attacks)), lines...))
	var names []string
	if got.status == http.StatusOK {
		o := got.parse(t)
		if o.Result == nil {
			t.Fatalf("%d %s", got.status, got.body)
		}
		for _, tool := range o.Result.Tools {
			names = append(names, tool.Name)
		}
	}
	return got, names
}

// is demands that somebody is let in and sees one application's tools, or what else there is to see.
func (a *target) is(t *testing.T, want []string, lines ...string) {
	t.Helper()
	got, names := a.attack(t, "/mcp", lines...)
	if got.status != http.StatusOK || !sameNames(names, want) {
		t.Errorf("%q: %d %s, and is listed %q, want %q", lines, got.status, got.body, names, want)
	}
}

func sameNames(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	have := make(map[string]bool)
	for _, name := range got {
		have[name] = true
	}
	for _, name := range want {
		if !have[name] {
			return false
		}
	}
	return true
}

var (
	ofOrders = []string{"open", "open-orders"}
	ofAcme   = []string{"open", "open-orders", "open-orders-2", "open-management"}
	ofSystem = []string{"open", "open-orders", "open-orders-2", "open-globex", "open-management", "open-system", "open-unzoned"}
)

// nobody demands the uniform refusal: that of a wrong secret, or, where a token was sent, of a wrong token.
func (a *target) nobody(t *testing.T, one reply, lines ...string) {
	t.Helper()
	got, names := a.attack(t, "/mcp", lines...)
	a.same(t, one, got, names, lines)
}

func (a *target) same(t *testing.T, one, got reply, names, lines []string) {
	t.Helper()
	got.header.Del("Date")
	if got.status != one.status || !bytes.Equal(got.body, one.body) || fmt.Sprint(got.header) != fmt.Sprint(one.header) {
		t.Errorf("%q: %d %s %v, and is listed %q; the one answer is %d %s %v", lines, got.status, got.body, got.header, names, one.status, one.body, one.header)
	}
}

// refusals are the two uniform answers: to secrets, and to tokens.
func (a *target) refusals(t *testing.T) (secret, token reply) {
	t.Helper()
	secret, _ = a.attack(t, "/mcp", bySecret("no-such-machine", "no-such-secret")...)
	token, _ = a.attack(t, "/mcp", byToken("no.such.token")...)
	for _, r := range []reply{secret, token} {
		if r.header.Del("Date"); r.status != http.StatusUnauthorized || r.header.Get("WWW-Authenticate") == "" {
			t.Fatalf("the refusal is %d %s %v", r.status, r.body, r.header)
		}
	}
	return secret, token
}

// Ids in headers mean exactly who they name. A user's email alone has no case, and that of ASCII only.
func TestAttack_idsInHeaders(t *testing.T) {
	a := newTarget(t)
	secret, _ := a.refusals(t)
	inOrders := scopeLines("acme", "orders")

	a.is(t, ofOrders, bySecret("acme.machine", theSecret)...)
	a.is(t, ofSystem, append(bySecret("Machine", theSecret), "organizationId: acme", "applicationId: orders")...) // no scope of a machine's
	a.is(t, ofOrders, bySecret(alice, thePassword, inOrders...)...)
	a.is(t, ofOrders, bySecret(a.user(), thePassword, inOrders...)...)
	a.is(t, ofOrders, bySecret("Alice@EXAMPLE.com", thePassword, inOrders...)...)
	a.is(t, ofAcme, bySecret(bob, thePassword, "organizationId: acme")...)
	a.is(t, ofSystem, bySecret(root, thePassword)...)

	for _, id := range []string{
		"machine", "MACHINE", "Machine ", "Machine\u00a0", "Machine.", ".Machine", "acme/Machine", "../Machine", "Machine/", "Machine%00", "%4dachine",
		"acme%2Emachine", "acme.Machine", "ACME.machine", "acme..machine", "acme", "acme.", "\u217fachine", "\uff2dachine", "Mach\u0131ne", "M\u0430chine", "Machi\u200bne",
		"Machine\xff", "Machine\xc0\x80", "machines/Machine", "_", "*", "system-api", "delegate:alice", "identities/machines/Machine", "marker\tMachine", "\"Machine\"",
		"=?base64?TWFjaGluZQ==?=", "Machine,acme.machine", "Machine;", "<Machine>",
	} {
		if id == "Machine " {
			continue // white space around a value is no part of it
		}
		a.nobody(t, secret, bySecret(id, theSecret)...)
	}
	// Each of these costs a hash of a password, or what is as dear.
	for i, email := range []string{
		"alice@example.com.", "alice@example.co", "alice@example.com\u200b", "al\u0131ce@example.com", "AL\u0130CE@example.com", "ali\u0441e@example.com",
		"alice@e\u0445ample.com", "alice\uff20example.com", "alice@example\u3002com", "alice%40example.com", "alice@example.com%20", "alice@@example.com",
		"alice+x@example.com", "\"alice\"@example.com", "<alice@example.com>", "Alice <alice@example.com>", "mailto:alice@example.com", "a\u0301lice@example.com",
		"\u212alice@example.com", "ali\u017fe@example.com", "alice@example.com\xff", "\xfe\xff@example.com", "alice@example.com/orders", "acme/alice@example.com",
		"../acme/alice@example.com", "_/root@example.com", "@", "alice@", "@example.com", "*@example.com", "alice@example.com,root@example.com", "root@example.com", bob,
	} {
		if i%thin == 0 {
			a.nobody(t, secret, bySecret(email, thePassword, inOrders...)...)
		}
	}
	for i, scope := range [][2]string{
		{"", ""}, {"acme", ""}, {"", "orders"}, {"ACME", "orders"}, {"Acme", "orders"}, {"acme", "Orders"}, {"acme", "orders-2"}, {"acme", "orders.billing"},
		{"acme.orders", ""}, {"acme.orders", "orders"}, {"acme.", "orders"}, {".acme", "orders"}, {"globex", "orders"}, {"system-api", ""}, {"acme", "system-api"},
		{"system-api", "system-api"}, {"_", ""}, {"_", "orders"}, {"*", "*"}, {"acme", "*"}, {"../acme", "orders"}, {"acme/orders", ""}, {"acme%2e", "orders"},
		{"%61cme", "orders"}, {"acme", "%6frders"}, {"\u0430cme", "orders"}, {"acme", "\u043erders"}, {"acme\u200b", "orders"}, {"acme\xff", "orders"},
		{"\uff41cme", "orders"}, {"acme,globex", "orders"}, {"acme", "orders,orders-2"}, {"acme;", "orders"}, {"\"acme\"", "orders"},
	} {
		if i%thin == 0 {
			a.nobody(t, secret, bySecret(a.user(), thePassword, scopeLines(scope[0], scope[1])...)...)
		}
	}
	for _, password := range []string{"", "the password", thePassword + ".", "The password of every user in this yard", theSecret, thePasswordHash()} {
		a.nobody(t, secret, bySecret(a.user(), password, inOrders...)...)
	}
	for _, lines := range [][]string{
		{"clientId: Machine"}, {"clientSecret: " + theSecret}, {"clientId: ", "clientSecret: "}, {"clientId: Machine", "clientSecret: "},
		{"clientId: ", "clientSecret: " + theSecret}, {"client-id: Machine", "client-secret: " + theSecret}, {"client_id: Machine", "client_secret: " + theSecret},
	} {
		a.nobody(t, secret, lines...)
	}
	// A role cannot be brought along, and neither can a participant.
	for _, line := range []string{
		"sallyport-participant-bin: CAE", "sallyport-assertion: x.y.z", "X-Sallyport-Participant: CAE", "roles: root", "kind: SYSTEM", "id: root@example.com",
		"X-Forwarded-User: root@example.com", "X-Forwarded-Client-Cert: Subject=\"CN=Machine\"", "Grpc-Metadata-Sallyport-Participant-Bin: CAE",
	} {
		a.is(t, ofOrders, append(bySecret("acme.machine", theSecret), line)...)
		a.nobody(t, secret, line)
	}
}

// A name that would be two readers' two callers is refused before anybody is looked for.
func TestAttack_doubledHeaders(t *testing.T) {
	a := newTarget(t)
	good := a.signer.token(claims("acme.machine", "acme.machine", "tools"))
	root := a.signer.token(claims("Machine", "Machine", "tools"))
	var one *reply
	for _, lines := range [][]string{
		{"Authorization: Bearer " + good, "Authorization: Bearer " + good},
		{"Authorization: Bearer " + good, "Authorization: Bearer " + root},
		{"authorization: Bearer " + good, "AUTHORIZATION: Bearer " + root},
		{"Authorization: Bearer " + good, "Authorization: Basic eDp5"},
		{"Authorization: Basic eDp5", "Authorization: Bearer " + good},
		{"Authorization: ", "Authorization: Bearer " + good},
		{"Authorization: Bearer"},
		{"Authorization: Bearer "},
		{"Authorization: bearer   "},
		{"clientId: acme.machine", "clientId: Machine", "clientSecret: " + theSecret},
		{"clientId: acme.machine", "ClientID: acme.machine", "clientSecret: " + theSecret},
		{"clientId: acme.machine", "clientSecret: " + theSecret, "clientSecret: " + theSecret},
		{"clientId: " + alice, "clientSecret: " + thePassword, "organizationId: globex", "organizationId: acme", "applicationId: orders"},
		{"clientId: " + alice, "clientSecret: " + thePassword, "organizationId: acme", "applicationId: orders", "applicationId: orders-2"},
		{"Authorization: Bearer " + good, "clientId: Machine", "clientId: Machine"},
	} {
		got, names := a.attack(t, "/mcp", lines...)
		if one == nil {
			got.header.Del("Date")
			one = &got
			if got.status != http.StatusBadRequest || got.header.Get("WWW-Authenticate") != `Bearer error="invalid_request", resource_metadata="`+issuer+`/.well-known/oauth-protected-resource/mcp"` {
				t.Errorf("%d %s %v", got.status, got.body, got.header)
			}
		}
		a.same(t, *one, got, names, lines)
	}
}

// What is stored with ids that disagree with its kind, or that are no ids, is nobody: whoever wrote it past the
// registry's checks has gained nothing. Look-alikes of a zone are other zones.
func TestAttack_storedParticipants(t *testing.T) {
	a := newTarget(t)
	secret, _ := a.refusals(t)
	of := func(kind int32, organization, application string) *participant.Participant {
		return &participant.Participant{Kind: kindNumber(kind), OrganizationId: organization, ApplicationId: application}
	}
	ids := []string{"", "acme", "acme.orders", "system-api", "Acme", "acme-", "\u0430cme", "acme/orders", "_", "*", "app", "ac\x00me", " acme"}
	nobodies := make(map[string]*participant.Participant)
	var messages []proto.Message
	for kind := int32(-1); kind <= 6; kind++ {
		for _, organizationID := range ids {
			for _, applicationID := range []string{"", "orders", "orders.billing", "system-api", "Orders", "..", "orders~x", "orders*"} {
				p := of(kind, organizationID, applicationID)
				good := kind == 1 && organizationID == "" && applicationID == "" ||
					kind == 2 && isLabel(organizationID) && applicationID == "" ||
					kind == 3 && isLabel(organizationID) && isLabel(applicationID)
				if good {
					continue
				}
				id := fmt.Sprintf("nobody-%d", len(nobodies))
				nobodies[id] = p
				messages = append(messages, machine(id, p))
			}
		}
	}
	for _, id := range ids {
		if !regexp.MustCompile(`^[^/\x00]+$`).MatchString(id) {
			continue
		}
		messages = append(messages, organization(id), application(id, "orders"))
	}
	a.put(messages...)
	a.settle(a.door)
	for id, p := range nobodies {
		got := a.call(t, sender{version: version20251125, lines: bySecret(id, theSecret), from: addressOf(len(id) + a.attacks)}, "open", `{}`)
		a.attacks++
		if got.status != http.StatusUnauthorized || !bytes.Equal(got.body, secret.body) {
			t.Errorf("%q: %d %s", p, got.status, got.body)
		}
	}
	if len(nobodies) < 500 {
		t.Errorf("only %d participants were tried", len(nobodies))
	}
}
