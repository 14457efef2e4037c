package catalog

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/participant"
)

// maxListed bounds how many bytes all remembered listings hold together.
const maxListed = 128 << 20

// listing is what one kind of caller is listed: the online tools that it reaches, in the order of their hashes, each
// rendered under the name that is published to this caller. It is immutable.
type listing struct {
	zones  []*zone // of which it was made
	hashes []string
	// text has the definitions one after the other with commas between them, so that a page is a piece of it and is
	// written as it stands; ends says where each of them ends.
	text []byte
	ends []int
}

// size is about how many bytes the listing holds, strings of tools not counted.
func (l *listing) size() int64 { return int64(len(l.text)) + 24*int64(len(l.hashes)) + 128 }

// scope is what decides which zones a participant reaches, and how they are spelled; the same scope is listed the same.
type scope struct {
	dialect                   dialect.Dialect
	kind                      participantv1.Kind
	organization, application string
}

// listings remembers the listings of scopes across snapshots: a listing stands as long as its zones do. Reading takes
// no lock.
type listings struct {
	byScope sync.Map     // scope -> *remembered
	listed  atomic.Int64 // bytes in all remembered listings
}

// remembered is a listing and the generation of the snapshot that it was last found good for.
type remembered struct {
	generation uint64
	listing    *listing
}

// Page gives the definitions in a dialect, in order and with commas between them, of at most size tools that the
// participant sees after the tool with the hash after, and the hash that the page ended on where another page follows.
// The bytes are shared and must not be modified.
func (s *Snapshot) Page(p *participant.Participant, d dialect.Dialect, after string, size int) (definitions []byte, next string) {
	l := s.listing(p, d)
	from, found := slices.BinarySearch(l.hashes, after)
	if found {
		from++
	}
	to := min(from+max(size, 1), len(l.hashes))
	if to < len(l.hashes) {
		next = l.hashes[to-1]
	}
	if from == to {
		return nil, ""
	}
	begin := 0
	if from > 0 {
		begin = l.ends[from-1] + 1
	}
	return l.text[begin:l.ends[to-1]:l.ends[to-1]], next
}

func (s *Snapshot) listing(p *participant.Participant, d dialect.Dialect) *listing {
	key := scope{d, p.GetKind(), p.GetOrganizationId(), p.GetApplicationId()}
	known, _ := s.listings.byScope.Load(key)
	last, _ := known.(*remembered)
	if last != nil && last.generation == s.generation {
		return last.listing
	}
	zones := s.reached(p)
	if len(zones) == 0 {
		return &listing{} // costs less to make than to remember
	}
	if last != nil && slices.Equal(last.listing.zones, zones) {
		s.listings.byScope.CompareAndSwap(key, known, &remembered{s.generation, last.listing})
		return last.listing
	}
	l := s.list(zones, d)
	s.listings.keep(key, &remembered{s.generation, l})
	return l
}

func (c *listings) keep(key scope, r *remembered) {
	old, _ := c.byScope.Swap(key, r)
	total := c.listed.Add(r.listing.size())
	if o, ok := old.(*remembered); ok {
		total = c.listed.Add(-o.listing.size())
	}
	if total <= maxListed {
		return
	}
	// Too much is remembered: forget others until there is room. Whoever still needs them makes them again.
	c.byScope.Range(func(k, v any) bool {
		if k == key || !c.byScope.CompareAndDelete(k, v) {
			return true
		}
		return c.listed.Add(-v.(*remembered).listing.size()) > maxListed/2
	})
}

// list renders the tools of the zones. Where two of them, online or not, have one alias, both go under their hashes:
// names do not flip when an instance comes or goes.
func (s *Snapshot) list(zones []*zone, d dialect.Dialect) *listing {
	l := &listing{zones: zones}
	var entries []*Entry
	aliases := map[string]int{}
	for _, z := range zones {
		for _, e := range z.entries {
			if s.names.get(e.Tool.Name) != e {
				continue // its hash is another's too
			}
			if e.Tool.Alias != "" {
				aliases[e.Tool.Alias]++
			}
			if e.Online {
				entries = append(entries, e)
			}
		}
	}
	slices.SortFunc(entries, func(a, b *Entry) int { return strings.Compare(a.Tool.Name, b.Tool.Name) })
	l.hashes, l.ends = make([]string, len(entries)), make([]int, len(entries))
	definitions, length := make([][]byte, len(entries)), len(entries)
	for i, e := range entries {
		l.hashes[i], definitions[i] = e.Tool.Name, e.function.definition(d)
		if aliases[e.Tool.Alias] > 1 {
			definitions[i] = e.Tool.DefinitionIn(d, e.Tool.Name)
		}
		length += len(definitions[i])
	}
	l.text = make([]byte, 0, length)
	for i, definition := range definitions {
		if i > 0 {
			l.text = append(l.text, ',')
		}
		l.text = append(l.text, definition...)
		l.ends[i] = len(l.text)
	}
	return l
}
