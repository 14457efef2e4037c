// Command micro measures the operations of package micro alone on its core. Commands are lines of the standard input,
// each of which is answered with a line of JSON:
//
//	round DURATION   do every operation for the duration, in shuffled order
//	memory           what one tool keeps
package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/sallyport-dev/sallyport/bench/micro"
	"github.com/sallyport-dev/sallyport/bench/target/kit"
)

// Measured is one operation's figures in one round.
type Measured struct {
	// Nanoseconds of processor time, collection of garbage included, and allocations for each operation.
	Nanoseconds float64 `json:"ns"`
	Allocs      float64 `json:"allocs"`
}

func main() {
	kit.Main("micro", func() error {
		subjects, err := micro.Subjects()
		if err != nil {
			return err
		}
		if err := kit.Say(struct{}{}); err != nil {
			return err
		}
		return kit.Commands(func(line string) error {
			if line == "memory" {
				m, err := micro.MeasureMemory()
				if err != nil {
					return err
				}
				return kit.Say(m)
			}
			text, ok := strings.CutPrefix(line, "round ")
			if !ok {
				return fmt.Errorf("unknown command %q", line)
			}
			slice, err := time.ParseDuration(text)
			if err != nil {
				return err
			}
			measured := map[string]Measured{}
			for _, i := range rand.Perm(len(subjects)) {
				if measured[subjects[i].Name], err = measure(subjects[i], slice); err != nil {
					return err
				}
			}
			return kit.Say(measured)
		})
	})
}

// measure does an operation again and again for about the duration.
func measure(s micro.Subject, slice time.Duration) (Measured, error) {
	runtime.GC() // the garbage of the one before is not its own
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, start := cpuTime(), time.Now()
	n := 0
	for time.Since(start) < slice {
		for range 64 {
			if err := s.Do(); err != nil {
				return Measured{}, fmt.Errorf("%s: %w", s.Name, err)
			}
		}
		n += 64
	}
	spent := cpuTime() - began
	runtime.ReadMemStats(&after)
	return Measured{
		Nanoseconds: float64(spent) / float64(n),
		Allocs:      float64(after.Mallocs-before.Mallocs) / float64(n),
	}, nil
}
