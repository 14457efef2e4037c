package edge

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"
)

// recorder is a connection that counts what is done to it: how often its deadlines are set, and reads begun.
type recorder struct {
	net.Conn
	set            int
	setRead, reads atomic.Int64
}

func (r *recorder) Read(b []byte) (int, error) {
	r.reads.Add(1)
	return r.Conn.Read(b)
}

func (r *recorder) SetReadDeadline(t time.Time) error {
	r.setRead.Add(1)
	return r.Conn.SetReadDeadline(t)
}

func (r *recorder) SetWriteDeadline(t time.Time) error {
	r.set++
	return r.Conn.SetWriteDeadline(t)
}

// connect gives both ends of a connection, the edge's through the listener that Serve uses.
func connect(t *testing.T, timeout time.Duration) (*patientConn, *recorder, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	caller, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := (&patientListener{Listener: l, timeout: timeout}).Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = caller.Close()
		_ = accepted.Close()
	})
	c := accepted.(*patientConn)
	r := &recorder{Conn: c.Conn}
	c.Conn = r
	return c, r, caller
}

func write(t *testing.T, c net.Conn) {
	t.Helper()
	if _, err := io.WriteString(c, "x"); err != nil {
		t.Errorf("write: %v", err)
	}
}

func TestPatientConn_leavesACallerWhoDoesNotRead(t *testing.T) {
	c, _, _ := connect(t, 50*time.Millisecond)
	piece := make([]byte, 1<<20)
	for {
		if _, err := c.Write(piece); err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("ended with %v", err)
			}
			return
		}
	}
}

func TestPatientConn_movesItsDeadlineWhenHalfOfItHasPassed(t *testing.T) {
	c, r, _ := connect(t, time.Hour)
	for range 100 {
		write(t, c)
		_ = c.SetWriteDeadline(time.Time{}) // as net/http does after each request
	}
	if r.set != 1 {
		t.Errorf("the deadline was set %d times for writes at once", r.set)
	}
	for _, row := range []struct {
		name   string
		passed time.Duration
		want   int
	}{
		{"a little less than half", 29 * time.Minute, 0},
		{"half", time.Minute, 1},
		{"a little after that", time.Minute, 0},
		{"a day", 24 * time.Hour, 1},
	} {
		before := r.set
		c.accepted = c.accepted.Add(-row.passed) // time goes by
		if row.passed > c.timeout {
			_ = r.Conn.SetWriteDeadline(time.Now().Add(-time.Second)) // and so the deadline has
		}
		write(t, c)
		if got := r.set - before; got != row.want {
			t.Errorf("%s: the deadline was set %d times, want %d", row.name, got, row.want)
		}
	}
}

func TestPatientConn_heedsTheDeadlineOfOthers(t *testing.T) {
	c, r, _ := connect(t, time.Hour)
	past := time.Now().Add(-time.Second)
	for name, set := range map[string]func(time.Time) error{"SetWriteDeadline": c.SetWriteDeadline, "SetDeadline": c.SetDeadline} {
		if err := set(past); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "x"); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: after a deadline that has passed: %v", name, err)
		}
		before := r.set
		if err := set(time.Time{}); err != nil {
			t.Fatal(err)
		}
		if r.set == before {
			t.Errorf("%s: without a deadline of theirs there is none", name)
		}
		write(t, c)
	}
}

func TestPatientConn_closesItsSideAlone(t *testing.T) {
	c, r, caller := connect(t, time.Hour)
	if err := c.CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("of a connection that knows no sides: %v", err)
	}
	c.Conn = r.Conn
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if n, err := caller.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("the caller reads %d bytes, %v", n, err)
	}
	write(t, caller)
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("the edge reads %d bytes, %v", n, err)
	}
}
