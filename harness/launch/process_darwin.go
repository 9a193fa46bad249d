package launch

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// processAttributes puts a process into a group; 0 creates a new one.
func processAttributes(group int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: group}
}

// live returns the live processes of the groups, and no strays: macOS does not show the environment
// of a process to others.
func live(groups []int, _ string) (members, _ []int) {
	const zombie = 5 // SZOMB of sys/proc.h

	for _, group := range groups {
		// An error means that the group does not exist.
		all, _ := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
		for _, p := range all {
			if p.Proc.P_stat != zombie {
				members = append(members, int(p.Proc.P_pid))
			}
		}
	}
	return members, nil
}

// peakMemory returns 0: macOS tells only the parent of a process its peak, and only once it has
// ended.
func peakMemory([]int) int64 { return 0 }

// foreignListener returns false: the owner of a socket cannot be found without cgo.
func foreignListener([]int, int) bool { return false }

// usageOf knows nothing: macOS shows what a process uses only with cgo.
func usageOf([]int) (Usage, bool) { return Usage{}, false }
