package main

import (
	"strings"
	"testing"
)

// What others named their things stays in its cell, and is read in the order in which it is printed.
func TestTable_textsOfOthers(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	table(&out, []string{"NAME", "STATE"}, [][]string{{"Ada\x1b[2J\n\tadmin\u009b1m", "on"}, {"Bob\u202egrof\u2066x\u200f", "off"}, {"Zoë 漢字 👩‍🚀", ""}})
	for _, r := range []rune{'\x1b', '\u009b', '\t', '\u202e', '\u2066', '\u200f'} {
		if strings.ContainsRune(out.String(), r) {
			t.Errorf("%U is printed: %q", r, out.String())
		}
	}
	if lines := strings.Count(out.String(), "\n"); lines != 4 || !strings.Contains(out.String(), "Zoë 漢字 👩‍🚀") {
		t.Errorf("%q", out.String())
	}
}
