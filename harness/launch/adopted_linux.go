package launch

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process whose parent has ended becomes a child of this process, which is a subreaper while it
// has daemons. So a daemon's process is found even if it has left the daemon's groups and its
// environment.

// adoption knows which children this process has started itself. Its lock is held while a child is
// started, so that no child is taken for an adopted one.
var adoption struct {
	sync.Mutex
	started map[int]bool
	daemons int // that run
	// since is shortly before the first of them was started, in ticks. What this process has
	// adopted before is of no daemon.
	since uint64
	// stop ends reapOld.
	stop chan struct{}
	once sync.Once
	ok   bool // this process is a subreaper
}

// startChild starts a child and remembers its process id until forgetChild.
func startChild(cmd *exec.Cmd) error {
	adoption.Lock()
	defer adoption.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	if adoption.started == nil {
		adoption.started = map[int]bool{}
	}
	adoption.started[cmd.Process.Pid] = true
	return nil
}

func forgetChild(pid int) {
	adoption.Lock()
	defer adoption.Unlock()
	delete(adoption.started, pid)
}

// adopt makes this process a subreaper until the function that it returns is called as often. known
// is false if the kernel refuses.
func adopt() (release func(), known bool) {
	adoption.Lock()
	defer adoption.Unlock()
	adoption.once.Do(func() { adoption.ok = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil })
	if adoption.daemons++; adoption.daemons == 1 {
		adoption.since = ticks()
		adoption.stop = make(chan struct{})
		go reapOld(adoption.stop)
	}
	return func() {
		adoption.Lock()
		defer adoption.Unlock()
		if adoption.daemons--; adoption.daemons == 0 {
			close(adoption.stop)
		}
	}, adoption.ok
}

// reapAfter is how long a child must have been a zombie until it is reaped: by then, the code that
// started it in this process would have done so.
const reapAfter = 10 * time.Second

// reapOld reaps adopted processes that have ended.
func reapOld(stop <-chan struct{}) {
	ticks := time.NewTicker(reapAfter)
	defer ticks.Stop()
	var before map[int]uint64
	for {
		select {
		case <-ticks.C:
		case <-stop:
			return
		}
		now := map[int]uint64{}
		for _, p := range adoptedBy(os.Getpid(), readProcesses()) {
			if !p.zombie {
				continue
			}
			if start, again := before[p.pid]; again && start == p.start {
				reap(p.pid)
			} else {
				now[p.pid] = p.start
			}
		}
		before = now
	}
}

func reap(pid int) { _, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil) }

// running is a line of the table of processes.
type running struct {
	pid, parent, group int
	start              uint64 // in ticks since the system was started
	zombie             bool
	name               string
}

// readProcesses returns the table of processes.
func readProcesses() []running {
	var all []running
	for _, pid := range pids() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state ppid pgrp ...", where name may contain any characters.
		open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
		fields := bytes.Fields(stat[end+1:])
		if open < 0 || end < open || len(fields) < 20 {
			continue
		}
		number := func(field []byte) int { n, _ := strconv.Atoi(string(field)); return n }
		all = append(all, running{
			pid: pid, parent: number(fields[1]), group: number(fields[2]),
			start: uint64(number(fields[19])), zombie: bytes.ContainsAny(fields[0], "ZX"), name: string(stat[open+1 : end]),
		})
	}
	return all
}

// adoptedBy returns the children of a process that it has not started itself. Those of its own
// group are left out: other code may have started them, in no group of their own.
func adoptedBy(self int, all []running) (adopted []running) {
	adoption.Lock()
	defer adoption.Unlock()
	own := syscall.Getpgrp()
	for _, p := range all {
		if p.parent == self && p.group != own && !adoption.started[p.pid] {
			adopted = append(adopted, p)
		}
	}
	return adopted
}

// below returns processes and all those below them.
func below(roots []running, all []running) (found []running) {
	children := map[int][]running{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p)
	}
	seen := map[int]bool{}
	for len(roots) > 0 {
		p := roots[0]
		roots = roots[1:]
		if seen[p.pid] {
			continue
		}
		seen[p.pid] = true
		found = append(found, p)
		roots = append(roots, children[p.pid]...)
	}
	return found
}

// escaped returns the live processes of a daemon, given by the process id of its command, that
// neither its groups nor their environment show: those below the command, and, if no other daemon
// runs, those that this process has adopted since it has daemons, with those below them.
func escaped(command int, groups []int) (found []stray) {
	all := readProcesses()
	roots := []running{}
	for _, p := range all {
		if p.pid == command && p.parent == os.Getpid() {
			roots = append(roots, p)
		}
	}
	adoption.Lock()
	alone, since := adoption.daemons == 1, adoption.since
	adoption.Unlock()
	if alone {
		for _, p := range adoptedBy(os.Getpid(), all) {
			if p.start >= since {
				roots = append(roots, p)
			}
		}
	}
	inGroup := map[int]bool{}
	for _, g := range groups {
		inGroup[g] = true
	}
	for _, p := range below(roots, all) {
		if !p.zombie && p.pid != command && !inGroup[p.group] {
			found = append(found, stray{p.pid, fmt.Sprintf("%s (pid %d)", p.name, p.pid)})
		}
	}
	return found
}

// ticks returns the time since the system was started, as the table of processes has it.
func ticks() uint64 {
	const perSecond = 100 // USER_HZ, which is the same on all architectures that Go supports
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return uint64(now.Nano()) / uint64(time.Second/perSecond)
}

// reapMembers reaps what this process has adopted of some groups and has ended, and some other
// ones.
func reapMembers(groups, pids []int) {
	for _, p := range adoptedBy(os.Getpid(), readProcesses()) {
		for _, g := range groups {
			if p.zombie && p.group == g {
				reap(p.pid)
			}
		}
	}
	for _, pid := range pids {
		reap(pid)
	}
}
