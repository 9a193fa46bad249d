//go:build !unix

package storetest

import "os/exec"

// startGroup does nothing where there are no process groups.
func startGroup(*exec.Cmd) {}

// killGroup kills the process only.
func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func groupAlive(*exec.Cmd) bool { return false }
