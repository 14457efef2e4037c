package catalog

import (
	"io"
	"log/slog"
	"testing"
	"time"
)

func TestFailures_areToldOnceAMinute(t *testing.T) {
	f := newFailures(slog.New(slog.NewTextHandler(io.Discard, nil)))
	start := time.Now()
	for _, row := range []struct {
		key   string
		after time.Duration
		due   bool
	}{
		{"a", 0, true}, {"a", time.Second, false}, {"b", time.Second, true}, {"a", time.Minute - 1, false}, {"a", time.Minute, true},
		{"a", time.Minute + time.Second, false}, {"b", 2 * time.Minute, true},
	} {
		if got := f.due(row.key, start.Add(row.after)); got != row.due {
			t.Errorf("%s after %v: %t", row.key, row.after, got)
		}
	}
	if len(f.last) != 1 {
		t.Errorf("%d rules are remembered, want the one of the last minute", len(f.last))
	}
}
