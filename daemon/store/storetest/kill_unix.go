//go:build unix

package storetest

import (
	"os/exec"
	"syscall"
)

// startGroup makes cmd start as the leader of a new process group.
func startGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills the process and its children.
func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// groupAlive reports whether there is a process left in the group, even a zombie.
func groupAlive(cmd *exec.Cmd) bool { return syscall.Kill(-cmd.Process.Pid, 0) == nil }
