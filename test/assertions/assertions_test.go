// Package assertions_test runs the service of docs/assertions.md, as it stands on the page, with a real registry and a
// real edge: it is called through the edge, and then attacked as the Go SDK is.
package assertions_test

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/bufbuild/protocompile"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/auth/assertion/assertiontest"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
	"github.com/sallyport-dev/sallyport/test/rawgrpc"
	"github.com/sallyport-dev/sallyport/test/stack"
)

func TestMain(m *testing.M) { stack.Main(m) }

const (
	zone       = "app.acme-org.orders-app"
	greeter    = "demo.greeter.v2.GreeterService"
	sayHello   = "/" + greeter + "/SayHello"
	unverified = "the call carries no valid participant assertion for this service: call it through an edge"
)

func TestTypeScript_believesTheEdgeAlone(t *testing.T) {
	node := stack.PinnedNode(t, "test/assertions")
	dir := writeProgram(t)
	check := exec.CommandContext(t.Context(), node, "node_modules/typescript/bin/tsc", "--noEmit", "--strict", "--module", "nodenext",
		"--target", "es2023", "--allowImportingTsExtensions", "--erasableSyntaxOnly", "--verbatimModuleSyntax", "--skipLibCheck",
		"--types", "node", "greeter.ts")
	check.Dir = dir
	if said, err := check.CombinedOutput(); err != nil {
		t.Fatalf("the page's program has the wrong types: %v\n%s", err, said)
	}

	address := stack.FreeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	house := stack.NewPlatform(t, "  - zone: "+zone+"\n    ranges: [127.0.0.0/8]\n    ports: ["+port+"]\n")
	host := house.Machine(t, "greeter-host", "--kind", "host", "--organization", "acme-org")
	client := house.Machine(t, "tester", "--kind", "client", "--organization", "acme-org", "--application", "orders-app")
	program := stack.Start(t, dir, []string{"KEYS_URL=" + house.REST + "/v1/assertion-keys", "ZONE=" + zone, "LISTEN=" + address},
		node, "greeter.ts")
	program.WaitLine(t, "listening on port "+port)
	stack.Start(t, dir, house.Env(host), stack.Program(t, "cmd/registry"), "register", "--descriptor-set", descriptorSet(t, dir),
		"--zone", zone, "--address", address, "--expose", greeter+"/SayHello")

	t.Run("a call through the edge", func(t *testing.T) {
		var tools map[string]stack.Tool
		stack.Eventually(t, "the greeter is listed", func() bool {
			tools = stack.List(t, house.MCP, client)
			return len(tools) == 1
		})
		for _, tool := range tools {
			result := stack.Call(t, house.MCP, client, tool.Name, map[string]any{"firstName": "Ada"})
			var answer struct{ Text string }
			if err := json.Unmarshal(result.StructuredContent, &answer); err != nil || result.IsError ||
				answer.Text != "Hello, Ada. tester of acme-org sends regards." {
				t.Errorf("answered %+v, %v", result, err)
			}
		}
	})

	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	etcd, key := edgeKey(t, house)
	call := &assertiontest.Call{
		Kid: key.GetKid(), Seed: key.GetSeed(), Zone: zone, Service: greeter, FullMethod: sayHello, OtherMethod: "/" + greeter + "/Leave",
		Participant: participant.Application("acme-org", "orders-app", "forger"), Now: time.Now(),
	}
	for _, sent := range call.Believed(t) {
		t.Run(sent.Name, func(t *testing.T) {
			if text, err := greet(t, conn, sent); err != nil || text != "Hello, Eve. forger of acme-org sends regards." {
				t.Errorf("answered %q, %v", text, err)
			}
		})
	}
	for _, sent := range call.Forged(t) {
		t.Run(sent.Name, func(t *testing.T) {
			text, err := greet(t, conn, sent)
			if s := status.Convert(err); s.Code() != codes.Unauthenticated || s.Message() != unverified {
				t.Errorf("answered %q, %v", text, err)
			}
		})
	}

	t.Run("a key that came later", func(t *testing.T) {
		next := &registryv1.StoredAssertionKey{Kid: "next", Seed: []byte(strings.Repeat("n", 32)), CreatedAt: key.GetCreatedAt()}
		value, err := proto.Marshal(next)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := etcd.Put(t.Context(), registry.DefaultPrefix+"keys/assertion/next", string(value)); err != nil {
			t.Fatal(err)
		}
		call.Kid, call.Seed = next.GetKid(), next.GetSeed()
		// Not at once: it asks once in two seconds, and the attacks above have made it ask.
		stack.Eventually(t, "the new key is believed", func() bool {
			_, err := greet(t, conn, call.Believed(t)[0])
			return err == nil
		})
	})
}

// greet calls the service past the edge.
func greet(t *testing.T, conn *grpc.ClientConn, sent assertiontest.Sent) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(t.Context(), sent.Metadata), stack.Patience)
	defer cancel()
	var out []byte
	err := conn.Invoke(ctx, sayHello, protowire.AppendString([]byte{1<<3 | byte(protowire.BytesType)}, "Eve"), &out,
		grpc.ForceCodecV2(rawgrpc.Codec{}))
	if err != nil {
		return "", err
	}
	text, n := protowire.ConsumeString(out[1:])
	if n < 0 {
		t.Fatalf("answered % x", out)
	}
	return text, nil
}

// edgeKey takes the key with which the edge signs out of the registry's etcd.
func edgeKey(t *testing.T, house *stack.Platform) (*clientv3.Client, *registryv1.StoredAssertionKey) {
	t.Helper()
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{house.Etcd}, Context: t.Context()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = etcd.Close() })
	found, err := etcd.Get(t.Context(), registry.DefaultPrefix+"keys/assertion/", clientv3.WithPrefix())
	if err != nil || len(found.Kvs) != 1 {
		t.Fatalf("keys in etcd: %v, %v", found, err)
	}
	key := new(registryv1.StoredAssertionKey)
	if err := proto.Unmarshal(found.Kvs[0].Value, key); err != nil {
		t.Fatal(err)
	}
	return etcd, key
}

var file = regexp.MustCompile("(?s)<!-- file: demo/greeter-ts/(\\S+) -->\n```[a-z]+\n(.*?\n)```\n")

// writeProgram writes the page's files into a folder in which they find their packages.
func writeProgram(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	page, err := os.ReadFile(filepath.Join(stack.Root(), "docs", "assertions.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := file.FindAllStringSubmatch(string(page), -1)
	if len(files) != 4 {
		t.Fatalf("the page has %d files of the program", len(files))
	}
	for _, m := range files {
		stack.WriteFile(t, filepath.Join(dir, m[1]), m[2])
	}
	contract, err := os.ReadFile(filepath.Join(stack.Root(), "api", "sallyport", "participant", "v1", "participant.proto"))
	if err != nil {
		t.Fatal(err)
	}
	stack.WriteFile(t, filepath.Join(dir, "participant.proto"), string(contract))
	if page, pinned := packages(t, dir), packages(t, filepath.Join(stack.Root(), "test", "assertions")); !maps.Equal(page, pinned) {
		t.Errorf("the page wants the packages %v, and is tested with %v", page, pinned)
	}
	if err := os.Symlink(filepath.Join(stack.Root(), "test", "assertions", "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// packages are what the package.json in a folder depends on.
func packages(t *testing.T, dir string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct{ Dependencies map[string]string }
	if err := json.Unmarshal(raw, &manifest); err != nil || len(manifest.Dependencies) == 0 {
		t.Fatalf("%s/package.json has no dependencies: %v", dir, err)
	}
	return manifest.Dependencies
}

// descriptorSet compiles the page's contract, as buf build does.
func descriptorSet(t *testing.T, dir string) string {
	t.Helper()
	compiler := protocompile.Compiler{
		SourceInfoMode: protocompile.SourceInfoStandard,
		Resolver:       &protocompile.SourceResolver{ImportPaths: []string{dir}},
	}
	files, err := compiler.Compile(t.Context(), "greeter.proto")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{
		protodesc.ToFileDescriptorProto(files[0]),
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "greeter.binpb")
	stack.WriteFile(t, path, string(raw))
	return path
}
