package registry

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

// ToolName is what one tool of a service claims.
type ToolName struct {
	// Hash is the hashed name.
	Hash string
	// Alias is the declared name; empty where none is declared.
	Alias string
	// Function is the RPC, as `zone~package.Service/Method`.
	Function string
}

// ServiceRegistration is one service of a process.
type ServiceRegistration struct {
	Key      Key
	Overlays []*registryv1.Overlay
	// AliasRoot is the zone root within which the service's aliases are unique.
	AliasRoot string
	Tools     []ToolName
}

// Registration is one process with all of its services. The caller has compiled the contract, and has checked that
// the machine may host in each zone at the address.
type Registration struct {
	// InstanceID is the one that an earlier registration of the same process answered; empty for a new process.
	InstanceID string
	// MachineID is who registers. Only it may renew, drain or remove the instance. Empty is the registry itself.
	MachineID string
	// TTL is the lease's time to live, at least one second.
	TTL time.Duration
	// Contract is the digest of a stored contract that has all of the services.
	Contract string
	Services []ServiceRegistration

	Address, TLSServerName, Locality, BuildVersion string
	Weight                                         uint32
}

// Lease is what keeps a process registered.
type Lease struct {
	InstanceID string
	// TTL is what etcd granted, which may be more than was asked for. Renew at a third of it.
	TTL time.Duration
}

// Register makes the services known, claims their tools' names, and writes the process's leased keys. Registering
// again with the same instance id replaces what was there, without a moment in which the instance is gone; services
// that the process no longer names go with the old lease.
//
// Names that other functions hold are refused with a [*NameError]; the instance of another machine with
// [ErrForeignInstance]; an unknown contract with [ErrNotFound]. On an error nothing leased is left behind.
func (s *Store) Register(ctx context.Context, r *Registration) (*Lease, error) {
	fresh, err := s.unknown(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	if err := s.claimNames(ctx, fresh); err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	creates := make([]int64, len(r.Services))
	for i := range r.Services {
		create, err := s.putService(ctx, r.Contract, &r.Services[i])
		if err != nil {
			return nil, fmt.Errorf("register %s: %w", r.Services[i].Key, err)
		}
		creates[i] = create
	}
	lease, err := s.putInstance(ctx, r, creates)
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	return lease, nil
}

// unknown gives the services whose names need claiming: a contract is recorded after its names are claimed, so one that
// is recorded has them. A process that comes back costs one read for each service and not one for each tool.
func (s *Store) unknown(ctx context.Context, r *Registration) ([]ServiceRegistration, error) {
	var fresh []ServiceRegistration
	for _, service := range r.Services {
		var m registryv1.StoredService
		if _, _, err := read(ctx, s, s.l.service(service.Key), &m); err != nil {
			return nil, err
		}
		if !knows(&m, r.Contract, service.Overlays) {
			fresh = append(fresh, service)
		}
	}
	return fresh, nil
}

func knows(m *registryv1.StoredService, digest string, overlays []*registryv1.Overlay) bool {
	return slices.ContainsFunc(m.GetContracts(), func(c *registryv1.StoredServiceContract) bool {
		return c.GetDigest() == digest && EqualOverlays(c.GetOverlays(), overlays)
	})
}

// putService makes one service and its contract known and returns the revision that made the service's key. Its names
// are claimed already; should this fail, the claims stay, and are the same function's when it tries again.
func (s *Store) putService(ctx context.Context, digest string, r *ServiceRegistration) (create int64, err error) {
	key, manifest := s.l.service(r.Key), s.l.manifest(digest)
	err = retry(ctx, func() (bool, error) {
		var m registryv1.StoredService
		found, meta, err := read(ctx, s, key, &m)
		if err != nil {
			return false, err
		}
		if knows(&m, digest, r.Overlays) {
			create = meta.create
			return true, nil
		}
		now := timestamppb.New(s.now())
		if !found {
			m = registryv1.StoredService{Zone: r.Key.Zone, Service: r.Key.Service, FirstRegisteredAt: now}
		}
		m.Contracts = append(m.Contracts, &registryv1.StoredServiceContract{
			Digest: digest, Overlays: r.Overlays, FirstRegisteredAt: now,
		})
		value, err := encode(&m)
		if err != nil {
			return false, err
		}
		if len(value) > chunkBytes {
			return false, fmt.Errorf("the service's record would have %d bytes, at most %d are allowed: its overlays are too large or too many", len(value), chunkBytes)
		}
		w, err := s.c.Txn(ctx).
			If(unchanged(key, meta), present(manifest)).
			Then(clientv3.OpPut(key, value)).
			Else(clientv3.OpGet(manifest, clientv3.WithCountOnly())).
			Commit()
		if err != nil {
			return false, err
		}
		if !w.Succeeded {
			if w.Responses[0].GetResponseRange().GetCount() == 0 {
				return false, fmt.Errorf("contract %.12s: %w", digest, ErrNotFound)
			}
			return false, nil
		}
		create = meta.create
		if !found {
			create = w.Header.Revision
		}
		return true, nil
	})
	return create, err
}

// putInstance writes the process's leased keys on a new lease and lets the old one go.
func (s *Store) putInstance(ctx context.Context, r *Registration, creates []int64) (_ *Lease, err error) {
	id := r.InstanceID
	if id == "" {
		b := make([]byte, 16)
		rand.Read(b)
		id = hex.EncodeToString(b)
	}
	granted, err := s.c.Grant(ctx, int64(max(r.TTL, time.Second).Round(time.Second)/time.Second))
	if err != nil {
		return nil, fmt.Errorf("grant a lease: %w", err)
	}
	defer func() {
		if err != nil { // half an instance, or none, must not outlive the failure
			s.revoke(context.WithoutCancel(ctx), granted.ID)
		}
	}()

	host, m := s.l.host(id), s.instance(r, id, granted.TTL)
	var old clientv3.LeaseID
	var written int64
	err = retry(ctx, func() (bool, error) {
		var before registryv1.StoredInstance
		found, meta, err := read(ctx, s, host, &before)
		if err != nil {
			return false, err
		}
		if found && before.GetMachineId() != r.MachineID {
			return false, fmt.Errorf("instance %s: %w", id, ErrForeignInstance)
		}
		old = meta.lease
		value, err := encode(m)
		if err != nil {
			return false, err
		}
		w, err := s.c.Txn(ctx).
			If(unchanged(host, meta)).
			Then(clientv3.OpPut(host, value, clientv3.WithLease(granted.ID))).
			Commit()
		if err != nil {
			return false, err
		}
		written = w.Header.Revision
		return w.Succeeded, nil
	})
	if err != nil {
		return nil, err
	}

	for at := 0; at < len(r.Services); {
		guards := []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(host), "=", written), present(s.l.manifest(r.Contract))}
		var puts []clientv3.Op
		for size := 0; at < len(r.Services) && len(puts) < batch; at++ {
			k := r.Services[at].Key
			one := proto.CloneOf(m)
			one.Zone, one.Service, one.Overlays = k.Zone, k.Service, r.Services[at].Overlays
			value, err := encode(one)
			if err != nil {
				return nil, err
			}
			if size += len(value); len(puts) > 0 && size > chunkBytes {
				break
			}
			guards = append(guards, clientv3.Compare(clientv3.CreateRevision(s.l.service(k)), "=", creates[at]))
			puts = append(puts, clientv3.OpPut(s.l.instance(k, id), value, clientv3.WithLease(granted.ID)))
		}
		w, err := s.c.Txn(ctx).If(guards...).Then(puts...).Commit()
		if err != nil {
			return nil, err
		}
		if !w.Succeeded {
			return nil, fmt.Errorf("instance %s: %w", id, ErrContended)
		}
	}
	if old != 0 {
		// What the process no longer serves is still on the old lease, and goes with it.
		s.revoke(context.WithoutCancel(ctx), old)
	}
	return &Lease{InstanceID: id, TTL: time.Duration(granted.TTL) * time.Second}, nil
}

func (s *Store) instance(r *Registration, id string, ttl int64) *registryv1.StoredInstance {
	return &registryv1.StoredInstance{
		InstanceId: id, MachineId: r.MachineID, ContractDigest: r.Contract,
		Address: r.Address, TlsServerName: r.TLSServerName, Locality: r.Locality, BuildVersion: r.BuildVersion,
		Weight: max(r.Weight, 1), RegisteredAt: timestamppb.New(s.now()), TtlSeconds: ttl,
	}
}

// revoke lets a lease go, as well as it can: one that stays behind lapses by itself.
func (s *Store) revoke(ctx context.Context, id clientv3.LeaseID) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, _ = s.c.Revoke(ctx, id)
}

// host reads the process behind an instance id and proves that the machine registered it.
func (s *Store) host(ctx context.Context, machineID, instanceID string) (keyMeta, error) {
	if instanceID == "" || strings.Contains(instanceID, "/") {
		return keyMeta{}, ErrLeaseLost
	}
	var m registryv1.StoredInstance
	found, meta, err := read(ctx, s, s.l.host(instanceID), &m)
	switch {
	case err != nil:
		return keyMeta{}, err
	case !found:
		return keyMeta{}, ErrLeaseLost
	case m.GetMachineId() != machineID:
		return keyMeta{}, ErrForeignInstance
	}
	return meta, nil
}

// KeepAlive renews an instance's lease and says how long it lasts from now. A lease that lapsed or was revoked is
// [ErrLeaseLost]; the instance of another machine [ErrForeignInstance].
func (s *Store) KeepAlive(ctx context.Context, machineID, instanceID string) (time.Duration, error) {
	meta, err := s.host(ctx, machineID, instanceID)
	if err != nil {
		return 0, fmt.Errorf("keep instance %s alive: %w", instanceID, err)
	}
	r, err := s.c.KeepAliveOnce(ctx, meta.lease)
	switch {
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return 0, fmt.Errorf("keep instance %s alive: %w", instanceID, ErrLeaseLost)
	case err != nil:
		return 0, fmt.Errorf("keep instance %s alive: %w", instanceID, err)
	}
	return time.Duration(r.TTL) * time.Second, nil
}

// Drain marks an instance as taking no new calls, in all of its services. Errors are those of KeepAlive.
func (s *Store) Drain(ctx context.Context, machineID, instanceID string) error {
	meta, err := s.host(ctx, machineID, instanceID)
	if err == nil {
		err = s.drain(ctx, meta.lease)
	}
	if err != nil {
		return fmt.Errorf("drain instance %s: %w", instanceID, err)
	}
	return nil
}

func (s *Store) drain(ctx context.Context, lease clientv3.LeaseID) error {
	r, err := s.c.TimeToLive(ctx, lease, clientv3.WithAttachedKeys())
	if err != nil {
		return err
	}
	if r.TTL < 0 {
		return ErrLeaseLost
	}
	for _, raw := range r.Keys {
		key := string(raw)
		if !strings.HasPrefix(key, s.l.instances()) {
			continue
		}
		err := retry(ctx, func() (bool, error) {
			var m registryv1.StoredInstance
			found, meta, err := read(ctx, s, key, &m)
			// A key that is gone, or has moved to another lease, was registered anew meanwhile.
			if err != nil || !found || meta.lease != lease || m.GetDraining() {
				return err == nil, err
			}
			m.Draining = true
			value, err := encode(&m)
			if err != nil {
				return false, err
			}
			w, err := s.c.Txn(ctx).If(unchanged(key, meta)).
				Then(clientv3.OpPut(key, value, clientv3.WithIgnoreLease())).Commit()
			if err != nil {
				return false, err
			}
			return w.Succeeded, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Deregister removes an instance now. It is marked as draining first, so that a watcher can tell a farewell from a
// lapse. An instance that is not there is no error; that of another machine is [ErrForeignInstance].
func (s *Store) Deregister(ctx context.Context, machineID, instanceID string) error {
	meta, err := s.host(ctx, machineID, instanceID)
	if err == nil {
		err = s.drain(ctx, meta.lease)
	}
	if err == nil {
		_, err = s.c.Revoke(ctx, meta.lease)
	}
	if err != nil && !errors.Is(err, ErrLeaseLost) && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return fmt.Errorf("deregister instance %s: %w", instanceID, err)
	}
	return nil
}
