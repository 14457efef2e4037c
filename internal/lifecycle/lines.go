package lifecycle

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

const (
	// linger is how long a line waits for others to be written with.
	linger = 10 * time.Millisecond
	// gathered is how many bytes wait at most before whoever logs waits for them to be written.
	gathered = 64 << 10
)

// Lines writes the lines of a log several at a time: a line for every request, each written by itself, would be one of
// the dearer parts of a request. A line waits for 10 ms at most. A process that dies at once, without Close, loses the
// lines that were waiting; it is safe for concurrent use.
type Lines struct {
	out io.Writer

	mu      sync.Mutex // guards what follows
	waiting []byte
	timer   *time.Timer
	armed   bool
	closed  bool

	writing sync.Mutex // held during a write, and guards spare
	spare   []byte
}

// NewLines makes the writer of a log that goes to out. Close ends it, and does not close out.
func NewLines(out io.Writer) *Lines {
	l := &Lines{out: out}
	l.timer = time.AfterFunc(time.Hour, func() { _ = l.Flush() })
	l.timer.Stop()
	return l
}

// Write takes a line over. It waits for the log only where more than 64 KiB are waiting. After Close it writes at once.
func (l *Lines) Write(line []byte) (int, error) {
	if err := l.add(func(b []byte) []byte { return append(b, line...) }); err != nil {
		return 0, err
	}
	return len(line), nil
}

// add takes over the line that write appends.
func (l *Lines) add(write func(b []byte) []byte) error {
	l.mu.Lock()
	l.waiting = write(l.waiting)
	urgent := l.closed || len(l.waiting) >= gathered
	if !urgent && !l.armed {
		l.armed = true
		l.timer.Reset(linger)
	}
	l.mu.Unlock()
	if urgent {
		return l.Flush()
	}
	return nil
}

// Flush writes the lines that are waiting. Those of a failed write are lost, as they are where each line is written by
// itself.
func (l *Lines) Flush() error {
	l.writing.Lock()
	defer l.writing.Unlock()
	l.mu.Lock()
	lines := l.waiting
	l.waiting, l.armed = l.spare[:0], false
	l.mu.Unlock()
	l.spare = nil
	if cap(lines) <= 2*gathered {
		l.spare = lines
	}
	if len(lines) == 0 {
		return nil
	}
	_, err := l.out.Write(lines)
	return err
}

// Close writes the lines that are waiting. What is logged after it is written at once.
func (l *Lines) Close() error {
	l.mu.Lock()
	l.closed = true
	l.timer.Stop()
	l.mu.Unlock()
	return l.Flush()
}

// Handler gives a handler that logs JSON to the lines from the level on, each line of warning or error without delay.
func (l *Lines) Handler(level slog.Leveler) slog.Handler {
	return &handler{slog.NewJSONHandler(l, &slog.HandlerOptions{Level: level}), l, true}
}

type handler struct {
	slog.Handler
	lines *Lines
	// plain says that the handler adds nothing to a record.
	plain bool
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	err := h.Handler.Handle(ctx, r)
	if err == nil && r.Level >= slog.LevelWarn {
		err = h.lines.Flush()
	}
	return err
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &handler{h.Handler.WithAttrs(attrs), h.lines, false}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.Handler.WithGroup(name), h.lines, false}
}
