package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// checkHost rejects requests for a host name that is not this daemon's. Without keys, only the
// browser's same-origin policy protects against web pages. It treats a page of http://evil.example
// as the daemon's own once evil.example resolves to the daemon's address (DNS rebinding). But a
// page cannot change the host name that the browser sends.
func (a *API) checkHost(r *http.Request) error {
	if a.keys != nil {
		return nil // a page does not have a token
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !a.ownHost(r.Host, local) {
		return requestErrorf(errForeignHost,
			"this daemon has no keys, and accepts addresses, localhost and the name it was configured "+
				"to listen on, not the host %q: use one of these, or start it with keys", r.Host)
	}
	return nil
}

// ownHost reports whether a Host header of a connection to local names this daemon. A name without
// dots can only be resolved in the daemon's own network, such as a network of containers. It is
// accepted if the daemon listens on that network. A missing host is accepted, because browsers
// always send one.
func (a *API) ownHost(header string, local net.Addr) bool {
	host := header
	if name, _, err := net.SplitHostPort(header); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if a.host != "" && strings.EqualFold(host, strings.TrimSuffix(a.host, ".")) {
		return true
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		return true
	}
	tcp, ok := local.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback() && !strings.Contains(host, ".")
}
