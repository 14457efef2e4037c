package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// farewell is how long a process may take to stop by itself.
const farewell = 30 * time.Second

// process is a running program of ours that logs lines of JSON to stderr.
type process struct {
	name  string
	log   string // the file that all of its output is copied to
	cmd   *exec.Cmd
	lines chan map[string]any // what it logs, until it ends
	done  chan struct{}       // closed when it has ended
	err   error               // how it ended; read after done
}

// start runs a binary with more environment than this process has. The working directory is dir, and the output goes to
// a file there.
func start(dir string, env []string, binary string, args ...string) (*process, error) {
	name := filepath.Base(binary)
	p := &process{
		name: name, log: filepath.Join(dir, name+".log"), cmd: exec.Command(binary, args...),
		lines: make(chan map[string]any, 64), done: make(chan struct{}),
	}
	file, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), env...)
	// A group of its own: a signal to the runner's group is the runner's to handle, which stops all in order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := p.cmd.StderrPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		defer close(p.done)
		p.read(io.TeeReader(stderr, file))
		p.err = p.cmd.Wait()
		_ = file.Close()
	}()
	return p, nil
}

// read hands lines to whoever waits. Lines that nobody waits for fill the channel and are then dropped; what is no JSON
// is skipped.
func (p *process) read(from io.Reader) {
	defer close(p.lines)
	scanner := bufio.NewScanner(from)
	scanner.Buffer(nil, 1<<20)
	for scanner.Scan() {
		var line map[string]any
		if json.Unmarshal(scanner.Bytes(), &line) != nil {
			continue
		}
		select {
		case p.lines <- line:
		default:
		}
	}
	_, _ = io.Copy(io.Discard, from)
}

// await waits for a line with the message, and gives it.
func (p *process) await(ctx context.Context, message string) (map[string]any, error) {
	for {
		select {
		case line, running := <-p.lines:
			if !running {
				<-p.done
				return nil, fmt.Errorf("%s ended before it logged %q: %w\n%s", p.name, message, p.err, p.output())
			}
			if line["msg"] == message {
				return line, nil
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("%s did not log %q: %w\n%s", p.name, message, ctx.Err(), p.output())
		}
	}
}

// stop ends the process, by force where it takes too long, and waits for its end.
func (p *process) stop() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended by itself: %w\n%s", p.name, p.err, p.output())
	default:
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	late := time.NewTimer(farewell)
	defer late.Stop()
	select {
	case <-p.done:
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-p.done
		return fmt.Errorf("%s did not stop within %v of SIGTERM\n%s", p.name, farewell, p.output())
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w\n%s", p.name, p.err, p.output())
	}
	return nil
}

// output is what the process has logged.
func (p *process) output() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
