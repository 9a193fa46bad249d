//go:build !linux && !darwin

package launch

import (
	"errors"
	"syscall"
)

// Without process groups a daemon cannot be stopped reliably. Start checks supported first and does
// not call the functions below.
const supported = false

const freeze, thaw = syscall.Signal(0), syscall.Signal(0)

func processAttributes(int) *syscall.SysProcAttr { return nil }

func groupLeader() *syscall.SysProcAttr { return nil }

func leadsGroup() bool { return false }

func signalGroups([]int, syscall.Signal) {}

func signalProcess(int, syscall.Signal) error { return errors.ErrUnsupported }

func usageOf([]int) (Usage, bool) { return Usage{}, false }

func live([]int, string) (members, strays []int) { return nil, nil }

func peakMemory([]int) int64 { return 0 }

func foreignListener([]int, int) bool { return false }
