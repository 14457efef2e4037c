package address

import (
	"net/netip"
	"slices"
	"strings"
)

// class says how an address is admitted; see the package comment.
type class int

const (
	public class = iota
	private
	translated
	loopback
	linkLocal
	metadata
	never
)

// block is a range of addresses of one class.
type block struct {
	class class
	what  string // as in "it is …"
	in    netip.Prefix
}

// within reports whether the range says this block, or a part of it, and nothing else.
func (b block) within(r netip.Prefix) bool {
	return r.Bits() >= b.in.Bits() && b.in.Contains(r.Addr())
}

// need says what an entry would need to admit the block.
func (b block) need(e *entry) string {
	switch b.class {
	case loopback:
		if e.platform {
			return "needs a range of loopback addresses in the zone's entry"
		}
		return "needs a range of loopback addresses, with ports, in an entry for the zone"
	case linkLocal, metadata:
		if !e.platform {
			return "only an entry for a platform zone can admit it"
		}
		return "needs a range of its own in the zone's entry"
	case translated:
		return "needs a range within " + b.in.String() + " in an entry for the zone"
	case public:
		return "it is in no range of an entry for the zone"
	default:
		return "needs a range in an entry for the zone"
	}
}

func must(s string) netip.Prefix { return netip.MustParsePrefix(s) }

// blocks are searched in order: what is more special comes first. Sources: the IANA special-purpose address registries
// for IPv4 and IPv6, and the clouds' manuals for their metadata addresses.
var blocks = []block{
	{never, "the unspecified address", must("::/128")},
	{never, "an address of this network (0.0.0.0/8)", must("0.0.0.0/8")},
	{never, "a multicast address", must("224.0.0.0/4")},
	{never, "a multicast address", must("ff00::/8")},
	{never, "a reserved or broadcast address", must("240.0.0.0/4")},

	{metadata, "a cloud's metadata address", must("169.254.169.254/32")}, // most clouds
	{metadata, "a cloud's metadata address", must("169.254.170.2/32")},   // credentials of ECS tasks
	{metadata, "a cloud's metadata address", must("169.254.170.23/32")},  // credentials of EKS pods
	{metadata, "a cloud's metadata address", must("fd00:ec2::254/128")},
	{metadata, "a cloud's metadata address", must("fd00:ec2::23/128")},
	{metadata, "a cloud's metadata address", must("fd20:ce::254/128")},
	{metadata, "a cloud's metadata address", must("100.100.100.200/32")}, // within carrier-grade NAT
	{metadata, "a cloud's metadata address", must("168.63.129.16/32")},   // a public address
	{metadata, "a cloud's metadata address", must("192.0.0.192/32")},

	{loopback, "a loopback address", must("127.0.0.0/8")},
	{loopback, "a loopback address", must("::1/128")},
	{linkLocal, "a link-local address", must("169.254.0.0/16")},
	{linkLocal, "a link-local address", must("fe80::/10")},

	{translated, "an IPv4 address behind NAT64", must("64:ff9b::/96")},
	{translated, "an IPv4 address behind 6to4", must("2002::/16")},
	{translated, "an IPv4 address behind Teredo", must("2001::/32")},
	{translated, "an IPv4 address behind a local NAT64", localNAT64},
	{never, "an address of the discard block", must("100::/64")},
	{never, "an IPv4-compatible address", must("::/96")},

	{private, "a private address", must("10.0.0.0/8")},
	{private, "a private address", must("172.16.0.0/12")},
	{private, "a private address", must("192.168.0.0/16")},
	{private, "an address of carrier-grade NAT", must("100.64.0.0/10")},
	{private, "an address for protocol assignments", must("192.0.0.0/24")},
	{private, "an address for documentation", must("192.0.2.0/24")},
	{private, "an address for documentation", must("198.51.100.0/24")},
	{private, "an address for documentation", must("203.0.113.0/24")},
	{private, "an address of the old 6to4 relays", must("192.88.99.0/24")},
	{private, "an address for benchmarks", must("198.18.0.0/15")},
	{private, "a unique local address", must("fc00::/7")},
	{private, "a site-local address", must("fec0::/10")},
	{private, "an address for benchmarks", must("2001:2::/48")},
	{private, "an address for documentation", must("2001:db8::/32")},
	{private, "an address for documentation", must("3fff::/20")},
	{private, "an address for segment routing", must("5f00::/16")},

	{public, "a public address", must("0.0.0.0/0")},
	{public, "a public address", must("2000::/3")},
}

// elsewhere is IPv6 outside of everything that is assigned.
var elsewhere = block{never, "an unassigned address", must("::/0")}

// classify finds the block of an address, which must be unmapped.
func classify(ip netip.Addr) block {
	for _, b := range blocks {
		if b.in.Contains(ip) {
			return b
		}
	}
	return elsewhere
}

// blockOf finds the special block within which a whole range lies.
func blockOf(r netip.Prefix) (block, bool) {
	for _, b := range blocks {
		if b.class != public && b.class != private && b.within(r) {
			return b, true
		}
	}
	return block{}, false
}

// localNAT64 is the prefix of translators within a site, which cut it as they like (RFC 8215).
var localNAT64 = must("64:ff9b:1::/48")

// embedded gives the IPv4 addresses that an address stands for, or may stand for.
func embedded(ip netip.Addr, class class) []netip.Addr {
	if !ip.Is6() {
		return nil
	}
	b := ip.As16()
	at := func(i, j, k, l int) netip.Addr { return netip.AddrFrom4([4]byte{b[i], b[j], b[k], b[l]}) }
	switch {
	case class != translated:
		// ISATAP (RFC 5214) has its mark in the interface's half, behind any prefix.
		if (b[8] == 0 || b[8] == 2) && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
			return []netip.Addr{at(12, 13, 14, 15)}
		}
		return nil
	case b[0] == 0x20 && b[1] == 0x02: // 6to4: after the prefix
		return []netip.Addr{at(2, 3, 4, 5)}
	case b[0] == 0x20: // Teredo: the client's, inverted, at the end
		return []netip.Addr{netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]})}
	case localNAT64.Contains(ip) && b[13] == 0 && b[14] == 0 && b[15] == 0: // RFC 6052, 2.2: prefixes of 48, 56 and 64 bits
		// Which of them it is cannot be seen, but for readings that are no address at all.
		return slices.DeleteFunc([]netip.Addr{at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12)},
			func(v4 netip.Addr) bool { return classify(v4).class == never })
	default: // NAT64 with a prefix of 96 bits: at the end
		return []netip.Addr{at(12, 13, 14, 15)}
	}
}

// loopbackName reports whether a canonical name means loopback and nothing else: those of RFC 6761, and those that the
// hosts files of distributions have.
func loopbackName(name string) bool {
	name = strings.TrimSuffix(name, ".localdomain")
	switch name {
	case "localhost", "localhost4", "localhost6", "localhost4.localdomain4", "localhost6.localdomain6", "ip6-localhost", "ip6-loopback":
		return true
	default:
		return strings.HasSuffix(name, ".localhost")
	}
}

// metadataNames are names under which clouds serve their metadata.
var metadataNames = map[string]bool{
	"metadata": true, "metadata.google.internal": true, "metadata.goog": true, "instance-data": true,
	"instance-data.ec2.internal": true, "metadata.azure.internal": true, "metadata.tencentyun.com": true,
}
