//go:build unix

package work

import (
	"errors"
	"net"
	"syscall"
)

// canCheckIdle is set if idleCheck is available.
const canCheckIdle = true

// idleCheck returns a function that reports, without waiting, whether the other side of an idle
// connection has neither closed it nor sent anything.
func idleCheck(c net.Conn) (func() bool, error) {
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	var got error
	read := func(fd uintptr) bool {
		var b [1]byte
		_, got = syscall.Read(int(fd), b[:])
		return true // or it would wait
	}
	return func() bool {
		err := raw.Read(read)
		return err == nil && (errors.Is(got, syscall.EAGAIN) || errors.Is(got, syscall.EWOULDBLOCK))
	}, nil
}
