package edge

import "time"

// WithNow sets the clock of limits.
func WithNow(now func() time.Time) Option {
	return func(s *settings) { s.now = now }
}

// WithOnMove lets a test wait for the edge: moved is called after each new snapshot and each change of freshness.
func WithOnMove(moved func()) Option {
	return func(s *settings) { s.moved = moved }
}
