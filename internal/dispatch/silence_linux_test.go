package dispatch

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel's answer to what was asked of it: the connection itself is what detects a machine that is gone.
func TestLimitSilence_isSetOnTheSocket(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialer := net.Dialer{Control: limitSilence}
	conn, err := dialer.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var got int
	var failed error
	if err := raw.Control(func(fd uintptr) { got, failed = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT) }); err != nil {
		t.Fatal(err)
	}
	if failed != nil || got != 15_000 {
		t.Errorf("the kernel gives up after %d ms (%v), want 15000", got, failed)
	}
}
