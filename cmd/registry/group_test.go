package main

import (
	"strings"
	"testing"
)

func TestGroup_refusesAWordThatIsNoSubcommand(t *testing.T) {
	for _, row := range []struct{ line, wanted string }{
		{"get foo", "zones, services, instances, tools"},
		{"describe zone app-api", "tool"},
		{"machine rename x", "create, list, rotate, set-roles, disable, enable, remove"},
	} {
		t.Run(row.line, func(t *testing.T) {
			_, err := run(strings.Fields(row.line)...)
			if err == nil || !strings.Contains(err.Error(), row.wanted) {
				t.Errorf("error %v, want one that offers %s", err, row.wanted)
			}
		})
	}
	if out, err := run("get"); err != nil || !strings.Contains(out, "Available Commands") {
		t.Errorf("a group alone gives %q, %v, want its help", out, err)
	}
}
