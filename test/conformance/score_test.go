package main

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	good, bad, warned := check{"x", "SUCCESS", ""}, check{"y", "FAILURE", "no"}, check{"y", "WARNING", "hm"}
	said := check{"z", "INFO", ""}
	listed := []expectation{{"a", "y", "prompts: there are none"}}
	for _, row := range []struct {
		name               string
		results            map[string][]check
		expected           []expectation
		outcome            string // of scenario a, which is scored
		entirely, forgiven int
		err                string // a part of the error; empty: there is none
	}{
		{"all succeed", map[string][]check{"a": {good, said}}, nil, "passes", 1, 1, ""},
		{"a failure that nobody expects", map[string][]check{"a": {good, bad}}, nil, "fails", 0, 0, "r: a:y is FAILURE: no"},
		{"a warning that nobody expects", map[string][]check{"a": {good, warned}}, nil, "warns", 0, 1, "r: a:y is WARNING: hm"},
		{"an expected failure", map[string][]check{"a": {good, bad}}, listed, "fails", 0, 0, ""},
		{"an expected warning", map[string][]check{"a": {good, warned}}, listed, "warns", 0, 1, ""},
		{"an expected failure beside another", map[string][]check{"a": {bad, {"w", "FAILURE", "no"}}}, listed, "fails", 0, 0, "r: a:w is FAILURE"},
		{"the expected failure succeeds", map[string][]check{"a": {{"y", "SUCCESS", ""}}}, listed, "passes", 1, 1, "a:y, which neither fails nor warns"},
		{"the expected failure is skipped", map[string][]check{"a": {good, {"y", "SKIPPED", ""}}}, listed, "passes", 1, 1, "a:y, which neither fails nor warns"},
		{"the expected failure is gone", map[string][]check{"a": {good}}, listed, "passes", 1, 1, "a:y, which neither fails nor warns"},
		{"another scenario is expected to fail", map[string][]check{"a": {good}, "b": {bad}}, []expectation{{"b", "y", "prompts: there are none"}}, "passes", 1, 1, "b:y, which neither fails nor warns"},
		{"what is not scored may fail", map[string][]check{"a": {good}, "b": {bad}}, nil, "passes", 1, 1, ""},
		{"nothing but remarks", map[string][]check{"a": {said}}, nil, "skipped", 0, 1, ""},
		{"a scored scenario was not run", nil, nil, "missing", 0, 0, "r: a was not run"},
	} {
		t.Run(row.name, func(t *testing.T) {
			card := judge(&plan{revision: "r", scored: []string{"a"}, expected: row.expected}, row.results)
			if got := card.scored[0].outcome(); got != row.outcome {
				t.Errorf("outcome %s, want %s", got, row.outcome)
			}
			if entirely, forgiven := card.passed(); entirely != row.entirely || forgiven != row.forgiven {
				t.Errorf("passed %d and %d, want %d and %d", entirely, forgiven, row.entirely, row.forgiven)
			}
			switch err := card.err(); {
			case row.err == "" && err != nil:
				t.Error(err)
			case row.err != "" && (err == nil || !strings.Contains(err.Error(), row.err)):
				t.Errorf("got the error %v, want one with %q", err, row.err)
			}
		})
	}
	t.Run("the suite fails for a reason of its own", func(t *testing.T) {
		card := judge(&plan{revision: "r", scored: []string{"a"}}, map[string][]check{"a": {good}})
		card.suiteFailure = "the suite ended with exit status 1"
		if err := card.err(); err == nil || !strings.Contains(err.Error(), card.suiteFailure) {
			t.Errorf("got the error %v", err)
		}
	})
	t.Run("report", func(t *testing.T) {
		var out strings.Builder
		judge(&plan{revision: "r", scored: []string{"a"}}, map[string][]check{"a": {good}, "b": {bad}}).report(&out)
		for _, want := range []string{"r, scored:\n  passes   a ", "r, run and not scored:\n  fails    b "} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in the report:\n%s", want, out.String())
			}
		}
	})
}

func TestCheckReadme(t *testing.T) {
	card := func(revision string, passed, scored int) *scoreCard {
		c := &scoreCard{revision: revision}
		for i := range scored {
			s := scenario{ran: true, succeeded: 1}
			if i >= passed {
				s.warns = 1
			}
			c.scored = append(c.scored, s)
		}
		return c
	}
	cards := []*scoreCard{card("2026-07-28", 2, 3), card("2025-11-25", 1, 4)}
	if got, want := forgivingLine(cards), "without a failure, warnings forgiven: 2026-07-28 3, 2025-11-25 4"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	const line = "conformance: 2026-07-28 2 of 3 scored, 2025-11-25 1 of 4 scored"
	for _, row := range []struct {
		name, readme string
		ok           bool
	}{
		{"the same", "# Title\n\n" + line + "\n", true},
		{"no line", "# Title\n", false},
		{"another number", strings.Replace(line, "2 of 3", "3 of 3", 1), false},
		{"twice", line + "\n" + line + "\n", false},
		{"within another line", "It prints " + line + "\n", false},
		{"with more behind it", line + ".\n", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := checkReadme(row.readme, cards); (err == nil) != row.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
