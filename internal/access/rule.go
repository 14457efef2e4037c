package access

import (
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	toolv1 "github.com/sallyport-dev/sallyport/gen/sallyport/tool/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// What a decision may name as its reason. A rule of several parts names them all, with plus signs between them.
const (
	// None: nothing is declared, and everyone who reaches the zone may call.
	None = "none"
	// PermitAll is the same, said explicitly.
	PermitAll = "permit_all"
	// DenyAll: nobody may call.
	DenyAll = "deny_all"
	// Unknown: the rule says something that this build does not understand, and nobody may call.
	Unknown = "unknown"
	// Roles, Action and Policy are the parts that are judged for each caller.
	Roles  = "roles"
	Action = "action"
	Policy = "policy"
	// PolicyError: a policy could not be evaluated, such as one that divides by zero, and what it guards is refused.
	PolicyError = "policy_error"
	// Zone: the caller does not reach the tool's zone. NoTool: there is no such tool. Ambiguous: the caller sees several
	// tools of that name. Rules do not decide so, but who resolves names does.
	Zone      = "zone"
	NoTool    = "no_tool"
	Ambiguous = "ambiguous"
)

// Decision is one answer, and what gave it. It is immutable and shared.
type Decision struct {
	Permitted bool
	// Rule is one of the reasons of this package.
	Rule string
}

// Facts are what a policy may ask of a tool.
type Facts struct {
	// Name is the hashed name, Function `package.Service/Method`; an empty Zone is un-zoned.
	Name, Function, Zone string
	// The four hints, as published.
	ReadOnly, Destructive, Idempotent, OpenWorld bool
	// Weight may be nil.
	Weight *toolv1.Weight
}

// Rule is the access rule of one function. It is immutable and safe for concurrent use. What it decides depends on
// nothing but the participant's value, what roles grant and, where it reads them, the arguments.
type Rule struct {
	key                string
	parts              []part
	arguments          bool
	permitted, refused *Decision
}

// part is one condition of a rule. Exactly one of roles, action, policy and nobody is set.
type part struct {
	kind string
	// key tells parts apart that may decide differently.
	key string
	// zone is the tool's, for which roles count or not.
	zone   string
	roles  []string
	action string
	policy *policy
	facts  *Facts
}

// public and explicit permit everyone who reaches the zone; denied and unknown permit nobody.
var (
	public   = &Rule{permitted: &Decision{true, None}, refused: &Decision{false, None}}
	explicit = &Rule{permitted: &Decision{true, PermitAll}, refused: &Decision{false, PermitAll}}
	denied   = newRule([]part{{kind: DenyAll, key: DenyAll}})
	unknown  = newRule([]part{{kind: Unknown, key: Unknown}})
)

// Failed is the decision of every rule of which a policy could not be evaluated.
var Failed = &Decision{false, PolicyError}

// Nobody is the rule that permits nobody.
func Nobody() *Rule { return denied }

// Compile makes the rule of a tool from what is declared, which may be nil. An error is a policy that does not compile.
// What this build does not understand permits nobody.
func Compile(declared *toolv1.Access, tool Facts) (*Rule, error) {
	if declared == nil {
		return public, nil
	}
	if len(declared.ProtoReflect().GetUnknown()) > 0 {
		return unknown, nil
	}
	none := public
	switch declared.GetMode() {
	case toolv1.AccessMode_ACCESS_MODE_UNSPECIFIED:
	case toolv1.AccessMode_ACCESS_MODE_PERMIT_ALL:
		none = explicit
	case toolv1.AccessMode_ACCESS_MODE_DENY_ALL:
		return denied, nil
	default:
		return unknown, nil
	}
	var parts []part
	// Which organization's roles count is all that the zone decides, so that tools of one organization share a rule.
	of := strconv.Quote(owner(tool.Zone))
	if roles := declared.GetRoles(); len(roles) > 0 {
		roles = slices.Compact(slices.Sorted(slices.Values(roles)))
		key := Roles + of
		for _, role := range roles {
			key += strconv.Quote(role)
		}
		parts = append(parts, part{kind: Roles, key: key, zone: tool.Zone, roles: roles})
	}
	if action := declared.GetAction(); action != "" {
		parts = append(parts, part{kind: Action, key: Action + of + strconv.Quote(action), zone: tool.Zone, action: action})
	}
	if text := declared.GetPolicy(); text != "" {
		compiled, err := compilePolicy(text)
		if err != nil {
			return nil, err
		}
		key := Policy + of + strconv.Quote(text)
		if compiled.tool {
			key += tool.key()
		}
		parts = append(parts, part{kind: Policy, key: key, zone: tool.Zone, policy: compiled, facts: &tool})
	}
	if len(parts) == 0 {
		return none, nil
	}
	return newRule(parts), nil
}

// CheckPolicy says why a policy does not compile to a condition of bounded cost.
func CheckPolicy(text string) error {
	_, err := compilePolicy(text)
	return err
}

// All is the rule that permits what all of the rules permit.
func All(rules ...*Rule) *Rule {
	var parts []part
	strictest := public
	for _, r := range rules {
		parts = append(parts, r.parts...)
		if r == explicit {
			strictest = explicit
		}
	}
	switch {
	case len(rules) == 1:
		return rules[0]
	case len(parts) == 0:
		return strictest
	}
	return newRule(parts)
}

// newRule makes a rule of parts, at least one, all of which must hold.
func newRule(parts []part) *Rule {
	slices.SortStableFunc(parts, func(a, b part) int { return strings.Compare(a.key, b.key) })
	parts = slices.CompactFunc(parts, func(a, b part) bool { return a.key == b.key })
	r := &Rule{}
	var keys, kinds []string
	for _, kind := range []string{DenyAll, Unknown, Roles, Action, Policy} {
		if slices.ContainsFunc(parts, func(p part) bool { return p.kind == kind }) {
			kinds = append(kinds, kind)
		}
		for _, p := range parts {
			if p.kind == kind {
				// The cheap parts come first.
				r.parts, keys = append(r.parts, p), append(keys, p.key)
				r.arguments = r.arguments || p.readsArguments()
			}
		}
	}
	r.key = strings.Join(keys, "&")
	name := strings.Join(kinds, "+")
	r.permitted, r.refused = &Decision{true, name}, &Decision{false, name}
	return r
}

// Key tells rules apart that may decide differently: rules with one key decide alike.
func (r *Rule) Key() string { return r.key }

// Restricted reports whether the rule decides by who calls. One that does not permits everyone who reaches the zone.
func (r *Rule) Restricted() bool { return len(r.parts) > 0 }

// Policies are the texts of the rule's policies; function is one of those that they guard, as rules may be shared.
func (r *Rule) Policies() (texts []string, function string) {
	for _, p := range r.parts {
		if p.policy != nil {
			texts, function = append(texts, p.policy.text), p.facts.Function
		}
	}
	return texts, function
}

// ReadsArguments reports whether a policy of the rule reads the arguments of the call.
func (r *Rule) ReadsArguments() bool { return r.arguments }

// Reads are the places in the arguments that policies of the rule name, some of them repeatedly. The caller must not
// change them.
func (r *Rule) Reads() (reads []Read) {
	for _, p := range r.parts {
		if p.policy != nil {
			reads = append(reads, p.policy.reads...)
		}
	}
	return reads
}

// Decided gives the rule's decision that was found before.
func (r *Rule) Decided(permitted bool) *Decision {
	if permitted {
		return r.permitted
	}
	return r.refused
}

// Judge decides as far as that can be done without arguments: whether the tool is listed, and a name of it found. The
// participant must reach the zone; that is not judged here.
func (r *Rule) Judge(p *participant.Participant, g *Grants) *Decision {
	return r.judge(p, false, g, nil)
}

// JudgeArguments decides what [Rule.Judge] left open: the policies that read the arguments, which are one JSON object,
// spelled by the published names.
func (r *Rule) JudgeArguments(p *participant.Participant, arguments []byte) *Decision {
	if !r.arguments {
		return r.permitted
	}
	decoded, err := decode(arguments)
	if err != nil {
		return r.refused
	}
	return r.judge(p, true, nil, decoded)
}

// judge decides by the parts that read the arguments, or by those that do not.
func (r *Rule) judge(p *participant.Participant, reading bool, g *Grants, arguments map[string]any) *Decision {
	if len(r.parts) == 0 {
		return r.permitted
	}
	if !authenticated(p) {
		return r.refused
	}
	checked := false
	for i := range r.parts {
		// Nothing is evaluated with a participant that is ill-formed or too large. Most are refused before that is asked.
		if r.parts[i].policy != nil && !checked {
			if checked = true; participant.Check(p) != nil {
				return r.refused
			}
		}
		if r.parts[i].readsArguments() != reading {
			continue
		}
		switch holds, failed := r.parts[i].holds(p, g, arguments); {
		case failed:
			return Failed
		case !holds:
			return r.refused
		}
	}
	if !checked && participant.Check(p) != nil {
		return r.refused
	}
	return r.permitted
}

// authenticated reports whether the participant is somebody. Whoever is nobody holds no role and satisfies no policy.
func authenticated(p *participant.Participant) bool {
	switch p.GetKind() {
	case participantv1.Kind_KIND_SYSTEM, participantv1.Kind_KIND_ORGANIZATION, participantv1.Kind_KIND_APPLICATION:
		return true
	default:
		return false
	}
}

func (c *part) readsArguments() bool { return c.policy != nil && c.policy.arguments }

func (c *part) holds(p *participant.Participant, g *Grants, arguments map[string]any) (holds, failed bool) {
	switch c.kind {
	case Roles:
		return slices.ContainsFunc(p.GetRoles(), func(held string) bool {
			organization, name := ParseRole(held)
			return Counts(held, c.zone) &&
				(slices.Contains(c.roles, held) || organization != "" && slices.Contains(c.roles, name))
		}), false
	case Action:
		return g.Grant(p.GetRoles(), c.zone, c.action), false
	case Policy:
		return c.policy.holds(&activation{participant: counted(p, c.zone), tool: c.facts, arguments: arguments})
	}
	return false, false
}

// counted gives the participant without the roles that do not count in the zone: a policy must not find them either.
func counted(p *participant.Participant, zone string) *participant.Participant {
	foreign := func(role string) bool { return !Counts(role, zone) }
	if !slices.ContainsFunc(p.GetRoles(), foreign) {
		return p
	}
	c := proto.CloneOf(p)
	c.Roles = slices.DeleteFunc(c.Roles, foreign)
	return c
}

// owner is the organization whose roles count in the zone; empty where those of the platform alone do.
func owner(zone string) string {
	rest, within := strings.CutPrefix(zone, "app.")
	organization, _, further := strings.Cut(rest, ".")
	if !within || !further || !Counts(RoleName(organization, "any"), zone) {
		return ""
	}
	return organization
}

// key tells apart facts that a policy may decide differently by.
func (f *Facts) key() string {
	weight, err := proto.MarshalOptions{Deterministic: true}.Marshal(f.Weight)
	if err != nil { // an invalid text in it
		weight = nil
	}
	b := strconv.AppendQuote(nil, f.Name)
	b = strconv.AppendQuote(b, f.Function)
	b = strconv.AppendQuote(b, f.Zone)
	for _, hint := range [...]bool{f.ReadOnly, f.Destructive, f.Idempotent, f.OpenWorld} {
		b = strconv.AppendBool(append(b, ','), hint)
	}
	return string(strconv.AppendQuote(b, string(weight)))
}
