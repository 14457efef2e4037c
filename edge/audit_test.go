package edge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sallyport-dev/sallyport/edge"
	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// auditLine is one line of the audit log, without what differs from run to run.
type auditLine struct {
	Event       string
	Tool        string
	Permitted   *bool
	Rule        string
	Outcome     string
	Class       string
	Limit       string
	Credentials string
	Address     string
	Status      int
	Participant *struct{ Kind, Organization, Application, ID string }
}

// who is the participant's kind and ids.
func (l *auditLine) who() string {
	if l.Participant == nil {
		return ""
	}
	return strings.Join([]string{l.Participant.Kind, l.Participant.Organization, l.Participant.Application, l.Participant.ID}, " ")
}

// readAudit reads the log, by the references of the requests in their order.
func readAudit(t *testing.T, text string) (lines map[string][]auditLine, order []string) {
	t.Helper()
	lines = map[string][]auditLine{}
	for line := range strings.Lines(text) {
		var read struct {
			Time      string
			Reference string
			auditLine
		}
		if err := json.Unmarshal([]byte(line), &read); err != nil || read.Reference == "" || read.Time == "" {
			t.Fatalf("%q: %v", line, err)
		}
		if lines[read.Reference] == nil {
			order = append(order, read.Reference)
		}
		lines[read.Reference] = append(lines[read.Reference], read.auditLine)
	}
	return lines, order
}

func TestAudit_saysWhatHappened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	h := newHouse(t, func(c *configv1.EdgeConfig) {
		c.AuditLog = &configv1.AuditLog{Path: path}
		c.MaxCallsPerParticipant = 1
	})
	p := startProbe(t, "one")
	h.register(p, "system-api")
	caller := h.system()
	stranger := h.machine(participant.Application("acme", "orders", "stranger"))
	lists := 0
	h.wait("the tools are listed", func() bool {
		lists++
		return len(h.list(caller)) > 0
	})

	const say, wait = "srv://system-api~probe.v1.ProbeService/Say", "srv://system-api~probe.v1.ProbeService/Wait"
	const tester, application = "KIND_SYSTEM   tester", "KIND_APPLICATION acme orders stranger"
	text := func() string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	// What came until now is how the edge and its machines came to be.
	h.settle(func() bool { return strings.Count(text(), `"event":"list"`) == lists })
	before := len(text())
	type row struct {
		event, tool, permitted, outcome, who string
	}
	var want [][]row
	did := func(rows ...row) { want = append(want, rows) }
	const yes = "true none"

	h.call(caller, "say", `{"word":"canary"}`)
	did(row{"decision", say, yes, "", tester}, row{"call", say, "", "SUCCESS NONE", tester})
	h.call(caller, "say", `{"canary":1}`)
	did(row{"decision", say, yes, "", tester}, row{"call", say, "", "TOOL_ERROR INPUT_VALIDATION", tester})
	h.call(caller, "canary", `{}`)
	did(row{"decision", "UNKNOWN", "false no_tool", "", tester}, row{"call", "UNKNOWN", "", "REJECTED AUTHORIZATION", tester})
	h.call(caller, "deny", `{}`)
	did(row{"decision", "UNKNOWN", "false no_tool", "", tester}, row{"call", "UNKNOWN", "", "REJECTED AUTHORIZATION", tester})
	h.call(stranger, "say", `{"word":"canary"}`)
	did(row{"decision", "UNKNOWN", "false zone", "", application}, row{"call", "UNKNOWN", "", "REJECTED AUTHORIZATION", application})
	h.call(credentials{caller.id, "canary"}, "say", `{}`)
	did(row{event: "authentication", outcome: "SECRET 127.0.0.1 401"})
	h.call(credentials{"canary", "canary"}, "say", `{}`)
	did(row{event: "authentication", outcome: "SECRET 127.0.0.1 401"})
	h.call(credentials{}, "say", `{}`)
	did(row{event: "authentication", outcome: "NONE 127.0.0.1 401"})
	h.post(caller, `{"jsonrpc":"2.0","id":1,"method":"ping"}`) // says nothing
	h.post(caller, `canary`)                                   // neither

	// A call that its caller leaves, and one that the limit refuses meanwhile.
	ctx, leave := context.WithCancel(t.Context())
	var calling sync.WaitGroup
	calling.Go(func() {
		h.postFrom(ctx, caller, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`)
	})
	receive(t, p.running)
	h.call(caller, "say", `{}`)
	leave()
	calling.Wait()
	did(row{"decision", wait, yes, "", tester}, row{"call", wait, "", "CANCELLED TRANSPORT", tester})
	did(row{"decision", say, yes, "", tester}, row{"call", say, "", "TOOL_ERROR INTERCEPTOR CALLS", tester})
	h.list(caller)
	did(row{event: "list", outcome: "SUCCESS NONE", who: tester})

	lines := 0
	for _, rows := range want {
		lines += len(rows)
	}
	h.settle(func() bool { return strings.Count(text()[before:], "\n") >= lines })
	all, order := readAudit(t, text()[before:])
	var got [][]row
	for _, reference := range order {
		var rows []row
		for _, l := range all[reference] {
			r := row{event: l.Event, tool: l.Tool, who: l.who()}
			if l.Permitted != nil {
				r.permitted = strconv.FormatBool(*l.Permitted) + " " + l.Rule
			}
			switch l.Event {
			case "authentication":
				r.outcome = l.Credentials + " " + l.Address + " " + strconv.Itoa(l.Status)
			case "call", "list":
				r.outcome = strings.TrimSpace(l.Outcome + " " + l.Class + " " + l.Limit)
			}
			rows = append(rows, r)
		}
		got = append(got, rows)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	for _, canary := range []string{"canary", caller.secret} {
		if strings.Contains(text(), canary) {
			t.Errorf("%q is in the log:\n%s", canary, text())
		}
	}
	for _, line := range []string{
		`sallyport_edge_refused_authentications_total{credentials="none"} 1`,
		`sallyport_edge_refused_authentications_total{credentials="bearer"} 0`,
		`sallyport_edge_limited_total{limit="calls"} 1`,
		`sallyport_edge_limited_total{limit="requests"} 0`,
		`sallyport_edge_audit_lost_lines_total 0`,
	} {
		if page := h.get("/metrics"); !strings.Contains(page, line+"\n") {
			t.Errorf("no %s in:\n%s", line, page)
		}
	}

	// The log of the process names the same requests.
	for _, reference := range order {
		if !strings.Contains(h.log.String(), `"reference":"`+reference+`"`) {
			t.Errorf("%s is not in the log", reference)
		}
	}
}

// What was decided last is written when the edge stops.
func TestAudit_isWholeAfterTheEnd(t *testing.T) {
	h := newHouse(t)
	out := new(syncBuffer)
	e, url := h.openEdge(defaults(), edge.WithAuditLog(out))
	receive(t, e.Ready())
	const requests = 50
	var calling sync.WaitGroup
	for range requests {
		calling.Go(func() {
			h := *h
			h.url = url
			h.call(credentials{"nobody", "x"}, "say", `{}`)
		})
	}
	calling.Wait()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `"event":"authentication"`); n != requests {
		t.Errorf("%d lines of %d requests", n, requests)
	}
	if err := e.ReopenAuditLog(); err != nil {
		t.Errorf("open anew what is no file: %v", err)
	}
}

// broken is a log that cannot be written.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestAudit_refusesNobodyWhereItCannotBeWritten(t *testing.T) {
	h := newHouse(t)
	e, url := h.openEdge(defaults(), edge.WithAuditLog(broken{}))
	receive(t, e.Ready())
	h.url = url
	caller := h.system()
	h.list(caller)
	h.settle(func() bool { return strings.Contains(h.log.String(), "no space left") })
	page := h.get("/metrics")
	if n := number(t, page, "sallyport_edge_audit_lost_lines_total"); n < 1 {
		t.Errorf("%v lines are lost", n)
	}
	if n := strings.Count(h.log.String(), "no space left"); n != 1 {
		t.Errorf("told of it %d times", n)
	}
	if got := bytes.Count([]byte(page), []byte(`outcome="SUCCESS"`)); got == 0 {
		t.Errorf("nothing succeeded:\n%s", page)
	}
}

// Who asks for a token and is nobody known stands in the audit log like who calls.
func TestAudit_saysWhoGotNoToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	h := newIssuingHouse(t, func(c *configv1.EdgeConfig) { c.AuditLog = &configv1.AuditLog{Path: path} })
	const refusals = `sallyport_edge_refused_authentications_total{credentials="`
	var want []string
	for range 11 {
		got, _ := h.token(credentials{"canary", "canary"}, "")
		want = append(want, "SECRET 127.0.0.1 "+strconv.Itoa(got.status))
	}
	got := h.send(http.MethodPost, "/api/auth/oauth/token", grant, "Content-Type", form)
	want = append(want, "NONE 127.0.0.1 "+strconv.Itoa(got.status))
	h.send(http.MethodPost, "/api/auth/oauth/token", "canary", "Content-Type", form) // says nothing

	var text []byte
	h.settle(func() bool {
		text, _ = os.ReadFile(path)
		return bytes.Count(text, []byte("\n")) >= len(want)
	})
	all, order := readAudit(t, string(text))
	var said []string
	for _, reference := range order {
		for _, l := range all[reference] {
			said = append(said, strings.Join([]string{l.Credentials, l.Address, strconv.Itoa(l.Status)}, " "))
			if l.Event != "authentication" {
				t.Errorf("a line of %q", l.Event)
			}
		}
		if !strings.Contains(h.log.String(), reference) {
			t.Error("a reference is not in the edge's log")
		}
	}
	if diff := cmp.Diff(want, said); diff != "" || want[0] != "SECRET 127.0.0.1 401" || want[10] != "SECRET 127.0.0.1 429" {
		t.Error(diff, want)
	}
	if bytes.Contains(text, []byte("canary")) || strings.Contains(h.log.String(), "canary") {
		t.Error("a log repeats what the caller sent")
	}
	if m := h.get("/metrics"); !strings.Contains(m, refusals+`secret"} 11`) || !strings.Contains(m, refusals+`none"} 1`) {
		t.Error("the refusals are not counted")
	}
}
