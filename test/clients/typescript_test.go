package clients_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sallyport-dev/sallyport/test/stack"
)

// typeScript1 is the one mode of version 1 of the SDK: it asks for the newest version that it knows.
var typeScript1 = []mode{
	{name: "its only choice", version: version20251125, noAbort: true},
}

// typeScript2 are the ways in which version 2 of the SDK negotiates, as JSON. It can pin no legacy version.
var typeScript2 = []mode{
	{name: "auto", ask: `"auto"`, version: version20260728},
	{name: "legacy", ask: `"legacy"`, version: version20251125, noAbort: true},
	{name: "pin 2026-07-28", ask: `{"pin":"2026-07-28"}`, version: version20260728},
}

func testTypeScript(t *testing.T, h *house, driver string, modes []mode) {
	stack.NeedNode(t)
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			key := keys(driver, m)
			job := map[string]any{
				"url": h.MCPURL, "clientId": h.Machines.Application.ClientID, "clientSecret": h.Machines.Application.ClientSecret,
				"noAbort": m.noAbort, "keys": key, "attendees": attendees, "calls": calls,
			}
			if m.ask != "" {
				job["negotiation"] = json.RawMessage(m.ask)
			}
			var r struct {
				report
				// Gathered is how many tools the SDK lists when it turns the pages by itself, which version 1 does not.
				Gathered *int
			}
			drive(t, &r, driver, job)
			if r.Gathered != nil && *r.Gathered != len(r.Tools) {
				t.Errorf("the SDK gathers %d tools, and pages hold %d", *r.Gathered, len(r.Tools))
			}
			h.check(t, m, driver, &r.report)
		})
	}
}

// drive runs a driver and reads the report that it prints.
func drive(t *testing.T, report any, driver string, job any) {
	t.Helper()
	raw, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), stack.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", filepath.Join("clients", driver), string(raw))
	cmd.Dir = filepath.Join(stack.Root(), "tools")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", driver, err, out)
	}
	if err := json.Unmarshal(out, report); err != nil {
		t.Fatalf("%s printed no report: %v\n%s", driver, err, out)
	}
}
