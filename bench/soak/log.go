package soak

import (
	"bytes"
	"encoding/json"
	"maps"
	"sync"
)

// edgeLog reads the edge's log as it is written: it counts the lines of settled requests, of which there are too many to
// keep, and the messages of all others.
type edgeLog struct {
	mu      sync.Mutex
	settled int64
	others  map[string]int64
}

func newEdgeLog() *edgeLog { return &edgeLog{others: map[string]int64{}} }

var settledMessage = []byte(`"msg":"request settled"`)

// keep is [process.Options.Keep].
func (l *edgeLog) keep(line []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.Contains(line, settledMessage) {
		l.settled++
		return false
	}
	var said struct{ Level, Msg string }
	if json.Unmarshal(line, &said) != nil {
		said.Level, said.Msg = "?", "a line that is no JSON"
	}
	l.others[said.Level+" "+said.Msg]++
	return true
}

func (l *edgeLog) read() (settled int64, others map[string]int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.settled, maps.Clone(l.others)
}
