package launch

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// adopt makes this process a subreaper: a descendant whose parent ends becomes its child. All
// descendants can then be found below this process, and none is left once it has no child. It
// returns false if the kernel refuses.
func adopt() bool { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == nil }

// processesOf returns the live processes below a watchdog. If the watchdog is dead or does not
// adopt, it also finds processes by their groups and by the mark in their environment. The
// environment of other users' processes cannot be read.
func processesOf(watchdog int, adopts bool, groups []int, mark string) (found []process) {
	all := readProcesses()
	under := map[int]bool{}
	children := map[int][]int{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p.pid)
		if p.pid == watchdog && !p.zombie {
			under[p.pid] = true
		}
	}
	watched := adopts && under[watchdog]
	if !under[watchdog] {
		children = nil
	}
	for next := children[watchdog]; len(next) > 0; next = next[1:] {
		if !under[next[0]] {
			under[next[0]] = true
			next = append(next, children[next[0]]...)
		}
	}
	for _, p := range all {
		if p.zombie || p.pid == watchdog {
			continue
		}
		if under[p.pid] || !watched && (slices.Contains(groups, p.group) || p.marked(mark)) {
			found = append(found, p)
		}
	}
	return found
}

// marked reports whether a process's environment has the mark. An error means that the process has
// ended or belongs to another user.
func (p process) marked(mark string) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
	return err == nil && bytes.Contains(environ, []byte(mark+"="))
}

// signal sends a signal, but never to another process that has since received the same id.
func (p process) signal(sig syscall.Signal) error {
	held, err := os.FindProcess(p.pid) // by a descriptor, which always refers to the same process
	if err != nil {
		return err
	}
	defer func() { _ = held.Release() }()
	if now, ok := readProcess(p.pid); !ok || now.start != p.start {
		return os.ErrProcessDone
	}
	return held.Signal(sig)
}

// readProcesses returns the process table. It reads a single directory; filepath.Glob would open
// one per process.
func readProcesses() (all []process) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1) // those before an error are valid
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProcess(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// readProcess returns an entry of the process table. ok is false if the process has ended.
func readProcess(pid int) (p process, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	// "pid (name) state ppid pgrp ...", where name may contain any characters.
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	fields := bytes.Fields(stat[end+1:])
	if open < 0 || end < open || len(fields) < 20 {
		return process{}, false
	}
	number := func(field []byte) int { n, _ := strconv.Atoi(string(field)); return n }
	return process{
		pid: pid, parent: number(fields[1]), group: number(fields[2]), start: number(fields[19]),
		zombie: bytes.ContainsAny(fields[0], "ZX"), name: string(stat[open+1 : end]),
	}, true
}
