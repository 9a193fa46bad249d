//go:build unix

package inputfile

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblocking keeps the opening of a named pipe from waiting for its other end.
const nonblocking = syscall.O_NONBLOCK

// isStandardInput reports whether a file is the standard input of this process, and not nothing.
func isStandardInput(info fs.FileInfo) bool {
	own, ok := info.Sys().(*syscall.Stat_t)
	var stat syscall.Stat_t
	if !ok || syscall.Fstat(0, &stat) != nil || own.Dev != stat.Dev || own.Ino != stat.Ino {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err == nil && !os.SameFile(null, info)
}
