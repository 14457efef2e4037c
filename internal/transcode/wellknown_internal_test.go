package transcode

import (
	"testing"
	"time"
)

// TestAppendTimestamp_everyDay demands of every day in a cycle of the calendar, and of many others that can be written,
// what the time package makes of it.
func TestAppendTimestamp_everyDay(t *testing.T) {
	const day, cycle = 86400, 146097 * 86400
	var buffer, want []byte
	for at, second := int64(minTimestamp), int64(0); at <= maxTimestamp; second = (second + 3601) % day {
		instant := at + second
		got, err := appendTimestamp(buffer[:0], instant, 0)
		if err != nil {
			t.Fatal(err)
		}
		want = time.Unix(instant, 0).UTC().AppendFormat(want[:0], `"2006-01-02T15:04:05Z"`)
		if string(got) != string(want) {
			t.Fatalf("%d is %s, want %s", instant, got, want)
		}
		buffer = got
		if at += day; at < -cycle/2 || at > cycle/2 {
			at += 96 * day
		}
	}
}

// TestAppendTimestamp_everySecond does the same for the seconds of a day before and a day after 1970.
func TestAppendTimestamp_everySecond(t *testing.T) {
	for at := int64(-86400); at < 86400; at++ {
		got, err := appendTimestamp(nil, at, 0)
		if want := time.Unix(at, 0).UTC().Format(`"2006-01-02T15:04:05Z"`); err != nil || string(got) != want {
			t.Fatalf("%d is %s, %v, want %s", at, got, err, want)
		}
	}
}
