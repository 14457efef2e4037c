package auth_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/internal/auth/password"
	"github.com/sallyport-dev/sallyport/internal/auth/token"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

// delegated is the participant of a delegate of ada's in acme's orders.
func delegated(scopes ...string) *participant.Participant {
	p := withRoles(participant.Application("acme", "orders", "delegate:1"), "acme/refunder")
	p.Scopes = scopes
	p.OnBehalfOf = &participantv1.OnBehalfOf{OwnerId: "ada@acme.example", ClientId: "https://c.example/x", ClientName: "C"}
	return p
}

func TestAuthenticator_admits(t *testing.T) {
	h := newHouse(t)
	scoped := participant.Organization("acme", "organization")
	scoped.Scopes = []string{"tools:list"}
	for name, row := range map[string]struct {
		credentials *auth.Credentials
		want        *participant.Participant
		scopes      token.Scopes
	}{
		"a system machine":             {secret("system", "s1"), participant.System("system"), 0},
		"an organization's machine":    {secret("organization", "s2"), participant.Organization("acme", "organization"), 0},
		"an application's machine":     {secret("application", "s3"), participant.Application("acme", "orders", "application"), 0},
		"a machine's roles that count": {secret("roles", "s"), withRoles(participant.Organization("acme", "roles"), "refunder", "acme/refunder"), 0},
		"a machine, whatever it selects": {login("globex", "nothing", "organization", "s2"),
			participant.Organization("acme", "organization"), 0},
		"a user of the platform": {login("", "", "ada@platform.example", "p0"),
			withRoles(participant.System("ada@platform.example"), "platform-admin"), 0},
		"a user's organization": {login("acme", "", "ada@acme.example", "p1"),
			withRoles(participant.Organization("acme", "ada@acme.example"), "refunder"), 0},
		"a user's application": {login("acme", "orders", "ada@acme.example", "p1"),
			withRoles(participant.Application("acme", "orders", "ada@acme.example"), "acme/refunder"), 0},
		"the same email elsewhere": {login("globex", "", "ada@acme.example", "p2"), participant.Organization("globex", "ada@acme.example"), 0},
		"an email in another case": {login("acme", "orders", "ADA@Acme.Example", "p1"),
			withRoles(participant.Application("acme", "orders", "ada@acme.example"), "acme/refunder"), 0},
		"empty selections": {&auth.Credentials{
			ClientID: []string{"ada@platform.example"}, ClientSecret: []string{"p0"}, Organization: []string{""}, Application: []string{""},
		}, withRoles(participant.System("ada@platform.example"), "platform-admin"), 0},
		"a machine's token":    {bearer(issue(t, key1, "organization", "organization", token.ToolsList, start)), scoped, token.ToolsList},
		"a token by the newer": {bearer(issue(t, key2, "organization", "organization", token.ToolsList, start)), scoped, token.ToolsList},
		"a delegate's token": {bearer(issue(t, key1, "delegate:1", "https://c.example/x", token.Tools, start)),
			delegated("tools"), token.Tools},
	} {
		t.Run(name, func(t *testing.T) {
			var first *participant.Participant
			for range 2 { // the second time from memory
				got, err := h.ask(row.credentials)
				if err != nil || !proto.Equal(got.Participant, row.want) {
					t.Fatalf("got %v, %v, want %v", got.Participant, err, row.want)
				}
				scoped := len(row.credentials.Authorization) > 0
				if got.Scoped != scoped || got.Scopes != row.scopes {
					t.Errorf("scoped %t, scopes %v", got.Scoped, got.Scopes)
				}
				if first != nil && got.Participant != first {
					t.Error("the participant is another pointer the second time")
				}
				first = got.Participant
			}
		})
	}
}

// Every failure of secrets is the same error at the same cost: one hash, of the id's kind.
func TestAuthenticator_refusesSecretsUniformly(t *testing.T) {
	h := newHouse(t)
	stored := h.view.Load().Machines["system"].GetSecretSha256()
	machines := 0
	h.CountHashes(func() { machines++ })
	for name, c := range map[string]*auth.Credentials{
		"wrong secret":                 secret("system", "s2"),
		"empty secret":                 secret("system", ""),
		"longer secret":                secret("system", "s1 "),
		"the hash in place of secrets": secret("system", string(stored)),
		"unknown machine":              secret("nothing", "s1"),
		"another spelling of the id":   secret("System", "s1"),
		"empty id":                     secret("", "s1"),
		"both empty":                   secret("", ""),
		"no id":                        {ClientSecret: []string{"s1"}},
		"no secret":                    {ClientID: []string{"system"}},
		"disabled machine":             secret("disabled", "s"),
		"no stored secret":             secret("unhashed", ""),
		"stored secret cut":            secret("short", "s"),
		"ill-formed participant":       secret("ill", "s"),
		"no participant":               secret("nobody", "s"),
		"anonymous machine":            secret("anonymous", "s"),
		"host machine":                 secret("host", "s4"),
		"disabled organization":        secret("closed", "s"),
		"disabled organization of app": secret("closed-application", "s"),
		"organization not stored":      secret("nowhere", "s"),
		"disabled application":         secret("disabled-application", "s"),
		"application not stored":       secret("no-application", "s"),
		"application of another":       secret("foreign-application", "s"),

		"user: wrong password":           login("acme", "", "ada@acme.example", "p2"),
		"user: empty password":           login("acme", "", "ada@acme.example", ""),
		"user: unknown":                  login("acme", "", "zoe@acme.example", "p1"),
		"user: not an email":             login("acme", "", "@", "p1"),
		"user: not ASCII":                login("acme", "", "ad\u0430@acme.example", "p1"),
		"user: a Kelvin sign":            login("acme", "", "\u212a@acme.example", "p1"),
		"user: a machine called so":      secret("eve@acme.example", "s"),
		"user: no organization selected": login("", "", "ada@acme.example", "p1"),
		"user: another organization":     login("globex", "", "ada@acme.example", "p1"),
		"user: unknown organization":     login("nothing", "", "ada@acme.example", "p1"),
		"user: organization not stored":  login("nowhere", "", "ada@acme.example", "p1"),
		"user: disabled organization":    login("closed", "", "ada@acme.example", "p1"),
		"user: disabled application":     login("acme", "closed", "ada@acme.example", "p1"),
		"user: application not stored":   login("acme", "nothing", "ada@acme.example", "p1"),
		"user: no such grant":            login("acme", "billing", "ada@acme.example", "p1"),
		"user: only an application":      login("acme", "", "bob@acme.example", "p1"),
		"user: no grant at all":          login("acme", "", "nogrant@acme.example", "p1"),
		"user: application of platform":  login("", "orders", "ada@platform.example", "p0"),
		"user: disabled":                 login("acme", "", "off@acme.example", "p1"),
		"user: no password":              login("acme", "", "nopassword@acme.example", ""),
		"user: another spelling":         login("ACME", "", "ada@acme.example", "p1"),
	} {
		t.Run(name, func(t *testing.T) {
			h.now = h.now.Add(time.Minute) // so that no attempt is one too many
			before := password.Computed()
			machines = 0
			got, err := h.ask(c)
			if err != auth.ErrUnauthenticated || got.Participant != nil { //nolint:errorlint // the answer is exactly this value
				t.Errorf("got %v, %v", got.Participant, err)
			}
			users := int(password.Computed() - before)
			if user := len(c.ClientID) > 0 && strings.Contains(c.ClientID[0], "@"); user && (users != 1 || machines != 0) || !user && (users != 0 || machines != 1) {
				t.Errorf("it cost %d hashes of passwords and %d of secrets", users, machines)
			}
		})
	}
}

func TestAuthenticator_refusesTokensUniformly(t *testing.T) {
	h := newHouse(t)
	for name, text := range map[string]string{
		"nothing like one":           "canary",
		"unknown machine":            issue(t, key1, "nothing", "nothing", token.Tools, start),
		"disabled machine":           issue(t, key1, "disabled", "disabled", token.Tools, start),
		"host machine":               issue(t, key1, "host", "host", token.Tools, start),
		"disabled organization":      issue(t, key1, "closed", "closed", token.Tools, start),
		"organization not stored":    issue(t, key1, "nowhere", "nowhere", token.Tools, start),
		"another client":             issue(t, key1, "organization", "system", token.Tools, start),
		"a user":                     issue(t, key1, "ada@acme.example", "ada@acme.example", token.Tools, start),
		"disabled delegate":          issue(t, key1, "delegate:off", "c", token.Tools, start),
		"delegate without owner":     issue(t, key1, "delegate:orphan", "c", token.Tools, start),
		"delegate of a disabled one": issue(t, key1, "delegate:owner-off", "c", token.Tools, start),
		"delegate without grant":     issue(t, key1, "delegate:no-grant", "c", token.Tools, start),
		"delegate of a closed one":   issue(t, key1, "delegate:closed", "c", token.Tools, start),
		"delegate of another client": issue(t, key1, "delegate:1", "c", token.Tools, start),
		"unknown delegate":           issue(t, key1, "delegate:2", "c", token.Tools, start),
		"expired":                    issue(t, key1, "organization", "organization", token.Tools, start.Add(-2*time.Hour)),
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				got, err := h.ask(bearer(text))
				if err != auth.ErrUnauthenticated || got.Participant != nil { //nolint:errorlint // the answer is exactly this value
					t.Errorf("got %v, %v", got.Participant, err)
				}
			}
		})
	}
	t.Run("where none are accepted", func(t *testing.T) {
		h := newHouse(t, func(o *auth.Options) { o.Tokens = nil })
		c := bearer(issue(t, key1, "organization", "organization", token.Tools, start))
		if got, err := h.ask(c); err != auth.ErrUnauthenticated { //nolint:errorlint // the answer is exactly this value
			t.Errorf("got %v, %v", got.Participant, err)
		}
	})
}

// The first kind that is present is the only one that counts (access.md, "Credentials").
func TestAuthenticator_takesTheFirstThatIsPresent(t *testing.T) {
	open := newHouse(t, func(o *auth.Options) { o.Rules.AnonymousZones = []string{"app-api"} })
	good := "Bearer " + issue(t, key1, "organization", "organization", token.Tools, start)
	const nobody, malformed = "", "malformed"
	for name, row := range map[string]struct {
		authorization, id, secret, organization string
		want                                    string
	}{
		"nothing":                                {"", "", "", "", "anonymous"},
		"a selection alone":                      {"", "", "", "acme", "anonymous"},
		"another scheme alone":                   {"Basic eDp5", "", "", "", "anonymous"},
		"a token":                                {good, "", "", "", "organization"},
		"a token before a machine":               {good, "system", "s1", "", "organization"},
		"a token before a wrong secret":          {good, "system", "s2", "", "organization"},
		"a token, and a selection that is not":   {good, "", "", "globex", "organization"},
		"a bad token before a machine":           {"Bearer x", "system", "s1", "", nobody},
		"a bad token does not fall back":         {"Bearer x", "", "", "", nobody},
		"a scheme in lower case":                 {strings.Replace(good, "Bearer", "bearer", 1), "", "", "", "organization"},
		"spaces around a token":                  {strings.Replace(good, "Bearer ", "Bearer   ", 1) + " ", "", "", "", "organization"},
		"no token behind the scheme":             {"Bearer", "system", "s1", "", malformed},
		"spaces behind the scheme":               {"Bearer   ", "", "", "", malformed},
		"another scheme before a machine":        {"Basic eDp5", "system", "s1", "", "system"},
		"a scheme that begins like ours":         {"BearerX " + good, "system", "s1", "", "system"},
		"a machine":                              {"", "system", "s1", "", "system"},
		"a wrong secret does not fall back":      {"", "system", "s2", "", nobody},
		"an id alone does not fall back":         {"", "system", "", "", nobody},
		"a user":                                 {"", "ada@acme.example", "p1", "acme", "ada@acme.example"},
		"a wrong password does not fall back":    {"", "ada@acme.example", "p2", "acme", nobody},
		"a user without its organization either": {"", "ada@acme.example", "p1", "", nobody},
	} {
		t.Run(name, func(t *testing.T) {
			c := new(auth.Credentials)
			for value, header := range map[string]*[]string{row.authorization: &c.Authorization, row.id: &c.ClientID, row.secret: &c.ClientSecret, row.organization: &c.Organization} {
				if value != "" {
					*header = []string{value}
				}
			}
			got, err := open.ask(c)
			switch row.want {
			case nobody:
				if !errors.Is(err, auth.ErrUnauthenticated) {
					t.Errorf("got %v, %v", got.Participant, err)
				}
			case malformed:
				if !errors.Is(err, auth.ErrMalformed) {
					t.Errorf("got %v, %v", got.Participant, err)
				}
			case "anonymous":
				if err != nil || !proto.Equal(got.Participant, participant.Anonymous()) || got.Scoped {
					t.Errorf("got %v, %v", got.Participant, err)
				}
			default:
				if err != nil || got.Participant.GetId() != row.want {
					t.Errorf("got %v, %v", got.Participant, err)
				}
			}
		})
	}
}

func TestAuthenticator_refusesWhatStandsTwice(t *testing.T) {
	h := newHouse(t, func(o *auth.Options) { o.Rules.AnonymousZones = []string{"app-api"} })
	twice := []string{"system", "system"}
	for name, c := range map[string]*auth.Credentials{
		"Authorization":            {Authorization: []string{"Basic x", "Basic x"}},
		"clientId":                 {ClientID: twice, ClientSecret: []string{"s1"}},
		"clientSecret":             {ClientID: twice[:1], ClientSecret: twice},
		"organizationId":           {ClientID: twice[:1], ClientSecret: []string{"s1"}, Organization: twice},
		"applicationId":            {ClientID: twice[:1], ClientSecret: []string{"s1"}, Application: twice},
		"clientId beside a token":  {Authorization: []string{"Bearer x"}, ClientID: twice},
		"selection without an id":  {Organization: twice},
		"a token and Basic":        {Authorization: []string{"Bearer x", "Basic x"}},
		"an empty one and another": {ClientID: []string{"", "system"}, ClientSecret: []string{"s1"}},
	} {
		if got, err := h.ask(c); !errors.Is(err, auth.ErrMalformed) {
			t.Errorf("%s: got %v, %v", name, got.Participant, err)
		}
	}
}

func TestAuthenticator_anonymous(t *testing.T) {
	closed := newHouse(t)
	if got, err := closed.ask(new(auth.Credentials)); err != auth.ErrUnauthenticated || got.Participant != nil { //nolint:errorlint // the answer is exactly this value
		t.Errorf("no anonymous zones: %v, %v", got, err)
	}
	only := newHouse(t, func(o *auth.Options) { o.AnonymousOnly = true })
	for name, c := range map[string]*auth.Credentials{
		"none": {}, "good": secret("system", "s1"), "bad": secret("system", "x"), "malformed": {ClientID: []string{"a", "b"}},
		"token": bearer("x"),
	} {
		if got, err := only.ask(c); err != nil || !proto.Equal(got.Participant, participant.Anonymous()) {
			t.Errorf("%s, where all are anonymous: %v, %v", name, got, err)
		}
	}
}

// A registry has no addresses to count by, and no users.
func TestAuthenticator_Machine(t *testing.T) {
	h := newHouse(t, func(o *auth.Options) { o.Kinds, o.Emails, o.Tokens = nil, nil, nil })
	for range 100 {
		if p, err := h.Machine("host", "wrong"); !errors.Is(err, auth.ErrUnauthenticated) || p != nil {
			t.Fatalf("got %v, %v", p, err)
		}
	}
	if p, err := h.Machine("host", "s4"); err != nil || p != h.view.Load().Machines["host"].GetParticipant() {
		t.Errorf("got %v, %v", p, err)
	}
	if p, err := h.Machine("ada@acme.example", "p1"); err == nil {
		t.Errorf("a user: %v", p)
	}
	if got, err := h.ask(login("acme", "", "ada@acme.example", "p1")); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("a user where there are none: %v, %v", got, err)
	}
	if p, err := auth.New(auth.Options{View: func() auth.View { return (*registry.View)(nil) }}).Machine("host", "s4"); err == nil {
		t.Errorf("before the first view: %v", p)
	}
}

func TestAuthenticator_manyAtOnce(t *testing.T) {
	h := newHouse(t)
	kinds := []*auth.Credentials{
		secret("system", "s1"), login("acme", "orders", "ada@acme.example", "p1"),
		bearer(issue(t, key1, "organization", "organization", token.Tools, start)), secret("roles", "s"),
	}
	before := password.Computed()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 2000 {
				c := *kinds[i%len(kinds)]
				if _, err := h.Authenticate(t.Context(), &c); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Go(func() {
		for i := range 200 {
			h.change(func(v *registry.View) {
				replace(v.Machines, "host", func(m *registryv1.StoredMachine) { m.Disabled = i%2 == 0 })
			})
		}
	})
	group.Wait()
	if cost := password.Computed() - before; cost > 4 {
		t.Errorf("one password took %d hashes", cost)
	}
}

func TestTokens_scopesOfParticipants(t *testing.T) {
	h := newHouse(t)
	all, err := h.ask(bearer(issue(t, key1, "system", "system", token.Tools, start)))
	if err != nil {
		t.Fatal(err)
	}
	again, err := h.ask(bearer(issue(t, key1, "system", "system", token.Tools, start)))
	if err != nil || again.Participant != all.Participant {
		t.Errorf("another token of the same is another participant: %v", err)
	}
	few, err := h.ask(bearer(issue(t, key1, "system", "system", token.ToolsList|token.ToolsCall, start)))
	if err != nil || !slices.Equal(few.Participant.GetScopes(), []string{"tools:list", "tools:call"}) {
		t.Errorf("got %v, %v", few.Participant, err)
	}
}
