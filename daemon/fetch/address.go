package fetch

import "net/netip"

// special are the networks outside the public internet that netip.Addr does not know (IANA
// special-purpose address registries).
var special = []struct {
	network netip.Prefix
	name    string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network"},
	{netip.MustParsePrefix("100.64.0.0/10"), "shared address space of a provider"},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4 relay"},
	{netip.MustParsePrefix("198.18.0.0/15"), "benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},
	{netip.MustParsePrefix("2001::/23"), "protocol assignments"}, // with Teredo
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
}

var (
	globalIPv6 = netip.MustParsePrefix("2000::/3")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

// refused returns why an address may not be fetched from, or "" if it may.
func refused(addr netip.Addr) string {
	zone := addr.Zone()
	addr = addr.Unmap().WithZone("")
	switch {
	case !addr.IsValid() || addr.IsUnspecified():
		return "it is unspecified"
	case addr.IsLoopback():
		return "it is an address of this machine"
	case addr.IsPrivate():
		return "it is an address of a private network"
	case addr.IsLinkLocalUnicast() || zone != "":
		return "it is link-local"
	case addr.IsMulticast():
		return "it is multicast"
	}
	// A translator would connect to the IPv4 address inside.
	if inner, ok := embedded(addr); ok {
		return refused(inner)
	}
	if addr.Is6() && !globalIPv6.Contains(addr) {
		return "it is not global"
	}
	for _, s := range special {
		if s.network.Contains(addr) {
			return "it is reserved: " + s.name
		}
	}
	return ""
}

// embedded returns the IPv4 address in an address of NAT64 or 6to4.
func embedded(addr netip.Addr) (inner netip.Addr, ok bool) {
	bytes := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(bytes[12:16])), true
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(bytes[2:6])), true
	}
	return netip.Addr{}, false
}
