//go:build !linux && !darwin

package launch

import "syscall"

// Without process groups a daemon cannot be stopped reliably. Start checks supported first and does
// not call the functions below.
const supported = false

func processAttributes(int) *syscall.SysProcAttr { return nil }

func groupLeader() *syscall.SysProcAttr { return nil }

func leadsGroup() bool { return false }

func signalGroups([]int, syscall.Signal) {}

func groupMembers([]int) []int { return nil }

func peakMemory([]int) int64 { return 0 }

func foreignListener([]int, int) bool { return false }
