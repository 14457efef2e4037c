package soak

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// The rule on memory: late in the traffic it is at most growth times what it is early, when everything has been done
// often. Both are medians over the time around these moments.
const (
	early  = 5 * time.Minute
	around = 30 * time.Second
	growth = 1.1
	// judged is how long a soak must last for its memory to be judged.
	judged = 3 * early
)

// Report is what a soak has found.
type Report struct {
	For time.Duration
	// Before is the edge when everything was done once, and After when all that came since is over. Samples are of the
	// time between.
	Before, After Sample
	Samples       []Sample
	// IdleBefore and IdleAfter are the live heap in bytes when nothing was under way.
	IdleBefore, IdleAfter float64
	Restarts              Restarts
	Tally                 Tally
	// Lines are the settled requests in the edge's log, Messages its other lines by level and text.
	Lines    int64
	Messages map[string]int64
	// Dump is the file with the edge's goroutines, where they or what they settled are not as they should be.
	Dump string
}

// Verdict is a rule, and whether it holds.
type Verdict struct {
	Rule, Found string
	Holds       bool
}

// Verdicts judges everything that a soak of its length can be judged by.
func (r *Report) Verdicts() []Verdict {
	verdicts := []Verdict{
		r.answers(), r.met(), r.settled(), r.outcomes(), r.lines(), r.restarted(), r.quiet(),
		level("goroutines as before the traffic", r.Before.Goroutines, r.After.Goroutines),
		level("descriptors as before the traffic", r.Before.Descriptors, r.After.Descriptors),
	}
	if r.For < judged {
		return verdicts
	}
	first, ok := medians(r.Samples, early-around, early+around)
	last, also := medians(r.Samples, r.For-2*around, r.For)
	if !ok || !also {
		return append(verdicts, Verdict{Rule: "memory was measured", Found: "no samples"})
	}
	return append(verdicts, steady("live heap", first.Live, last.Live), steady("resident memory", first.Resident, last.Resident))
}

// after says whether everything that the edge must come back to is there.
func (r *Report) after() bool {
	for _, v := range []Verdict{
		r.settled(), r.lines(), level("", r.Before.Goroutines, r.After.Goroutines), level("", r.Before.Descriptors, r.After.Descriptors),
	} {
		if !v.Holds {
			return false
		}
	}
	return true
}

func (r *Report) answers() Verdict {
	return Verdict{"every answer is one that its request may get", fmt.Sprintf("%d are not", r.Tally.Wrong), r.Tally.Wrong == 0}
}

// met keeps a soak from passing in which a kind of request never met what it is there for.
func (r *Report) met() Verdict {
	var missing []string
	for kind, verdicts := range r.Tally.Kinds {
		if verdicts[asMeant]+verdicts[hasLeft]+verdicts[late] == 0 {
			missing = append(missing, kind)
		}
	}
	slices.Sort(missing)
	return Verdict{"every kind of request had the answer that it is made for", fmt.Sprintf("not: %q", missing), missing == nil}
}

// settled compares what the edge says it has settled in its life with the requests that it has got: those that were
// answered, those whose caller left after the head was sent, and those that were lost. What a caller left within the
// head is no request.
func (r *Report) settled() Verdict {
	want, got := r.Tally.Settled(), r.After.Total()
	return Verdict{
		"settled once: finished + left after the head", fmt.Sprintf("%d settled, %d sent (%d in flight)", got, want, want-got), got == want,
	}
}

// outcomes compares them one by one. A finished request has the outcome that its answer shows; one that was left may
// have any.
func (r *Report) outcomes() Verdict {
	v := Verdict{Rule: "each outcome (finished, settled): between finished and finished + left", Holds: true}
	free := r.Tally.Left + r.Tally.Lost
	var found []string
	for _, outcome := range []string{succeeded, toolError, rejected, failed, cancelled} {
		least, got := r.Tally.Outcomes[outcome], r.After.Settled[outcome]
		found = append(found, fmt.Sprintf("%s %d, %d", outcome, least, got))
		v.Holds = v.Holds && least <= got && got <= least+free
	}
	v.Found = strings.Join(found, ", ")
	return v
}

func (r *Report) lines() Verdict {
	return Verdict{"one line in the log for each settled request", fmt.Sprintf("%d lines", r.Lines), r.Lines == r.After.Total()}
}

func (r *Report) restarted() Verdict {
	return Verdict{
		"services came and went", fmt.Sprintf("%d restarts with a farewell, %d kills", r.Restarts.Clean, r.Restarts.Killed),
		r.Restarts.Clean > 0,
	}
}

// quiet: a line at ERROR is a fault of the edge's own code or of a service, and services that come and go are neither.
func (r *Report) quiet() Verdict {
	var errs []string
	for message, n := range r.Messages {
		if !strings.HasPrefix(message, "INFO ") && !strings.HasPrefix(message, "WARN ") {
			errs = append(errs, fmt.Sprintf("%d × %s", n, message))
		}
	}
	slices.Sort(errs)
	return Verdict{"no error in the edge's log", strings.Join(errs, ", "), errs == nil}
}

func level(rule string, before, after float64) Verdict {
	return Verdict{rule, fmt.Sprintf("%.0f before, %.0f after", before, after), after <= before}
}

func steady(what string, first, last float64) Verdict {
	return Verdict{
		fmt.Sprintf("%s at the end ≤ %.1f × that at %.0f min", what, growth, early.Minutes()),
		fmt.Sprintf("%.2f × (%.1f MB, %.1f MB)", last/first, first/1e6, last/1e6), last <= growth*first,
	}
}

// Err names the rules that do not hold.
func (r *Report) Err() error {
	var errs []error
	for _, v := range r.Verdicts() {
		if !v.Holds {
			errs = append(errs, fmt.Errorf("%s: %s", v.Rule, v.Found))
		}
	}
	for _, complaint := range r.Tally.Complaints {
		errs = append(errs, errors.New(complaint))
	}
	if len(errs) > 0 && r.Dump != "" {
		errs = append(errs, fmt.Errorf("the edge's goroutines are at the end of %s", r.Dump))
	}
	return errors.Join(errs...)
}

// Heading is the first line of the table of minutes.
const Heading = "    min  requests/s   left  wrong  goroutines  descriptors  live MB  resident MB"

// String is a line of the table of minutes.
func (r Row) String() string {
	return fmt.Sprintf("%7.1f %11.0f %6d %6d %11.0f %12.0f %8.1f %12.1f", r.At.Minutes(), float64(r.Requests)/r.Took.Seconds(), r.Left,
		r.Wrong, r.Goroutines, r.Descriptors, r.Live/1e6, r.Resident/1e6)
}

// Write writes the summary.
func (r *Report) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\n%d requests finished, %d left by their callers, %d left within their heads\n", r.Tally.Finished, r.Tally.Left,
		r.Tally.LeftInHead)
	fmt.Fprintf(w, "live heap with nothing under way: %.1f MB before, %.1f MB after\n\n", r.IdleBefore/1e6, r.IdleAfter/1e6)
	for _, kind := range slices.Sorted(maps.Keys(r.Tally.Kinds)) {
		var parts []string
		for _, verdict := range slices.Sorted(maps.Keys(r.Tally.Kinds[kind])) {
			parts = append(parts, fmt.Sprintf("%s %d", verdict, r.Tally.Kinds[kind][verdict]))
		}
		fmt.Fprintf(w, "%s\t%s\n", kind, strings.Join(parts, ", "))
	}
	fmt.Fprintln(w)
	for _, message := range slices.Sorted(maps.Keys(r.Messages)) {
		fmt.Fprintf(w, "the edge said\t%d × %s\n", r.Messages[message], message)
	}
	fmt.Fprintln(w)
	for _, v := range r.Verdicts() {
		mark := "PASS"
		if !v.Holds {
			mark = "FAIL"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", mark, v.Rule, v.Found)
	}
	return w.Flush()
}
