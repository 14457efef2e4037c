package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// check is one check of a scenario, as the suite writes it to checks.json.
type check struct {
	ID           string `json:"id"`
	Status       string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED or INFO
	ErrorMessage string `json:"errorMessage"`
}

func (c check) bad() bool { return c.Status == "FAILURE" || c.Status == "WARNING" }

// scenario is the outcome of one scenario.
type scenario struct {
	name                     string
	ran                      bool
	succeeded, failed, warns int
	bad                      []check // those that failed or warned
}

// passed says whether the scenario passes entirely.
func (s *scenario) passed() bool { return s.outcome() == "passes" }

// forgiven is the rule of the suite's own summary: a warning is no failure, and neither is a check that was skipped.
func (s *scenario) forgiven() bool { return s.ran && s.failed == 0 }

func (s *scenario) outcome() string {
	switch {
	case !s.ran:
		return "missing"
	case s.failed > 0:
		return "fails"
	case s.warns > 0:
		return "warns"
	case s.succeeded == 0:
		return "skipped"
	default:
		return "passes"
	}
}

// scoreCard is the outcome of one revision.
type scoreCard struct {
	revision     string
	scored       []scenario    // in the order of the requirements
	notScored    []scenario    // by name
	unexpected   []string      // bad checks of scored scenarios that the baseline does not list
	stale        []expectation // lines of the baseline whose check is not bad
	suiteFailure string        // what the suite says of its failure
}

// judge holds the results, by scenario, against the plan.
func judge(p *plan, results map[string][]check) *scoreCard {
	card := &scoreCard{revision: p.revision}
	known := map[string]expectation{}
	for _, e := range p.expected {
		known[e.String()] = e
	}
	used := map[string]bool{}
	for _, name := range p.scored {
		checks, ran := results[name]
		s := newScenario(name, checks)
		s.ran = ran
		for _, c := range s.bad {
			line := expectation{scenario: name, check: c.ID}.String()
			if _, listed := known[line]; listed {
				used[line] = true
			} else {
				card.unexpected = append(card.unexpected, fmt.Sprintf("%s is %s: %s", line, c.Status, c.ErrorMessage))
			}
		}
		card.scored = append(card.scored, s)
	}
	for _, e := range p.expected {
		if !used[e.String()] {
			card.stale = append(card.stale, e)
		}
	}
	for name, checks := range results {
		if !slices.Contains(p.scored, name) {
			card.notScored = append(card.notScored, newScenario(name, checks))
		}
	}
	slices.SortFunc(card.notScored, func(a, b scenario) int { return strings.Compare(a.name, b.name) })
	return card
}

func newScenario(name string, checks []check) scenario {
	s := scenario{name: name, ran: true}
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			s.succeeded++
		case "FAILURE":
			s.failed++
		case "WARNING":
			s.warns++
		}
		if c.bad() {
			s.bad = append(s.bad, c)
		}
	}
	return s
}

// passed counts the scored scenarios that pass entirely, and those that the suite's own summary forgives.
func (c *scoreCard) passed() (entirely, forgiven int) {
	for i := range c.scored {
		if c.scored[i].passed() {
			entirely++
		}
		if c.scored[i].forgiven() {
			forgiven++
		}
	}
	return entirely, forgiven
}

// report says how each scenario went.
func (c *scoreCard) report(out io.Writer) {
	for _, part := range []struct {
		heading   string
		scenarios []scenario
	}{{"scored", c.scored}, {"run and not scored", c.notScored}} {
		fmt.Fprintf(out, "%s, %s:\n", c.revision, part.heading)
		for i := range part.scenarios {
			s := &part.scenarios[i]
			fmt.Fprintf(out, "  %-7s  %-46s %2d succeeded, %d failed, %d warned\n", s.outcome(), s.name, s.succeeded, s.failed, s.warns)
		}
	}
}

// err says everything that is not as it should be.
func (c *scoreCard) err() error {
	var problems []error
	report := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf(c.revision+": "+format, args...))
	}
	for i := range c.scored {
		if !c.scored[i].ran {
			report("%s was not run", c.scored[i].name)
		}
	}
	for _, text := range c.unexpected {
		report("%s", text)
	}
	for _, e := range c.stale {
		report("the baseline lists %s, which neither fails nor warns: remove the line", e)
	}
	// What the suite objects to is said above as a rule, and then better.
	if c.suiteFailure != "" && len(problems) == 0 {
		report("%s", c.suiteFailure)
	}
	return errors.Join(problems...)
}
