package etcdtest_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sallyport-dev/sallyport/internal/registry/etcdtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStart(t *testing.T) {
	c := etcdtest.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := c.Put(ctx, "a", "1"); err != nil {
		t.Fatal(err)
	}
	r, err := c.Get(ctx, "a")
	if err != nil || len(r.Kvs) != 1 || string(r.Kvs[0].Value) != "1" {
		t.Fatalf("Get = %v, %v", r, err)
	}
}

func TestRestartKeepsDataAndPort(t *testing.T) {
	s := etcdtest.New(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := s.Client().Put(ctx, "a", "1"); err != nil {
		t.Fatal(err)
	}
	before := s.Endpoint()
	s.Stop()
	s.Stop() // no harm

	gone, stop := context.WithTimeout(ctx, 300*time.Millisecond)
	defer stop()
	if _, err := s.Client().Get(gone, "a"); err == nil {
		t.Fatal("a stopped etcd answered")
	}

	s.Restart()
	if s.Endpoint() != before {
		t.Fatalf("endpoint moved from %s to %s", before, s.Endpoint())
	}
	r, err := s.Client().Get(ctx, "a")
	if err != nil || len(r.Kvs) != 1 {
		t.Fatalf("Get after the restart = %v, %v", r, err)
	}
	if rev := s.Compact(ctx); rev < 2 {
		t.Fatalf("compacted at %d", rev)
	}
}
