//go:build unix

package postgrestest

import (
	"os/exec"
	"strconv"
	"syscall"
)

func (c *Cluster) demote(cmd *exec.Cmd) error {
	u, err := owner()
	if u == nil || err != nil {
		return err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return err
}
