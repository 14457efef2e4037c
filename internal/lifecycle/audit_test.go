package lifecycle_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
	"github.com/sallyport-dev/sallyport/participant"
)

var audited = time.Unix(1_800_000_000, 5000).UTC()

// The line of each kind is written out here: who reads the log reads it with a program.
func TestAudit_writesOneLineForEach(t *testing.T) {
	t.Parallel()
	const head, who = `{"time":"2027-01-15T08:00:00.000005Z",`, `,"participant":{"kind":"KIND_APPLICATION","organization":"acme","application":"orders","id":"m"}`
	m := participant.Application("acme", "orders", "m")
	delegate := participant.System("delegate:1")
	delegate.OnBehalfOf = &participantv1.OnBehalfOf{OwnerId: "ada@example.com", ClientId: "https://client.example/m.json", ClientName: "canary"}
	yes, no := &lifecycle.Decision{Permitted: true, Rule: "roles"}, &lifecycle.Decision{}
	settled, decided := (*lifecycle.Audit).Settled, (*lifecycle.Audit).Decided
	for _, row := range []struct {
		name  string
		write func(*lifecycle.Audit, *lifecycle.Settlement)
		s     lifecycle.Settlement
		want  string
	}{
		{"a permitted call", decided, lifecycle.Settlement{Reference: "r", Method: "tools/call", Tool: "srv://z~p.S/M", Participant: m, Decision: yes},
			head + `"event":"decision","reference":"r","tool":"srv://z~p.S/M","permitted":true,"rule":"roles"` + who + `}`},
		{"one that is not", decided, lifecycle.Settlement{Reference: "r", Method: "tools/call", Participant: m, Decision: no},
			head + `"event":"decision","reference":"r","tool":"UNKNOWN","permitted":false` + who + `}`},
		{"a call that was answered", settled, lifecycle.Settlement{Reference: "r", Method: "tools/call", Tool: "srv://z~p.S/M", Participant: m,
			Outcome: lifecycle.Success, Class: lifecycle.None, Decision: yes, Duration: 1500, ProtocolVersion: "2025-11-25", Status: 200},
			head + `"event":"call","reference":"r","tool":"srv://z~p.S/M","outcome":"SUCCESS","class":"NONE","duration":1500` + who + `}`},
		{"a call beyond a limit", settled, lifecycle.Settlement{Reference: "r", Method: "tools/call", Tool: "srv://z~p.S/M", Participant: m,
			Outcome: lifecycle.ToolError, Class: lifecycle.Interceptor, Limit: lifecycle.LimitRate},
			head + `"event":"call","reference":"r","tool":"srv://z~p.S/M","outcome":"TOOL_ERROR","class":"INTERCEPTOR","limit":"RATE","duration":0` + who + `}`},
		{"a call of nothing", settled, lifecycle.Settlement{Reference: "r", Method: "tools/call", Participant: m, Outcome: lifecycle.Rejected, Class: lifecycle.Authorization},
			head + `"event":"call","reference":"r","tool":"UNKNOWN","outcome":"REJECTED","class":"AUTHORIZATION","duration":0` + who + `}`},
		{"a call on behalf of somebody", settled, lifecycle.Settlement{Reference: "r", Method: "tools/call", Participant: delegate, Outcome: lifecycle.Cancelled, Class: lifecycle.Transport},
			head + `"event":"call","reference":"r","tool":"UNKNOWN","outcome":"CANCELLED","class":"TRANSPORT","duration":0,"participant":{"kind":"KIND_SYSTEM",` +
				`"organization":"","application":"","id":"delegate:1","on_behalf_of":{"owner":"ada@example.com","client":"https://client.example/m.json"}}}`},
		{"a list", settled, lifecycle.Settlement{Reference: "r", Method: "tools/list", Participant: m, Outcome: lifecycle.Success, Class: lifecycle.None, Duration: 7},
			head + `"event":"list","reference":"r","outcome":"SUCCESS","class":"NONE","duration":7` + who + `}`},
		{"one who is not authenticated", settled, lifecycle.Settlement{Reference: "r", Outcome: lifecycle.Rejected, Class: lifecycle.Authentication,
			Credential: lifecycle.CredentialBearer, Address: "192.0.2.1", Status: 401},
			head + `"event":"authentication","reference":"r","credentials":"BEARER","address":"192.0.2.1","status":401}`},
		{"one who did not wait to hear so", settled, lifecycle.Settlement{Reference: "r", Outcome: lifecycle.Cancelled, Class: lifecycle.Transport,
			Credential: lifecycle.CredentialSecret, Status: 401},
			head + `"event":"authentication","reference":"r","credentials":"SECRET","address":"","status":401}`},
		{"nothing else", settled, lifecycle.Settlement{Reference: "r", Method: "ping", Participant: m, Outcome: lifecycle.Success}, ""},
		{"nothing at the door", settled, lifecycle.Settlement{Reference: "r", Limit: lifecycle.LimitRequests, Status: 429}, ""},
		{"quoted", settled, lifecycle.Settlement{Reference: "r", Method: "tools/list", Participant: participant.System("a\"\n\xff")},
			head + `"event":"list","reference":"r","outcome":"","class":"","duration":0,"participant":{"kind":"KIND_SYSTEM","organization":"","application":"","id":"a\"\n` + "\ufffd" + `"}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			a := lifecycle.NewAudit(lifecycle.AuditOptions{Out: &out})
			row.s.At = audited
			row.write(a, &row.s)
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSuffix(out.String(), "\n"); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
			if out.Len() > 0 && !json.Valid(out.Bytes()) {
				t.Errorf("no JSON: %s", &out)
			}
		})
	}
}

// disk is where a log goes, with room for so many bytes; full says that writes take what there is room for.
type disk struct {
	text bytes.Buffer
	room int
}

func (d *disk) Write(b []byte) (int, error) {
	if len(b) > d.room {
		b = b[:d.room]
		d.room = 0
		d.text.Write(b)
		return len(b), errors.New("full")
	}
	d.room -= len(b)
	return d.text.Write(b)
}

func TestAudit_tellsOfLinesThatAreLost(t *testing.T) {
	t.Parallel()
	var (
		log  syncLog
		lost int
		now  = audited
		out  = &disk{room: 1 << 20}
	)
	a := lifecycle.NewAudit(lifecycle.AuditOptions{
		Out: out, Logger: slog.New(slog.NewJSONHandler(&log, nil)), Lost: func(n int) { lost += n }, Now: func() time.Time { return now },
	})
	write := func(n int) {
		for range n {
			a.Settled(&lifecycle.Settlement{Reference: "r", Method: "tools/list", At: audited})
		}
		_ = a.Flush()
	}
	write(2)
	each := out.text.Len() / 2
	expect := func(lostLines, told int) {
		t.Helper()
		if got := strings.Count(log.String(), "\n"); lost != lostLines || got != told {
			t.Errorf("%d lines are lost, told of %d times, want %d and %d: %s", lost, got, lostLines, told, &log)
		}
	}
	expect(0, 0)
	out.room = each + each/2
	write(3)
	expect(2, 1)
	write(4)
	expect(6, 1)
	now = now.Add(time.Minute)
	write(1)
	expect(7, 2)
	told := 0
	for line := range strings.Lines(log.String()) {
		var said struct {
			Lines int
			Error string
		}
		if err := json.Unmarshal([]byte(line), &said); err != nil || said.Error != "full" {
			t.Errorf("told: %s", line)
		}
		told += said.Lines
	}
	if told != lost {
		t.Errorf("told of %d lines, %d are lost", told, lost)
	}
	out.room = 1 << 20
	write(2)
	expect(7, 2)
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	whole := 0
	for line := range strings.Lines(out.text.String()) {
		if json.Valid([]byte(line)) {
			whole++
		}
	}
	if n := strings.Count(out.text.String(), "\n"); whole != 5 || n != 6 {
		t.Errorf("%d of %d lines are whole:\n%s", whole, n, out.text.String())
	}
}

// syncLog is a log that is written by whoever writes lines.
type syncLog struct {
	mu sync.Mutex
	strings.Builder
}

func (l *syncLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Builder.Write(b)
}

func TestFile_isOpenedAnewWithoutLosingLines(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "audit.log")
	file, err := lifecycle.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a := lifecycle.NewAudit(lifecycle.AuditOptions{Out: file, Lost: func(n int) { t.Errorf("%d lines are lost", n) }})
	const writers, each, rotations = 4, 2000, 20
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				a.Settled(&lifecycle.Settlement{Reference: fmt.Sprint(w, "-", i), Method: "tools/list", At: audited})
			}
		})
	}
	for r := range rotations {
		if err := os.Rename(path, fmt.Sprint(path, ".", r)); err != nil {
			t.Fatal(err)
		}
		if err := file.Reopen(); err != nil {
			t.Fatal(err)
		}
	}
	writing.Wait()
	if err := errors.Join(a.Close(), file.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) != rotations+1 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode(); mode != 0o600 {
			t.Errorf("%s has mode %v", name, mode)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var read struct{ Reference string }
			if err := json.Unmarshal([]byte(line), &read); err != nil || seen[read.Reference] {
				t.Fatalf("%s: %q, %v", name, line, err)
			}
			seen[read.Reference] = true
		}
	}
	if len(seen) != writers*each {
		t.Errorf("%d lines, want %d", len(seen), writers*each)
	}
}

func TestFile_goesOnWhereItWasAfterAnError(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "audit.log")
	if err := os.WriteFile(path, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := lifecycle.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	moved := dir + "-moved"
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	if err := file.Reopen(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opened anew: %v", err)
	}
	if _, err := file.Write([]byte("after\n")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(moved, dir); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "before\nafter\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := file.Write(nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("written after the end: %v", err)
	}
	if err := file.Reopen(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("opened after the end: %v", err)
	}
	if _, err := lifecycle.OpenFile(filepath.Join(path, "below")); err == nil {
		t.Error("opened below a file")
	}
}

func BenchmarkAudit(b *testing.B) {
	a := lifecycle.NewAudit(lifecycle.AuditOptions{Out: nothing{}})
	defer a.Close()
	s := &lifecycle.Settlement{
		Reference: "r1", Outcome: lifecycle.Success, Class: lifecycle.None, Method: "tools/call", Tool: "srv://a/B",
		At: audited, Decision: &lifecycle.Decision{Permitted: true, Rule: "roles"}, Participant: participant.Application("o", "a", "m"),
	}
	b.ReportAllocs()
	for b.Loop() {
		a.Decided(s)
		a.Settled(s)
	}
}

type nothing struct{}

func (nothing) Write(b []byte) (int, error) { return len(b), nil }
