//go:build !linux

package main

import "time"

var start = time.Now()

// cpuTime is the time that has passed: the process does nothing but measure.
func cpuTime() time.Duration { return time.Since(start) }
