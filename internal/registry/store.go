package registry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
)

// Errors that callers branch on. They come wrapped with the operation.
var (
	// ErrNotFound says that the named thing is not stored.
	ErrNotFound = errors.New("not found")
	// ErrExists says that the named thing is stored already.
	ErrExists = errors.New("exists already")
	// ErrLeaseLost says that an instance's lease has lapsed or was revoked: register again, with the same instance id.
	ErrLeaseLost = errors.New("the lease is lost")
	// ErrForeignInstance says that another machine registered the instance.
	ErrForeignInstance = errors.New("the instance belongs to another machine")
	// ErrContended says that others kept changing the same keys until the attempts were used up. Trying later helps.
	ErrContended = errors.New("too many concurrent changes of the same keys")
)

// batch is how many guarded writes go into one transaction: etcd takes 128 comparisons and 128 operations, and each
// batch needs a few more of either for what it hangs on.
const batch = 96

// attempts bounds how often a transaction that lost a race is prepared anew.
const attempts = 10

// Store reads and writes the registry's data. It holds no state but the client: any number of stores, in any number of
// processes, work on the same data. All methods are safe for concurrent use and return when the context ends.
type Store struct {
	c   *clientv3.Client
	l   layout
	now func() time.Time
}

// NewStore makes a store on a client, which stays the caller's to close. An empty prefix means [DefaultPrefix].
func NewStore(c *clientv3.Client, prefix string) *Store {
	return &Store{c: c, l: newLayout(prefix), now: time.Now}
}

// Prefix gives the key prefix, which ends with a slash.
func (s *Store) Prefix() string { return string(s.l) }

// retry runs one optimistic attempt after another until it reports that it is done, or fails, or attempts run out.
func retry(ctx context.Context, attempt func() (done bool, err error)) error {
	for n := range attempts {
		done, err := attempt()
		if done || err != nil {
			return err
		}
		// Losers of a race spread out, so that they do not race again in step.
		pause := time.NewTimer(rand.N(time.Duration(n+1) * 5 * time.Millisecond))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
	return ErrContended
}

// read gets one message. The revisions are those of the key; an absent key gives a nil message and no error.
func read[M proto.Message](ctx context.Context, s *Store, key string, m M) (found bool, meta keyMeta, err error) {
	r, err := s.c.Get(ctx, key)
	if err != nil {
		return false, keyMeta{}, err
	}
	if len(r.Kvs) == 0 {
		return false, keyMeta{}, nil
	}
	kv := r.Kvs[0]
	if err := proto.Unmarshal(kv.Value, m); err != nil {
		return false, keyMeta{}, fmt.Errorf("read %s: %w", key, err)
	}
	return true, keyMeta{create: kv.CreateRevision, mod: kv.ModRevision, lease: clientv3.LeaseID(kv.Lease)}, nil
}

// keyMeta is what etcd says of a key beside its value. The zero value is that of an absent key.
type keyMeta struct {
	create, mod int64
	lease       clientv3.LeaseID
}

// unchanged guards a transaction by a key being as it was read, absence included.
func unchanged(key string, m keyMeta) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(key), "=", m.mod)
}

func absent(key string) clientv3.Cmp  { return clientv3.Compare(clientv3.CreateRevision(key), "=", 0) }
func present(key string) clientv3.Cmp { return clientv3.Compare(clientv3.CreateRevision(key), ">", 0) }

// encode serialises deterministically, so that equal messages are equal values.
func encode(m proto.Message) (string, error) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("serialise %s: %w", m.ProtoReflect().Descriptor().FullName(), err)
	}
	return string(b), nil
}
