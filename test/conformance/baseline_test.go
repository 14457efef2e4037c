package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestParseBaseline(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       []expectation
		err        string // a part of the error; empty: there is none
	}{
		{
			"comments, and two lines in their order",
			"# why\nserver:\n  - a:x # prompts: there are none\n  - a:y # resources: there are none\n",
			[]expectation{{"a", "x", "prompts: there are none"}, {"a", "y", "resources: there are none"}}, "",
		},
		{"what is absent has a name of several words", "server:\n  - a:x # multi-round requests: not yet\n", []expectation{{"a", "x", "multi-round requests: not yet"}}, ""},
		{"no reason", "server:\n  - a:x\n", nil, "line 2: want"},
		{"an empty reason", "server:\n  - a:x # \n", nil, "line 2: want"},
		{"a reason that names nothing", "server:\n  - a:x # prompts\n", nil, "line 2: the reason must begin"},
		{"tools are not absent", "server:\n  - a:x # tools: too hard\n", nil, "line 2: the reason must begin"},
		{"a whole scenario", "server:\n  - a # prompts: there are none\n", nil, "line 2: want"},
		{"a check twice", "server:\n  - a:x # prompts: there are none\n  - a:x # prompts: there are none\n", nil, "line 3: a:x does not come after a:x"},
		{"not sorted", "server:\n  - b:x # prompts: there are none\n  - a:x # prompts: there are none\n", nil, "line 3: a:x does not come after b:x"},
		{"another key", "client:\n", nil, "line 1: want a comment or server:"},
		{"a second key", "server:\n  - a:x # prompts: there are none\nclient:\n", nil, "line 3: want"},
		{"nothing listed", "server:\n", nil, "nothing below the key server"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := parseBaseline(row.text)
			if row.err == "" {
				if err != nil || !slices.Equal(got, row.want) {
					t.Errorf("got %v, %v; want %v", got, err, row.want)
				}
			} else if err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("got the error %v, want one with %q", err, row.err)
			}
		})
	}
}

// Whether what is committed agrees with the suite only a run can tell; that it has its form, every test run does.
func TestCommitted_baselinesAndReadmeHaveTheirForm(t *testing.T) {
	listed := map[string]int{}
	for _, revision := range revisions {
		text, err := os.ReadFile("baseline-" + revision + ".yml")
		if err != nil {
			t.Fatal(err)
		}
		all, err := parseBaseline(string(text))
		if err != nil {
			t.Errorf("%s: %v", revision, err)
		}
		scenarios := map[string]bool{}
		for _, e := range all {
			scenarios[e.scenario] = true
		}
		listed[revision] = len(scenarios)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var cards []*scoreCard
	for i, count := range []int{37, 30} { // as many as the suite's frozen requirements score
		card := &scoreCard{revision: revisions[i]}
		for n := range count {
			s := scenario{ran: true, succeeded: 1}
			if n < listed[revisions[i]] {
				s.failed = 1
			}
			card.scored = append(card.scored, s)
		}
		cards = append(cards, card)
	}
	if err := checkReadme(string(readme), cards); err != nil {
		t.Errorf("the scenarios that no baseline lists are those that pass: %v", err)
	}
}
