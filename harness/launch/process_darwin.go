package launch

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// processAttributes puts a process into a group, 0 meaning a new one.
func processAttributes(group int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: group}
}

// groupMembers lists the live processes of some groups.
func groupMembers(groups []int) []int {
	const zombie = 5 // SZOMB of sys/proc.h

	var pids []int
	for _, group := range groups {
		// An error means that there is no such group.
		members, _ := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
		for _, member := range members {
			if member.Proc.P_stat != zombie {
				pids = append(pids, int(member.Proc.P_pid))
			}
		}
	}
	return pids
}

// foreignListener never knows: the system does not tell without cgo.
func foreignListener([]int, int) bool { return false }
