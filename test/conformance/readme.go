package main

import (
	"fmt"
	"regexp"
	"strings"
)

// lastLine is what the command prints last, and what the README repeats.
func lastLine(cards []*scoreCard) string {
	var parts []string
	for _, c := range cards {
		entirely, _ := c.passed()
		parts = append(parts, fmt.Sprintf("%s %d of %d scored", c.revision, entirely, len(c.scored)))
	}
	return "conformance: " + strings.Join(parts, ", ")
}

// forgivingLine says what the suite's own summary would count.
func forgivingLine(cards []*scoreCard) string {
	var parts []string
	for _, c := range cards {
		_, forgiven := c.passed()
		parts = append(parts, fmt.Sprintf("%s %d", c.revision, forgiven))
	}
	return "without a failure, warnings forgiven: " + strings.Join(parts, ", ")
}

// claim is a line of the README that says what the command says last.
var claim = regexp.MustCompile(`(?m)^conformance: .*$`)

// checkReadme fails where the README does not say the same as the run, once.
func checkReadme(readme string, cards []*scoreCard) error {
	want := lastLine(cards)
	claims := claim.FindAllString(readme, -1)
	if len(claims) != 1 {
		return fmt.Errorf("README.md has %d lines that begin with `conformance: `, want one: %q", len(claims), want)
	}
	if claims[0] != want {
		return fmt.Errorf("README.md says %q, this run %q", claims[0], want)
	}
	return nil
}
