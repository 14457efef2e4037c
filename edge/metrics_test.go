package edge_test

import (
	"bufio"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// number gives the value of a series without labels.
func number(t *testing.T, page, name string) float64 {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(page))
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			return value
		}
	}
	t.Fatalf("no %s in:\n%s", name, page)
	return 0
}

// What the soak (bench/README.md) and whoever watches an edge reads of its process.
func TestEdge_tellsOfItsProcess(t *testing.T) {
	h := newHouse(t)
	runtime.GC()
	before := h.get("/metrics")
	names := []string{"go_goroutines", "go_gc_heap_live_bytes", "go_memstats_heap_inuse_bytes"}
	if runtime.GOOS == "linux" {
		names = append(names, "process_resident_memory_bytes", "process_open_fds")
	}
	for _, name := range names {
		if got := number(t, before, name); got <= 0 {
			t.Errorf("%s is %v", name, got)
		}
	}

	// The numbers are of the moment at which they are asked.
	const more = 500
	release := make(chan struct{})
	var running sync.WaitGroup
	kept := make([][]byte, more)
	for i := range kept {
		kept[i] = make([]byte, 64<<10)
		running.Go(func() { <-release })
	}
	runtime.GC()
	after := h.get("/metrics")
	close(release)
	running.Wait()
	runtime.KeepAlive(kept)
	for name, least := range map[string]float64{"go_goroutines": more / 2, "go_gc_heap_live_bytes": more * 32 << 10} {
		if was, is := number(t, before, name), number(t, after, name); is-was < least {
			t.Errorf("%s went from %v to %v, want at least %v more", name, was, is, least)
		}
	}
}
