package soak

import (
	"maps"
	"sync"
)

// ledger counts what became of every request. It is safe for concurrent use.
type ledger struct {
	mu sync.Mutex
	// kinds are the verdicts on each kind of request.
	kinds map[string]map[string]int64
	// outcomes are those that finished requests must have in the edge's metrics.
	outcomes map[string]int64
	counts   Counts
	wrong    []string
}

// Counts are what became of the requests.
type Counts struct {
	// Finished were answered, and the whole answer read.
	Finished int64
	// Left are those that the caller left after their head was sent, and LeftInHead those that it left before, of which
	// the edge knows nothing.
	Left, LeftInHead int64
	// Lost were sent and brought no answer although the caller stayed, and Unsent could not be sent. Both are wrong.
	Lost, Unsent int64
	// Wrong is how many answers were not what the request may get, Lost and Unsent included.
	Wrong int64
}

// Settled is how many requests the edge must have settled: every request whose head it has got, exactly once.
func (c *Counts) Settled() int64 { return c.Finished + c.Left + c.Lost }

// Verdicts that every kind of request can have.
const (
	asMeant = "as meant"
	hasLeft = "left"
	isWrong = "WRONG"
)

// keptWrong is how many wrong answers are kept for the report.
const keptWrong = 20

func newLedger() *ledger {
	return &ledger{kinds: map[string]map[string]int64{}, outcomes: map[string]int64{}}
}

// gone counts a request that the caller left.
func (l *ledger) gone(kind string, f fate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.sent {
		l.counts.Left++
	} else {
		l.counts.LeftInHead++
	}
	l.judge(kind, hasLeft)
}

// lost counts a request that brought no answer.
func (l *ledger) lost(kind string, f fate, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.sent {
		l.counts.Lost++
	} else {
		l.counts.Unsent++
	}
	l.complain(kind, why)
}

// finished counts a request that was answered. why is what is wrong with the answer, and empty where nothing is.
func (l *ledger) finished(kind, outcome, verdict, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.Finished++
	l.outcomes[outcome]++
	if why != "" {
		l.complain(kind, why)
		return
	}
	l.judge(kind, verdict)
}

func (l *ledger) complain(kind, why string) {
	l.counts.Wrong++
	l.judge(kind, isWrong)
	if len(l.wrong) < keptWrong {
		l.wrong = append(l.wrong, kind+": "+why)
	}
}

func (l *ledger) judge(kind, verdict string) {
	verdicts := l.kinds[kind]
	if verdicts == nil {
		verdicts = map[string]int64{}
		l.kinds[kind] = verdicts
	}
	verdicts[verdict]++
}

// Tally is what a ledger holds at one moment.
type Tally struct {
	Counts
	// Kinds are the verdicts on each kind of request: as meant, left, or what a service that came or went did to it.
	Kinds map[string]map[string]int64
	// Outcomes are those of the finished requests.
	Outcomes map[string]int64
	// Complaints are the first wrong answers.
	Complaints []string
}

func (l *ledger) tally() Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := Tally{
		Counts: l.counts, Kinds: map[string]map[string]int64{}, Outcomes: maps.Clone(l.outcomes),
		Complaints: append([]string(nil), l.wrong...),
	}
	for kind, verdicts := range l.kinds {
		t.Kinds[kind] = maps.Clone(verdicts)
	}
	return t
}
