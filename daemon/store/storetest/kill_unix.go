//go:build unix

package storetest

import (
	"os/exec"
	"syscall"
)

// leadGroup makes a process that is to be started the leader of its own group.
func leadGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills it and its children.
func killGroup(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// groupLives reports whether a process of the group is left, if only as one that
// nobody has waited for.
func groupLives(cmd *exec.Cmd) bool { return syscall.Kill(-cmd.Process.Pid, 0) == nil }
