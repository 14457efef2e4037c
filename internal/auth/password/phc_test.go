package password

import "testing"

// What parses is plausible, and is spelled in one way only.
func FuzzParse(f *testing.F) {
	f.Add(Dummy())
	for _, text := range []string{
		"", "$", "$$$$$", "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
		"$argon2id$v=19$m=4294967295,t=4294967295,p=255$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
		"$argon2id$v=19$m=019456,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
		"$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$wWKIMhR9lyDFvRz9YTZweHKfbftvj+qf+YFY4NeBbtA",
		"$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ=$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := parse(text)
		if err != nil {
			return
		}
		if h.memory < leastMemory || h.memory > mostMemory || h.passes < 1 || h.passes > mostPasses ||
			h.threads < 1 || h.threads > mostThreads || len(h.salt) < leastSalt || len(h.salt) > mostSalt ||
			len(h.hash) < leastHash || len(h.hash) > mostHash {
			t.Errorf("%q parses as the implausible %+v", text, h)
		}
		if h.String() != text {
			t.Errorf("%q is spelled %q again", text, h.String())
		}
	})
}
