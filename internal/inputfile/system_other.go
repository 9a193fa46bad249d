//go:build !linux

package inputfile

import (
	"os"
	"strings"
)

// ofKernel reports whether the kernel generates the content of a file, which is known only on
// Linux.
func ofKernel(*os.File) bool { return false }

// unnamed reports whether a pipe has no name in any folder.
func unnamed(f *os.File) bool {
	return strings.HasPrefix(f.Name(), "/dev/fd/") || f.Name() == "/dev/stdin"
}
