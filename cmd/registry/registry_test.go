package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// run executes one command line to its end.
func run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out bytes.Buffer
	c := newRoot()
	c.SetOut(&out)
	c.SetErr(&out)
	c.SetArgs(args)
	err := c.ExecuteContext(ctx)
	return out.String(), err
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, err := run(args...)
	if err != nil {
		t.Fatalf("registry %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// running is a command that stays.
type running struct {
	t     *testing.T
	lines chan string
	ended chan struct{}
	err   error // once ended
	stop  context.CancelFunc
}

func start(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, lines: make(chan string, 1000), ended: make(chan struct{}), stop: cancel}
	c := newRoot()
	w := &lineWriter{lines: r.lines}
	c.SetOut(w)
	c.SetErr(w)
	c.SetArgs(args)
	go func() {
		defer close(r.ended)
		r.err = c.ExecuteContext(ctx)
	}()
	t.Cleanup(r.interrupt)
	return r
}

// interrupt does what SIGTERM does, and waits for the end.
func (r *running) interrupt() {
	r.stop()
	select {
	case <-r.ended:
		if r.err != nil {
			r.t.Errorf("the command ended with %v", r.err)
		}
	case <-time.After(patience):
		r.t.Fatal("the command does not end")
	}
}

// line waits for a line with the text.
func (r *running) line(text string) string {
	r.t.Helper()
	give := time.After(patience)
	ended := (<-chan struct{})(r.ended)
	var seen []string
	for {
		select {
		case line := <-r.lines:
			if strings.Contains(line, text) {
				return line
			}
			seen = append(seen, line)
		case <-ended:
			if len(r.lines) == 0 {
				r.t.Fatalf("ended with %v before it said %q:\n%s", r.err, text, strings.Join(seen, "\n"))
			}
			// What it said before it ended is still to be read.
		case <-give:
			r.t.Fatalf("does not say %q, but:\n%s", text, strings.Join(seen, "\n"))
		}
	}
}

type lineWriter struct {
	mu    sync.Mutex
	rest  []byte
	lines chan string
}

func (w *lineWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, b...)
	for {
		line, rest, found := bytes.Cut(w.rest, []byte("\n"))
		if !found {
			return len(b), nil
		}
		w.lines <- string(line)
		w.rest = rest
	}
}

// installation is a registry with an embedded etcd, as `registry serve` runs it.
type installation struct {
	t       *testing.T
	config  string
	grpc    string
	target  string // an address that applications and platform may register
	process *running
}

func install(t *testing.T) *installation {
	t.Helper()
	dir, err := os.MkdirTemp("", "registry-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	i := &installation{t: t, config: filepath.Join(dir, "registry.yaml"), target: freeAddress(t)}
	_, port, _ := net.SplitHostPort(i.target)
	text := fmt.Sprintf("embedded:\n  data_dir: %s\ngrpc_listen: 127.0.0.1:0\nrest_listen: 127.0.0.1:0\naddresses:\n  - zone: \"*\"\n    ranges: [127.0.0.0/8]\n    ports: [%s]\n",
		filepath.Join(dir, "etcd"), port)
	if err := os.WriteFile(i.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *installation) serve() {
	i.t.Helper()
	i.process = start(i.t, "serve", "--config", i.config)
	var line struct{ GRPC string }
	if err := json.Unmarshal([]byte(i.process.line("registry is ready")), &line); err != nil || line.GRPC == "" {
		i.t.Fatalf("the ready line: %v, %+v", err, line)
	}
	i.grpc = line.GRPC
}

// machine creates a machine and gives the connection flags with its credentials.
func (i *installation) machine(id string, args ...string) []string {
	i.t.Helper()
	out := mustRun(i.t, append([]string{"machine", "create", id, "--config", i.config, "-o", "json"}, args...)...)
	var m machineView
	if err := json.Unmarshal([]byte(out), &m); err != nil || m.ID != id || m.Secret == "" {
		i.t.Fatalf("machine create printed %q: %v", out, err)
	}
	return []string{"--addr", i.grpc, "--client-id", id, "--client-secret", m.Secret}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// descriptorSet writes the health service's descriptors: a service that exposes nothing by itself.
func descriptorSet(t *testing.T) string {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(fd protoreflect.FileDescriptor) {
		if seen[fd.Path()] {
			return
		}
		seen[fd.Path()] = true
		for i := range fd.Imports().Len() {
			add(fd.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(fd))
	}
	add(healthv1.File_grpc_health_v1_health_proto)
	raw, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "set.binpb")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// target is a process to register: a gRPC server with or without a health service.
func target(t *testing.T, address string, healthServer *health.Server) (stop func()) {
	t.Helper()
	var l net.Listener
	eventually(t, "the target's port is free", func() bool {
		var err error
		l, err = net.Listen("tcp", address)
		return err == nil
	})
	g := grpc.NewServer()
	if healthServer != nil {
		healthv1.RegisterHealthServer(g, healthServer)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(l) }()
	var once sync.Once
	stop = func() { once.Do(func() { g.Stop(); <-done }) }
	t.Cleanup(stop)
	return stop
}

func eventually(t *testing.T, what string, right func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	give := time.After(patience)
	for !right() {
		select {
		case <-tick.C:
		case <-give:
			t.Fatalf("it does not come about that %s", what)
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ arg, want, err string }{
		{"app.acme-org.orders-app~com.acme.OrderService/findById", "5nwldv2gqljeygvmd1ywjl2z7\n", ""},
		{"srv://app.acme-org.orders-app~com.acme.OrderService/findById", "5nwldv2gqljeygvmd1ywjl2z7\n", ""},
		{"com.acme.OrderService", "", "with its method"},
		{"x@com.acme.OrderService/findById", "", "without scope"},
		{"App~com.acme.OrderService/findById", "", "zone"},
	} {
		out, err := run("name", test.arg)
		if out != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("name %s = %q, %v", test.arg, out, err)
		}
	}
}

func TestServe_namesLineAndField(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"unknown field", "embedded: {data_dir: x}\ngrpc_lissen: a:1\n", []string{"registry.yaml:2", "grpc_lissen"}},
		{"broken rule", "embedded: {data_dir: x}\ngrpc_listen: a:1\ndefault_ttl: 1000s\n", []string{"registry.yaml:3", "default_ttl"}},
		{"no store", "grpc_listen: a:1\n", []string{"registry.yaml", "store"}},
		{"log level", "embedded: {data_dir: x}\ngrpc_listen: a:1\n", []string{"--log-level"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "registry.yaml")
			if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := run("serve", "--config", file, "--log-level", "loud")
			if err == nil {
				t.Fatal("no error")
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
		})
	}
}

func TestMachines(t *testing.T) {
	i := install(t)
	// Before any registry runs, on the data directory itself.
	before := mustRun(t, "machine", "create", "early", "--config", i.config, "--kind", "client", "--system")
	if !strings.Contains(before, "SECRET") || !strings.Contains(before, "early") {
		t.Errorf("create printed %q", before)
	}
	i.serve()
	// And beside a running one.
	system := i.machine("operator", "--kind", "client", "--system")
	i.machine("acme", "--kind", "host", "--organization", "acme-org")
	i.machine("app", "--kind", "client", "--organization", "acme-org", "--application", "orders-app")
	list := mustRun(t, "machine", "list", "--config", i.config)
	for _, part := range []string{"ID ", "early", "operator", "organization acme-org", "application acme-org/orders-app", "host", "enabled"} {
		if !strings.Contains(list, part) {
			t.Errorf("list does not have %q:\n%s", part, list)
		}
	}
	if strings.Contains(list, system[5]) {
		t.Error("the list tells a secret")
	}
	get := func(flags []string) error { _, err := run(append([]string{"get", "zones"}, flags...)...); return err }
	eventually(t, "the machine is known", func() bool { return get(system) == nil })

	var rotated machineView
	out := mustRun(t, "machine", "rotate", "operator", "--config", i.config, "-o", "json")
	if err := json.Unmarshal([]byte(out), &rotated); err != nil || rotated.Secret == "" || rotated.Secret == system[5] {
		t.Fatalf("rotate printed %q: %v", out, err)
	}
	eventually(t, "the old secret is worthless", func() bool { return get(system) != nil })
	system[5] = rotated.Secret
	if err := get(system); err != nil {
		t.Errorf("the new secret: %v", err)
	}
	mustRun(t, "machine", "disable", "operator", "--config", i.config)
	eventually(t, "the machine is disabled", func() bool { return get(system) != nil })
	if list := mustRun(t, "machine", "list", "--config", i.config, "-o", "yaml"); !strings.Contains(list, "disabled: true") {
		t.Errorf("list: %s", list)
	}

	for _, test := range []struct {
		name string
		args []string
		want string
	}{
		{"taken", []string{"create", "acme", "--kind", "host", "--system"}, "exists already"},
		{"no kind", []string{"create", "x", "--system"}, "kind"},
		{"wrong kind", []string{"create", "x", "--kind", "robot", "--system"}, "want host or client"},
		{"nobody's", []string{"create", "x", "--kind", "host"}, "whose machine"},
		{"application of no organization", []string{"create", "x", "--kind", "host", "--application", "a"}, "whose machine"},
		{"two owners", []string{"create", "x", "--kind", "host", "--system", "--organization", "a"}, "system"},
		{"ill-formed organization", []string{"create", "x", "--kind", "host", "--organization", "A.B"}, "label"},
		{"rotate nobody", []string{"rotate", "x"}, "not found"},
		{"disable nobody", []string{"disable", "x"}, "not found"},
		{"format", []string{"list", "-o", "xml"}, "table, json or yaml"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := run(append(append([]string{"machine"}, test.args...), "--config", i.config)...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("err = %v, want %q; printed %q", err, test.want, out)
			}
		})
	}
	i.process.interrupt()
	if after := mustRun(t, "machine", "list", "--config", i.config); !strings.Contains(after, "early") {
		t.Errorf("after the registry stopped: %s", after)
	}
}

func TestRegisterGetDescribe(t *testing.T) {
	i := install(t)
	i.serve()
	set := descriptorSet(t)
	host := i.machine("platform", "--kind", "host", "--system")
	tenant := i.machine("tenant", "--kind", "host", "--organization", "acme-org")
	operator := i.machine("operator", "--kind", "client", "--system")
	with := func(flags []string, args ...string) []string { return append(args, flags...) }
	eventually(t, "the machines are known", func() bool {
		_, err := run(with(tenant, "get", "zones")...)
		return err == nil
	})
	register := func(flags []string, more ...string) []string {
		return with(flags, append([]string{"register", "--descriptor-set", set, "--address", i.target, "--zone", "system-api", "--expose", "grpc.health.v1.Health/Check"}, more...)...)
	}

	refusals := []struct {
		name string
		args []string
		want string
	}{
		{"tenant in the platform's zone", register(tenant), "system-api"},
		{"address that is not allowed", with(host, "register", "--descriptor-set", set, "--address", "127.0.0.1:1", "--zone", "system-api", "--expose", "grpc.health.v1.Health/Check"), "127.0.0.1:1"},
		{"streaming RPC", with(host, "register", "--descriptor-set", set, "--address", i.target, "--expose", "grpc.health.v1.Health/Watch"), "grpc.health.v1.Health/Watch"},
		{"no such RPC", with(host, "register", "--descriptor-set", set, "--address", i.target, "--expose", "grpc.health.v1.Health/Nothing"), "Nothing"},
		{"client machine", register(operator), "of kind CLIENT"},
		{"wrong secret", append(register(host), "--client-secret", "wrong"), "SALLYPORT_CLIENT_SECRET"},
		{"nothing to register", with(host, "register", "--descriptor-set", set, "--address", i.target), "--expose"},
		{"no descriptor set", with(host, "register", "--descriptor-set", i.config, "--address", i.target, "--expose", "a.B"), "FileDescriptorSet"},
		{"no such file", with(host, "register", "--descriptor-set", "/nowhere", "--address", i.target, "--expose", "a.B"), "--descriptor-set"},
		{"CA without TLS", append(register(host), "--target-ca-file", "/nowhere"), "--tls-server-name"},
	}
	for _, test := range refusals {
		t.Run(test.name, func(t *testing.T) {
			out, err := run(test.args...)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("err = %v, want %q; printed %q", err, test.want, out)
			}
		})
	}

	// From here on the process has a name: the whole life of one registration.
	listed := func() string { return mustRun(t, with(operator, "get", "tools")...) }
	hidden := func() bool { return strings.Contains(listed(), "no instance is online") }
	healthServer := health.NewServer()
	stopTarget := target(t, i.target, healthServer)
	p := start(t, register(host, "--ttl", "1s", "--build-version", "v1", "--locality", "here")...)
	p.line("registered [grpc.health.v1.Health] at " + i.target)
	eventually(t, "the tool is listed", func() bool { return strings.Contains(listed(), "Health Check") && !hidden() })

	name := strings.TrimSpace(mustRun(t, "name", "system-api~grpc.health.v1.Health/Check"))
	for _, row := range []struct {
		args []string
		want []string
	}{
		{[]string{"get", "zones"}, []string{"ZONE", "SERVICES", "INSTANCES", "system-api"}},
		{[]string{"get", "services"}, []string{"SERVICE", "grpc.health.v1.Health", "Health"}},
		{[]string{"get", "services", "--zone", "app-api", "-o", "json"}, []string{`"services": []`}},
		{[]string{"get", "instances", "--service", "grpc.health.v1.Health"}, []string{"STATE", "online", i.target, "platform", "v1"}},
		{[]string{"get", "tools", "-o", "json"}, []string{`"name": "` + name + `"`, `"title": "Health Check"`}},
		{[]string{"get", "tools", "-o", "yaml"}, []string{"name: " + name, "resource: srv://system-api~grpc.health.v1.Health/Check"}},
		{[]string{"describe", "tool", name}, []string{"Health Check", "srv://system-api~grpc.health.v1.Health/Check", `"inputSchema": {`}},
		{[]string{"describe", "tool", name, "-o", "json"}, []string{`"definition": {`, `"jsonProfile": "protojson"`, `"title": "Health Check"`}},
		{[]string{"describe", "tool", name, "-o", "yaml"}, []string{"inputSchema:"}},
	} {
		out := mustRun(t, with(operator, row.args...)...)
		for _, part := range row.want {
			if !strings.Contains(out, part) {
				t.Errorf("%v does not print %q:\n%s", row.args, part, out)
			}
		}
	}
	if _, err := run(with(operator, "describe", "tool", "nothing")...); err == nil || !strings.Contains(err.Error(), "no tool") {
		t.Errorf("describe nothing: %v", err)
	}
	if _, err := run(with(operator, "get", "tools", "-o", "xml")...); err == nil {
		t.Error("an unknown format is taken")
	}

	healthServer.SetServingStatus("", healthv1.HealthCheckResponse_NOT_SERVING)
	p.line("does not answer its health check")
	eventually(t, "the registration lapses", hidden)
	healthServer.SetServingStatus("", healthv1.HealthCheckResponse_SERVING)
	p.line("answers again")
	p.line("registered")
	eventually(t, "the tool is listed again", func() bool { return !hidden() })

	stopTarget()
	p.line("does not answer its health check")
	eventually(t, "the registration lapses", hidden)
	target(t, i.target, nil) // without a health service
	p.line("answers again")
	eventually(t, "the tool is listed again", func() bool { return !hidden() })

	p.interrupt()
	p.line("deregistered")
	eventually(t, "the tool is offline", hidden)
}

// A process that is not there yet is registered when it is, and a registry that is away is waited for.
func TestRegister_waits(t *testing.T) {
	i := install(t)
	i.serve()
	host := i.machine("platform", "--kind", "host", "--system")
	eventually(t, "the machine is known", func() bool {
		_, err := run(append([]string{"get", "zones"}, host...)...)
		return err == nil
	})
	args := append([]string{"register", "--descriptor-set", descriptorSet(t), "--address", i.target, "--service", "grpc.health.v1.Health", "--ttl", "1s"}, host...)
	p := start(t, args...)
	p.line("deregistered") // it is not there
	p.line("does not answer its health check")
	target(t, i.target, health.NewServer())
	p.line("answers again")
	p.line("warning: grpc.health.v1.Health: none of its RPCs is exposed")

	i.process.interrupt()
	p.line("trying again")
	// It comes back at the same address.
	raw, err := os.ReadFile(i.config)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(i.config, bytes.Replace(raw, []byte("grpc_listen: 127.0.0.1:0"), []byte("grpc_listen: "+i.grpc), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	i.serve()
	// Whether the lease outlived the registry or not, the process is there again, and can say farewell.
	eventually(t, "the instance is listed", func() bool {
		out, err := run(append([]string{"get", "instances"}, host...)...)
		return err == nil && strings.Contains(out, i.target)
	})
	p.interrupt()
	p.line("deregistered")
}

func TestConnection(t *testing.T) {
	t.Setenv("SALLYPORT_REGISTRY", "127.0.0.1:1")
	if _, err := run("get", "zones"); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("err = %v", err)
	}
	for _, args := range [][]string{{"--ca-file", "/nowhere"}, {"--addr", "%zz://"}} {
		if _, err := run(append([]string{"get", "zones"}, args...)...); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
	if err := plain(nil); err != nil {
		t.Error(err)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	table(&b, []string{"A", "B"}, [][]string{{"", "x\x1b[31m\ny"}})
	if b.String() != "A  B\n-  x [31m y\n" {
		t.Errorf("printed %q", b.String())
	}
}
