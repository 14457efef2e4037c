package dialect_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// TestDialects_eachHasARow holds the enumeration to its table: a dialect without a row would have no name, no reader,
// and the style of canonical.
func TestDialects_eachHasARow(t *testing.T) {
	names, all := dialect.Names(), dialect.All()
	if len(names) != dialect.Count || len(all) != dialect.Count {
		t.Fatalf("%d dialects, %d names, want %d", len(all), len(names), dialect.Count)
	}
	for i, d := range all {
		if d != dialect.Dialect(i) {
			t.Errorf("dialect %d is at %d", d, i)
		}
		if d.String() == "" || d.String() != names[i] || strings.ToLower(d.String()) != d.String() {
			t.Errorf("the name of dialect %d is %q, in the list %q", d, d, names[i])
		}
		if d.Reader() == "" {
			t.Errorf("%s has no reader", d)
		}
		if parsed, ok := dialect.Parse(d.String()); !ok || parsed != d {
			t.Errorf("%q leads to %s, %v", d, parsed, ok)
		}
		if slices.Contains(names[:i], names[i]) {
			t.Errorf("two dialects have the name %q", names[i])
		}
		for _, near := range []string{strings.ToUpper(names[i]), " " + names[i], names[i] + " ", names[i] + "\x00", strings.ReplaceAll(names[i], "_", "-") + "-"} {
			if parsed, ok := dialect.Parse(near); ok || parsed != dialect.Canonical {
				t.Errorf("%q leads to %s", near, parsed)
			}
		}
	}
	if _, ok := dialect.Parse(""); ok {
		t.Error("no name leads to a dialect")
	}
}

// TestClients_areGivenWhatChangesNoArguments: a default by name may only choose a dialect whose inverse is the identity,
// and says where it is from.
func TestClients_areGivenWhatChangesNoArguments(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range dialect.Clients() {
		if c.Dialect.ChangesArguments() || c.Dialect == dialect.Canonical {
			t.Errorf("%s is given %s", c.Name, c.Dialect)
		}
		if seen[c.Name] || c.Name == "" || c.Why == "" || !strings.HasPrefix(c.Source, "https://") || len(c.Date) != len("2026-01-02") {
			t.Errorf("%+v says too little, or twice", c)
		}
		seen[c.Name] = true
	}
}
