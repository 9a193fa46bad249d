package launch

import (
	"bufio"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// childAttributes makes the kernel kill a process when the thread that started it ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// peakMemory returns the sum of the processes' peak resident memory in bytes, 0 if none exists any
// more.
func peakMemory(processes []process) (sum int64) {
	for _, p := range processes {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
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

// usageOf returns the total resource use of processes. ok is false if none exists any more.
func usageOf(processes []process) (u Usage, ok bool) {
	for _, one := range processes {
		p, err := procfs.NewProc(one.pid)
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

// foreignListener reports whether the socket listening on a loopback port belongs to none of the
// processes. It returns false if this cannot be determined.
func foreignListener(processes []process, port int) bool {
	own := map[string]bool{} // the sockets of the processes
	for _, p := range processes {
		fds := fmt.Sprintf("/proc/%d/fd", p.pid)
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

// listeners yields the sockets, as named in /proc/PID/fd, that accept connections on a loopback
// port. It reads a line at a time: the kernel lists listening sockets first, then spends
// milliseconds on the table of all connections, which a caller that stops early does not wait for.
func listeners(table string, port int) iter.Seq[string] {
	// Addresses are hexadecimal words in machine byte order. These are 127.0.0.1 in both byte
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
