package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
)

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
		{"taken", []string{"create", "acme", "--kind", "host", "--system"}, `there is a machine "acme" already`},
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
	eventually(t, "the machines are known, of which the last is known last", func() bool {
		_, err := run(with(operator, "get", "zones")...)
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
		{[]string{"describe", "tool", name, "--dialect", "openai_strict"}, []string{`"required": [`, `"null"`, `"additionalProperties": false`}},
		{[]string{"describe", "tool", name, "--dialect", "nova", "-o", "json"}, []string{`"definition": {`, `"inputSchema": {`}},
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
	if _, err := run(with(operator, "describe", "tool", name, "--dialect", "nothing")...); err == nil || !strings.Contains(err.Error(), "openai_strict") {
		t.Errorf("describe in a dialect that is none: %v", err)
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
