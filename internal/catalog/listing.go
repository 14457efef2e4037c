package catalog

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/participant"
)

// maxListed bounds how many bytes all remembered listings and menus hold together.
const maxListed = 128 << 20

// scope is what decides which zones a participant reaches, how they are spelled, and which of the rules there permit
// it; the same scope is listed the same.
type scope struct {
	dialect                   dialect.Dialect
	kind                      participantv1.Kind
	organization, application string
	// permitted has a bit for each rule of the scope's menu; empty for the menu itself.
	permitted string
}

// menu is what participants of a scope may be listed, each as far as the rules permit it. It is immutable.
type menu struct {
	number uint64 // tells menus apart, without keeping an old one
	// entries are the tools of the zones, online or not, in the order of their hashes.
	entries []*Entry
	// rules are the distinct rules among them that ask who calls; where there is none, all are listed the same. rule is
	// the place of each entry's, -1 for one that does not ask.
	rules []*access.Rule
	rule  []int
}

// listing is what participants are listed who are permitted the same of a menu: the online tools, each rendered under
// the name that is published to them. It is immutable.
type listing struct {
	menu   uint64 // the number of the menu of which it was made
	hashes []string
	// text has the definitions one after the other with commas between them, so that a page is a piece of it and is
	// written as it stands; ends says where each of them ends.
	text []byte
	ends []int
}

// remembered is what is known of a scope, and the generation of the snapshot that it was last found good for: the
// listing, or the menu by which listings are found.
type remembered struct {
	generation uint64
	zones      []*zone
	listing    *listing
	bits       int // bytes in the key
	menu       *menu
	// places are those of the menu's rules among the decisions with the number.
	decisions uint64
	places    []int
}

// size is about how many bytes it holds, strings of tools not counted.
func (r *remembered) size() int64 {
	size := int64(256 + r.bits)
	if l := r.listing; l != nil {
		size += int64(len(l.text)) + 24*int64(len(l.hashes))
	}
	if m := r.menu; m != nil {
		size += 16*int64(len(m.entries)) + 16*int64(len(m.rules))
	}
	return size
}

// listings remembers what is known of scopes across snapshots: it stands as long as the zones do. Reading takes no lock.
type listings struct {
	limit   int64         // bytes
	byScope sync.Map      // scope -> *remembered
	listed  atomic.Int64  // bytes in all that is remembered
	swept   atomic.Uint64 // the generation in which what was not in use was last forgotten
	menus   atomic.Uint64 // the number of the last menu
}

// Page gives the definitions in a dialect, in order and with commas between them, of at most size tools that the
// participant sees after the tool with the hash after, and the hash that the page ended on where another page follows.
// The bytes are shared and must not be modified.
func (s *Snapshot) Page(p *participant.Participant, d dialect.Dialect, after string, size int) (definitions []byte, next string) {
	key := scope{dialect: d, kind: p.GetKind(), organization: p.GetOrganizationId(), application: p.GetApplicationId()}
	r := s.scope(p, key)
	if r.menu == nil {
		return r.listing.page(after, size)
	}
	key.permitted = s.permitted(p, r)
	if l := s.render(key, r.menu); l != nil {
		return l.page(after, size)
	}
	return s.assemble(r.menu, key, after, size)
}

func (l *listing) page(after string, size int) (definitions []byte, next string) {
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

// nothing is what who reaches no zone is listed; it costs less to find again than to remember.
var nothing = &remembered{listing: &listing{}}

// scope gives what is known of a scope without rules.
func (s *Snapshot) scope(p *participant.Participant, key scope) *remembered {
	known, _ := s.listings.byScope.Load(key)
	last, _ := known.(*remembered)
	if last != nil && last.generation == s.generation {
		return last
	}
	zones := s.reached(p)
	if len(zones) == 0 {
		return nothing
	}
	if last != nil && slices.Equal(last.zones, zones) {
		next := *last
		next.generation = s.generation
		next.place(s.decisions)
		s.listings.byScope.CompareAndSwap(key, known, &next)
		return &next
	}
	m := s.menu(zones)
	r := &remembered{generation: s.generation, zones: zones}
	if len(m.rules) > 0 {
		r.menu = m
		r.place(s.decisions)
	} else {
		r.listing = s.list(m, key)
	}
	s.listings.keep(key, r)
	return r
}

// place finds the menu's rules among the decisions.
func (r *remembered) place(d *decisions) {
	if r.menu == nil || r.decisions == d.number {
		return
	}
	r.decisions, r.places = d.number, make([]int, len(r.menu.rules))
	for i, rule := range r.menu.rules {
		r.places[i] = d.at[rule] // all of the snapshot's are there; else the decoy's, which permits nobody
	}
}

// menu gathers the tools of zones.
func (s *Snapshot) menu(zones []*zone) *menu {
	m := &menu{number: s.listings.menus.Add(1)}
	for _, z := range zones {
		for _, e := range z.entries {
			if s.names.get(e.Tool.Name) == e { // else its hash is another's too
				m.entries = append(m.entries, e)
			}
		}
	}
	slices.SortFunc(m.entries, func(a, b *Entry) int { return strings.Compare(a.Tool.Name, b.Tool.Name) })
	m.rule = make([]int, len(m.entries))
	at := map[*access.Rule]int{}
	for i, e := range m.entries {
		m.rule[i] = -1
		if !e.rule.Restricted() {
			continue
		}
		place, known := at[e.rule]
		if !known {
			place = len(m.rules)
			at[e.rule], m.rules = place, append(m.rules, e.rule)
		}
		m.rule[i] = place
	}
	return m
}

// permitted gives the bits of a menu's rules that permit the participant.
func (s *Snapshot) permitted(p *participant.Participant, r *remembered) string {
	var room [64]byte
	bits := append(room[:0], make([]byte, (len(r.places)+7)/8)...)
	d := s.decisions
	j := d.of(p)
	for i, place := range r.places {
		if d.verdict(p, j, place) == permits {
			bits[i/8] |= 1 << (i % 8)
		}
	}
	return string(bits)
}

// shows reports whether participants with the permitted bits see an entry of the menu.
func (m *menu) shows(entry int, permitted string) bool {
	rule := m.rule[entry]
	return rule < 0 || permitted[rule/8]&(1<<(rule%8)) != 0
}

// render gives the listing of a menu for those with the permitted bits, or nil where there is no room for it.
func (s *Snapshot) render(key scope, m *menu) *listing {
	known, _ := s.listings.byScope.Load(key)
	if last, _ := known.(*remembered); last != nil && last.listing.menu == m.number {
		if last.generation != s.generation {
			next := *last
			next.generation = s.generation
			s.listings.byScope.CompareAndSwap(key, known, &next)
		}
		return last.listing
	}
	if !s.listings.room(s.generation, 0) {
		return nil
	}
	size := int64(256 + len(key.permitted))
	for i, e := range m.entries {
		if e.Online && m.shows(i, key.permitted) {
			size += int64(len(e.function.definition(key.dialect))) + 25
		}
	}
	if !s.listings.room(s.generation, size) {
		return nil
	}
	l := s.list(m, key)
	s.listings.keep(key, &remembered{generation: s.generation, listing: l, bits: len(key.permitted)})
	return l
}

// room reports whether something of a size can be remembered beside what is in use. What was not used since the last
// snapshot makes room for it.
func (c *listings) room(generation uint64, size int64) bool {
	fits := func() bool { return c.listed.Load()+size <= c.limit }
	if fits() {
		return true
	}
	if c.swept.Swap(generation) == generation {
		return false
	}
	c.byScope.Range(func(k, v any) bool {
		if v.(*remembered).generation != generation {
			c.forget(k, v)
		}
		return true
	})
	return fits()
}

func (c *listings) forget(k, v any) {
	if c.byScope.CompareAndDelete(k, v) {
		c.listed.Add(-v.(*remembered).size())
	}
}

func (c *listings) keep(key scope, r *remembered) {
	old, _ := c.byScope.Swap(key, r)
	total := c.listed.Add(r.size())
	if o, ok := old.(*remembered); ok {
		total = c.listed.Add(-o.size())
	}
	if total <= c.limit {
		return
	}
	// Too much is remembered: forget others until there is room. Whoever still needs them makes them again.
	c.byScope.Range(func(k, v any) bool {
		if k != key {
			c.forget(k, v)
		}
		return c.listed.Load() > c.limit/2
	})
}

// list renders the online tools of a menu that those with the permitted bits see. Where two of those that they see,
// online or not, have one alias, both go under their hashes: names do not flip when an instance comes or goes.
func (s *Snapshot) list(m *menu, key scope) *listing {
	l := &listing{menu: m.number}
	aliases := map[string]int{}
	var entries []*Entry
	for i, e := range m.entries {
		if !m.shows(i, key.permitted) {
			continue
		}
		if e.Tool.Alias != "" {
			aliases[e.Tool.Alias]++
		}
		if e.Online {
			entries = append(entries, e)
		}
	}
	l.hashes, l.ends = make([]string, len(entries)), make([]int, len(entries))
	definitions, length := make([][]byte, len(entries)), len(entries)
	for i, e := range entries {
		l.hashes[i], definitions[i] = e.Tool.Name, e.definition(key.dialect, e.Tool.Alias != "" && aliases[e.Tool.Alias] > 1)
		length += len(definitions[i])
	}
	l.text = make([]byte, 0, length)
	for i, definition := range definitions {
		l.text = appendDefinition(l.text, definition)
		l.ends[i] = len(l.text)
	}
	return l
}

// assemble makes one page of what list would render, without the rest.
func (s *Snapshot) assemble(m *menu, key scope, after string, size int) (definitions []byte, next string) {
	from, found := m.find(after)
	if found {
		from++
	}
	last := ""
	for count := 0; from < len(m.entries); from++ {
		e := m.entries[from]
		if !e.Online || !m.shows(from, key.permitted) {
			continue
		}
		if count == max(size, 1) {
			return definitions, last
		}
		count++
		last = e.Tool.Name
		definitions = appendDefinition(definitions, e.definition(key.dialect, s.sharesAlias(m, key.permitted, e)))
	}
	return definitions, ""
}

// sharesAlias reports whether those with the permitted bits see another tool with the alias of an entry.
func (s *Snapshot) sharesAlias(m *menu, permitted string, e *Entry) bool {
	if e.Tool.Alias == "" {
		return false
	}
	return slices.ContainsFunc(s.aliases[e.Tool.Alias], func(other *Entry) bool {
		at, found := m.find(other.Tool.Name)
		return other != e && found && m.shows(at, permitted)
	})
}

// find gives the place of a hash among the menu's entries, or where it would stand.
func (m *menu) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(m.entries, name, func(e *Entry, name string) int { return strings.Compare(e.Tool.Name, name) })
}

// definition gives the entry's definition, under its hash where its alias is another's too.
func (e *Entry) definition(d dialect.Dialect, ambiguous bool) []byte {
	if ambiguous {
		return e.Tool.DefinitionIn(d, e.Tool.Name)
	}
	return e.function.definition(d)
}

func appendDefinition(text, definition []byte) []byte {
	if len(text) > 0 {
		text = append(text, ',')
	}
	return append(text, definition...)
}
