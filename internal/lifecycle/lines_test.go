package lifecycle_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/sallyport-dev/sallyport/internal/lifecycle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink is where a log goes. Each write is sent, so that a test can wait for it.
type sink struct {
	mu     sync.Mutex
	text   bytes.Buffer
	writes chan string
	err    error
}

func newSink() *sink { return &sink{writes: make(chan string, 1<<12)} }

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return 0, s.err
	}
	s.writes <- string(p)
	return s.text.Write(p)
}

func (s *sink) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func TestLines_writesWithoutBeingAsked(t *testing.T) {
	out := newSink()
	lines := lifecycle.NewLines(out)
	defer lines.Close()
	for i := range 3 {
		line := fmt.Sprintln("line", i)
		if n, err := lines.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
		if got := <-out.writes; got != line {
			t.Errorf("got %q, want %q", got, line)
		}
	}
}

func TestLines_losesNoneAndKeepsEachWhole(t *testing.T) {
	out := newSink()
	lines := lifecycle.NewLines(out)
	const writers, each = 8, 500
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				fmt.Fprintf(lines, "%d %d %s\n", w, i, strings.Repeat("x", i%300))
			}
		})
	}
	writing.Wait()
	if err := lines.Close(); err != nil {
		t.Fatal(err)
	}
	next := make([]int, writers)
	for line := range strings.Lines(out.String()) {
		var w, i int
		var rest string
		_, _ = fmt.Sscanf(line, "%d %d %s", &w, &i, &rest)
		if w >= writers || i != next[w] || len(rest) != i%300 {
			t.Fatalf("line %q, want line %d of it", line, next[w])
		}
		next[w]++
	}
	for w, n := range next {
		if n != each {
			t.Errorf("%d lines of writer %d, want %d", n, w, each)
		}
	}
	if n := len(out.writes); n > writers*each/2 {
		t.Errorf("%d writes for %d lines", n, writers*each)
	}
}

func TestLines_whatIsUrgentIsWrittenAtOnce(t *testing.T) {
	for _, row := range []struct {
		name string
		log  func(*lifecycle.Lines)
	}{
		{"a warning", func(l *lifecycle.Lines) { slog.New(l.Handler(slog.LevelInfo)).Warn("w") }},
		{"an error of a derived logger", func(l *lifecycle.Lines) {
			slog.New(l.Handler(slog.LevelInfo)).With("a", 1).WithGroup("g").Error("e", "b", 2)
		}},
		{"flushed", func(l *lifecycle.Lines) {
			slog.New(l.Handler(slog.LevelInfo)).Info("i")
			_ = l.Flush()
		}},
		{"more than may wait", func(l *lifecycle.Lines) { _, _ = l.Write(make([]byte, 64<<10)) }},
		{"more than is kept room for", func(l *lifecycle.Lines) { _, _ = l.Write(make([]byte, 1<<20)) }},
		{"the end", func(l *lifecycle.Lines) {
			slog.New(l.Handler(slog.LevelInfo)).Info("i")
			_ = l.Close()
		}},
		{"after the end", func(l *lifecycle.Lines) {
			_ = l.Close()
			slog.New(l.Handler(slog.LevelInfo)).Info("i")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			out := newSink()
			lines := lifecycle.NewLines(out)
			defer lines.Close()
			row.log(lines)
			if out.String() == "" {
				t.Error("nothing is written")
			}
		})
	}
}

func TestLines_handlerLogsFromItsLevelOn(t *testing.T) {
	out := newSink()
	lines := lifecycle.NewLines(out)
	logger := slog.New(lines.Handler(slog.LevelWarn)).With("a", 1).WithGroup("g")
	logger.Info("nothing")
	logger.Warn("something", "b", 2)
	if err := lines.Close(); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasSuffix(got, `"level":"WARN","msg":"something","a":1,"g":{"b":2}}`+"\n") || strings.Contains(got, "nothing") {
		t.Errorf("got %s", got)
	}
}

func TestLines_tellsOfAFailedWrite(t *testing.T) {
	out := newSink()
	lines := lifecycle.NewLines(out)
	defer lines.Close()
	out.err = errors.New("full")
	if n, err := lines.Write(make([]byte, 64<<10)); n != 0 || !errors.Is(err, out.err) {
		t.Errorf("wrote %d, %v", n, err)
	}
	out.mu.Lock()
	out.err = nil
	out.mu.Unlock()
	if _, err := lines.Write([]byte("again\n")); err != nil {
		t.Fatal(err)
	}
	if got := <-out.writes; got != "again\n" {
		t.Errorf("got %q", got)
	}
}
