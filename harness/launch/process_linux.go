package launch

import (
	"bufio"
	"bytes"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// processAttributes puts a process into a group; 0 creates a new one. The kernel kills the process
// when the thread that started it ends.
func processAttributes(group int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: group, Pdeathsig: syscall.SIGKILL}
}

// live returns the live processes of the groups, and those outside them whose environment has the
// mark, unless it is empty. Those of other users, whose environment cannot be read, are not found.
// It does not use kill(2), which also succeeds for zombies.
func live(groups []int, mark string) (members, strays []int) {
	for _, pid := range pids() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state ppid pgrp ...", where name may contain any characters.
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) < 3 || bytes.ContainsAny(fields[0], "ZX") {
			continue
		}
		if group, err := strconv.Atoi(string(fields[2])); err == nil && slices.Contains(groups, group) {
			members = append(members, pid)
			continue
		}
		if mark == "" {
			continue
		}
		// After an error it has ended, or is another user's.
		if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil && bytes.Contains(environ, []byte(mark+"=")) {
			strays = append(strays, pid)
		}
	}
	return members, strays
}

// pids returns the processes of this machine. It reads one directory: filepath.Glob would open
// that of each process too.
func pids() []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1) // those before an error are valid
	var found []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			found = append(found, pid)
		}
	}
	return found
}

// peakMemory returns the sum of the peaks of the resident memory of processes in bytes, 0 if none
// of them exists any more.
func peakMemory(pids []int) (sum int64) {
	for _, pid := range pids {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(status)) {
			// "VmHWM:	  123456 kB"
			if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
				kib, _ := strconv.ParseInt(fields[1], 10, 64) // the kernel writes a number
				sum += kib << 10
			}
		}
	}
	return sum
}

// usageOf returns what processes use together. ok is false if none of them exists any more.
func usageOf(pids []int) (u Usage, ok bool) {
	for _, pid := range pids {
		p, err := procfs.NewProc(pid)
		if err != nil {
			continue // it has ended
		}
		stat, err := p.Stat()
		if err != nil {
			continue
		}
		ok = true
		u.CPU += time.Duration(stat.CPUTime() * float64(time.Second))
		u.RSS += int64(stat.ResidentMemory())
		files, _ := p.FileDescriptorsLen() // of a process of another user it is not known
		u.OpenFiles += files
	}
	return u, ok
}

// foreignListener reports whether no process of the groups has the socket that listens on a
// loopback port. It returns false if that cannot be determined.
func foreignListener(groups []int, port int) bool {
	own := map[string]bool{} // the sockets of the groups
	members, _ := live(groups, "")
	for _, pid := range members {
		fds := fmt.Sprintf("/proc/%d/fd", pid)
		entries, err := os.ReadDir(fds)
		if os.IsPermission(err) {
			return false // the process changed its user
		}
		for _, entry := range entries {
			if target, err := os.Readlink(filepath.Join(fds, entry.Name())); err == nil {
				own[target] = true
			}
		}
	}
	foreign := false // as without a table of sockets, or in another network namespace
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for socket := range listeners(table, port) {
			if own[socket] {
				return false
			}
			foreign = true
		}
	}
	return foreign
}

// listeners yields the sockets of a table, as named in /proc/PID/fd, that accept connections to a
// loopback port. It reads one line at a time: the kernel lists what accepts connections first, and
// then searches a table of all connections for milliseconds, for which a caller who stops does not
// wait.
func listeners(table string, port int) iter.Seq[string] {
	// Addresses are hexadecimal words in the machine's byte order. These are 127.0.0.1 in both byte
	// orders, and the IPv4 and IPv6 wildcards.
	local := map[string]bool{"0100007F": true, "7F000001": true, "00000000": true, strings.Repeat("0", 32): true}
	return func(yield func(string) bool) {
		f, err := os.Open(table)
		if err != nil {
			return // as tcp6 without IPv6
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		lines.Buffer(make([]byte, 256), 4096)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			if len(fields) < 10 || fields[3] != "0A" || fields[9] == "0" {
				continue
			}
			address, hexPort, _ := strings.Cut(fields[1], ":")
			if local[address] && hexPort == fmt.Sprintf("%04X", port) && !yield("socket:["+fields[9]+"]") {
				return
			}
		}
	}
}
