// Package generated keeps those parts of the documentation true that are written from what the code does.
//
// A page holds regions between `<!-- generated: NAME -->` and `<!-- end -->`. A test makes the text anew and holds the
// page to it; `make docs` writes it into the page instead.
package generated

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/test/stack"
)

// Region holds the region of a page, a path from the repository's root, to the text that the code gives now.
func Region(t testing.TB, page, name, text string) {
	t.Helper()
	path := filepath.Join(stack.Root(), filepath.FromSlash(page))
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin := "<!-- generated: " + name + " -->\n"
	const end = "<!-- end -->"
	before, rest, found := strings.Cut(string(raw), begin)
	old, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s: no region %q", page, name)
	}
	text = "\n" + strings.TrimSpace(text) + "\n\n"
	if old == text {
		return
	}
	if os.Getenv("UPDATE_DOCS") == "" {
		t.Fatalf("%s: region %q is not what the code does now: run make docs, and read what changed. It should be:\n%s", page, name, text)
	}
	if err := os.WriteFile(path, []byte(before+begin+text+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Code is text as code in a cell of a table.
func Code(text string) string {
	if text == "" {
		return ""
	}
	fence := "`"
	if strings.Contains(text, "`") {
		fence = "``"
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
}

// Table writes a table of markdown.
func Table(head []string, rows [][]string) string {
	var out strings.Builder
	line := func(cells []string) { out.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(head)
	line(strings.Split(strings.Repeat("---,", len(head)-1)+"---", ","))
	for _, row := range rows {
		line(row)
	}
	return out.String()
}
