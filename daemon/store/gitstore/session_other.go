//go:build !unix

package gitstore

import "os/exec"

// ownSession does nothing on this system.
func ownSession(*exec.Cmd) {}
