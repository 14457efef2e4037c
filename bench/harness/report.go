package harness

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// nameCell holds names to the left; all other cells are aligned to the right.
const nameCell = "%-52s"

// Report writes the figures and the verdicts as tables of plain text.
func (f *Figures) Report(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, s := range scenarios {
		targets := f.Samples[s]
		if len(targets) == 0 {
			continue
		}
		fmt.Fprintf(t, nameCell+"\tCPU µs/call\tleast\tp50 µs\tcalls/s\tcalls/s of a core\truns/call\trest µs/call\t\n", fmt.Sprintf("%s, %d workers", s, s.workers()))
		for _, name := range slices.SortedFunc(maps.Keys(targets), func(a, b string) int {
			return int(middle(targets[a], cpu) - middle(targets[b], cpu))
		}) {
			samples := targets[name]
			spent := middle(samples, cpu)
			fmt.Fprintf(t, nameCell+"\t%.1f\t%.1f\t%.0f\t%.0f\t%.0f\t%.2f\t%.1f\t\n", name, spent/1e3, least(samples, cpu)/1e3,
				middle(samples, func(s Sample) float64 { return s.Median })/1e3,
				middle(samples, func(s Sample) float64 { return float64(s.Calls) / s.Seconds }), 1e9/spent,
				middle(samples, func(s Sample) float64 { return s.Runs }),
				middle(samples, func(s Sample) float64 { return s.Rest })/1e3)
		}
		fmt.Fprintln(t, "\t\t\t\t\t\t\t\t")
	}
	if len(f.Operations) > 0 {
		fmt.Fprintf(t, nameCell+"\tCPU ns\tleast\tallocations\t\n", "operation")
		for _, name := range slices.Sorted(maps.Keys(f.Operations)) {
			o := f.Operations[name]
			ns := func(o Operation) float64 { return o.Nanoseconds }
			fmt.Fprintf(t, nameCell+"\t%.0f\t%.0f\t%.2f\t\n", name, middle(o, ns), least(o, ns),
				middle(o, func(o Operation) float64 { return o.Allocs }))
		}
		fmt.Fprintf(t, nameCell+"\t%d B\t\t\t\n"+nameCell+"\t%d B\t\t\t\n\t\t\t\t\n", "one tool's schema keeps", f.Memory.Schema, "one tool's plan keeps", f.Memory.Plan)
	}
	fmt.Fprintf(t, nameCell+"\tmedian\tleast\tmost\tlimit\t\t\n", "goal")
	for _, v := range f.Verdicts() {
		limit, verdict := fmt.Sprintf("≤ %.3g%s", v.Limit, v.Unit), "PASS"
		if v.AtLeast {
			limit = fmt.Sprintf("≥ %.3g%s", v.Limit, v.Unit)
		}
		switch {
		case v.Limit == 0:
			limit, verdict = "", ""
		case v.Far:
			verdict = "MISS BY FAR"
		case !v.Passed:
			verdict = "MISS"
		}
		fmt.Fprintf(t, nameCell+"\t%.3g%s\t%.3g\t%.3g\t%s\t%s\t\n", v.Name, v.Median, v.Unit, v.Least, v.Most, limit, verdict)
	}
	return t.Flush()
}

func cpu(s Sample) float64 { return s.CPU }

func middle[T any](all []T, of func(T) float64) float64 { return median(values(all, of)) }

func least[T any](all []T, of func(T) float64) float64 { return slices.Min(values(all, of)) }

func values[T any](all []T, of func(T) float64) []float64 {
	out := make([]float64, len(all))
	for i, v := range all {
		out[i] = of(v)
	}
	return out
}
