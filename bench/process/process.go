package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Patience bounds every wait for another process.
const Patience = 60 * time.Second

// Options say how a process is started.
type Options struct {
	// Dir is where the process's log is kept, in a file of its own.
	Dir string
	// Env is added to the environment of the program that starts it.
	Env []string
	// Start starts the command; nil is its own Start.
	Start func(*exec.Cmd) error
	// BySignal says that the process ends at a signal, as the product's programs do, and not with its standard input.
	BySignal bool
	// Keep says of each line of the log whether it is kept; nil keeps all. It is called from one goroutine at a time, and
	// the line is its own only until it returns.
	Keep func(line []byte) bool
}

// Process is a running program. Hear, Ask and Stop are for one goroutine, the others for several.
type Process struct {
	name     string
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	lines    chan string
	log      string
	bySignal bool
	done     chan struct{}
	err      error
}

// Launch starts a program. Whoever has a Process stops or kills it.
func Launch(binary string, o Options, args ...string) (*Process, error) {
	p := &Process{
		name: filepath.Base(binary), cmd: exec.Command(binary, args...), lines: make(chan string, 16), bySignal: o.BySignal,
		done: make(chan struct{}),
	}
	log, err := os.CreateTemp(o.Dir, p.name+"-*.log")
	if err != nil {
		return nil, err
	}
	p.log, p.cmd.Stderr = log.Name(), log
	end := log.Close
	if o.Keep != nil {
		s := &sieve{out: log, keep: o.Keep}
		p.cmd.Stderr, end = s, s.close
	}
	p.cmd.Env = append(os.Environ(), o.Env...)
	// An interrupt at the terminal is for the program that started it, which then stops all in order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, errors.Join(err, end())
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, end())
	}
	start := o.Start
	if start == nil {
		start = (*exec.Cmd).Start
	}
	if err := start(p.cmd); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", p.name, err), end())
	}
	if o.Keep == nil {
		_ = log.Close() // the process has it
	}
	go p.attend(out, end)
	return p, nil
}

// attend hands on what the process says until it has ended.
func (p *Process) attend(out io.Reader, end func() error) {
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		p.lines <- scanner.Text()
	}
	p.err = p.cmd.Wait()
	_ = end() // twice, where the process alone had the file
	close(p.done)
}

// sieve writes the lines of a log that are kept.
type sieve struct {
	mu   sync.Mutex
	out  *os.File
	keep func(line []byte) bool
	rest []byte
}

func (s *sieve) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for rest := b; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			s.rest = append(s.rest, rest...)
			return len(b), nil
		}
		line := rest[:i+1]
		if len(s.rest) > 0 {
			line = append(s.rest, line...)
		}
		if s.keep(line) {
			if _, err := s.out.Write(line); err != nil {
				return 0, err
			}
		}
		s.rest, rest = s.rest[:0], rest[i+1:]
	}
}

func (s *sieve) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.out.Write(s.rest)
	return errors.Join(err, s.out.Close())
}

// Name is the program's.
func (p *Process) Name() string { return p.name }

// PID is the process's number.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Hear waits for the next line of JSON that the process says.
func (p *Process) Hear(ctx context.Context, into any) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	select {
	case line := <-p.lines:
		if err := json.Unmarshal([]byte(line), into); err != nil {
			return fmt.Errorf("%s said %q: %w", p.name, line, err)
		}
		return nil
	case <-p.done:
		return p.Alive()
	case <-ctx.Done():
		return fmt.Errorf("%s said nothing: %w\n%s", p.name, ctx.Err(), p.Tail())
	}
}

// Ask gives the process a command and waits for the answer.
func (p *Process) Ask(ctx context.Context, into any, format string, args ...any) error {
	if _, err := fmt.Fprintf(p.stdin, format+"\n", args...); err != nil {
		return fmt.Errorf("tell %s: %w", p.name, err)
	}
	return p.Hear(ctx, into)
}

// Await waits until the log has lines with all these messages (`msg` of slog's JSON), and decodes each one into what
// stands beside the message, where that is not nil.
func (p *Process) Await(ctx context.Context, messages map[string]any) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		missing, err := p.said(messages)
		if err != nil || missing == "" {
			return err
		}
		select {
		case <-tick.C:
		case <-p.done:
			// What it said last is in the log now.
			if missing, err = p.said(messages); err == nil && missing != "" {
				err = p.Alive()
			}
			return err
		case <-ctx.Done():
			return fmt.Errorf("%s did not say %q: %w\n%s", p.name, missing, context.Cause(ctx), p.Tail())
		}
	}
}

// said looks for messages in the log, and names one that is missing.
func (p *Process) said(messages map[string]any) (missing string, err error) {
	raw, err := os.ReadFile(p.log)
	if err != nil {
		return "", err
	}
	found := map[string]bool{}
	for line := range bytes.Lines(raw) {
		var said struct{ Msg string }
		if json.Unmarshal(line, &said) != nil {
			continue // the end of it is not written yet
		}
		into, wanted := messages[said.Msg]
		if !wanted {
			continue
		}
		found[said.Msg] = true
		if into == nil {
			continue
		}
		if err := json.Unmarshal(line, into); err != nil {
			return "", fmt.Errorf("%s said %q: %w", p.name, line, err)
		}
	}
	for message := range messages {
		if !found[message] {
			return message, nil
		}
	}
	return "", nil
}

// Alive says why the process is gone, if it is.
func (p *Process) Alive() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended: %v\n%s", p.name, p.err, p.Tail())
	default:
		return nil
	}
}

// Log is the path of the file that holds the log.
func (p *Process) Log() string { return p.log }

// Tail is the end of the log.
func (p *Process) Tail() string {
	raw, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// Stop asks the process to end, and waits until it has. The error is that of a process that did not end well.
func (p *Process) Stop() error {
	if p.bySignal {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	_ = p.stdin.Close()
	if !p.wait() {
		p.Kill()
		return fmt.Errorf("%s did not end in %v", p.name, Patience)
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w\n%s", p.name, p.err, p.Tail())
	}
	return nil
}

// Kill ends the process at once, and waits until it is gone.
func (p *Process) Kill() { p.Signal(syscall.SIGKILL) }

// Signal sends a signal that ends the process, and waits until it has. It reports whether it did.
func (p *Process) Signal(s os.Signal) bool {
	_ = p.cmd.Process.Signal(s)
	return p.wait()
}

// wait waits for the end, and drops what the process still says.
func (p *Process) wait() bool {
	timeout := time.NewTimer(Patience)
	defer timeout.Stop()
	for {
		select {
		case <-p.lines:
		case <-p.done:
			return true
		case <-timeout.C:
			return false
		}
	}
}
