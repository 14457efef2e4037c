package projects

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	"google.golang.org/protobuf/proto"

	projectsv1 "github.com/sallyport-dev/sallyport/gen/acme/projects/v1"
)

// What the store says no with. Other errors are troubles of the file.
var (
	// ErrNotFound says that there is no such project or environment.
	ErrNotFound = errors.New("it does not exist")
	// ErrExists says that the environment's id is taken.
	ErrExists = errors.New("it exists already")
)

var (
	bucketProjects     = []byte("projects")     // id → Project
	bucketRepositories = []byte("repositories") // full name in lower case → project id
	bucketEnvironments = []byte("environments") // id → Environment
)

// Store keeps projects and environments in one bbolt file. It is safe for concurrent use; the file belongs to one
// process at a time.
type Store struct{ db *bolt.DB }

// Open opens the file and seeds a new one. It fails at once where another process holds the file.
func Open(path string) (*Store, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: time.Second})
	if err != nil {
		return nil, fmt.Errorf("open project store %s: %w", path, err)
	}
	if err := db.Update(fill); err != nil {
		return nil, errors.Join(fmt.Errorf("open project store %s: %w", path, err), db.Close())
	}
	return &Store{db: db}, nil
}

// Close closes the file. No call may be running.
func (s *Store) Close() error { return s.db.Close() }

// fill makes and seeds the buckets of a new file, all in one transaction.
func fill(tx *bolt.Tx) error {
	if tx.Bucket(bucketProjects) != nil {
		return nil
	}
	for _, name := range [][]byte{bucketProjects, bucketRepositories, bucketEnvironments} {
		if _, err := tx.CreateBucket(name); err != nil {
			return fmt.Errorf("make bucket %s: %w", name, err)
		}
	}
	for _, p := range seedProjects() {
		if err := put(tx.Bucket(bucketProjects), p.GetId(), p); err != nil {
			return err
		}
		if err := tx.Bucket(bucketRepositories).Put(repositoryKey(p.GetRepoFullName()), []byte(p.GetId())); err != nil {
			return err
		}
		for _, e := range seedEnvironments(p) {
			if err := put(tx.Bucket(bucketEnvironments), e.GetId(), e); err != nil {
				return err
			}
		}
	}
	return nil
}

// repositoryKey folds the case, as the hosts of repositories do.
func repositoryKey(fullName string) []byte { return []byte(strings.ToLower(fullName)) }

func put(b *bolt.Bucket, id string, m proto.Message) error {
	value, err := proto.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode %s: %w", id, err)
	}
	return b.Put([]byte(id), value)
}

func get(b *bolt.Bucket, id string, m proto.Message) error {
	value := b.Get([]byte(id))
	if value == nil {
		return ErrNotFound
	}
	if err := proto.Unmarshal(value, m); err != nil {
		return fmt.Errorf("decode %s: %w", id, err)
	}
	return nil
}

// Project gives a project by its id, or ErrNotFound.
func (s *Store) Project(id string) (*projectsv1.Project, error) {
	p := &projectsv1.Project{}
	return p, s.db.View(func(tx *bolt.Tx) error { return get(tx.Bucket(bucketProjects), id, p) })
}

// ByRepository gives a project by the full name of its repository in any case, or ErrNotFound.
func (s *Store) ByRepository(fullName string) (*projectsv1.Project, error) {
	p := &projectsv1.Project{}
	return p, s.db.View(func(tx *bolt.Tx) error {
		return get(tx.Bucket(bucketProjects), string(tx.Bucket(bucketRepositories).Get(repositoryKey(fullName))), p)
	})
}

// Environment gives an environment by its id, or ErrNotFound.
func (s *Store) Environment(id string) (*projectsv1.Environment, error) {
	e := &projectsv1.Environment{}
	return e, s.db.View(func(tx *bolt.Tx) error { return get(tx.Bucket(bucketEnvironments), id, e) })
}

// Environments calls f with the environments behind an id, in order of their ids, until it returns false.
func (s *Store) Environments(after string, f func(*projectsv1.Environment) bool) error {
	return s.db.View(func(tx *bolt.Tx) error {
		cursor := tx.Bucket(bucketEnvironments).Cursor()
		key, value := cursor.Seek([]byte(after))
		if after != "" && bytes.Equal(key, []byte(after)) {
			key, value = cursor.Next()
		}
		for ; key != nil; key, value = cursor.Next() {
			e := &projectsv1.Environment{}
			if err := proto.Unmarshal(value, e); err != nil {
				return fmt.Errorf("decode %s: %w", key, err)
			}
			if !f(e) {
				return nil
			}
		}
		return nil
	})
}

// CreateEnvironment keeps a new environment, or says ErrExists.
func (s *Store) CreateEnvironment(e *projectsv1.Environment) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketEnvironments)
		if b.Get([]byte(e.GetId())) != nil {
			return ErrExists
		}
		return put(b, e.GetId(), e)
	})
}

// UpdateEnvironment changes an environment within a transaction and answers it as changed. An error of change leaves
// it as it was and is returned as it is, as is ErrNotFound.
func (s *Store) UpdateEnvironment(id string, change func(*projectsv1.Environment) error) (*projectsv1.Environment, error) {
	e := &projectsv1.Environment{}
	return e, s.db.Update(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketEnvironments)
		if err := get(b, id, e); err != nil {
			return err
		}
		if err := change(e); err != nil {
			return err
		}
		return put(b, id, e)
	})
}

// DeleteEnvironment takes an environment away if allowed says so within the transaction.
func (s *Store) DeleteEnvironment(id string, allowed func(*projectsv1.Environment) error) error {
	return s.db.Update(func(tx *bolt.Tx) error {
		b, e := tx.Bucket(bucketEnvironments), &projectsv1.Environment{}
		if err := get(b, id, e); err != nil {
			return err
		}
		if err := allowed(e); err != nil {
			return err
		}
		return b.Delete([]byte(id))
	})
}
