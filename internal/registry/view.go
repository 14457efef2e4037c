package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/access"
)

// View is what the registry held at one revision. It and everything in it is immutable and may be shared; a later view
// has the very same messages (the same pointers) where nothing changed.
//
// An instance may be of a service or contract that the view does not show yet or cannot read; who uses it hides what it
// cannot resolve.
type View struct {
	// Revision is etcd's revision up to which the view is complete.
	Revision int64
	// Services are the known services, online or not.
	Services map[Key]*registryv1.StoredService
	// Instances are the leased instances of those who may still serve, draining ones included, in the order of their ids.
	// Those of a machine that is gone or disabled, or whose organization or application is, are left out while that lasts:
	// nobody calls them any more, however long their leases are (access.md, "Identities"). No slice is empty.
	Instances map[Key][]*registryv1.StoredInstance
	// Machines are the machine identities by id, disabled ones included.
	Machines map[string]*registryv1.StoredMachine
	// Organizations are the known organizations by id, disabled ones included; so are those that follow.
	Organizations map[string]*identityv1.StoredOrganization
	// Applications are named by organization and id.
	Applications map[OwnedKey]*identityv1.StoredApplication
	// Users are named by organization, empty for the platform, and canonical email.
	Users map[OwnedKey]*identityv1.StoredUser
	// Roles are named by organization, empty for the platform, and name. A view in which no role changed has the very
	// same map.
	Roles map[OwnedKey]*identityv1.StoredRole
	// Delegates are named by id.
	Delegates map[string]*identityv1.StoredDelegate
	// AssertionKeys are the keys that sign and verify participant assertions, newest first.
	AssertionKeys []*registryv1.StoredAssertionKey
	// TokenKeys are the keys that sign and verify access tokens, newest first.
	TokenKeys []*identityv1.StoredTokenKey
}

// OwnedKey names what belongs to an organization, or, with an empty one, to the platform.
type OwnedKey struct{ Organization, ID string }

// Organization gives an organization, disabled or not.
func (v *View) Organization(id string) (*identityv1.StoredOrganization, bool) {
	if v == nil {
		return nil, false
	}
	m, ok := v.Organizations[id]
	return m, ok
}

// Application gives an application of an organization, disabled or not.
func (v *View) Application(organization, id string) (*identityv1.StoredApplication, bool) {
	if v == nil {
		return nil, false
	}
	m, ok := v.Applications[OwnedKey{organization, id}]
	return m, ok
}

// User gives a user of an organization, or of the platform, by canonical email, disabled or not.
func (v *View) User(organization, email string) (*identityv1.StoredUser, bool) {
	if v == nil {
		return nil, false
	}
	m, ok := v.Users[OwnedKey{organization, email}]
	return m, ok
}

// Role gives a role of an organization, or of the platform.
func (v *View) Role(organization, name string) (*identityv1.StoredRole, bool) {
	if v == nil {
		return nil, false
	}
	m, ok := v.Roles[OwnedKey{organization, name}]
	return m, ok
}

// Delegate gives a delegate, disabled or not.
func (v *View) Delegate(id string) (*identityv1.StoredDelegate, bool) {
	if v == nil {
		return nil, false
	}
	m, ok := v.Delegates[id]
	return m, ok
}

// Machine gives a machine identity, disabled or not.
func (v *View) Machine(id string) (*registryv1.StoredMachine, bool) {
	if v == nil {
		return nil, false
	}
	m, ok := v.Machines[id]
	return m, ok
}

// TokenKey gives a key that signs and verifies access tokens.
func (v *View) TokenKey(kid string) (*identityv1.StoredTokenKey, bool) {
	if v == nil {
		return nil, false
	}
	for _, key := range v.TokenKeys {
		if key.GetKid() == kid {
			return key, true
		}
	}
	return nil, false
}

// Online reports whether an instance of the service takes calls: a draining one does not.
func (v *View) Online(k Key) bool {
	if v == nil {
		return false
	}
	return slices.ContainsFunc(v.Instances[k], func(i *registryv1.StoredInstance) bool { return !i.GetDraining() })
}

// Published gives the contract that the service publishes: the oldest one that has an online instance, or, where
// none is online, the newest known. It is nil for a service without contracts. (DESIGN, decision 6.)
func (v *View) Published(k Key) *registryv1.StoredServiceContract {
	if v == nil {
		return nil
	}
	contracts := v.Services[k].GetContracts()
	if len(contracts) == 0 {
		return nil
	}
	for _, c := range contracts {
		for _, i := range v.Instances[k] {
			if !i.GetDraining() && i.GetContractDigest() == c.GetDigest() && EqualOverlays(i.GetOverlays(), c.GetOverlays()) {
				return c
			}
		}
	}
	return contracts[len(contracts)-1]
}

// EqualOverlays reports whether two processes say the same in code, order included.
func EqualOverlays(a, b []*registryv1.Overlay) bool {
	return slices.EqualFunc(a, b, func(x, y *registryv1.Overlay) bool { return proto.Equal(x, y) })
}

// draft collects changes for the next view. Its maps are shared with the last view until they are first written to.
type draft struct {
	l    layout
	next View // with all instances
	// serving are the instances of the last view.
	serving map[Key][]*registryv1.StoredInstance
	known   map[string]int64 // the mod revision of each key that was taken over or found unreadable
	dirty   bool
	shared  shared
}

// shared says which maps the last view still shares.
type shared struct {
	services, instances, machines                        bool
	organizations, applications, users, roles, delegates bool
}

var allShared = shared{true, true, true, true, true, true, true, true}

func newDraft(l layout) *draft {
	return &draft{l: l, known: map[string]int64{}, next: View{
		Services:  map[Key]*registryv1.StoredService{},
		Instances: map[Key][]*registryv1.StoredInstance{},
		Machines:  map[string]*registryv1.StoredMachine{},

		Organizations: map[string]*identityv1.StoredOrganization{},
		Applications:  map[OwnedKey]*identityv1.StoredApplication{},
		Users:         map[OwnedKey]*identityv1.StoredUser{},
		Roles:         map[OwnedKey]*identityv1.StoredRole{},
		Delegates:     map[string]*identityv1.StoredDelegate{},
	}}
}

// publish gives the view at a revision.
func (d *draft) publish(revision int64) *View {
	v := d.next
	v.Revision = revision
	if s := d.shared; d.serving == nil || !s.instances || !s.machines || !s.organizations || !s.applications {
		d.serving = v.serving()
	}
	v.Instances = d.serving
	d.shared, d.dirty = allShared, false
	return &v
}

// serving gives the instances that may still serve: the very same slices where these are all.
func (v *View) serving() map[Key][]*registryv1.StoredInstance {
	kept := make(map[Key][]*registryv1.StoredInstance, len(v.Instances))
	for key, all := range v.Instances {
		if slices.ContainsFunc(all, v.abandoned) {
			all = slices.DeleteFunc(slices.Clone(all), v.abandoned)
		}
		if len(all) > 0 {
			kept[key] = all
		}
	}
	return kept
}

// abandoned reports whether an instance's machine, or what that belongs to, is gone or disabled. The registry's own
// instances have none.
func (v *View) abandoned(i *registryv1.StoredInstance) bool {
	if i.GetMachineId() == "" {
		return false
	}
	m, stored := v.Machines[i.GetMachineId()]
	if !stored || m.GetDisabled() {
		return true
	}
	organization, application := m.GetParticipant().GetOrganizationId(), m.GetParticipant().GetApplicationId()
	return !access.OwnersServe(organization, application, v.Organizations[organization],
		v.Applications[OwnedKey{organization, application}])
}

func own[K comparable, V any](m *map[K]V, shared *bool) map[K]V {
	if *shared {
		*m, *shared = maps.Clone(*m), false
	}
	return *m
}

// put takes a key's value over. A value that cannot be read, or that is not what its key says, takes the place of what
// was there with nothing: what cannot be understood is not served. The error says why; the draft is sound all the same.
func (d *draft) put(raw string, mod int64, value []byte) error {
	if d.known[raw] == mod {
		return nil
	}
	what, key, id := d.l.parse(raw)
	var err error
	switch what {
	case kindOther:
		return nil
	case kindService:
		err = take(value, new(registryv1.StoredService), func(m *registryv1.StoredService) bool {
			if (Key{m.GetZone(), m.GetService()}) != key {
				return false
			}
			own(&d.next.Services, &d.shared.services)[key] = m
			return true
		})
	case kindInstance:
		err = take(value, new(registryv1.StoredInstance), func(m *registryv1.StoredInstance) bool {
			if (Key{m.GetZone(), m.GetService()}) != key || m.GetInstanceId() != id {
				return false
			}
			d.setInstance(key, id, m)
			return true
		})
	case kindMachine:
		err = take(value, new(registryv1.StoredMachine), func(m *registryv1.StoredMachine) bool {
			if m.GetId() != id {
				return false
			}
			own(&d.next.Machines, &d.shared.machines)[id] = m
			return true
		})
	case kindOrganization:
		err = take(value, new(identityv1.StoredOrganization), func(m *identityv1.StoredOrganization) bool {
			if m.GetId() != id {
				return false
			}
			own(&d.next.Organizations, &d.shared.organizations)[id] = m
			return true
		})
	case kindApplication:
		err = take(value, new(identityv1.StoredApplication), func(m *identityv1.StoredApplication) bool {
			return putOwned(&d.next.Applications, &d.shared.applications, OwnedKey{key.Zone, id},
				OwnedKey{m.GetOrganizationId(), m.GetId()}, m)
		})
	case kindUser:
		err = take(value, new(identityv1.StoredUser), func(m *identityv1.StoredUser) bool {
			return putOwned(&d.next.Users, &d.shared.users, OwnedKey{key.Zone, id},
				OwnedKey{m.GetOrganizationId(), m.GetEmail()}, m)
		})
	case kindRole:
		err = take(value, new(identityv1.StoredRole), func(m *identityv1.StoredRole) bool {
			return putOwned(&d.next.Roles, &d.shared.roles, OwnedKey{key.Zone, id},
				OwnedKey{m.GetOrganizationId(), m.GetName()}, m)
		})
	case kindDelegate:
		err = take(value, new(identityv1.StoredDelegate), func(m *identityv1.StoredDelegate) bool {
			if m.GetId() != id {
				return false
			}
			own(&d.next.Delegates, &d.shared.delegates)[id] = m
			return true
		})
	case kindTokenKey:
		err = take(value, new(identityv1.StoredTokenKey), func(m *identityv1.StoredTokenKey) bool {
			if m.GetKid() != id {
				return false
			}
			d.next.TokenKeys = replaceKey(d.next.TokenKeys, id, m)
			return true
		})
	case kindAssertionKey:
		err = take(value, new(registryv1.StoredAssertionKey), func(m *registryv1.StoredAssertionKey) bool {
			if m.GetKid() != id {
				return false
			}
			d.next.AssertionKeys = replaceKey(d.next.AssertionKeys, id, m)
			return true
		})
	}
	if err != nil {
		d.delete(raw)
		err = fmt.Errorf("key %s at revision %d: %w", raw, mod, err)
	}
	d.known[raw], d.dirty = mod, true
	return err
}

func take[M proto.Message](value []byte, m M, accept func(M) bool) error {
	if err := proto.Unmarshal(value, m); err != nil {
		return err
	}
	if !accept(m) {
		return fmt.Errorf("the %s is not the one that its key names", m.ProtoReflect().Descriptor().Name())
	}
	return nil
}

// delete forgets a key.
func (d *draft) delete(raw string) {
	if _, ok := d.known[raw]; !ok {
		return
	}
	delete(d.known, raw)
	d.dirty = true
	switch what, key, id := d.l.parse(raw); what {
	case kindService:
		delete(own(&d.next.Services, &d.shared.services), key)
	case kindInstance:
		d.setInstance(key, id, nil)
	case kindMachine:
		delete(own(&d.next.Machines, &d.shared.machines), id)
	case kindOrganization:
		delete(own(&d.next.Organizations, &d.shared.organizations), id)
	case kindApplication:
		delete(own(&d.next.Applications, &d.shared.applications), OwnedKey{key.Zone, id})
	case kindUser:
		delete(own(&d.next.Users, &d.shared.users), OwnedKey{key.Zone, id})
	case kindRole:
		delete(own(&d.next.Roles, &d.shared.roles), OwnedKey{key.Zone, id})
	case kindDelegate:
		delete(own(&d.next.Delegates, &d.shared.delegates), id)
	case kindTokenKey:
		d.next.TokenKeys = replaceKey(d.next.TokenKeys, id, nil)
	case kindAssertionKey:
		d.next.AssertionKeys = replaceKey(d.next.AssertionKeys, id, nil)
	case kindOther:
	}
}

// setInstance replaces, adds or, with nil, removes one instance in a new slice.
func (d *draft) setInstance(key Key, id string, m *registryv1.StoredInstance) {
	all := own(&d.next.Instances, &d.shared.instances)
	at, found := slices.BinarySearchFunc(all[key], id, func(i *registryv1.StoredInstance, id string) int {
		return strings.Compare(i.GetInstanceId(), id)
	})
	old := slices.Clip(all[key])
	var list []*registryv1.StoredInstance
	switch {
	case m != nil && found:
		list = slices.Clone(old)
		list[at] = m
	case m != nil:
		list = slices.Insert(old, at, m)
	case found:
		list = append(slices.Clone(old[:at]), old[at+1:]...)
	default:
		return
	}
	if len(list) == 0 {
		delete(all, key)
		return
	}
	all[key] = list
}

// putOwned takes over what an organization owns, if it is what its key says.
func putOwned[V any](all *map[OwnedKey]V, shared *bool, key, said OwnedKey, value V) bool {
	if said != key {
		return false
	}
	own(all, shared)[key] = value
	return true
}

// signingKey is what both kinds of signing keys are to a view.
type signingKey interface {
	comparable
	GetKid() string
	GetCreatedAt() *timestamppb.Timestamp
}

// replaceKey replaces, adds or, with nil, removes one key in a new slice, newest first.
func replaceKey[K signingKey](keys []K, kid string, key K) []K {
	list := slices.DeleteFunc(slices.Clone(keys), func(k K) bool { return k.GetKid() == kid })
	if key != *new(K) {
		list = append(list, key)
	}
	slices.SortFunc(list, func(a, b K) int {
		return newerFirst(a.GetCreatedAt().AsTime(), a.GetKid(), b.GetCreatedAt().AsTime(), b.GetKid())
	})
	return list
}

// newerFirst orders signing keys. Everybody must agree which is the newest, also of two that were made at once.
func newerFirst(made time.Time, kid string, otherMade time.Time, otherKid string) int {
	if c := otherMade.Compare(made); c != 0 {
		return c
	}
	return strings.Compare(otherKid, kid)
}
