package auth_test

import (
	"bytes"
	"crypto/ed25519"
	"maps"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/auth/password"
	"github.com/sallyport-dev/sallyport/internal/auth/token"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

const (
	client = registryv1.MachineKind_MACHINE_KIND_CLIENT
	host   = registryv1.MachineKind_MACHINE_KIND_HOST

	issuer   = "https://edge.example"
	resource = "https://edge.example/mcp"
)

var (
	start  = time.Unix(1_800_000_000, 0)
	key1   = &identityv1.StoredTokenKey{Kid: "k1", Seed: bytes.Repeat([]byte("1"), ed25519.SeedSize)}
	key2   = &identityv1.StoredTokenKey{Kid: "k2", Seed: bytes.Repeat([]byte("2"), ed25519.SeedSize)}
	here   = netip.MustParseAddr("192.0.2.1")
	hashes = map[string]string{}
)

// hash hashes a password once for all tests.
func hash(t testing.TB, text string) string {
	t.Helper()
	if hashes[text] == "" {
		h, err := password.Hash(text)
		if err != nil {
			t.Fatal(err)
		}
		hashes[text] = h
	}
	return hashes[text]
}

func machine(kind registryv1.MachineKind, p *participant.Participant, secret string) *registryv1.StoredMachine {
	return &registryv1.StoredMachine{Id: p.GetId(), Kind: kind, Participant: p, SecretSha256: registry.HashSecret(secret)}
}

func withRoles(p *participant.Participant, roles ...string) *participant.Participant {
	p.Roles = roles
	return p
}

// identities is a view with one of everything.
func identities(t testing.TB) *registry.View {
	v := &registry.View{
		Organizations: map[string]*identityv1.StoredOrganization{
			"acme": {Id: "acme"}, "globex": {Id: "globex"}, "closed": {Id: "closed", Disabled: true},
		},
		Applications: map[registry.OwnedKey]*identityv1.StoredApplication{},
		Roles:        map[registry.OwnedKey]*identityv1.StoredRole{},
		Users:        map[registry.OwnedKey]*identityv1.StoredUser{},
		Machines:     map[string]*registryv1.StoredMachine{},
		Delegates:    map[string]*identityv1.StoredDelegate{},
		TokenKeys:    []*identityv1.StoredTokenKey{key2, key1},
	}
	for _, a := range []*identityv1.StoredApplication{
		{OrganizationId: "acme", Id: "orders"}, {OrganizationId: "acme", Id: "closed", Disabled: true},
		{OrganizationId: "closed", Id: "orders"},
	} {
		v.Applications[registry.OwnedKey{Organization: a.GetOrganizationId(), ID: a.GetId()}] = a
	}
	for _, r := range []*identityv1.StoredRole{
		{Name: "refunder"}, {Name: "platform-admin"}, {OrganizationId: "acme", Name: "refunder"}, {OrganizationId: "globex", Name: "boss"},
	} {
		v.Roles[registry.OwnedKey{Organization: r.GetOrganizationId(), ID: r.GetName()}] = r
	}
	for _, m := range []*registryv1.StoredMachine{
		machine(client, participant.System("system"), "s1"),
		machine(client, participant.Organization("acme", "organization"), "s2"),
		machine(client, participant.Application("acme", "orders", "application"), "s3"),
		machine(host, participant.Organization("acme", "host"), "s4"),
		machine(client, withRoles(participant.Organization("acme", "roles"), "refunder", "acme/refunder", "gone", "acme/gone", "globex/boss"), "s"),
		machine(client, participant.Organization("closed", "closed"), "s"),
		machine(client, participant.Application("closed", "orders", "closed-application"), "s"),
		machine(client, participant.Organization("nowhere", "nowhere"), "s"),
		machine(client, participant.Application("acme", "closed", "disabled-application"), "s"),
		machine(client, participant.Application("acme", "nothing", "no-application"), "s"),
		machine(client, participant.Application("globex", "orders", "foreign-application"), "s"),
		machine(client, participant.System("disabled"), "s"),
		machine(client, participant.System("unhashed"), "s"),
		machine(client, participant.System("short"), "s"),
		machine(client, &participant.Participant{Kind: 3, Id: "ill", ApplicationId: "orders"}, "s"),
		machine(client, &participant.Participant{Id: "nobody"}, "s"),
		{Id: "anonymous", Kind: client, Participant: participant.Anonymous(), SecretSha256: registry.HashSecret("s")},
		machine(client, participant.System("eve@acme.example"), "s"),
	} {
		v.Machines[m.GetId()] = m
	}
	v.Machines["disabled"].Disabled = true
	v.Machines["unhashed"].SecretSha256 = nil
	v.Machines["short"].SecretSha256 = v.Machines["short"].SecretSha256[:16]
	v.Machines["nobody"].Participant = nil

	bare := []*identityv1.StoredGrant{{}}
	for _, u := range []*identityv1.StoredUser{
		{Email: "ada@platform.example", PasswordHash: hash(t, "p0"), Grants: []*identityv1.StoredGrant{{Roles: []string{"platform-admin"}}}},
		{OrganizationId: "acme", Email: "ada@acme.example", PasswordHash: hash(t, "p1"), Grants: []*identityv1.StoredGrant{
			{Roles: []string{"refunder", "gone"}}, {ApplicationId: "orders", Roles: []string{"acme/refunder"}}, {ApplicationId: "closed"},
			{ApplicationId: "nothing"},
		}},
		{OrganizationId: "acme", Email: "bob@acme.example", PasswordHash: hash(t, "p1"), Grants: []*identityv1.StoredGrant{{ApplicationId: "orders"}}},
		{OrganizationId: "globex", Email: "ada@acme.example", PasswordHash: hash(t, "p2"), Grants: bare},
		{OrganizationId: "closed", Email: "ada@acme.example", PasswordHash: hash(t, "p1"), Grants: bare},
		{OrganizationId: "nowhere", Email: "ada@acme.example", PasswordHash: hash(t, "p1"), Grants: bare},
		{OrganizationId: "acme", Email: "off@acme.example", PasswordHash: hash(t, "p1"), Grants: bare, Disabled: true},
		{OrganizationId: "acme", Email: "nopassword@acme.example", Grants: bare},
		{OrganizationId: "acme", Email: "nogrant@acme.example", PasswordHash: hash(t, "p1")},
	} {
		v.Users[registry.OwnedKey{Organization: u.GetOrganizationId(), ID: u.GetEmail()}] = u
	}
	for _, d := range []*identityv1.StoredDelegate{
		{Id: "delegate:1", OrganizationId: "acme", OwnerEmail: "ada@acme.example", ApplicationId: "orders", ClientId: "https://c.example/x", ClientName: "C"},
		{Id: "delegate:off", OrganizationId: "acme", OwnerEmail: "ada@acme.example", ClientId: "c", Disabled: true},
		{Id: "delegate:orphan", OrganizationId: "acme", OwnerEmail: "nobody@acme.example", ClientId: "c"},
		{Id: "delegate:owner-off", OrganizationId: "acme", OwnerEmail: "off@acme.example", ClientId: "c"},
		{Id: "delegate:no-grant", OrganizationId: "acme", OwnerEmail: "bob@acme.example", ClientId: "c"},
		{Id: "delegate:closed", OrganizationId: "closed", OwnerEmail: "ada@acme.example", ClientId: "c"},
	} {
		v.Delegates[d.GetId()] = d
	}
	return v
}

// house is an authenticator before a view that tests change, at a time that tests set.
type house struct {
	*auth.Authenticator
	t      testing.TB
	view   atomic.Pointer[registry.View]
	now    time.Time
	silent time.Time
}

func newHouse(t testing.TB, change ...func(*auth.Options)) *house {
	h := &house{t: t, now: start}
	h.view.Store(identities(t))
	o := auth.Options{
		View:        func() auth.View { return h.view.Load() },
		SilentSince: func() (time.Time, bool) { return h.silent, !h.silent.IsZero() },
		Kinds:       []registryv1.MachineKind{client},
		Emails:      registry.CanonicalEmail,
		Tokens:      &auth.Tokens{Issuer: issuer, Resource: resource},
		Now:         func() time.Time { return h.now },
	}
	for _, c := range change {
		c(&o)
	}
	h.Authenticator = auth.New(o)
	return h
}

// change publishes a view in which something is another.
func (h *house) change(edit func(*registry.View)) {
	v := *h.view.Load()
	v.Organizations, v.Applications, v.Roles = maps.Clone(v.Organizations), maps.Clone(v.Applications), maps.Clone(v.Roles)
	v.Users, v.Machines, v.Delegates = maps.Clone(v.Users), maps.Clone(v.Machines), maps.Clone(v.Delegates)
	edit(&v)
	h.view.Store(&v)
}

// replace puts a changed copy of a message in its place.
func replace[K comparable, M proto.Message](all map[K]M, key K, edit func(M)) {
	m := proto.CloneOf(all[key])
	edit(m)
	all[key] = m
}

func (h *house) ask(c *auth.Credentials) (auth.Caller, error) {
	c.Origin.Peer = netip.AddrPortFrom(here, 1).String()
	return h.Authenticate(h.t.Context(), c)
}

func secret(id, secret string) *auth.Credentials {
	return &auth.Credentials{ClientID: []string{id}, ClientSecret: []string{secret}}
}

func login(organization, application, email, password string) *auth.Credentials {
	c := secret(email, password)
	if organization != "" {
		c.Organization = []string{organization}
	}
	if application != "" {
		c.Application = []string{application}
	}
	return c
}

func bearer(text string) *auth.Credentials {
	return &auth.Credentials{Authorization: []string{"Bearer " + text}}
}

func issue(t testing.TB, key *identityv1.StoredTokenKey, subject, client string, scopes token.Scopes, at time.Time) string {
	t.Helper()
	text, err := token.Issue(key, token.Claims{
		Issuer: issuer, Audience: []string{resource}, Subject: subject, ClientID: client, Scopes: scopes,
	}, at, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// skipRaced skips what hashes many passwords one after the other: the race detector has nothing to see there.
func skipRaced(t *testing.T, c *auth.Credentials) {
	t.Helper()
	if raced && len(c.ClientID) > 0 && strings.Contains(c.ClientID[0], "@") {
		t.Skip("passwords are hashed one after the other, and slowly under the race detector")
	}
}
