package password_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/auth/password"
)

func hash(t testing.TB, text string) string {
	t.Helper()
	h, err := password.Hash(text)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestHash(t *testing.T) {
	for _, text := range []string{"correct horse", " ", "пароль", strings.Repeat("x", password.MaxBytes)} {
		h := hash(t, text)
		if !strings.HasPrefix(h, "$argon2id$v=19$m=19456,t=2,p=1$") {
			t.Errorf("the hash is spelled %q", h)
		}
		if !password.Check(h, text) {
			t.Errorf("%.20q does not match its own hash", text)
		}
		if h == hash(t, text) {
			t.Errorf("two hashes of %.20q are alike", text)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "too long": strings.Repeat("x", password.MaxBytes+1), "not UTF-8": "\xff",
	} {
		if h, err := password.Hash(text); err == nil {
			t.Errorf("%s: hashed as %q", name, h)
		}
	}
}

// Each check costs one hash, whatever is wrong.
func TestCheck(t *testing.T) {
	good := hash(t, "secret")
	longest := hash(t, strings.Repeat("x", password.MaxBytes))
	parts := strings.Split(good, "$")
	with := func(i int, part string) string {
		changed := append([]string(nil), parts...)
		changed[i] = part
		return strings.Join(changed, "$")
	}
	// The vector of the reference implementation's test.c: argon2id, v=19, m=2^16, t=2, p=1.
	const vector = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	for name, row := range map[string]struct {
		stored, text string
		want         bool
	}{
		"right":                         {good, "secret", true},
		"the reference's vector":        {vector, "password", true},
		"the reference's vector, wrong": {vector, "passwore", false},
		"wrong":                         {good, "Secret", false},
		"empty":                         {good, "", false},
		"longer":                        {good, "secret ", false},
		"longer than any":               {longest, strings.Repeat("x", password.MaxBytes+1), false},
		"nothing stored":                {"", "secret", false},
		"nothing stored, nothing sent":  {"", "", false},
		"the dummy":                     {password.Dummy(), "", false},
		"not a hash":                    {"secret", "secret", false},
		"argon2i":                       {with(1, "argon2i"), "secret", false},
		"another version":               {with(2, "v=16"), "secret", false},
		"no version":                    {strings.Join(append(append([]string(nil), parts[:2]...), parts[3:]...), "$"), "secret", false},
		"too little memory":             {with(3, "m=8,t=2,p=1"), "secret", false},
		"four gigabytes of memory":      {with(3, "m=4194304,t=2,p=1"), "secret", false},
		"memory past its width":         {with(3, "m=4294986752,t=2,p=1"), "secret", false},
		"no pass":                       {with(3, "m=19456,t=0,p=1"), "secret", false},
		"a million passes":              {with(3, "m=19456,t=1000000,p=1"), "secret", false},
		"no thread":                     {with(3, "m=19456,t=2,p=0"), "secret", false},
		"threads that wrap to one":      {with(3, "m=19456,t=2,p=257"), "secret", false},
		"a sign":                        {with(3, "m=+19456,t=2,p=1"), "secret", false},
		"a leading zero":                {with(3, "m=019456,t=2,p=1"), "secret", false},
		"parameters in another order":   {with(3, "t=2,m=19456,p=1"), "secret", false},
		"one parameter more":            {with(3, "m=19456,t=2,p=1,x=1"), "secret", false},
		"no salt":                       {with(4, ""), "secret", false},
		"a padded salt":                 {with(4, parts[4]+"=="), "secret", false},
		"a salt in two lines":           {with(4, parts[4][:4]+"\n"+parts[4][4:]), "secret", false},
		"a short hash":                  {with(5, parts[5][:8]), "secret", false},
		"no hash":                       {with(5, ""), "secret", false},
		"something behind":              {good + "$", "secret", false},
		"something before":              {"x" + good, "secret", false},
	} {
		t.Run(name, func(t *testing.T) {
			before := password.Computed()
			if got := password.Check(row.stored, row.text); got != row.want {
				t.Errorf("Check(%q) = %t", row.stored, got)
			}
			if cost := password.Computed() - before; cost != 1 {
				t.Errorf("it computed %d hashes: want one", cost)
			}
		})
	}
}

func TestCheck_manyAtOnce(t *testing.T) {
	good := hash(t, "secret")
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			if want := i%2 == 0; password.Check(good, map[bool]string{true: "secret", false: "wrong"}[want]) != want {
				t.Errorf("check %d: want %t", i, want)
			}
		})
	}
	group.Wait()
}

func BenchmarkCheck(b *testing.B) {
	good := hash(b, "secret")
	b.ReportAllocs()
	for b.Loop() {
		if !password.Check(good, "secret") {
			b.Fatal("no match")
		}
	}
}
