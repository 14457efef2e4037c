// Package thirdparty_test publishes a service that nobody here wrote, unchanged: a real etcd server, one of its own
// for this test, registered from its descriptors.
package thirdparty_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net"
	"path/filepath"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/sallyport-dev/sallyport/comments"
	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
	"github.com/sallyport-dev/sallyport/test/stack"
)

func TestMain(m *testing.M) { stack.Main(m) }

// descriptorSet writes etcd's descriptors, which carry no comments, with everything they import.
func descriptorSet(t *testing.T) string {
	t.Helper()
	raw, err := proto.Marshal(comments.Collect(pb.File_rpc_proto))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "etcd.binpb")
	stack.WriteFile(t, path, string(raw))
	return path
}

var expose = []string{
	"--expose", "etcdserverpb.Maintenance/Status",
	"--expose", "etcdserverpb.Cluster/MemberList",
	"--expose", "etcdserverpb.KV/Range",
}

func TestEtcd_publishedFromItsDescriptors(t *testing.T) {
	etcd := etcdtest.Start(t)
	address := strings.TrimPrefix(etcd.Endpoints()[0], "http://")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	house := stack.NewPlatform(t, "  - zone: system-api\n    ranges: [127.0.0.0/8]\n    ports: ["+port+"]\n")
	platform := house.Machine(t, "platform-host", "--kind", "host", "--system")
	tenant := house.Machine(t, "tenant-host", "--kind", "host", "--organization", "acme-org")
	system := house.Machine(t, "operator", "--kind", "client", "--system")
	registry := stack.Program(t, "cmd/registry")
	set := descriptorSet(t)
	arguments := func(zone, address string) []string {
		return append([]string{"register", "--descriptor-set", set, "--zone", zone, "--address", address}, expose...)
	}

	t.Run("a tenant machine is refused", func(t *testing.T) {
		out, err := stack.Try(t, house.Env(tenant), registry, arguments("system-api", address)...)
		if err == nil || !strings.Contains(out, "system-api") {
			t.Errorf("registered by a tenant: %v\n%s", err, out)
		}
	})
	t.Run("a loopback address that is not allowed is refused", func(t *testing.T) {
		out, err := stack.Try(t, house.Env(platform), registry, arguments("system-api", "127.0.0.1:1")...)
		if err == nil || !strings.Contains(out, "127.0.0.1") {
			t.Errorf("registered at a forbidden address: %v\n%s", err, out)
		}
	})
	t.Run("a platform machine publishes it", func(t *testing.T) {
		p := stack.Start(t, t.TempDir(), house.Env(platform), registry, arguments("system-api", address)...)
		p.WaitLine(t, "registered")
		var tools map[string]stack.Tool
		stack.Eventually(t, "etcd's tools are listed", func() bool {
			tools = stack.List(t, house.MCP, system)
			return tools["Maintenance Status"].Name != "" && tools["Cluster Member List"].Name != "" && tools["KV Range"].Name != ""
		})
		checkDefinitions(t, tools)
		checkCalls(t, house, system, tools, etcd)
		if err := p.Interrupt(); err != nil {
			t.Errorf("registry register ended with %v", err)
		}
		stack.Eventually(t, "etcd's tools are gone", func() bool {
			return stack.List(t, house.MCP, system)["KV Range"].Name == ""
		})
	})
}

func checkDefinitions(t *testing.T, tools map[string]stack.Tool) {
	t.Helper()
	for _, want := range []struct {
		title, description string
		readOnly           bool
	}{
		{"Maintenance Status", "Status", false},
		{"Cluster Member List", "Member list", true},
		{"KV Range", "Range", false},
	} {
		got := tools[want.title]
		if got.Description != want.description {
			t.Errorf("%s: description %q, want %q", want.title, got.Description, want.description)
		}
		hints := map[string]bool{
			"readOnlyHint": want.readOnly, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false,
		}
		for hint, value := range hints {
			if served, ok := got.Annotations[hint]; !ok || served != value {
				t.Errorf("%s: %s is %v (written: %v), want %v", want.title, hint, served, ok, value)
			}
		}
	}
}

func checkCalls(t *testing.T, house *stack.Platform, caller stack.Machine, tools map[string]stack.Tool, etcd *clientv3.Client) {
	t.Helper()
	if _, err := etcd.Put(context.Background(), "greeting", "guten Tag"); err != nil {
		t.Fatal(err)
	}
	var status struct{ Version string }
	structured(t, stack.Call(t, house.MCP, caller, tools["Maintenance Status"].Name, map[string]any{}), &status)
	real, err := etcd.Status(context.Background(), etcd.Endpoints()[0])
	if err != nil {
		t.Fatal(err)
	}
	if status.Version != real.Version {
		t.Errorf("Status says version %q, etcd's own client %q", status.Version, real.Version)
	}

	var members struct {
		Members []struct{ Name, ID string } `json:"members"`
	}
	structured(t, stack.Call(t, house.MCP, caller, tools["Cluster Member List"].Name, map[string]any{}), &members)
	if len(members.Members) != 1 {
		t.Errorf("MemberList gives %+v, want the one member", members.Members)
	}

	var found struct {
		Kvs   []struct{ Key, Value []byte } `json:"kvs"`
		Count string                        `json:"count"`
	}
	key := base64.StdEncoding.EncodeToString([]byte("greeting"))
	structured(t, stack.Call(t, house.MCP, caller, tools["KV Range"].Name, map[string]any{"key": key}), &found)
	if len(found.Kvs) != 1 || string(found.Kvs[0].Value) != "guten Tag" || found.Count != "1" {
		t.Errorf("Range gives %+v, want the value that was put", found)
	}
}

func structured(t *testing.T, result stack.Result, into any) {
	t.Helper()
	if result.IsError {
		t.Fatalf("the call failed: %+v", result.Content)
	}
	if err := json.Unmarshal(result.StructuredContent, into); err != nil {
		t.Fatalf("structured content %s: %v", result.StructuredContent, err)
	}
}
