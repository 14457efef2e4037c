//go:build !linux

package harness

import (
	"errors"
	"os/exec"
)

var errNotLinux = errors.New("what a process costs is read from Linux's /proc: run the benchmarks on Linux")

type placement struct {
	pinned       bool
	target, rest int
}

func place() (placement, error) { return placement{}, errNotLinux }

func (placement) start(cmd *exec.Cmd, _ int) error { return cmd.Start() }

func spentBy(int) (spending, error) { return spending{}, errNotLinux }
