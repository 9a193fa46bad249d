//go:build unix

package httpapi

import (
	"errors"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// hasClosed reports whether the other side is known to have closed the connection without sending
// anything before. It reads nothing. After the deadline for reading, nothing is known.
func hasClosed(c net.Conn) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return true // it is closed here
	}
	closed := false
	err = raw.Read(func(fd uintptr) bool {
		var b [1]byte
		n, _, err := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		closed = err == nil && n == 0 || errors.Is(err, unix.ECONNRESET)
		return true
	})
	return closed || err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}
