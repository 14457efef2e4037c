package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// patience bounds every wait for another process.
const patience = 60 * time.Second

// process is a running target, or what stands behind them.
type process struct {
	name   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	lines  chan string
	stderr string
	// bySignal says that the process ends at a signal, as the product's programs do, and not with its standard input.
	bySignal bool
	done     chan struct{}
	err      error
}

// launch starts a binary of dir on a processor. Everything has one processor and so runs with GOMAXPROCS=1.
func launch(dir string, p placement, cpu int, binary string, args ...string) (*process, error) {
	r := &process{
		name: binary, cmd: exec.Command(filepath.Join(dir, binary), args...), lines: make(chan string, 16),
		done: make(chan struct{}),
	}
	log, err := os.CreateTemp(dir, filepath.Base(binary)+"-*.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	r.cmd.Stderr, r.stderr = log, log.Name()
	r.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	// An interrupt at the terminal is for the harness, which then stops them in order.
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if r.stdin, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.start(r.cmd, cpu); err != nil {
		return nil, fmt.Errorf("start %s: %w", binary, err)
	}
	go func() {
		scanner := bufio.NewScanner(out)
		scanner.Buffer(nil, 1<<20)
		for scanner.Scan() {
			r.lines <- scanner.Text()
		}
		r.err = r.cmd.Wait()
		close(r.done)
	}()
	return r, nil
}

// hear waits for the next line of JSON that the process says.
func (r *process) hear(ctx context.Context, into any) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case line := <-r.lines:
		if err := json.Unmarshal([]byte(line), into); err != nil {
			return fmt.Errorf("%s said %q: %w", r.name, line, err)
		}
		return nil
	case <-r.done:
		return fmt.Errorf("%s ended: %v\n%s", r.name, r.err, r.tail())
	case <-ctx.Done():
		return fmt.Errorf("%s said nothing: %w\n%s", r.name, ctx.Err(), r.tail())
	}
}

func (r *process) pid() int { return r.cmd.Process.Pid }

// ask gives the process a command and waits for the answer.
func (r *process) ask(ctx context.Context, into any, format string, args ...any) error {
	if _, err := fmt.Fprintf(r.stdin, format+"\n", args...); err != nil {
		return fmt.Errorf("tell %s: %w", r.name, err)
	}
	return r.hear(ctx, into)
}

// alive says why the process is gone, if it is.
func (r *process) alive() error {
	select {
	case <-r.done:
		return fmt.Errorf("%s ended: %v\n%s", r.name, r.err, r.tail())
	default:
		return nil
	}
}

// tail is the end of what the process wrote to its standard error.
func (r *process) tail() string {
	raw, err := os.ReadFile(r.stderr)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// stop asks the process to end, and waits until it has.
func (r *process) stop() error {
	if r.bySignal {
		_ = r.cmd.Process.Signal(syscall.SIGTERM)
	}
	_ = r.stdin.Close()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		select {
		case <-r.lines: // nobody listens any more
		case <-r.done:
			if r.err != nil {
				return fmt.Errorf("%s: %w\n%s", r.name, r.err, r.tail())
			}
			return nil
		case <-timeout.C:
			_ = r.cmd.Process.Kill()
			return fmt.Errorf("%s did not end in %v", r.name, patience)
		}
	}
}
