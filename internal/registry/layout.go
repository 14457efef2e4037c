package registry

import (
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sallyport-dev/sallyport/participant"
)

// DefaultPrefix is where everything lies unless the configuration says otherwise.
const DefaultPrefix = "/sallyport/v1/"

// unzoned spells the empty zone in a key. It is not a zone: an underscore is in no label.
const unzoned = "_"

// Key names one service: a zone, empty for un-zoned, and a fully qualified protobuf service name.
type Key struct{ Zone, Service string }

// String gives the qualified name: `zone~package.Service`, or `package.Service` un-zoned.
func (k Key) String() string {
	return participant.QualifiedName(k.Zone, k.Service)
}

// Compare orders keys by zone, then by service name.
func (k Key) Compare(other Key) int {
	if c := strings.Compare(k.Zone, other.Zone); c != 0 {
		return c
	}
	return strings.Compare(k.Service, other.Service)
}

// layout makes and reads keys. Its value is the prefix, which ends with a slash.
type layout string

func newLayout(prefix string) layout {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	if !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return layout(prefix)
}

func segment(zone string) string {
	if zone == "" {
		return unzoned
	}
	return zone
}

func (l layout) alias(root, name string) string {
	return string(l) + "aliases/" + segment(root) + "/" + name
}
func (l layout) manifest(digest string) string { return string(l) + "contracts/" + digest }
func (l layout) chunk(digest string, n int) string {
	return fmt.Sprintf("%scontracts/%s/%04d", string(l), digest, n)
}
func (l layout) function(hash string) string { return string(l) + "functions/" + hash }
func (l layout) host(id string) string       { return string(l) + "hosts/" + id }
func (l layout) machines() string            { return string(l) + "identities/machines/" }
func (l layout) machine(id string) string    { return l.machines() + id }
func (l layout) organizations() string       { return string(l) + "identities/organizations/" }
func (l layout) organization(id string) string {
	return l.organizations() + id
}
func (l layout) applications(organization string) string {
	return string(l) + "identities/applications/" + segment(organization) + "/"
}
func (l layout) application(organization, id string) string { return l.applications(organization) + id }
func (l layout) allUsers() string                           { return string(l) + "identities/users/" }
func (l layout) users(organization string) string {
	return l.allUsers() + segment(organization) + "/"
}
func (l layout) user(organization, email string) string { return l.users(organization) + email }
func (l layout) roles(organization string) string {
	return string(l) + "identities/roles/" + segment(organization) + "/"
}
func (l layout) role(organization, name string) string { return l.roles(organization) + name }
func (l layout) delegates() string                     { return string(l) + "identities/delegates/" }
func (l layout) delegate(id string) string             { return l.delegates() + id }

// delegatesOf is where a user's delegates are found by grant and client. Nobody watches it.
func (l layout) delegatesOf(organization, email string) string {
	return string(l) + "delegates/" + segment(organization) + "/" + email + "/"
}

// built is the marker of what the first registry makes once.
func (l layout) built(what string) string { return string(l) + "built-in/" + what }
func (l layout) tokenKeys() string        { return string(l) + "keys/token/" }
func (l layout) instances() string        { return string(l) + "instances/" }
func (l layout) instance(k Key, id string) string {
	return l.instances() + segment(k.Zone) + "/" + k.Service + "/" + id
}
func (l layout) assertionKeys() string          { return string(l) + "keys/assertion/" }
func (l layout) assertionKey(kid string) string { return l.assertionKeys() + kid }
func (l layout) services() string               { return string(l) + "services/" }
func (l layout) service(k Key) string           { return l.services() + segment(k.Zone) + "/" + k.Service }

// servicesOf, instancesOf and aliasesOf are what lies in the zones of an organization's applications.
func (l layout) servicesOf(organization string) string {
	return l.services() + applicationsOf(organization)
}
func (l layout) instancesOf(organization string) string {
	return l.instances() + applicationsOf(organization)
}
func (l layout) aliasesOf(organization string) string {
	return string(l) + "aliases/" + applicationsOf(organization)
}

// applicationsOf is how the zones of an organization's applications begin.
func applicationsOf(organization string) string { return participant.ApplicationZone(organization, "") }

func (l layout) watched() (from, to string) {
	return string(l) + "identities/", clientv3.GetPrefixRangeEnd(l.services())
}

// kind says what a watched key holds.
type kind int

const (
	kindOther kind = iota
	kindMachine
	kindInstance
	kindAssertionKey
	kindService
	kindOrganization
	kindApplication
	kindUser
	kindRole
	kindDelegate
	kindTokenKey
)

// parse reads a key of the watched range. Keys of other kinds, and ill-formed ones, are kindOther. For what is named
// by an id alone, id is its id; for what is an organization's, key.Zone is the organization and id the rest; for an
// instance, key and id; for a service, key.
func (l layout) parse(raw string) (what kind, key Key, id string) {
	rest, ok := strings.CutPrefix(raw, string(l))
	if !ok {
		return kindOther, Key{}, ""
	}
	parts := strings.Split(rest, "/")
	for _, p := range parts {
		if p == "" {
			return kindOther, Key{}, ""
		}
	}
	switch {
	case len(parts) == 3 && parts[0] == "identities" && parts[1] == "machines":
		return kindMachine, Key{}, parts[2]
	case len(parts) == 3 && parts[0] == "identities" && parts[1] == "organizations":
		return kindOrganization, Key{}, parts[2]
	case len(parts) == 3 && parts[0] == "identities" && parts[1] == "delegates":
		return kindDelegate, Key{}, parts[2]
	case len(parts) == 4 && parts[0] == "identities" && parts[1] == "applications":
		return kindApplication, keyOf(parts[2], ""), parts[3]
	case len(parts) == 4 && parts[0] == "identities" && parts[1] == "users":
		return kindUser, keyOf(parts[2], ""), parts[3]
	case len(parts) == 4 && parts[0] == "identities" && parts[1] == "roles":
		return kindRole, keyOf(parts[2], ""), parts[3]
	case len(parts) == 3 && parts[0] == "keys" && parts[1] == "token":
		return kindTokenKey, Key{}, parts[2]
	case len(parts) == 3 && parts[0] == "keys" && parts[1] == "assertion":
		return kindAssertionKey, Key{}, parts[2]
	case len(parts) == 3 && parts[0] == "services":
		return kindService, keyOf(parts[1], parts[2]), ""
	case len(parts) == 4 && parts[0] == "instances":
		return kindInstance, keyOf(parts[1], parts[2]), parts[3]
	}
	return kindOther, Key{}, ""
}

func keyOf(zone, service string) Key {
	if zone == unzoned {
		zone = ""
	}
	return Key{Zone: zone, Service: service}
}
