package catalog

import (
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/participant"
)

// Steps are what a search for a name took.
type Steps struct{ Names, Zones, Rules int }

// Search is Find that tells its steps.
func (s *Snapshot) Search(p *participant.Participant, d dialect.Dialect, name string) (found bool, reason string, steps Steps) {
	x := search{snapshot: s, participant: p}
	e, decision := x.find(d, name)
	return e != nil, decision.Rule, Steps{x.names, x.zones, x.rules}
}

// Evaluated is how many rules were evaluated for the snapshots that share this one's decisions.
func (s *Snapshot) Evaluated() int64 { return s.decisions.evaluated.Load() }

// Rules is how many distinct rules ask who calls.
func (s *Snapshot) Rules() int { return max(0, len(s.decisions.rules)-1) }

// LimitListings changes how many bytes listings may take, for the snapshot's whole catalog, and forgets them all.
func (s *Snapshot) LimitListings(bytes int64) {
	s.listings.limit = bytes
	s.listings.byScope.Range(func(k, v any) bool { s.listings.forget(k, v); return true })
}

// Listed is how many bytes listings take.
func (s *Snapshot) Listed() int64 { return s.listings.listed.Load() }
