package registry

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/sallyport-dev/sallyport/participant"
)

var (
	nopLogger         = zap.NewNop()
	participantSystem = participant.System("")
)

// gate is a TCP proxy in front of etcd that can be shut: connections break, and new ones are refused.
type gate struct {
	url    string
	target string

	mu     sync.Mutex
	isShut bool
	conns  map[net.Conn]bool
	wg     sync.WaitGroup
}

func newGate(t *testing.T, endpoint string) *gate {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{url: "http://" + l.Addr().String(), target: u.Host, conns: map[net.Conn]bool{}}
	g.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			g.serve(c)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		g.shut()
		g.wg.Wait()
	})
	return g
}

func (g *gate) serve(c net.Conn) {
	up, err := net.Dial("tcp", g.target)
	if err != nil {
		_ = c.Close()
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isShut {
		_, _ = c.Close(), up.Close()
		return
	}
	g.conns[c], g.conns[up] = true, true
	pipe := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		_, _ = to.Close(), from.Close()
	}
	g.wg.Go(func() { pipe(up, c) })
	g.wg.Go(func() { pipe(c, up) })
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isShut = true
	for c := range g.conns {
		_ = c.Close()
	}
	clear(g.conns)
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isShut = false
}
