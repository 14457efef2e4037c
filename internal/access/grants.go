package access

import (
	"fmt"
	"iter"
	"regexp"
	"strings"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// Everything is the action pattern that grants every action.
const Everything = "*"

// maxAction is how long an action of a role may be; like the grammar it stands in the proto of roles as well.
const maxAction = 200

var action = regexp.MustCompile(`^[a-z0-9_-]+(\.[a-z0-9_-]+)*$`)

// IsPattern reports whether a role may grant what is written so: an action, all that begin with a prefix, or all.
func IsPattern(s string) bool {
	return s == Everything || len(s) <= maxAction && action.MatchString(strings.TrimSuffix(s, ".*"))
}

// CheckAction says why no role can name the action that a tool asks for; the empty one asks for nothing.
func CheckAction(asked string) (problem string) {
	switch {
	case asked == "" || len(asked) <= maxAction && action.MatchString(asked):
		return ""
	case len(asked) > maxAction:
		return fmt.Sprintf("an action has at most %d characters, and this one has %d bytes", maxAction, len(asked))
	}
	return fmt.Sprintf("%q is not an action that a role can name: write words of a-z, 0-9, _ and - with dots between them, such "+
		"as orders.refund", asked)
}

// OwnersServe reports whether what an identity belongs to is stored, which nil is not, and enabled: the organization and
// the application of these ids, of which either may be empty (access.md, "Identities").
func OwnersServe(organization, application string, o *identityv1.StoredOrganization, a *identityv1.StoredApplication) bool {
	return (organization == "" || o != nil && !o.GetDisabled()) && (application == "" || a != nil && !a.GetDisabled())
}

// RoleName spells a role as participants carry it: `name` for one of the platform, `organization/name` for one of an
// organization. No two roles are spelled alike, since names and organizations are labels.
func RoleName(organization, name string) string {
	if organization == "" {
		return name
	}
	return organization + "/" + name
}

// ParseRole is the inverse of [RoleName].
func ParseRole(role string) (organization, name string) {
	if organization, name, ok := strings.Cut(role, "/"); ok {
		return organization, name
	}
	return "", role
}

// Counts reports whether a role, spelled as participants carry it, counts for what is in a zone: a role of the platform
// everywhere, one of an organization in the zones of that organization's applications. Organizations make roles by
// themselves, and must not open the platform's tools to themselves by a name.
func Counts(role, zone string) bool {
	organization, _ := ParseRole(role)
	return organization == "" || participant.MayHost(participant.Organization(organization, ""), zone)
}

// Grants knows which actions roles grant. It is immutable and safe for concurrent use; the zero value grants nothing.
type Grants struct {
	// roles holds the actions of each role by its spelling.
	roles map[string]*granted
}

// granted is what one role grants.
type granted struct {
	exact    map[string]bool
	prefixes []string // with the dot at the end; the empty one is everything
	patterns []string // as stored
}

// NewGrants takes over the actions of roles. A role that is not among them grants nothing.
func NewGrants(roles iter.Seq[*identityv1.StoredRole]) *Grants {
	g := &Grants{roles: map[string]*granted{}}
	for role := range roles {
		one := &granted{exact: map[string]bool{}, patterns: role.GetActions()}
		for _, pattern := range role.GetActions() {
			if prefix, ok := strings.CutSuffix(pattern, Everything); ok {
				one.prefixes = append(one.prefixes, prefix)
			} else {
				one.exact[pattern] = true
			}
		}
		g.roles[RoleName(role.GetOrganizationId(), role.GetName())] = one
	}
	return g
}

// Has reports whether there is the role, spelled as participants carry it.
func (g *Grants) Has(role string) bool { return g != nil && g.roles[role] != nil }

// Grant reports whether one of the roles that count in the zone grants the action.
func (g *Grants) Grant(roles []string, zone, action string) bool {
	if g == nil || action == "" {
		return false
	}
	for _, role := range roles {
		if one := g.roles[role]; one != nil && one.grants(action) && Counts(role, zone) {
			return true
		}
	}
	return false
}

func (o *granted) grants(action string) bool {
	if o.exact[action] {
		return true
	}
	for _, prefix := range o.prefixes {
		if strings.HasPrefix(action, prefix) && len(action) > len(prefix) {
			return true
		}
	}
	return false
}

// Covers reports whether the roles of one who gives, as far as they count in the zone, grant everything that the role
// given grants: nobody gives more than they have. A role that is not there grants nothing, and is covered.
func (g *Grants) Covers(roles []string, zone, given string) bool {
	if g == nil || g.roles[given] == nil {
		return true
	}
	return g.CoversActions(roles, zone, g.roles[given].patterns)
}

// CoversActions is [Grants.Covers] for action patterns.
func (g *Grants) CoversActions(roles []string, zone string, patterns []string) bool {
	for _, pattern := range patterns {
		if !g.coversPattern(roles, zone, pattern) {
			return false
		}
	}
	return true
}

func (g *Grants) coversPattern(roles []string, zone, pattern string) bool {
	prefix, open := strings.CutSuffix(pattern, Everything)
	if !open {
		return g.Grant(roles, zone, pattern)
	}
	if g == nil {
		return false
	}
	for _, role := range roles {
		one := g.roles[role]
		if one == nil || !Counts(role, zone) {
			continue
		}
		for _, held := range one.prefixes {
			if strings.HasPrefix(prefix, held) {
				return true
			}
		}
	}
	return false
}
