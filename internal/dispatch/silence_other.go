//go:build !linux

package dispatch

import "syscall"

// limitSilence leaves it to the system's own patience with bytes that nobody acknowledges.
func limitSilence(_, _ string, _ syscall.RawConn) error { return nil }
