package soak_test

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sallyport-dev/sallyport/bench/soak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A short soak: everything is done, services are restarted and killed, and whatever was begun is over at the end. How
// much memory it took is not for so short a time to say.
func TestRun_everythingSettlesAndNothingIsLeftBehind(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	rows := 0
	report, err := soak.Run(ctx, t.TempDir(), soak.Options{
		For: 5 * time.Second, Restart: 250 * time.Millisecond, Seed: 1, Row: func(r soak.Row) {
			rows++
			if r.Requests == 0 || r.Goroutines <= 0 || r.Descriptors <= 0 || r.Live <= 0 || r.Resident <= 0 {
				t.Errorf("a figure is missing: %+v", r)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := report.Err(); err != nil {
		t.Error(err)
		if dump, err := os.ReadFile(report.Dump); err == nil {
			t.Logf("%s", dump)
		}
	}
	if rows != 1 || len(report.Samples) == 0 {
		t.Errorf("%d rows, %d samples", rows, len(report.Samples))
	}
	if len(report.Tally.Kinds) != 24 {
		t.Errorf("%d kinds of requests were made: %v", len(report.Tally.Kinds), report.Tally.Kinds)
	}
	if report.Tally.Left == 0 || report.Tally.LeftInHead == 0 {
		t.Errorf("nobody left: %+v", report.Tally.Counts)
	}
}

func TestRun_endsWhenItIsAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := soak.Run(ctx, t.TempDir(), soak.Options{For: time.Hour, Restart: time.Second}); err == nil {
		t.Error("it ran")
	}
}
