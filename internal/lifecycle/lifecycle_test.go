package lifecycle_test

import (
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

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
	if line := out.String(); !strings.HasPrefix(line, `{"time":"2027-01-15T08:00:00Z","level":"INFO","source":{"function":"github.com/sallyport-dev/`) ||
		!strings.Contains(line, "/lifecycle.go\"") {
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

func BenchmarkLog(b *testing.B) {
	logger := slog.New(slog.NewJSONHandler(io.Discard, nil))
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
