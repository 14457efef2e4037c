package lifecycle_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

func TestLog_writesOneLineWithWhatIsKnown(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		level      slog.Level
		settlement lifecycle.Settlement
		want       string
	}{
		{"everything", slog.LevelInfo, lifecycle.Settlement{
			Reference: "r1", Outcome: lifecycle.Success, Class: lifecycle.None, Method: "tools/call", Tool: "srv://a/B",
			ProtocolVersion: "2025-11-25", Status: 200, Duration: time.Millisecond,
			Participant: &participantv1.Participant{Kind: participantv1.Kind_KIND_APPLICATION, Id: "m", OrganizationId: "o", ApplicationId: "a"},
		}, `{"level":"INFO","msg":"request settled","reference":"r1","outcome":"SUCCESS","class":"NONE","status":200,` +
			`"duration":1000000,"method":"tools/call","tool":"srv://a/B","protocol":"2025-11-25",` +
			`"participant":{"kind":"KIND_APPLICATION","organization":"o","application":"a","id":"m"}}` + "\n"},
		{"what a refusal at the door knows", slog.LevelInfo, lifecycle.Settlement{
			Reference: "r2", Outcome: lifecycle.Rejected, Class: lifecycle.Transport, Status: 405,
		}, `{"level":"INFO","msg":"request settled","reference":"r2","outcome":"REJECTED","class":"TRANSPORT","status":405,"duration":0}` + "\n"},
		{"nothing above info", slog.LevelWarn, lifecycle.Settlement{Reference: "r3"}, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			logger := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{
				Level: test.level,
				ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey {
						return slog.Attr{}
					}
					return a
				},
			}))
			lifecycle.Log(t.Context(), logger, &test.settlement)
			if out.String() != test.want {
				t.Errorf("got  %swant %s", out.String(), test.want)
			}
		})
	}
}

func TestLog_saysWhenAndWhere(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	logger := slog.New(slog.NewJSONHandler(&out, &slog.HandlerOptions{AddSource: true}))
	lifecycle.Log(t.Context(), logger, &lifecycle.Settlement{At: time.Unix(1_800_000_000, 0).UTC()})
	if line := out.String(); !strings.HasPrefix(line, `{"time":"2027-01-15T08:00:00Z","level":"INFO","source":{"function":"github.com/sallyport-dev/sallyport/internal/lifecycle.Log",`) ||
		!strings.Contains(line, "/log.go\"") {
		t.Errorf("got %s", line)
	}
}

func TestLog_namesEachKindOfParticipant(t *testing.T) {
	t.Parallel()
	for kind := participantv1.Kind(-1); kind <= participantv1.Kind_KIND_ANONYMOUS+1; kind++ {
		var out strings.Builder
		lifecycle.Log(t.Context(), slog.New(slog.NewJSONHandler(&out, nil)), &lifecycle.Settlement{
			Participant: &participantv1.Participant{Kind: kind},
		})
		if want := `"participant":{"kind":"` + kind.String() + `",`; !strings.Contains(out.String(), want) {
			t.Errorf("got %s, want %s", out.String(), want)
		}
	}
}

// The short way to a log of lines writes what slog writes on the long one.
func TestLog_writesTheSameToLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[ -~äß€😀\\"<>&\t\n]{0,9}`) // other controls are spelled another way
		s := &lifecycle.Settlement{
			Reference: text.Draw(t, "reference"), Outcome: lifecycle.Outcome(text.Draw(t, "outcome")),
			Class: lifecycle.Class(text.Draw(t, "class")), Method: text.Draw(t, "method"), Tool: text.Draw(t, "tool"),
			ProtocolVersion: text.Draw(t, "protocol"), Status: rapid.Int().Draw(t, "status"),
			Duration: time.Duration(rapid.Int64().Draw(t, "duration")),
			At:       time.Unix(rapid.Int64Range(0, 1<<35).Draw(t, "at"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos")),
		}
		if rapid.Bool().Draw(t, "authenticated") {
			s.Participant = &participantv1.Participant{
				Kind: participantv1.Kind(rapid.Int32Range(-1, 6).Draw(t, "kind")), Id: text.Draw(t, "id"),
				OrganizationId: text.Draw(t, "organization"), ApplicationId: text.Draw(t, "application"),
			}
		}
		var long, short, derived bytes.Buffer
		lifecycle.Log(context.Background(), slog.New(slog.NewJSONHandler(&long, nil)), s)
		for out, derive := range map[*bytes.Buffer]func(*slog.Logger) *slog.Logger{
			&short:   func(l *slog.Logger) *slog.Logger { return l },
			&derived: func(l *slog.Logger) *slog.Logger { return l.With("edge", 1) },
		} {
			lines := lifecycle.NewLines(out)
			lifecycle.Log(context.Background(), derive(slog.New(lines.Handler(slog.LevelInfo))), s)
			if err := lines.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if short.String() != long.String() {
			t.Fatalf("got  %swant %s", &short, &long)
		}
		if want := strings.Replace(long.String(), `"msg":"request settled"`, `"msg":"request settled","edge":1`, 1); derived.String() != want {
			t.Fatalf("got  %swant %s", &derived, want)
		}
	})
}

func TestLog_writesNothingToLinesAboveInfo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	lines := lifecycle.NewLines(&out)
	lifecycle.Log(t.Context(), slog.New(lines.Handler(slog.LevelWarn)), &lifecycle.Settlement{})
	if err := lines.Close(); err != nil || out.Len() != 0 {
		t.Errorf("wrote %q, %v", &out, err)
	}
}

func BenchmarkLog(b *testing.B) {
	lines := lifecycle.NewLines(io.Discard)
	defer lines.Close()
	logger := slog.New(lines.Handler(slog.LevelInfo))
	settlement := &lifecycle.Settlement{
		Reference: "r1", Outcome: lifecycle.Success, Class: lifecycle.None, Method: "tools/call", Tool: "srv://a/B",
		ProtocolVersion: "2025-11-25", Status: 200, At: time.Now(), Duration: time.Millisecond,
		Participant: &participantv1.Participant{Kind: participantv1.Kind_KIND_APPLICATION, Id: "m", OrganizationId: "o", ApplicationId: "a"},
	}
	b.ReportAllocs()
	for b.Loop() {
		lifecycle.Log(b.Context(), logger, settlement)
	}
}
