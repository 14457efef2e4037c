package participant

import (
	"fmt"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
)

// Rules are the settings of an installation that decide who reaches which zones. The zero value is the default: an
// organization does not reach its applications' zones, and a caller without credentials reaches nothing.
type Rules struct {
	// OrganizationsReachTheirApplications lets an organization reach the zones of its own applications.
	OrganizationsReachTheirApplications bool
	// AnonymousZones are the zones that an anonymous participant reaches, their sub-zones included. The un-zoned
	// services cannot be among them: an empty string here matches nothing.
	AnonymousZones []string
}

// Check reports what is wrong with the settings: an anonymous zone that is not spelled as a zone, and would therefore
// never match.
func (r Rules) Check() error {
	for _, zone := range r.AnonymousZones {
		if err := CheckZone(zone); err != nil {
			return fmt.Errorf("anonymous zones: %w", err)
		}
	}
	return nil
}

// Reaches reports whether the participant reaches the zone, that is, may list and call what is in it. The empty
// string stands for the un-zoned services, which system participants alone reach. A participant who reaches a zone
// reaches its sub-zones. A participant that is nil or disagrees with itself, and a zone that is not spelled as one,
// reach and are reached by nothing.
//
// This is the one derivation of access.md, "Zones".
func (r Rules) Reaches(p *Participant, zone string) bool {
	if checkKind(p) != nil || zone != "" && CheckZone(zone) != nil {
		return false
	}
	var room [roots]root
	within, everything := r.outer(p, room[:0])
	if everything {
		return true
	}
	for _, o := range within {
		if o.holds(zone) {
			return true
		}
	}
	return false
}

// Outer narrows down where to look for what a participant reaches: each zone that it reaches is within one of the
// given outer zones, unless everything is true, when they may be anywhere. It is for indexes; the decision on a
// single zone is [Rules.Reaches]'s. An ill-formed participant gets nothing.
func (r Rules) Outer(p *Participant) (outer []string, everything bool) {
	if checkKind(p) != nil {
		return nil, false
	}
	var room [roots]root
	within, everything := r.outer(p, room[:0])
	for _, o := range within {
		outer = append(outer, o.String())
	}
	return outer, everything
}

// root is a zone that everything within is reached with: a zone as it is spelled, or one of applications by their ids,
// which are not put together, since this is asked several times for each call.
type root struct {
	zone                      string
	organization, application string // instead of zone; without an application, all of the organization's
}

// roots is for how many roots there is room on the stack: as many as any participant has but an anonymous one, whose
// roots are configured.
const roots = 3

func (o root) String() string {
	switch {
	case o.organization == "":
		return o.zone
	case o.application == "":
		return organizationPrefix(o.organization)
	default:
		return ApplicationZone(o.organization, o.application)
	}
}

// holds reports whether the zone is within the root. `app.<org>` is a prefix and no zone: what lies directly in it
// belongs to no application.
func (o root) holds(zone string) bool {
	if o.organization == "" {
		return Within(zone, o.zone)
	}
	rest, ok := below(zone, applicationLabel)
	if ok {
		rest, ok = below(rest, o.organization)
	}
	return ok && (o.application == "" || Within(rest, o.application))
}

// below gives what follows the labels of outer in a zone that is further within it.
func below(zone, outer string) (rest string, ok bool) {
	if len(zone) <= len(outer) || !Within(zone, outer) {
		return "", false
	}
	return zone[len(outer)+1:], true
}

func (r Rules) outer(p *Participant, to []root) (outer []root, everything bool) {
	switch p.GetKind() {
	case participantv1.Kind_KIND_SYSTEM:
		return nil, true
	case participantv1.Kind_KIND_ORGANIZATION:
		to = append(to, root{zone: ManagementZone}, root{zone: ApplicationAPIZone})
		if r.OrganizationsReachTheirApplications {
			to = append(to, root{organization: p.GetOrganizationId()})
		}
	case participantv1.Kind_KIND_APPLICATION:
		to = append(to, root{zone: ApplicationAPIZone},
			root{organization: p.GetOrganizationId(), application: p.GetApplicationId()})
	case participantv1.Kind_KIND_ANONYMOUS:
		for _, zone := range r.AnonymousZones {
			to = append(to, root{zone: zone})
		}
	}
	return to, false
}

// MayHost reports whether a host machine of this participant may register services in the zone: the platform
// everywhere, un-zoned included; an organization in the zones of all its applications; an application in its own
// zone and sub-zones (access.md, "Zones" and "Identities"). It says nothing about addresses.
func MayHost(p *Participant, zone string) bool {
	if checkKind(p) != nil || zone != "" && CheckZone(zone) != nil {
		return false
	}
	switch p.GetKind() {
	case participantv1.Kind_KIND_SYSTEM:
		return true
	case participantv1.Kind_KIND_ORGANIZATION:
		prefix := organizationPrefix(p.GetOrganizationId())
		return zone != prefix && Within(zone, prefix)
	case participantv1.Kind_KIND_APPLICATION:
		return Within(zone, ApplicationZone(p.GetOrganizationId(), p.GetApplicationId()))
	default:
		return false
	}
}
