package bench_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sallyport-dev/sallyport/bench/harness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// One short round: every target starts, answers every question rightly, and has its figures. How good they are is not
// for a test to say, on a machine that does other things besides.
func TestCompare_everyTargetAnswersRightlyAndIsMeasured(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	fleet, err := harness.Start(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	}()
	figures, err := fleet.Run(ctx, harness.Options{Rounds: 1, Slice: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	measured := 0
	for scenario, targets := range figures.Samples {
		for name, samples := range targets {
			measured++
			for _, s := range samples {
				if s.Calls == 0 || s.CPU <= 0 || s.Median <= 0 || s.Seconds <= 0 {
					t.Errorf("%s, %s: a figure is missing: %+v", name, scenario, s)
				}
			}
		}
	}
	if measured != 19 {
		t.Errorf("%d targets were measured in all scenarios together, want 19", measured)
	}
	verdicts := figures.Verdicts()
	if want := len(harness.Lines()); len(verdicts) != want {
		t.Errorf("%d goals are judged, want %d", len(verdicts), want)
	}
	for _, v := range verdicts {
		if v.Median < 0 || v.Least > v.Median || v.Median > v.Most {
			t.Errorf("%s: %+v", v.Name, v)
		}
	}
	var report bytes.Buffer
	if err := figures.Report(&report); err != nil {
		t.Fatal(err)
	}
	for _, v := range verdicts {
		if !bytes.Contains(report.Bytes(), []byte(v.Name)) {
			t.Errorf("the report is silent about %q:\n%s", v.Name, &report)
		}
	}

	dir := t.TempDir()
	profiles, err := fleet.Profile(ctx, dir, 300*time.Millisecond, []string{string(harness.Small)})
	if err != nil {
		t.Fatal(err)
	}
	if len(profiles) != 1 || profiles[0].Calls == 0 {
		t.Fatalf("profiles: %+v", profiles)
	}
	if found, err := filepath.Glob(filepath.Join(dir, "edge-small.*.pprof")); err != nil || len(found) != 3 {
		t.Errorf("profiles are %q, %v", found, err)
	}
}
