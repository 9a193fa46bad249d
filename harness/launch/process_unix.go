//go:build linux || darwin

package launch

import (
	"os"
	"syscall"
)

const supported = true

const freeze, thaw = syscall.SIGSTOP, syscall.SIGCONT

// groupLeader makes a process the leader of a new group.
func groupLeader() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func leadsGroup() bool { return syscall.Getpgrp() == os.Getpid() }

// signalGroups sends a signal to every process of the groups. It ignores errors; the caller checks
// which processes remain.
func signalGroups(groups []int, sig syscall.Signal) {
	for _, group := range groups {
		_ = syscall.Kill(-group, sig)
	}
}

func signalProcess(pid int, sig syscall.Signal) error { return syscall.Kill(pid, sig) }
