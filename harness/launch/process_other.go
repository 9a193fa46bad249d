//go:build !linux && !darwin

package launch

import (
	"errors"
	"os"
	"syscall"
)

// Without process groups a daemon cannot be stopped reliably. Start checks supported first and does
// not call the functions below.
const supported = false

const freeze, thaw = syscall.Signal(0), syscall.Signal(0)

func childAttributes() *syscall.SysProcAttr { return nil }

func groupLeader() *syscall.SysProcAttr { return nil }

func leadsGroup() bool { return false }

func adopt() bool { return false }

func inherited(int) *os.File { return nil }

func reapChildren(int, func(string)) {}

func signalGroup(int, syscall.Signal) {}

func (process) marked(string) bool { return false }

func (process) signal(syscall.Signal) error { return errors.ErrUnsupported }

func usageOf([]process) (Usage, bool) { return Usage{}, false }

func processesOf(int, bool, []int, string) []process { return nil }

func peakMemory([]process) int64 { return 0 }

func foreignListener([]process, int) bool { return false }
