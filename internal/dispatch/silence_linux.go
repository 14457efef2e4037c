package dispatch

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// limitSilence lets a connection fail whose sent bytes nobody acknowledges: a call to a machine that is gone then fails
// after as long as a silent connection does.
func limitSilence(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int((keepAlive + keepAliveTimeout).Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
