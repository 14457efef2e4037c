package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the processor time that the process has used.
func cpuTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic(err) // every Linux has the clock
	}
	return time.Duration(t.Nano())
}
