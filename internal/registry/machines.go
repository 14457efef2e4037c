package registry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	participantv1 "github.com/sallyport-dev/sallyport/gen/sallyport/participant/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// machineID is what a machine may be called. No `@`: an id with one is a user's email (access.md, "Credentials"). No
// slash: the id is one part of a key.
var machineID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// HashSecret gives what is stored of a machine's secret. A secret is 256 random bits: there is nothing to guess, so
// nothing to slow down (access.md, "Credentials").
func HashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

func newSecret() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// CreateMachine stores a new machine identity and returns its secret, which is kept nowhere. The participant's id is
// set to the machine's. A taken id is [ErrExists].
func (s *Store) CreateMachine(ctx context.Context, what registryv1.MachineKind, p *participant.Participant, id string) (secret string, err error) {
	secret, err = s.createMachine(ctx, what, p, id)
	if err != nil {
		return "", fmt.Errorf("create machine %q: %w", id, err)
	}
	return secret, nil
}

func (s *Store) createMachine(ctx context.Context, what registryv1.MachineKind, p *participant.Participant, id string) (string, error) {
	if !machineID.MatchString(id) {
		return "", errors.New("an id is 1 to 128 letters, digits, dots, dashes and underscores, and begins with a letter or digit")
	}
	if what != registryv1.MachineKind_MACHINE_KIND_CLIENT && what != registryv1.MachineKind_MACHINE_KIND_HOST {
		return "", fmt.Errorf("kind %v is neither CLIENT nor HOST", what)
	}
	p = proto.CloneOf(p)
	if p == nil || p.GetKind() == participantv1.Kind_KIND_ANONYMOUS {
		return "", errors.New("a machine is a system, an organization or an application")
	}
	p.Id = id
	if err := participant.Check(p); err != nil {
		return "", err
	}
	secret, now := newSecret(), timestamppb.New(s.now())
	value, err := encode(&registryv1.StoredMachine{
		Id: id, Kind: what, Participant: p, SecretSha256: HashSecret(secret), CreatedAt: now, SecretChangedAt: now,
	})
	if err != nil {
		return "", err
	}
	key := s.l.machine(id)
	r, err := s.c.Txn(ctx).If(absent(key)).Then(clientv3.OpPut(key, value)).Commit()
	if err != nil {
		return "", err
	}
	if !r.Succeeded {
		return "", ErrExists
	}
	return secret, nil
}

// RotateMachine gives a machine a new secret; the old one is worthless at once. An unknown id is [ErrNotFound].
func (s *Store) RotateMachine(ctx context.Context, id string) (secret string, err error) {
	secret = newSecret()
	err = s.changeMachine(ctx, id, func(m *registryv1.StoredMachine) {
		m.SecretSha256, m.SecretChangedAt = HashSecret(secret), timestamppb.New(s.now())
	})
	if err != nil {
		return "", fmt.Errorf("rotate machine %q: %w", id, err)
	}
	return secret, nil
}

// DisableMachine switches a machine off: it authenticates no more. An unknown id is [ErrNotFound].
func (s *Store) DisableMachine(ctx context.Context, id string) error {
	err := s.changeMachine(ctx, id, func(m *registryv1.StoredMachine) { m.Disabled = true })
	if err != nil {
		return fmt.Errorf("disable machine %q: %w", id, err)
	}
	return nil
}

func (s *Store) changeMachine(ctx context.Context, id string, change func(*registryv1.StoredMachine)) error {
	if !machineID.MatchString(id) {
		return ErrNotFound
	}
	key := s.l.machine(id)
	return retry(ctx, func() (bool, error) {
		var m registryv1.StoredMachine
		found, meta, err := read(ctx, s, key, &m)
		if err != nil {
			return false, err
		}
		if !found {
			return false, ErrNotFound
		}
		change(&m)
		value, err := encode(&m)
		if err != nil {
			return false, err
		}
		r, err := s.c.Txn(ctx).If(unchanged(key, meta)).Then(clientv3.OpPut(key, value)).Commit()
		if err != nil {
			return false, err
		}
		return r.Succeeded, nil
	})
}

// Machine reads one machine identity, disabled or not, past every view. An unknown id is [ErrNotFound].
func (s *Store) Machine(ctx context.Context, id string) (*registryv1.StoredMachine, error) {
	if !machineID.MatchString(id) {
		return nil, fmt.Errorf("read machine %q: %w", id, ErrNotFound)
	}
	var m registryv1.StoredMachine
	found, _, err := read(ctx, s, s.l.machine(id), &m)
	switch {
	case err != nil:
		return nil, fmt.Errorf("read machine %q: %w", id, err)
	case !found:
		return nil, fmt.Errorf("read machine %q: %w", id, ErrNotFound)
	}
	return &m, nil
}

// Machines reads all machine identities, in the order of their ids.
func (s *Store) Machines(ctx context.Context) ([]*registryv1.StoredMachine, error) {
	r, err := s.c.Get(ctx, s.l.machines(), clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	all := make([]*registryv1.StoredMachine, 0, len(r.Kvs))
	for _, kv := range r.Kvs {
		m := new(registryv1.StoredMachine)
		if err := proto.Unmarshal(kv.Value, m); err != nil {
			return nil, fmt.Errorf("list machines: read %s: %w", kv.Key, err)
		}
		all = append(all, m)
	}
	return all, nil
}

// EnsureAssertionKey makes the installation's first assertion key, if there is none. Any number of registries may do
// so at once; one key comes of it.
func (s *Store) EnsureAssertionKey(ctx context.Context) error {
	id, seed := make([]byte, 8), make([]byte, 32)
	rand.Read(id)
	rand.Read(seed)
	kid := hex.EncodeToString(id)
	value, err := encode(&registryv1.StoredAssertionKey{Kid: kid, Seed: seed, CreatedAt: timestamppb.New(s.now())})
	if err != nil {
		return fmt.Errorf("make an assertion key: %w", err)
	}
	_, err = s.c.Txn(ctx).
		If(clientv3.Compare(clientv3.CreateRevision(s.l.assertionKeys()).WithPrefix(), "=", 0)).
		Then(clientv3.OpPut(s.l.assertionKey(kid), value)).
		Commit()
	if err != nil {
		return fmt.Errorf("make an assertion key: %w", err)
	}
	return nil
}
