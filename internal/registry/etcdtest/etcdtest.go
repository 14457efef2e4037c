// Package etcdtest gives a test a real etcd of its own: one member inside the test process, on loopback ports that the
// kernel picks, in a directory that the test removes. It is tuned for speed and not for durability: it does not sync
// to disk, and it elects itself in a tenth of a second, which also makes one second the shortest lease it grants.
//
// It knows nothing of what the caller keeps in etcd. Only tests import it.
package etcdtest

import (
	"context"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
)

// patience bounds every wait for etcd; a loaded machine is slow, a broken etcd is forever.
const patience = 60 * time.Second

// Start runs an etcd for the length of the test and returns a client of it. The client is closed, and then the
// server, when the test ends; a goroutine check registered before Start, or run in TestMain, finds nothing left.
func Start(t testing.TB) *clientv3.Client {
	t.Helper()
	return New(t).Client()
}

// Server is a running etcd member that the test may stop and start again. Its methods are safe for use by several
// goroutines, but Stop and Restart must not race with each other.
type Server struct {
	t      testing.TB
	dir    string
	client *clientv3.Client

	mu       sync.Mutex
	etcd     *embed.Etcd
	endpoint string
	extra    []*clientv3.Client
}

// New runs an etcd for the length of the test.
func New(t testing.TB) *Server {
	t.Helper()
	// Not t.TempDir: that fails the test when etcd's snapshot goroutine still writes while the directory is removed.
	dir, err := os.MkdirTemp("", "etcdtest-")
	if err != nil {
		t.Fatalf("etcdtest: make the data directory: %v", err)
	}
	s := &Server{t: t, dir: dir}
	t.Cleanup(s.close)
	s.start("http://127.0.0.1:0")
	s.client = s.NewClient()
	return s
}

// Client returns the client that lives as long as the server. Do not close it.
func (s *Server) Client() *clientv3.Client { return s.client }

// Endpoint returns the URL of the member's client port. It stays the same over Restart.
func (s *Server) Endpoint() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endpoint
}

// NewClient returns one more client, closed when the test ends: two clients do not share a watch stream.
func (s *Server) NewClient() *clientv3.Client {
	s.t.Helper()
	c, err := clientv3.New(clientv3.Config{
		Endpoints:   []string{s.Endpoint()},
		DialTimeout: patience,
		Logger:      zap.NewNop(),
	})
	if err != nil {
		s.t.Fatalf("etcdtest: connect: %v", err)
	}
	s.mu.Lock()
	s.extra = append(s.extra, c)
	s.mu.Unlock()
	return c
}

// Stop takes the server away, so that clients find nobody. Data stays for Restart.
func (s *Server) Stop() {
	s.mu.Lock()
	e := s.etcd
	s.etcd = nil
	s.mu.Unlock()
	if e != nil { // a second Close of etcd panics
		// With clients connected a graceful close waits for their streams; cutting them off is what a crash looks like.
		for _, sctx := range e.Clients {
			_ = sctx.Close()
		}
		e.Server.HardStop()
		e.Close()
	}
}

// Restart brings a stopped server back with its data, on the same port.
func (s *Server) Restart() {
	s.t.Helper()
	s.start(s.Endpoint())
}

// Compact discards the history before the current revision and returns that revision.
func (s *Server) Compact(ctx context.Context) int64 {
	s.t.Helper()
	r, err := s.client.Get(ctx, "etcdtest")
	if err != nil {
		s.t.Fatalf("etcdtest: read the revision: %v", err)
	}
	if _, err := s.client.Compact(ctx, r.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		s.t.Fatalf("etcdtest: compact at %d: %v", r.Header.Revision, err)
	}
	return r.Header.Revision
}

func (s *Server) start(clientURL string) {
	s.t.Helper()
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	client, err := url.Parse(clientURL)
	if err != nil {
		s.t.Fatalf("etcdtest: parse %q: %v", clientURL, err)
	}
	cfg := embed.NewConfig()
	cfg.Dir = s.dir
	cfg.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop()) // level "error" alone still prints
	cfg.TickMs, cfg.ElectionMs = 10, 100
	cfg.UnsafeNoFsync = true
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		s.t.Fatalf("etcdtest: start etcd: %v", err)
	}
	s.mu.Lock()
	s.etcd, s.endpoint = e, "http://"+e.Clients[0].Addr().String()
	s.mu.Unlock()
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		s.t.Fatalf("etcdtest: etcd failed at its start: %v", err)
	case <-time.After(patience):
		s.t.Fatalf("etcdtest: etcd was not ready in %v", patience)
	}
}

// close ends clients before the server: an etcd with a client still connected takes seconds to stop.
func (s *Server) close() {
	s.mu.Lock()
	clients := s.extra
	s.extra = nil
	s.mu.Unlock()
	for _, c := range clients {
		_ = c.Close()
	}
	s.Stop()
	_ = os.RemoveAll(s.dir)
}
