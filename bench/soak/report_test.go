package soak

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// good is a report in which every rule holds; it is long enough for memory to be judged.
func good() *Report {
	r := &Report{
		For:    30 * time.Minute,
		Before: Sample{Goroutines: 48, Descriptors: 16},
		After: Sample{Goroutines: 48, Descriptors: 16, Settled: map[string]int64{
			succeeded: 70, toolError: 20, rejected: 10, cancelled: 5,
		}},
		Restarts: Restarts{Clean: 6, Killed: 1},
		Tally: Tally{
			Counts:   Counts{Finished: 95, Left: 10, LeftInHead: 3},
			Kinds:    map[string]map[string]int64{"list": {asMeant: 90}, "left in the body": {hasLeft: 10}, "slow": {late: 5}},
			Outcomes: map[string]int64{succeeded: 66, toolError: 20, rejected: 9},
		},
		Lines:    105,
		Messages: map[string]int64{"INFO edge is ready": 1, "WARN an instance does not answer and is left alone for a while": 2},
	}
	for at := time.Duration(0); at < r.For; at += sampling {
		r.Samples = append(r.Samples, Sample{At: at, Live: 20e6, Resident: 80e6})
	}
	return r
}

func TestReport_judges(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(r *Report)
		want   string // part of the rule that does not hold; empty where all do
	}{
		{"nothing wrong", func(*Report) {}, ""},
		{"a wrong answer", func(r *Report) { r.Tally.Wrong = 1 }, "every answer"},
		{"a kind that never had its answer", func(r *Report) { r.Tally.Kinds["list"] = map[string]int64{"offline": 90} }, "every kind"},
		{"a request that was not settled", func(r *Report) { r.Tally.Finished++ }, "settled once"},
		{"one that was settled twice", func(r *Report) { r.After.Settled[cancelled]++; r.Lines++ }, "settled once"},
		{"one that was left in its head and settled all the same", func(r *Report) { r.Tally.LeftInHead--; r.Tally.Left++ }, "settled once"},
		{"a lost one that was settled", func(r *Report) { r.Tally.Lost++; r.After.Settled[failed]++; r.Lines++ }, ""},
		{"a finished one that was counted as cancelled", func(r *Report) {
			r.Tally.Outcomes[toolError]++
		}, "each outcome"},
		{"more cancelled than left", func(r *Report) {
			r.After.Settled[cancelled] += 11
			r.After.Settled[succeeded] -= 11
		}, "each outcome"},
		{"a line too few", func(r *Report) { r.Lines-- }, "one line"},
		{"services that stayed", func(r *Report) { r.Restarts = Restarts{} }, "came and went"},
		{"an error in the log", func(r *Report) { r.Messages["ERROR panic in a request"] = 1 }, "no error"},
		{"a line that is no JSON", func(r *Report) { r.Messages["? a line that is no JSON"] = 1 }, "no error"},
		{"a goroutine more", func(r *Report) { r.After.Goroutines++ }, "goroutines"},
		{"a goroutine less", func(r *Report) { r.After.Goroutines-- }, ""},
		{"a descriptor more", func(r *Report) { r.After.Descriptors++ }, "descriptors"},
		{"live heap that grows", func(r *Report) { r.grow(func(s *Sample, x float64) { s.Live *= x }) }, "live heap"},
		{"resident memory that grows", func(r *Report) { r.grow(func(s *Sample, x float64) { s.Resident *= x }) }, "resident memory"},
		{"memory that grows in a soak too short to judge it", func(r *Report) {
			r.For = 20 * time.Second
			r.grow(func(s *Sample, x float64) { s.Live *= x })
		}, ""},
		{"a spike in the last minute", func(r *Report) { r.Samples[len(r.Samples)-3].Live *= 9 }, ""},
		{"memory that grows before it is judged", func(r *Report) {
			for i := range r.Samples[:20] {
				r.Samples[i].Live /= 2
			}
		}, ""},
		{"no samples", func(r *Report) { r.Samples = nil }, "measured"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := good()
			row.change(r)
			err := r.Err()
			if row.want == "" && err != nil {
				t.Fatalf("does not hold: %v", err)
			}
			if row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "\n")) {
				t.Fatalf("got %v, want %q and nothing else", err, row.want)
			}
			var out bytes.Buffer
			if err := r.Write(&out); err != nil {
				t.Fatal(err)
			}
			if broken := strings.Count(out.String(), "\nFAIL "); (broken > 0) != (row.want != "") {
				t.Errorf("%d lines say FAIL:\n%s", broken, &out)
			}
		})
	}
}

// grow lets memory grow by a fifth from the beginning to the end.
func (r *Report) grow(by func(s *Sample, x float64)) {
	for i := range r.Samples {
		by(&r.Samples[i], 1+0.2*float64(i)/float64(len(r.Samples)))
	}
}

func TestReport_namesWrongAnswersAndTheDump(t *testing.T) {
	r := good()
	r.Tally.Wrong, r.Tally.Complaints, r.Dump = 1, []string{"list: the status is not 200"}, "edge.log"
	err := r.Err()
	for _, want := range []string{"every answer", "list: the status is not 200", "edge.log"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %q", err, want)
		}
	}
}

func TestLedger_countsWhatBecameOfRequests(t *testing.T) {
	l := newLedger()
	l.finished("a", succeeded, asMeant, "")
	l.finished("a", toolError, "offline", "")
	l.finished("a", rejected, "", "no error -32602")
	l.gone("b", fate{sent: true, left: true})
	l.gone("b", fate{left: true})
	l.lost("c", fate{sent: true}, "EOF")
	l.lost("c", fate{}, "connection refused")
	for range 2 * keptWrong {
		l.lost("d", fate{}, "again")
	}
	got := l.tally()
	if want := (Counts{Finished: 3, Left: 1, LeftInHead: 1, Lost: 1, Unsent: 1 + 2*keptWrong, Wrong: 3 + 2*keptWrong}); got.Counts != want {
		t.Errorf("counts %+v, want %+v", got.Counts, want)
	}
	if n := got.Settled(); n != 5 {
		t.Errorf("%d are to be settled, want 5", n)
	}
	if a := got.Kinds["a"]; a[asMeant] != 1 || a["offline"] != 1 || a[isWrong] != 1 {
		t.Errorf("verdicts on a: %v", a)
	}
	if got.Outcomes[succeeded] != 1 || got.Outcomes[toolError] != 1 || got.Outcomes[rejected] != 1 {
		t.Errorf("outcomes %v", got.Outcomes)
	}
	if len(got.Complaints) != keptWrong || got.Complaints[0] != "a: no error -32602" {
		t.Errorf("complaints %q", got.Complaints)
	}
}
