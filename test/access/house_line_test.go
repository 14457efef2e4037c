package access_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// line is the network between an edge and etcd, which can be cut and mended.
type line struct {
	to string
	l  net.Listener

	mu    sync.Mutex
	open  bool
	conns map[net.Conn]bool
	wait  sync.WaitGroup
}

// startLine leads to an endpoint of etcd until the test ends.
func startLine(t testing.TB, endpoint string) *line {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &line{to: strings.TrimPrefix(endpoint, "http://"), l: l, open: true, conns: make(map[net.Conn]bool)}
	n.wait.Go(n.serve)
	t.Cleanup(func() {
		_ = l.Close()
		n.cut()
		n.wait.Wait()
	})
	return n
}

// client is a client of etcd over the line, closed when the test ends.
func (n *line) client(t testing.TB) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + n.l.Addr().String()}, DialTimeout: patience, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (n *line) serve() {
	for {
		from, err := n.l.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", n.to)
		if err != nil || !n.keep(from, to) {
			_ = from.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
			n.wait.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				n.drop(from, to)
			})
		}
	}
}

// keep takes two ends on, unless the line is cut.
func (n *line) keep(from, to net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open {
		n.conns[from], n.conns[to] = true, true
	} else {
		_ = to.Close()
	}
	return n.open
}

func (n *line) drop(conns ...net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(n.conns, c)
	}
}

// cut ends every connection and lets no new one through.
func (n *line) cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = false
	for c := range n.conns {
		_ = c.Close()
	}
}

// mend lets connections through again.
func (n *line) mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = true
}

// get asks for a path of the edge.
func (d *door) get(t testing.TB, path string, lines ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Add(name, value)
	}
	answer, err := d.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return reply{answer.StatusCode, answer.Header, readAll(t, answer.Body)}
}
