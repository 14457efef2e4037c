package catalog

import (
	"errors"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/participant"
)

// Resolve is [Snapshot.Find] for who does not ask for the reason.
func (s *Snapshot) Resolve(p *participant.Participant, d dialect.Dialect, name string) (*Entry, bool) {
	e, _ := s.Find(p, d, name)
	return e, e != nil
}

// Find finds a tool by its hash or its alias among those that the participant may see, online or not. A name that nobody
// has, a hidden tool, one of a zone that the participant does not reach and one that its rule does not permit are one
// answer, nil, found in the same steps; the decision, whose reason is for the audit alone, tells them apart. An alias
// that the participant sees on two tools is nobody's. Where the dialect spells names in its own way, that spelling is
// understood as well. A policy that reads arguments does not decide here.
func (s *Snapshot) Find(p *participant.Participant, d dialect.Dialect, name string) (*Entry, *access.Decision) {
	x := search{snapshot: s, participant: p}
	return x.find(d, name)
}

// search is one search for a name.
type search struct {
	snapshot    *Snapshot
	participant *participant.Participant
	judged      *judged // once it is needed
	// refused is the most telling reason so far.
	refused *access.Decision
	// names, zones and rules count the steps: names looked up, zones and rules judged.
	names, zones, rules int
}

var (
	noTool     = &access.Decision{Rule: access.NoTool}
	outOfReach = &access.Decision{Rule: access.Zone}
	ambiguous  = &access.Decision{Rule: access.Ambiguous}
)

func (x *search) find(d dialect.Dialect, name string) (*Entry, *access.Decision) {
	x.refused = noTool
	if e := x.resolve(name); e != nil {
		return e, e.Decision()
	}
	if canonical := d.CanonicalName(name); canonical != name {
		if e := x.resolve(canonical); e != nil {
			return e, e.Decision()
		}
	}
	return nil, x.refused
}

// resolve takes as many steps for a name that finds nothing as for every other such name: where there is no tool to be
// judged, a decoy is.
func (x *search) resolve(name string) *Entry {
	x.names++
	e := x.snapshot.names.get(name)
	if e == nil {
		e = decoy
	}
	if x.sees(e) {
		return e
	}
	x.names++
	var found *Entry
	holders := x.snapshot.aliases[name]
	for i := range max(len(holders), 1) {
		e := decoy
		if i < len(holders) {
			e = holders[i]
		}
		if !x.sees(e) {
			continue
		}
		if found != nil {
			x.refused = ambiguous
			return nil
		}
		found = e
	}
	if found == nil {
		for range x.snapshot.mostHolders - max(len(holders), 1) {
			x.sees(decoy)
		}
	}
	return found
}

// sees judges a tool's zone and its rule, always both. The rule of a tool in a zone that the participant does not reach
// is never evaluated for it.
func (x *search) sees(e *Entry) bool {
	s := x.snapshot
	x.zones++
	reaches := s.rules.Reaches(x.participant, e.Service.Zone)
	rule := e.rule
	if !reaches {
		rule = decoy.rule
	}
	x.rules++
	v := x.verdict(rule)
	sees := v == permits && reaches
	switch {
	case sees || e == decoy:
	case reaches:
		x.refused = e.refusal(v)
	case x.refused == noTool:
		x.refused = outOfReach
	}
	return sees
}

// refusal is the decision of a verdict that does not permit.
func (e *Entry) refusal(v verdict) *access.Decision {
	if v == fails {
		return access.Failed
	}
	return e.rule.Decided(false)
}

func (x *search) verdict(rule *access.Rule) verdict {
	if !rule.Restricted() {
		return permits
	}
	d := x.snapshot.decisions
	if len(d.rules) == 0 {
		return refuses // a decoy where no tool asks who calls
	}
	if x.judged == nil {
		x.judged = d.of(x.participant)
	}
	place, known := d.at[rule]
	if !known {
		return refuses
	}
	return d.verdict(x.participant, x.judged, place)
}

// Permits judges a call of a function from what is stored of it; it is the second door's dispatch.Access. The arguments
// are canonical, and are read where the rule reads them.
func (s *Snapshot) Permits(p *participant.Participant, service registry.Key, fullMethod string, arguments []byte) error {
	b := s.blocks[service]
	if b == nil {
		return errors.New("the service is not in the catalog, or in a zone that is not served")
	}
	e := b.functions[fullMethod]
	if e == nil {
		return errors.New("the function is hidden or not published")
	}
	if !s.rules.Reaches(p, service.Zone) {
		return errors.New("the zone is not reached")
	}
	x := search{snapshot: s, participant: p}
	if v := x.verdict(e.rule); v != permits {
		return errors.New("the access rule (" + e.refusal(v).Rule + ") does not permit it")
	}
	if e.ReadsArguments() && !e.JudgeArguments(p, arguments).Permitted {
		return errors.New("the access rule does not permit these arguments")
	}
	return nil
}

// Knows reports whether an instance's contract is among those by whose rules the tools of its service are judged. That
// of a new instance is not until it was read, or where it cannot be.
func (s *Snapshot) Knows(i *registryv1.StoredInstance) bool {
	b := s.blocks[registry.Key{Zone: i.GetZone(), Service: i.GetService()}]
	return b != nil && b.knows(i)
}
