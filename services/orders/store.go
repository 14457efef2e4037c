package orders

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	"google.golang.org/protobuf/proto"

	ordersv1 "github.com/sallyport-dev/sallyport/gen/acme/orders/v1"
)

// ErrNotFound says that there is no such order.
var ErrNotFound = errors.New("the order does not exist")

var (
	bucketOrders   = []byte("orders")   // number, big-endian → Order
	bucketRequests = []byte("requests") // who and request id → number
)

// firstNumber is the number of the first order: ORD-1001.
const firstNumber = 1001

// Store keeps orders in one bbolt file. It is safe for concurrent use; the file belongs to one process at a time.
type Store struct {
	db *bolt.DB

	mu       sync.Mutex
	watchers map[uint64]map[chan struct{}]struct{}
}

// Open opens the file, and fills a new one with a few hundred orders that are the same everywhere. It fails at once
// where another process holds the file.
func Open(path string) (*Store, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second})
	if err != nil {
		return nil, fmt.Errorf("open order store %s: %w", path, err)
	}
	s := &Store{db: db, watchers: make(map[uint64]map[chan struct{}]struct{})}
	if err := db.Update(s.fill); err != nil {
		return nil, errors.Join(fmt.Errorf("open order store %s: %w", path, err), db.Close())
	}
	return s, nil
}

// Close closes the file. No call may be running.
func (s *Store) Close() error { return s.db.Close() }

// fill makes the buckets of a new file and seeds it, all in one transaction: a start that dies leaves nothing behind.
func (s *Store) fill(tx *bolt.Tx) error {
	if tx.Bucket(bucketOrders) != nil {
		return nil
	}
	for _, name := range [][]byte{bucketOrders, bucketRequests} {
		if _, err := tx.CreateBucket(name); err != nil {
			return fmt.Errorf("make bucket %s: %w", name, err)
		}
	}
	b := tx.Bucket(bucketOrders)
	if err := b.SetSequence(firstNumber - 1); err != nil {
		return err
	}
	for _, order := range seedOrders() {
		if err := insert(b, order); err != nil {
			return err
		}
	}
	return nil
}

// insert gives the order the next number and keeps it.
func insert(b *bolt.Bucket, order *ordersv1.Order) error {
	number, err := b.NextSequence()
	if err != nil {
		return err
	}
	order.OrderId = formatID(number)
	return put(b, number, order)
}

func put(b *bolt.Bucket, number uint64, order *ordersv1.Order) error {
	value, err := proto.Marshal(order)
	if err != nil {
		return fmt.Errorf("encode order %d: %w", number, err)
	}
	return b.Put(orderKey(number), value)
}

func orderKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

func formatID(number uint64) string { return fmt.Sprintf("ORD-%04d", number) }

// parseID takes an id apart. An id that we would not write so, such as ORD-0001042, names no order.
func parseID(id string) (uint64, error) {
	digits, ok := strings.CutPrefix(id, "ORD-")
	number, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil || formatID(number) != id {
		return 0, ErrNotFound
	}
	return number, nil
}

// Get gives one order, or ErrNotFound.
func (s *Store) Get(id string) (*ordersv1.Order, error) {
	number, err := parseID(id)
	if err != nil {
		return nil, err
	}
	var order *ordersv1.Order
	err = s.db.View(func(tx *bolt.Tx) error {
		order, err = get(tx, number)
		return err
	})
	return order, err
}

func get(tx *bolt.Tx, number uint64) (*ordersv1.Order, error) {
	value := tx.Bucket(bucketOrders).Get(orderKey(number))
	if value == nil {
		return nil, ErrNotFound
	}
	return decode(number, value)
}

func decode(number uint64, value []byte) (*ordersv1.Order, error) {
	order := &ordersv1.Order{}
	if err := proto.Unmarshal(value, order); err != nil {
		return nil, fmt.Errorf("decode order %d: %w", number, err)
	}
	return order, nil
}

// Each calls f with every order in order of their numbers, all of one moment.
func (s *Store) Each(f func(*ordersv1.Order)) error {
	return s.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketOrders).ForEach(func(key, value []byte) error {
			order, err := decode(binary.BigEndian.Uint64(key), value)
			if err == nil {
				f(order)
			}
			return err
		})
	})
}

// Place keeps a new order under the next number, which it writes into order. With a request that was placed before it
// answers the order of that time instead; an empty request is always new.
func (s *Store) Place(order *ordersv1.Order, request string) (*ordersv1.Order, error) {
	err := s.db.Update(func(tx *bolt.Tx) error {
		orders, requests := tx.Bucket(bucketOrders), tx.Bucket(bucketRequests)
		if request != "" {
			if key := requests.Get([]byte(request)); key != nil {
				placed, err := get(tx, binary.BigEndian.Uint64(key))
				order = placed
				return err
			}
		}
		if err := insert(orders, order); err != nil || request == "" {
			return err
		}
		return requests.Put([]byte(request), orderKey(orders.Sequence()))
	})
	if err != nil {
		return nil, fmt.Errorf("place order: %w", err)
	}
	return order, nil
}

// Update changes one order within a transaction and answers it as changed. An error of change leaves it as it was and
// is returned unwrapped, as is ErrNotFound.
func (s *Store) Update(id string, change func(*ordersv1.Order) error) (*ordersv1.Order, error) {
	number, err := parseID(id)
	if err != nil {
		return nil, err
	}
	var order *ordersv1.Order
	err = s.db.Update(func(tx *bolt.Tx) error {
		if order, err = get(tx, number); err != nil {
			return err
		}
		if err := change(order); err != nil {
			return err
		}
		return put(tx.Bucket(bucketOrders), number, order)
	})
	if err != nil {
		return nil, err
	}
	s.announce(number)
	return order, nil
}

// Watch gives a channel that receives after each change of the order; changes that are not yet received fold into one.
// The caller must call the function that comes with it.
func (s *Store) Watch(id string) (<-chan struct{}, func(), error) {
	number, err := parseID(id)
	if err != nil {
		return nil, nil, err
	}
	changed := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watchers[number] == nil {
		s.watchers[number] = make(map[chan struct{}]struct{})
	}
	s.watchers[number][changed] = struct{}{}
	return changed, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers[number], changed)
		if len(s.watchers[number]) == 0 {
			delete(s.watchers, number)
		}
	}, nil
}

func (s *Store) announce(number uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for changed := range s.watchers[number] {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}
