package harness

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sallyport-dev/sallyport/bench/micro"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
)

// figures are three rounds in which everything but the edge's small call costs 100.
func figures(edge ...float64) *Figures {
	f := &Figures{Samples: map[Scenario]map[string][]Sample{Small: {}}, Operations: map[string][]Operation{}}
	for _, cost := range edge {
		f.Samples[Small][Edge] = append(f.Samples[Small][Edge], Sample{Calls: 1, Seconds: 1, CPU: cost, Median: 1})
		for _, other := range []string{HTTPEcho, GRPCRaw, GRPCGen, Through, Gateway, GoSDK} {
			f.Samples[Small][other] = append(f.Samples[Small][other], Sample{Calls: 1, Seconds: 1, CPU: 100, Median: 1})
		}
	}
	return f
}

func TestVerdicts(t *testing.T) {
	tests := []struct {
		name                string
		edge                []float64
		line                string
		median, least, most float64
		passed, far         bool
	}{
		{"held", []float64{300, 280, 290}, "small call: edge ÷ (httpecho + grpcraw)", 1.45, 1.4, 1.5, true, false},
		{"missed", []float64{300, 320, 310}, "small call: edge ÷ (httpecho + grpcraw)", 1.55, 1.5, 1.6, false, false},
		{"missed by far", []float64{400, 420, 400}, "small call: edge ÷ (httpecho + grpcraw)", 2, 2, 2.1, false, true},
		{"no goal", []float64{400, 420, 400}, "  of which: edge ÷ through", 4, 4, 4.2, true, false},
		{"against another", []float64{60, 50, 70}, "small call: edge ÷ gateway", 0.6, 0.5, 0.7, true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			verdicts := figures(test.edge...).Verdicts()
			if len(verdicts) != 6 {
				t.Fatalf("%d verdicts, want those of the small call alone: %+v", len(verdicts), verdicts)
			}
			for _, v := range verdicts {
				if v.Name != test.line {
					continue
				}
				if v.Median != test.median || v.Least != test.least || v.Most != test.most || v.Passed != test.passed || v.Far != test.far {
					t.Errorf("got %+v", v)
				}
				return
			}
			t.Errorf("no verdict on %q", test.line)
		})
	}
}

func TestVerdicts_atLeast(t *testing.T) {
	tests := []struct {
		name        string
		plan        float64
		passed, far bool
	}{
		{"held", 100, true, false},
		{"missed", 120, false, false},
		{"missed by far", 130, false, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := figures()
			for _, name := range []string{
				micro.RequestGenerated, micro.ResponseGenerated + "/small", micro.ResponseGenerated + "/large",
			} {
				f.Operations[name] = []Operation{{Nanoseconds: 800}}
			}
			for _, name := range []string{
				micro.RequestPlan, micro.ResponsePlan + "/small", micro.ResponsePlan + "/large", micro.CompilePlan,
			} {
				f.Operations[name] = []Operation{{Nanoseconds: test.plan, Allocs: 1}}
			}
			for _, d := range dialect.All()[1:] {
				f.Operations[micro.RequestIn(d)] = []Operation{{Nanoseconds: test.plan}}
			}
			for _, v := range f.Verdicts() {
				if v.AtLeast && (v.Passed != test.passed || v.Far != test.far) {
					t.Errorf("%s: %+v", v.Name, v)
				}
			}
			var report bytes.Buffer
			if err := f.Report(&report); err != nil {
				t.Fatal(err)
			}
			if missed := strings.Contains(report.String(), "MISS"); missed == test.passed {
				t.Errorf("the report says otherwise:\n%s", &report)
			}
		})
	}
}

func TestMedian(t *testing.T) {
	tests := []struct {
		name   string
		values []float64
		want   float64
	}{
		{"none", nil, 0},
		{"one", []float64{3}, 3},
		{"odd", []float64{9, 1, 5}, 5},
		{"even", []float64{4, 1, 3, 2}, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := median(test.values); got != test.want {
				t.Errorf("median(%v) = %v, want %v", test.values, got, test.want)
			}
		})
	}
}
