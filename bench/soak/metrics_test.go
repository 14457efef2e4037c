package soak

import (
	"strings"
	"testing"
	"time"
)

const page = `# HELP go_goroutines Number of goroutines that currently exist.
# TYPE go_goroutines gauge
go_goroutines 48
go_gc_heap_live_bytes 1.25e+07
go_gc_duration_seconds_count 9
process_open_fds 16
process_resident_memory_bytes 8.0e+07
sallyport_edge_requests_total{class="NONE",method="tools/list",outcome="SUCCESS"} 12
sallyport_edge_requests_total{class="NONE",method="tools/call",outcome="SUCCESS"} 1.5e+06
sallyport_edge_requests_total{class="TRANSPORT",method="",outcome="CANCELLED"} 3
sallyport_edge_request_duration_seconds_bucket{method="tools/list",le="0.0005"} 7
`

func TestParse(t *testing.T) {
	s, err := parse([]byte(page))
	if err != nil {
		t.Fatal(err)
	}
	if s.Goroutines != 48 || s.Live != 12.5e6 || s.Descriptors != 16 || s.Resident != 80e6 || s.Collections != 9 {
		t.Errorf("got %+v", s)
	}
	if s.Settled[succeeded] != 1_500_012 || s.Settled[cancelled] != 3 || s.Total() != 1_500_015 {
		t.Errorf("settled %v", s.Settled)
	}
}

func TestParse_saysWhatIsMissing(t *testing.T) {
	for _, row := range []struct{ name, old, new, want string }{
		{"no goroutines", "go_goroutines 48", "", "go_goroutines"},
		{"no live heap", "go_gc_heap_live_bytes", "go_gc_heap_dead_bytes", "go_gc_heap_live_bytes"},
		{"a value that is no number", "process_open_fds 16", "process_open_fds many", "many"},
		{"a count that is no number", `"SUCCESS"} 12`, `"SUCCESS"} twelve`, "twelve"},
	} {
		t.Run(row.name, func(t *testing.T) {
			changed := strings.Replace(page, row.old, row.new, 1)
			if changed == page {
				t.Fatal("nothing was changed")
			}
			if _, err := parse([]byte(changed)); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v does not name %q", err, row.want)
			}
		})
	}
}

func TestMedians(t *testing.T) {
	var samples []Sample
	for i, live := range []float64{9, 1, 5, 100, 3, 7} {
		samples = append(samples, Sample{At: time.Duration(i) * time.Second, Live: live, Goroutines: 10 * live})
	}
	for _, row := range []struct {
		name     string
		from, to time.Duration
		want     float64 // of Live; 0 is no samples
	}{
		{"all, an even number", 0, time.Minute, 6},
		{"an odd number", time.Second, 3 * time.Second, 5},
		{"one", 3 * time.Second, 3 * time.Second, 100},
		{"none", time.Minute, 2 * time.Minute, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, ok := medians(samples, row.from, row.to)
			if ok != (row.want != 0) || got.Live != row.want || got.Goroutines != 10*row.want {
				t.Errorf("got %+v, %t", got, ok)
			}
			if ok && got.At != row.to {
				t.Errorf("at %v", got.At)
			}
		})
	}
}
