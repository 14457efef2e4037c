package edge

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"time"
)

// noticed is after how long a connection begins to look whether its caller has left. Most calls are over before.
const noticed = 10 * time.Millisecond

// patientReads is the reading side of a connection. net/http moves the deadline of reads some seven times for each
// request, mostly to later and back, and each time costs more than to read the clock. Here a deadline is handed to the
// connection at once only where it is earlier than the one that the connection has; a later one is, when the earlier
// has passed.
//
// It also waits in the place of net/http: while a call runs, net/http reads one byte, to notice a caller who leaves, and
// takes the read back when the call is over. The wait for that read begins [noticed] later, so that a short call costs
// neither the system call nor the two deadlines that end it.
type patientReads struct {
	net.Conn

	mu sync.Mutex
	// wanted is the deadline that was set, armed the one that the connection has. Zero is none.
	wanted, armed time.Time
	// unarmed says that wanted is the earlier one and the connection does not have it, since nobody was reading.
	unarmed bool
	// waiting says that a read of one byte waits for its begin; then stop, which has room for one, ends it.
	waiting bool
	stop    chan struct{}
	// timer is of use to the read that waits.
	timer *time.Timer
}

// Read reads until the deadline that was set last. It may be called while a deadline is set, not twice at once.
func (r *patientReads) Read(b []byte) (int, error) {
	if err := r.prepare(len(b) == 1); err != nil {
		return 0, err
	}
	if len(b) > 1 {
		// Whoever was just answered has not sent the next request yet. While others have their turn it may come, and
		// then there is no system call that finds nothing, and no waiting for another.
		runtime.Gosched()
	}
	for {
		n, err := r.Conn.Read(b)
		if n > 0 || err == nil || !errors.Is(err, os.ErrDeadlineExceeded) || !r.extend() {
			return n, err
		}
	}
}

// prepare sees that the connection has the deadline that holds, and waits where there is time to.
func (r *patientReads) prepare(patient bool) error {
	r.mu.Lock()
	if r.unarmed {
		err := r.arm()
		r.mu.Unlock()
		return err
	}
	if !patient || !r.wanted.IsZero() && time.Until(r.wanted) < noticed {
		r.mu.Unlock()
		return nil
	}
	r.waiting = true
	if r.stop == nil {
		r.stop, r.timer = make(chan struct{}, 1), time.NewTimer(noticed)
	} else {
		r.timer.Reset(noticed)
	}
	r.mu.Unlock()

	select {
	case <-r.stop:
		r.timer.Stop()
		return os.ErrDeadlineExceeded
	case <-r.timer.C:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.waiting { // stopped at the same moment
		<-r.stop
		return os.ErrDeadlineExceeded
	}
	r.waiting = false
	return nil
}

// extend is asked when a read ended by a deadline, and says whether a later one holds. The connection has it then.
func (r *patientReads) extend() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.wanted.IsZero() && !time.Now().Before(r.wanted) {
		return false
	}
	return r.arm() == nil
}

func (r *patientReads) arm() error {
	r.armed, r.unarmed = r.wanted, false
	return r.Conn.SetReadDeadline(r.wanted)
}

// SetReadDeadline sets the deadline of the read that runs and of those that come; zero is none.
func (r *patientReads) SetReadDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wanted, r.unarmed = t, false
	switch {
	case t.IsZero():
		return nil
	case r.waiting && !t.After(time.Now()):
		r.waiting, r.unarmed = false, true
		r.stop <- struct{}{}
		return nil
	case !r.armed.IsZero() && !t.Before(r.armed):
		return nil
	default:
		return r.arm()
	}
}
