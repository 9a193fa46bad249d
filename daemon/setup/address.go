package setup

import (
	"context"
	"fmt"
	"net"
)

// Listen listens on an address, HOST:PORT. An address that other machines can reach is an error
// unless that is allowed, by --keys or --insecure. host is the address without the port.
func Listen(ctx context.Context, addr string, allowed bool) (l net.Listener, host string, err error) {
	if l, host, err = listen(ctx, addr); err == nil && !allowed && Exposed(l.Addr()) {
		_ = l.Close() // nothing was accepted
		return nil, "", fmt.Errorf("--addr %s: listening on %s gives other machines full access: "+
			"set --keys, or --insecure to allow it", addr, l.Addr())
	}
	return l, host, err
}

// ListenLocal listens on an address, HOST:PORT, that only this machine reaches.
func ListenLocal(ctx context.Context, addr string) (net.Listener, error) {
	l, _, err := listen(ctx, addr)
	if err == nil && Exposed(l.Addr()) {
		_ = l.Close() // nothing was accepted
		return nil, fmt.Errorf("--addr %s: other machines could reach %s and read the results; "+
			"listen on 127.0.0.1, and forward the port with ssh -L to see them elsewhere", addr, l.Addr())
	}
	return l, err
}

func listen(ctx context.Context, addr string) (l net.Listener, host string, err error) {
	if host, _, err = net.SplitHostPort(addr); err != nil {
		return nil, "", fmt.Errorf("--addr %q: must be HOST:PORT such as 127.0.0.1:8787", addr)
	}
	var lc net.ListenConfig
	if l, err = lc.Listen(ctx, "tcp", addr); err != nil {
		return nil, "", fmt.Errorf("--addr %s: %w", addr, err)
	}
	return l, host, nil
}

// Exposed reports whether other machines may reach addr, the address that a listener is bound to.
// The requested address does not suffice: a hostname, even localhost, may resolve to any address.
func Exposed(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}

// URL returns the URL at which this machine reaches a daemon that listens on addr.
func URL(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("SVC_ADDR %q: must be HOST:PORT such as 127.0.0.1:8787", addr)
	}
	switch ip := net.ParseIP(host); {
	case host == "", ip.Equal(net.IPv4zero):
		host = "127.0.0.1"
	case ip.Equal(net.IPv6unspecified):
		host = "::1"
	}
	return "http://" + net.JoinHostPort(host, port), nil
}
