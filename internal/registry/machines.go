package registry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
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
//
// The participant's organization and application are stored with the machine where they are not yet: whoever works on
// the store itself need not make them first. Its roles need not be stored, and count once they are.
func (s *Store) CreateMachine(ctx context.Context, what registryv1.MachineKind, p *participant.Participant, id string) (secret string, err error) {
	m, secret, err := s.newMachine(what, p, id)
	if err == nil {
		err = s.createWithOwners(ctx, m)
	}
	if err != nil {
		return "", fmt.Errorf("create machine %q: %w", id, err)
	}
	return secret, nil
}

// AddMachine stores a new machine identity as [Store.CreateMachine] does, of an organization and application that are
// stored and with roles that are: what is not is a [MissingError], what cannot be stored an [InvalidError].
func (s *Store) AddMachine(ctx context.Context, what registryv1.MachineKind, p *participant.Participant, id string) (*registryv1.StoredMachine, string, error) {
	m, secret, err := s.newMachine(what, p, id)
	if err == nil {
		err = s.create(ctx, s.l.machine(id), m, func() ([]clientv3.Cmp, error) { return s.machineGuards(ctx, m) })
	}
	if err != nil {
		return nil, "", fmt.Errorf("create machine %q: %w", id, err)
	}
	return m, secret, nil
}

// machineGuards guards a transaction by what a machine refers to.
func (s *Store) machineGuards(ctx context.Context, m *registryv1.StoredMachine) ([]clientv3.Cmp, error) {
	p := m.GetParticipant()
	var applications []string
	if p.GetApplicationId() != "" {
		applications = []string{p.GetApplicationId()}
	}
	return s.references(ctx, p.GetOrganizationId(), applications, p.GetRoles())
}

// newMachine makes a machine with a new secret.
func (s *Store) newMachine(what registryv1.MachineKind, p *participant.Participant, id string) (*registryv1.StoredMachine, string, error) {
	// A dot stands between an organization and a name. What an earlier version stored otherwise is still changed and
	// removed.
	if !machineID.MatchString(id) || strings.HasSuffix(id, ".") || strings.Contains(id, "..") {
		return nil, "", invalid("an id is 1 to 128 letters, digits, dots, dashes and underscores, begins with a letter or digit, and " +
			"has a dot neither at the end nor after another")
	}
	if what != registryv1.MachineKind_MACHINE_KIND_CLIENT && what != registryv1.MachineKind_MACHINE_KIND_HOST {
		return nil, "", invalid("kind %v is neither CLIENT nor HOST", what)
	}
	p = proto.CloneOf(p)
	if p == nil || p.GetKind() == participantv1.Kind_KIND_ANONYMOUS {
		return nil, "", invalid("a machine is a system, an organization or an application")
	}
	p.Id = id
	if err := checkParticipant(p); err != nil {
		return nil, "", err
	}
	secret, now := newSecret(), timestamppb.New(s.now())
	return &registryv1.StoredMachine{
		Id: id, Kind: what, Participant: p, SecretSha256: HashSecret(secret), CreatedAt: now, SecretChangedAt: now,
	}, secret, nil
}

// createWithOwners stores a machine together with those of its organization and application that are not stored yet.
func (s *Store) createWithOwners(ctx context.Context, m *registryv1.StoredMachine) error {
	value, err := encode(m)
	if err != nil {
		return err
	}
	key, p := s.l.machine(m.GetId()), m.GetParticipant()
	owners := map[string]proto.Message{}
	if id := p.GetOrganizationId(); id != "" {
		owners[s.l.organization(id)] = &identityv1.StoredOrganization{Id: id, CreatedAt: m.GetCreatedAt()}
	}
	if id := p.GetApplicationId(); id != "" {
		owners[s.l.application(p.GetOrganizationId(), id)] = &identityv1.StoredApplication{
			OrganizationId: p.GetOrganizationId(), Id: id, CreatedAt: m.GetCreatedAt(),
		}
	}
	return retry(ctx, func() (bool, error) {
		guards, puts := []clientv3.Cmp{absent(key)}, []clientv3.Op{clientv3.OpPut(key, value)}
		for owner, made := range owners {
			r, err := s.c.Get(ctx, owner, clientv3.WithCountOnly())
			if err != nil {
				return false, err
			}
			if r.Count > 0 {
				guards = append(guards, present(owner))
				continue
			}
			text, err := encode(made)
			if err != nil {
				return false, err
			}
			guards, puts = append(guards, absent(owner)), append(puts, clientv3.OpPut(owner, text))
		}
		r, err := s.c.Txn(ctx).If(guards...).Then(puts...).Else(clientv3.OpGet(key, clientv3.WithCountOnly())).Commit()
		if err == nil && !r.Succeeded && r.Responses[0].GetResponseRange().GetCount() > 0 {
			err = ErrExists
		}
		return err == nil && r.Succeeded, err
	})
}

// RotateMachine gives a machine a new secret; the old one is worthless at once. An unknown id is [ErrNotFound].
func (s *Store) RotateMachine(ctx context.Context, id string, permits ...Permit[*registryv1.StoredMachine]) (secret string, err error) {
	_, secret, err = s.ReplaceSecret(ctx, id, permits...)
	return secret, err
}

// ReplaceSecret is [Store.RotateMachine], and gives the machine, too.
func (s *Store) ReplaceSecret(ctx context.Context, id string, permits ...Permit[*registryv1.StoredMachine]) (*registryv1.StoredMachine, string, error) {
	secret := newSecret()
	m, err := s.changeMachine(ctx, id, permits, func(m *registryv1.StoredMachine) ([]clientv3.Cmp, error) {
		m.SecretSha256, m.SecretChangedAt = HashSecret(secret), timestamppb.New(s.now())
		return nil, nil
	})
	if err != nil {
		return nil, "", fmt.Errorf("rotate machine %q: %w", id, err)
	}
	return m, secret, nil
}

// SetMachineRoles replaces a machine's roles. An unknown id is [ErrNotFound], an unknown role a [MissingError], too many
// an [InvalidError].
func (s *Store) SetMachineRoles(ctx context.Context, id string, roles []string, permits ...Permit[*registryv1.StoredMachine]) (*registryv1.StoredMachine, error) {
	m, err := s.changeMachine(ctx, id, permits, func(m *registryv1.StoredMachine) ([]clientv3.Cmp, error) {
		m.Participant.Roles = roles
		if err := checkParticipant(m.GetParticipant()); err != nil {
			return nil, err
		}
		return s.machineGuards(ctx, m)
	})
	if err != nil {
		return nil, fmt.Errorf("change machine %q: %w", id, err)
	}
	return m, nil
}

// DisableMachine switches a machine off: it authenticates no more. An unknown id is [ErrNotFound].
func (s *Store) DisableMachine(ctx context.Context, id string) error {
	_, err := s.SetMachineDisabled(ctx, id, true)
	return err
}

// SetMachineDisabled switches a machine off or on. An unknown id is [ErrNotFound].
func (s *Store) SetMachineDisabled(ctx context.Context, id string, disabled bool, permits ...Permit[*registryv1.StoredMachine]) (*registryv1.StoredMachine, error) {
	m, err := s.changeMachine(ctx, id, permits, func(m *registryv1.StoredMachine) ([]clientv3.Cmp, error) {
		m.Disabled = disabled
		return nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("change machine %q: %w", id, err)
	}
	return m, nil
}

func (s *Store) changeMachine(ctx context.Context, id string, permits []Permit[*registryv1.StoredMachine], edit func(*registryv1.StoredMachine) ([]clientv3.Cmp, error)) (*registryv1.StoredMachine, error) {
	if !machineID.MatchString(id) {
		return nil, ErrNotFound
	}
	return change(ctx, s, s.l.machine(id), func(m *registryv1.StoredMachine) ([]clientv3.Cmp, error) {
		if err := permitted(m, permits); err != nil {
			return nil, err
		}
		return edit(m)
	})
}

// RemoveMachine removes a machine. An unknown id is [ErrNotFound].
func (s *Store) RemoveMachine(ctx context.Context, id string, permits ...Permit[*registryv1.StoredMachine]) error {
	err := ErrNotFound
	if machineID.MatchString(id) {
		err = remove(ctx, s, s.l.machine(id), func(m *registryv1.StoredMachine) ([]clientv3.Cmp, []clientv3.Op, error) {
			return nil, nil, permitted(m, permits)
		})
	}
	if err != nil {
		return fmt.Errorf("remove machine %q: %w", id, err)
	}
	return nil
}

// MachinesOf reads at most limit machines of an organization and its applications, or with an empty one of the platform,
// in the order of their ids and from the one after an id on; more says that there are others. It reads etcd, and so sees
// what was written before.
func (s *Store) MachinesOf(ctx context.Context, organization, after string, limit int) (all []*registryv1.StoredMachine, more bool, err error) {
	all, more, err = list(ctx, s, s.l.machines(), after, limit, func(m *registryv1.StoredMachine) bool {
		return m.GetParticipant().GetOrganizationId() == organization
	})
	if err != nil {
		return nil, false, fmt.Errorf("list the machines of %s: %w", ownerOf(organization), err)
	}
	return all, more, nil
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
