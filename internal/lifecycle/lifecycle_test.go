package lifecycle_test

import (
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
