package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// maxPassword is the longest password in bytes that is read: 256 characters.
const maxPassword = 4 * 256

// password is where a password comes from. It is never a flag's value, which other users of the computer could see.
type password struct {
	stdin, generate, none bool
	read                  string // by get
}

func (p *password) flags(c *cobra.Command, optional bool) {
	f := c.Flags()
	f.BoolVar(&p.stdin, "password-stdin", false, "read the password from the first line of standard input")
	f.BoolVar(&p.generate, "generate-password", false, "make a password up, and print it this once")
	names := []string{"password-stdin", "generate-password"}
	if optional {
		f.BoolVar(&p.none, "no-password", false, "without a password: the user cannot sign in by one")
		names = append(names, "no-password")
	}
	c.MarkFlagsMutuallyExclusive(names...)
}

// shown is the password where it was made up, which nobody knows otherwise.
func (p *password) shown() secret {
	if p.generate {
		return secret{"password", p.read}
	}
	return secret{}
}

// get reads the password, or makes it up. It comes before the connection, which does not wait while somebody types.
func (p *password) get(c *cobra.Command) (err error) {
	switch {
	case p.none:
	case p.generate:
		p.read = rand.Text()
	case p.stdin:
		if p.read, err = firstLine(c.InOrStdin()); err != nil {
			return fmt.Errorf("--password-stdin: %w", err)
		}
	default:
		terminal, ok := c.InOrStdin().(*os.File)
		if !ok || !term.IsTerminal(int(terminal.Fd())) {
			return errors.New("there is no terminal to ask for the password: say --password-stdin or --generate-password")
		}
		p.read, err = ask(c.Context(), terminal, c.ErrOrStderr())
	}
	return err
}

// firstLine reads one line without its end, whichever system wrote it.
func firstLine(from io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(from, maxPassword+3)).ReadString('\n')
	if err != nil && err != io.EOF {
		return "", err
	}
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	switch {
	case line == "":
		return "", errors.New("standard input is empty, or begins with an empty line")
	case len(line) > maxPassword:
		return "", errors.New("the line is longer than a password can be, which has at most 256 characters")
	}
	return line, nil
}

// ask reads a password twice without showing it. Ctrl-C ends the context, which ends the question.
func ask(ctx context.Context, terminal *os.File, to io.Writer) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	type answer struct {
		typed string
		err   error
	}
	var typed [2]string
	for i, prompt := range []string{"Password: ", "Once more: "} {
		fmt.Fprint(to, prompt)
		answers := make(chan answer, 1)
		go func() { // which ends with the process, where nobody answers
			raw, err := term.ReadPassword(fd)
			answers <- answer{string(raw), err}
		}()
		select {
		case a := <-answers:
			fmt.Fprintln(to)
			if a.err != nil {
				return "", fmt.Errorf("read the password: %w", a.err)
			}
			typed[i] = a.typed
		case <-ctx.Done():
			_ = term.Restore(fd, before)
			fmt.Fprintln(to)
			return "", ctx.Err()
		}
	}
	if typed[0] != typed[1] {
		return "", errors.New("the passwords differ")
	}
	if typed[0] == "" {
		return "", errors.New("the password is empty")
	}
	return typed[0], nil
}
