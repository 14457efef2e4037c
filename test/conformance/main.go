// Command conformance runs the official MCP conformance suite against a registry, an edge and services/conformance, each
// a process of its own as users run it, and holds the outcome against what is committed: the baselines beside this file
// and the line in README.md.
//
//	go run ./test/conformance [-results DIR]
//
// What lives here: the starting of the programs on loopback, the running of the pinned suite once for each protocol
// revision, and the judging of its result files. In come the suite's frozen requirements, its checks, the baselines and
// the README; out goes a report whose last line is
//
//	conformance: 2026-07-28 N of 37 scored, 2025-11-25 N of 30 scored
//
// A scored scenario is counted where it passes entirely: it has a check that succeeded, and none that failed or warned.
// The suite's own summary forgives warnings; the line before says what it would count. The command fails where the suite
// does, where a check of a scored scenario fails or warns that no baseline lists, where a baseline lists one that does
// neither, and where the README says another line.
//
// What it must not know: how edge and registry are made. It runs them by their configuration alone, and it waits for
// what they log. The suite can send no credentials, so that the edge lets callers without any into the conformance zone.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// patience bounds the whole run. It is generous: a run that reaches it hangs.
const patience = 10 * time.Minute

// revisions are the protocol revisions whose requirements are run, in the order of the last line.
var revisions = []string{"2026-07-28", "2025-11-25"}

func main() {
	results := flag.String("results", "", "folder in which to keep the suite's result files and everything's output; empty keeps nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, patience)
	err := run(ctx, os.Stdout, *results)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, results string) (err error) {
	root, err := repository(ctx)
	if err != nil {
		return err
	}
	s, err := openSuite(ctx, filepath.Join(root, "test", "conformance"))
	if err != nil {
		return err
	}
	if results == "" {
		if results, err = os.MkdirTemp("", "sallyport-conformance-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(results)) }()
	}
	if results, err = filepath.Abs(results); err != nil {
		return err
	}
	var plans []*plan
	for _, revision := range revisions {
		p, err := s.plan(revision)
		if err != nil {
			return err
		}
		plans = append(plans, p)
	}
	scores, err := score(ctx, s, plans, root, results)
	if err != nil {
		return err
	}
	for _, score := range scores {
		score.report(out)
		err = errors.Join(err, score.err())
	}
	readme, readErr := os.ReadFile(filepath.Join(root, "README.md"))
	err = errors.Join(err, readErr, checkReadme(string(readme), scores))
	fmt.Fprintln(out, forgivingLine(scores))
	fmt.Fprintln(out, lastLine(scores))
	return err
}

// score starts the house, runs the suite for each plan and stops the house.
func score(ctx context.Context, s *suite, plans []*plan, root, results string) (scores []*scoreCard, err error) {
	h, err := startHouse(ctx, root, filepath.Join(results, "house"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.stop()) }()
	for _, p := range plans {
		card, err := s.score(ctx, h.url, p, filepath.Join(results, p.revision))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.revision, err)
		}
		scores = append(scores, card)
	}
	return scores, nil
}

// repository finds the folder of the module that the working directory is in.
func repository(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("find the module's folder: %w: run it within the repository", err)
	}
	return strings.TrimSpace(string(out)), nil
}
