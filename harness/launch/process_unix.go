//go:build linux || darwin

package launch

import (
	"os"
	"syscall"
)

const supported = true

// groupLeader makes a process the leader of a new group.
func groupLeader() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func leadsGroup() bool { return syscall.Getpgrp() == os.Getpid() }

// signalGroup signals every process of a group. An error means that there was
// no process to signal.
func signalGroup(group int, sig syscall.Signal) error { return syscall.Kill(-group, sig) }
