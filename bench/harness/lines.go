package harness

import (
	"math"
	"slices"

	"github.com/sallyport-dev/sallyport/bench/micro"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// A Line is a goal of the project: a ratio of two figures of the same round, or one figure, and its limit.
type Line struct {
	// Name says what is compared with what.
	Name string
	// Needs is what must have been measured: a scenario, or Micro. So must Also, where it is not blank.
	Needs, Also string
	// Limit is what the figure may be at most; at least, where AtLeast is set. Zero is no goal: the figure explains others.
	// Unit is what it is counted in.
	Limit   float64
	AtLeast bool
	Unit    string
	// value computes the figure of one round.
	value func(f *Figures, round int) float64
}

// tolerance is by how much a line may be missed before --strict fails.
const tolerance = 0.25

// Lines are the goals.
func Lines() []Line {
	const times = "×"
	lines := []Line{
		{
			Name: "small call: edge ÷ (httpecho + grpcraw)", Needs: string(Small), Limit: 1.45, Unit: times,
			value: ratio(cost(Small, Edge), cost(Small, HTTPEcho, GRPCRaw)),
		},
		{
			Name: "  of which: through ÷ (httpecho + grpcraw)", Needs: string(Small), Unit: times,
			value: ratio(cost(Small, Through), cost(Small, HTTPEcho, GRPCRaw)),
		},
		{
			Name: "  with generated types: edge ÷ (httpecho + grpcgen)", Needs: string(Small), Unit: times,
			value: ratio(cost(Small, Edge), cost(Small, HTTPEcho, GRPCGen)),
		},
		{
			Name: "  of which: edge ÷ through", Needs: string(Small), Unit: times,
			value: ratio(cost(Small, Edge), cost(Small, Through)),
		},
		{
			Name: "small call: edge ÷ gateway", Needs: string(Small), Limit: 0.6, Unit: times,
			value: ratio(cost(Small, Edge), cost(Small, Gateway)),
		},
		{
			Name: "small call: with ÷ without credentials and rules", Needs: string(Small), Also: string(SmallOpen), Limit: 1.1, Unit: times,
			value: ratio(cost(Small, Edge), cost(SmallOpen, Edge)),
		},
		{
			Name: "large result: edge ÷ gateway", Needs: string(Large), Limit: 0.32, Unit: times,
			value: ratio(cost(Large, Edge), cost(Large, Gateway)),
		},
		{
			Name: "small call: edge ÷ gosdk", Needs: string(Small), Limit: 0.2, Unit: times,
			value: ratio(cost(Small, Edge), cost(Small, GoSDK)),
		},
		{
			Name: "large result: edge ÷ gosdk", Needs: string(Large), Limit: 0.12, Unit: times,
			value: ratio(cost(Large, Edge), cost(Large, GoSDK)),
		},
		{
			Name: "list of 1,001 tools: edge ÷ httpecho", Needs: string(List), Limit: 1.5, Unit: times,
			value: ratio(cost(List, Edge), cost(List, HTTPEcho)),
		},
		{
			Name: "list: openai_strict ÷ canonical, each ÷ httpecho", Needs: string(ListSpelled), Also: string(List),
			Limit: 1.15, Unit: times,
			value: ratio(ratio(cost(ListSpelled, Edge), cost(ListSpelled, HTTPEcho)), ratio(cost(List, Edge), cost(List, HTTPEcho))),
		},
		{
			Name: "JSON to wire, gate included: generated ÷ plan", Needs: Micro, Limit: 8, AtLeast: true, Unit: times,
			value: ratio(spent(micro.RequestGenerated), spent(micro.RequestPlan)),
		},
		{
			Name: "wire to JSON, small: generated ÷ plan", Needs: Micro, Limit: 8, AtLeast: true, Unit: times,
			value: ratio(spent(micro.ResponseGenerated+"/small"), spent(micro.ResponsePlan+"/small")),
		},
		{
			Name: "wire to JSON, large: generated ÷ plan", Needs: Micro, Limit: 8, AtLeast: true, Unit: times,
			value: ratio(spent(micro.ResponseGenerated+"/large"), spent(micro.ResponsePlan+"/large")),
		},
		{
			Name: "plan of a small call: allocations", Needs: Micro, Limit: 2,
			value: func(f *Figures, round int) float64 {
				// What the measuring itself allocates is less than a hundredth for each operation.
				return math.Round(100*(f.Operations[micro.RequestPlan][round].Allocs+
					f.Operations[micro.ResponsePlan+"/small"][round].Allocs)) / 100
			},
		},
		{
			Name: "compile a plan", Needs: Micro, Limit: 1, Unit: " ms",
			value: func(f *Figures, round int) float64 { return spent(micro.CompilePlan)(f, round) / 1e6 },
		},
	}
	for _, d := range dialect.All()[1:] {
		lines = append(lines, Line{
			Name: "JSON to wire: " + d.String() + " ÷ canonical", Needs: Micro, Limit: 1.5, Unit: times,
			value: ratio(spent(micro.RequestIn(d)), spent(micro.RequestPlan)),
		})
	}
	return lines
}

type figure func(f *Figures, round int) float64

// cost is the processor time for one call, of all the targets together.
func cost(s Scenario, targets ...string) figure {
	return func(f *Figures, round int) (sum float64) {
		for _, t := range targets {
			sum += f.Samples[s][t][round].CPU
		}
		return sum
	}
}

// spent is the processor time of one operation.
func spent(operation string) figure {
	return func(f *Figures, round int) float64 { return f.Operations[operation][round].Nanoseconds }
}

func ratio(a, b figure) figure {
	return func(f *Figures, round int) float64 { return a(f, round) / b(f, round) }
}

// A Verdict is how a line came out.
type Verdict struct {
	Line
	// Median, Least and Most are over the rounds.
	Median, Least, Most float64
	Passed              bool
	// Far says that the line is missed by more than a quarter.
	Far bool
}

// Verdicts judges every line that was measured.
func (f *Figures) Verdicts() (all []Verdict) {
	for _, line := range Lines() {
		var values []float64
		rounds := f.rounds(line.Needs)
		if line.Also != "" {
			rounds = min(rounds, f.rounds(line.Also))
		}
		for round := range rounds {
			values = append(values, line.value(f, round))
		}
		if len(values) == 0 {
			continue
		}
		v := Verdict{Line: line, Least: slices.Min(values), Most: slices.Max(values), Median: median(values)}
		switch {
		case line.Limit == 0:
			v.Passed = true
		case line.AtLeast:
			v.Passed, v.Far = v.Median >= line.Limit, v.Median < line.Limit/(1+tolerance)
		default:
			v.Passed, v.Far = v.Median <= line.Limit, v.Median > line.Limit*(1+tolerance)
		}
		all = append(all, v)
	}
	return all
}

// rounds is in how many rounds a scenario was measured.
func (f *Figures) rounds(name string) int {
	if name == Micro {
		return len(f.Operations[micro.RequestPlan])
	}
	return len(f.Samples[Scenario(name)][Edge])
}
