package stack

import (
	"os"
	"path/filepath"
	"testing"
)

// PinnedNode gives the Node that npm installed into a folder, relative to the repository, beside the packages that are
// pinned there. Without it the test is skipped and says why; in CI that fails.
func PinnedNode(t testing.TB, folder string) string {
	t.Helper()
	modules := filepath.Join(Root(), filepath.FromSlash(folder), "node_modules")
	path := filepath.Join(modules, ".bin", "node")
	_, stamp := os.Stat(filepath.Join(modules, ".stamp"))
	_, missing := os.Stat(path)
	if stamp == nil && missing == nil {
		return path
	}
	why := "the packages of " + folder + " are not installed: run make " + folder + "/node_modules/.stamp"
	if stamp == nil {
		why = "there is no Node 22 for this machine in npm"
	}
	if os.Getenv("CI") != "" {
		t.Fatal(why)
	}
	t.Skip("SKIP: " + why)
	return ""
}
