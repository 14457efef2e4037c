package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"

	"github.com/sallyport-dev/sallyport/internal/access"
	"github.com/sallyport-dev/sallyport/participant"
)

// ErrNotEmpty says that something still belongs to what was to be removed.
var ErrNotEmpty = errors.New("not empty")

// MissingError says that something which was referred to is not stored. It is an [ErrNotFound].
type MissingError struct {
	// What it is: "organization", "application", "role" or "user".
	What string
	// Name is its name among its kind; a role is spelled as participants carry it.
	Name string
}

func (e *MissingError) Error() string { return fmt.Sprintf("%s %q: not found", e.What, e.Name) }

func (e *MissingError) Unwrap() error { return ErrNotFound }

// InvalidError says that a value cannot be stored, and why.
type InvalidError struct{ Problem string }

func (e *InvalidError) Error() string { return e.Problem }

func invalid(format string, arguments ...any) error {
	return &InvalidError{Problem: fmt.Sprintf(format, arguments...)}
}

// maxReferences is how many roles and applications one identity may name: each is a comparison of a transaction.
const maxReferences = batch

// Permit is asked about an identity as it is stored, before it is changed or removed and in the same transaction. Its
// error is the result, and nothing changes. It may be asked several times, and must not modify what it is given.
type Permit[M proto.Message] func(M) error

func permitted[M proto.Message](m M, permits []Permit[M]) error {
	for _, permit := range permits {
		if err := permit(m); err != nil {
			return err
		}
	}
	return nil
}

// checkOrganization refuses what is no organization's id.
func checkOrganization(id string) error {
	return checkParticipant(participant.Organization(id, ""))
}

func checkParticipant(p *participant.Participant) error {
	if err := participant.Check(p); err != nil {
		return &InvalidError{Problem: err.Error()}
	}
	return nil
}

// noneUnder guards a transaction by there being no key under the prefix.
func noneUnder(prefix string) clientv3.Cmp {
	return clientv3.Compare(clientv3.CreateRevision(prefix).WithPrefix(), "=", 0)
}

// quietSince guards a transaction by no key under the prefix having been made or changed after the revision. Removals
// go by unseen.
func quietSince(prefix string, revision int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(prefix).WithPrefix(), "<", revision+1)
}

// references checks that what an identity refers to is stored: its organization, unless that is the platform, its
// applications and its roles. The guards keep it so for a transaction.
func (s *Store) references(ctx context.Context, organization string, applications, roles []string) ([]clientv3.Cmp, error) {
	var keys []string
	var missing []*MissingError
	add := func(key, what, name string) {
		if !slices.Contains(keys, key) {
			keys, missing = append(keys, key), append(missing, &MissingError{what, name})
		}
	}
	if organization != "" {
		if err := checkOrganization(organization); err != nil {
			return nil, err
		}
		add(s.l.organization(organization), "organization", organization)
	}
	for _, id := range applications {
		if err := checkParticipant(participant.Application(organization, id, "")); err != nil {
			return nil, err
		}
		add(s.l.application(organization, id), "application", id)
	}
	for _, role := range roles {
		owner, name := access.ParseRole(role)
		if owner != "" && owner != organization {
			return nil, invalid("role %q is another organization's: only roles of the platform, and those of the identity's own organization, can be given", role)
		}
		if owner != "" && checkOrganization(owner) != nil || participant.CheckLabel(name) != nil {
			return nil, invalid("%q is not the name of a role", role)
		}
		add(s.l.role(owner, name), "role", role)
	}
	if len(keys) > maxReferences {
		return nil, invalid("%d different roles and applications: at most %d are possible for one identity", len(keys), maxReferences)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	gets, guards := make([]clientv3.Op, len(keys)), make([]clientv3.Cmp, len(keys))
	for i, key := range keys {
		gets[i], guards[i] = clientv3.OpGet(key, clientv3.WithCountOnly()), present(key)
	}
	r, err := s.c.Txn(ctx).Then(gets...).Commit()
	if err != nil {
		return nil, err
	}
	for i, one := range r.Responses {
		if one.GetResponseRange().GetCount() == 0 {
			return nil, missing[i]
		}
	}
	return guards, nil
}

// create stores a message under a key that nobody has, with guards that prepare makes, or finds broken.
func (s *Store) create(ctx context.Context, key string, m proto.Message, prepare func() ([]clientv3.Cmp, error)) error {
	value, err := encode(m)
	if err != nil {
		return err
	}
	return retry(ctx, func() (bool, error) {
		guards, err := prepare()
		if err != nil {
			return false, err
		}
		r, err := s.c.Txn(ctx).If(append(guards, absent(key))...).Then(clientv3.OpPut(key, value)).Else(clientv3.OpGet(key, clientv3.WithCountOnly())).Commit()
		if err != nil {
			return false, err
		}
		if !r.Succeeded && r.Responses[0].GetResponseRange().GetCount() > 0 {
			return false, ErrExists
		}
		return r.Succeeded, nil
	})
}

// change reads a message, lets edit change it, and stores it, unless somebody else was faster, when it begins anew. The
// guards that edit gives must hold, too. An absent key is [ErrNotFound].
func change[M proto.Message](ctx context.Context, s *Store, key string, edit func(M) ([]clientv3.Cmp, error)) (M, error) {
	var zero, changed M
	err := retry(ctx, func() (bool, error) {
		m := zero.ProtoReflect().New().Interface().(M)
		found, meta, err := read(ctx, s, key, m)
		if err != nil {
			return false, err
		}
		if !found {
			return false, ErrNotFound
		}
		guards, err := edit(m)
		if err != nil {
			return false, err
		}
		value, err := encode(m)
		if err != nil {
			return false, err
		}
		r, err := s.c.Txn(ctx).If(append(guards, unchanged(key, meta))...).Then(clientv3.OpPut(key, value)).Commit()
		changed = m
		return err == nil && r.Succeeded, err
	})
	if err != nil {
		return zero, err
	}
	return changed, nil
}

// remove deletes a key, unless somebody else changed it meanwhile, when it begins anew. The guards that prepare gives
// must hold, too, and its operations happen in the same transaction.
func remove[M proto.Message](ctx context.Context, s *Store, key string, prepare func(M) ([]clientv3.Cmp, []clientv3.Op, error)) error {
	return retry(ctx, func() (bool, error) {
		var zero M
		m := zero.ProtoReflect().New().Interface().(M)
		found, meta, err := read(ctx, s, key, m)
		if err != nil {
			return false, err
		}
		if !found {
			return false, ErrNotFound
		}
		guards, also, err := prepare(m)
		if err != nil {
			return false, err
		}
		r, err := s.c.Txn(ctx).If(append(guards, unchanged(key, meta))...).Then(append(also, clientv3.OpDelete(key))...).Commit()
		return err == nil && r.Succeeded, err
	})
}

// readOne reads one message. An absent key is [ErrNotFound].
func readOne[M proto.Message](ctx context.Context, s *Store, key string, m M) (M, error) {
	found, _, err := read(ctx, s, key, m)
	if err == nil && !found {
		err = ErrNotFound
	}
	if err != nil {
		var zero M
		return zero, err
	}
	return m, nil
}

// list reads the messages under a prefix that belong, in the order of their keys, from the one after the key's end
// `after` on, and at most limit of them. more says that there are others.
func list[M proto.Message](ctx context.Context, s *Store, prefix, after string, limit int, belongs func(M) bool) (all []M, more bool, err error) {
	from := prefix
	if after != "" {
		from = prefix + after + "\x00"
	}
	options := []clientv3.OpOption{clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix)), clientv3.WithLimit(int64(min(limit+1, page)))}
	if belongs != nil {
		options[1] = clientv3.WithLimit(page)
	}
	for {
		r, err := s.c.Get(ctx, from, options...)
		if err != nil {
			return nil, false, err
		}
		for _, kv := range r.Kvs {
			var zero M
			m := zero.ProtoReflect().New().Interface().(M)
			if err := proto.Unmarshal(kv.Value, m); err != nil {
				return nil, false, fmt.Errorf("read %s: %w", kv.Key, err)
			}
			if belongs != nil && !belongs(m) {
				continue
			}
			if len(all) == limit {
				return all, true, nil
			}
			all = append(all, m)
		}
		if !r.More {
			return all, false, nil
		}
		from = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
}

// snapshot reads everything under some prefixes at one revision.
func (s *Store) snapshot(ctx context.Context, prefixes ...string) (under [][]keyValue, revision int64, err error) {
	gets := make([]clientv3.Op, len(prefixes))
	for i, prefix := range prefixes {
		gets[i] = clientv3.OpGet(prefix, clientv3.WithPrefix())
	}
	r, err := s.c.Txn(ctx).Then(gets...).Commit()
	if err != nil {
		return nil, 0, err
	}
	under = make([][]keyValue, len(prefixes))
	for i, one := range r.Responses {
		for _, kv := range one.GetResponseRange().GetKvs() {
			under[i] = append(under[i], keyValue{string(kv.Key), kv.Value, keyMeta{create: kv.CreateRevision, mod: kv.ModRevision}})
		}
	}
	return under, r.Header.Revision, nil
}

// keyValue is one key as it was read.
type keyValue struct {
	key   string
	value []byte
	meta  keyMeta
}

// decode reads a snapshot's values.
func decode[M proto.Message](kvs []keyValue) ([]M, error) {
	all := make([]M, len(kvs))
	for i, kv := range kvs {
		var zero M
		all[i] = zero.ProtoReflect().New().Interface().(M)
		if err := proto.Unmarshal(kv.value, all[i]); err != nil {
			return nil, fmt.Errorf("read %s: %w", kv.key, err)
		}
	}
	return all, nil
}

// remains makes an [ErrNotEmpty] that says what is left; nil where nothing is.
func remains(left []string) error {
	const some = 5
	switch {
	case len(left) == 0:
		return nil
	case len(left) > some:
		return fmt.Errorf("%w: %s and %d more still belong to it: remove them first", ErrNotEmpty, strings.Join(left[:some], ", "), len(left)-some)
	default:
		return fmt.Errorf("%w: remove first what still belongs to it: %s", ErrNotEmpty, strings.Join(left, ", "))
	}
}
