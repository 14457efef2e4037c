package access_test

import (
	"slices"
	"strings"
)

// The model is access.md once more, as functions of facts and as plainly as it can be said. It shares no code with the
// product: it has its own idea of a label, of what is inside of a zone, of which role counts where, and of what each
// policy means. Where product and model disagree, one of the two is wrong, and access.md says which.

// kind is what a participant is; the numbers are those of the message.
type kind int32

const (
	unspecified kind = iota
	system
	organizational
	applicational
	anonymous
)

// identity is who the edge should take a caller for.
type identity struct {
	kind                          kind
	id, organization, application string
	roles                         []string
	// scopes are the token's, where there is one.
	scopes []string
	// owner and client are set for a delegate.
	owner, client string
}

// holder is what kind of identity a caller is stored as.
type holder string

const (
	aMachine  holder = "machine"
	aUser     holder = "user"
	aDelegate holder = "delegate"
)

// illFormed says how the stored ids of a caller are no ids.
type illFormed string

const (
	wellFormed           illFormed = "well-formed ids"
	dottedOrganization   illFormed = "an organization with a dot"
	reservedOrganization illFormed = "system-api as organization"
	raisedOrganization   illFormed = "an organization in upper case"
	noOrganization       illFormed = "no organization"
	dottedApplication    illFormed = "an application with a dot"
	reservedApplication  illFormed = "system-api as application"
)

// credential is what a caller sends of itself.
type credential string

const (
	bySecretOrPassword credential = "secret or password"
	byAccessToken      credential = "access token"
	wrongSecret        credential = "wrong secret"
	forgedToken        credential = "token of another's key"
	noCredential       credential = "no credentials"
	listingToken       credential = "token for listing"
	callingToken       credential = "token for calling"
	secretElsewhere    credential = "secret, and scope headers of another"
	tokenAmongOthers   credential = "access token, and another's secret beside it"
)

// off says who of the caller's is switched off.
type off string

const (
	nobodyOff off = "enabled"
	selfOff   off = "disabled"
	ownerOff  off = "owner disabled"
)

// presence is how something is stored.
type presence string

const (
	on      presence = "on"
	offline presence = "off"
	missing presence = "missing"
)

// world says how every organization, and every application, is stored.
type world struct{ organizations, applications presence }

// setting is the configuration of one edge as far as it decides anything here.
type setting struct {
	reach             bool
	anonymous, serves []string
}

// caller is one who asks, as far as it decides anything.
type caller struct {
	holder                    holder
	organization, application string
	ill                       illFormed
	// storedKind is the kind that a machine is stored with, and asIs that it is the one its ids say.
	storedKind kind
	asIs       bool
	roles      []string
	credential credential
	off        off
}

// ids are the ids that are stored.
func (c caller) ids() (organization, application string) {
	organization, application = c.organization, c.application
	switch {
	case c.ill == dottedOrganization && organization != "":
		organization += ".orders"
	case c.ill == reservedOrganization && organization != "":
		organization = "system-api"
	case c.ill == raisedOrganization && organization != "":
		organization = strings.ToUpper(organization[:1]) + organization[1:]
	case c.ill == noOrganization && application != "":
		organization = ""
	case c.ill == dottedApplication && application != "":
		application += ".billing"
	case c.ill == reservedApplication && application != "":
		application = "system-api"
	}
	return organization, application
}

// kindOf is what ids say their owner is.
func kindOf(organization, application string) kind {
	switch {
	case organization == "" && application == "":
		return system
	case application == "":
		return organizational
	case organization != "":
		return applicational
	default:
		return unspecified
	}
}

// kind is what the caller is stored as.
func (c caller) kind() kind {
	if c.holder == aMachine && !c.asIs {
		return c.storedKind
	}
	return kindOf(c.ids())
}

// isLabel says whether an id is one label, and not the one that is nobody's.
func isLabel(id string) bool {
	if id == "system-api" || strings.HasPrefix(id, "-") || strings.HasSuffix(id, "-") {
		return false
	}
	return id != "" && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// admit says who the edge takes a caller for, or that it turns the caller away.
func admit(c caller, w world, s setting) (identity, bool) {
	if c.credential == noCredential {
		return identity{kind: anonymous}, len(s.anonymous) > 0
	}
	organization, application := c.ids()
	who := identity{kind: c.kind(), organization: organization, application: application}
	// What proves whom: a delegate has no secret, and a user no token.
	token := false
	switch c.credential {
	case bySecretOrPassword:
		if c.holder == aDelegate {
			return identity{}, false
		}
	case secretElsewhere:
		// The headers select among a user's grants; a machine is one participant whatever they say.
		if c.holder != aMachine {
			return identity{}, false
		}
	case byAccessToken, listingToken, callingToken, tokenAmongOthers:
		if token = true; c.holder == aUser {
			return identity{}, false
		}
	case wrongSecret, forgedToken:
		return identity{}, false
	}
	switch {
	case who.kind != kindOf(organization, application) || who.kind == unspecified:
		return identity{}, false
	case organization != "" && (!isLabel(organization) || w.organizations != on):
		return identity{}, false
	case application != "" && (!isLabel(application) || w.applications != on):
		return identity{}, false
	case c.off == selfOff, c.off == ownerOff && c.holder == aDelegate:
		return identity{}, false
	}
	for _, r := range c.roles {
		whose, _, ofOrganization := strings.Cut(r, "/")
		if _, stored := storedRoles[r]; stored && (!ofOrganization || organization == "" || whose == organization) {
			who.roles = append(who.roles, r)
		}
	}
	if token {
		who.scopes = []string{c.scope()}
	}
	return who, true
}

// scope is what the caller's token is for.
func (c caller) scope() string {
	switch c.credential {
	case listingToken:
		return "tools:list"
	case callingToken:
		return "tools:call"
	default:
		return "tools"
	}
}

// inside says whether a zone is another one or a sub-zone of it.
func inside(zone, outer string) bool {
	a, b := strings.Split(zone, "."), strings.Split(outer, ".")
	return zone != "" && outer != "" && len(a) >= len(b) && slices.Equal(a[:len(b)], b)
}

// owned says whether a zone is of one of an organization's applications.
func owned(zone, organization string) bool {
	labels := strings.Split(zone, ".")
	return len(labels) > 2 && labels[0] == "app" && labels[1] == organization
}

// reaches says whether somebody lists and calls what is in a zone, as far as zones decide.
func reaches(who identity, zone string, s setting) bool {
	if len(s.serves) > 0 && !slices.ContainsFunc(s.serves, func(outer string) bool { return inside(zone, outer) }) {
		return false
	}
	switch who.kind {
	case system:
		return true
	case organizational:
		return inside(zone, "management-api") || inside(zone, "app-api") || s.reach && owned(zone, who.organization)
	case applicational:
		return inside(zone, "app-api") || inside(zone, "app."+who.organization+"."+who.application)
	case anonymous:
		return slices.ContainsFunc(s.anonymous, func(outer string) bool { return inside(zone, outer) })
	default:
		return false
	}
}

// storedRoles are the roles of a yard with what they grant, spelled as participants carry them.
var storedRoles = map[string][]string{
	"refunder":        {"orders.refund"},
	"clerk":           {"orders.*"},
	"root":            {"*"},
	"near":            {"orders.refunds", "orders", "orders.refund.*", "refund"},
	"auditor":         {"orders.read"},
	"acme/refunder":   {"orders.refund"},
	"acme/clerk":      {"orders.*"},
	"globex/refunder": {"orders.refund", "*"},
}

// counts says whether a role counts for what is in a zone, and gives its name within whose it is.
func counts(role, zone string) (name string, ok bool) {
	whose, name, ofOrganization := strings.Cut(role, "/")
	if !ofOrganization {
		return role, true
	}
	return name, owned(zone, whose)
}

func hasRole(who identity, zone string, wanted []string) bool {
	for _, r := range who.roles {
		if name, ok := counts(r, zone); ok && slices.Contains(wanted, name) {
			return true
		}
	}
	return false
}

func hasAction(who identity, zone, action string) bool {
	for _, r := range who.roles {
		if _, ok := counts(r, zone); !ok {
			continue
		}
		for _, granted := range storedRoles[r] {
			all := strings.HasSuffix(granted, "*")
			if granted == action || all && granted != action && strings.HasPrefix(action, strings.TrimSuffix(granted, "*")) {
				return true
			}
		}
	}
	return false
}

// policy is a policy as a team writes it and as the model means it. The note is the call's argument; where there are no
// arguments, as for a list, a policy that reads them does not decide.
type policy struct {
	cel   string
	reads bool
	holds func(who identity, t *tool, note string) bool
}

// policies are those that rules choose from; the first is none.
var policies = []policy{
	{},
	{cel: `participant.organization_id == 'acme'`, holds: func(who identity, _ *tool, _ string) bool {
		return who.organization == "acme"
	}},
	{cel: `'refunder' in participant.roles || has(participant.on_behalf_of)`, holds: func(who identity, _ *tool, _ string) bool {
		return slices.Contains(who.roles, "refunder") || who.owner != ""
	}},
	{cel: `tool.zone.startsWith('app') && !tool.hints.destructive`, holds: func(_ identity, t *tool, _ string) bool {
		return strings.HasPrefix(t.zone, "app") && !t.destructive
	}},
	{cel: `arguments.note == 'please'`, reads: true, holds: func(_ identity, _ *tool, note string) bool {
		return note == "please"
	}},
	{cel: `participant.kind == 1 || arguments.note == 'please'`, reads: true, holds: func(who identity, _ *tool, note string) bool {
		return who.kind == system || note == "please"
	}},
	// There is no ninth role: an error is not a yes.
	{cel: `participant.roles[8] != 'x'`, holds: func(identity, *tool, string) bool { return false }},
	{cel: `true`, holds: func(identity, *tool, string) bool { return true }},
	{cel: `false`, holds: func(identity, *tool, string) bool { return false }},
}

// rule is an access rule as a method or a service declares it.
type rule struct {
	// mode is blank, PERMIT_ALL or DENY_ALL.
	mode   string
	roles  []string
	action string
	policy int
	// unreadable says that there is something in it, or beside it, that this build must understand and does not.
	unreadable bool
}

// tool is what the model knows of a function.
type tool struct {
	zone, service, method string
	hash, alias           string
	destructive, online   bool
	// own is the method's rule, if it declares one; inherited is the service's.
	own       *rule
	inherited rule
}

// permits says whether the rule lets somebody see the tool.
func permits(who identity, t *tool) bool {
	r := t.rule()
	ok, _ := r.judge(who, t)
	return ok
}

// permitsCall says whether the rule lets somebody who sees the tool call it with this note.
func permitsCall(who identity, t *tool, note string) bool {
	r := t.rule()
	p := policies[r.policy]
	return !p.reads || p.holds(who, t, note)
}

func (t *tool) rule() rule {
	if t.own != nil {
		return *t.own
	}
	return t.inherited
}

func (r rule) judge(who identity, t *tool) (ok bool, why string) {
	switch p := policies[r.policy]; {
	case r.unreadable:
		return false, "unreadable"
	case r.mode == "DENY_ALL":
		return false, "mode"
	case who.kind == anonymous && (len(r.roles) > 0 || r.action != "" || r.policy != 0):
		return false, "anonymous"
	case len(r.roles) > 0 && !hasRole(who, t.zone, r.roles):
		return false, "roles"
	case r.action != "" && !hasAction(who, t.zone, r.action):
		return false, "action"
	case r.policy != 0 && !p.reads && !p.holds(who, t, ""):
		return false, "policy"
	}
	return true, ""
}

// sight is what somebody sees at an edge.
type sight struct {
	who identity
	// byHash and byAlias find what may be seen, online or not; an alias of two tools is nobody's.
	byHash, byAlias map[string]*tool
	// listed are the published names in the order of the hashes.
	listed []string
}

func look(who identity, tools []*tool, s setting) *sight {
	v := &sight{who: who, byHash: make(map[string]*tool), byAlias: make(map[string]*tool)}
	var seen []*tool
	for _, t := range tools {
		if !reaches(who, t.zone, s) || !permits(who, t) {
			continue
		}
		seen = append(seen, t)
		v.byHash[t.hash] = t
		if t.alias == "" {
			continue
		}
		if _, taken := v.byAlias[t.alias]; taken {
			v.byAlias[t.alias] = nil
		} else {
			v.byAlias[t.alias] = t
		}
	}
	slices.SortFunc(seen, func(a, b *tool) int { return strings.Compare(a.hash, b.hash) })
	for _, t := range seen {
		if !t.online {
			continue
		}
		if t.alias != "" && v.byAlias[t.alias] == t {
			v.listed = append(v.listed, t.alias)
		} else {
			v.listed = append(v.listed, t.hash)
		}
	}
	return v
}

// resolve finds what a name means to the one who sees, nil for nothing.
func (v *sight) resolve(name string) *tool {
	if t := v.byHash[name]; t != nil {
		return t
	}
	return v.byAlias[name]
}
