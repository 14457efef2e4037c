package catalog

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"

	"google.golang.org/protobuf/proto"

	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/internal/memory"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/participant"
)

// Decisions are remembered of mostJudged participants, and of fewer where there are so many rules that these could take
// more than judgedBytes together. One takes its participant, by value and as the message that its credential keeps, and
// two bits for each rule.
const (
	mostJudged  = 16_384
	judgedBytes = 160 << 20
)

// judgedEntries is of how many participants decisions are remembered where there are so many rules: a power of two.
func judgedEntries(rules int) int {
	entries := mostJudged
	for entries > 1 && entries*(2*participant.MaxBytes+8*wordsFor(rules)) > judgedBytes {
		entries /= 2
	}
	return entries
}

// wordsFor is how many words hold two bits for each rule.
func wordsFor(rules int) int { return (2*rules + 63) / 64 }

// decoy stands for a tool that is not there: a name that nobody may know takes the steps of one that nobody has.
var decoy = &Entry{Service: registry.Key{Zone: participant.SystemZone}, rule: access.Nobody()}

// decisions remembers what the rules in use decided about whom. A decision depends on the participant's value, the rule
// and what roles grant alone, so that snapshots share this as long as the last two are the same. It takes no lock, and
// what it forgets is decided again.
type decisions struct {
	number uint64 // from 1, tells those of a catalog apart
	grants *access.Grants
	// rules are the rules that ask who calls; the first is the decoy's. It is empty where no tool has one.
	rules []*access.Rule
	at    map[*access.Rule]int
	// held finds a participant by its pointer, which a remembered credential keeps, and judged by its value.
	held     *memory.Memory[held]
	judged   *memory.Memory[judged]
	failures *failures
	// evaluated counts judgements, for tests.
	evaluated atomic.Int64
}

type held struct {
	participant *participant.Participant
	*judged
}

// judged is what was decided about one participant.
type judged struct {
	value string // serialised
	// bits has two for each rule, its verdict.
	bits []atomic.Uint64
}

// verdict is what a rule decided about one participant.
type verdict uint64

const (
	undecided verdict = iota
	refuses
	fails // a policy of it could not be evaluated, so that it does not permit
	permits
)

func newDecisions(number uint64, grants *access.Grants, used []*access.Rule, f *failures) *decisions {
	d := &decisions{number: number, grants: grants, failures: f}
	if len(used) == 0 {
		return d
	}
	d.rules = append([]*access.Rule{decoy.rule}, used...)
	d.at = make(map[*access.Rule]int, len(d.rules))
	for i, r := range d.rules {
		d.at[r] = i
	}
	entries := judgedEntries(len(d.rules))
	d.held, d.judged = memory.New[held](entries), memory.New[judged](entries)
	return d
}

// serves reports whether these are the decisions of the grants and the rules.
func (d *decisions) serves(grants *access.Grants, used map[*access.Rule]bool) bool {
	if d.grants != grants || len(used) != max(0, len(d.rules)-1) {
		return false
	}
	for r := range used {
		if _, ok := d.at[r]; !ok {
			return false
		}
	}
	return true
}

// of gives what was decided about a participant, which must not be modified any more.
func (d *decisions) of(p *participant.Participant) *judged {
	hash := memory.HashOf(d.held, p)
	if h := d.held.Find(hash, func(h *held) bool { return h.participant == p }); h != nil {
		return h.judged
	}
	j := d.ofValue(p)
	d.held.Keep(hash, &held{p, j}, func(*held) bool { return false })
	return j
}

func (d *decisions) ofValue(p *participant.Participant) *judged {
	fresh := &judged{bits: make([]atomic.Uint64, wordsFor(len(d.rules)))}
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(p)
	if err != nil || len(raw) > participant.MaxBytes {
		return fresh // it is refused everything; see access.Rule.Judge
	}
	fresh.value = string(raw)
	hash := d.judged.Hash(fresh.value)
	if j := d.judged.Find(hash, func(j *judged) bool { return j.value == fresh.value }); j != nil {
		return j
	}
	d.judged.Keep(hash, fresh, func(*judged) bool { return false })
	return fresh
}

// verdict gives a rule's verdict, by its place among the rules, about the participant that was judged.
func (d *decisions) verdict(p *participant.Participant, j *judged, rule int) verdict {
	word, shift := &j.bits[rule/32], 2*(rule%32)
	if v := verdict(word.Load() >> shift & 3); v != undecided {
		return v
	}
	d.evaluated.Add(1)
	v := refuses
	switch decision := d.rules[rule].Judge(p, d.grants); {
	case decision.Permitted:
		v = permits
	case decision == access.Failed:
		v = fails
		d.failures.report(d.rules[rule])
	}
	// The first verdict stands: bits of two that differ would make a third.
	for {
		bits := word.Load()
		if other := verdict(bits >> shift & 3); other != undecided {
			return other
		}
		if word.CompareAndSwap(bits, bits|uint64(v)<<shift) {
			return v
		}
	}
}

// intern gives the one rule of the catalog that decides like this one.
func (b *builder) intern(rule *access.Rule) *access.Rule {
	if known := b.rules[rule.Key()]; known != nil {
		return known
	}
	b.rules[rule.Key()] = rule
	return rule
}

// decisions gives the decisions for a snapshot of the blocks: those of the one before as long as neither the rules nor
// what roles grant has changed, so that instances that come and go cost no decision.
func (b *builder) decisions(before *Snapshot, blocks map[registry.Key]*block) *decisions {
	if b.grants == nil || reflect.ValueOf(b.roles).Pointer() != reflect.ValueOf(b.view.Roles).Pointer() {
		b.grants, b.roles = access.NewGrants(maps.Values(b.view.Roles)), b.view.Roles
	}
	used := map[*access.Rule]bool{}
	for _, bl := range blocks {
		for _, r := range bl.rules {
			used[r] = true
		}
	}
	maps.DeleteFunc(b.rules, func(_ string, r *access.Rule) bool { return !used[r] })
	if before != nil && before.decisions.serves(b.grants, used) {
		return before.decisions
	}
	number := uint64(1)
	if before != nil {
		number += before.decisions.number
	}
	return newDecisions(number, b.grants, slices.SortedFunc(maps.Keys(used), func(x, y *access.Rule) int {
		return cmp.Compare(x.Key(), y.Key())
	}), b.catalog.failures)
}
