package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// placement says on which processors what runs.
type placement struct {
	// pinned is false on a machine with one processor, where nothing can be kept apart.
	pinned bool
	// target is the processor of whatever is measured, rest that of everything else.
	target, rest int
}

// place chooses two processors among those that the process may use, and moves the process itself to the second.
func place() (placement, error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return placement{}, fmt.Errorf("which processors there are: %w", err)
	}
	var found []int
	for cpu := 0; len(found) < 2 && cpu < 8*len(allowed)*8; cpu++ {
		if allowed.IsSet(cpu) {
			found = append(found, cpu)
		}
	}
	if len(found) < 2 {
		return placement{}, nil
	}
	p := placement{pinned: true, target: found[0], rest: found[1]}
	// Threads that are made later are where the thread is that makes them.
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		return placement{}, err
	}
	for _, thread := range threads {
		id, err := strconv.Atoi(filepath.Base(thread))
		if err != nil {
			return placement{}, err
		}
		if err := pin(id, p.rest); err != nil && !errors.Is(err, unix.ESRCH) {
			return placement{}, fmt.Errorf("move to processor %d: %w", p.rest, err)
		}
	}
	runtime.GOMAXPROCS(1)
	return p, nil
}

func pin(thread, cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return unix.SchedSetaffinity(thread, &set)
}

// start starts a process on a processor: it inherits where the thread is that starts it.
func (p placement) start(cmd *exec.Cmd, cpu int) error {
	if !p.pinned {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := pin(0, cpu); err != nil {
		return fmt.Errorf("move to processor %d: %w", cpu, err)
	}
	return errors.Join(cmd.Start(), pin(0, p.rest))
}

// spentBy is for how long, and how often, the threads of a process ran. Threads of Go programs do not end while these
// are measured, so that the sums do not fall.
func spentBy(pid int) (sum spending, err error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return spending{}, err
	}
	if len(files) == 0 {
		return spending{}, fmt.Errorf("process %d has no /proc/%d/task/*/schedstat: it is gone, or the kernel keeps no such statistics", pid, pid)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return spending{}, err
		}
		var ran, waited, times int64
		if _, err := fmt.Sscan(string(raw), &ran, &waited, &times); err != nil {
			return spending{}, fmt.Errorf("%s: %w", file, err)
		}
		sum.time += time.Duration(ran)
		sum.runs += times
	}
	return sum, nil
}
