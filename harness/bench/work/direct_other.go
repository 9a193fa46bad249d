//go:build !unix

package work

import (
	"errors"
	"net"
)

const canCheckIdle = false

func idleCheck(net.Conn) (func() bool, error) { return nil, errors.ErrUnsupported }
