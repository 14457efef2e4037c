package edge

import (
	"errors"
	"net"
	"sync/atomic"
	"time"
)

// patientListener takes connections that wait for their callers only so long.
type patientListener struct {
	net.Listener
	// timeout is how long a caller may take to accept what is written at once.
	timeout time.Duration
}

func (l *patientListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &patientConn{patientReads: patientReads{Conn: c}, timeout: l.timeout, accepted: time.Now()}, nil
}

// patientConn is a connection whose writes never wait for ever: a caller who reads nothing would hold it and a goroutine
// otherwise, since net/http knows deadlines for whole answers only. Whoever sets a deadline has that one instead, until
// it is lifted.
//
// To move a deadline costs more than to read the clock. It is moved when half of its time has passed, so that a write has
// between half of the timeout and all of it.
type patientConn struct {
	patientReads
	timeout  time.Duration
	accepted time.Time
	// deadline is ours, as the time since the connection was accepted; 0 before there is one, and while theirs holds.
	deadline atomic.Int64
	theirs   atomic.Bool
}

func (c *patientConn) Write(b []byte) (int, error) {
	if !c.theirs.Load() {
		if now := time.Since(c.accepted); time.Duration(c.deadline.Load())-now < c.timeout/2 {
			if err := c.move(now); err != nil {
				return 0, err
			}
		}
	}
	return c.Conn.Write(b)
}

func (c *patientConn) move(now time.Duration) error {
	c.deadline.Store(int64(now + c.timeout))
	return c.Conn.SetWriteDeadline(c.accepted.Add(now + c.timeout))
}

// SetWriteDeadline sets a deadline of the caller's. No deadline means ours; net/http lifts what may have been set after
// each request, and nothing happens where nothing was.
func (c *patientConn) SetWriteDeadline(t time.Time) error {
	if !t.IsZero() {
		c.theirs.Store(true)
		return c.Conn.SetWriteDeadline(t)
	}
	if !c.theirs.Swap(false) {
		return nil
	}
	return c.move(time.Since(c.accepted))
}

// SetDeadline sets both deadlines.
func (c *patientConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// CloseWrite lets net/http say that nothing more comes before it closes a connection that is still sent to, so that the
// last answer is not lost in a reset.
func (c *patientConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
