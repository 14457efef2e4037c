package stack

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Machine is a machine's credentials.
type Machine struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
}

// House is a running `make run`, as its dev.json describes it.
type House struct {
	MCPURL           string `json:"mcp_url"`
	RegistryRESTURL  string `json:"registry_rest_url"`
	RegistryGRPCAddr string `json:"registry_grpc_addr"`
	Machines         struct {
		System       Machine `json:"system"`
		Organization Machine `json:"organization"`
		Application  Machine `json:"application"`
	} `json:"machines"`

	// Process is the running program.
	Process *Process `json:"-"`
	// Dir is its data folder.
	Dir string `json:"-"`
}

// Dev starts sallyport-dev on free ports with a data folder of its own, and waits until it is ready.
func Dev(t testing.TB, args ...string) *House {
	t.Helper()
	return DevIn(t, filepath.Join(t.TempDir(), "data"), args...)
}

// DevIn is Dev with the data folder given.
func DevIn(t testing.TB, dir string, args ...string) *House {
	t.Helper()
	binary := Program(t, "cmd/sallyport-dev")
	args = append([]string{
		"--dir", dir, "--listen", "127.0.0.1:0", "--registry-rest", "127.0.0.1:0", "--registry-grpc", "127.0.0.1:0",
	}, args...)
	house := &House{Dir: dir, Process: Start(t, t.TempDir(), nil, binary, args...)}
	house.Process.WaitLine(t, "Sallyport is ready")
	raw, err := os.ReadFile(filepath.Join(dir, "dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, house); err != nil {
		t.Fatalf("dev.json: %v", err)
	}
	return house
}

// NeedNode says why the test is skipped where Node or the Node packages are missing; in CI that fails.
func NeedNode(t testing.TB) {
	t.Helper()
	missing := ""
	if _, err := exec.LookPath("node"); err != nil {
		missing = "node is not installed"
	} else if _, err := os.Stat(filepath.Join(Root(), "tools", "node_modules", ".stamp")); err != nil {
		missing = "the Node packages are not installed: run make tools/node_modules/.stamp"
	}
	if missing == "" {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatal(missing)
	}
	t.Skip("SKIP: " + missing)
}
