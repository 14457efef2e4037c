// Package stack starts Sallyport's programs as separate processes, for tests that cross packages.
//
// In comes the name of a program and its arguments; out goes a running process whose lines of output can be waited
// for. It builds each program once per test binary. It knows nothing of what the programs do, and no test double of
// them lives here: what runs is what users run.
package stack

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Patience bounds every wait on another process. It is generous: a test that reaches it has failed.
const Patience = 90 * time.Second

var (
	buildMu  sync.Mutex
	buildDir string
	built    = map[string]string{}
)

// Main runs the tests of a package and removes what was built for them. Call it from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
	os.Exit(code)
}

// Root is the repository's folder.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(file)))
}

// Program builds the main package at the path, relative to the repository (`cmd/edge`), and returns the binary.
func Program(t testing.TB, pkg string) string {
	t.Helper()
	return build(t, pkg, "./"+pkg)
}

// Module builds a main package of another module in go.mod, for example a real etcd server.
func Module(t testing.TB, pkg string) string {
	t.Helper()
	return build(t, pkg, pkg)
}

func build(t testing.TB, name, target string) string {
	t.Helper()
	buildMu.Lock()
	defer buildMu.Unlock()
	if path, ok := built[name]; ok {
		return path
	}
	if buildDir == "" {
		dir, err := os.MkdirTemp("", "sallyport-test-")
		if err != nil {
			t.Fatal(err)
		}
		buildDir = dir
	}
	path := filepath.Join(buildDir, strings.ReplaceAll(name, "/", "_"))
	cmd := exec.Command("go", "build", "-o", path, target)
	cmd.Dir = Root()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", name, err, out)
	}
	built[name] = path
	return path
}

// Process is a running program. Its methods may be called from several goroutines.
type Process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{}
	err  error

	mu    sync.Mutex
	lines []string
	more  chan struct{}
}

// Start runs a binary and stops it when the test ends. Its output goes to the test's log if the test fails.
func Start(t testing.TB, dir string, env []string, binary string, args ...string) *Process {
	t.Helper()
	p := &Process{name: filepath.Base(binary), done: make(chan struct{}), more: make(chan struct{})}
	p.cmd = exec.Command(binary, args...)
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), env...)
	// A group of its own, so that what the program starts ends with it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	reader, writer := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = writer, writer
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", p.name, err)
	}
	var reading sync.WaitGroup
	reading.Go(func() { p.read(reader) })
	go func() {
		p.err = p.cmd.Wait()
		_ = writer.Close()
		reading.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("output of %s:\n%s", p.name, p.Output())
		}
	})
	return p
}

func (p *Process) read(reader io.Reader) {
	scanner := bufio.NewScanner(reader)
	scanner.Buffer(nil, 4<<20)
	for scanner.Scan() {
		p.mu.Lock()
		p.lines = append(p.lines, scanner.Text())
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
	}
}

// WaitLine waits for a line of output that contains the text, and returns it. It fails the test when the process ends
// first.
func (p *Process) WaitLine(t testing.TB, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	seen := 0
	for {
		p.mu.Lock()
		lines, more := p.lines[seen:], p.more
		p.mu.Unlock()
		for _, line := range lines {
			seen++
			if strings.Contains(line, text) {
				return line
			}
		}
		select {
		case <-more:
		case <-p.done:
			if len(p.tail(seen)) == 0 {
				t.Fatalf("%s ended without saying %q: %v\n%s", p.name, text, p.err, p.Output())
			}
		case <-ctx.Done():
			t.Fatalf("%s did not say %q in %v\n%s", p.name, text, Patience, p.Output())
		}
	}
}

func (p *Process) tail(seen int) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lines[seen:]
}

// Output is everything that the process has printed.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// Signal sends a signal to the program alone, which goes on unless the signal ends it.
func (p *Process) Signal(t testing.TB, signal os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatalf("signal %s: %v", p.name, err)
	}
}

// Interrupt sends SIGTERM to the program and what it started, and waits for the end. The error is that of a process that did not end well.
func (p *Process) Interrupt() error {
	return p.end(syscall.SIGTERM)
}

// Kill sends SIGKILL to the program and what it started, and waits for the end.
func (p *Process) Kill() {
	_ = p.end(syscall.SIGKILL)
}

func (p *Process) end(signal syscall.Signal) error {
	select {
	case <-p.done:
		return p.err
	default:
	}
	_ = syscall.Kill(-p.cmd.Process.Pid, signal)
	select {
	case <-p.done:
		return p.err
	case <-time.After(Patience):
		return fmt.Errorf("%s did not end in %v after %v", p.name, Patience, signal)
	}
}

// Eventually asks again until the answer is true. It is for facts of another process that announces nothing.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%s: not so within %v", what, Patience)
		}
	}
}
