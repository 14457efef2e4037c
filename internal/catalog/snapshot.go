package catalog

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

// Snapshot is one state of the catalog. It is immutable; all methods are safe for concurrent use.
type Snapshot struct {
	// Revision is etcd's revision of the view that the snapshot was made of.
	Revision int64
	// Complete says that each service is as the view says, or known to be unusable for now; while it is false,
	// contracts are still being compiled, and their services are as they were before.
	Complete bool

	rules      participant.Rules
	generation uint64 // tells snapshots of one catalog apart

	blocks   map[registry.Key]*block
	zones    []*zone // in the order of their names
	names    *index
	aliases  map[string][]*Entry
	listings *listings
	// mostHolders is how many tools have one alias at most.
	mostHolders int
	decisions   *decisions
}

// zone is the visible tools of one zone, in the order of their hashes.
type zone struct {
	name    string
	blocks  []*block
	entries []*Entry
}

// Hidden gives the functions that nobody sees, and why, in no order.
func (s *Snapshot) Hidden() iter.Seq[Hidden] {
	return func(yield func(Hidden) bool) {
		for _, b := range s.blocks {
			for _, h := range b.hidden {
				if !yield(h) {
					return
				}
			}
		}
		for name, colliding := range s.names.collisions {
			for _, e := range colliding {
				if !yield(Hidden{Resource: e.Resource(), Reason: "its hash " + name + " is another function's too"}) {
					return
				}
			}
		}
	}
}

// Tools gives every tool that somebody may see, online or not, in no order.
func (s *Snapshot) Tools() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, z := range s.zones {
			for _, e := range z.entries {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// reached are the zones of the snapshot that a participant reaches.
func (s *Snapshot) reached(p *participant.Participant) []*zone {
	outer, everything := s.rules.Outer(p)
	if everything {
		return s.zones
	}
	found := map[*zone]bool{}
	for _, o := range outer {
		// The zone itself, then its sub-zones, which stand together.
		for _, from := range []string{o, o + "."} {
			at, _ := slices.BinarySearchFunc(s.zones, from, func(z *zone, name string) int { return strings.Compare(z.name, name) })
			for ; at < len(s.zones) && strings.HasPrefix(s.zones[at].name, from) && participant.Within(s.zones[at].name, o); at++ {
				if s.rules.Reaches(p, s.zones[at].name) {
					found[s.zones[at]] = true
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b *zone) int { return strings.Compare(a.name, b.name) })
}

// build finishes the snapshot s, which has its blocks, taking over from the one before what did not change.
func build(before, s *Snapshot) *Snapshot {
	s.names = newIndex()
	old := map[string]*zone{}
	if before != nil {
		s.names = before.names
		for _, z := range before.zones {
			old[z.name] = z
		}
	}
	byZone := map[string][]*block{}
	for _, b := range s.blocks {
		if len(b.entries) > 0 {
			byZone[b.key.Zone] = append(byZone[b.key.Zone], b)
		}
	}
	var gone, come []*Entry
	for _, name := range slices.Sorted(maps.Keys(byZone)) {
		list := byZone[name]
		slices.SortFunc(list, func(a, b *block) int { return strings.Compare(a.key.Service, b.key.Service) })
		z := old[name]
		if z == nil || !slices.EqualFunc(z.blocks, list, sameTools) {
			if z != nil {
				gone = append(gone, z.entries...)
			}
			z = newZone(name, list)
			come = append(come, z.entries...)
		}
		delete(old, name)
		s.zones = append(s.zones, z)
	}
	for _, z := range old {
		gone = append(gone, z.entries...)
	}
	if len(gone)+len(come) == 0 {
		if before != nil {
			s.aliases, s.mostHolders = before.aliases, before.mostHolders
		}
		return s
	}
	s.names = s.names.replace(gone, come)
	s.aliases = map[string][]*Entry{}
	for e := range s.Tools() {
		if e.Tool.Alias != "" && s.names.get(e.Tool.Name) == e {
			s.aliases[e.Tool.Alias] = append(s.aliases[e.Tool.Alias], e)
			s.mostHolders = max(s.mostHolders, len(s.aliases[e.Tool.Alias]))
		}
	}
	return s
}

func newZone(name string, blocks []*block) *zone {
	z := &zone{name: name, blocks: blocks}
	for _, b := range blocks {
		z.entries = append(z.entries, b.entries...)
	}
	slices.SortFunc(z.entries, func(a, b *Entry) int { return strings.Compare(a.Tool.Name, b.Tool.Name) })
	return z
}
