package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
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
	// Instances are the leased instances, draining ones included, in the order of their ids. No slice is empty.
	Instances map[Key][]*registryv1.StoredInstance
	// Machines are the machine identities by id, disabled ones included.
	Machines map[string]*registryv1.StoredMachine
	// AssertionKeys are the keys that sign and verify participant assertions, newest first.
	AssertionKeys []*registryv1.StoredAssertionKey
}

// Machine gives a machine identity, disabled or not.
func (v *View) Machine(id string) (*registryv1.StoredMachine, bool) {
	if v == nil {
		return nil, false
	}
	m, ok := v.Machines[id]
	return m, ok
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
	l     layout
	next  View
	known map[string]int64 // the mod revision of each key that was taken over or found unreadable
	dirty bool
	// Which maps the last view still shares.
	sharedServices, sharedInstances, sharedMachines bool
}

func newDraft(l layout) *draft {
	return &draft{l: l, known: map[string]int64{}, next: View{
		Services:  map[Key]*registryv1.StoredService{},
		Instances: map[Key][]*registryv1.StoredInstance{},
		Machines:  map[string]*registryv1.StoredMachine{},
	}}
}

// publish gives the view at a revision.
func (d *draft) publish(revision int64) *View {
	v := d.next
	v.Revision = revision
	d.sharedServices, d.sharedInstances, d.sharedMachines, d.dirty = true, true, true, false
	return &v
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
			own(&d.next.Services, &d.sharedServices)[key] = m
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
			own(&d.next.Machines, &d.sharedMachines)[id] = m
			return true
		})
	case kindAssertionKey:
		err = take(value, new(registryv1.StoredAssertionKey), func(m *registryv1.StoredAssertionKey) bool {
			if m.GetKid() != id {
				return false
			}
			d.setAssertionKey(id, m)
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
		delete(own(&d.next.Services, &d.sharedServices), key)
	case kindInstance:
		d.setInstance(key, id, nil)
	case kindMachine:
		delete(own(&d.next.Machines, &d.sharedMachines), id)
	case kindAssertionKey:
		d.setAssertionKey(id, nil)
	case kindOther:
	}
}

// setInstance replaces, adds or, with nil, removes one instance in a new slice.
func (d *draft) setInstance(key Key, id string, m *registryv1.StoredInstance) {
	all := own(&d.next.Instances, &d.sharedInstances)
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

func (d *draft) setAssertionKey(kid string, m *registryv1.StoredAssertionKey) {
	list := slices.DeleteFunc(slices.Clone(d.next.AssertionKeys), func(k *registryv1.StoredAssertionKey) bool {
		return k.GetKid() == kid
	})
	if m != nil {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *registryv1.StoredAssertionKey) int {
		if c := b.GetCreatedAt().AsTime().Compare(a.GetCreatedAt().AsTime()); c != 0 {
			return c
		}
		return strings.Compare(b.GetKid(), a.GetKid())
	})
	d.next.AssertionKeys = list
}
