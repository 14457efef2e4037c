package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// absent is what a baseline may list: what an edge that has tools alone does not have. Each line's reason begins with
// one of these.
var absent = []string{
	"completion", "json-schema-2020-12", "logging", "multi-round requests", "prompts", "resources",
	"sampling and elicitation", "sessions", "subscriptions",
}

// expectation is a line of a baseline: a check that is known not to succeed.
type expectation struct {
	scenario, check, reason string
}

func (e expectation) String() string { return e.scenario + ":" + e.check }

var baselineLine = regexp.MustCompile(`^  - ([a-z0-9-]+):([A-Za-z0-9-]+) # (.+)$`)

// parseBaseline reads a baseline. It is stricter than the suite: below the one key `server` stand checks alone, never
// whole scenarios, sorted and once each, and every one has its reason in a comment on its line.
func parseBaseline(text string) ([]expectation, error) {
	var all []expectation
	var problems []error
	inside := false
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		report := func(format string, args ...any) {
			problems = append(problems, fmt.Errorf("line %d: "+format, append([]any{i + 1}, args...)...))
		}
		if !inside {
			if line == "server:" {
				inside = true
			} else if !strings.HasPrefix(line, "#") {
				report("want a comment or server:")
			}
			continue
		}
		m := baselineLine.FindStringSubmatch(line)
		if m == nil {
			report("want `  - scenario:check # what is absent: reason`")
			continue
		}
		e := expectation{m[1], m[2], m[3]}
		if what, why, _ := strings.Cut(e.reason, ": "); why == "" || !slices.Contains(absent, what) {
			report("the reason must begin with what is absent, one of %s, then a colon", strings.Join(absent, ", "))
		}
		if n := len(all); n > 0 && all[n-1].String() >= e.String() {
			report("%s does not come after %s", e, all[n-1])
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		problems = append(problems, errors.New("it lists nothing below the key server"))
	}
	return all, errors.Join(problems...)
}
