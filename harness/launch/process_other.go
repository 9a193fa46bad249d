//go:build !linux && !darwin

package launch

import "syscall"

// Without process groups a daemon could not be stopped for sure, so nothing is
// started: supported is asked first, and the rest is never reached.
const supported = false

func processAttributes(int) *syscall.SysProcAttr { return nil }

func groupLeader() *syscall.SysProcAttr { return nil }

func leadsGroup() bool { return false }

func signalGroups([]int, syscall.Signal) {}

func groupMembers([]int) []int { return nil }

func foreignListener([]int, int) bool { return false }
