//go:build unix

package postgrestest

import (
	"os/exec"
	"syscall"
)

// demote has a program run as the user that runs the server, and in a process group of its own, so
// that it outlives an interrupt at the terminal.
func demote(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	uid, gid, other, err := owner()
	if other {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return err
}
