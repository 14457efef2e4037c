package registry

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

func TestCanonicalEmail(t *testing.T) {
	for in, want := range map[string]string{
		"ada@acme.example":              "ada@acme.example",
		"Ada.Lovelace@ACME.Example":     "ada.lovelace@acme.example",
		"a+b_c%d'e!#$&*=?^{|}~-@x-y":    "a+b_c%d'e!#$&*=?^{|}~-@x-y",
		".dots..are@mail.systems.own":   ".dots..are@mail.systems.own",
		"a@" + strings.Repeat("b", 252): "a@" + strings.Repeat("b", 252),

		"a@" + strings.Repeat("b", 253): "",
		"\u212Aelvin@acme.example":      "", // the Kelvin sign, which folds to k
		"kelvin@\u212Aacme.example":     "",
		"d\u0131nah@acme.example":       "", // dotless i
		"D\u0130NAH@acme.example":       "", // dotted capital I
		"\uFF41da@acme.example":         "", // full-width a
		"ada\uFF20acme.example":         "", // full-width @
		"ada@acme\u3002example":         "", // an ideographic full stop
		"ada@acme.example.":             "",
		"ada@.acme.example":             "",
		"ada@acme..example":             "",
		`"ada"@acme.example`:            "",
		`"a d a"@acme.example`:          "",
		" ada@acme.example":             "",
		"ada@acme.example ":             "",
		"ada@acme.example\n":            "",
		"ada@acme.example\x00":          "",
		"a/b@acme.example":              "",
		"ada@acme/example":              "",
		"ada@acme@example":              "",
		"@acme.example":                 "",
		"ada@":                          "",
		"ada":                           "",
		"":                              "",
		"<ada@acme.example>":            "",
		"ada@[127.0.0.1]":               "",
	} {
		got, err := CanonicalEmail(in)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%+q: %q, %v; want %q", in, got, err, want)
		}
	}
}

func FuzzCanonicalEmail(f *testing.F) {
	for _, seed := range []string{"Ada@acme.example", "\u212A@x", "a@b.", `"a"@b`, "a@b/c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		canonical, err := CanonicalEmail(text)
		if err != nil {
			return
		}
		if again, err := CanonicalEmail(canonical); err != nil || again != canonical {
			t.Errorf("%q becomes %q, which becomes %q, %v", text, canonical, again, err)
		}
		if len(canonical) != len(text) || strings.ContainsAny(canonical, "/ \"") || !strings.Contains(canonical, "@") {
			t.Errorf("%q becomes %q", text, canonical)
		}
		if what, key, id := layout("/p/").parse(layout("/p/").user("acme", canonical)); what != kindUser || key.Zone != "acme" || id != canonical {
			t.Errorf("%q is another key: %v %v %q", canonical, what, key, id)
		}
	})
}

func TestUsers(t *testing.T) {
	s, ctx := town(t)
	u, err := s.CreateUser(ctx, &identityv1.StoredUser{
		OrganizationId: "acme", Email: "Ada@Acme.example", Name: "Ada", PasswordHash: "h", Disabled: false,
		Grants: []*identityv1.StoredGrant{grant("", "admin"), grant("orders", "acme/refunder")},
	})
	must(t, err)
	if u.GetEmail() != "ada@acme.example" || u.GetCreatedAt() == nil || u.GetPasswordChangedAt() == nil {
		t.Errorf("user %v", u)
	}
	_, err = s.CreateUser(ctx, aUser("acme", "ADA@ACME.EXAMPLE", grant("")))
	wantErr(t, err, ErrExists)
	other, err := s.CreateUser(ctx, aUser("other", "ada@acme.example", grant("")))
	must(t, err) // the same email in another organization is another user
	if other.GetPasswordChangedAt() != nil {
		t.Error("a user without a password has changed it")
	}

	if _, err = s.SetUserPassword(ctx, "acme", "ada@ACME.example", "h2"); err != nil {
		t.Error(err)
	}
	if _, err = s.SetUserDisabled(ctx, "acme", "ada@acme.example", true); err != nil {
		t.Error(err)
	}
	_, v := watch(t, s, WatchOptions{})
	view := v.until("the user is there", func(v *View) bool { _, ok := v.User("acme", "ada@acme.example"); return ok })
	if u, _ := view.User("acme", "ada@acme.example"); !u.GetDisabled() || u.GetPasswordHash() != "h2" || u.GetName() != "Ada" {
		t.Errorf("user %v", u)
	}
	if u, _ := view.User("other", "ada@acme.example"); u.GetDisabled() || u.GetPasswordHash() != "" {
		t.Errorf("the other user changed, too: %v", u)
	}
	refused := errors.New("refused")
	_, err = s.SetUserDisabled(ctx, "acme", "ada@acme.example", false, func(*identityv1.StoredUser) error { return refused })
	wantErr(t, err, refused)
	wantErr(t, s.RemoveUser(ctx, "acme", "ada@acme.example", func(*identityv1.StoredUser) error { return refused }), refused)
	if u, err := s.User(ctx, "acme", "Ada@acme.example"); err != nil || !u.GetDisabled() {
		t.Errorf("user %v, %v", u, err)
	}
	for _, email := range []string{"bob@acme.example", "nothing", "ada@acme.example/x"} {
		_, err = s.SetUserDisabled(ctx, "acme", email, true)
		wantErr(t, err, ErrNotFound)
		wantErr(t, s.RemoveUser(ctx, "acme", email), ErrNotFound)
	}
	must(t, s.RemoveUser(ctx, "acme", "ada@acme.example"))
	v.until("the user is gone", func(v *View) bool { return len(v.Users) == 1 })
}

func TestDelegates(t *testing.T) {
	s, ctx := town(t)
	for _, organization := range []string{"acme", "other"} {
		_, err := s.CreateUser(ctx, aUser(organization, "ada@acme.example", grant("")))
		must(t, err)
	}
	_, err := s.SetUserGrants(ctx, "acme", "ada@acme.example", []*identityv1.StoredGrant{grant(""), grant("orders")})
	must(t, err)
	of := func(organization, application, client string) *identityv1.StoredDelegate {
		return &identityv1.StoredDelegate{
			OrganizationId: organization, OwnerEmail: "Ada@acme.example", ApplicationId: application, ClientId: client, ClientName: "C",
		}
	}
	ids := map[string]bool{}
	for _, d := range []*identityv1.StoredDelegate{
		of("acme", "", "https://c/1"), of("acme", "", "https://c/2"), of("acme", "orders", "https://c/1"), of("other", "", "https://c/1"),
	} {
		made := make(chan string, 8)
		var wg sync.WaitGroup
		for range 8 { // the same client again, and at the same time
			wg.Go(func() {
				got, err := s.CreateDelegate(ctx, d)
				if err != nil {
					t.Error(err)
				}
				made <- got.GetId()
			})
		}
		wg.Wait()
		close(made)
		first := <-made
		for id := range made {
			if id != first {
				t.Errorf("two delegates of one client: %s and %s", first, id)
			}
		}
		if !strings.HasPrefix(first, DelegatePrefix) || ids[first] {
			t.Errorf("id %q", first)
		}
		ids[first] = true
	}
	_, err = s.CreateDelegate(ctx, of("acme", "billing", "c"))
	wantErr(t, err, ErrNotFound, "billing")
	_, err = s.CreateDelegate(ctx, of("", "", "c"))
	wantErr(t, err, ErrNotFound, "user")
	_, err = s.CreateDelegate(ctx, of("acme", "", ""))
	wantInvalid(t, err, "client id")

	list := func(organization string) []*identityv1.StoredDelegate {
		t.Helper()
		all, more, err := s.Delegates(ctx, organization, "", 100)
		if err != nil || more {
			t.Fatal(more, err)
		}
		return all
	}
	if got := list("acme"); len(got) != 3 || got[0].GetOwnerEmail() != "ada@acme.example" {
		t.Fatalf("%v", got)
	}
	first, more, err := s.Delegates(ctx, "acme", "", 2)
	if err != nil || !more || len(first) != 2 {
		t.Fatal(first, more, err)
	}
	rest, more, err := s.Delegates(ctx, "acme", first[1].GetId(), 2)
	if err != nil || more || len(rest) != 1 {
		t.Fatal(rest, more, err)
	}

	d := list("other")[0]
	if got, err := s.SetDelegateDisabled(ctx, d.GetId(), true); err != nil || !got.GetDisabled() {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := s.CreateDelegate(ctx, of("other", "", "https://c/1")); err != nil || got.GetId() != d.GetId() || !got.GetDisabled() {
		t.Errorf("a new approval does not switch on what was switched off: %v, %v", got, err)
	}
	must(t, s.RemoveDelegate(ctx, d.GetId()))
	wantErr(t, s.RemoveDelegate(ctx, d.GetId()), ErrNotFound)
	_, err = s.SetDelegateDisabled(ctx, d.GetId(), true)
	wantErr(t, err, ErrNotFound)
	if got, err := s.CreateDelegate(ctx, of("other", "", "https://c/1")); err != nil || got.GetId() == d.GetId() {
		t.Errorf("a removed delegate comes back: %v, %v", got, err)
	}

	// Delegates go with their grant, and do not come back with another of the same application.
	_, err = s.SetUserGrants(ctx, "acme", "ada@acme.example", []*identityv1.StoredGrant{grant("")})
	must(t, err)
	_, err = s.SetUserGrants(ctx, "acme", "ada@acme.example", []*identityv1.StoredGrant{grant(""), grant("orders")})
	must(t, err)
	if got := list("acme"); len(got) != 2 {
		t.Errorf("%v", got)
	}
	must(t, s.RemoveUser(ctx, "acme", "ada@acme.example"))
	if got := list("acme"); len(got) != 0 {
		t.Errorf("delegates of a user that is gone: %v", got)
	}
	if got := list("other"); len(got) != 1 {
		t.Errorf("delegates of the other user: %v", got)
	}
	if n := count(t, s, "delegates/acme/"); n != 0 {
		t.Errorf("%d keys of the index are left", n)
	}
}

func count(t *testing.T, s *Store, under string) int {
	t.Helper()
	all, _, err := s.snapshot(testContext(t), s.Prefix()+under)
	must(t, err)
	return len(all[0])
}

func TestDelegates_bound(t *testing.T) {
	s, ctx := town(t)
	_, err := s.CreateUser(ctx, aUser("acme", "ada@acme.example", grant("")))
	must(t, err)
	for i := range maxDelegates + 1 {
		_, err = s.CreateDelegate(ctx, &identityv1.StoredDelegate{OrganizationId: "acme", OwnerEmail: "ada@acme.example", ClientId: fmt.Sprint(i)})
		if i < maxDelegates {
			must(t, err)
		}
	}
	wantInvalid(t, err, "50 delegates")
	must(t, s.RemoveUser(ctx, "acme", "ada@acme.example"))
	if n := count(t, s, "identities/delegates/"); n != 0 {
		t.Errorf("%d delegates are left", n)
	}
}
