package participant

import (
	"errors"
	"fmt"
	"strings"
)

// The platform's own zones, and the first label of every application's.
const (
	// SystemZone holds what is internal to the platform.
	SystemZone = "system-api"
	// ManagementZone holds what organizations manage the system through.
	ManagementZone = "management-api"
	// ApplicationAPIZone holds the platform's data plane for applications.
	ApplicationAPIZone = "app-api"

	applicationLabel = "app"
)

// Limits of zones and their labels. They are those of DNS names, so that a zone can become one.
const (
	MaxZone  = 253
	MaxLabel = 63
)

// CheckLabel reports whether id is one label: lower-case letters, digits and interior dashes, 1 to 63 of them.
// Organization and application ids are labels; a dot in one would shift the labels of the zone that is made of it
// (tools.md, "Resource identifiers").
func CheckLabel(id string) error {
	switch {
	case id == "":
		return errors.New("a label is empty: it needs at least one letter or digit")
	case len(id) > MaxLabel:
		return fmt.Errorf("a label has %d characters: at most %d are allowed", len(id), MaxLabel)
	case id[0] == '-' || id[len(id)-1] == '-':
		return fmt.Errorf("label %q begins or ends with a dash: dashes stand between letters and digits only", id)
	}
	for i := range len(id) {
		if c := id[i]; !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-') {
			return fmt.Errorf("label %q has a character other than a lower-case letter, a digit and a dash", id)
		}
	}
	return nil
}

// CheckZone reports whether zone is spelled as a zone: labels joined by dots, 253 characters at most. Below `app`,
// the labels of organization and application may not be `system-api`, as no such ids exist. The empty string is not
// a zone but the absence of one, and is refused.
//
// CheckZone judges the spelling alone: that a zone is well spelled does not say that anybody may host in it.
func CheckZone(zone string) error {
	if zone == "" {
		return errors.New("the zone is empty")
	}
	if len(zone) > MaxZone {
		return fmt.Errorf("the zone has %d characters: at most %d are allowed", len(zone), MaxZone)
	}
	application := false
	rest, more := zone, true
	for n := 0; more; n++ {
		var label string
		label, rest, more = strings.Cut(rest, ".")
		if err := CheckLabel(label); err != nil {
			return fmt.Errorf("zone %q: %w", zone, err)
		}
		if n == 0 {
			application = label == applicationLabel
		}
		if application && (n == 1 || n == 2) && label == SystemZone {
			return fmt.Errorf("zone %q: %q is reserved and is no organization or application id", zone, SystemZone)
		}
	}
	return nil
}

// Within reports whether zone is outer or a sub-zone of it. The match needs a dot at the boundary:
// `app.acme.orders.billing` is within `app.acme.orders`, `app.acme.orders-2` is not. Nothing is within the empty
// string, and the empty string is within nothing.
func Within(zone, outer string) bool {
	if outer == "" || !strings.HasPrefix(zone, outer) {
		return false
	}
	return len(zone) == len(outer) || zone[len(outer)] == '.'
}

// Root gives the part of a zone within which declared tool names are unique (tools.md, "Name"): `app.<org>.<app>`
// for an application's zones, the first label for every other zone, and the empty string for the un-zoned.
func Root(zone string) string {
	keep := 1
	if Within(zone, applicationLabel) {
		keep = 3
	}
	for i := range len(zone) {
		if zone[i] != '.' {
			continue
		}
		if keep--; keep == 0 {
			return zone[:i]
		}
	}
	return zone
}

// ApplicationZone gives the zone of one application's services. Both ids must be labels.
func ApplicationZone(organization, application string) string {
	return applicationLabel + "." + organization + "." + application
}

// organizationPrefix is what every zone of an organization's applications is within. It is no zone of its own:
// nobody hosts in it.
func organizationPrefix(organization string) string {
	return applicationLabel + "." + organization
}

// QualifiedName is the name under which a service is known across zones: `zone~package.Service`, or `package.Service`
// where the zone is empty. Tool names are hashed from it, and assertions name it as their audience.
func QualifiedName(zone, service string) string {
	if zone == "" {
		return service
	}
	return zone + "~" + service
}
