package clients_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/sallyport-dev/sallyport/test/docs/generated"
	"github.com/sallyport-dev/sallyport/test/stack"
)

// The page for whoever connects a host says which clients are tested, in the versions that are pinned.
func TestPage_listsTheClients(t *testing.T) {
	read := func(path ...string) []byte {
		raw, err := os.ReadFile(filepath.Join(append([]string{stack.Root()}, path...)...))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	goVersion := regexp.MustCompile(`modelcontextprotocol/go-sdk v(\S+)`).FindSubmatch(read("go.mod"))
	if goVersion == nil {
		t.Fatal("go.mod names no version of the Go SDK")
	}
	var node struct{ Dependencies map[string]string }
	if err := json.Unmarshal(read("tools", "package.json"), &node); err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	add := func(name, version string, modes []mode, told func(mode) string) {
		for _, m := range modes {
			rows = append(rows, []string{name, version, told(m), m.version})
		}
	}
	add("Go SDK", string(goVersion[1]), goSDK, func(m mode) string {
		return generated.Code(`ClientSessionOptions{ProtocolVersion: "` + m.ask + `"}`)
	})
	add("TypeScript SDK 1, "+generated.Code("@modelcontextprotocol/sdk"), node.Dependencies["@modelcontextprotocol/sdk"], typeScript1,
		func(mode) string { return "nothing, it has no choice" })
	add("TypeScript SDK 2, "+generated.Code("@modelcontextprotocol/client"), node.Dependencies["@modelcontextprotocol/client"], typeScript2,
		func(m mode) string { return generated.Code("versionNegotiation: { mode: " + m.ask + " }") })
	for _, m := range inspector {
		add("Inspector's command line", node.Dependencies["@modelcontextprotocol/inspector"], []mode{m.mode},
			func(m mode) string { return generated.Code("--protocol-era " + m.ask) })
	}
	generated.Region(t, "docs/mcp-hosts.md", "clients", generated.Table([]string{"client", "version", "told", "and speaks"}, rows))
}
