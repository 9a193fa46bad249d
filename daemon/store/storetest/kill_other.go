//go:build !unix

package storetest

import "os/exec"

// leadGroup does nothing where there are no process groups.
func leadGroup(*exec.Cmd) {}

// killGroup kills the process alone.
func killGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func groupLives(*exec.Cmd) bool { return false }
