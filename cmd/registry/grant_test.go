package main

import (
	"strings"
	"testing"
)

func TestGrants(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		said []string
		want string // as grantCell writes it, or what the error says
	}{
		{[]string{"orders"}, "orders"},
		{[]string{"orders="}, "orders"},
		{[]string{"orders=acme/refunder,auditor"}, "orders=acme/refunder,auditor"},
		{[]string{".=organization-admin", "orders"}, ".=organization-admin orders"},
		{[]string{"."}, "."},
		{[]string{"orders= a , b "}, "orders=a,b"},
		{[]string{"=organization-admin"}, "for the organization itself"},
		{[]string{""}, "for the organization itself"},
		{[]string{"Orders=x"}, "--grant: label"},
		{[]string{"acme.orders"}, "--grant: label"},
	} {
		g := granted{said: row.said}
		err := g.parse()
		got := grantCell(g.parsed)
		if err != nil {
			got = err.Error()
		}
		if got != row.want && (err == nil || !strings.Contains(got, row.want)) {
			t.Errorf("--grant %q is %q, want %q", row.said, got, row.want)
		}
	}
}

func TestPassword_fromStandardInput(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, in, want, err string }{
		{"a line", "correct horse battery\n", "correct horse battery", ""},
		{"its end is left out", "correct horse battery", "correct horse battery", ""},
		{"Windows", "correct horse battery\r\n", "correct horse battery", ""},
		{"blanks are part of it", "  correct horse \n", "  correct horse ", ""},
		{"the first line alone", "first\nsecond\n", "first", ""},
		{"longest", strings.Repeat("ä", 256) + strings.Repeat("a", 512) + "\r\n", strings.Repeat("ä", 256) + strings.Repeat("a", 512), ""},
		{"too long", strings.Repeat("a", maxPassword+1) + "\n", "", "256"},
		{"far too long", strings.Repeat("a", 1<<20), "", "256"},
		{"nothing", "", "", "empty"},
		{"an empty line", "\n", "", "empty"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := password{stdin: true}
			c := newRoot()
			c.SetIn(strings.NewReader(row.in))
			err := p.get(c)
			if p.read != row.want || (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Errorf("read %q, %v; want %q, %q", p.read, err, row.want, row.err)
			}
			if p.shown().value != "" {
				t.Error("a password that somebody typed would be shown")
			}
		})
	}
}

func TestPassword_otherSources(t *testing.T) {
	t.Parallel()
	made := password{generate: true}
	if err := made.get(newRoot()); err != nil || len(made.read) < 20 || made.shown() != (secret{"password", made.read}) {
		t.Errorf("made up %q, %v, shown %v", made.read, err, made.shown())
	}
	none := password{none: true}
	if err := none.get(newRoot()); err != nil || none.read != "" || none.shown() != (secret{}) {
		t.Errorf("none is %q, %v", none.read, err)
	}
	c := newRoot()
	c.SetIn(strings.NewReader("typed nowhere"))
	if err := new(password).get(c); err == nil || !strings.Contains(err.Error(), "--password-stdin") {
		t.Errorf("without a terminal: %v", err)
	}
}
