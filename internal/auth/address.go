package auth

import (
	"fmt"
	"net/netip"
	"strings"
)

// Proxies knows the proxies whose word about callers' addresses is believed. Nil believes nobody. It is immutable.
type Proxies struct{ ranges []netip.Prefix }

// mostHops is how many entries of X-Forwarded-For are looked at.
const mostHops = 32

// NewProxies reads address ranges in CIDR notation, nil where there are none. The error names the one that is wrong by its
// place.
func NewProxies(ranges []string) (*Proxies, error) {
	if len(ranges) == 0 {
		return nil, nil
	}
	p := new(Proxies)
	for i, text := range ranges {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("trusted_proxies[%d]: %q is not an address range: want for example 10.0.0.0/8", i, text)
		}
		if prefix.Addr().Is4In6() {
			return nil, fmt.Errorf("trusted_proxies[%d]: %q: write an IPv4 range as such", i, text)
		}
		p.ranges = append(p.ranges, prefix.Masked())
	}
	return p, nil
}

// Address gives a caller's own address: the peer of the connection, host:port, or, where that is a trusted proxy, what
// X-Forwarded-For says, read from the right through trusted proxies to the first that is not one. What stands left of it
// the caller may have made up. Where the header says no address there, it is the last proxy's.
func (p *Proxies) Address(peer string, forwarded []string) netip.Addr {
	var address netip.Addr
	if peer, err := netip.ParseAddrPort(peer); err == nil {
		address = normal(peer.Addr())
	}
	if len(forwarded) == 0 || !p.trusts(address) {
		return address
	}
	hops := 0
	for i := len(forwarded) - 1; i >= 0; i-- {
		for rest := forwarded[i]; rest != ""; {
			entry := rest
			if comma := strings.LastIndexByte(rest, ','); comma >= 0 {
				rest, entry = rest[:comma], rest[comma+1:]
			} else {
				rest = ""
			}
			next, ok := hop(entry)
			if hops++; !ok || hops > mostHops {
				return address
			}
			if address = next; !p.trusts(address) {
				return address
			}
		}
	}
	return address
}

// hop reads one entry: an address, with or without a port and brackets.
func hop(entry string) (netip.Addr, bool) {
	entry = strings.Trim(entry, " \t")
	if address, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(entry, "["), "]")); err == nil {
		return normal(address), true
	}
	if with, err := netip.ParseAddrPort(entry); err == nil {
		return normal(with.Addr()), true
	}
	return netip.Addr{}, false
}

// Origin is where a request came from. Whose address that is costs more to find out than to carry along, and only those
// who fail to authenticate are counted by it.
type Origin struct {
	// Proxies are believed where they say whom a request came from.
	Proxies *Proxies
	// Peer is the other end of the connection, host:port, and Forwarded the values of X-Forwarded-For.
	Peer      string
	Forwarded []string
}

// Address gives the caller's own address; see [Proxies.Address]. The zero Origin's is an address like any other.
func (o Origin) Address() netip.Addr { return o.Proxies.Address(o.Peer, o.Forwarded) }

// String spells the caller's address; it is empty where that is not known.
func (o Origin) String() string {
	if at := o.Address(); at.IsValid() {
		return at.String()
	}
	return ""
}

func normal(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }

func (p *Proxies) trusts(address netip.Addr) bool {
	if p == nil || !address.IsValid() {
		return false
	}
	for _, prefix := range p.ranges {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}
