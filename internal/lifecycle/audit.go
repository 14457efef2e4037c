package lifecycle

import (
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"
)

// unknownTool stands for the tool of a call where nothing was resolved: the caller's own word is never written.
const unknownTool = "UNKNOWN"

// Audit writes the audit log: JSON lines, of four kinds by their member `event`.
//
//	decision        an access decision on a call, when it was made
//	call            a call that settled, whatever became of it
//	list            a page of the list of tools that settled
//	authentication  a request, for a token too, that was not authenticated
//
// Lines of one request have one reference. A line holds facts of ours only (see [Settlement]): no argument, no result,
// no credential, and no name that the caller made up. Lines are written several at a time, 10 ms later at the latest,
// and none is lost by Close. It is safe for concurrent use.
type Audit struct {
	lines *Lines
	out   *auditWriter
}

// AuditOptions are what an audit log needs.
type AuditOptions struct {
	// Out is where the lines go. It gets whole lines, one write at a time. Required.
	Out io.Writer
	// Logger hears that lines could not be written, once a minute at the most. Nil is slog's default.
	Logger *slog.Logger
	// Lost is told how many lines each failed write lost. Nil tells nobody.
	Lost func(lines int)
	// Now is the clock of the minute; nil means time.Now.
	Now func() time.Time
}

// NewAudit makes an audit log. Close ends it, and does not close what it writes to.
func NewAudit(o AuditOptions) *Audit {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Lost == nil {
		o.Lost = func(int) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	out := &auditWriter{AuditOptions: o}
	return &Audit{lines: NewLines(out), out: out}
}

// Decided writes down an access decision on a call.
func (a *Audit) Decided(s *Settlement) { a.write(s, appendDecision) }

// Settled writes down a settled request, where it is a call, a page of a list, or was not authenticated.
func (a *Audit) Settled(s *Settlement) {
	switch {
	case s.Credential != "":
		a.write(s, appendAuthentication)
	case s.Method == "tools/call":
		a.write(s, appendCall)
	case s.Method == "tools/list":
		a.write(s, appendList)
	}
}

// write takes a line over. That it cannot be written is told by the writer, since lines are written later than here.
func (a *Audit) write(s *Settlement, appendEvent func([]byte, *Settlement) []byte) {
	_ = a.lines.add(func(b []byte) []byte {
		b = append(b, `{"time":"`...)
		b = append(s.At.AppendFormat(b, time.RFC3339Nano), '"')
		return append(appendEvent(b, s), "}\n"...)
	})
}

// Flush writes the lines that are waiting.
func (a *Audit) Flush() error { return a.lines.Flush() }

// Close writes the lines that are waiting. What is told after it is written at once.
func (a *Audit) Close() error { return a.lines.Close() }

func appendDecision(b []byte, s *Settlement) []byte {
	b = appendEvent(b, "decision", s)
	b = appendTool(b, s)
	if d := s.Decision; d != nil {
		b = strconv.AppendBool(append(b, `,"permitted":`...), d.Permitted)
		if d.Rule != "" {
			b = appendText(b, `,"rule":`, d.Rule)
		}
	}
	return appendWho(b, s)
}

func appendCall(b []byte, s *Settlement) []byte {
	b = appendEvent(b, "call", s)
	b = appendTool(b, s)
	return appendWho(appendOutcome(b, s), s)
}

func appendList(b []byte, s *Settlement) []byte {
	return appendWho(appendOutcome(appendEvent(b, "list", s), s), s)
}

func appendAuthentication(b []byte, s *Settlement) []byte {
	b = appendEvent(b, "authentication", s)
	b = appendText(b, `,"credentials":`, string(s.Credential))
	b = appendText(b, `,"address":`, s.Address)
	return strconv.AppendInt(append(b, `,"status":`...), int64(s.Status), 10)
}

func appendEvent(b []byte, event string, s *Settlement) []byte {
	return appendText(appendText(b, `,"event":`, event), `,"reference":`, s.Reference)
}

func appendTool(b []byte, s *Settlement) []byte {
	if s.Tool == "" {
		return appendText(b, `,"tool":`, unknownTool)
	}
	return appendText(b, `,"tool":`, s.Tool)
}

func appendOutcome(b []byte, s *Settlement) []byte {
	b = appendText(b, `,"outcome":`, string(s.Outcome))
	b = appendText(b, `,"class":`, string(s.Class))
	if s.Limit != "" {
		b = appendText(b, `,"limit":`, string(s.Limit))
	}
	return strconv.AppendInt(append(b, `,"duration":`...), int64(s.Duration), 10)
}

// appendWho appends the participant. The name that a client gives itself is the client's word, and not written.
func appendWho(b []byte, s *Settlement) []byte {
	p := s.Participant
	if p == nil {
		return b
	}
	b = appendParticipant(b, p)
	if o := p.GetOnBehalfOf(); o != nil {
		b = appendText(b, `,"on_behalf_of":{"owner":`, o.GetOwnerId())
		b = append(appendText(b, `,"client":`, o.GetClientId()), '}')
	}
	return append(b, '}')
}

// auditWriter writes lines and tells of those that it cannot write.
type auditWriter struct {
	AuditOptions
	mu sync.Mutex
	// torn says that the last write ended within a line.
	torn bool
	// told is when the logger last heard of a failure, and lost how many lines were lost since.
	told time.Time
	lost int
}

// repeatAfter is how long the logger is spared after it heard of a failure.
const repeatAfter = time.Minute

var newline = []byte{'\n'}

func (w *auditWriter) Write(lines []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.torn {
		// What is there of the last line stays alone.
		if _, err := w.Out.Write(newline); err != nil {
			w.fail(lines, err)
			return 0, err
		}
		w.torn = false
	}
	n, err := w.Out.Write(lines)
	if err != nil {
		w.torn = n > 0 && lines[n-1] != '\n'
		w.fail(lines[n:], err)
	}
	return n, err
}

// fail counts the lines that end in what was not written.
func (w *auditWriter) fail(rest []byte, err error) {
	n := 0
	for _, c := range rest {
		if c == '\n' {
			n++
		}
	}
	w.Lost(n)
	w.lost += n
	if now := w.Now(); w.told.IsZero() || now.Sub(w.told) >= repeatAfter {
		w.Logger.Error("lines of the audit log are lost: it cannot be written", "lines", w.lost, "error", err)
		w.told, w.lost = now, 0
	}
}
