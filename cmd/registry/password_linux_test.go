package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// openTerminal gives both ends of a pseudo terminal: what a person sees and types into, and what a program reads.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("SKIP: no terminal can be made: %v", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

func echoes(terminal *os.File) bool {
	state, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	return err != nil || state.Lflag&unix.ECHO != 0
}

// prompts is what a command wrote so far.
type prompts struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *prompts) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *prompts) has(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Contains(p.text.String(), text)
}

func TestPassword_typedWithoutEcho(t *testing.T) {
	for _, row := range []struct{ name, first, second, err string }{
		{"the same twice", "correct horse battery", "correct horse battery", ""},
		{"a slip", "correct horse battery", "correct hose battery", "differ"},
		{"nothing", "", "", "empty"},
	} {
		t.Run(row.name, func(t *testing.T) {
			person, program := openTerminal(t)
			var shown prompts
			c := newRoot()
			c.SetContext(t.Context())
			c.SetIn(program)
			c.SetErr(&shown)
			p, done := new(password), make(chan error, 1)
			go func() { done <- p.get(c) }()
			for _, step := range []struct{ prompt, typed string }{{"Password: ", row.first}, {"Once more: ", row.second}} {
				eventually(t, "the prompt "+step.prompt+"is there and the echo off", func() bool {
					return shown.has(step.prompt) && !echoes(program)
				})
				if _, err := person.WriteString(step.typed + "\n"); err != nil {
					t.Fatal(err)
				}
			}
			err := <-done
			if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Errorf("err = %v, want %q", err, row.err)
			}
			if err == nil && p.read != row.first {
				t.Errorf("read %q", p.read)
			}
			if shown.has("horse") {
				t.Error("the password is shown")
			}
			// A mark of ours ends what the terminal echoed, if it echoed anything.
			if _, err := program.WriteString("END"); err != nil {
				t.Fatal(err)
			}
			var screen []byte
			for !bytes.Contains(screen, []byte("END")) {
				b := make([]byte, 256)
				n, err := person.Read(b)
				if err != nil {
					t.Fatal(err)
				}
				screen = append(screen, b[:n]...)
			}
			if bytes.Contains(screen, []byte("horse")) {
				t.Errorf("the terminal shows %q", screen)
			}
		})
	}
}

func TestPassword_interruptedAtThePrompt(t *testing.T) {
	person, program := openTerminal(t)
	var shown prompts
	ctx, interrupt := context.WithCancel(t.Context())
	c := newRoot()
	c.SetContext(ctx)
	c.SetIn(program)
	c.SetErr(&shown)
	done := make(chan error, 1)
	go func() { done <- new(password).get(c) }()
	eventually(t, "the prompt is there and the echo off", func() bool { return shown.has("Password: ") && !echoes(program) })
	interrupt()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	if !echoes(program) {
		t.Error("the terminal is left without echo")
	}
	// What still reads is ended, as the end of the process would end it.
	if _, err := person.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
}
