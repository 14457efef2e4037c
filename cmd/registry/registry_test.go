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

	"github.com/sallyport-dev/sallyport/internal/schema/schematest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// run executes one command line to its end.
func run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out, log bytes.Buffer // standard error is the log's, which writes whenever it likes
	c := newRoot()
	c.SetOut(&out)
	c.SetErr(&log)
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
	set := schematest.FileSet(healthv1.File_grpc_health_v1_health_proto)
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
