package edge

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// result is what a read came to.
type result struct {
	n   int
	err error
}

// reading starts a read of up to size bytes.
func reading(c net.Conn, size int) <-chan result {
	done := make(chan result, 1)
	go func() {
		n, err := c.Read(make([]byte, size))
		done <- result{n, err}
	}()
	return done
}

// until waits for something that must come.
func until(t *testing.T, what string, come func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !come(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come", what)
		}
	}
}

// isWaiting says that a read of one byte waits for its begin.
func (c *patientConn) isWaiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting
}

func setRead(t *testing.T, c net.Conn, at time.Time) {
	t.Helper()
	if err := c.SetReadDeadline(at); err != nil {
		t.Fatal(err)
	}
}

func TestPatientConn_handsOnEarlierReadDeadlinesOnly(t *testing.T) {
	c, r, _ := connect(t, time.Hour)
	now := time.Now()
	for _, row := range []struct {
		name string
		at   time.Time
		want int64
	}{
		{"none where there was none", time.Time{}, 0},
		{"the first", now.Add(2 * time.Hour), 1},
		{"the same", now.Add(2 * time.Hour), 0},
		{"a later one", now.Add(3 * time.Hour), 0},
		{"none", time.Time{}, 0},
		{"an earlier one", now.Add(time.Hour), 1},
		{"a later one than that", now.Add(2 * time.Hour), 0},
		{"one that has passed", now, 1},
	} {
		before := r.setRead.Load()
		setRead(t, c, row.at)
		if got := r.setRead.Load() - before; got != row.want {
			t.Errorf("%s: handed on %d times, want %d", row.name, got, row.want)
		}
	}
}

func TestPatientConn_readsUntilTheDeadlineSetLast(t *testing.T) {
	const soon = 20 * time.Millisecond
	for _, size := range []int{1, 16} {
		for _, row := range []struct {
			name string
			set  []time.Duration // -1 is none
			ends bool
		}{
			{"one", []time.Duration{soon}, true},
			{"one that has passed", []time.Duration{0}, true},
			{"an earlier one after a later", []time.Duration{time.Hour, soon}, true},
			{"a later one after an earlier", []time.Duration{soon, 2 * soon}, true},
			{"one after none", []time.Duration{time.Hour, -1, soon}, true},
			{"a far one after a near", []time.Duration{soon, time.Hour}, false},
			{"none after a near one", []time.Duration{soon, -1}, false},
			{"none after one that has passed", []time.Duration{0, -1}, false},
		} {
			for _, running := range []bool{false, true} {
				c, r, caller := connect(t, time.Hour)
				set := func() {
					for _, after := range row.set {
						at := time.Now().Add(after)
						if after < 0 {
							at = time.Time{}
						}
						setRead(t, c, at)
					}
				}
				var done <-chan result
				if running {
					done = reading(c, size)
					if size > 1 || !row.ends {
						until(t, "the read", func() bool { return r.reads.Load() > 0 })
					}
					if !row.ends && row.set[0] == 0 {
						continue // this takes the running read back, before the deadline is lifted
					}
					set()
				} else {
					set()
					done = reading(c, size)
				}
				if !row.ends {
					until(t, "a later deadline", func() bool { return r.setRead.Load() > 1 })
					write(t, caller)
				}
				got := <-done
				switch {
				case row.ends && (got.n != 0 || !errors.Is(got.err, os.ErrDeadlineExceeded)):
					t.Errorf("%s, %d bytes, running %t: read %d bytes, %v", row.name, size, running, got.n, got.err)
				case !row.ends && (got.n != 1 || got.err != nil):
					t.Errorf("%s, %d bytes, running %t: read %d bytes, %v, want what was sent", row.name, size, running, got.n, got.err)
				}
			}
		}
	}
}

func TestPatientConn_takesBackAReadThatHasNotBegun(t *testing.T) {
	c, r, caller := connect(t, time.Hour)
	taken := 0
	for taken < 100 {
		done := reading(c, 1)
		until(t, "the read", func() bool { return c.isWaiting() || r.reads.Load() > 0 })
		setRead(t, c, time.Unix(1, 0)) // as net/http does when an answer is written
		if got := <-done; got.n != 0 || !errors.Is(got.err, os.ErrDeadlineExceeded) {
			t.Fatalf("read %d bytes, %v", got.n, got.err)
		}
		if r.reads.Swap(0) == 0 { // a machine that is busy may let it begin
			taken++
		}
		if taken%2 == 1 { // the deadline holds until it is lifted
			if n, err := c.Read(make([]byte, 16)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("after that: read %d bytes, %v", n, err)
			}
		}
		r.reads.Store(0)
		setRead(t, c, time.Time{})
	}
	write(t, caller)
	if n, err := c.Read(make([]byte, 16)); n != 1 || err != nil {
		t.Errorf("read %d bytes, %v, want what was sent", n, err)
	}
}

func TestPatientConn_noticesACallerWhoLeaves(t *testing.T) {
	c, _, caller := connect(t, time.Hour)
	done := reading(c, 1)
	if err := caller.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.n != 0 || got.err != io.EOF {
		t.Errorf("read %d bytes, %v", got.n, got.err)
	}
}

// net/http's own ways with a connection, which the reading side counts on: a release that does otherwise shows here.
func TestPatientConn_costsAShortCallNoReadAndNoDeadline(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := &seeing{patientListener: patientListener{Listener: l, timeout: time.Hour}, conns: make(chan *patientConn, 1)}
	var c *patientConn
	server := newServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before := seen.recorder.reads.Load()
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // as the handler does
		if c == nil {
			c = <-seen.conns
		}
		// It may be waiting no more: a machine that is busy comes here too late to see it.
		until(t, "net/http's read", func() bool { return c.isWaiting() || seen.recorder.reads.Load() > before })
	}), nil, slog.New(slog.DiscardHandler), &Limits{})
	defer server.Close()
	go server.Serve(seen)

	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	const calls = 20
	var reads, deadlines int64
	for call := range calls {
		response, err := client.Post("http://"+l.Addr().String(), "text/plain", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if call == 0 {
			reads, deadlines = seen.recorder.reads.Load(), seen.recorder.setRead.Load()
		}
	}
	// One read finds nothing yet, one finds the request. A machine that is busy may need more for some.
	if got := seen.recorder.reads.Load() - reads; got > 2*calls+calls/2 {
		t.Errorf("%d reads for %d calls", got, calls-1)
	}
	if got := seen.recorder.setRead.Load() - deadlines; got > calls/2 {
		t.Errorf("%d deadlines of reads for %d calls", got, calls-1)
	}
}

// seeing is the listener of Serve, which shows its connection.
type seeing struct {
	patientListener
	recorder *recorder
	conns    chan *patientConn
}

func (s *seeing) Accept() (net.Conn, error) {
	c, err := s.patientListener.Accept()
	if err != nil {
		return nil, err
	}
	patient := c.(*patientConn)
	s.recorder = &recorder{Conn: patient.Conn}
	patient.Conn = s.recorder
	s.conns <- patient
	return c, nil
}
