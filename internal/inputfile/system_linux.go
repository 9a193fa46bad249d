package inputfile

import (
	"os"
	"slices"
	"syscall"
)

// The types of file systems, from linux/magic.h.
const (
	procfs    = 0x9fa0
	sysfs     = 0x62656572
	debugfs   = 0x64626720
	tracefs   = 0x74726163
	cgroupfs  = 0x27e0eb
	cgroup2fs = 0x63677270
	pipefs    = 0x50495045
)

// ofKernel reports whether the kernel generates the content of a file. Reading such a file may wait
// for ever, and may reveal the environment of a process.
func ofKernel(f *os.File) bool {
	return onFileSystem(f, procfs, sysfs, debugfs, tracefs, cgroupfs, cgroup2fs)
}

// unnamed reports whether a pipe has no name in any folder.
func unnamed(f *os.File) bool { return onFileSystem(f, pipefs) }

func onFileSystem(f *os.File, types ...uint32) bool {
	conn, err := f.SyscallConn()
	if err != nil {
		return false
	}
	var stat syscall.Statfs_t
	var statErr error
	err = conn.Control(func(fd uintptr) { statErr = syscall.Fstatfs(int(fd), &stat) })
	return err == nil && statErr == nil && slices.Contains(types, uint32(stat.Type))
}
