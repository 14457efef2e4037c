package catalog

import (
	"fmt"
	"slices"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
	"github.com/sallyport-dev/sallyport/internal/schema/dialect"
	"github.com/sallyport-dev/sallyport/participant"
)

// Entry is one tool that somebody may see, with all that a call of it needs. It is immutable.
type Entry struct {
	// Tool is the published function.
	Tool *contract.Tool
	// Service is the service that is called.
	Service registry.Key
	// Online says whether an instance took calls when the snapshot was made. An offline tool is in no list, but is
	// known.
	Online bool

	function *toolPlan
	// rule is the conjunction of the access rules of all online contracts. Where it asks who calls, equal rules of a
	// catalog are one pointer.
	rule     *access.Rule
	failures *failures
}

// Resource is the tool's resource identifier, `srv://zone~package.Service/Method`.
func (e *Entry) Resource() string { return e.function.resource }

// CallPlan gives the plan of the tool's calls in a dialect, which the first call compiles; entries of one contract share
// it. An error means that the tool is published and cannot be called, for a reason that does not change.
func (e *Entry) CallPlan(d dialect.Dialect) (*CallPlan, error) { return e.function.callPlan(d) }

// Definition is the tool's entry in tools/list under its alias, where it has one, else under its hash. The bytes are
// shared and must not be modified.
func (e *Entry) Definition() []byte { return e.function.definition(dialect.Canonical) }

// Decision is what the tool's rule decided of the participant for whom the tool was resolved, arguments aside.
func (e *Entry) Decision() *access.Decision { return e.rule.Decided(true) }

// ReadsArguments reports whether the tool's rule reads the arguments, so that a call must be judged by them as well.
func (e *Entry) ReadsArguments() bool { return e.rule.ReadsArguments() }

// JudgeArguments decides about a call by its arguments, which are canonical and which the call's plan has accepted, for
// the participant for whom the tool was resolved.
func (e *Entry) JudgeArguments(p *participant.Participant, arguments []byte) *access.Decision {
	d := e.rule.JudgeArguments(p, arguments)
	if d == access.Failed {
		e.failures.report(e.rule)
	}
	return d
}

// wanted is what the view says of one service.
type wanted struct {
	stored    *registryv1.StoredService
	instances []*registryv1.StoredInstance
	// online are the contracts of instances that take calls, oldest first; published is the first of them, or for an
	// offline service the newest known contract.
	online    []wantedPlan
	published wantedPlan
}

type wantedPlan struct {
	key      planKey
	overlays []*registryv1.Overlay
}

// want reads what a service publishes from the view (DESIGN, decision 6): the oldest contract that has an instance
// that takes calls, in the order of first registration.
func want(key registry.Key, stored *registryv1.StoredService, instances []*registryv1.StoredInstance) *wanted {
	w := &wanted{stored: stored, instances: instances}
	contracts := stored.GetContracts()
	known := make([]wantedPlan, len(contracts))
	for i, c := range contracts {
		known[i] = wantedPlan{newPlanKey(key, c.GetDigest(), c.GetOverlays()), c.GetOverlays()}
	}
	seen := map[planKey]wantedPlan{}
	for _, i := range instances {
		if !i.GetDraining() {
			k := newPlanKey(key, i.GetContractDigest(), i.GetOverlays())
			seen[k] = wantedPlan{k, i.GetOverlays()}
		}
	}
	for _, k := range known {
		if _, ok := seen[k.key]; ok {
			w.online = append(w.online, k)
			delete(seen, k.key)
		}
	}
	// An instance may be seen before the service's record that names its contract. It counts, as the newest.
	rest := make([]wantedPlan, 0, len(seen))
	for _, k := range seen {
		rest = append(rest, k)
	}
	slices.SortFunc(rest, func(a, b wantedPlan) int { return compareKeys(a.key, b.key) })
	w.online = append(w.online, rest...)
	switch {
	case len(w.online) > 0:
		w.published = w.online[0]
	case len(known) > 0:
		w.published = known[len(known)-1]
	}
	return w
}

func compareKeys(a, b planKey) int {
	if a.digest != b.digest {
		return slices.Compare([]byte(a.digest), []byte(b.digest))
	}
	return slices.Compare([]byte(a.overlays), []byte(b.overlays))
}

// plans are all plans that the service needs.
func (w *wanted) plans() []wantedPlan {
	switch {
	case len(w.online) > 0:
		return w.online
	case w.published.key.digest != "":
		return []wantedPlan{w.published}
	}
	return nil
}

// same reports whether the view says of the service what it said before.
func (w *wanted) same(stored *registryv1.StoredService, instances []*registryv1.StoredInstance) bool {
	return w.stored == stored && len(w.instances) == len(instances) &&
		(len(instances) == 0 || &w.instances[0] == &instances[0])
}

// block is one service as callers see it. It is immutable.
type block struct {
	key     registry.Key
	wanted  *wanted
	settled bool // every plan that it needs was there
	plans   []*plan
	online  bool
	entries []*Entry
	hidden  []Hidden
	// functions are the visible entries by full method.
	functions map[string]*Entry
	// rules are the distinct rules of the entries that ask who calls.
	rules []*access.Rule
}

// Hidden is a function that nobody sees, and why.
type Hidden struct {
	// Resource is the function's, or for a contract that does not compile the service's, resource identifier.
	Resource string
	// Reason is for operators.
	Reason string
	// Unauthenticated says that the function asks who calls, which [Options.NoAuthentication] leaves unknown.
	Unauthenticated bool
}

// newBlock makes the block of a service from its plans: the published one first, then the other online ones.
func (b *builder) newBlock(key registry.Key, w *wanted, plans []*plan, online bool) *block {
	made := &block{key: key, wanted: w, settled: true, plans: plans, online: online, functions: map[string]*Entry{}}
	for _, p := range plans {
		if p.err != nil {
			// A call could reach an instance of it, and what it forbids is not known.
			made.hidden = append(made.hidden, Hidden{
				Resource: contract.Identifier{Zone: key.Zone, Service: key.Service}.String(),
				Reason:   fmt.Sprintf("contract %.12s does not compile: %v", p.key.digest, p.err),
			})
		}
	}
	if len(made.hidden) > 0 || len(plans) == 0 {
		return made
	}
	for _, t := range plans[0].tools {
		rule, reason := judgedBy(t, plans)
		if reason != "" {
			made.hidden = append(made.hidden, Hidden{Resource: t.resource, Reason: reason})
			continue
		}
		if rule.Restricted() {
			if b.catalog.options.NoAuthentication {
				made.hidden = append(made.hidden, Hidden{
					Resource: t.resource, Reason: "its access rule asks who calls, and this edge authenticates nobody", Unauthenticated: true,
				})
				continue
			}
			if rule = b.intern(rule); !slices.Contains(made.rules, rule) {
				made.rules = append(made.rules, rule)
			}
		}
		e := &Entry{Tool: t.tool, Service: key, Online: online, function: t, rule: rule, failures: b.catalog.failures}
		made.entries = append(made.entries, e)
		made.functions[t.tool.FullMethod] = e
	}
	return made
}

// knows reports whether one of the block's plans is that of an instance.
func (b *block) knows(i *registryv1.StoredInstance) bool {
	if b.settled && len(i.GetOverlays()) > 0 && slices.Contains(b.wanted.instances, i) {
		return true // found sooner than overlays are compared
	}
	key := newPlanKey(b.key, i.GetContractDigest(), i.GetOverlays())
	return slices.ContainsFunc(b.plans, func(p *plan) bool { return p.key == key })
}

// standsOn reports whether the block is what newBlock would make of the plans.
func (b *block) standsOn(plans []*plan, online bool) bool {
	return b != nil && b.settled && b.online == online && slices.Equal(b.plans, plans)
}

// with gives the same block for a view that says the same of it in other words, such as with one more instance.
func (b *block) with(w *wanted) *block {
	c := *b
	c.wanted = w
	return &c
}

// sameTools reports whether two blocks show the very same entries.
func sameTools(a, b *block) bool {
	return a.key == b.key && len(a.entries) == len(b.entries) && (len(a.entries) == 0 || &a.entries[0] == &b.entries[0])
}

// judgedBy gives the rule by which a tool is judged: its own, and that of every other online contract, whose instances a
// call may reach. Where one of them permits nobody the tool is hidden, for that reason.
func judgedBy(t *toolPlan, plans []*plan) (rule *access.Rule, hidden string) {
	if t.tool.Denied != "" {
		return nil, t.tool.Denied
	}
	rules := []*access.Rule{t.tool.Rule}
	for _, p := range plans[1:] {
		for _, other := range p.tools {
			if other.tool.FullMethod != t.tool.FullMethod {
				continue
			}
			if other.tool.Denied != "" {
				return nil, fmt.Sprintf("contract %.12s, which an instance serves, says: %s", p.key.digest, other.tool.Denied)
			}
			rules = append(rules, other.tool.Rule)
		}
	}
	return access.All(rules...), ""
}

// stay gives the block of before for a service whose new plans are not there yet: the same tools, online as the view
// says.
func (b *block) stay(online bool) *block {
	if b.online == online && !b.settled {
		return b
	}
	c := *b
	c.settled, c.online = false, online
	if b.online != online {
		c.entries = make([]*Entry, len(b.entries))
		c.functions = make(map[string]*Entry, len(b.entries))
		for i, e := range b.entries {
			n := *e
			n.Online = online
			c.entries[i], c.functions[n.Tool.FullMethod] = &n, &n
		}
	}
	return &c
}
