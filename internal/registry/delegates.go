package registry

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
)

// DelegatePrefix begins the id of every delegate. No machine's id and no email has a colon.
const DelegatePrefix = "delegate:"

// maxDelegates is how many delegates one user may have: they go with the user in one transaction, two keys each.
const maxDelegates = 50

// CreateDelegate gives the delegate of a client under one of a user's grants: the one that there is, disabled or not, or
// a new one. Id and time are set. A user or a grant that is not stored is a [MissingError], what cannot be stored an
// [InvalidError].
func (s *Store) CreateDelegate(ctx context.Context, d *identityv1.StoredDelegate) (*identityv1.StoredDelegate, error) {
	made, err := s.createDelegate(ctx, proto.CloneOf(d))
	if err != nil {
		return nil, fmt.Errorf("create a delegate of client %q for user %q of %s: %w", d.GetClientId(), d.GetOwnerEmail(), ownerOf(d.GetOrganizationId()), err)
	}
	return made, nil
}

func (s *Store) createDelegate(ctx context.Context, d *identityv1.StoredDelegate) (*identityv1.StoredDelegate, error) {
	canonical, err := CanonicalEmail(d.GetOwnerEmail())
	if err != nil {
		return nil, err
	}
	if d.GetClientId() == "" || !utf8.ValidString(d.GetClientId()) || !utf8.ValidString(d.GetClientName()) {
		return nil, invalid("a delegate has a client id, and its texts are UTF-8")
	}
	random := make([]byte, 16)
	rand.Read(random)
	d.OwnerEmail, d.Id = canonical, DelegatePrefix+base64.RawURLEncoding.EncodeToString(random)
	d.CreatedAt, d.Disabled = timestamppb.New(s.now()), false
	value, err := encode(d)
	if err != nil {
		return nil, err
	}
	owner, index := s.l.user(d.GetOrganizationId(), canonical), s.indexOf(d)
	err = retry(ctx, func() (bool, error) {
		var u identityv1.StoredUser
		found, meta, err := read(ctx, s, owner, &u)
		if err != nil {
			return false, err
		}
		if !found {
			return false, &MissingError{"user", canonical}
		}
		if !slices.ContainsFunc(u.GetGrants(), func(g *identityv1.StoredGrant) bool { return g.GetApplicationId() == d.GetApplicationId() }) {
			return false, &MissingError{"application", d.GetApplicationId()}
		}
		all, revision, err := s.snapshot(ctx, s.l.delegatesOf(d.GetOrganizationId(), canonical))
		if err != nil {
			return false, err
		}
		for _, kv := range all[0] {
			if kv.key != index {
				continue
			}
			old := &identityv1.StoredDelegate{}
			found, _, err := read(ctx, s, s.l.delegate(string(kv.value)), old)
			if found {
				d = old
			}
			return found, err
		}
		if len(all[0]) >= maxDelegates {
			return false, invalid("the user has %d delegates, and no more are possible: remove one first", len(all[0]))
		}
		r, err := s.c.Txn(ctx).
			If(unchanged(owner, meta), absent(index), quietSince(s.l.delegatesOf(d.GetOrganizationId(), canonical), revision)).
			Then(clientv3.OpPut(s.l.delegate(d.GetId()), value), clientv3.OpPut(index, d.GetId())).
			Commit()
		return err == nil && r.Succeeded, err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// indexOf is the key by which a client's delegate under a grant is found; its value is the delegate's id.
func (s *Store) indexOf(d *identityv1.StoredDelegate) string {
	client := sha256.Sum256([]byte(d.GetClientId()))
	return s.l.delegatesOf(d.GetOrganizationId(), d.GetOwnerEmail()) + segment(d.GetApplicationId()) + "/" + hex.EncodeToString(client[:])
}

// partWith gives what removes those delegates of a user that go, and the guard that no others came to be meanwhile.
func (s *Store) partWith(ctx context.Context, organization, email string, goes func(*identityv1.StoredDelegate) bool) (clientv3.Cmp, []clientv3.Op, error) {
	prefix := s.l.delegatesOf(organization, email)
	index, revision, err := s.snapshot(ctx, prefix)
	if err != nil {
		return clientv3.Cmp{}, nil, err
	}
	var deletes []clientv3.Op
	for _, kv := range index[0] {
		key := s.l.delegate(string(kv.value))
		var d identityv1.StoredDelegate
		found, _, err := read(ctx, s, key, &d)
		if err != nil {
			return clientv3.Cmp{}, nil, err
		}
		if !found || goes(&d) {
			deletes = append(deletes, clientv3.OpDelete(kv.key), clientv3.OpDelete(key))
		}
	}
	return quietSince(prefix, revision), deletes, nil
}

// Delegates reads at most limit delegates of an organization's users, or with an empty one of the platform's, in the
// order of their ids and from the one after an id on; more says that there are others. It reads etcd, and so sees what
// was written before.
func (s *Store) Delegates(ctx context.Context, organization, after string, limit int) (all []*identityv1.StoredDelegate, more bool, err error) {
	all, more, err = list(ctx, s, s.l.delegates(), after, limit, func(d *identityv1.StoredDelegate) bool {
		return d.GetOrganizationId() == organization
	})
	if err != nil {
		return nil, false, fmt.Errorf("list the delegates of %s: %w", ownerOf(organization), err)
	}
	return all, more, nil
}

// SetDelegateDisabled switches a delegate off or on. An unknown id is [ErrNotFound].
func (s *Store) SetDelegateDisabled(ctx context.Context, id string, disabled bool, permits ...Permit[*identityv1.StoredDelegate]) (*identityv1.StoredDelegate, error) {
	if strings.Contains(id, "/") {
		return nil, fmt.Errorf("change delegate %q: %w", id, ErrNotFound)
	}
	d, err := change(ctx, s, s.l.delegate(id), func(d *identityv1.StoredDelegate) ([]clientv3.Cmp, error) {
		err := permitted(d, permits)
		d.Disabled = disabled
		return nil, err
	})
	if err != nil {
		return nil, fmt.Errorf("change delegate %q: %w", id, err)
	}
	return d, nil
}

// RemoveDelegate removes a delegate. An unknown id is [ErrNotFound].
func (s *Store) RemoveDelegate(ctx context.Context, id string, permits ...Permit[*identityv1.StoredDelegate]) error {
	if strings.Contains(id, "/") {
		return fmt.Errorf("remove delegate %q: %w", id, ErrNotFound)
	}
	err := remove(ctx, s, s.l.delegate(id), func(d *identityv1.StoredDelegate) ([]clientv3.Cmp, []clientv3.Op, error) {
		return nil, []clientv3.Op{clientv3.OpDelete(s.indexOf(d))}, permitted(d, permits)
	})
	if err != nil {
		return fmt.Errorf("remove delegate %q: %w", id, err)
	}
	return nil
}
