//go:build unix

package gitstore

import (
	"os/exec"
	"syscall"
)

// ownSession starts a program in a session of its own, so that it cannot ask for a password on the
// terminal. It stops the program together with its children.
func ownSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}
