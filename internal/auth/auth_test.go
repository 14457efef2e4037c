package auth_test

import (
	"crypto/sha256"
	"errors"
	"testing"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth"
	"github.com/sallyport-dev/sallyport/participant"
)

const (
	client = registryv1.MachineKind_MACHINE_KIND_CLIENT
	host   = registryv1.MachineKind_MACHINE_KIND_HOST
)

// view is a registry view's machines.
type view map[string]*registryv1.StoredMachine

func (v view) Machine(id string) (*registryv1.StoredMachine, bool) { m, ok := v[id]; return m, ok }

func machine(kind registryv1.MachineKind, p *participant.Participant, secret string) *registryv1.StoredMachine {
	sum := sha256.Sum256([]byte(secret))
	return &registryv1.StoredMachine{Id: p.GetId(), Kind: kind, Participant: p, SecretSha256: sum[:]}
}

func identities() view {
	disabled := machine(client, participant.System("disabled"), "s")
	disabled.Disabled = true
	unhashed := machine(client, participant.System("unhashed"), "s")
	unhashed.SecretSha256 = nil
	short := machine(client, participant.System("short"), "s")
	short.SecretSha256 = short.SecretSha256[:16]
	illFormed := machine(client, &participant.Participant{Kind: 3, Id: "ill", ApplicationId: "orders"}, "s")
	nobody := machine(client, &participant.Participant{Id: "nobody"}, "s")
	nobody.Participant = nil
	return view{
		"system":           machine(client, participant.System("system"), "s1"),
		"organization":     machine(client, participant.Organization("acme", "organization"), "s2"),
		"application":      machine(client, participant.Application("acme", "orders", "application"), "s3"),
		"host":             machine(host, participant.Organization("acme", "host"), "s4"),
		"disabled":         disabled,
		"unhashed":         unhashed,
		"short":            short,
		"ill":              illFormed,
		"nobody":           nobody,
		"anonymous":        machine(client, participant.Anonymous(), "s"),
		"ada@acme.example": machine(client, participant.System("ada@acme.example"), "s"),
		"":                 machine(client, participant.System(""), ""),
	}
}

func TestAuthenticator_machines(t *testing.T) {
	machines := identities()
	delete(machines, "")
	clients := auth.New(auth.Options{Machines: machines, Kinds: []registryv1.MachineKind{client}})
	for name, row := range map[string]struct{ id, secret, want string }{
		"a system machine":             {"system", "s1", "system"},
		"an organization's machine":    {"organization", "s2", "organization"},
		"an application's machine":     {"application", "s3", "application"},
		"a wrong secret":               {"system", "s2", ""},
		"an empty secret":              {"system", "", ""},
		"a longer secret":              {"system", "s1 ", ""},
		"an unknown id":                {"nowhere", "s1", ""},
		"another spelling of the id":   {"System", "s1", ""},
		"an empty id":                  {"", "s1", ""},
		"both empty":                   {"", "", ""},
		"a disabled machine":           {"disabled", "s", ""},
		"a machine without a hash":     {"unhashed", "", ""},
		"a hash of another length":     {"short", "s", ""},
		"an ill-formed participant":    {"ill", "s", ""},
		"no participant":               {"nobody", "s", ""},
		"a machine that is anonymous":  {"anonymous", "s", ""},
		"a user's email":               {"ada@acme.example", "s", ""},
		"a machine of the wrong kind":  {"host", "s4", ""},
		"the hash in place of secrets": {"system", string(machines["system"].GetSecretSha256()), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := clients.Authenticate(row.id, row.secret, true)
			if row.want == "" {
				if p != nil || err != auth.ErrUnauthenticated { //nolint:errorlint // the answer is exactly this value
					t.Errorf("got %v, %v", p, err)
				}
				return
			}
			if err != nil || p != machines[row.want].GetParticipant() {
				t.Errorf("got %v, %v", p, err)
			}
		})
	}
	t.Run("every kind is admitted where none is named", func(t *testing.T) {
		p, err := auth.New(auth.Options{Machines: machines}).Authenticate("host", "s4", true)
		if err != nil || p.GetId() != "host" {
			t.Errorf("got %v, %v", p, err)
		}
	})
}

func TestAuthenticator_anonymous(t *testing.T) {
	closed := auth.New(auth.Options{Machines: identities()})
	open := auth.New(auth.Options{Machines: identities(), Rules: participant.Rules{AnonymousZones: []string{"app-api"}}})
	if p, err := closed.Authenticate("", "", false); !errors.Is(err, auth.ErrUnauthenticated) || p != nil {
		t.Errorf("no anonymous zones: %v, %v", p, err)
	}
	p, err := open.Authenticate("", "", false)
	if err != nil || participant.Check(p) != nil || p.GetKind() != participant.Anonymous().GetKind() {
		t.Errorf("anonymous zones: %v, %v", p, err)
	}
	// Bad credentials do not fall back to none.
	if p, err := open.Authenticate("system", "wrong", true); !errors.Is(err, auth.ErrUnauthenticated) || p != nil {
		t.Errorf("wrong secret where anonymous callers are admitted: %v, %v", p, err)
	}
}

func TestAuthenticator_changesTakeEffectAtOnce(t *testing.T) {
	machines := identities()
	a := auth.New(auth.Options{Machines: machines})
	admitted := func(secret string) bool {
		_, err := a.Authenticate("system", secret, true)
		return err == nil
	}
	if !admitted("s1") {
		t.Fatal("not admitted to begin with")
	}
	machines["system"] = machine(client, participant.System("system"), "rotated")
	if admitted("s1") || !admitted("rotated") {
		t.Error("a rotated secret")
	}
	machines["system"].Disabled = true
	if admitted("rotated") {
		t.Error("a disabled machine")
	}
	delete(machines, "system")
	if admitted("rotated") {
		t.Error("a removed machine")
	}
}

func BenchmarkAuthenticator(b *testing.B) {
	a := auth.New(auth.Options{Machines: identities()})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.Authenticate("application", "s3", true); err != nil {
			b.Fatal(err)
		}
	}
}
