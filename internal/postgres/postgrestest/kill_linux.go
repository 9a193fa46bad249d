package postgrestest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// kill freezes the first process before the others end, or it would start new ones.
func (c *Cluster) kill() error {
	text, err := os.ReadFile(c.pidFile())
	if err != nil {
		return err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	first, err := strconv.Atoi(line)
	if err != nil {
		return fmt.Errorf("%s: %w", c.pidFile(), err)
	}
	if err := syscall.Kill(first, syscall.SIGSTOP); err != nil {
		return err
	}
	all, err := procfs.AllProcs()
	if err != nil {
		return err
	}
	pids := []int{first}
	for _, p := range all {
		if stat, err := p.Stat(); err == nil && stat.PPID == first { // else it has ended
			pids = append(pids, p.PID)
		}
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // fails if it has ended
	}
	for _, pid := range pids {
		if err := gone(pid); err != nil {
			return err
		}
	}
	return nil
}

// gone waits until a process has ended. Where no process reaps orphans, a zombie remains.
func gone(pid int) error {
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		p, err := procfs.NewProc(pid)
		if err != nil {
			return nil
		}
		if stat, err := p.Stat(); err != nil || stat.State == "Z" || stat.State == "X" {
			return nil
		}
		if time.Since(begun) > runTimeout {
			return fmt.Errorf("process %d is alive %v after SIGKILL", pid, runTimeout)
		}
	}
}
