package service

import (
	"fmt"
	"net"
	"runtime/debug"
	"strconv"
	"strings"
)

// advertised works out where the edge reaches a process that listens on local: what the caller says, completed by the
// listener's port; else the listener's own address; else, for a listener on all addresses, the address from which this
// machine talks to the registry.
func (s *settings) advertised(local net.Addr) (string, error) {
	listenHost, listenPort, err := net.SplitHostPort(local.String())
	if err != nil {
		return "", fmt.Errorf("advertise %s listener %q: it has no host and port: give service.Advertise", local.Network(), local)
	}
	if s.advertise != "" {
		host, port, err := splitAdvertise(s.advertise)
		if err != nil {
			return "", err
		}
		if port == "" || port == "0" {
			port = listenPort
		}
		return net.JoinHostPort(host, port), nil
	}
	if ip := net.ParseIP(listenHost); ip != nil && ip.IsUnspecified() {
		if listenHost, err = outboundHost(s.registry); err != nil {
			return "", fmt.Errorf("advertise listener %s on all addresses: %w: give service.Advertise or set SALLYPORT_ADVERTISE", local, err)
		}
	}
	return net.JoinHostPort(listenHost, listenPort), nil
}

// splitAdvertise takes `host:port`, `host`, or an IPv6 address with or without brackets.
func splitAdvertise(address string) (host, port string, err error) {
	switch ip := net.ParseIP(strings.Trim(address, "[]")); {
	case ip != nil:
		host = ip.String()
	case strings.Contains(address, ":"):
		if host, port, err = net.SplitHostPort(address); err != nil {
			return "", "", fmt.Errorf("advertise %q: %w", address, err)
		}
	default:
		host = address
	}
	if host == "" {
		return "", "", fmt.Errorf("advertise %q: the host is missing", address)
	}
	if port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", "", fmt.Errorf("advertise %q: port %q is not a number from 0 to 65535", address, port)
		}
	}
	return host, port, nil
}

// outboundHost is the local address that the routing table picks towards the registry. Connecting a UDP socket sends
// nothing.
func outboundHost(target string) (string, error) {
	conn, err := net.Dial("udp", targetHostPort(target))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	return host, err
}

// targetHostPort takes the endpoint out of a gRPC target such as `dns:///host:port`.
func targetHostPort(target string) string {
	if _, rest, ok := strings.Cut(target, ":///"); ok {
		target = rest
	}
	return target
}

// onLoopback says whether a gRPC target stays on this machine.
func onLoopback(target string) bool {
	endpoint := targetHostPort(target)
	if strings.HasPrefix(target, "unix:") {
		return true
	}
	host, _, err := net.SplitHostPort(endpoint)
	if err != nil {
		host = endpoint
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// buildRevision is the revision that the Go tool stamped into the program; empty where it did not.
func buildRevision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var revision, modified string
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			revision = setting.Value
		case "vcs.modified":
			if setting.Value == "true" {
				modified = "+modified"
			}
		}
	}
	if revision == "" {
		return ""
	}
	return revision + modified
}
