//go:build !unix

package httpapi

import "net"

// hasClosed reports whether the other side has closed the connection, which is not known here.
func hasClosed(net.Conn) bool { return false }
