// Package address decides which addresses may be registered in a zone, and dialled for it.
//
// An address that a tenant registers is dialled with the edge's reach: without a fence it is a hole into the network
// (registry.md, "Addresses"). In come the zones' allow-lists from the configuration; out comes a yes, or an error that
// says which rule refuses and what would permit. The registry asks when a process registers, and the edge asks again
// when it dials, with the address that the name resolved to. The package knows neither etcd nor gRPC, and resolves
// names only to recognise etcd's.
//
// # The lists
//
// An entry is for a zone with its sub-zones, for the un-zoned services (the empty string), or for every zone (`*`). All
// entries that are for a zone count; one entry alone must admit an address: its port, and its range or name. An entry
// without ports admits every port. An entry without ranges admits public addresses. An entry with names admits, as
// names, those alone, and they must still resolve into what it admits; with names and no ranges, it admits no bare
// address. A zone for which there is no entry admits what an empty entry would: public addresses under any name.
//
// # Kinds of addresses
//
// Public unicast addresses need no range. Private ones (RFC 1918, carrier-grade NAT, unique local, and other ranges
// that are not routed on the internet) are admitted by a range that contains them.
//
// Special ones are admitted only by a range that lies within their own block, so that a wide range such as `0.0.0.0/0`
// does not open them unawares:
//
//   - link-local addresses, and the metadata addresses of clouds wherever they lie, by an entry for a platform zone
//     (`app-api`, `management-api`, `system-api`, their sub-zones, un-zoned);
//   - loopback addresses by an entry for a platform zone, or by one for any other zone or `*` that names its ports. The
//     latter is how a process that runs everything, as sallyport-dev does, lets application zones use its own ports on
//     loopback without opening whatever else listens there;
//   - addresses that stand for an IPv4 address (NAT64, 6to4, Teredo) by such a range, if the IPv4 address inside is
//     not itself special or impossible, nor etcd's.
//
// Nothing admits the unspecified address (dialling it reaches loopback), multicast, broadcast and reserved addresses,
// addresses with an IPv6 scope, and etcd's endpoints. An IPv4 address mapped into IPv6 is the IPv4 address.
package address

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	configv1 "github.com/sallyport-dev/sallyport/gen/sallyport/config/v1"
	"github.com/sallyport-dev/sallyport/participant"
)

// Policy is the configured allow-lists. It is immutable and safe for concurrent use.
type Policy struct {
	entries []entry
	etcd    []endpoint
	lookup  func(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// entry is one ZoneAddresses, parsed.
type entry struct {
	zone     string
	ranges   []netip.Prefix
	names    []string
	ports    map[uint16]bool
	platform bool
}

// New parses the allow-lists. etcd are the endpoints of the installation's etcd, as URLs or `host:port`; nothing
// admits them. An error names the entry and what is wrong with it: a zone, range, name or port that is not spelled as
// one, or a range over special addresses that the entry cannot admit.
func New(zones []*configv1.ZoneAddresses, etcd ...string) (*Policy, error) {
	p := &Policy{lookup: net.DefaultResolver.LookupNetIP}
	var problems []error
	for i, z := range zones {
		e, err := parseEntry(z)
		if err != nil {
			problems = append(problems, fmt.Errorf("addresses[%d], zone %q: %w", i, z.GetZone(), err))
			continue
		}
		p.entries = append(p.entries, e)
	}
	for _, raw := range etcd {
		e, err := parseEndpoint(raw)
		if err != nil {
			problems = append(problems, fmt.Errorf("etcd endpoint %q: %w", raw, err))
			continue
		}
		p.etcd = append(p.etcd, e)
	}
	return p, errors.Join(problems...)
}

func parseEntry(z *configv1.ZoneAddresses) (entry, error) {
	e := entry{zone: z.GetZone(), platform: isPlatform(z.GetZone())}
	if e.zone != "" && e.zone != "*" {
		if err := participant.CheckZone(e.zone); err != nil {
			return e, err
		}
	}
	for _, port := range z.GetPorts() {
		if port == 0 || port > 65535 {
			return e, fmt.Errorf("port %d is not between 1 and 65535", port)
		}
		if e.ports == nil {
			e.ports = map[uint16]bool{}
		}
		e.ports[uint16(port)] = true
	}
	for _, raw := range z.GetRanges() {
		r, err := netip.ParsePrefix(raw)
		if err != nil {
			return e, fmt.Errorf("range %q: want an address and a prefix length, such as 10.20.0.0/16: %w", raw, err)
		}
		if r.Addr().Is4In6() {
			return e, fmt.Errorf("range %q: write it as the IPv4 range that it is", raw)
		}
		r = r.Masked()
		if err := e.mayList(r); err != nil {
			return e, fmt.Errorf("range %q: %w", raw, err)
		}
		e.ranges = append(e.ranges, r)
	}
	for _, raw := range z.GetNames() {
		name := canonicalName(raw)
		if err := checkName(strings.TrimPrefix(name, "*.")); err != nil {
			return e, fmt.Errorf("name %q: %w", raw, err)
		}
		e.names = append(e.names, name)
	}
	return e, nil
}

// isPlatform reports whether only the platform hosts in the zone (access.md, "Zones").
func isPlatform(zone string) bool {
	return zone == "" || participant.Within(zone, participant.SystemZone) ||
		participant.Within(zone, participant.ManagementZone) || participant.Within(zone, participant.ApplicationAPIZone)
}

// mayList refuses a range that says "these special addresses" in an entry that cannot mean it.
func (e *entry) mayList(r netip.Prefix) error {
	b, ok := blockOf(r)
	if !ok || e.platform {
		return nil
	}
	switch b.class {
	case linkLocal, metadata:
		return fmt.Errorf("%s may be listed for a platform zone only", b.what)
	case loopback:
		if len(e.ports) == 0 {
			return errors.New("loopback addresses may be listed for a zone other than the platform's with their ports only: name the ports")
		}
	}
	return nil
}

// isFor reports whether the entry is for the zone.
func (e *entry) isFor(zone string) bool {
	return e.zone == "*" || e.zone == zone || participant.Within(zone, e.zone)
}

// open is what a zone without an entry admits.
var open = entry{zone: "*"}

func (p *Policy) forZone(zone string) []*entry {
	var all []*entry
	for i := range p.entries {
		if p.entries[i].isFor(zone) {
			all = append(all, &p.entries[i])
		}
	}
	if all == nil {
		all = []*entry{&open}
	}
	return all
}

// Split takes a registered address apart: `host:port`, with an IPv6 address in brackets, and a port in digits. The host
// is an address or a canonical DNS name.
func Split(address string) (host string, port uint16, err error) {
	at := strings.LastIndexByte(address, ':')
	if at < 0 {
		return "", 0, fmt.Errorf("address %q: want host:port", address)
	}
	n, err := strconv.ParseUint(address[at+1:], 10, 16)
	if err != nil || n == 0 || address[at+1] == '+' {
		return "", 0, fmt.Errorf("address %q: the port is not a number between 1 and 65535", address)
	}
	host = address[:at]
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); !ok {
			return "", 0, fmt.Errorf("address %q: the bracket is not closed", address)
		}
		ip, err := netip.ParseAddr(inner)
		if err != nil || !ip.Is6() {
			return "", 0, fmt.Errorf("address %q: no IPv6 address stands in the brackets", address)
		}
		return ip.String(), uint16(n), nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Is6() {
			return "", 0, fmt.Errorf("address %q: write an IPv6 address in brackets, such as [2001:db8::1]:443", address)
		}
		return ip.String(), uint16(n), nil
	}
	host = canonicalName(host)
	if err := checkName(host); err != nil {
		return "", 0, fmt.Errorf("address %q: %w", address, err)
	}
	return host, uint16(n), nil
}

// CheckRegister reports why an address, `host:port`, may not be registered in a zone. A name is not resolved: where it
// leads is judged when it is dialled, by [Policy.CheckDial].
func (p *Policy) CheckRegister(zone, address string) error {
	host, port, err := Split(address)
	if err != nil {
		return err
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return p.CheckDial(zone, ip, host, port)
	}
	refuse := func(why string) error { return &RefusedError{Zone: zone, Address: address, Why: why} }
	if p.isEtcdName(host, port) {
		return refuse("it is an endpoint of the installation's etcd, which nothing admits")
	}
	if metadataNames[host] {
		return refuse("it is the name of a cloud's metadata service")
	}
	if loopbackName(host) {
		return p.CheckDial(zone, netip.AddrFrom4([4]byte{127, 0, 0, 1}), host, port)
	}
	why := ""
	for _, e := range p.forZone(zone) {
		switch {
		case !e.admitsPort(port):
			why = prefer(why, fmt.Sprintf("port %d is in no entry for the zone", port))
		case !e.admitsName(host):
			why = prefer(why, fmt.Sprintf("the name %q is in no entry for the zone that admits port %d", host, port))
		default:
			return nil
		}
	}
	return refuse(why)
}

// CheckDial reports why a connection for a zone may not go to ip and port. host is the registered host: a name that
// resolved to ip, or an address, which is then the same as ip.
func (p *Policy) CheckDial(zone string, ip netip.Addr, host string, port uint16) error {
	refuse := func(why string) error {
		return &RefusedError{Zone: zone, Address: netip.AddrPortFrom(ip, port).String(), Host: host, Why: why}
	}
	if !ip.IsValid() {
		return refuse("there is no address")
	}
	if ip.Zone() != "" {
		return refuse("an address with an IPv6 scope is never admitted")
	}
	ip = ip.Unmap()
	name := host
	if _, err := netip.ParseAddr(host); err == nil {
		name = ""
	} else {
		name = canonicalName(name)
	}
	b := classify(ip)
	if b.class == never {
		return refuse("it is " + b.what + ", which nothing admits")
	}
	if p.isEtcd(ip, port) || name != "" && p.isEtcdName(name, port) {
		return refuse("it is an endpoint of the installation's etcd, which nothing admits")
	}
	for _, v4 := range embedded(ip, b.class) {
		if inner := classify(v4); inner.class != public && inner.class != private {
			return refuse("it stands for " + inner.what)
		}
		if p.isEtcd(v4, port) {
			return refuse("it stands for an endpoint of the installation's etcd, which nothing admits")
		}
	}
	why := ""
	for _, e := range p.forZone(zone) {
		switch {
		case !e.admitsPort(port):
			why = prefer(why, fmt.Sprintf("port %d is in no entry for the zone", port))
		case name != "" && !e.admitsName(name):
			why = prefer(why, fmt.Sprintf("the name %q is in no entry for the zone that admits port %d", name, port))
		case name == "" && len(e.names) > 0 && len(e.ranges) == 0:
			why = prefer(why, "the zone's entry admits names only, and this is a bare address")
		case !e.admitsIP(ip, b):
			why = "it is " + b.what + ", and " + b.need(e)
		default:
			return nil
		}
	}
	return refuse(why)
}

// prefer keeps the first reason; a later entry that comes closer overwrites it.
func prefer(old, reason string) string {
	if old == "" {
		return reason
	}
	return old
}

func (e *entry) admitsPort(port uint16) bool { return len(e.ports) == 0 || e.ports[port] }

func (e *entry) admitsName(name string) bool {
	if len(e.names) == 0 {
		return true
	}
	for _, n := range e.names {
		if suffix, wild := strings.CutPrefix(n, "*"); wild && strings.HasSuffix(name, suffix) || n == name {
			return true
		}
	}
	return false
}

func (e *entry) admitsIP(ip netip.Addr, b block) bool {
	if len(e.ranges) == 0 {
		return b.class == public
	}
	for _, r := range e.ranges {
		if !r.Contains(ip) {
			continue
		}
		switch b.class {
		case public, private:
			return true
		case loopback:
			if b.within(r) && (e.platform || len(e.ports) > 0) {
				return true
			}
		case linkLocal, metadata:
			if b.within(r) && e.platform {
				return true
			}
		case translated:
			if b.within(r) {
				return true
			}
		}
	}
	return false
}

// RefusedError says why an address is not admitted.
type RefusedError struct {
	// Zone is the zone that it was for, empty for un-zoned.
	Zone string
	// Address is the address, with its port.
	Address string
	// Host is the registered host that it stands for; empty where that is the address itself.
	Host string
	// Why is the rule that refuses.
	Why string
}

func (e *RefusedError) Error() string {
	zone := "un-zoned services"
	if e.Zone != "" {
		zone = "zone " + e.Zone
	}
	address := e.Address
	if e.Host != "" && !strings.HasPrefix(e.Address, e.Host+":") && !strings.HasPrefix(e.Address, "["+e.Host+"]") {
		address = e.Host + " (" + e.Address + ")"
	}
	return fmt.Sprintf("address %s is not allowed for %s: %s", address, zone, e.Why)
}
