package gate

import (
	"testing"
	"time"
)

// TestDaysBefore holds the count of days to the calendar of package time, over all years that a Timestamp has.
func TestDaysBefore(t *testing.T) {
	for day := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC); day.Year() < 10000; day = day.AddDate(0, 0, 1) {
		if got := daysBefore(day.Year(), int(day.Month()), day.Day()); got != day.Unix()/86400 {
			t.Fatalf("%s: %d days, want %d", day.Format(time.DateOnly), got, day.Unix()/86400)
		}
	}
}
