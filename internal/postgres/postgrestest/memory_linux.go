package postgrestest

import "syscall"

// The file system in memory, and the free bytes that it must have. A cluster of tests uses a tenth
// of them.
const (
	memoryDir  = "/dev/shm"
	memoryFree = 2 << 30
)

// memory returns a folder in memory that is large enough for clusters, "" if there is none.
func memory() string {
	var info syscall.Statfs_t
	if err := syscall.Statfs(memoryDir, &info); err != nil || info.Bavail*uint64(info.Bsize) < memoryFree {
		return ""
	}
	return memoryDir
}
