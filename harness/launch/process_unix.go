//go:build linux || darwin

package launch

import (
	"fmt"
	"os"
	"syscall"
)

const supported = true

const freeze, thaw = syscall.SIGSTOP, syscall.SIGCONT

// groupLeader makes a process the leader of a new group.
func groupLeader() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func leadsGroup() bool { return syscall.Getpgrp() == os.Getpid() }

// signalGroup sends a signal to every process of a group. Errors are ignored; the caller checks
// which processes remain.
func signalGroup(group int, sig syscall.Signal) { _ = syscall.Kill(-group, sig) }

// inherited returns an inherited file descriptor as a file that child processes do not inherit.
func inherited(fd int) *os.File {
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), fmt.Sprint("descriptor ", fd))
}

// reapChildren reaps all children of this process, including adopted ones, until none is left.
// exited is called with the command's status.
func reapChildren(command int, exited func(status string)) {
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &status, 0, nil); {
		case err == syscall.EINTR:
		case err != nil:
			return
		case pid == command:
			exited(statusText(status))
		}
	}
}

// statusText describes how a process ended, like os.ProcessState.
func statusText(status syscall.WaitStatus) string {
	switch {
	case !status.Signaled():
		return fmt.Sprint("exit status ", status.ExitStatus())
	case status.CoreDump():
		return fmt.Sprintf("signal: %v (core dumped)", status.Signal())
	}
	return fmt.Sprintf("signal: %v", status.Signal())
}
