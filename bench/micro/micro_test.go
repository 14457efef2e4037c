package micro_test

import (
	"testing"

	"github.com/sallyport-dev/sallyport/bench/micro"
)

// Benchmark does each operation alone: go test -bench . -benchmem ./bench/micro
func Benchmark(b *testing.B) {
	subjects, err := micro.Subjects()
	if err != nil {
		b.Fatal(err)
	}
	for _, s := range subjects {
		b.Run(s.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestSubjects_doWhatTheySay(t *testing.T) {
	subjects, err := micro.Subjects()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, s := range subjects {
		if names[s.Name] {
			t.Errorf("two subjects are called %s", s.Name)
		}
		names[s.Name] = true
	}
}

func TestMeasureMemory(t *testing.T) {
	m, err := micro.MeasureMemory()
	if err != nil {
		t.Fatal(err)
	}
	if m.Schema <= 0 || m.Plan <= 0 {
		t.Errorf("a tool keeps %+v bytes", m)
	}
}
