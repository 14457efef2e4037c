package registry

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	identityv1 "github.com/sallyport-dev/sallyport/gen/sallyport/identity/v1"
	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
)

const (
	// DefaultKeyRotation is after how long signing keys are replaced where nobody says otherwise.
	DefaultKeyRotation = 30 * 24 * time.Hour
	// announce is how long a token key is published before it signs, so that everybody knows it by then.
	announce = time.Minute
	// tokenKeyStays is how long a token key stays after it stopped signing: an access token lasts a day at most, clocks
	// disagree, and an edge that is cut off signs with what it last knew.
	tokenKeyStays = 25 * time.Hour
	// assertionKeyStays is the same for assertions, which last a minute. The rest is for edges that are cut off from
	// etcd: services that can ask would not find their key.
	assertionKeyStays = time.Hour
	// maxSigningKeys bounds the keys of one use.
	maxSigningKeys = 32
	// tendEvery is how often due rotations are looked for.
	tendEvery = time.Minute
)

// SigningKey is what may be shown of a signing key.
type SigningKey struct {
	Kid string
	Use identityv1.KeyUse
	// CreatedAt is when the key was made, and SignsFrom from when on it signs: an assertion key at once.
	CreatedAt, SignsFrom time.Time
	// Current says that the key signs now.
	Current bool
}

// keyUses are the uses of signing keys.
var keyUses = []identityv1.KeyUse{identityv1.KeyUse_KEY_USE_ASSERTION, identityv1.KeyUse_KEY_USE_TOKEN}

func (s *Store) signingKeys(use identityv1.KeyUse) string {
	if use == identityv1.KeyUse_KEY_USE_TOKEN {
		return s.l.tokenKeys()
	}
	return s.l.assertionKeys()
}

// newSigningKey makes a key, and what puts it into the store.
func (s *Store) newSigningKey(use identityv1.KeyUse, created, signs time.Time) (SigningKey, clientv3.Op, error) {
	id, seed := make([]byte, 8), make([]byte, 32)
	rand.Read(id)
	rand.Read(seed)
	k := SigningKey{Kid: hex.EncodeToString(id), Use: use, CreatedAt: created, SignsFrom: signs}
	var m proto.Message = &registryv1.StoredAssertionKey{Kid: k.Kid, Seed: seed, CreatedAt: timestamppb.New(created)}
	if use == identityv1.KeyUse_KEY_USE_TOKEN {
		m = &identityv1.StoredTokenKey{Kid: k.Kid, Seed: seed, CreatedAt: timestamppb.New(created), SignsFrom: timestamppb.New(signs)}
	}
	value, err := encode(m)
	return k, clientv3.OpPut(s.signingKeys(use)+k.Kid, value), err
}

// EnsureAssertionKey makes the installation's first assertion key, if there is none. Any number of registries may do
// so at once; one key comes of it.
func (s *Store) EnsureAssertionKey(ctx context.Context) error {
	return s.ensureKey(ctx, identityv1.KeyUse_KEY_USE_ASSERTION)
}

// EnsureSigningKeys makes the installation's first key of each use, where there is none. It signs at once. Any number of
// registries may do so at once; one key of each use comes of it.
func (s *Store) EnsureSigningKeys(ctx context.Context) error {
	for _, use := range keyUses {
		if err := s.ensureKey(ctx, use); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) ensureKey(ctx context.Context, use identityv1.KeyUse) error {
	now := s.now()
	_, put, err := s.newSigningKey(use, now, now)
	if err == nil {
		_, err = s.c.Txn(ctx).If(noneUnder(s.signingKeys(use))).Then(put).Commit()
	}
	if err != nil {
		return fmt.Errorf("make the first key of %v: %w", use, err)
	}
	return nil
}

// heldKey is a signing key with how it lies in etcd.
type heldKey struct {
	SigningKey
	keyValue
}

// readKeys reads the keys of one use, newest first.
func (s *Store) readKeys(ctx context.Context, use identityv1.KeyUse) ([]heldKey, int64, error) {
	under, revision, err := s.snapshot(ctx, s.signingKeys(use))
	if err != nil {
		return nil, 0, err
	}
	keys := make([]heldKey, len(under[0]))
	for i, kv := range under[0] {
		k := SigningKey{Use: use}
		if use == identityv1.KeyUse_KEY_USE_TOKEN {
			var m identityv1.StoredTokenKey
			err = proto.Unmarshal(kv.value, &m)
			k.Kid, k.CreatedAt, k.SignsFrom = m.GetKid(), m.GetCreatedAt().AsTime(), m.GetSignsFrom().AsTime()
		} else {
			var m registryv1.StoredAssertionKey
			err = proto.Unmarshal(kv.value, &m)
			k.Kid, k.CreatedAt, k.SignsFrom = m.GetKid(), m.GetCreatedAt().AsTime(), m.GetCreatedAt().AsTime()
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read %s: %w", kv.key, err)
		}
		keys[i] = heldKey{k, kv}
	}
	slices.SortFunc(keys, func(a, b heldKey) int { return newerFirst(a.CreatedAt, a.Kid, b.CreatedAt, b.Kid) })
	now := s.now()
	for i := range keys {
		if use == identityv1.KeyUse_KEY_USE_ASSERTION || !keys[i].SignsFrom.After(now) || i == len(keys)-1 {
			keys[i].Current = true
			break
		}
	}
	return keys, revision, nil
}

// SigningKeys reads the signing keys of both uses, newest first within each.
func (s *Store) SigningKeys(ctx context.Context) ([]SigningKey, error) {
	var all []SigningKey
	for _, use := range keyUses {
		keys, _, err := s.readKeys(ctx, use)
		if err != nil {
			return nil, fmt.Errorf("list signing keys: %w", err)
		}
		for _, k := range keys {
			all = append(all, k.SigningKey)
		}
	}
	slices.SortStableFunc(all, func(a, b SigningKey) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all, nil
}

// RotateSigningKey makes a new key. A token key is published at once and signs after a minute; an assertion key signs as
// soon as an edge has heard of it, since services ask for keys that they do not know. The keys before stay until nothing
// is good any more that they signed, or with revokeOthers go at once: what they signed is worthless, and the new key
// signs at once. Too many keys of one use are an [InvalidError].
func (s *Store) RotateSigningKey(ctx context.Context, use identityv1.KeyUse, revokeOthers bool) (SigningKey, error) {
	var made SigningKey
	err := invalid("%v is not a use of a key", use)
	if slices.Contains(keyUses, use) {
		err = retry(ctx, func() (done bool, err error) {
			keys, revision, err := s.readKeys(ctx, use)
			if err != nil {
				return false, err
			}
			made, done, err = s.rotate(ctx, use, keys, revision, revokeOthers)
			return done, err
		})
	}
	if err != nil {
		return SigningKey{}, fmt.Errorf("rotate the key of %v: %w", use, err)
	}
	return made, nil
}

// rotate makes a new key, if the keys are still those that were read.
func (s *Store) rotate(ctx context.Context, use identityv1.KeyUse, keys []heldKey, revision int64, revokeOthers bool) (SigningKey, bool, error) {
	if len(keys) >= maxSigningKeys && !revokeOthers {
		return SigningKey{}, false, invalid("there are %d keys: wait until old ones are gone, or revoke the others", len(keys))
	}
	created := s.now()
	if len(keys) > 0 && !created.After(keys[0].CreatedAt) {
		created = keys[0].CreatedAt.Add(time.Microsecond) // another registry's clock is ahead; the newest signs all the same
	}
	signs := created
	if use == identityv1.KeyUse_KEY_USE_TOKEN && len(keys) > 0 && !revokeOthers {
		signs = created.Add(announce)
	}
	made, put, err := s.newSigningKey(use, created, signs)
	if err != nil {
		return SigningKey{}, false, err
	}
	made.Current = !signs.After(s.now()) || use == identityv1.KeyUse_KEY_USE_ASSERTION
	guards, ops := []clientv3.Cmp{quietSince(s.signingKeys(use), revision)}, []clientv3.Op{put}
	for _, k := range keys {
		guards = append(guards, unchanged(k.key, k.meta))
		if revokeOthers {
			ops = append(ops, clientv3.OpDelete(k.key))
		}
	}
	r, err := s.c.Txn(ctx).If(guards...).Then(ops...).Commit()
	return made, err == nil && r.Succeeded, err
}

// TendSigningKeys replaces signing keys that are older than rotation, and deletes those of which nothing is good any
// more that they signed, until the context ends. 0 means [DefaultKeyRotation]. Any number of registries may do so.
func (s *Store) TendSigningKeys(ctx context.Context, rotation time.Duration, logger *slog.Logger) {
	every := time.NewTicker(tendEvery)
	defer every.Stop()
	for {
		attempt, cancel := context.WithTimeout(ctx, tendEvery/2)
		if err := s.tendKeys(attempt, rotation, logger); err != nil && ctx.Err() == nil {
			logger.Warn("signing keys could not be looked after; trying again", "error", err, "after", tendEvery.String())
		}
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// tendKeys does once what is due now. That another registry was faster is no failure.
func (s *Store) tendKeys(ctx context.Context, rotation time.Duration, logger *slog.Logger) error {
	if rotation <= 0 {
		rotation = DefaultKeyRotation
	}
	var failed []error
	for _, use := range keyUses {
		keys, revision, err := s.readKeys(ctx, use)
		if err != nil {
			return err
		}
		if len(keys) == 0 || s.now().Sub(keys[0].CreatedAt) >= rotation {
			made, done, err := s.rotate(ctx, use, keys, revision, false)
			failed = append(failed, err)
			if done {
				logger.Info("a signing key is replaced", "use", use.String(), "kid", made.Kid, "signs_from", made.SignsFrom)
			}
		}
		failed = append(failed, s.deleteSpent(ctx, use, keys, logger))
	}
	return errors.Join(failed...)
}

// deleteSpent deletes the keys of which nothing is good any more. keys are newest first.
func (s *Store) deleteSpent(ctx context.Context, use identityv1.KeyUse, keys []heldKey, logger *slog.Logger) error {
	stays := assertionKeyStays
	if use == identityv1.KeyUse_KEY_USE_TOKEN {
		stays = tokenKeyStays
	}
	for i := len(keys) - 1; i > 0; i-- {
		// A key signs until the next newer one does.
		if s.now().Sub(keys[i-1].SignsFrom) < stays {
			continue
		}
		k, newer := keys[i], keys[i-1]
		r, err := s.c.Txn(ctx).If(unchanged(k.key, k.meta), unchanged(newer.key, newer.meta)).Then(clientv3.OpDelete(k.key)).Commit()
		if err != nil {
			return err
		}
		if r.Succeeded {
			logger.Info("a signing key is gone: nothing that it signed is good any more", "use", use.String(), "kid", k.Kid)
		}
	}
	return nil
}
