package launch

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttributes adds nothing on macOS.
func childAttributes() *syscall.SysProcAttr { return nil }

// adopt returns false: only Linux lets a process adopt orphaned descendants.
func adopt() bool { return false }

// processesOf returns the live processes of the groups, without the watchdog. macOS does not show a
// process's environment to others.
func processesOf(watchdog int, _ bool, groups []int, _ string) (found []process) {
	const zombie = 5 // SZOMB of sys/proc.h

	for _, group := range groups {
		// An error means that the group does not exist.
		all, _ := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
		for _, p := range all {
			if pid := int(p.Proc.P_pid); p.Proc.P_stat != zombie && pid != watchdog {
				found = append(found, process{pid: pid, group: group})
			}
		}
	}
	return found
}

func (process) marked(string) bool { return false }

func (p process) signal(sig syscall.Signal) error { return syscall.Kill(p.pid, sig) }

// peakMemory returns 0: macOS reports the peak only to the parent, after the process has ended.
func peakMemory([]process) int64 { return 0 }

// foreignListener returns false: finding the owner of a socket requires cgo.
func foreignListener([]process, int) bool { return false }

// usageOf returns false: reading a process's resource use on macOS requires cgo.
func usageOf([]process) (Usage, bool) { return Usage{}, false }
