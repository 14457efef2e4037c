package server

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	registryv1 "github.com/sallyport-dev/sallyport/gen/sallyport/registry/v1"
	"github.com/sallyport-dev/sallyport/internal/contract"
	"github.com/sallyport-dev/sallyport/internal/registry"
)

const (
	// cachedServices bounds how many compiled services are kept for the lists.
	cachedServices = 4096
	// compileTimeout bounds the reading of one contract from the store.
	compileTimeout = 10 * time.Second
)

// cache compiles known contracts for the lists, each once, and bounds how many compile at the same time.
type cache struct {
	store *registry.Store
	slots chan struct{}

	mu       sync.Mutex
	services map[cacheKey]*cached
}

// cacheKey names one service under one contract, with what a process says of it in code.
type cacheKey struct {
	service  registry.Key
	digest   string
	overlays [sha256.Size]byte
}

// cached is one service, compiled or being compiled.
type cached struct {
	done    chan struct{}
	service *contract.Service
	err     error
}

func newCache(store *registry.Store) *cache {
	return &cache{store: store, slots: make(chan struct{}, runtime.GOMAXPROCS(0)), services: map[cacheKey]*cached{}}
}

// compile compiles when there is a slot.
func (c *cache) compile(ctx context.Context, s contract.Source) (*contract.Contract, error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-c.slots }()
	return contract.Compile(s)
}

// service gives a known service as its published contract describes it. A contract that does not compile any more is a
// [*contract.ConflictError], and remembered; that the store does not answer is not.
func (c *cache) service(ctx context.Context, k registry.Key, known *registryv1.StoredServiceContract) (*contract.Service, error) {
	key := cacheKey{service: k, digest: known.GetDigest()}
	h := sha256.New()
	for _, o := range known.GetOverlays() {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(o)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(h, "%d:%s", len(raw), raw)
	}
	h.Sum(key.overlays[:0])

	c.mu.Lock()
	e, found := c.services[key]
	if !found {
		e = &cached{done: make(chan struct{})}
		for old := range c.services {
			if len(c.services) < cachedServices {
				break
			}
			delete(c.services, old) // any: what is asked for again is compiled again
		}
		c.services[key] = e
	}
	c.mu.Unlock()
	if found {
		select {
		case <-e.done:
			return e.service, e.err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	e.err = errors.New("the compilation did not end")
	defer func() {
		var conflicts *contract.ConflictError
		if e.err != nil && !errors.As(e.err, &conflicts) {
			c.mu.Lock()
			delete(c.services, key)
			c.mu.Unlock()
		}
		close(e.done)
	}()
	// Others wait for the result: it does not depend on whether the one who asked first stays.
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), compileTimeout)
	defer cancel()
	e.service, e.err = c.load(own, k, known)
	return e.service, e.err
}

func (c *cache) load(ctx context.Context, k registry.Key, known *registryv1.StoredServiceContract) (*contract.Service, error) {
	set, err := c.store.Contract(ctx, known.GetDigest())
	if err != nil {
		return nil, err
	}
	compiled, err := c.compile(ctx, contract.Source{
		Files: set, Services: []string{k.Service}, Zone: k.Zone, Overlays: known.GetOverlays(),
	})
	if err != nil {
		return nil, err
	}
	if got := compiled.Services[0].Zone; got != k.Zone {
		return nil, &contract.ConflictError{Conflicts: []contract.Conflict{{Function: k.Service,
			Problem: fmt.Sprintf("it is stored in zone %q, but its contract says %q", k.Zone, got)}}}
	}
	return compiled.Services[0], nil
}
