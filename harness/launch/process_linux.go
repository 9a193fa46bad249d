package launch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// processAttributes puts a process into a group, 0 meaning a new one, and has
// the kernel kill it when the thread that started it ends.
func processAttributes(group int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: group, Pdeathsig: syscall.SIGKILL}
}

// groupMembers lists the live processes of some groups. Dead ones that init has
// not collected yet still take signals, so kill(2) cannot tell.
func groupMembers(groups []int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	var pids []int
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue // it ended since
		}
		// "pid (name) state ppid pgrp ...", where name may hold anything.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 3 || bytes.ContainsAny(fields[0], "ZX") {
			continue
		}
		group, err := strconv.Atoi(string(fields[2]))
		if err != nil || !slices.Contains(groups, group) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// foreignListener tells whether the socket that answers on a loopback port is
// known to belong to no process of the groups.
func foreignListener(groups []int, port int) bool {
	listening := listeners(port)
	if len(listening) == 0 {
		return false // no table to look in, or another network namespace
	}
	for _, pid := range groupMembers(groups) {
		fds := fmt.Sprintf("/proc/%d/fd", pid)
		entries, err := os.ReadDir(fds)
		if os.IsPermission(err) {
			return false // it changed its user: nothing is known
		}
		for _, entry := range entries {
			target, err := os.Readlink(filepath.Join(fds, entry.Name()))
			if err == nil && listening[target] {
				return false
			}
		}
	}
	return true
}

// listeners gives the sockets, as /proc/PID/fd names them, that listen where a
// connection to the loopback port can arrive.
func listeners(port int) map[string]bool {
	// Addresses are hexadecimal words in the machine's byte order; these are
	// 127.0.0.1 and the two wildcards, of which only the first depends on it.
	local := map[string]bool{"0100007F": true, "7F000001": true, "00000000": true, strings.Repeat("0", 32): true}
	found := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, _ := os.ReadFile(table) // absent without IPv6
		for line := range strings.Lines(string(data)) {
			fields := strings.Fields(line)
			if len(fields) < 10 || fields[3] != "0A" || fields[9] == "0" {
				continue
			}
			address, hexPort, _ := strings.Cut(fields[1], ":")
			if local[address] && hexPort == fmt.Sprintf("%04X", port) {
				found["socket:["+fields[9]+"]"] = true
			}
		}
	}
	return found
}
