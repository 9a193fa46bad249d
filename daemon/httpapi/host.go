package httpapi

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// checkHost refuses requests for a host name that is not this daemon's. Without
// keys only the browser's rules keep web pages out, and they take a page from
// http://evil.example for the daemon's own once evil.example resolves to the
// daemon's address (DNS rebinding). What a page cannot do is choose what else
// the browser calls the host.
func (a *API) checkHost(r *http.Request) error {
	if a.keys != nil {
		return nil // no page has a token
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !a.ownHost(r.Host, local) {
		return requestErrorf(errForeignHost, "this daemon has no keys, and answers to addresses, localhost and the name it was told to listen on, not to the host %q: use one of these, or start it with keys", r.Host)
	}
	return nil
}

// ownHost judges a Host header of a connection to local. A name without dots can
// mean this machine in its own network only, such as one of containers; it is
// taken where the daemon listens to that network. A missing host is none of a
// browser's.
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
