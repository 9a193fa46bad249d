package longtest

import "syscall"

// The file system in memory, and the free bytes that it must have. Tests use a tenth of them.
const (
	memoryDir  = "/dev/shm"
	memoryFree = 2 << 30
	noExec     = 0x8 // ST_NOEXEC of statfs: programs there cannot be started
)

// MemoryDir returns a folder in memory that is large enough for files of tests, "" if there is
// none.
func MemoryDir() string {
	var info syscall.Statfs_t
	if err := syscall.Statfs(memoryDir, &info); err != nil || info.Flags&noExec != 0 || info.Bavail*uint64(info.Bsize) < memoryFree {
		return ""
	}
	return memoryDir
}
