package embedded_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/internal/registry/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, dir string) *embedded.Embedded {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log := &strings.Builder{} // the handler orders writes, and Close waits for the writers
	e, err := embedded.Start(ctx, &configv1.EmbeddedEtcd{DataDir: dir}, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		e.Close()
		if strings.Contains(log.String(), "closed") {
			t.Errorf("that it closes is logged as a fault: %s", log)
		}
	})
	return e
}

func dataDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "embedded-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "data")
}

func TestStart(t *testing.T) {
	dir := dataDir(t)
	e := start(t, dir)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := e.Client().Put(ctx, "a", "1"); err != nil {
		t.Fatal(err)
	}

	u, err := url.Parse(e.Endpoint())
	if err != nil || u.Hostname() != "127.0.0.1" || u.Port() == "0" {
		t.Errorf("endpoint %q is not a port on loopback", e.Endpoint())
	}
	if got, err := embedded.Running(dir); err != nil || got != e.Endpoint() {
		t.Errorf("Running = %q, %v; want %q", got, err, e.Endpoint())
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data directory is open to others: %v, %v", info.Mode(), err)
	}
	if got := e.Addresses(); len(got) != 2 {
		t.Errorf("Addresses = %v, want the client's and the peer's", got)
	}

	// A second process on the same data is refused, and told who has it.
	if _, err := embedded.Start(ctx, &configv1.EmbeddedEtcd{DataDir: dir}, slog.New(slog.DiscardHandler)); !errors.Is(err, embedded.ErrInUse) {
		t.Errorf("second start: %v, want ErrInUse", err)
	}

	e.Close()
	e.Close() // no harm
	if got, err := embedded.Running(dir); err != nil || got != "" {
		t.Errorf("after Close, Running = %q, %v", got, err)
	}
	again := start(t, dir)
	if r, err := again.Client().Get(ctx, "a"); err != nil || len(r.Kvs) != 1 {
		t.Errorf("data after a restart: %v, %v", r, err)
	}
}

func TestStart_failures(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e := start(t, dataDir(t))
	u, _ := url.Parse(e.Endpoint())
	var taken uint32
	for _, c := range u.Port() {
		taken = taken*10 + uint32(c-'0')
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		cfg  *configv1.EmbeddedEtcd
	}{
		{"port taken", &configv1.EmbeddedEtcd{DataDir: dataDir(t), ClientPort: taken}},
		{"data directory is a file", &configv1.EmbeddedEtcd{DataDir: file}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if e, err := embedded.Start(ctx, test.cfg, slog.New(slog.DiscardHandler)); err == nil {
				e.Close()
				t.Error("no error")
			}
		})
	}
}

func TestUse(t *testing.T) {
	dir := dataDir(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	quiet := slog.New(slog.DiscardHandler)
	cfg := &configv1.EmbeddedEtcd{DataDir: dir}

	// Nobody runs: a member of its own.
	c, release, err := embedded.Use(ctx, cfg, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Put(ctx, "a", "1"); err != nil {
		t.Fatal(err)
	}
	release()

	// Somebody runs: a client of it.
	e := start(t, dir)
	c, release, err = embedded.Use(ctx, cfg, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if c.Endpoints()[0] != e.Endpoint() {
		t.Errorf("a client of %v, want %s", c.Endpoints(), e.Endpoint())
	}
	if r, err := c.Get(ctx, "a"); err != nil || len(r.Kvs) != 1 {
		t.Errorf("Get = %v, %v", r, err)
	}
	release()

	// Somebody was killed and left an endpoint at which another etcd listens by now.
	other := start(t, dataDir(t))
	e.Close()
	if err := os.WriteFile(filepath.Join(dir, embedded.EndpointFile), []byte(other.Endpoint()), 0o600); err != nil {
		t.Fatal(err)
	}
	c, release, err = embedded.Use(ctx, cfg, quiet)
	if err != nil {
		t.Fatal(err)
	}
	if c.Endpoints()[0] == other.Endpoint() {
		t.Error("a client of somebody else's etcd")
	}
	release()

	// Somebody has the data open and does not answer.
	held := start(t, dir)
	if err := os.WriteFile(filepath.Join(dir, embedded.EndpointFile), []byte("http://127.0.0.1:1"), 0o600); err != nil {
		t.Fatal(err)
	}
	short, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	if _, _, err := embedded.Use(short, cfg, quiet); err == nil {
		t.Error("no error")
	}
	held.Close()
}
