package address

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// canonicalName lowers a DNS name and drops the root's dot, so that two spellings of a name compare equal.
func canonicalName(name string) string {
	return strings.TrimSuffix(strings.ToLower(name), ".")
}

// checkName reports why a canonical name cannot be a host's. A name that resolvers would read as a number, such as
// `2130706433`, `0x7f.1` or `127.1`, is an address in disguise.
func checkName(name string) error {
	if name == "" || len(name) > 253 {
		return errors.New("the host is empty or longer than 253 characters")
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return fmt.Errorf("%q is no label of a host name", label)
		}
		for _, c := range []byte(label) {
			if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_') {
				return fmt.Errorf("the host has the character %q, which no host name has", c)
			}
		}
	}
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return errors.New("the host ends in a number, which makes it an ill-spelled address")
	}
	return nil
}

// endpoint is one of etcd's.
type endpoint struct {
	host string // canonical name; empty if ip is set
	ip   netip.Addr
	port uint16
}

func parseEndpoint(raw string) (endpoint, error) {
	rest := raw
	defaultPort := ""
	if scheme, after, ok := strings.Cut(raw, "://"); ok {
		switch scheme {
		case "http":
			defaultPort = "80"
		case "https":
			defaultPort = "443"
		case "unix", "unixs":
			return endpoint{}, nil // no address that anybody could register
		}
		rest, _, _ = strings.Cut(after, "/")
	}
	host, port, err := net.SplitHostPort(rest)
	if err != nil {
		host, port = strings.Trim(rest, "[]"), defaultPort
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || n == 0 {
		return endpoint{}, errors.New("want http(s)://host:port or host:port")
	}
	e := endpoint{port: uint16(n)}
	if ip, err := netip.ParseAddr(host); err == nil {
		e.ip = ip.Unmap().WithZone("")
		return e, nil
	}
	e.host = canonicalName(host)
	if e.host == "localhost" {
		e.host, e.ip = "", netip.IPv6Loopback()
	}
	return e, nil
}

// isEtcd reports whether ip and port are an endpoint of etcd. All loopback addresses and all addresses of this machine
// count as one that is on loopback, since a process that listens there usually answers on others.
func (p *Policy) isEtcd(ip netip.Addr, port uint16) bool {
	for _, e := range p.etcd {
		if e.port != port || port == 0 {
			continue
		}
		switch {
		case e.host == "":
			here := e.ip.IsLoopback() || e.ip.IsUnspecified()
			if e.ip == ip || here && (ip.IsLoopback() || isOwn(ip)) {
				return true
			}
		case p.resolvesTo(e.host, ip):
			return true
		}
	}
	return false
}

// isOwn reports whether an interface of this machine has the address.
func isOwn(ip netip.Addr) bool {
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			if own, ok := netip.AddrFromSlice(n.IP); ok && own.Unmap() == ip {
				return true
			}
		}
	}
	return false
}

func (p *Policy) isEtcdName(name string, port uint16) bool {
	for _, e := range p.etcd {
		if e.port == port && e.host == name && name != "" {
			return true
		}
	}
	return false
}

// resolvesTo looks etcd's name up. It happens for the port of etcd alone, where a connection is about to be made or an
// address to be registered, and not on the path of a call. A name that does not exist leads nowhere; one that cannot be
// looked up may lead to ip for all that is known, and so it does.
func (p *Policy) resolvesTo(name string, ip netip.Addr) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	found, err := p.lookup(ctx, "ip", name)
	if err != nil {
		var failed *net.DNSError
		return !errors.As(err, &failed) || !failed.IsNotFound
	}
	for _, f := range found {
		if f.Unmap() == ip {
			return true
		}
	}
	return false
}
